"""Scores of runs over topics, and the ranking of runs by them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Self

from assay.measures.ranges import ROUNDING, Range

Ends = tuple[float, float]
"""The low and high end of a bootstrap interval."""


@dataclass(frozen=True, slots=True)
class Score:
    """A score of a run over topics (questions).

    ``floor``, ``ceiling``: the worst and best value for the run, given the missing labels
    (:class:`assay.measures.ranges.Range`). ``value``: None if these differ. All three are None if
    the score is undefined. ``low``, ``high``: the bootstrap interval over topics; it contains the
    intervals of floor and ceiling. ``topics``: the number of topics. ``missing``: the number of
    topics whose values depend on a missing label.
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
        """A score that is undefined whatever the missing labels are."""
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
        """A score with the floor and ceiling ``ends`` (None if undefined), and the bootstrap
        ``intervals`` of both."""
        if ends is None:
            return cls.undefined(run, measure, topics=topics, missing=missing)
        low = min((low for low, _ in intervals), default=None)
        high = max((high for _, high in intervals), default=None)
        # The interval must contain floor and ceiling. An end that is only a bound may lie beyond
        # all resamples; a certain value may do so by rounding only.
        slack = ROUNDING if ends.value is not None else float("inf")
        if low is not None and 0 < low - min(ends) <= slack:
            low = min(ends)
        if high is not None and 0 < max(ends) - high <= slack:
            high = max(ends)
        return cls(run, measure, ends.value, low, high, topics, missing, *ends)

    @property
    def interval(self) -> Ends | None:
        """The bootstrap interval, or None."""
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
"""run → measure → topic → value; None if it is undefined whatever the missing labels are."""

_LEAST_TOPICS, _LEAST_VALUES = 10, 5
"""With so many topics and different values, two runs do not have the same scores by chance."""


def identical_runs(scores: Scores, per_topic: PerTopic) -> Iterator[tuple[list[str], int]]:
    """Groups of runs that have the same score on every topic by every measure, each with the number
    of topics. Only groups with nothing missing, at least 10 topics and at least 5 different values
    are reported."""
    by_scores = defaultdict(list)
    for run, by_measure in scores.items():
        if not any(score.missing for score in by_measure.values()):
            means = tuple((name, score.ends) for name, score in by_measure.items())
            by_scores[means].append(run)
    for runs in by_scores.values():
        groups: list[tuple[list[str], dict[str, dict[str, Range | None]]]] = []
        for run in runs if len(runs) > 1 else ():
            values = {name: dict(by_topic) for name, by_topic in per_topic.get(run, {}).items()}
            if group := next((names for names, others in groups if others == values), None):
                group.append(run)
            else:
                groups.append(([run], values))
        for names, values in groups:
            topics = set().union(*values.values())
            distinct = {value for by_topic in values.values() for value in by_topic.values()}
            if len(names) > 1 and len(topics) >= _LEAST_TOPICS and len(distinct) >= _LEAST_VALUES:
                yield names, len(topics)


def ranks(scores: Scores, measure: str, *, lower_is_better: bool = False) -> dict[str, int | None]:
    """The runs that have a measure, best first, each with its rank.

    Runs are sorted by floor, then ceiling, then name. Two runs whose ranges overlap share a rank
    with each other and with all runs between them. A run that is certainly worse than the n runs
    before it has rank n + 1. Runs with an undefined score come last and have no rank.
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
    rank_of: dict[str, int | None] = {}
    # From the worst run upwards; the ends are negated. A new rank begins at a run if neither it nor
    # any worse run can reach the floor of the run before it.
    best_ceiling, sharing = float("inf"), []
    for place in range(len(known) - 1, -1, -1):
        sharing.append(known[place][2])
        best_ceiling = min(best_ceiling, known[place][1])
        if not place or best_ceiling > known[place - 1][0] + ROUNDING:
            rank_of.update(dict.fromkeys(sharing, place + 1))
            sharing = []
    return {run: rank_of.get(run) for run in (*(run for *_, run in known), *sorted(undefined))}
