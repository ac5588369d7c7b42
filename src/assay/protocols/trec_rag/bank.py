"""What the labels make of each narrative: sub-narratives, grades, and nuggets as they stand.

The same code says what is asked next and what is scored, so that the two cannot differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from assay.labellers.base import Request
from assay.model.labels import Label, LabellerId, Status
from assay.model.trec_rag import Importance, RagNugget, Segment, SubNarrative
from assay.protocols.labels import LabelBook
from assay.protocols.trec_rag.inputs import RELEVANCE_TASKS, WITH_ASPECTS, Inputs, TrecRagSettings
from assay.protocols.trec_rag.needs import Needs
from assay.tasks.base import AnyTask, Unit, unit_hash
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
from assay.tasks.trec_rag_nuggets import (
    CREATE,
    EDIT,
    IMPORTANCE,
    MAPPING,
    MERGE,
    CreateUnit,
    EditUnit,
    ImportanceUnit,
    MappingUnit,
    MergeUnit,
    windows,
)

PEOPLE_FIRST = ("people", "human")


class Kept(NamedTuple):
    """A nugget as it stands, and the machine's nuggets (texts) that it was made from; none for one
    that a person added."""

    nugget: RagNugget
    roots: tuple[str, ...]


@dataclass
class Bank:
    """The state of every narrative under a policy.

    With ``counting``, labels that are looked up are counted and remembered (scoring); without,
    they are only looked at (planning).
    """

    inputs: Inputs
    settings: TrecRagSettings
    book: LabelBook
    counting: bool = False
    _texts: dict[str, str | None] = field(default_factory=dict, init=False)
    _aspects: dict[str, tuple[SubNarrative, ...] | None] = field(default_factory=dict, init=False)
    _edits: dict[tuple[str, str], Label | None] = field(default_factory=dict, init=False)
    _lists: dict[str, tuple[str, ...] | None] = field(default_factory=dict, init=False)
    _final: dict[str, tuple[Kept, ...] | None] = field(default_factory=dict, init=False)
    _grades: dict[str, dict[str, int | None]] = field(default_factory=dict, init=False)

    def label(self, task: AnyTask, unit: Unit, place: str) -> Label | None:
        """The label of a unit that counts, which may be a failed one."""
        if self.counting:
            return self.book.label(task, unit, place)
        return self.book.find(task, unit)

    def verdict(self, task: AnyTask, unit: Unit, place: str) -> Mapping[str, Any] | None:
        label = self.label(task, unit, place)
        return None if label is None else label.verdict

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
        verdict = self.verdict(NARRATIVE, unit, f"{topic} narrative")
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
        verdict = self.verdict(SUB_NARRATIVES_DRAFT, unit, f"{topic} sub-narratives, draft")
        if verdict is None:
            return None
        return RefineUnit(
            narrative=unit.narrative, draft=draft_lines(Aspects.model_validate(verdict))
        )

    def aspects(self, topic: str) -> tuple[SubNarrative, ...] | None:
        """The sub-narratives; None while they are not known."""
        if topic not in self._aspects:
            counting, self.counting = self.counting, self.counting and self._needs.aspects
            self._aspects[topic] = self._refined(topic)
            self.counting = counting
        return self._aspects[topic]

    @cached_property
    def _needs(self) -> Needs:
        return Needs(self.inputs, self.settings)

    def _refined(self, topic: str) -> tuple[SubNarrative, ...] | None:
        given = self.inputs.sub_narratives.get(topic)
        if given:
            return given
        unit = self.refine_unit(topic)
        verdict = None
        if unit is not None:
            verdict = self.verdict(SUB_NARRATIVES, unit, f"{topic} sub-narratives")
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
            return Request(task, RelevanceUnit(question=text, passage=segment.text))
        aspects = self.aspects(topic)
        if aspects is None:
            return None
        names = tuple(one.text for one in aspects)
        unit = AspectsUnit(narrative=text, sub_narratives=names, passage=segment.text)
        return Request(task, unit)

    def judged(self, topic: str, doc: str, way: str) -> tuple[int | None, Label | None]:
        """The grade of a document as its label in one way says, and the label."""
        request = self.relevance_request(topic, doc, way)
        if request is None:
            return None, None
        label = self.label(request.task, request.unit, f"{topic} {doc} relevance")
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

    def _person(self, topic: str, doc: str) -> bool:
        """Whether a person labelled the document in the ledger."""
        request = self.relevance_request(topic, doc, self.settings.relevance)
        label = None if request is None else self.book.find(request.task, request.unit)
        return label is not None and label.labeller.is_human

    # -- nugget lists ------------------------------------------------------------------------

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

    def create_units(self, topic: str, creator: LabellerId | None) -> Iterator[CreateUnit]:
        """The units of the windows so far: the last is the next to be asked, unless the list is
        complete (see :meth:`created`)."""
        text, documents = self.narrative(topic), self.documents(topic)
        if text is None or documents is None:
            return
        nuggets: tuple[str, ...] = ()
        for window in windows([one.text for one in documents], self.settings.documents):
            unit = CreateUnit(
                narrative=text,
                most=self.settings.most_nuggets,
                nuggets=nuggets,
                documents=window,
            )
            yield unit
            verdict = self._created(unit, topic, creator)
            if verdict is None:
                return
            nuggets = tuple(verdict["nuggets"])

    def _created(
        self, unit: CreateUnit, topic: str, creator: LabellerId | None
    ) -> Mapping[str, Any] | None:
        if creator is None:
            return self.verdict(CREATE, unit, f"{topic} nuggets")
        # Several models were asked the same: each list is its maker's own.
        content = unit.model_dump(mode="json")
        labels = (
            [] if self.book.book is None else self.book.book.of(unit_hash(CREATE.name, content))
        )
        mine = [one for one in labels if one.labeller == creator and one.status is Status.OK]
        if self.counting:
            self.book.asked[CREATE.name] += 1
            if mine:
                self.book.note(mine[-1], f"{topic} nuggets")
            else:
                self.book.missing[CREATE.name] += 1
        return mine[-1].verdict if mine else None

    def created(self, topic: str, creator: LabellerId | None) -> tuple[str, ...] | None:
        """The list that one creator made of all windows; None while it is not complete."""
        documents = self.documents(topic)
        if documents is None:
            return None
        units = list(self.create_units(topic, creator))
        wanted = -(-len(documents) // self.settings.documents)
        if len(units) < wanted or (self.narrative(topic) is None):
            return None
        if not units:
            return ()
        quiet = Bank(self.inputs, self.settings, self.book)
        verdict = quiet._created(units[-1], topic, creator)
        return None if verdict is None else tuple(verdict["nuggets"])

    def merge_unit(self, topic: str) -> MergeUnit | None:
        """What is asked to merge the creators' lists; None while one is missing, or for one."""
        text = self.narrative(topic)
        if len(self.inputs.creators) < 2 or text is None:
            return None
        lists = [self.created(topic, creator) for creator in self.inputs.creators]
        if any(one is None for one in lists):
            return None
        kept = tuple(one for one in lists if one)
        return MergeUnit(narrative=text, most=self.settings.most_nuggets, lists=kept)

    def machine_list(self, topic: str) -> tuple[RagNugget, ...] | None:
        """The nuggets as given or made, before anybody edits them; None while they are not."""
        given = self.inputs.nuggets.get(topic)
        if given is not None:
            return given.nuggets
        if not self.settings.nuggets:
            return None
        if topic not in self._lists:
            self._lists[topic] = self._made(topic)
        texts = self._lists[topic]
        return None if texts is None else tuple(RagNugget(" ".join(one.split())) for one in texts)

    def _made(self, topic: str) -> tuple[str, ...] | None:
        if len(self.inputs.creators) < 2:
            return self.created(topic, self.inputs.creators[0] if self.inputs.creators else None)
        unit = self.merge_unit(topic)
        if unit is None:
            return None
        if not unit.lists:
            return ()
        verdict = self.verdict(MERGE, unit, f"{topic} nuggets, merged")
        return None if verdict is None else tuple(verdict["nuggets"])

    # -- importance and mapping --------------------------------------------------------------

    def importance_units(self, topic: str) -> list[ImportanceUnit]:
        """Windows of the nuggets that say nothing of their importance: the machine's list first,
        so that a person's edits change no window of it, then what edits added."""
        listed, text = self.machine_list(topic), self.narrative(topic)
        if listed is None or text is None:
            return []
        lacking = [one.text for one in listed if one.importance is None]
        added = [
            one.nugget.text
            for one in self.edited(topic, listed)
            if one.nugget.importance is None and one.nugget.text not in lacking
        ]
        size = self.settings.nugget_window
        return [
            ImportanceUnit(narrative=text, nuggets=window)
            for group in (lacking, added)
            for window in windows(group, size)
        ]

    def mapping_units(self, topic: str) -> list[MappingUnit]:
        """The same for nuggets that are mapped to no sub-narrative."""
        listed, text = self.machine_list(topic), self.narrative(topic)
        aspects = self.aspects(topic) if self.settings.mapping else None
        if listed is None or text is None or aspects is None:
            return []
        lacking = [one.text for one in listed if one.sub_narrative is None]
        added = [
            one.nugget.text
            for one in self.edited(topic, listed)
            if one.nugget.sub_narrative is None and one.nugget.text not in lacking
        ]
        names = tuple(one.text for one in aspects)
        return [
            MappingUnit(narrative=text, sub_narratives=names, nuggets=window)
            for group in (lacking, added)
            for window in windows(group, self.settings.nugget_window)
        ]

    def edit_unit(self, topic: str, root: str) -> EditUnit:
        """What a person's edit of a nugget is about; the empty root stands for added nuggets."""
        return EditUnit(narrative=self.narrative(topic) or "", nugget=root)

    def edit_label(self, topic: str, root: str) -> Label | None:
        """The edit of a nugget that counts under the policy."""
        if (topic, root) not in self._edits:
            label = self.book.find(EDIT, self.edit_unit(topic, root))
            if label is not None and self.counting:
                self.book.note(label, f"{topic} nugget edit")
            self._edits[topic, root] = label
        return self._edits[topic, root]

    def edited(self, topic: str, listed: Sequence[RagNugget]) -> list[Kept]:
        """The list after people's edits: nuggets that became the same text are one."""
        found: dict[str, Kept] = {}

        def add(nugget: RagNugget, roots: tuple[str, ...]) -> None:
            known = found.get(nugget.text)
            if known is None:
                found[nugget.text] = Kept(nugget, roots)
                return
            merged = RagNugget(
                nugget.text,
                known.nugget.importance or nugget.importance,
                known.nugget.sub_narrative or nugget.sub_narrative,
                tuple(dict.fromkeys((*known.nugget.sources, *nugget.sources))),
            )
            found[nugget.text] = Kept(merged, tuple(dict.fromkeys((*known.roots, *roots))))

        for one in (*listed, RagNugget("")):
            label = self.edit_label(topic, one.text)
            if label is None or label.verdict is None:
                if one.text:
                    add(one, (one.text,))
                continue
            for item in label.verdict["becomes"]:
                said = item.get("importance")
                importance = Importance(said) if said else one.importance
                aspect = item.get("sub_narrative") or one.sub_narrative
                roots = (one.text,) if one.text else ()
                add(RagNugget(item["text"].strip(), importance, aspect, one.sources), roots)
        return list(found.values())

    def nuggets(self, topic: str) -> tuple[Kept, ...] | None:
        """The nuggets as they stand under the policy, with importance and sub-narrative where
        these are known; None while there is no list."""
        if topic not in self._final:
            self._final[topic] = self._complete(topic)
        return self._final[topic]

    def _complete(self, topic: str) -> tuple[Kept, ...] | None:
        listed = self.machine_list(topic)
        if listed is None:
            return None
        importance: dict[str, Importance] = {}
        for unit in self.importance_units(topic):
            verdict = self.verdict(IMPORTANCE, unit, f"{topic} importance")
            if verdict is not None:
                importance |= dict(
                    zip(unit.nuggets, map(Importance, verdict["labels"]), strict=True)
                )
        aspects: dict[str, str] = {}
        for mapped in self.mapping_units(topic):
            verdict = self.verdict(MAPPING, mapped, f"{topic} mapping")
            for item in () if verdict is None else verdict["mapping"]:
                place = int(item["sub_narrative"])
                name = mapped.sub_narratives[place - 1] if place else str(item["new"]).strip()
                aspects[mapped.nuggets[int(item["nugget"]) - 1]] = name

        def known(table: Mapping[str, Any], kept: Kept) -> Any:
            """What is said of the nugget itself, else of the first it was made from."""
            return next(
                (table[one] for one in (kept.nugget.text, *kept.roots) if one in table), None
            )

        return tuple(
            Kept(
                kept.nugget._replace(
                    importance=kept.nugget.importance or known(importance, kept),
                    sub_narrative=kept.nugget.sub_narrative or known(aspects, kept),
                ),
                kept.roots,
            )
            for kept in self.edited(topic, listed)
        )

    def post_edited(self, topic: str) -> bool:
        """Whether a person changed the topic's nuggets."""
        listed = self.machine_list(topic) or ()
        return any(self.edit_label(topic, one.text) for one in (*listed, RagNugget("")))


def grade_of(way: str, verdict: Mapping[str, Any]) -> int:
    """The grade that a relevance verdict comes to."""
    if way == "counted":
        return AspectsAnswered.model_validate(verdict).grade
    if way == "yes-no":
        return int(bool(verdict["relevant"]))
    return int(verdict["grade"])
