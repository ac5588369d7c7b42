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

MANDATORY = "mandatory"
"""The tier of a criterion made of a vital nugget."""


def rubric_of_nuggets(
    nuggets: Sequence[RagNugget], authored: Iterable[tuple[str, str, str | None]] = ()
) -> list[Criterion]:
    """A rubric that holds answers to a topic's nuggets, as RAGDoll makes it: the criteria that
    somebody wrote, then one for each vital nugget that none of these is made of.

    ``authored``: text, type and the text of the nugget that it is made of (None: several, or none).
    Made of a vital nugget it is mandatory, else optional.
    """
    vital = dict.fromkeys(one.text for one in nuggets if one.importance is Importance.VITAL)
    written = [(text, axis if axis in AXES else AXES[0], of) for text, axis, of in authored]
    used = {of for *_, of in written}
    made = [(f"The answer conveys: {of}", AXES[0], of) for of in vital if of not in used]
    return [
        Criterion(text, 5.0, axis, MANDATORY, of)
        if of in vital
        else Criterion(text, 2.0, axis, "optional", of)
        for text, axis, of in [*written, *made]
    ]
