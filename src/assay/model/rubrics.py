"""Weighted rubrics: what an answer should do, what it should not, and how much each counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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


AXES = ("explicit", "implicit", "synthesis", "references", "communication", "instruction")
"""RAGDoll's types of criteria; another one counts as the first."""

MANDATORY, OPTIONAL = ("mandatory", 5.0), ("optional", 2.0)
"""Tier and weight of a criterion made of a vital nugget, and of any other."""


def rubric_of_nuggets(
    nuggets: Sequence[RagNugget], authored: Iterable[tuple[str, str, str | None]] = ()
) -> list[Criterion]:
    """A rubric that holds answers to a topic's nuggets, as RAGDoll makes it.

    Tier and weight of an authored criterion are those of its nugget's importance. A vital nugget
    that no authored criterion is made of gets one of its own; an okay one does not. ``nuggets``: of
    one topic. ``authored``: text, type and the text of the nugget that it is made of (None:
    several, or none) of criteria that somebody wrote.
    """
    vital = {one.text: one.importance is Importance.VITAL for one in nuggets}
    found = []
    for text, axis, source in authored:
        tier, weight = MANDATORY if source is not None and vital.get(source) else OPTIONAL
        found.append(Criterion(text, weight, axis if axis in AXES else AXES[0], tier, source))
    used = {one.source for one in found}
    for text, is_vital in vital.items():
        if is_vital and text not in used:
            tier, weight = MANDATORY
            found.append(Criterion(f"The answer conveys: {text}", weight, AXES[0], tier, text))
    return found
