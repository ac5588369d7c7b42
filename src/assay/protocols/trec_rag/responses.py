"""Nugget assignment of answers: what is asked, and what is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from itertools import chain, repeat
from math import nan
from typing import Any, NamedTuple

import numpy as np

from assay.labellers.base import Request, request_key
from assay.ledger.columns import CLOSELY, NONE, Places, head
from assay.ledger.hashes import packed
from assay.measures.nuggets import NUGGET_MEASURES, STRICT, nugget_weights
from assay.model.labels import Label, Status
from assay.model.trec_rag import (
    ASSIGNMENT_VALUE,
    Assigned,
    Importance,
    RagAnswer,
)
from assay.protocols.book import Book
from assay.protocols.counted import CountedLabels
from assay.protocols.label_sheets import NuggetTable, nugget_sheet
from assay.protocols.linear import LinearMeasure, Share
from assay.protocols.places import Place, PlaceColumns
from assay.protocols.sheets import Sheet
from assay.protocols.trec_rag.bank import Bank
from assay.tasks.trec_rag import ASSIGNMENT, AssignmentUnit, assignment_units

_Subject = tuple[str, str]
"""narrative, answer"""


class _Window(NamedTuple):
    """Nuggets of an answer that were labelled together."""

    unit: str
    subject: _Subject
    nuggets: tuple[str, ...]

    @property
    def content(self) -> AssignmentUnit:
        question, answer = self.subject
        return AssignmentUnit(question=question, nuggets=self.nuggets, answer=answer)


@dataclass(frozen=True, eq=False, slots=True)
class _Said:
    """A label of a window: its place among the columns of the ledger, and its number there.
    ``worth`` is of one nugget after the other, as far as it says."""

    window: _Window
    place: int
    number: int
    human: bool
    worth: Sequence[float]

    def of_each(self) -> Iterator[tuple[str, _Known]]:
        """Each nugget, and what is known of it by this label."""
        worth = chain(self.worth, repeat(nan))
        return zip(self.window.nuggets, zip(repeat(self), worth), strict=False)


_Known = tuple[_Said | None, float]
"""The label of a nugget, and what it is worth (NaN: there is none, or it does not say)."""

_UNKNOWN: _Known = None, nan


def _read(book: Book, windows: Sequence[_Window], places: Places) -> Iterator[_Said]:
    """The labels of windows at some places; those say nothing where there is none."""
    labels, numbers = CountedLabels(book, places), places.copy()
    numbers[labels.held] = labels.numbers(labels.held)
    worth = (one or () for one in labels.each(_worth))
    columns = (windows, places.tolist(), numbers.tolist(), labels.human.tolist(), worth)
    return map(_Said, *columns)


def _worth(verdict: Mapping[str, Any]) -> list[float]:
    return [ASSIGNMENT_VALUE[one] for one in verdict["labels"]]


@dataclass
class Responses:
    """Nugget assignments of every answer.

    A nugget's label counts whatever window it was asked in: after an edit only nuggets that are
    new are asked about, and a person may label one nugget or many.
    """

    bank: Bank
    _seen: dict[_Subject, set[str]] = field(default_factory=dict, init=False)

    def _subject(self, answer: RagAnswer) -> _Subject:
        return self.bank[answer.topic].narrative or "", answer.text

    @cached_property
    def _subjects(self) -> Counter[_Subject]:
        """How many answers are the same answer to the same narrative."""
        return Counter(map(self._subject, self.bank.inputs.every_answer))

    @cached_property
    def _labelled(self) -> dict[_Subject, list[_Said]]:
        """By answer the label that counts of each window, as far as one does; its place is CLOSELY
        where that must be looked at."""
        book, windows = self.bank.book.book, list[_Window]()
        if book is None:
            return {}
        once: dict[Any, Any] = {one: one for one in self._subjects}  # equal ones are held once
        for unit, content in book.ledger.unit_contents([ASSIGNMENT.name]):
            subject = once.get((content["question"], content["answer"]))
            if subject is not None:
                nuggets = tuple(content["nuggets"])
                windows.append(_Window(unit, subject, once.setdefault(nuggets, nuggets)))
        first = book.columns.first(b"".join(head(packed(unit)) for unit, *_ in windows))
        found: dict[_Subject, list[_Said]] = {}
        for one in _read(book, windows, book.counted(ASSIGNMENT, first)):
            if one.place != NONE:
                found.setdefault(one.window.subject, []).append(one)
        return found

    def _known(self, answer: RagAnswer) -> dict[str, _Known]:
        """What is known of each nugget of an answer, by its text: by the label that would count if
        all windows that it was asked in were one unit. Nothing of an empty answer."""
        said = self._labelled.get(self._subject(answer), ()) if answer.sentences else ()
        found = dict(chain.from_iterable(one.of_each() for one in said))
        unsure = {nugget for one in said if one.place == CLOSELY for nugget in one.window.nuggets}
        if len(said) > 1:
            times = Counter(chain.from_iterable(set(one.window.nuggets) for one in said))
            unsure.update(nugget for nugget, count in times.items() if count > 1)
        return found | self._looked_at([one.window for one in said], unsure) if unsure else found

    def _looked_at(self, windows: Iterable[_Window], nuggets: Set[str]) -> dict[str, _Known]:
        """The same of some nuggets, by all labels of their windows."""
        book, every = self.bank.book.book, dict[str, dict[int, _Known]]()
        if book is None:
            return {}
        of_unit = [(one, at) for one in windows for at in book.columns.places(one.unit)]
        labelled, places = zip(*of_unit, strict=True)
        said = list(_read(book, labelled, np.array(places, np.int64)))
        for one in said:
            for nugget, known in one.of_each():
                if nugget in nuggets:
                    every.setdefault(nugget, {})[one.number] = known
        now = cache(lambda: self._asked_now(said))

        def present(some: Sequence[Label]) -> Sequence[Label]:
            return [one for one in some if one.rowid in now()] or some

        found = {}
        for nugget, known_by in every.items():
            alone = [_alone(book, *known_by[number]) for number in sorted(known_by)]
            unit = next(one.unit for one in reversed(labelled) if nugget in one.nuggets)
            chosen = book.among(ASSIGNMENT, unit, alone, present)
            found[nugget] = _UNKNOWN if chosen is None else known_by[chosen.rowid]
        return found

    def _asked_now(self, said: Iterable[_Said]) -> set[int]:
        """The numbers of the labels that are of the very question that would be asked now; a
        person's always is."""
        book, by_number = self.bank.book.book, {one.number: one for one in said}
        labeller = None if book is None else book.labellers.get(ASSIGNMENT.name)
        keys = {} if book is None or labeller is None else book.ledger.keys(by_number)
        return {
            number
            for number, one in by_number.items()
            if one.human
            or (
                labeller
                and keys[number] == request_key(labeller, Request(ASSIGNMENT, one.window.content))
            )
        }

    def _given(self, answer: RagAnswer) -> dict[str, Assigned | None]:
        """The assignments among the inputs, where these go before the machine's, by nugget."""
        found = self.bank.given.assignments.get((answer.run, answer.topic))
        return {} if found is None else {one.nugget.text: one.assigned for one in found.nuggets}

    def requests(self, answer: RagAnswer) -> Iterator[Request]:
        """What is asked of an answer: the nuggets that have no label yet, in windows, and the
        windows that were asked before as they were: these are known, or, where their label
        failed, can be tried again. What a person labelled is asked no more, unless the machine's
        labels do not count: what is asked is then of people, and done."""
        topic, given = self.bank[answer.topic], self._given(answer)
        text, nuggets = topic.narrative, [one.nugget.text for one in topic.nuggets or ()]
        if text is None or not answer.sentences:
            return
        known = self._known(answer)
        every = [(one, known.get(one, _UNKNOWN)[0]) for one in nuggets if given.get(one) is None]
        now = self._asked_now(said for _, said in every if said is not None)
        machine_counts = self.bank.book.counts_machine(ASSIGNMENT)
        missing: list[str] = []
        asked_before: dict[str, AssignmentUnit] = {}
        for nugget, said in every:
            if said is None or said.number not in now:
                missing.append(nugget)
            elif not said.human or not machine_counts:
                asked_before[said.window.unit] = said.window.content
        window = self.bank.settings.assignment_window
        new = assignment_units(text, missing, answer.text, window=window)
        for unit in (*new, *asked_before.values()):
            yield Request(ASSIGNMENT, unit, topic=answer.topic)

    def windows(self, answer: RagAnswer) -> list[tuple[Request, set[str]]]:
        """The units that an answer's labels are of, each with the nuggets that it is the label
        of."""
        found: dict[str, tuple[Request, set[str]]] = {}
        known = self._known(answer)
        for one in self.bank[answer.topic].nuggets or ():
            said, _ = known.get(one.nugget.text, _UNKNOWN)
            if said is not None:
                request = Request(ASSIGNMENT, said.window.content, topic=answer.topic)
                found.setdefault(said.window.unit, (request, set()))[1].add(one.nugget.text)
        return list(found.values())

    def nugget_tables(self, nuggets: Bank | None = None) -> list[NuggetTable]:
        """The labels of every topic's nuggets, which may stand as in another bank, and answer to
        it. An empty answer states nothing."""
        uses: list[tuple[int, Place, int]] = []
        tables = []
        for topic in self.bank.inputs.topics:
            standing = (nuggets or self.bank)[topic].nuggets
            # Without a list nobody knows what answers would be held to.
            known = nuggets is None or standing is not None
            answers = list(self.bank.inputs.answers_to(topic)) if known else []
            listed = tuple(one.nugget for one in standing or ())
            worth = np.zeros((len(answers), len(listed)))
            for row, answer in zip(worth, answers, strict=True):
                if answer.sentences:
                    row[:] = self._row(answer, [one.text for one in listed], uses)
            runs = tuple(answer.run for answer in answers)
            tables.append(NuggetTable(topic, listed, runs, worth))
        if uses:
            labels, places, times = zip(*uses, strict=True)
            self.bank.book.note_all(np.array(labels, np.int64), PlaceColumns(places, times))
        return tables

    def _row(
        self, answer: RagAnswer, nuggets: Sequence[str], uses: list[tuple[int, Place, int]]
    ) -> list[float]:
        """What nuggets are worth in an answer, NaN where a label is missing; ``uses`` are added
        to: the places of labels, where they are used, how often."""
        known = self._known(answer)
        wanted = {one: known.get(one, _UNKNOWN) for one in nuggets}
        found = {one: worth for one, (_, worth) in wanted.items()}
        for nugget, given in self._given(answer).items():
            said, worth = wanted.get(nugget, _UNKNOWN)
            theirs = said is not None and said.human and worth == worth
            if nugget in wanted and given is not None and not theirs:
                found[nugget] = ASSIGNMENT_VALUE[given]
                del wanted[nugget]
        at, used = (
            Place(answer.run, answer.topic, "nuggets"),
            Counter(one for one, _ in wanted.values()),
        )
        uses += ((one.place, at, times) for one, times in used.items() if one is not None)
        subject = self._subject(answer)
        if self._subjects[subject] > 1:  # the same of another run, which is asked about once
            seen = self._seen.setdefault(subject, set())
            wanted = {nugget: one for nugget, one in wanted.items() if nugget not in seen}
            seen.update(wanted)
        missing = sum(said is None for said, _ in wanted.values())
        silent = sum(worth != worth for _, worth in wanted.values())
        self.bank.book.add(ASSIGNMENT, len(wanted), missing, silent - missing)
        return list(found.values())


def _alone(book: Book, said: _Said | None, worth: float) -> Label:
    """The label as if it were of one nugget alone."""
    label = book.columns.at(NONE if said is None else said.place)
    if worth != worth:
        return label._replace(verdict=None, status=Status.FAILED)
    return label._replace(verdict={"labels": [worth]})


def assignment_requests(bank: Bank) -> Iterator[Request]:
    """What is asked of every answer, topic by topic."""
    return chain.from_iterable(map(Responses(bank).requests, bank.inputs.by_topic))


def bank_sheet(bank: Bank, tables: Iterable[NuggetTable]) -> Sheet | None:
    """Nugget scores of answers to the narratives of a bank; None without runs, or where it has no
    nuggets, and none are to be made. Where they still are, or grades that they are made from are
    missing and there is none, a value is not known; without a nugget for good it is undefined for
    every run."""
    inputs, settings = bank.inputs, bank.settings
    unknown, unmapped = set(), set()
    for topic in inputs.topics:
        standing = bank[topic].nuggets
        if not standing and bank.makes_nuggets and topic not in inputs.nuggets:
            unsure = bank.relevance.asked and None in bank.relevance.grades[topic].values()
            if standing is None or unsure:
                unknown.add(topic)
        mapped = all(one.nugget.sub_narrative for one in standing or ())
        if settings.mapping and not (mapped and bank[topic].aspects is not None):
            unmapped.add(topic)
    known = any(bank[topic].nuggets for topic in inputs.topics)
    if not inputs.answers or not (unknown or known):
        return None
    aspects = {topic: bank[topic].aspects or () for topic in inputs.topics}
    return nugget_sheet(tables, aspects, runs=inputs.answers, unknown=unknown, unmapped=unmapped)


def recall_measures(bank: Bank) -> Iterator[LinearMeasure]:
    """Nugget recall as sums over labels. A unit is an answer with a window of nuggets; it is worth
    the weighted mean of what it says of those that it is the label of."""
    responses, inputs = Responses(bank), bank.inputs
    answers = [(one, responses.windows(one)) for one in inputs.every_answer]
    for at, measure in enumerate(NUGGET_MEASURES):
        weights: dict[str, dict[str, float]] = {}
        for topic in inputs.topics:
            nuggets = [one.nugget for one in bank[topic].nuggets or ()]
            each = nugget_weights([one.importance is Importance.VITAL for one in nuggets])[at]
            found = {one.text: weight for one, weight in zip(nuggets, each.tolist(), strict=True)}
            if any(found.values()):
                weights[topic] = found
        by_unit: dict[str, list[float]] = {}
        shares = []
        for answer, windows in answers:
            topics = sum(one in weights for one in bank.topics_of(answer.run))
            of = weights.get(answer.topic, {})
            for request, texts in windows if of else ():
                own = [of[one] if one in texts else 0.0 for one in request.content["nuggets"]]
                by_unit[request.unit_hash] = own
                if any(own):
                    weight = sum(own) / sum(of.values()) / topics
                    shares.append(Share(answer.run, request, weight))
        worth = partial(_assigned, by_unit, measure in STRICT)
        yield LinearMeasure(measure, ASSIGNMENT, worth, shares)


def _assigned(
    weights: Mapping[str, Sequence[float]], strict: bool, asked: Request, verdict: Mapping[str, Any]
) -> float:
    own = weights[asked.unit_hash]
    said = [ASSIGNMENT_VALUE[one] for one in verdict["labels"]]
    values = [float(one == 1) for one in said] if strict else said
    return sum(each * one for each, one in zip(own, values, strict=True)) / sum(own)
