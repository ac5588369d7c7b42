"""What the labels make of each narrative and of the documents retrieved for it.

The same code says what is asked next and what is scored, so that the two cannot differ.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress
from typing import Any, Self

from assay.labellers.base import Request
from assay.model.labels import Label
from assay.model.trec_rag import Segment, SubNarrative
from assay.protocols.counted import CountedLabels
from assay.protocols.labels import LabelBook
from assay.protocols.places import Place
from assay.protocols.trec_rag.inputs import TrecRagInputs, TrecRagSettings
from assay.protocols.trec_rag.needs import Needs
from assay.tasks.base import AnyTask, Unit
from assay.tasks.relevance import WAYS, grade_of
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


Pooled = tuple[str, str]
"""topic, document"""


@dataclass
class JudgedDocuments:
    """What labels of one way of asking say of documents: their ``grades``, which labels are
    ``by_people`` and which ``failed``, and, where an ensemble voted, the share of the votes that
    agree with its label."""

    grades: dict[Pooled, int] = field(default_factory=dict)
    by_people: set[Pooled] = field(default_factory=set)
    failed: set[Pooled] = field(default_factory=set)
    agreeing: dict[Pooled, float] = field(default_factory=dict)

    def read(self, way: str, documents: Sequence[Pooled], labels: CountedLabels) -> None:
        """Add what the labels of some documents say."""
        grades = labels.map(lambda verdict: grade_of(way, verdict)).tolist()
        known = zip(documents, grades, strict=True)
        self.grades.update((one, int(grade)) for one, grade in known if grade == grade)
        self.by_people.update(compress(documents, labels.human))
        self.failed.update(compress(documents, labels.failed))
        for like, which in labels.by_kind():
            for at in which.tolist() if like.detail.get("votes") else ():
                label = labels[at]
                if label is not None and label.verdict is not None:
                    self.agreeing[documents[at]] = _agreeing(label.detail, label.verdict, way)


def _agreeing(detail: Mapping[str, Any], verdict: Mapping[str, Any], way: str) -> float:
    votes = [one["verdict"] for one in detail["votes"] if one["verdict"]]
    same = sum(grade_of(way, vote) == grade_of(way, verdict) for vote in votes)
    return same / len(votes) if votes else 1.0


@dataclass
class Narratives:
    """Narratives, their sub-narratives and the grades of documents under a policy.

    With ``counting``, labels that are looked up are counted and remembered (scoring); without,
    they are only looked at (planning).
    """

    inputs: TrecRagInputs
    settings: TrecRagSettings
    book: LabelBook
    counting: bool = False
    _texts: dict[str, str | None] = field(default_factory=dict, init=False)
    _aspects: dict[str, tuple[SubNarrative, ...] | None] = field(default_factory=dict, init=False)
    _grades: dict[str, dict[str, int | None]] = field(default_factory=dict, init=False)
    _judged: MutableMapping[str, JudgedDocuments] = field(default_factory=dict, init=False)

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

    def relevance_content(self, topic: str, doc: str, way: str) -> dict[str, Any] | None:
        """What is asked about a document; None while the sub-narratives are not known, or where
        its text is not among the segments."""
        segment = self.inputs.segments.get(doc)
        text = self.narrative(topic)
        if segment is None or text is None:
            return None
        if not WAYS[way].by_aspects:
            return {"question": text, "passage": segment.text}
        aspects = self.aspects(topic)
        if aspects is None:
            return None
        names = [one.text for one in aspects]
        return {"narrative": text, "sub_narratives": names, "passage": segment.text}

    def relevance_request(self, topic: str, doc: str, way: str) -> Request | None:
        """The same as it is asked."""
        content, task = self.relevance_content(topic, doc, way), WAYS[way].task
        return None if content is None else Request(task, task.unit(**content), topic=topic)

    def judged(self, way: str) -> JudgedDocuments:
        """What the labels of one way say of the pooled documents."""
        if way not in self._judged:
            self._judged[way] = self._looked_up(way)
        return self._judged[way]

    def _looked_up(self, way: str) -> JudgedDocuments:
        every = [
            (topic, doc)
            for topic in self.inputs.topics
            for doc in self.inputs.ranks.get(topic, {})
            if self.relevance_content(topic, doc, way) is not None
        ]
        found = JudgedDocuments()
        if self.people_given and way == self.settings.relevance:
            # A grade that was given goes before all labels but a person's: no other is wanted.
            found.read(way, *self._labels(way, list(filter(self._is_given, every))))
            every = [one for one in every if not self._is_given(one) or one in found.by_people]
        found.read(way, *self._labels(way, every, counting=self.counting))
        return found

    def _is_given(self, pooled: Pooled) -> bool:
        topic, doc = pooled
        return doc in self.inputs.qrels.get(topic, {})

    def _labels(
        self, way: str, documents: Sequence[Pooled], *, counting: bool = False
    ) -> tuple[Sequence[Pooled], CountedLabels]:
        contents = (self.relevance_content(*one, way) or {} for one in documents)
        places = (Place("", topic, f"{doc} relevance") for topic, doc in documents)
        task = WAYS[way].task
        return documents, self.book.labels(task, contents, places if counting else None)

    def grades(self, topic: str) -> dict[str, int | None]:
        """The grade of every pooled document under the policy, None where there is none: a
        person's label, then the given qrels, then the machine's label. Given grades of documents
        beyond the pool are kept."""
        if topic not in self._grades:
            way = self.settings.relevance
            judged = JudgedDocuments() if way == "none" else self.judged(way)
            given = self.inputs.qrels.get(topic, {}) if self.people_given else {}
            found = {
                doc: given[doc]
                if doc in given and (topic, doc) not in judged.by_people
                else judged.grades.get((topic, doc))
                for doc in self.inputs.ranks.get(topic, {})
            }
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
        way = self.settings.relevance
        return way == "none" or (topic, doc) in self.judged(way).failed
