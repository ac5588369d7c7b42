"""Nugget assignment of answers: what is asked, and what is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from itertools import chain, repeat
from typing import Any, NamedTuple

import numpy as np

from assay.labellers.base import Request, request_key
from assay.measures.nuggets import NUGGET_MEASURES, STRICT, nugget_weights
from assay.model.labels import Label, Status
from assay.model.trec_rag import (
    ASSIGNMENT_VALUE,
    Assigned,
    AssignedAnswer,
    AssignedNugget,
    Importance,
    RagAnswer,
)
from assay.protocols.label_sheets import NuggetTable, nugget_sheet
from assay.protocols.linear import LinearMeasure, Share
from assay.protocols.places import Place, PlaceColumns
from assay.protocols.sheets import Sheet
from assay.protocols.trec_rag.bank import Bank
from assay.tasks.trec_rag import ASSIGNMENT, AssignmentUnit, assignment_units

_Subject = tuple[str, str]
"""narrative, answer"""

_ASSIGNED = {worth: one for one, worth in ASSIGNMENT_VALUE.items()}


class _Window(NamedTuple):
    """Nuggets of an answer that were labelled together."""

    unit: str
    subject: _Subject
    nuggets: tuple[str, ...]

    @property
    def content(self) -> AssignmentUnit:
        question, answer = self.subject
        return AssignmentUnit(question=question, nuggets=self.nuggets, answer=answer)


class _Said(NamedTuple):
    """A label of a window, and what a nugget is worth under it (NaN: it does not say)."""

    window: _Window
    label: Label
    worth: float

    @property
    def alone(self) -> Label:
        """The label as if it were of this nugget alone."""
        if np.isnan(self.worth):
            return self.label._replace(verdict=None, status=Status.FAILED)
        return self.label._replace(verdict={"labels": [self.worth]})


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
    def _windows(self) -> dict[_Subject, list[_Window]]:
        """What was labelled of each answer."""
        book = self.bank.book.book
        found: dict[_Subject, list[_Window]] = {}
        held_once: dict[tuple[str, ...], tuple[str, ...]] = {}  # a topic's nuggets are held once
        units = () if book is None else book.ledger.unit_contents([ASSIGNMENT.name])
        for unit, content in units:
            subject = content["question"], content["answer"]
            if subject in self._subjects:
                nuggets = tuple(content["nuggets"])
                window = _Window(unit, subject, held_once.setdefault(nuggets, nuggets))
                found.setdefault(subject, []).append(window)
        return found

    def _said(self, answer: RagAnswer) -> dict[str, _Said]:
        """The label that counts for each nugget of an answer, by its text: the one that would if
        all windows that it was asked in were one unit."""
        book, every = self.bank.book.book, dict[str, list[_Said]]()
        if book is None:
            return {}
        for window in self._windows.get(self._subject(answer), ()):
            for label in book.of(window.unit):
                words = () if label.verdict is None else label.verdict["labels"]
                worth = chain(map(ASSIGNMENT_VALUE.__getitem__, words), repeat(np.nan))
                for nugget, one in zip(window.nuggets, worth, strict=False):
                    every.setdefault(nugget, []).append(_Said(window, label, one))
        asked_now = cache(lambda: self._asked_now(chain.from_iterable(every.values())))

        def present(some: Sequence[Label]) -> Sequence[Label]:
            return [one for one in some if one.rowid in asked_now()] or some

        found = {}
        of_one = dict[int, Label | None]()  # what counts where there is one label, by its number
        for nugget, said in every.items():
            by_number = {one.label.rowid: one for one in said}
            number, unit = said[-1].label.rowid, said[-1].window.unit
            if len(said) > 1:
                labels = [by_number[one].alone for one in sorted(by_number)]
                chosen = book.among(ASSIGNMENT, unit, labels, present)
            elif number in of_one:
                chosen = of_one[number]
            else:
                chosen = book.among(ASSIGNMENT, unit, [said[0].label], present)
                of_one[number] = chosen
            if chosen is not None:
                found[nugget] = by_number[chosen.rowid]
        return found

    def _asked_now(self, said: Iterable[_Said]) -> set[int]:
        """The numbers of the labels that are of the very question that would be asked now; a
        person's always is."""
        book, by_number = self.bank.book.book, {one.label.rowid: one for one in said}
        labeller = None if book is None else book.labellers.get(ASSIGNMENT.name)
        keys = {} if book is None or labeller is None else book.ledger.keys(by_number)
        return {
            number
            for number, one in by_number.items()
            if one.label.labeller.is_human
            or (
                labeller
                and keys[number] == request_key(labeller, Request(ASSIGNMENT, one.window.content))
            )
        }

    def _standing(
        self, answer: RagAnswer, nuggets: Iterable[str]
    ) -> Iterator[tuple[str, Assigned | None, _Said | None]]:
        """Nuggets, each with its assignment among the inputs, where these go before the machine's,
        and the label that counts for it. An empty answer has none."""
        found = self.bank.given.assignments.get((answer.run, answer.topic))
        given = {} if found is None else {one.nugget.text: one.assigned for one in found.nuggets}
        said = self._said(answer) if answer.sentences else {}
        return ((one, given.get(one), said.get(one)) for one in nuggets)

    def requests(self, answer: RagAnswer) -> Iterator[Request]:
        """What is asked of an answer: the nuggets that have no label yet, in windows, and the
        windows that were asked before as they were: these are known, or, where their label
        failed, can be tried again. What a person labelled is asked no more, unless the machine's
        labels do not count: what is asked is then of people, and done."""
        topic = self.bank[answer.topic]
        text, nuggets = topic.narrative, [one.nugget.text for one in topic.nuggets or ()]
        if text is None or not answer.sentences:
            return
        standing = self._standing(answer, nuggets)
        every = [(one, said) for one, given, said in standing if given is None]
        now = self._asked_now(said for _, said in every if said is not None)
        machine_counts = self.bank.book.counts_machine(ASSIGNMENT)
        missing: list[str] = []
        asked_before: dict[str, AssignmentUnit] = {}
        for nugget, said in every:
            if said is None or said.label.rowid not in now:
                missing.append(nugget)
            elif not said.label.labeller.is_human or not machine_counts:
                asked_before[said.window.unit] = said.window.content
        window = self.bank.settings.assignment_window
        new = assignment_units(text, missing, answer.text, window=window)
        for unit in (*new, *asked_before.values()):
            yield Request(ASSIGNMENT, unit, topic=answer.topic)

    def windows(self, answer: RagAnswer) -> list[tuple[Request, set[str]]]:
        """The units that an answer's labels are of, each with the nuggets that it is the label
        of."""
        found: dict[str, tuple[Request, set[str]]] = {}
        nuggets = (one.nugget.text for one in self.bank[answer.topic].nuggets or ())
        for nugget, _, said in self._standing(answer, nuggets):
            if said is not None:
                request = Request(ASSIGNMENT, said.window.content, topic=answer.topic)
                found.setdefault(said.window.unit, (request, set()))[1].add(nugget)
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
                    row[:] = self._worth(answer, [one.text for one in listed], uses)
            runs = tuple(answer.run for answer in answers)
            tables.append(NuggetTable(topic, listed, runs, worth))
        book = self.bank.book.book
        if uses and book is not None:
            numbers, places, times = zip(*uses, strict=True)
            columns = book.columns.places_of(ASSIGNMENT.name)
            labels = np.array([columns[number] for number in numbers], np.int64)
            self.bank.book.note_all(labels, PlaceColumns(places, times))
        return tables

    def _worth(
        self, answer: RagAnswer, nuggets: Sequence[str], uses: list[tuple[int, Place, int]]
    ) -> list[float]:
        """What nuggets are worth in an answer, NaN where a label is missing; ``uses`` are added
        to."""
        subject, found = self._subject(answer), list[float]()
        wanted: dict[str, _Said | None] = {}
        for nugget, given, said in self._standing(answer, nuggets):
            theirs = said and said.label.labeller.is_human and said.worth == said.worth
            if given is not None and not theirs:
                found.append(ASSIGNMENT_VALUE[given])
            else:
                found.append(np.nan if said is None else said.worth)
                wanted[nugget] = said
        at = Place(answer.run, answer.topic, "nuggets")
        used = Counter([said.label.rowid for said in wanted.values() if said is not None])
        uses += ((number, at, times) for number, times in used.items())
        if self._subjects[subject] > 1:  # the same of another run, which is asked about once
            seen = self._seen.setdefault(subject, set())
            wanted = {nugget: said for nugget, said in wanted.items() if nugget not in seen}
            seen.update(wanted)
        failed = sum(said is not None and said.worth != said.worth for said in wanted.values())
        missing = sum(said is None for said in wanted.values())
        self.bank.book.add(ASSIGNMENT, len(wanted), missing, failed)
        return found


def assignment_requests(bank: Bank) -> Iterator[Request]:
    """What is asked of every answer, topic by topic."""
    return chain.from_iterable(map(Responses(bank).requests, bank.inputs.by_topic))


def assigned_answers(bank: Bank, tables: Mapping[str, NuggetTable]) -> Iterator[AssignedAnswer]:
    """Every answer with its labels in the tables of the topics, for files."""
    for answer in bank.inputs.every_answer:
        table = tables[answer.topic]
        labels = zip(table.nuggets, map(_ASSIGNED.get, table.row(answer.run)), strict=True)
        nuggets = tuple(AssignedNugget(*one) for one in labels)
        text = bank[answer.topic].narrative or ""
        yield AssignedAnswer(answer.run, answer.topic, text, answer.text, nuggets, answer.length)


def bank_sheet(bank: Bank, tables: Iterable[NuggetTable]) -> Sheet | None:
    """Nugget scores of answers to the narratives of a bank; None without runs, or where it has no
    nuggets, and none are to be made. Where they still are, or grades that they are made from are
    missing and there is none, a value is not known; without a nugget for good it is undefined for
    every run."""
    inputs, settings = bank.inputs, bank.settings
    unknown, unmapped = set(), set()
    for topic in inputs.topics:
        standing = bank[topic].nuggets
        if not standing and bank.needs.nuggets and topic not in inputs.nuggets:
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
