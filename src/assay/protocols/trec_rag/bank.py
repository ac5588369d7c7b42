"""The narratives of an evaluation according to the labels: their texts and sub-narratives, the
documents retrieved for them, and their nuggets, as made or given, edited, and as they stand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple

from assay.labellers.base import Request
from assay.ledger.policy import Policy
from assay.model.labels import Label, LabellerId
from assay.model.trec_rag import (
    Importance,
    RagNugget,
    Segment,
    SubNarrative,
    sub_narrative_key,
    sub_narrative_name,
)
from assay.protocols.labels import LabelBook
from assay.protocols.places import Place
from assay.protocols.trec_rag.inputs import TrecRagInputs, TrecRagSettings
from assay.protocols.trec_rag.retrieval import PooledDocuments
from assay.protocols.walk import Walk
from assay.tasks.base import AnyTask, Unit
from assay.tasks.trec_rag import WAYS, windows
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
    EditedNugget,
    EditUnit,
    ImportanceUnit,
    MappingUnit,
    MergeUnit,
    NuggetEdit,
)


class CurrentNugget(NamedTuple):
    """A nugget as it stands, with the texts of the machine's nuggets from which it was made."""

    nugget: RagNugget
    roots: tuple[str, ...]

    def merged(self, other: CurrentNugget) -> CurrentNugget:
        """Both as one nugget; what one does not specify is taken from the other."""
        one, two = self.nugget, other.nugget
        nugget = RagNugget(
            one.text,
            one.importance or two.importance,
            one.sub_narrative or two.sub_narrative,
            tuple(dict.fromkeys((*one.sources, *two.sources))),
        )
        return CurrentNugget(nugget, tuple(dict.fromkeys((*self.roots, *other.roots))))


class BankContext:
    """What all narratives of a bank share. Labels that are looked up are counted in ``book``; those
    looked up one by one are recorded in ``walk``."""

    def __init__(self, inputs: TrecRagInputs, settings: TrecRagSettings, book: LabelBook) -> None:
        self.inputs, self.settings, self.book = inputs, settings, book
        self.walk = Walk(book)

    @cached_property
    def given(self) -> TrecRagInputs:
        """The inputs, with given labels only if labels of their kind count under the policy.
        (People's do not if labels must be independent, which nothing shows of given ones.)"""
        labels = self.book.by_unit
        policy = Policy.parse(self.settings.policy) if labels is None else labels.policy
        by_people = policy.people and not policy.independent
        if by_people if self.settings.given_by == "people" else policy.machine:
            return self.inputs
        return replace(self.inputs, qrels={}, assignments={}, support={})

    @property
    def ways(self) -> tuple[str, ...]:
        """The ways in which relevance is asked for; none if no run retrieves anything."""
        return self.settings.ways if any(self.inputs.ranks.values()) else ()

    @property
    def is_used(self) -> bool:
        """Whether nuggets are needed: if there are answers, or if they are wanted anyway."""
        return self.settings.nuggets == "always" or bool(self.inputs.answers)

    @cached_property
    def makes_nuggets(self) -> bool:
        """Whether nuggets are to be made for some topic."""
        given_all = self.inputs.nuggets.keys() >= set(self.inputs.topics)
        return bool(self.settings.nuggets) and self.is_used and not given_all

    def lacks(self, name: str) -> bool:
        """Whether a field of some nugget, given or to be made, must be filled."""
        lists = (self.inputs.nuggets.get(topic) for topic in self.inputs.topics)
        given = (nugget for one in lists if one is not None for nugget in one.nuggets)
        return self.is_used and (
            self.makes_nuggets or any(getattr(one, name) is None for one in given)
        )

    @cached_property
    def needs_aspects(self) -> bool:
        """Whether sub-narratives are needed."""
        mapping = self.settings.mapping and self.lacks("sub_narrative")
        return mapping or any(WAYS[way].by_aspects for way in self.ways)

    def topics_of(self, run: str) -> list[str]:
        """The topics that the means of a run of answers are over."""
        answers, every = self.inputs.answers[run].answers, self.settings.answers == "all"
        return [topic for topic in self.inputs.topics if every or topic in answers]


@dataclass(eq=False)
class TopicTexts:
    """The texts of a narrative; None if they depend on missing labels."""

    terms: BankContext
    topic: str

    def says(self, task: AnyTask, unit: Unit, position: str) -> Any:
        """The verdict on a unit of the narrative."""
        return self.terms.walk.says(task, unit, Place("", self.topic, position))

    @cached_property
    def narrative(self) -> str | None:
        """The narrative's text; None until it is written."""
        given = self.terms.inputs.narratives[self.topic]
        if given.text:
            return given.text
        verdict = self.says(NARRATIVE, NarrativeUnit(queries=given.queries), "narrative")
        return None if verdict is None else str(verdict["narrative"]).strip()

    @cached_property
    def aspects(self) -> tuple[SubNarrative, ...] | None:
        """The sub-narratives, given, or drafted and refined if needed; None until known."""
        inputs = self.terms.inputs
        given = inputs.sub_narratives.get(self.topic)
        if given or self.narrative is None or not self.terms.needs_aspects:
            return given or None
        queries = inputs.narratives[self.topic].queries
        first = DraftUnit(narrative=self.narrative, queries=queries)
        draft = self.says(SUB_NARRATIVES_DRAFT, first, "sub-narratives, draft")
        if draft is None:
            return None
        lines = draft_lines(Aspects.model_validate(draft))
        second = RefineUnit(narrative=self.narrative, draft=lines)
        refined = self.says(SUB_NARRATIVES, second, "sub-narratives")
        if refined is None:
            return None
        found = Aspects.model_validate(refined).sub_narratives
        return tuple(SubNarrative(one.text.strip(), one.importance) for one in found)

    def asked_about(self, way: str) -> dict[str, Any]:
        """What is asked about every document, except its text; empty until its parts are known."""
        if not WAYS[way].by_aspects:
            return {} if self.narrative is None else {"question": self.narrative}
        if self.narrative is None or self.aspects is None:
            return {}
        names = [one.text for one in self.aspects]
        return {"narrative": self.narrative, "sub_narratives": names}


@dataclass(eq=False)
class TopicBank:
    """A narrative of a bank. What depends on missing labels is None."""

    terms: BankContext
    texts: TopicTexts
    relevance: PooledDocuments
    made_by: Label | None = field(default=None, init=False)

    @property
    def topic(self) -> str:
        """The narrative's id."""
        return self.texts.topic

    @property
    def narrative(self) -> str | None:
        """The narrative's text; None until it is written."""
        return self.texts.narrative

    @property
    def aspects(self) -> tuple[SubNarrative, ...] | None:
        """The sub-narratives; None until they are known."""
        return self.texts.aspects

    @cached_property
    def documents(self) -> list[Segment] | None:
        """The documents to make nuggets from, the most relevant first; None if a grade is
        missing."""
        inputs, settings, found = self.terms.inputs, self.terms.settings, []
        failed = self.relevance.failed
        for doc, grade in self.relevance.grades[self.topic].items():
            segment = inputs.segments.get(doc)
            if segment is None:
                continue
            if grade is not None and grade >= settings.threshold:
                # Documents with a given grade that no run retrieved come last within their grade.
                found.append((-grade, inputs.ranks[self.topic].get(doc, 10**9), doc, segment))
            if grade is None and settings.relevance != "none" and (self.topic, doc) not in failed:
                return None
        return [segment for *_, segment in sorted(found, key=lambda one: one[:3])]

    # -- the machine's list ------------------------------------------------------------------

    def created(self, creator: LabellerId | None) -> tuple[str, ...] | None:
        """The list made by one creator, growing from window to window of the documents; None until
        it is complete, or if a list is given."""
        text, settings = self.narrative, self.terms.settings
        documents = None if self.topic in self.terms.inputs.nuggets else self.documents
        if text is None or documents is None:
            return None
        nuggets: tuple[str, ...] = ()
        for window in windows([one.text for one in documents], settings.documents):
            most = settings.most_nuggets
            unit = CreateUnit(narrative=text, most=most, nuggets=nuggets, documents=window)
            self.made_by = self._created(unit, creator)
            if self.made_by is None or self.made_by.verdict is None:
                return None
            nuggets = tuple(self.made_by.verdict["nuggets"])
        return nuggets

    def _created(self, unit: CreateUnit, creator: LabellerId | None) -> Label | None:
        walk, place = self.terms.walk, Place("", self.topic, "nuggets")
        if creator is None:
            return walk.label(CREATE, unit, place)
        # Several models were asked the same, so the label must be this creator's.
        walk.note(CREATE, unit, self.topic)
        label = walk.book.machine_label(CREATE, unit, creator)
        walk.book.add(CREATE, 1, label is None, 0)
        if label is not None:
            walk.book.note(label, place)
        return label

    @cached_property
    def machine_list(self) -> tuple[RagNugget, ...] | None:
        """The nuggets as given or made, before anybody edits them; None until they exist.
        ``made_by`` is then the label that they were last made by."""
        given = self.terms.inputs.nuggets.get(self.topic)
        if given is not None:
            return given.nuggets
        texts = self._made() if self.terms.makes_nuggets else None
        return None if texts is None else tuple(RagNugget(" ".join(one.split())) for one in texts)

    def _made(self) -> tuple[str, ...] | None:
        lists = [self.created(one) for one in self.terms.inputs.creators or (None,)]
        if len(lists) < 2 or None in lists or not any(lists):
            return None if None in lists else lists[0]
        most, standing = self.terms.settings.most_nuggets, tuple(one for one in lists if one)
        unit = MergeUnit(narrative=self.narrative or "", most=most, lists=standing)
        place = Place("", self.topic, "nuggets, merged")
        self.made_by = self.terms.walk.label(MERGE, unit, place)
        verdict = None if self.made_by is None else self.made_by.verdict
        return None if verdict is None else tuple(verdict["nuggets"])

    # -- people's edits ----------------------------------------------------------------------

    def edit_unit(self, root: str) -> EditUnit:
        """The unit of a person's edit of a nugget. The empty root stands for added nuggets."""
        return EditUnit(narrative=self.narrative or "", nugget=root)

    @cached_property
    def edits(self) -> dict[str, Label]:
        """The edits that count under the policy, by root."""
        found, book = {}, self.terms.book
        if book.by_unit is None or EDIT.name not in book.by_unit.ledger.tasks():  # nearly always
            return {}
        # The empty root stands for nuggets that a person added.
        for root in (*(one.text for one in self.machine_list or ()), ""):
            label = book.find(EDIT, self.edit_unit(root))
            if label is not None:
                book.note(label, Place("", self.topic, "nugget edit"))
                found[root] = label
        return found

    @cached_property
    def edited(self) -> list[CurrentNugget]:
        """The list after people's edits. Nuggets that became the same text are merged."""
        found: dict[str, CurrentNugget] = {}
        for one in (*(self.machine_list or ()), RagNugget("")):
            label, becomes = self.edits.get(one.text), [one] if one.text else []
            if label is not None and label.verdict is not None:
                becomes = [_edited(one, item) for item in label.verdict["becomes"]]
            for nugget in becomes:
                new = CurrentNugget(nugget, (one.text,) if one.text else ())
                known = found.get(nugget.text)
                found[nugget.text] = new if known is None else known.merged(new)
        return list(found.values())

    # -- nuggets as they stand ---------------------------------------------------------------

    def _lacking(self, name: str) -> list[tuple[str, ...]]:
        """Windows of the nuggets without an importance, or a sub-narrative: first those of the
        machine's list, so that a person's edits do not change its windows, then those that edits
        added. Empty if nuggets are not needed."""
        if self.narrative is None or not self.terms.is_used:
            return []
        of, size = attrgetter(name), self.terms.settings.nugget_window
        own = [one.text for one in self.machine_list or () if of(one) is None]
        every = [one.nugget.text for one in self.edited if of(one.nugget) is None]
        return windows(own, size) + windows([one for one in every if one not in own], size)

    def _importance(self) -> dict[str, Importance]:
        """The importance of nuggets, according to labels."""
        found: dict[str, Importance] = {}
        for window in self._lacking("importance"):
            unit = ImportanceUnit(narrative=self.narrative or "", nuggets=window)
            verdict = self.texts.says(IMPORTANCE, unit, "importance")
            if verdict is not None:
                found |= zip(window, map(Importance, verdict["labels"]), strict=True)
        return found

    def _mapping(self) -> dict[str, str]:
        """The sub-narratives to which nuggets are mapped. A window is asked after those before it
        and is shown their new sub-narratives, so that it does not invent its own. A label of a
        window that was asked without them counts, so that nothing is asked twice."""
        found: dict[str, str] = {}
        aspects = self.aspects if self.terms.settings.mapping else None
        if aspects is None:
            return found
        book, text, ready = self.terms.book, self.narrative or "", True
        given, new = tuple(one.text for one in aspects), dict[str, str]()
        for window in self._lacking("sub_narrative"):
            shown = (*given, *new.values())
            unit = MappingUnit(narrative=text, sub_narratives=shown, nuggets=window)
            if new and book.find(MAPPING, unit) is None:
                alone = MappingUnit(narrative=text, sub_narratives=given, nuggets=window)
                unit = unit if book.find(MAPPING, alone) is None else alone
            look_up = self.terms.walk.label if ready else book.label  # it is asked later
            label = look_up(MAPPING, unit, Place("", self.topic, "mapping"))
            ready = ready and label is not None
            mapped = {} if label is None or label.verdict is None else _mapped(unit, label.verdict)
            found |= mapped
            known = set(map(sub_narrative_key, given))
            for key, name in ((sub_narrative_key(one), one) for one in mapped.values()):
                if key not in known:
                    new.setdefault(key, name)
        return found

    @cached_property
    def nuggets(self) -> tuple[CurrentNugget, ...] | None:
        """The nuggets as they stand under the policy, with importance and sub-narrative if known;
        None until there is a list."""
        if self.machine_list is None:
            return None
        importance, mapped = self._importance(), self._mapping()

        def known(table: Mapping[str, Any], standing: CurrentNugget) -> Any:
            """What is said of the nugget itself, else of the first it was made from."""
            said = map(table.get, (standing.nugget.text, *standing.roots))
            return next(filter(None, said), None)

        names = {sub_narrative_key(one.text): one.text for one in self.aspects or ()}

        def named(aspect: str | None) -> str | None:
            """The first spelling of a sub-narrative."""
            name = sub_narrative_name(aspect or "")
            return names.setdefault(sub_narrative_key(name), name) if name else None

        return tuple(
            CurrentNugget(
                one.nugget._replace(
                    importance=one.nugget.importance or known(importance, one),
                    sub_narrative=named(one.nugget.sub_narrative or known(mapped, one)),
                ),
                one.roots,
            )
            for one in self.edited
        )


class Bank(BankContext):
    """All narratives under a policy, by topic. (They refer to a context rather than to the bank:
    without a reference cycle, all inputs are freed as soon as nobody needs them.)"""

    def __init__(self, inputs: TrecRagInputs, settings: TrecRagSettings, book: LabelBook) -> None:
        super().__init__(inputs, settings, book)
        terms = BankContext(inputs, settings, book)
        terms.walk = self.walk
        texts = {topic: TopicTexts(terms, topic) for topic in inputs.topics}
        self.relevance = PooledDocuments(
            inputs,
            settings,
            book,
            self.given.qrels,
            lambda topic, way: texts[topic].asked_about(way),
        )
        self._topics = {
            topic: TopicBank(terms, one, self.relevance) for topic, one in texts.items()
        }

    def __getitem__(self, topic: str) -> TopicBank:
        return self._topics[topic]

    def lost_edits(self) -> dict[str, int]:
        """By topic, how many nuggets that people edited are no longer in its list, as that has been
        made from other documents since. (A given list does not change.)"""
        held, found = self.book.by_unit, dict[str, int]()
        if held is None or EDIT.name not in held.ledger.tasks():
            return found
        made = {
            one.narrative: one
            for topic, one in self._topics.items()
            if topic not in self.inputs.nuggets and one.machine_list is not None
        }
        for _, content in held.ledger.unit_contents([EDIT.name]):
            one, nugget = made.get(content["narrative"]), content["nugget"]
            if one is None or nugget in {"", *(each.text for each in one.machine_list or ())}:
                continue
            label = self.book.find(EDIT, one.edit_unit(nugget))
            same = (EditedNugget(text=nugget),)
            verdict = None if label is None else label.verdict
            if verdict is not None and NuggetEdit.model_validate(verdict).becomes != same:
                found[one.topic] = found.get(one.topic, 0) + 1
        return found

    def walked(self, task: AnyTask, walk: Callable[[TopicBank], object]) -> Iterator[Request]:
        """The requests of a task that a walk through each topic looks up."""
        for topic in self._topics.values():
            walk(topic)
            yield from self.walk.take(task)


def _edited(one: RagNugget, item: Mapping[str, Any]) -> RagNugget:
    """The nugget after an edit, which need not specify everything."""
    importance, aspect = item.get("importance"), item.get("sub_narrative") or one.sub_narrative
    said = Importance(importance) if importance else one.importance
    return RagNugget(item["text"].strip(), said, aspect, one.sources)


def _mapped(unit: MappingUnit, verdict: Mapping[str, Any]) -> dict[str, str]:
    """The sub-narrative of each nugget of a window, known or new."""
    found = {}
    for item in verdict["mapping"]:
        place = int(item["sub_narrative"])
        name = unit.sub_narratives[place - 1] if place else sub_narrative_name(item["new"])
        found[unit.nuggets[int(item["nugget"]) - 1]] = name
    return found
