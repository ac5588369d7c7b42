"""What scores are computed from, and what comes out.

Both are small, however large the evaluation is, so that another process
(:mod:`assay.protocols.aside`) can compute them while files are written; only that one loads numpy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from assay.measures.ranges import Range
from assay.protocols.ranked import Ranked
from assay.protocols.scores import Score

if TYPE_CHECKING:  # it needs numpy
    from assay.measures.abstention import SweepPoint

Table = dict[str, dict[str, Score]]
"""run → measure → score."""


class Verdicts(NamedTuple):
    """A run's answers, question by question.

    ``confidence`` is p(i) in [0, 1]; ``correct`` and ``precision`` are None where a label is
    missing; ``given`` says whether there is an answer, ``refused`` whether it declines, None where
    that is not known; ``to_refuse`` whether the question is to be refused.
    """

    confidence: Sequence[float]
    correct: Sequence[bool | None]
    precision: Sequence[float | None]
    given: Sequence[bool]
    refused: Sequence[bool | None]
    to_refuse: Sequence[bool]

    def only(self, places: Sequence[int]) -> Verdicts:
        """Those of some questions, by their places."""
        return Verdicts(
            [self.confidence[place] for place in places],
            [self.correct[place] for place in places],
            [self.precision[place] for place in places],
            [self.given[place] for place in places],
            [self.refused[place] for place in places],
            [self.to_refuse[place] for place in places],
        )

    def attempted(self) -> Verdicts:
        """Those that the run answered, or rightly declined. Of what may decline or not the
        correctness is as good as unknown."""
        places = range(len(self.given))
        found = self.only(
            [
                at
                for at in places
                if self.given[at] and not (self.refused[at] and not self.correct[at])
            ]
        )
        known = zip(found.correct, found.refused, strict=True)
        return found._replace(correct=[None if one is None else right for right, one in known])


class Resampling(NamedTuple):
    """The settings of intervals, and of the bins of ECE and MCE."""

    level: float
    resamples: int
    seed: int
    bins: int
    closed: Literal["right", "left"]


@dataclass(frozen=True, slots=True)
class Work:
    """What scores are computed from.

    ``runs`` are the AC runs, ``ranked`` the PR runs, of relevance units. ``categories`` are places
    in ``questions``; to ``unsure`` questions some mark is missing.
    """

    questions: Sequence[str]
    categories: Mapping[str, Sequence[int]]
    unsure: frozenset[str]
    runs: Mapping[str, Verdicts]
    ranked: Ranked
    resampling: Resampling


@dataclass(frozen=True, slots=True)
class Abstention:
    """How a run declines: ``refused`` answers, ``rightly`` so many of them, ``unknown`` where
    nobody knows, of ``to_refuse`` questions that are to be refused
    (:mod:`assay.measures.abstention`)."""

    refused: int
    rightly: int
    unknown: int
    to_refuse: int
    precision: Range | None
    recall: Range | None
    sweep: tuple[SweepPoint, ...]


@dataclass(frozen=True, slots=True)
class Numbers:
    """All scores. ``scores`` are those of AC runs, ``pr_scores`` of PR runs, ``attempted`` of AC
    runs over the questions that they did not decline; ``by_category[category]`` holds both;
    ``pr_values`` are a PR run's scores by measure and question; ``abstention`` says how AC runs
    decline."""

    scores: Table
    pr_scores: Table
    attempted: Table
    by_category: dict[str, Table]
    pr_values: dict[str, dict[str, dict[str, float]]]
    abstention: dict[str, Abstention]
