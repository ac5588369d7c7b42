"""What the labels make of each narrative and of the documents retrieved for it.

The same code says what is asked next and what is scored, so that the two cannot differ.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

from assay.labellers.base import Request
from assay.model.labels import Label, Status
from assay.model.trec_rag import Segment, SubNarrative
from assay.protocols.labels import LabelBook
from assay.protocols.places import Place
from assay.protocols.trec_rag.inputs import RELEVANCE_TASKS, WITH_ASPECTS, Inputs, TrecRagSettings
from assay.protocols.trec_rag.needs import Needs
from assay.tasks.base import AnyTask, Unit
from assay.tasks.trec_rag import AspectsAnswered, AspectsUnit, RelevanceUnit
from assay.tasks.trec_rag_narratives import (
    NARRATIVE,
    SUB_NARRATIVES,
    SUB_NARRATIVES_DRAFT,
    Aspects,
    DraftUnit,
    NarrativeUnit,
    RefineUnit,
    draft_lines,
)

PEOPLE_FIRST = ("people", "human")


@dataclass
class Narratives:
    """Narratives, their sub-narratives and the grades of documents under a policy.

    With ``counting``, labels that are looked up are counted and remembered (scoring); without,
    they are only looked at (planning).
    """

    inputs: Inputs
    settings: TrecRagSettings
    book: LabelBook
    counting: bool = False
    _texts: dict[str, str | None] = field(default_factory=dict, init=False)
    _aspects: dict[str, tuple[SubNarrative, ...] | None] = field(default_factory=dict, init=False)
    _grades: dict[str, dict[str, int | None]] = field(default_factory=dict, init=False)
    _judged: MutableMapping[tuple[str, str, str], tuple[int | None, Label | None]] = field(
        default_factory=dict, init=False
    )

    def label(self, task: AnyTask, unit: Unit, place: Place) -> Label | None:
        """The label of a unit that counts, which may be a failed one."""
        if self.counting:
            return self.book.label(task, unit, place)
        return self.book.find(task, unit)

    def verdict(self, task: AnyTask, unit: Unit, place: Place) -> Mapping[str, Any] | None:
        label = self.label(task, unit, place)
        return None if label is None else label.verdict

    @cached_property
    def quiet(self) -> Self:
        """The same, with nothing counted."""
        found = replace(self, counting=False)
        found._judged = ChainMap({}, self._judged)  # what was counted need not be looked up again
        return found

    @cached_property
    def people_given(self) -> bool:
        """Whether the labels among the inputs go before those of the machine."""
        policy = self.book.book.policy.name if self.book.book is not None else self.settings.policy
        if self.settings.given_by == "people":
            return policy in PEOPLE_FIRST
        return policy in ("people", "machine")

    # -- narratives --------------------------------------------------------------------------

    def narrative_unit(self, topic: str) -> NarrativeUnit | None:
        """What is asked for a narrative that is still to be written."""
        one = self.inputs.narratives[topic]
        return None if one.text else NarrativeUnit(queries=one.queries)

    def narrative(self, topic: str) -> str | None:
        """The narrative's text; None while it is not written."""
        if topic not in self._texts:
            self._texts[topic] = self._written(topic)
        return self._texts[topic]

    def _written(self, topic: str) -> str | None:
        unit = self.narrative_unit(topic)
        if unit is None:
            return self.inputs.narratives[topic].text
        verdict = self.verdict(NARRATIVE, unit, Place("", topic, "narrative"))
        return None if verdict is None else str(verdict["narrative"]).strip()

    def draft_unit(self, topic: str) -> DraftUnit | None:
        """What the first stage is asked; None where sub-narratives are given, or none can be."""
        text = self.narrative(topic)
        if self.inputs.sub_narratives.get(topic) or text is None:
            return None
        return DraftUnit(narrative=text, queries=self.inputs.narratives[topic].queries)

    def refine_unit(self, topic: str) -> RefineUnit | None:
        """What the second stage is asked; None while there is no draft."""
        unit = self.draft_unit(topic)
        if unit is None:
            return None
        verdict = self.verdict(
            SUB_NARRATIVES_DRAFT, unit, Place("", topic, "sub-narratives, draft")
        )
        if verdict is None:
            return None
        return RefineUnit(
            narrative=unit.narrative, draft=draft_lines(Aspects.model_validate(verdict))
        )

    def aspects(self, topic: str) -> tuple[SubNarrative, ...] | None:
        """The sub-narratives; None while they are not known."""
        if topic not in self._aspects:
            counting, self.counting = self.counting, self.counting and self.needs.aspects
            self._aspects[topic] = self._refined(topic)
            self.counting = counting
        return self._aspects[topic]

    @cached_property
    def needs(self) -> Needs:
        """What the inputs leave open."""
        return Needs(self.inputs, self.settings)

    def _refined(self, topic: str) -> tuple[SubNarrative, ...] | None:
        given = self.inputs.sub_narratives.get(topic)
        if given:
            return given
        unit = self.refine_unit(topic)
        verdict = None
        if unit is not None:
            verdict = self.verdict(SUB_NARRATIVES, unit, Place("", topic, "sub-narratives"))
        if verdict is None:
            return None
        found = Aspects.model_validate(verdict).sub_narratives
        return tuple(SubNarrative(one.text.strip(), one.importance) for one in found)

    # -- relevance ---------------------------------------------------------------------------

    def relevance_request(self, topic: str, doc: str, way: str) -> Request | None:
        """What is asked about a document; None while the sub-narratives are not known, or where
        its text is not among the segments."""
        segment = self.inputs.segments.get(doc)
        text = self.narrative(topic)
        if segment is None or text is None:
            return None
        task = RELEVANCE_TASKS[way]
        if way not in WITH_ASPECTS:
            unit = RelevanceUnit(question=text, passage=segment.text)
            return Request(task, unit, topic=topic)
        aspects = self.aspects(topic)
        if aspects is None:
            return None
        names = tuple(one.text for one in aspects)
        aspects_unit = AspectsUnit(narrative=text, sub_narratives=names, passage=segment.text)
        return Request(task, aspects_unit, topic=topic)

    def judged(self, topic: str, doc: str, way: str) -> tuple[int | None, Label | None]:
        """The grade of a document as its label in one way says, and the label."""
        asked = (topic, doc, way)
        if asked not in self._judged:
            self._judged[asked] = self._grade_and_label(*asked)
        return self._judged[asked]

    def _grade_and_label(self, topic: str, doc: str, way: str) -> tuple[int | None, Label | None]:
        request = self.relevance_request(topic, doc, way)
        if request is None:
            return None, None
        label = self.label(request.task, request.unit, Place("", topic, f"{doc} relevance"))
        if label is None or label.verdict is None:
            return None, label
        return grade_of(way, label.verdict), label

    def grades(self, topic: str) -> dict[str, int | None]:
        """The grade of every pooled document under the policy, None where there is none: a
        person's label, then the given qrels, then the machine's label. Given grades of documents
        beyond the pool are kept."""
        if topic not in self._grades:
            given = self.inputs.qrels.get(topic, {})
            found: dict[str, int | None] = {}
            for doc in self.inputs.ranks.get(topic, {}):
                label = None
                grade: int | None = None
                if self.settings.relevance != "none":
                    if self.people_given and doc in given and not self._person(topic, doc):
                        found[doc] = given[doc]
                        continue
                    grade, label = self.judged(topic, doc, self.settings.relevance)
                if label is None and doc in given and self.people_given:
                    grade = given[doc]
                found[doc] = grade
            if self.people_given:
                for doc, grade in given.items():
                    found.setdefault(doc, grade)
            self._grades[topic] = found
        return self._grades[topic]

    @property
    def relevance_asked(self) -> bool:
        """Whether a pooled document without a grade lacks a label: not where qrels alone say what
        is relevant, as they do among people's labels, too."""
        if self.settings.relevance == "none":
            return False
        only_people = self.book.book is not None and self.book.book.policy.name == "human"
        return not (only_people and self.people_given and self.inputs.qrels)

    def _person(self, topic: str, doc: str) -> bool:
        """Whether a person labelled the document in the ledger."""
        request = self.relevance_request(topic, doc, self.settings.relevance)
        label = None if request is None else self.book.find(request.task, request.unit)
        return label is not None and label.labeller.is_human

    def documents(self, topic: str) -> list[Segment] | None:
        """The documents that nuggets are made from, the most relevant first; None while a grade
        is missing (not failed)."""
        found = []
        for doc, grade in self.grades(topic).items():
            segment = self.inputs.segments.get(doc)
            if grade is None and segment is not None and not self._failed(topic, doc):
                return None
            if grade is not None and grade >= self.settings.threshold and segment is not None:
                found.append((-grade, self.inputs.ranks[topic].get(doc, 10**9), doc, segment))
        return [segment for *_, segment in sorted(found, key=lambda one: one[:3])]

    def _failed(self, topic: str, doc: str) -> bool:
        if self.settings.relevance == "none":
            return True
        request = self.relevance_request(topic, doc, self.settings.relevance)
        label = None if request is None else self.book.find(request.task, request.unit)
        return label is not None and label.status is Status.FAILED


def grade_of(way: str, verdict: Mapping[str, Any]) -> int:
    """The grade that a relevance verdict comes to."""
    if way == "counted":
        return AspectsAnswered.model_validate(verdict).grade
    if way == "yes-no":
        return int(bool(verdict["relevant"]))
    return int(verdict["grade"])
