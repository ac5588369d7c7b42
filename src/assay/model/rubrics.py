"""Weighted rubrics: what an answer should do, what it should not, and how much each counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from assay.model.trec_rag import Importance, RagNugget


class Met(StrEnum):
    """How far an answer does what a criterion says. Of a criterion with a negative weight that is
    a failing."""

    YES = "satisfied"
    PARTLY = "partially_satisfied"
    NO = "not_satisfied"


class Criterion(NamedTuple):
    """A criterion. ``axis`` groups criteria (RAGDoll's type); ``tier`` is ``mandatory``,
    ``optional`` or empty; ``source`` is the nugget that it was made of."""

    text: str
    weight: float
    axis: str = ""
    tier: str = ""
    source: str | None = None


class GradedCriterion(NamedTuple):
    """A criterion and its verdict, None where judging failed."""

    criterion: Criterion
    verdict: Met | None


@dataclass(frozen=True, slots=True)
class GradedAnswer:
    """An answer held to a rubric."""

    run: str
    topic: str
    criteria: tuple[GradedCriterion, ...]
    line: int = 0


MANDATORY = "mandatory"
"""The tier of a criterion made of a vital nugget."""


def rubric_of_nuggets(nuggets: Sequence[RagNugget]) -> list[Criterion]:
    """A rubric that holds answers to a topic's nuggets, as RAGDoll makes it where nobody wrote
    criteria: each vital nugget gets one; an okay one does not."""
    vital = dict.fromkeys(one.text for one in nuggets if one.importance is Importance.VITAL)
    return [
        Criterion(f"The answer conveys: {text}", 5.0, "explicit", MANDATORY, text) for text in vital
    ]
