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

    ``confidence`` is p(i) in [0, 1], None where the question is left out; ``correct`` is None where
    a label is missing; ``given`` says whether there is an answer, ``refused`` whether it declines,
    None where that is not known; ``to_refuse`` whether the question is to be refused.
    """

    confidence: Sequence[float | None]
    correct: Sequence[bool | None]
    precision: Sequence[Range]
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
        """Those that the run answered, or rightly declined. What may decline or not counts from
        wrong to right: a mean with it holds the mean without it."""
        found = self.only(
            [
                at
                for at, given in enumerate(self.given)
                if given and not (self.refused[at] and not self.correct[at])
            ]
        )
        known = [one is not None for one in found.refused]
        return found._replace(
            correct=[
                right if one else None for right, one in zip(found.correct, known, strict=True)
            ],
            precision=[
                ends if one else Range(0.0, 1.0)
                for ends, one in zip(found.precision, known, strict=True)
            ],
        )


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

    ``runs`` are the AC runs, ``ranked`` the PR runs, of relevance units, whose grades may be
    ``rising`` by so much for want of labels. ``categories`` are places in ``questions``.
    """

    questions: Sequence[str]
    categories: Mapping[str, Sequence[int]]
    runs: Mapping[str, Verdicts]
    ranked: Ranked
    rising: Mapping[str, Mapping[str, float]]
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
    pr_values: dict[str, dict[str, dict[str, Range]]]
    abstention: dict[str, Abstention]
