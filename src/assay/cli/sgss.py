"""``assay sgss``: weights learned from preferences."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from assay.api.sgss import LearnedWeights, learn_weights
from assay.cli.common import Paragraph, forms, group, present, tell
from assay.cli.judging import LabellerOption, PolicyOption
from assay.model.options import Argument, Option
from assay.model.wording import counted
from assay.page.tables import Table
from assay.protocols.sgss.inputs import CRITERIA
from assay.protocols.sgss.learning import Learned

app = group("Learn SGSS weights from preferences.")


@app.command("weights")
@forms("json")
def weights_command(
    folder: Annotated[
        Path, Argument("FOLDER", "Evaluation folder with 'preferences' in [inputs].")
    ],
    into: Annotated[
        Path | None,
        Option("File to write the weights to (default: FOLDER/weights.json).", flag="--out"),
    ] = None,
    select: Annotated[
        bool, Option("Drop criteria that do not help, or keep all.", flag="--select/--all")
    ] = True,
    degraded: Annotated[
        bool, Option("Learn from originals and their degraded versions too.")
    ] = False,
    policy: PolicyOption = None,
    labeller: LabellerOption = None,
) -> None:
    """Learn the weights from the training part of the preferences, and save them.

    Fits a logistic regression without an intercept on the differences of the measures; criteria are
    dropped by cross-validated MAR.

    If the table shows that the weights agree better than the default ones, put 'weights =
    "weights.json"' into [settings] to use them. The MAR shown there is for queries that were not
    used in choosing anything (nested cross-validation), with its interval over queries.
    """
    made = learn_weights(
        folder, into, select=select, degraded=degraded, policy=policy, labeller=labeller
    )
    present(lambda: made.document, _people(made))


def _people(made: LearnedWeights) -> Iterator[Table | str]:
    learned, target = made.learned, made.path
    yield Table("Weights", CRITERIA, [[getattr(learned.weights, name) for name in CRITERIA]])
    yield Table(
        "Models, each with one criterion fewer",
        ("criteria", "MAR"),
        [
            (" ".join(one.criteria) + (" ←" if one.criteria == learned.criteria else ""), one.mar)
            for one in learned.steps
        ],
    )
    own = f", {learned.assumed} of them an original and its degraded version" * (
        learned.assumed > 0
    )
    yield Paragraph(
        f"Learned from {learned.labels} preferences between {learned.pairs} pairs{own}; MAR in "
        f"cross-validation by query, on the training pairs themselves {learned.mar_train:.3f}."
    )
    yield ""
    columns = ("weights", "MAR", "interval", "against default")
    yield Table(
        "On queries not used to choose anything",
        columns,
        [
            (one.model, one.mar, _ends(one.interval), _ends(one.against_default, sign=True))
            for one in learned.compared
        ],
        digits=3,
        numbers=frozenset(columns[1:]),
    )
    if learned.test_pairs:
        yield Table(
            f"On {counted(learned.test_pairs, 'test pair')}",
            columns[:3],
            [(one.model, one.test_mar, _ends(one.test_interval)) for one in learned.compared],
            digits=3,
            numbers=frozenset(columns[1:3]),
        )
    yield _verdict(learned)
    if learned.left_out:
        tell(f"{counted(learned.left_out, 'pair')} without all labels: not used for learning.")
    yield f'{target}: to use it, put weights = "{target.name}" into [settings].'


def _ends(ends: tuple[float, float] | None, *, sign: bool = False) -> str:
    if ends is None:
        return "–"
    return " to ".join(f"{end:+.3f}" if sign else f"{end:.3f}" for end in ends)


def _verdict(learned: Learned) -> str:
    if learned.own.against_default is None:
        return (
            "There are too few queries to tell whether they agree better than the default weights."
        )
    low, high = learned.own.against_default
    if low > 0:
        return "They agree better than the default weights."
    if high < 0:
        return "They agree less than the default weights: keep the defaults."
    return "It is unclear whether they agree better than the default weights."
