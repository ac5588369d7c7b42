"""The sections of a TREC RAG report, as plain values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan, nan

from assay.measures.ranges import Range
from assay.measures.scores import PerTopic
from assay.measures.support import SUPPORT_MEASURES
from assay.model.labels import Label
from assay.model.trec_rag import RagAnswer
from assay.model.wording import counted
from assay.page.parts import Cited, Item, Marked, MarkedSentence, Part, support_mark
from assay.page.wording import span
from assay.protocols.label_pairs import LabelsPair, label_pairs_part
from assay.protocols.label_sheets import NuggetTable
from assay.protocols.nugget_parts import answer_nuggets, nugget_items
from assay.protocols.ranked import Ranked
from assay.protocols.scores import scores_on
from assay.protocols.sheets import Sheet
from assay.protocols.trec_rag.bank import Bank
from assay.protocols.trec_rag.inputs import TrecRagInputs, TrecRagSettings
from assay.protocols.trec_rag.support import SupportLabels


@dataclass(frozen=True)
class ScoredLabels:
    """Intermediate results of scoring, for files and the report: the bank; the retrieval runs with
    the grades used; the labels of nuggets (by topic) and of support (None if left out), with the
    values of both; and ``counts`` of the sentences of each run."""

    bank: Bank
    ranked: Ranked
    nuggets: Mapping[str, NuggetTable]
    nugget_sheet: Sheet | None
    support: SupportLabels | None = None
    support_sheet: Sheet | None = None
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @property
    def inputs(self) -> TrecRagInputs:
        return self.bank.inputs

    @property
    def settings(self) -> TrecRagSettings:
        return self.bank.settings


def facts(state: ScoredLabels) -> tuple[tuple[str, str], ...]:
    """The facts at the head of the report."""
    inputs = state.inputs
    people = state.bank.book.used.count(lambda label: label.labeller.is_human)
    every = {
        "Narratives": len(inputs.topics),
        "Retrieval runs": len(inputs.r_runs),
        "Runs of answers": len(inputs.answers),
        "Judgment runs": len(inputs.rj_runs),
        "Segments": len(inputs.segments),
        "Nuggets": sum(len(state.bank[topic].nuggets or ()) for topic in inputs.topics),
        "Labels by people": people.get(True, 0),
    }
    return tuple((name, f"{n:,}") for name, n in every.items() if n or name == "Narratives")


def parts(state: ScoredLabels, ways: Sequence[LabelsPair], per_topic: PerTopic) -> Iterator[Part]:
    """The sections of the report. ``per_topic`` is run -> measure -> topic -> value."""
    if per_topic:
        yield _narratives(state, per_topic)
    if ways:
        note = "Relevance labels of the same documents, asked for in several ways or given."
        yield label_pairs_part(ways, "Relevance labels compared", note)


# --- narratives ----------------------------------------------------------------------------------


def _narratives(state: ScoredLabels, per_topic: PerTopic) -> Part:
    def items(topic: str) -> Iterator[Item]:
        yield scores_on("narrative", topic, per_topic)
        if standing := state.bank[topic].nuggets:
            edited = [one.roots != (one.nugget.text,) for one in standing]
            yield from nugget_items(state.nuggets[topic], edited)
        answers = list(state.inputs.answers_to(topic))
        labels = _labels(state, answers)
        for answer in answers:
            yield _marked(state, answer, per_topic.get(answer.run, {}), labels)
            if standing:
                aspects = [one.text for one in state.bank[topic].aspects or ()]
                yield answer_nuggets(state.nuggets[topic], answer.run, aspects)

    note = (
        "Each sentence is coloured by the support of the passage it cites: click it to see the "
        "passage. Below each answer are its nuggets and what is missing."
    )
    unknown = "(narrative not written yet)"
    texts = {topic: state.bank[topic].narrative or unknown for topic in state.inputs.topics}
    return Part.by_topic("Narratives", note, texts, items)


def _labels(state: ScoredLabels, answers: Sequence[RagAnswer]) -> dict[int, Label]:
    """The labels of the citations of these answers, whole, by index. The ledger must be open."""
    if state.support is None:
        return {}
    labels = state.support.labels
    every = (at for answer in answers for at in state.support.of(answer))
    return state.bank.book.whole({at: one for at in every if (one := labels[at]) is not None})


def _marked(
    state: ScoredLabels, answer: RagAnswer, scores: Mapping[str, Mapping[str, Range | None]],
    whole: Mapping[int, Label],
) -> Marked:  # fmt: skip
    support = state.support
    numbers = iter(() if support is None else support.of(answer))
    sentences = []
    for sentence in answer.sentences:
        cited, worths = [], []
        for doc in sentence.citations:
            segment, at = state.inputs.segments.get(doc), next(numbers, -1)
            worths.append(nan if support is None else float(support.cited.worth[at]))
            label = whole.get(at)
            who, why = ("", "") if label is None else (label.labeller.name, label.reason or "")
            if label is None and not isnan(worths[-1]):
                who = f"given, by {state.settings.given_by_words}"
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
