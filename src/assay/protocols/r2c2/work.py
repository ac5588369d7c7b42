"""What scores are computed from, and what comes out.

Both are small, however large the evaluation is, so that another process
(:mod:`assay.protocols.aside`) can compute them while files are written; only that one loads numpy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from assay.protocols.ranked import Ranked
from assay.protocols.scores import Score

Table = dict[str, dict[str, Score]]
"""run → measure → score."""


class Verdicts(NamedTuple):
    """A run's answers, question by question.

    ``confidence`` is p(i) in [0, 1]; ``correct`` and ``precision`` are None where a label is
    missing; ``tried`` says whether the run answered and did not decline, or rightly, None where
    that is not known.
    """

    confidence: Sequence[float]
    correct: Sequence[bool | None]
    precision: Sequence[float | None]
    tried: Sequence[bool | None]

    def only(self, places: Sequence[int]) -> Verdicts:
        """Those of some questions, by their places."""
        return Verdicts(
            [self.confidence[place] for place in places],
            [self.correct[place] for place in places],
            [self.precision[place] for place in places],
            [self.tried[place] for place in places],
        )

    def attempted(self) -> Verdicts:
        """Those that the run tried, and those of which that is not known, as not known."""
        found = self.only([place for place, one in enumerate(self.tried) if one is not False])
        known = zip(found.correct, found.tried, strict=True)
        return found._replace(correct=[right if tried else None for right, tried in known])


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
class Numbers:
    """All scores. ``scores`` are those of AC runs, ``pr_scores`` of PR runs, ``attempted`` of AC
    runs over the questions that they did not decline; ``by_category[category]`` holds both;
    ``pr_values`` are a PR run's scores by measure and question."""

    scores: Table
    pr_scores: Table
    attempted: Table
    by_category: dict[str, Table]
    pr_values: dict[str, dict[str, dict[str, float]]]
