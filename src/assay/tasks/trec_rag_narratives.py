"""Narratives from clusters of queries, and sub-narratives in two stages (draft, refine).

Source: overview of the TREC 2025 RAG track, section 2. A person reviews and edits the result.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

from assay.model.trec_rag import Importance
from assay.tasks.base import AnyTask, Task, Unit, Verdict
from assay.tasks.fields import folded
from assay.tasks.lists import list_of_texts
from assay.tasks.schemas import distinct, fields, readable, readable_text

MOST_SUB_NARRATIVES = 10


class NarrativeUnit(Unit):
    """A cluster of related queries."""

    queries: tuple[str, ...]


class NarrativeVerdict(Verdict):
    """A narrative of two or three sentences."""

    narrative: str


NARRATIVE = Task(
    name="trec_rag.narrative",
    title="A narrative of two or three sentences from a cluster of queries",
    unit=NarrativeUnit,
    verdict=NarrativeVerdict,
    check=lambda _, verdict: (
        None if readable(verdict.narrative) else "'narrative' must not be empty"
    ),
    narrow=lambda _, schema: fields(schema).update(narrative=readable_text()),
    max_tokens=300,
    joins=False,
)


class Aspect(Verdict):
    """A sub-narrative with its importance."""

    text: str
    importance: Annotated[Importance, BeforeValidator(folded)]


class Aspects(Verdict):
    """The sub-narratives of a narrative, at most ten."""

    sub_narratives: Annotated[
        tuple[Aspect, ...], AfterValidator(partial(distinct, text=attrgetter("text")))
    ]


class DraftUnit(Unit):
    """A narrative and the queries that it was written from."""

    narrative: str
    queries: tuple[str, ...]


class RefineUnit(Unit):
    """A narrative and a draft of its sub-narratives, each as ``importance: text``."""

    narrative: str
    draft: tuple[str, ...]


SUB_NARRATIVES_DRAFT: AnyTask = Task(
    name="trec_rag.sub_narratives_draft",
    title="Sub-narratives, first stage: a draft from the narrative and its queries",
    unit=DraftUnit,
    verdict=Aspects,
    **list_of_texts("sub_narratives", lambda _: (1, MOST_SUB_NARRATIVES), model=Aspect),
    max_tokens=800,
    joins=False,
)
SUB_NARRATIVES: AnyTask = replace(
    SUB_NARRATIVES_DRAFT,
    name="trec_rag.sub_narratives",
    title="Sub-narratives, second stage: the draft refined",
    unit=RefineUnit,
)


def draft_lines(aspects: Aspects) -> tuple[str, ...]:
    """The draft as it is shown in the second stage."""
    return tuple(f"{one.importance.value}: {one.text.strip()}" for one in aspects.sub_narratives)


TASKS: tuple[AnyTask, ...] = (NARRATIVE, SUB_NARRATIVES_DRAFT, SUB_NARRATIVES)
