"""Support of answers by the passages that they cite: what is asked, and what is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import compress, groupby
from operator import itemgetter
from typing import Any

import numpy as np

from assay.labellers.base import Request
from assay.measures.arrays import Bools
from assay.model.trec_rag import SUPPORT_VALUE, RagAnswer
from assay.protocols.counted_labels import CountedLabels
from assay.protocols.label_sheets import Cited, citations_of
from assay.protocols.labels import Asked, requests_of
from assay.protocols.linear import LinearMeasure, Share
from assay.protocols.places import Place
from assay.protocols.trec_rag.bank import Bank
from assay.protocols.trec_rag.inputs import TrecRagSettings
from assay.tasks.base import AnyTask
from assay.tasks.trec_rag import BEFORE, SUPPORT, SUPPORT_IN_CONTEXT


def support_task(settings: TrecRagSettings) -> AnyTask:
    """The task that asks for support."""
    return SUPPORT_IN_CONTEXT if settings.support == "in-context" else SUPPORT


def _can_be_asked(bank: Bank, answers: Iterable[RagAnswer]) -> tuple[Cited, Bools]:
    """The citations of answers with their labels among the inputs, and which can be asked about:
    those that count and whose passages have texts among the segments."""
    given = bank.given.support
    cited = citations_of(given.get((one.run, one.topic), one) if given else one for one in answers)
    has_text = np.array(list(map(bank.inputs.segments.__contains__, cited.docs)), np.bool_)
    return cited, cited.counting(bank.settings.citations) & has_text


def _asked(bank: Bank, answers: Iterable[RagAnswer], which: Bools) -> Asked:
    segments, chosen = bank.inputs.segments, iter(which.tolist())
    in_context = bank.settings.support == "in-context"
    for answer in answers:
        run, topic, sentences = answer.run, answer.topic, answer.sentences
        for number, (text, docs) in enumerate(sentences):
            for spot, doc in compress(enumerate(docs), chosen):
                segment = segments[doc]
                content: dict[str, Any] = {"passage": segment.text, "sentence": text}
                if in_context:
                    before = [one.text for one in sentences[max(0, number - BEFORE) : number]]
                    content |= {"title": segment.title, "before": before}
                yield content, Place(run, topic, f"sentence {number + 1} citation {spot + 1}")


def support_requests(bank: Bank, answers: Sequence[RagAnswer] = ()) -> Iterator[Request]:
    """What is asked about the citations of ``answers`` (or of all) that have no given label."""
    answers = answers or bank.inputs.by_topic
    cited, able = _can_be_asked(bank, answers)
    return requests_of(support_task(bank.settings), _asked(bank, answers, able & cited.missing))


@dataclass(frozen=True, eq=False)
class SupportLabels:
    """What is known about the citations of answers, with the ledger's ``labels`` of them."""

    cited: Cited
    labels: CountedLabels

    @cached_property
    def _numbers(self) -> dict[tuple[str, str], int]:
        return {one: number for number, one in enumerate(self.cited.answers)}

    def of(self, answer: RagAnswer) -> range:
        """The indexes of an answer's citations."""
        number = self._numbers[answer.run, answer.topic]
        return range(*self.cited.first[number : number + 2].tolist())


def support_labels(bank: Bank) -> SupportLabels:
    """The support labels of every answer: a person's, else those among the inputs, else others."""
    answers = bank.inputs.every_answer
    cited, able = _can_be_asked(bank, answers)
    given = ~cited.missing
    asked = _asked(bank, answers, able)
    labels = bank.book.labels(support_task(bank.settings), asked, given[able]).spread(able)
    # Machines' labels overridden by given ones are not used, nor shown as their reasons.
    labels = labels.without(given & ~labels.human)
    values = labels.map(lambda verdict: SUPPORT_VALUE[verdict["support"]])
    worth = np.where(np.isnan(values), cited.worth, values)
    cited = replace(cited, worth=worth, unjudged=cited.unjudged & np.isnan(worth))
    return SupportLabels(cited, labels)


def support_measures(bank: Bank) -> Iterator[LinearMeasure]:
    """Support as sums over labels. A sentence is worth the mean of its citations that count.
    Precision is the mean over sentences with citations, recall over all sentences."""
    shares: dict[str, list[Share]] = {"precision": [], "recall": []}
    for answer in bank.inputs.every_answer:
        _, able = _can_be_asked(bank, [answer])
        numbers = (number for number, one in enumerate(answer.sentences) for _ in one.citations)
        places = compress(numbers, able.tolist())
        requests = zip(places, support_requests(bank, [answer]), strict=True)
        topics = len(bank.topics_of(answer.run))
        cited = sum(bool(one.citations) for one in answer.sentences)
        for _, of_sentence in groupby(requests, itemgetter(0)):
            asked = [request for _, request in of_sentence]
            for name, count in ("precision", cited), ("recall", len(answer.sentences)):
                weight = 1 / (topics * count * len(asked))
                shares[name] += [Share(answer.run, one, weight) for one in asked]
    for kind, least in ("weighted", 0.0), ("hard", 1.0):
        for name, own in shares.items():
            worth = partial(_worth_from, least)
            yield LinearMeasure(f"{kind}_{name}", support_task(bank.settings), worth, own)


def _worth_from(least: float, _: Request, verdict: Mapping[str, Any]) -> float:
    """The value of support, or 0 if it is below ``least``."""
    found = SUPPORT_VALUE[verdict["support"]]
    return found if found >= least else 0.0
