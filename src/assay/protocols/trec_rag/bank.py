"""What the labels make of narratives: of their texts and sub-narratives, of the documents retrieved
for them, and of their nuggets, as made or given, as people edited them, as they stand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, compress
from operator import attrgetter
from typing import Any, NamedTuple

from assay.labellers.base import Request
from assay.ledger.policy import Policy
from assay.model.labels import Label, LabellerId, Status
from assay.model.trec_rag import (
    Importance,
    RagNugget,
    Segment,
    SubNarrative,
    sub_narrative_key,
    sub_narrative_name,
)
from assay.protocols.counted import CountedLabels
from assay.protocols.labels import LabelBook
from assay.protocols.places import Place
from assay.protocols.trec_rag.inputs import Needs, TrecRagInputs, TrecRagSettings
from assay.protocols.walk import Walk
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

Pooled = tuple[str, str]
"""topic, document"""


class StandingNugget(NamedTuple):
    """A nugget as it stands, and the machine's nuggets (texts) that it was made from; none for one
    that a person added."""

    nugget: RagNugget
    roots: tuple[str, ...]


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


class Bank:
    """All narratives under a policy, by topic. Labels that are looked up are counted in ``book``,
    and those that are looked up one by one taken down in ``walk``."""

    def __init__(self, inputs: TrecRagInputs, settings: TrecRagSettings, book: LabelBook) -> None:
        self.inputs, self.settings, self.book = inputs, settings, book
        self.needs, self.walk = Needs(inputs, settings), Walk(book)
        self._topics = {topic: TopicBank(self, topic) for topic in inputs.topics}
        self._judged: dict[str, JudgedDocuments] = {}

    def __getitem__(self, topic: str) -> TopicBank:
        return self._topics[topic]

    @cached_property
    def people_given(self) -> bool:
        """Whether the labels among the inputs go before those of the machine: people's where theirs
        count (of which nothing says that they were given blind), a machine's where these do."""
        held = self.book.book
        policy = Policy.parse(self.settings.policy) if held is None else held.policy
        if self.settings.given_by == "people":
            return policy.people and not policy.independent
        return policy.machine

    @cached_property
    def given(self) -> TrecRagInputs:
        """The inputs without the labels among them, unless these go before the machine's."""
        if self.people_given:
            return self.inputs
        return replace(self.inputs, qrels={}, assignments={}, support={})

    # -- relevance ---------------------------------------------------------------------------

    def _pool(self, way: str) -> dict[Pooled, bool]:
        """The pooled documents that can be asked about in one way, with whether each has a given
        grade, which goes before all labels but a person's: no other is wanted."""
        main = way == self.settings.relevance
        return {
            (topic, doc): main and doc in self.given.qrels.get(topic, {})
            for topic in self.inputs.topics
            for doc in self.inputs.ranks.get(topic, {})
            if self[topic].relevance_content(doc, way) is not None
        }

    def relevance_requests(self, way: str) -> Iterator[Request]:
        """What is asked about the pooled documents."""
        for (topic, doc), given in self._pool(way).items():
            request = None if given else self[topic].relevance_request(doc, way)
            if request is not None:
                yield request

    def judged(self, way: str) -> JudgedDocuments:
        """What the labels of one way say of the pooled documents."""
        if way not in self._judged:
            pool, found = self._pool(way), JudgedDocuments()
            given = [one for one in pool if pool[one]]
            found.read(way, given, self.book.labels(WAYS[way].task, self._contents(given, way)))
            asked = [one for one in pool if not pool[one] or one in found.by_people]
            places = (Place("", topic, f"{doc} relevance") for topic, doc in asked)
            contents = self._contents(asked, way)
            found.read(way, asked, self.book.labels(WAYS[way].task, contents, places))
            self._judged[way] = found
        return self._judged[way]

    def _contents(self, documents: Sequence[Pooled], way: str) -> Iterator[dict[str, Any]]:
        return (self[topic].relevance_content(doc, way) or {} for topic, doc in documents)

    @property
    def relevance_asked(self) -> bool:
        """Whether a pooled document without a grade lacks a label: not where qrels alone say what
        is relevant, as they do among people's labels, too."""
        if self.settings.relevance == "none":
            return False
        only_people = self.book.book is not None and self.book.book.policy.name == "human"
        return not (only_people and self.given.qrels)


@dataclass(eq=False)
class TopicBank:
    """A narrative of a bank. What hangs on labels that are not there is None."""

    bank: Bank
    topic: str
    made_by: Label | None = field(default=None, init=False)

    def _says(self, task: AnyTask, unit: Unit, position: str, *, wanted: bool = True) -> Any:
        """The verdict on a unit; of one that is not ``wanted`` nothing is counted or asked."""
        walk = self.bank.walk
        if wanted:
            return walk.says(task, unit, Place("", self.topic, position))
        label = walk.book.find(task, unit)
        return None if label is None else label.verdict

    @cached_property
    def narrative(self) -> str | None:
        """The narrative's text; None while it is not written."""
        given = self.bank.inputs.narratives[self.topic]
        if given.text:
            return given.text
        verdict = self._says(NARRATIVE, NarrativeUnit(queries=given.queries), "narrative")
        return None if verdict is None else str(verdict["narrative"]).strip()

    @cached_property
    def aspects(self) -> tuple[SubNarrative, ...] | None:
        """The sub-narratives, given, or drafted and refined; None while they are not known."""
        inputs, wanted = self.bank.inputs, self.bank.needs.aspects
        given = inputs.sub_narratives.get(self.topic)
        if given or self.narrative is None:
            return given or None
        queries = inputs.narratives[self.topic].queries
        first = DraftUnit(narrative=self.narrative, queries=queries)
        draft = self._says(SUB_NARRATIVES_DRAFT, first, "sub-narratives, draft", wanted=wanted)
        if draft is None:
            return None
        lines = draft_lines(Aspects.model_validate(draft))
        second = RefineUnit(narrative=self.narrative, draft=lines)
        refined = self._says(SUB_NARRATIVES, second, "sub-narratives", wanted=wanted)
        if refined is None:
            return None
        found = Aspects.model_validate(refined).sub_narratives
        return tuple(SubNarrative(one.text.strip(), one.importance) for one in found)

    # -- relevance ---------------------------------------------------------------------------

    def relevance_content(self, doc: str, way: str) -> dict[str, Any] | None:
        """What is asked about a document; None while the sub-narratives are not known, or where
        its text is not among the segments."""
        segment, text = self.bank.inputs.segments.get(doc), self.narrative
        if segment is None or text is None:
            return None
        if not WAYS[way].by_aspects:
            return {"question": text, "passage": segment.text}
        if self.aspects is None:
            return None
        names = [one.text for one in self.aspects]
        return {"narrative": text, "sub_narratives": names, "passage": segment.text}

    def relevance_request(self, doc: str, way: str) -> Request | None:
        """The same as it is asked."""
        content, task = self.relevance_content(doc, way), WAYS[way].task
        return None if content is None else Request(task, task.unit(**content), topic=self.topic)

    @cached_property
    def grades(self) -> dict[str, int | None]:
        """The grade of every pooled document under the policy, None where there is none: a
        person's label, then the given qrels, then the machine's label. Given grades of documents
        beyond the pool are kept."""
        bank, topic, way = self.bank, self.topic, self.bank.settings.relevance
        judged = JudgedDocuments() if way == "none" else bank.judged(way)
        given = bank.given.qrels.get(topic, {})
        found = {
            doc: given[doc]
            if doc in given and (topic, doc) not in judged.by_people
            else judged.grades.get((topic, doc))
            for doc in bank.inputs.ranks.get(topic, {})
        }
        return found | {doc: grade for doc, grade in given.items() if doc not in found}

    @cached_property
    def documents(self) -> list[Segment] | None:
        """The documents that nuggets are made from, the most relevant first; None while a grade
        is missing (not failed)."""
        inputs, settings = self.bank.inputs, self.bank.settings
        found = []
        for doc, grade in self.grades.items():
            segment = inputs.segments.get(doc)
            if grade is None and segment is not None and not self._failed(doc):
                return None
            if grade is not None and grade >= settings.threshold and segment is not None:
                found.append((-grade, inputs.ranks[self.topic].get(doc, 10**9), doc, segment))
        return [segment for *_, segment in sorted(found, key=lambda one: one[:3])]

    def _failed(self, doc: str) -> bool:
        way = self.bank.settings.relevance
        return way == "none" or (self.topic, doc) in self.bank.judged(way).failed

    # -- the machine's list ------------------------------------------------------------------

    def created(self, creator: LabellerId | None) -> tuple[str, ...] | None:
        """The list that one creator makes, growing from window to window of the documents; None
        while it is not complete, or where one is given."""
        text, settings = self.narrative, self.bank.settings
        documents = None if self.topic in self.bank.inputs.nuggets else self.documents
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
        walk, place = self.bank.walk, Place("", self.topic, "nuggets")
        if creator is None:
            return walk.label(CREATE, unit, place)
        # Several models were asked the same: each list is its maker's own.
        walk.note(CREATE, unit, self.topic)
        labels = [one for one in walk.book.history(CREATE, unit) if one.labeller == creator]
        usable = [one for one in labels if one.status is Status.OK]
        walk.book.add(CREATE, 1, not usable, 0)
        for label in usable[-1:]:
            walk.book.note(label, place)
        return usable[-1] if usable else None

    @cached_property
    def machine_list(self) -> tuple[RagNugget, ...] | None:
        """The nuggets as given or made, before anybody edits them; None while they are not.
        ``made_by`` is then the label that they were last made by."""
        given = self.bank.inputs.nuggets.get(self.topic)
        if given is not None:
            return given.nuggets
        texts = self._made() if self.bank.needs.nuggets else None
        return None if texts is None else tuple(RagNugget(" ".join(one.split())) for one in texts)

    def _made(self) -> tuple[str, ...] | None:
        lists = [self.created(one) for one in self.bank.inputs.creators or (None,)]
        if len(lists) < 2 or None in lists or not any(lists):
            return None if None in lists else lists[0]
        most, standing = self.bank.settings.most_nuggets, tuple(one for one in lists if one)
        unit = MergeUnit(narrative=self.narrative or "", most=most, lists=standing)
        place = Place("", self.topic, "nuggets, merged")
        self.made_by = self.bank.walk.label(MERGE, unit, place)
        verdict = None if self.made_by is None else self.made_by.verdict
        return None if verdict is None else tuple(verdict["nuggets"])

    # -- people's edits ----------------------------------------------------------------------

    def edit_unit(self, root: str) -> EditUnit:
        """What a person's edit of a nugget is about; the empty root stands for added nuggets."""
        return EditUnit(narrative=self.narrative or "", nugget=root)

    @cached_property
    def edits(self) -> dict[str, Label]:
        """The edits that count under the policy, by root."""
        found = {}
        for root in (*(one.text for one in self.machine_list or ()), ""):
            label = self.bank.book.find(EDIT, self.edit_unit(root))
            if label is not None:
                self.bank.book.note(label, Place("", self.topic, "nugget edit"))
                found[root] = label
        return found

    @cached_property
    def edited(self) -> list[StandingNugget]:
        """The list after people's edits: nuggets that became the same text are one."""
        found: dict[str, StandingNugget] = {}

        def add(nugget: RagNugget, roots: tuple[str, ...]) -> None:
            known = found.get(nugget.text)
            if known is None:
                found[nugget.text] = StandingNugget(nugget, roots)
                return
            merged = RagNugget(
                nugget.text,
                known.nugget.importance or nugget.importance,
                known.nugget.sub_narrative or nugget.sub_narrative,
                tuple(dict.fromkeys((*known.nugget.sources, *nugget.sources))),
            )
            found[nugget.text] = StandingNugget(
                merged, tuple(dict.fromkeys((*known.roots, *roots)))
            )

        for one in (*(self.machine_list or ()), RagNugget("")):
            label = self.edits.get(one.text)
            roots = (one.text,) if one.text else ()
            if label is None or label.verdict is None:
                if one.text:
                    add(one, roots)
                continue
            for item in label.verdict["becomes"]:
                said = item.get("importance")
                importance = Importance(said) if said else one.importance
                aspect = item.get("sub_narrative") or one.sub_narrative
                add(RagNugget(item["text"].strip(), importance, aspect, one.sources), roots)
        return list(found.values())

    # -- nuggets as they stand ---------------------------------------------------------------

    def _lacking(self, name: str) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
        """Windows of the nuggets that say nothing of their importance, or sub-narrative: those of
        the machine's list, so that a person's edits change no window of it, and what edits
        added."""
        of, size = attrgetter(name), self.bank.settings.nugget_window
        own = [one.text for one in self.machine_list or () if of(one) is None]
        every = [one.nugget.text for one in self.edited if of(one.nugget) is None]
        return windows(own, size), windows([one for one in every if one not in own], size)

    def _importance(self) -> dict[str, Importance]:
        """What is said of the importance of nuggets."""
        found: dict[str, Importance] = {}
        text = self.narrative if self.bank.needs.bank else None
        for window in () if text is None else chain(*self._lacking("importance")):
            unit = ImportanceUnit(narrative=text, nuggets=window)
            verdict = self._says(IMPORTANCE, unit, "importance")
            if verdict is not None:
                found |= zip(window, map(Importance, verdict["labels"]), strict=True)
        return found

    def _mapping(self) -> dict[str, str]:
        """The sub-narratives that nuggets are mapped to. A window of the list is shown the new ones
        of the windows before it, so that not each of them makes its own, and is asked after them;
        windows of what edits added see those of the list. A label of a window that was asked
        without them counts: nobody is asked twice."""
        found: dict[str, str] = {}
        book, text = self.bank.book, self.narrative
        wanted = self.bank.settings.mapping and self.bank.needs.bank and text is not None
        aspects = self.aspects if wanted else None
        if aspects is None:
            return found
        given, ready = tuple(one.text for one in aspects), True
        shown, known = given, set(map(sub_narrative_key, given))
        listed, added = self._lacking("sub_narrative")
        for number, window in enumerate((*listed, *added)):
            unit = MappingUnit(narrative=text, sub_narratives=shown, nuggets=window)
            if shown != given and book.find(MAPPING, unit) is None:
                alone = MappingUnit(narrative=text, sub_narratives=given, nuggets=window)
                unit = unit if book.find(MAPPING, alone) is None else alone
            look_up = self.bank.walk.label if ready else book.label  # it is asked later
            label = look_up(MAPPING, unit, Place("", self.topic, "mapping"))
            mapped = {} if label is None or label.verdict is None else _mapped(unit, label.verdict)
            found |= mapped
            if number < len(listed):
                ready = ready and label is not None
                for name in mapped.values():
                    if sub_narrative_key(name) not in known:
                        known.add(sub_narrative_key(name))
                        shown = (*shown, name)
        return found

    @cached_property
    def nuggets(self) -> tuple[StandingNugget, ...] | None:
        """The nuggets as they stand under the policy, with importance and sub-narrative where
        these are known; None while there is no list."""
        if self.machine_list is None:
            return None
        importance, mapped = self._importance(), self._mapping()

        def known(table: Mapping[str, Any], standing: StandingNugget) -> Any:
            """What is said of the nugget itself, else of the first it was made from."""
            texts = (standing.nugget.text, *standing.roots)
            return next((table[one] for one in texts if one in table), None)

        names = {sub_narrative_key(one.text): one.text for one in self.aspects or ()}

        def named(aspect: str | None) -> str | None:
            """The first spelling of a sub-narrative."""
            name = sub_narrative_name(aspect or "")
            return names.setdefault(sub_narrative_key(name), name) if name else None

        return tuple(
            StandingNugget(
                one.nugget._replace(
                    importance=one.nugget.importance or known(importance, one),
                    sub_narrative=named(one.nugget.sub_narrative or known(mapped, one)),
                ),
                one.roots,
            )
            for one in self.edited
        )


def _mapped(unit: MappingUnit, verdict: Mapping[str, Any]) -> dict[str, str]:
    """The sub-narrative of each nugget of a window, known or new."""
    found = {}
    for item in verdict["mapping"]:
        place = int(item["sub_narrative"])
        name = unit.sub_narratives[place - 1] if place else sub_narrative_name(item["new"])
        found[unit.nuggets[int(item["nugget"]) - 1]] = name
    return found
