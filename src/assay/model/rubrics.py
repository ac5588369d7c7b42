"""Weighted rubrics: what an answer should and should not do, and how much each criterion counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from assay.model.trec_rag import Importance, RagNugget


class Met(StrEnum):
    """How far an answer satisfies a criterion. A criterion with a negative weight names a fault."""

    YES = "satisfied"
    PARTLY = "partially_satisfied"
    NO = "not_satisfied"


class Criterion(NamedTuple):
    """A criterion of a rubric. ``axis`` groups criteria (RAGDoll's type). ``tier`` is
    ``mandatory``, ``optional`` or empty. ``source`` is the text of the nugget that the criterion is
    made from."""

    text: str
    weight: float
    axis: str = ""
    tier: str = ""
    source: str | None = None


class GradedCriterion(NamedTuple):
    """A criterion and its verdict, or None if judging failed."""

    criterion: Criterion
    verdict: Met | None


@dataclass(frozen=True, slots=True)
class GradedAnswer:
    """An answer judged by a rubric."""

    run: str
    topic: str
    criteria: tuple[GradedCriterion, ...]
    line: int = 0


AXES = ("explicit", "implicit", "synthesis", "references", "communication", "instruction")
"""RAGDoll's types of criteria. Any other type counts as the first."""

MANDATORY = "mandatory"
"""Tier of a criterion that is made from a vital nugget."""


def rubric_of_nuggets(
    nuggets: Sequence[RagNugget], authored: Iterable[tuple[str, str, str | None]] = ()
) -> list[Criterion]:
    """Make a rubric from a topic's nuggets as RAGDoll does: the ``authored`` criteria, then one for
    each vital nugget that no authored criterion is made from.

    Each authored criterion is its text, its type and the text of its nugget (None if it is made
    from several, or from none). Criteria made from a vital nugget are mandatory, the others
    optional.
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
