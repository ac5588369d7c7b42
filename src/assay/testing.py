"""Evaluations in a test suite: ``assert_score``, and a fixture of pytest's.

``pytest_plugins = ["assay.testing"]`` in a ``conftest.py`` makes the fixture known. No labeller is
asked: judge first (``assay judge FOLDER``), or give one to :func:`assay.evaluate`.
"""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path

from assay.api.evaluation import Evaluation
from assay.api.evaluation import open as open_folder
from assay.model.errors import PrerequisiteError
from assay.model.wording import joined

try:
    import pytest
except ImportError as error:
    raise PrerequisiteError("assay.testing needs pytest: pip install pytest") from error

__all__ = ["assay_evaluation", "assert_score"]

Folder = str | PathLike[str] | Evaluation
OpenEvaluation = Callable[[str | PathLike[str]], Evaluation]


def assert_score(
    folder: Folder,
    measure: str,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    run: str | None = None,
    policy: str | None = None,
) -> None:
    """Assert a bound on a score of an evaluation folder (or of one that is open).

    Where labels are missing a score is a range: the bound must hold for all of it. A range that
    the bound cuts through fails too, and says that labels decide it.

    ``folder``: the folder, or what :func:`assay.open` gave. ``measure``: its name in
    ``scores.csv``. ``at_least``: the least that the score may be. ``at_most``: the most that it may
    be. ``run``: the run; every run that has the measure where left out. ``policy``: which labels
    count; the folder's own where left out. Raises AssertionError where a bound does not hold, the
    score is undefined, or there is none; ValueError where no bound is given.
    """
    if at_least is None and at_most is None:
        raise ValueError("give at_least or at_most")
    found = folder if isinstance(folder, Evaluation) else open_folder(folder, policy=policy)
    frame = found.scores
    rows = [
        row
        for row in frame.iter_rows(named=True)
        if row["measure"] == measure and run in (None, row["run"])
    ]
    if not rows:
        known = joined(dict.fromkeys(frame["measure"].to_list()), 60) or "none"
        whose = "" if run is None else f" of run {run}"
        raise AssertionError(f"There is no {measure}{whose}. Measures: {known}.")
    wrong = [
        why for row in rows if (why := _broken(row["run"], measure, row, at_least, at_most)) != ""
    ]
    assert not wrong, "\n".join(wrong)  # noqa: S101 (it is what this is for)


def _broken(
    run: str,
    measure: str,
    row: dict[str, float | None],
    at_least: float | None,
    at_most: float | None,
) -> str:
    """Why a bound does not hold; empty where all do."""
    floor, ceiling = row["floor"], row["ceiling"]
    if floor is None or ceiling is None:
        return f"{run}: {measure} is undefined"
    low, high = sorted((floor, ceiling))
    shown = f"{low:.4f}" if low == high else f"between {low:.4f} and {high:.4f}"
    for bound, fails, decided in (
        (at_least, low < (at_least or 0.0), high < (at_least or 0.0)),
        (at_most, high > (at_most or 0.0), low > (at_most or 0.0)),
    ):
        if bound is not None and fails:
            word = "at least" if bound is at_least else "at most"
            open_ = "" if decided else "; labels that are missing decide it: assay judge FOLDER"
            return f"{run}: {measure} is {shown}, not {word} {bound:g}{open_}"
    return ""


@pytest.fixture(scope="session")
def assay_evaluation() -> OpenEvaluation:
    """Opens evaluation folders, each once for the whole session:
    ``assert_score(assay_evaluation("eval"), "HMR", at_least=0.6)``."""
    known: dict[Path, Evaluation] = {}

    def opened(folder: str | PathLike[str]) -> Evaluation:
        path = Path(folder).resolve()
        if path not in known:
            known[path] = open_folder(path)
        return known[path]

    return opened
