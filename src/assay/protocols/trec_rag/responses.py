"""Nugget assignment of answers: what is asked, and what is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain, compress
from math import nan
from typing import Any

import numpy as np

from assay.labellers.base import Request
from assay.ledger.columns import NONE
from assay.measures.arrays import Floats
from assay.measures.nuggets import NUGGET_MEASURES, STRICT, nugget_weights
from assay.model.trec_rag import ASSIGNMENT_VALUE, Assigned, Importance, RagAnswer
from assay.protocols.label_sheets import NuggetTable, nugget_sheet
from assay.protocols.linear import LinearMeasure, Share
from assay.protocols.places import Place, PlaceColumns
from assay.protocols.sheets import Sheet
from assay.protocols.trec_rag.bank import Bank
from assay.protocols.windows import KnownItems, Subject, WindowLabels
from assay.tasks.trec_rag import ASSIGNMENT, assignment_units


def _worth(verdict: Mapping[str, Any]) -> list[float]:
    return [ASSIGNMENT_VALUE[one] for one in verdict["labels"]]


@dataclass
class Responses:
    """Nugget assignments of every answer."""

    bank: Bank
    _seen: dict[Subject, set[str]] = field(default_factory=dict, init=False)

    def _subject(self, answer: RagAnswer) -> Subject:
        return self.bank[answer.topic].narrative or "", answer.text

    @cached_property
    def _subjects(self) -> Counter[Subject]:
        """How often the same answer is given to the same narrative."""
        return Counter(map(self._subject, self.bank.inputs.every_answer))

    @cached_property
    def _labels(self) -> WindowLabels:
        about = ("question", "answer")
        by_unit = self.bank.book.by_unit
        return WindowLabels(by_unit, ASSIGNMENT, self._subjects, about, "nuggets", _worth)

    def _known(self, answers: Iterable[RagAnswer], nuggets: Sequence[str]) -> KnownItems:
        """What is known about nuggets in answers; nothing for empty answers."""
        subjects = [self._subject(one) if one.sentences else None for one in answers]
        return self._labels.known(subjects, nuggets)

    def _given(self, answer: RagAnswer, nuggets: Iterable[str]) -> list[Assigned | None]:
        """The assignments among the inputs, if these take precedence over the machine's."""
        given = self.bank.given.assignments.get((answer.run, answer.topic))
        found = {} if given is None else {one.nugget.text: one.assigned for one in given.nuggets}
        return list(map(found.get, nuggets))

    def requests(self, topic: str, by_people: bool = False) -> Iterator[Request]:
        """What is asked about the answers to a topic: nuggets without a label, in windows; and the
        windows that were asked before, as they were, which are known or, if their label failed, can
        be tried again. No machine is asked what a person labelled; other people are if
        ``by_people``."""
        text = self.bank[topic].narrative
        nuggets = [one.nugget.text for one in self.bank[topic].nuggets or ()]
        answers = [one for one in self.bank.inputs.answers_to(topic) if one.sentences]
        if text is None:
            return
        known = self._known(answers, nuggets)
        for row, answer in enumerate(answers):
            columns = (nuggets, known.of(row), self._given(answer, nuggets))
            every = [one[:2] for one in zip(*columns, strict=True) if one[-1] is None]
            now = self._labels.asked_now(label for _, label in every if label is not None)
            missing: list[str] = []
            asked_before: dict[str, Request] = {}
            for nugget, label in every:
                if label is None or label.number not in now:
                    missing.append(nugget)
                elif by_people or not label.human:
                    asked_before[label.unit] = self._labels.request(label, topic)
            window = self.bank.settings.assignment_window
            for unit in assignment_units(text, missing, answer.text, window=window):
                yield Request(ASSIGNMENT, unit, topic=topic)
            yield from asked_before.values()

    def windows(
        self, topic: str
    ) -> Iterator[tuple[tuple[str, str], list[tuple[Request, set[str]]]]]:
        """By run and topic: the units of an answer's labels, each with the nuggets that it
        labels."""
        nuggets = [one.nugget.text for one in self.bank[topic].nuggets or ()]
        answers = list(self.bank.inputs.answers_to(topic))
        known = self._known(answers, nuggets)
        for row, answer in enumerate(answers):
            found: dict[str, tuple[Request, set[str]]] = {}
            for nugget, label in zip(nuggets, known.of(row), strict=True):
                if label is not None:
                    request = self._labels.request(label, topic)
                    found.setdefault(label.unit, (request, set()))[1].add(nugget)
            yield (answer.run, topic), list(found.values())

    def nugget_tables(self, nuggets: Bank | None = None) -> list[NuggetTable]:
        """The labels of every topic's nuggets, taken from another bank if given, and recorded as
        used. An empty answer states nothing."""
        uses: list[tuple[int, Place, int]] = []
        tables = []
        for topic in self.bank.inputs.topics:
            standing = (nuggets or self.bank)[topic].nuggets
            # Without a list it is unknown by which nuggets answers would be judged.
            known = nuggets is None or standing is not None
            answers = list(self.bank.inputs.answers_to(topic)) if known else []
            listed = tuple(one.nugget for one in standing or ())
            worth = self._values(answers, [one.text for one in listed], uses)
            runs = tuple(answer.run for answer in answers)
            tables.append(NuggetTable(topic, listed, runs, worth))
        if uses:
            labels, places, times = zip(*uses, strict=True)
            self.bank.book.note_all(np.array(labels, np.int64), PlaceColumns(places, times))
        return tables

    def _values(
        self,
        answers: Sequence[RagAnswer],
        nuggets: Sequence[str],
        uses: list[tuple[int, Place, int]],
    ) -> Floats:
        """The values of nuggets in answers to a topic, NaN if a label is missing. The labels used
        are appended to ``uses``: place in the columns, place of use, number of uses."""
        said, label, worth = self._known(answers, nuggets)
        stated = np.array([bool(one.sentences) for one in answers], np.bool_)
        wanted = np.repeat(stated, len(nuggets)).reshape(label.shape)
        if self.bank.given.assignments:
            every = chain.from_iterable(self._given(one, nuggets) for one in answers)
            values = [nan if one is None else ASSIGNMENT_VALUE[one] for one in every]
            given = np.array(values, np.float64).reshape(label.shape)
            # The False at the end is for index −1, which stands for no label.
            by_person = np.array([*(one.human for one in said), False])[label] & ~np.isnan(worth)
            is_given = ~np.isnan(given) & ~by_person
            worth, wanted = np.where(is_given, given, worth), wanted & ~is_given
        row, column = np.nonzero(wanted & (label != NONE))
        pairs = row * len(said) + label[row, column]
        some, first, times = np.unique(pairs, return_index=True, return_counts=True)
        for at in np.argsort(first).tolist():
            place, number = divmod(int(some[at]), len(said))
            where = Place(answers[place].run, answers[place].topic, "nuggets")
            uses.append((said[number].place, where, int(times[at])))
        for own, answer in zip(wanted, answers, strict=True):
            if self._subjects[subject := self._subject(answer)] > 1:
                # Equal answers of several runs are asked about, and counted, once.
                seen = self._seen.setdefault(subject, set())
                fresh = np.array([one not in seen for one in nuggets], np.bool_)
                seen.update(compress(nuggets, own.tolist()))
                own &= fresh
        missing, silent = (int((wanted & one).sum()) for one in (label == NONE, np.isnan(worth)))
        self.bank.book.add(ASSIGNMENT, int(wanted.sum()), missing, silent - missing)
        return np.where(stated[:, None], worth, 0.0)


def assignment_requests(bank: Bank, *, by_people: bool = False) -> Iterator[Request]:
    """What is asked about every answer, topic by topic."""
    responses = Responses(bank)
    return chain.from_iterable(responses.requests(one, by_people) for one in bank.inputs.topics)


def bank_sheet(bank: Bank, tables: Iterable[NuggetTable]) -> Sheet | None:
    """Nugget scores of answers to the narratives of a bank. None without runs, or if it has no
    nuggets and none are to be made. A value is unknown if nuggets are still to be made, or there
    are none while grades from which they are made are missing; a topic that will have no nuggets is
    undefined for every run."""
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
    the weighted mean of its values for the nuggets whose label it is."""
    responses, inputs = Responses(bank), bank.inputs
    windows = dict(chain.from_iterable(map(responses.windows, inputs.topics)))
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
        for answer in inputs.every_answer:
            topics = sum(one in weights for one in bank.topics_of(answer.run))
            of = weights.get(answer.topic, {})
            for request, texts in windows[answer.run, answer.topic] if of else ():
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
    own, values_said = weights[asked.unit_hash], _worth(verdict)
    values = [float(one == 1) for one in values_said] if strict else values_said
    return sum(each * one for each, one in zip(own, values, strict=True)) / sum(own)
