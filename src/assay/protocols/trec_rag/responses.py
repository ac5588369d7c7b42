"""Nugget assignment and support of answers: what is asked, and what is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from assay.labellers.base import Request, request_key
from assay.model.labels import Label, Status
from assay.model.trec_rag import (
    Assigned,
    AssignedAnswer,
    AssignedNugget,
    CitedSupport,
    JudgedSentence,
    RagAnswer,
    RagNugget,
    Support,
    SupportAnswer,
)
from assay.protocols.places import Place
from assay.protocols.trec_rag.bank import Bank, Kept
from assay.protocols.trec_rag.scoring import Sheet, nugget_sheet
from assay.tasks.trec_rag import ASSIGNMENT, SUPPORT, AssignmentUnit, SupportUnit, assignment_units

_Subject = tuple[str, str, str]
"""narrative, answer, nugget"""


@dataclass(frozen=True, slots=True)
class _Said:
    """A label on one nugget: its weight under the policy, and whether it is of the very question
    that would be asked now."""

    label: Label
    content: Mapping[str, object]
    assigned: Assigned | None
    weight: tuple[bool, int, bool, int]


@dataclass
class Responses:
    """Assignments and support labels of every answer.

    A nugget's label counts whatever window it was asked in: after an edit only nuggets that are
    new are asked about, and a person may label one nugget or many.
    """

    bank: Bank
    counted: set[_Subject] = field(default_factory=set, init=False)
    unmatched: set[_Subject] = field(default_factory=set, init=False)

    @cached_property
    def _index(self) -> dict[_Subject, _Said]:
        """The label that counts for each narrative, answer and nugget."""
        book = self.bank.book.book
        found: dict[_Subject, _Said] = {}
        if book is None:
            return found
        contents = book.ledger.units([ASSIGNMENT.name])
        labeller = book.labellers.get(ASSIGNMENT.name)
        keys: dict[str, str] = {}
        labels = list(book.of_task(ASSIGNMENT))
        given = book.ledger.keys(label.rowid for label in labels)
        for label in labels:
            rank = book.policy.rank(label, book.configured[ASSIGNMENT.name])
            if not rank:
                continue
            unit = contents[label.unit]
            if labeller is not None and label.unit not in keys:
                asked = Request(ASSIGNMENT, AssignmentUnit.model_validate(unit))
                keys[label.unit] = request_key(labeller, asked)
            exact = keys.get(label.unit) == given[label.rowid]
            usable = label.status is Status.OK and label.verdict is not None
            values = label.verdict["labels"] if label.verdict is not None else ()
            for place, nugget in enumerate(unit["nuggets"]):
                subject = (unit["question"], unit["answer"], nugget)
                value = Assigned(values[place]) if place < len(values) else None
                said = _Said(label, unit, value, (usable, rank, exact or rank > 1, label.rowid))
                if subject not in found or said.weight > found[subject].weight:
                    found[subject] = said
        return found

    # -- assignment --------------------------------------------------------------------------

    def assignment_requests(self, topic: str, answer: RagAnswer) -> Iterator[Request]:
        """What is asked of an answer: the nuggets that have no label yet, in windows, and the
        windows that were asked before as they were: these are known, or, where their label
        failed, can be tried again. What a person labelled is asked no more, unless the machine's
        labels do not count: what is asked is then of people, and done."""
        kept, text = self.bank.nuggets(topic), self.bank.narrative(topic)
        if kept is None or text is None or not answer.sentences:
            return
        given = self._given(answer)
        machine_counts = self.bank.book.counts_machine(ASSIGNMENT)
        missing: list[str] = []
        again: dict[str, AssignmentUnit] = {}
        for one in kept:
            nugget = one.nugget.text
            said = self._index.get((text, answer.text, nugget))
            if nugget in given:
                continue
            if said is None or not said.weight[2]:
                missing.append(nugget)
            elif not said.label.labeller.is_human or not machine_counts:
                again[said.label.unit] = AssignmentUnit.model_validate(said.content)
        window = self.bank.settings.assignment_window
        for unit in (*assignment_units(text, missing, answer.text, window=window), *again.values()):
            yield Request(ASSIGNMENT, unit, topic=topic)

    def windows(self, topic: str, answer: RagAnswer) -> list[tuple[Request, set[str]]]:
        """The units that an answer's labels are of, each with the nuggets that it is the label
        of."""
        text = self.bank.narrative(topic) or ""
        found: dict[str, tuple[Request, set[str]]] = {}
        for one in self.bank.nuggets(topic) or ():
            said = self._index.get((text, answer.text, one.nugget.text))
            if said is None or not answer.sentences:
                continue
            if said.label.unit not in found:
                unit = AssignmentUnit.model_validate(said.content)
                found[said.label.unit] = Request(ASSIGNMENT, unit, topic=topic), set()
            found[said.label.unit][1].add(one.nugget.text)
        return list(found.values())

    def _given(self, answer: RagAnswer) -> dict[str, Assigned]:
        """Assignments among the inputs that go before those of the machine."""
        found = self.bank.inputs.assignments.get((answer.run, answer.topic))
        if found is None or not self.bank.people_given:
            return {}
        return {one.nugget.text: one.assigned for one in found.nuggets if one.assigned is not None}

    def assigned(
        self, topic: str, answer: RagAnswer, nuggets: tuple[Kept, ...] | None = None
    ) -> AssignedAnswer:
        """The nuggets of an answer (those as they stand, unless given) with their labels; no label
        where there is none. An empty answer states nothing."""
        kept = nuggets if nuggets is not None else self.bank.nuggets(topic) or ()
        text = self.bank.narrative(topic) or ""
        given = self._given(answer)
        place = Place(answer.run, topic, "nuggets")
        found = tuple(self._one(one, text, answer, given, place) for one in kept)
        return AssignedAnswer(answer.run, topic, text, answer.text, found, answer.length)

    def _one(
        self, kept: Kept, text: str, answer: RagAnswer, given: Mapping[str, Assigned], place: Place
    ) -> AssignedNugget:
        nugget = kept.nugget
        if not answer.sentences:
            return AssignedNugget(nugget, Assigned.NONE)
        said = self._index.get((text, answer.text, nugget.text))
        person = said is not None and said.label.labeller.is_human and said.assigned is not None
        if nugget.text in given and not person:
            return AssignedNugget(nugget, given[nugget.text])
        if self.bank.counting:
            self._count(said, (text, answer.text, nugget.text), place)
        return AssignedNugget(nugget, None if said is None else said.assigned)

    def _count(self, said: _Said | None, subject: _Subject, place: Place) -> None:
        book = self.bank.book
        if subject not in self.counted:
            self.counted.add(subject)
            book.asked[ASSIGNMENT.name] += 1
            if said is None:
                book.missing[ASSIGNMENT.name] += 1
            elif said.assigned is None:
                book.failed[ASSIGNMENT.name] += 1
        if said is not None:
            book.note(said.label, place)

    # -- support -----------------------------------------------------------------------------

    def cited(self, answer: RagAnswer) -> Iterator[tuple[int, int, SupportUnit | None]]:
        """(sentence, citation, unit) of every citation that counts; None where the passage's text
        is not among the segments."""
        first = self.bank.settings.citations == "first"
        for place, sentence in enumerate(answer.sentences):
            for spot, doc in enumerate(sentence.citations[: 1 if first else None]):
                segment = self.bank.inputs.segments.get(doc)
                unit = None
                if segment is not None:
                    unit = SupportUnit(passage=segment.text, sentence=sentence.text)
                yield place, spot, unit

    def support_requests(self, answer: RagAnswer) -> Iterator[Request]:
        """What must be asked of an answer's citations."""
        given = self._given_support(answer)
        for place, spot, unit in self.cited(answer):
            if unit is not None and (place, spot) not in given:
                yield Request(SUPPORT, unit, topic=answer.topic)

    def _given_support(self, answer: RagAnswer) -> dict[tuple[int, int], Support | None]:
        """Support labels among the inputs, by sentence and citation, None where the track left it
        unjudged. One whose place in the answer cites another document is left out, and kept in
        ``unmatched``."""
        found = self.bank.inputs.support.get((answer.run, answer.topic))
        labels: dict[tuple[int, int], Support | None] = {}
        if found is None or not self.bank.people_given:
            return labels
        cited = [sentence.citations for sentence in answer.sentences]
        for place, sentence in enumerate(found.sentences):
            for spot, one in enumerate(sentence.citations):
                mine = cited[place][spot : spot + 1] if place < len(cited) else ()
                if not mine or (one.reference and one.reference != mine[0]):
                    self.unmatched.add((answer.run, answer.topic, f"{place} {spot}"))
                elif one.support is not None or one.unjudged:
                    labels[place, spot] = one.support
        return labels

    def supported(self, answer: RagAnswer) -> tuple[SupportAnswer, dict[tuple[int, int], Label]]:
        """The support labels of an answer, and the ledger's labels by sentence and citation."""
        given = self._given_support(answer)
        values = dict(given)
        labels: dict[tuple[int, int], Label] = {}
        for place, spot, unit in self.cited(answer):
            label = None
            if unit is not None:
                spot_in_words = f"sentence {place + 1} citation {spot + 1}"
                at = Place(answer.run, answer.topic, spot_in_words)
                if (place, spot) not in given or self._person(unit):
                    label = self.bank.label(SUPPORT, unit, at)
            if label is not None:
                labels[place, spot] = label
            if label is not None and label.verdict is not None:
                values[place, spot] = Support(label.verdict["support"])
        sentences = tuple(
            JudgedSentence(
                sentence.text,
                tuple(
                    CitedSupport(doc, label, label is None and (place, spot) in given)
                    for spot, doc in enumerate(sentence.citations)
                    for label in (values.get((place, spot)),)
                ),
            )
            for place, sentence in enumerate(answer.sentences)
        )
        return SupportAnswer(answer.run, answer.topic, sentences), labels

    def _person(self, unit: SupportUnit) -> bool:
        label = self.bank.book.find(SUPPORT, unit)
        return label is not None and label.labeller.is_human


def bank_sheet(bank: Bank, answers: Iterable[AssignedAnswer]) -> Sheet | None:
    """Nugget scores of answers to the narratives of a bank; None where it has no nuggets, and none
    are to be made. Where they still are, or grades that they are made from are missing and there
    is none, a value is not known; without a nugget for good it is undefined for every run."""
    inputs, settings = bank.inputs, bank.settings
    banks: dict[str, Sequence[RagNugget] | None] = {}
    unmapped = []
    for topic in inputs.topics:
        kept = bank.nuggets(topic)
        banks[topic] = [one.nugget for one in kept or ()]
        if not kept and bank.needs.nuggets and topic not in inputs.nuggets:
            unsure = bank.relevance_asked and None in bank.grades(topic).values()
            if kept is None or unsure:
                banks[topic] = None
        mapped = all(one.nugget.sub_narrative for one in kept or ())
        if settings.mapping and not (mapped and bank.aspects(topic) is not None):
            unmapped.append(topic)
    if not any(one is None or one for one in banks.values()):
        return None
    aspects = {topic: bank.aspects(topic) or () for topic in inputs.topics}
    return nugget_sheet(answers, aspects, banks, runs=inputs.answers, unmapped=unmapped)
