"""A score of a run over topics, and how runs rank by it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Self

from assay.measures.ranges import ROUNDING, Range

Ends = tuple[float, float]
"""Low and high end of a bootstrap interval."""


@dataclass(frozen=True, slots=True)
class Score:
    """A score of a run over topics (questions).

    ``floor`` and ``ceiling`` are its values if everything missing turned out worst and best for
    the run (:class:`assay.measures.ranges.Range`); ``value`` is None if they differ. All three
    are None if the score is undefined. ``low`` and ``high`` bound its bootstrap interval over
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
        ends: Range | None,
        *intervals: Ends,
        topics: int,
        missing: int = 0,
    ) -> Self:
        """A score from its floor to its ceiling (None: it is undefined); the bootstrap
        ``intervals`` are of these."""
        if ends is None:
            return cls.undefined(run, measure, topics=topics, missing=missing)
        low = min((low for low, _ in intervals), default=None)
        high = max((high for _, high in intervals), default=None)
        # A safe end may lie beyond all that was resampled, a value by rounding.
        slack = ROUNDING if ends.value is not None else float("inf")
        if low is not None and 0 < low - min(ends) <= slack:
            low = min(ends)
        if high is not None and 0 < max(ends) - high <= slack:
            high = max(ends)
        return cls(run, measure, ends.value, low, high, topics, missing, *ends)

    @property
    def interval(self) -> Ends | None:
        """Its bootstrap interval, where it has one."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def ends(self) -> Range | None:
        """Floor and ceiling; None if the score is undefined."""
        if self.floor is None or self.ceiling is None:
            return None
        return Range(self.floor, self.ceiling)


Scores = Mapping[str, Mapping[str, Score]]
"""run → measure → score."""

PerTopic = Mapping[str, Mapping[str, Mapping[str, Range | None]]]
"""run → measure → topic → value; None if it is undefined whatever the labels are."""

_TOPICS, _VALUES = 10, 5
"""Of so many topics and different values two runs are not the same by chance."""


def twins(scores: Scores, per_topic: PerTopic) -> Iterator[tuple[list[str], int]]:
    """Runs that score the same on every topic by every measure, and on how many topics: with ten
    topics or more and five different values or more, and nothing missing."""
    by_scores = defaultdict(list)
    for run, by_measure in scores.items():
        if not any(one.missing for one in by_measure.values()):
            by_scores[tuple((name, one.ends) for name, one in by_measure.items())].append(run)
    for runs in by_scores.values():
        found: list[tuple[list[str], dict[str, dict[str, Range | None]]]] = []
        for run in runs if len(runs) > 1 else ():
            values = {name: dict(by_topic) for name, by_topic in per_topic.get(run, {}).items()}
            if same := next((names for names, others in found if others == values), None):
                same.append(run)
            else:
                found.append(([run], values))
        for names, values in found:
            topics = set().union(*values.values())
            different = {value for by_topic in values.values() for value in by_topic.values()}
            if len(names) > 1 and len(topics) >= _TOPICS and len(different) >= _VALUES:
                yield names, len(topics)


def ranks(scores: Scores, measure: str, *, lower_is_better: bool = False) -> dict[str, int | None]:
    """The runs that have a measure, best first, each with its rank.

    They stand by floor, then by ceiling, then by name. Two runs whose ranges overlap share a rank,
    and so does whatever lies between them; the run after n others has rank n + 1 if it is
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
