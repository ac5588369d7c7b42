"""The sections of a TREC RAG report, as plain values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import isnan, nan

from assay.measures.ranges import Range
from assay.measures.scores import PerTopic
from assay.measures.support import SUPPORT_MEASURES
from assay.model.labels import Label
from assay.model.wording import counted
from assay.page.parts import (
    Cited,
    Item,
    Marked,
    MarkedSentence,
    Part,
    Table,
    support_mark,
)
from assay.page.wording import span
from assay.protocols.beside import LabelsPair, beside_part
from assay.protocols.label_sheets import NuggetTable
from assay.protocols.nugget_parts import answer_nuggets, nugget_items
from assay.protocols.sides import Sides, sides_part
from assay.protocols.trec_rag.bank import Bank
from assay.protocols.trec_rag.inputs import TrecRagInputs, TrecRagSettings
from assay.protocols.trec_rag.retrieval import JudgedPool
from assay.protocols.trec_rag.support import SupportLabels


@dataclass
class ScoredLabels:
    """What scoring found on its way, for files and the report: the bank, the grades used, the
    labels of nuggets (by topic; none where there are no answers) and of support (None where that
    is left out). ``counts`` are of the sentences of each run."""

    bank: Bank
    pool: JudgedPool
    nuggets: Mapping[str, NuggetTable] = field(default_factory=dict)
    support: SupportLabels | None = None
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @property
    def inputs(self) -> TrecRagInputs:
        return self.bank.inputs

    @property
    def settings(self) -> TrecRagSettings:
        return self.bank.settings


def facts(state: ScoredLabels) -> tuple[tuple[str, str], ...]:
    """What heads the report."""
    inputs = state.inputs
    nuggets = [len(state.bank[topic].nuggets or ()) for topic in inputs.topics]
    people = state.bank.book.used.count(lambda label: label.labeller.is_human).get(True, 0)
    every = [
        ("Narratives", f"{len(inputs.topics):,}"),
        ("Retrieval runs", f"{len(inputs.r_runs):,}"),
        ("Runs of answers", f"{len(inputs.answers):,}"),
        ("Judgment runs", f"{len(inputs.rj_runs):,}"),
        ("Segments", f"{len(inputs.segments):,}"),
        ("Nuggets", f"{sum(nuggets):,}"),
        ("Labels by people", f"{people:,}"),
    ]
    return tuple((name, value) for name, value in every if value != "0" or name == "Narratives")


def parts(
    state: ScoredLabels, ways: Sequence[LabelsPair], sides: Sequence[Sides], per_topic: PerTopic
) -> tuple[Part, ...]:
    """The sections of the report. ``per_topic`` is run -> measure -> topic -> value."""
    found: list[Part] = [_narratives(state, per_topic)] if per_topic else []
    found += map(sides_part, sides)
    if ways:
        note = "Relevance labels of the same documents, asked for in several ways or given."
        found.append(beside_part(ways, "Relevance labels beside each other", note))
    return tuple(found)


# --- narratives ----------------------------------------------------------------------------------


def _narratives(state: ScoredLabels, per_topic: PerTopic) -> Part:
    numbers = {(one.topic, one.run): at for at, one in enumerate(state.inputs.every_answer)}

    def items(topic: str) -> Iterator[Item]:
        yield _scores(topic, per_topic)
        if standing := state.bank[topic].nuggets:
            table = state.nuggets.get(topic) or NuggetTable.of(topic, [s.nugget for s in standing])
            yield from nugget_items(table, [s.roots != (s.nugget.text,) for s in standing])
        every = (numbers.get((topic, run)) for run in state.inputs.answers)
        shown = [number for number in every if number is not None]
        labels = _labels(state, shown)
        for number in shown:
            yield from _answer(state, number, per_topic, labels)

    groups = tuple(
        (
            f"{topic}: {state.bank[topic].narrative or '(narrative not written yet)'}",
            partial(items, topic),
        )
        for topic in state.inputs.topics
    )
    note = (
        "Each sentence is coloured by the support of the passage it cites: click it for the "
        "passage. Below an answer, its nuggets and what is missing."
    )
    return Part("Narratives", note, groups=groups)


def _scores(topic: str, per_topic: PerTopic) -> Table:
    """Every run's scores on one narrative."""
    measures = list(dict.fromkeys(name for found in per_topic.values() for name in found))
    rows = [
        (run, *(found.get(name, {}).get(topic) for name in measures))
        for run, found in per_topic.items()
    ]
    return Table("Scores on this narrative", ("run", *measures), rows, folded=True)


def _labels(state: ScoredLabels, answers: Sequence[int]) -> dict[int, Label]:
    """The labels of the citations of these answers, whole, by number. The ledger must be open."""
    if state.support is None:
        return {}
    labels = state.support.labels
    every = (at for answer in answers for at in state.support.of(answer))
    numbers = {at: number for at in every if (number := int(state.support.label[at])) >= 0}
    found = {at: label for at, one in numbers.items() if (label := labels[one]) is not None}
    return state.bank.book.whole(found)


def _answer(
    state: ScoredLabels, number: int, per_topic: PerTopic, labels: Mapping[int, Label]
) -> Iterator[Item]:
    answer = state.inputs.every_answer[number]
    yield _marked(state, number, per_topic.get(answer.run, {}), labels)
    table = state.nuggets[answer.topic]
    if table.nuggets:
        aspects = [one.text for one in state.bank[answer.topic].aspects or ()]
        yield answer_nuggets(table, answer.run, aspects)


def _marked(
    state: ScoredLabels, number: int, scores: Mapping[str, Mapping[str, Range | None]],
    whole: Mapping[int, Label],
) -> Marked:  # fmt: skip
    answer, support = state.inputs.every_answer[number], state.support
    numbers = iter(() if support is None else support.of(number))
    sentences = []
    for sentence in answer.sentences:
        cited, worths = [], []
        for doc in sentence.citations:
            segment, at = state.inputs.segments.get(doc), next(numbers, -1)
            worths.append(nan if support is None else float(support.cited.worth[at]))
            label = whole.get(at)
            given = "" if isnan(worths[-1]) else f"given, by {state.settings.given_by_words}"
            who = given if label is None else label.labeller.name
            why = "" if label is None or not label.reason else label.reason
            text = segment.text if segment is not None else ""
            cited.append(Cited(doc, text, support_mark(worths[-1:]), who, why))
        counted_ones = worths[:1] if state.settings.citations == "first" else worths
        sentences.append(MarkedSentence(sentence.text, support_mark(counted_ones), tuple(cited)))
    note = f"{answer.length} words, {counted(len(answer.sentences), 'sentence')}"
    for name in SUPPORT_MEASURES[:2]:
        value = scores.get(name, {}).get(answer.topic)
        if value is not None:
            note += f"; {name.replace('_', ' ')} {span(*value, 2)}"
    return Marked(answer.run, tuple(sentences), note)
