"""A score of a run over topics, and the columns that every protocol's ``scores.csv`` has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Self

from assay.measures.ranges import ROUNDING, Range
from assay.protocols.output import csv_bytes

SCORE_COLUMNS = (
    "run", "measure", "value", "low", "high", "topics", "missing", "floor", "ceiling",
)  # fmt: skip
TOPIC_COLUMNS = ("run", "topic", "measure", "value")
VALUE_COLUMNS = ("run", "topic", "measure", "value", "floor", "ceiling")
"""What commands on files print with ``--csv``; the topic of a mean is ``all``."""

RANGE_COLUMNS = ("run", "topic", "measure", "floor", "ceiling")

Ends = tuple[float, float]
"""Low and high end of a bootstrap interval."""


@dataclass(frozen=True, slots=True)
class Score:
    """A score of a run over topics (questions).

    ``floor`` and ``ceiling`` are its values if everything missing turned out worst and best for
    the run (:class:`assay.measures.ranges.Range`); ``value`` is None where they differ. All three
    are None where the score is undefined. ``low`` and ``high`` bound its bootstrap interval over
    topics, which then holds the intervals of both. The score is over ``topics`` topics; the values
    of ``missing`` of them hang on a label that is not there.
    """

    run: str
    measure: str
    value: float | None
    low: float | None
    high: float | None
    topics: int
    missing: int
    floor: float | None
    ceiling: float | None

    @classmethod
    def undefined(cls, run: str, measure: str, *, topics: int = 0, missing: int = 0) -> Self:
        """A score that no completion of the labels would define."""
        return cls(run, measure, None, None, None, topics, missing, None, None)

    @classmethod
    def between(
        cls,
        run: str,
        measure: str,
        ends: Range,
        *intervals: Ends,
        topics: int,
        missing: int = 0,
    ) -> Self:
        """A score from its floor to its ceiling; the bootstrap ``intervals`` are of these."""
        low = min((low for low, _ in intervals), default=None)
        high = max((high for _, high in intervals), default=None)
        # A safe end may lie beyond all that was resampled, a value by rounding.
        slack = ROUNDING if ends.value is not None else float("inf")
        if low is not None and 0 < low - min(ends) <= slack:
            low = min(ends)
        if high is not None and 0 < max(ends) - high <= slack:
            high = max(ends)
        return cls(
            run,
            measure,
            ends.value,
            low,
            high,
            topics,
            missing,
            ends.floor,
            ends.ceiling,
        )

    @property
    def ends(self) -> Range | None:
        """Floor and ceiling; None where the score is undefined."""
        if self.floor is None or self.ceiling is None:
            return None
        return Range(self.floor, self.ceiling)


Scores = Mapping[str, Mapping[str, Score]]
"""run → measure → score."""

PerTopic = Mapping[str, Mapping[str, Mapping[str, Range | None]]]
"""run → measure → topic → value; None where it is undefined whatever the labels are."""


def ranks(scores: Scores, measure: str, *, lower_is_better: bool = False) -> dict[str, int | None]:
    """The runs that have a measure, best first, each with its rank.

    They stand by floor, then by ceiling, then by name. Two runs whose ranges overlap share a rank,
    and so does whatever lies between them; the run after n others has rank n + 1 where it is
    surely worse than all of them. Runs whose score is undefined come last, without a rank.
    """
    sign = -1.0 if lower_is_better else 1.0
    known: list[tuple[float, float, str]] = []
    undefined = []
    for run, by_measure in scores.items():
        if measure in by_measure:
            ends = by_measure[measure].ends
            if ends is None:
                undefined.append(run)
            else:
                known.append((-sign * ends.floor, -sign * ends.ceiling, run))
    known.sort()
    found: dict[str, int | None] = {}
    # Signs are turned. From the worst run up: a run is surely worse than all before it where no
    # run from it on can reach the floor of the one before.
    reach, together = float("inf"), []
    for place in range(len(known) - 1, -1, -1):
        together.append(known[place][2])
        reach = min(reach, known[place][1])
        if not place or reach > known[place - 1][0] + ROUNDING:
            found.update(dict.fromkeys(together, place + 1))
            together = []
    return {run: found.get(run) for run in (*(one[2] for one in known), *sorted(undefined))}


def score_files(
    scores: Scores,
    per_topic: PerTopic,
    more: Mapping[str, Scores],
    by_category: Mapping[str, Scores] | None,
) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of ``scores.csv``, ``per_topic.csv`` and, where something hangs on a missing
    label, ``per_topic_ranges.csv``; of ``scores_NAME.csv`` for tables that are ``more``, and of
    ``scores_by_category.csv`` where topics have categories."""
    yield "scores.csv", score_csv(scores)
    cells = [
        (run, topic, measure, ends)
        for run, by_measure in per_topic.items()
        for measure, values in by_measure.items()
        for topic, ends in values.items()
    ]
    yield (
        "per_topic.csv",
        csv_bytes(TOPIC_COLUMNS, ((*cell, ends and ends.value) for *cell, ends in cells)),
    )
    open_ends = [(*cell, *ends) for *cell, ends in cells if ends and ends.value is None]
    if open_ends:
        yield "per_topic_ranges.csv", csv_bytes(RANGE_COLUMNS, open_ends)
    for name, table in more.items():
        yield f"scores_{name}.csv", score_csv(table)
    if by_category is not None:
        rows = (
            (category, *score_row(score))
            for category, runs in by_category.items()
            for found in runs.values()
            for score in found.values()
        )
        yield "scores_by_category.csv", csv_bytes(("category", *SCORE_COLUMNS), rows)


def value_row(run: str, topic: str, measure: str, ends: Range | None) -> tuple[object, ...]:
    """A row under :data:`VALUE_COLUMNS`; None is undefined."""
    return (run, topic, measure, ends and ends.value, *(ends or (None, None)))


def score_csv(table: Scores) -> bytes:
    """A table as a file of scores."""
    scores = (one for found in table.values() for one in found.values())
    return csv_bytes(SCORE_COLUMNS, (score_row(one) for one in scores))


def score_row(score: Score) -> tuple[object, ...]:
    """The cells of a row of ``scores.csv``."""
    return tuple(getattr(score, name) for name in SCORE_COLUMNS)
