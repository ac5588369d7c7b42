"""Support of answers by the passages they cite: what is asked, and what is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress, islice, zip_longest
from typing import Any

import numpy as np

from assay.labellers.base import Request
from assay.measures.confidence import Bools, Integers
from assay.measures.support import Citations
from assay.model.trec_rag import (
    SUPPORT_VALUE,
    CitedSupport,
    JudgedSentence,
    RagAnswer,
    Segment,
    SupportAnswer,
)
from assay.protocols.counted import CountedLabels
from assay.protocols.label_sheets import NO_LABEL, Cited, citations_of
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


def _citations(answers: Iterable[RagAnswer]) -> Iterator[tuple[RagAnswer, int, int, str]]:
    """Every citation of answers: which sentence's it is, and which of these, from 0; and what it
    cites."""
    for answer in answers:
        for place, sentence in enumerate(answer.sentences):
            for spot, doc in enumerate(sentence.citations):
                yield answer, place, spot, doc


def cited_requests(bank: Bank, answer: RagAnswer) -> Iterator[tuple[int, int, Request]]:
    """(sentence, citation, request) of every citation that counts and whose passage's text is
    among the segments."""
    task = support_task(bank.settings)
    for _, place, spot, doc in _citations([answer]):
        segment = bank.inputs.segments.get(doc)
        if segment is not None and (spot == 0 or bank.settings.citations == "all"):
            unit = task.unit.model_validate(support_content(bank, answer, place, segment))
            yield place, spot, Request(task, unit, topic=answer.topic)


def support_requests(bank: Bank, answer: RagAnswer) -> Iterator[Request]:
    """What must be asked of an answer's citations."""
    given, _ = _given(bank, answer)
    known = ~citations_of([given]).missing
    places = [(place, spot) for _, place, spot, _ in _citations([answer])]
    settled = set(compress(places, known.tolist()))
    for place, spot, request in cited_requests(bank, answer):
        if (place, spot) not in settled:
            yield request


def _given(bank: Bank, answer: RagAnswer) -> tuple[RagAnswer | SupportAnswer, int]:
    """An answer with its support labels among the inputs, if there are any; and how many are left
    out, as their place in the answer cites another document."""
    found = bank.given.support.get((answer.run, answer.topic))
    if found is None:
        return answer, 0
    sentences, matched = [], 0
    for sentence, judged in zip_longest(answer.sentences, found.sentences[: len(answer.sentences)]):
        labels = judged.citations if judged is not None else ()
        cited = []
        for doc, label in zip_longest(sentence.citations, labels[: len(sentence.citations)]):
            fits = label is not None and label.reference in ("", doc)
            matched += fits
            cited.append((label if fits else NO_LABEL)._replace(reference=doc))
        sentences.append(JudgedSentence(sentence.text, tuple(cited)))
    left_out = sum(len(one.citations) for one in found.sentences) - matched
    return SupportAnswer(answer.run, answer.topic, tuple(sentences)), left_out


@dataclass(frozen=True, eq=False)
class SupportLabels:
    """What is known of the citations of answers. ``labels`` are those of the ledger, and ``label``
    has the number of each citation's among them, −1 where there is none. ``unmatched`` labels that
    were given are of citations that the answers do not have."""

    answers: Sequence[RagAnswer]
    cited: Cited
    labels: CountedLabels
    label: Integers
    unmatched: int

    def of(self, answer: int) -> range:
        """The numbers of an answer's citations."""
        return range(*self.cited.first[answer : answer + 2].tolist())

    def lacking(self, citations: Citations) -> list[str]:
        """What is cited by those that count and lack a label."""
        which = self.cited.missing & self.cited.counting(citations)
        return list(compress(self.cited.docs, which.tolist()))

    def records(self) -> Iterator[SupportAnswer]:
        """Each answer with its labels, for files."""
        cited = self.cited
        labels = zip(cited.docs, cited.worth.tolist(), cited.unjudged.tolist(), strict=True)
        said = (CitedSupport(doc, _SUPPORT.get(worth), open_one) for doc, worth, open_one in labels)
        for answer in self.answers:
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
    given = [_given(bank, one) for one in answers]
    cited = citations_of(one for one, _ in given)

    def contents(which: Bools) -> Iterator[dict[str, Any]]:
        for answer, place, _, doc in compress(_citations(answers), which.tolist()):
            yield support_content(bank, answer, place, segments[doc])

    asked = cited.counting(bank.settings.citations)
    asked &= np.array([doc in segments for doc in cited.docs], np.bool_)
    both = asked & ~cited.missing
    if both.any():
        asked[both] = bank.book.labels(task, contents(both)).human
    places = (
        Place(answer.run, answer.topic, f"sentence {place + 1} citation {spot + 1}")
        for answer, place, spot, _ in compress(_citations(answers), asked.tolist())
    )
    found = bank.book.labels(task, contents(asked), places)
    values = found.map(lambda verdict: SUPPORT_VALUE[verdict["support"]])
    worth, label = cited.worth.copy(), np.full(len(cited.docs), -1, np.int64)
    worth[asked] = np.where(np.isnan(values), worth[asked], values)
    label[asked] = np.arange(len(found))
    cited = replace(cited, worth=worth, unjudged=cited.unjudged & np.isnan(worth))
    return SupportLabels(answers, cited, found, label, sum(count for _, count in given))
