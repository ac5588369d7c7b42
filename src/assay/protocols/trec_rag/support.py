"""Support of answers by the passages they cite: what is asked, and what is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from assay.labellers.base import Request
from assay.measures.confidence import Integers
from assay.measures.support import counted_citations
from assay.model.trec_rag import (
    SUPPORT_VALUE,
    CitedSupport,
    JudgedSentence,
    RagAnswer,
    Segment,
    Support,
    SupportAnswer,
)
from assay.protocols.counted import CountedLabels
from assay.protocols.label_sheets import Cited
from assay.protocols.places import Place
from assay.protocols.trec_rag.bank import Bank
from assay.protocols.trec_rag.inputs import TrecRagSettings
from assay.tasks.base import AnyTask
from assay.tasks.trec_rag import BEFORE, SUPPORT, SUPPORT_IN_CONTEXT

_SUPPORT = {worth: one for one, worth in SUPPORT_VALUE.items()}


def support_task(settings: TrecRagSettings) -> AnyTask:
    """The task that asks for support."""
    return SUPPORT_IN_CONTEXT if settings.support == "in-context" else SUPPORT


def support_content(bank: Bank, answer: RagAnswer, place: int, segment: Segment) -> dict[str, Any]:
    """What is asked of a sentence of an answer and a segment that it cites."""
    found: dict[str, Any] = {"passage": segment.text, "sentence": answer.sentences[place].text}
    if bank.settings.support == "in-context":
        before = answer.sentences[max(0, place - BEFORE) : place]
        found |= {"title": segment.title, "before": [one.text for one in before]}
    return found


def cited_requests(bank: Bank, answer: RagAnswer) -> Iterator[tuple[int, int, Request]]:
    """(sentence, citation, request) of every citation that counts and whose passage's text is
    among the segments."""
    first, task = bank.settings.citations == "first", support_task(bank.settings)
    for place, sentence in enumerate(answer.sentences):
        for spot, doc in enumerate(sentence.citations[: 1 if first else None]):
            segment = bank.inputs.segments.get(doc)
            if segment is not None:
                unit = task.unit.model_validate(support_content(bank, answer, place, segment))
                yield place, spot, Request(task, unit, topic=answer.topic)


def support_requests(bank: Bank, answer: RagAnswer) -> Iterator[Request]:
    """What must be asked of an answer's citations."""
    given, _ = _given(bank, answer)
    for place, spot, request in cited_requests(bank, answer):
        if (place, spot) not in given:
            yield request


def _given(bank: Bank, answer: RagAnswer) -> tuple[dict[tuple[int, int], Support | None], int]:
    """Support labels among the inputs, by sentence and citation, None where the track left it
    unjudged; and how many are left out, as their place in the answer cites another document."""
    found = bank.inputs.support.get((answer.run, answer.topic))
    labels: dict[tuple[int, int], Support | None] = {}
    unmatched = 0
    if found is None or not bank.people_given:
        return labels, unmatched
    cited = [sentence.citations for sentence in answer.sentences]
    for place, sentence in enumerate(found.sentences):
        for spot, one in enumerate(sentence.citations):
            mine = cited[place][spot : spot + 1] if place < len(cited) else ()
            if not mine or (one.reference and one.reference != mine[0]):
                unmatched += 1
            elif one.support is not None or one.unjudged:
                labels[place, spot] = one.support
    return labels, unmatched


@dataclass(frozen=True, eq=False)
class SupportLabels:
    """The citations of answers with what is known of them. ``docs`` are what they cite, ``first``
    is the number of each answer's first one, and at last how many there are; ``labels`` are those
    of the ledger, and ``label`` has the number of each citation's among them, −1 where there is
    none. ``unmatched`` labels that were given are of citations that the answers do not have."""

    answers: Sequence[RagAnswer]
    cited: Cited
    docs: Sequence[str]
    first: Integers
    labels: CountedLabels
    label: Integers
    unmatched: int

    def of(self, answer: int) -> range:
        """The numbers of an answer's citations."""
        return range(int(self.first[answer]), int(self.first[answer + 1]))

    def said(self, answer: int) -> Iterator[CitedSupport]:
        """The citations of an answer with their labels."""
        for at in self.of(answer):
            worth, unjudged = float(self.cited.worth[at]), bool(self.cited.unjudged[at])
            yield CitedSupport(self.docs[at], _SUPPORT.get(worth), unjudged)

    def records(self) -> Iterator[SupportAnswer]:
        """Each answer with its labels, for files."""
        for number, answer in enumerate(self.answers):
            said = self.said(number)
            sentences = tuple(
                JudgedSentence(one.text, tuple(islice(said, len(one.citations))))
                for one in answer.sentences
            )
            yield SupportAnswer(answer.run, answer.topic, sentences)


def support_labels(bank: Bank) -> SupportLabels:
    """The support labels of every answer: those among the inputs, unless a person's is in the
    ledger, then the ledger's."""
    answers, segments = bank.inputs.every_answer, bank.inputs.segments
    task = support_task(bank.settings)
    sentences = [sentence for answer in answers for sentence in answer.sentences]
    docs = [doc for sentence in sentences for doc in sentence.citations]
    per_answer = np.array([len(answer.sentences) for answer in answers], np.int64)
    per_sentence = np.array([len(sentence.citations) for sentence in sentences], np.int64)
    of_answer = np.repeat(np.arange(len(answers)), per_answer)
    of_sentence = np.repeat(np.arange(len(sentences)), per_sentence)
    first_sentence = np.cumsum(per_answer) - per_answer
    starts = np.append(np.cumsum(per_sentence) - per_sentence, len(docs))

    worth, given, unmatched = np.full(len(docs), np.nan), np.zeros(len(docs), np.bool_), 0
    for number, answer in enumerate(answers):
        labels, others = _given(bank, answer)
        unmatched += others
        for (place, spot), said in labels.items():
            at = starts[first_sentence[number] + place] + spot
            given[at] = True
            worth[at] = np.nan if said is None else SUPPORT_VALUE[said]

    def content(at: int) -> Mapping[str, Any]:
        sentence = of_sentence[at]
        number = of_answer[sentence]
        place = int(sentence - first_sentence[number])
        return support_content(bank, answers[number], place, segments[docs[at]])

    def used_at(at: int) -> Place:
        sentence = of_sentence[at]
        answer = answers[of_answer[sentence]]
        number = sentence - first_sentence[of_answer[sentence]] + 1
        where = f"sentence {number} citation {at - starts[sentence] + 1}"
        return Place(answer.run, answer.topic, where)

    asked = counted_citations(per_sentence, bank.settings.citations)
    asked &= np.array([doc in segments for doc in docs], np.bool_)
    both = np.flatnonzero(asked & given)
    if len(both):
        by_people = bank.book.labels(task, map(content, both.tolist())).human
        asked[both[~by_people]] = False
    which = np.flatnonzero(asked)
    at = which.tolist()
    found = bank.book.labels(task, map(content, at), map(used_at, at))
    values = found.map(lambda verdict: SUPPORT_VALUE[Support(verdict["support"])])
    known = ~np.isnan(values)
    worth[which[known]] = values[known]
    label = np.full(len(docs), -1, np.int64)
    label[which] = np.arange(len(which))
    cited = Cited(
        [(one.run, one.topic) for one in answers], per_answer, per_sentence, worth,
        given & np.isnan(worth),
    )  # fmt: skip
    return SupportLabels(
        answers,
        cited,
        docs,
        starts[np.append(first_sentence, len(sentences))],
        found,
        label,
        unmatched,
    )
