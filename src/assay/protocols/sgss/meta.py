"""What people prefer beside what SGSS says, and people's labels beside the machine's."""

from __future__ import annotations

from collections.abc import Sequence

from assay.measures.ranges import Range
from assay.measures.scores import Score
from assay.page.parts import Part, Table, Value
from assay.protocols.means import mean_score
from assay.protocols.sgss.inputs import SgssSettings
from assay.protocols.sgss.preferences import PreferredPair

Compared = Sequence[tuple[PreferredPair, Range | None, Range | None]]
GROUPS = ("test", "train", "assumed", "asked")


def group(pair: PreferredPair) -> str:
    """``assumed`` (an original and its degraded version), ``asked`` (here), ``test`` or
    ``train``."""
    if pair.asked:
        return "asked"
    return "assumed" if pair.assumed else "test" if pair.test else "train"


def mean_rates(compared: Compared, settings: SgssSettings) -> dict[str, Score]:
    """Part → MAR with its interval over pairs."""
    by_part = {name: [rate for pair, _, rate in compared if group(pair) == name] for name in GROUPS}
    return {
        name: mean_score(name, "MAR", found, settings) for name, found in by_part.items() if found
    }


def preference_scores(compared: Compared, settings: SgssSettings) -> list[dict[str, object]]:
    """MAR of each part, for scripts. ``missing`` counts the pairs whose AR hangs on a missing
    label."""
    return [
        {
            "part": name, "MAR": mar.value, "low": mar.low, "high": mar.high, "pairs": mar.topics,
            "labels": _labels(compared, name), "missing": mar.missing, "floor": mar.floor,
            "ceiling": mar.ceiling,
        }
        for name, mar in mean_rates(compared, settings).items()
    ]  # fmt: skip


def _labels(compared: Compared, name: str) -> int:
    return sum(p.labels for p, _, rate in compared if group(p) == name and rate is not None)


def preference_part(compared: Compared, settings: SgssSettings) -> tuple[Part, ...]:
    """AR of every pair and MAR of every part."""
    if not compared:
        return ()
    columns = ("part", "MAR", "low", "high", "pairs", "labels", "missing")
    summary: list[tuple[Value, ...]] = [
        (name, mar.ends, mar.low, mar.high, mar.topics, _labels(compared, name), mar.missing)
        for name, mar in mean_rates(compared, settings).items()
    ]
    rows: list[tuple[Value, ...]] = [
        (pair.query, pair.left, pair.right, group(pair), f"{pair.left_better} of {pair.labels}",
         difference, rate)
        for pair, difference, rate in compared
    ]  # fmt: skip
    note = (
        "Weights are learned from the training part; how well they do shows on the test part. An "
        "original is assumed to be better than its degraded version."
    )
    if any(pair.asked for pair, _, _ in compared):
        note += (
            " Pairs under “asked” were compared here under sgss.preference; a machine sees each "
            "in both orders, and where it then prefers the same side it prefers neither summary."
        )
    if any(rate is not None and rate.value is None for _, _, rate in compared):
        note += " A range runs over all that missing labels may turn out to be."
    return (
        Part(
            "Agreement with preferences",
            note,
            (
                Table("Mean agreement rate", columns, summary),
                Table(
                    "Pairs",
                    ("query", "left", "right", "part", "prefer left", "ΔSGSS", "AR"),
                    rows,
                    folded=True,
                ),
            ),
        ),
    )
