"""Score runs from Python: ``assay.measure``, ``read_run`` and ``read_qrels``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from assay.api.arguments import number_of, path_of
from assay.api.reading import used, warn
from assay.api.run_files import COLUMNS, DEFAULTS, require_own_names, score_run_files
from assay.formats import trec
from assay.formats.parsed import Parsed
from assay.measures.base import Measure
from assay.measures.library import evaluate, parse_measures
from assay.measures.order import Ties
from assay.measures.run_scores import Ideal
from assay.measures.tables import Topics, frame, rows

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")
Name = str | PathLike[str]


def read_run(path: Name) -> dict[str, dict[str, float]]:
    """Read a TREC run: topic → document → score. Raises FormatError with all faults of the file."""
    return _run_of(path_of(path, "path"))[1]


def read_qrels(path: Name) -> dict[str, dict[str, int]]:
    """Read TREC qrels: topic → document → grade. Raises FormatError with all faults of the file."""
    return {
        topic: dict(judged)
        for topic, judged in required(trec.read_qrels(path_of(path, "path"))).grades.items()
    }


def measure(
    qrels: Any,
    runs: Any,
    measures: Iterable[Measure | str] | Measure | str | None = None,
    *,
    per_topic: bool = False,
    topics: Topics = "qrels",
    ties: Ties = "trec",
    g_max: float | None = None,
    ideal: Ideal = "qrels",
) -> pl.DataFrame:
    """Score runs against relevance grades: a frame with the columns ``run``, ``topic`` (``all``
    for the mean), ``measure`` and ``value`` (null if undefined).

    ``qrels`` is a file, a mapping topic → document → grade, or a frame. ``runs`` is one or several
    files, a frame, or a mapping name → run, where a run is a file, topic → document → score, or
    topic → documents in rank order. For all else see :func:`assay.measures.evaluate` and ``assay
    measure``. Raises FormatError for faulty files, ValueError for faulty objects.
    """
    number_of(g_max, "g_max", "the highest grade, a number, or None")
    if measures is None:
        measures = DEFAULTS
    wanted = parse_measures(measures)
    given = [runs] if isinstance(runs, str | PathLike) else runs
    if _are_files(given) and isinstance(qrels, str | PathLike):
        scored, _ = score_run_files(
            Path(qrels),
            [Path(one) for one in given],
            wanted,
            note=warn,
            ties=ties,
            ideal=ideal,
            g_max=g_max,
        )
        named = {str(one): one for one in wanted}
        return frame(rows(scored, named, topics, per_topic=per_topic)).select(COLUMNS)
    if _are_files(given):
        read = [_run_of(one) for one in given]
        require_own_names([name for name, _ in read], [Path(one) for one in given])
        given = dict(read)
    elif isinstance(given, Mapping):
        given = {
            name: read_run(run) if isinstance(run, str | PathLike) else run
            for name, run in given.items()
        }
    judged = read_qrels(qrels) if isinstance(qrels, str | PathLike) else qrels
    return evaluate(
        judged,
        given,
        wanted,
        per_topic=per_topic,
        topics=topics,
        ties=ties,
        g_max=g_max,
        ideal=ideal,
    ).select(COLUMNS)


def required(parsed: Parsed[T]) -> T:
    """The parsed value, with warnings issued by Python. Raises FormatError with all faults."""
    return used(parsed, warn)


def _run_of(path: Name) -> tuple[str, dict[str, dict[str, float]]]:
    run = required(trec.read_trec_run(path))
    return run.name, {topic: dict(scores) for topic, scores in run.scores.items()}


def _are_files(given: Any) -> bool:
    return isinstance(given, list | tuple) and all(isinstance(one, str | PathLike) for one in given)
