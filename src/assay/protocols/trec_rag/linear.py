"""Support, nugget recall and precision at k as sums over single labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from assay.labellers.base import Request
from assay.measures.names import parse_measure
from assay.measures.nuggets import NUGGET_MEASURES, STRICT, nugget_weights
from assay.measures.ranking.relevance import Precision
from assay.model.trec_rag import ASSIGNMENT_VALUE, SUPPORT_VALUE, Importance, RagAnswer
from assay.protocols.linear import LinearMeasure, Share, Worth
from assay.protocols.trec_rag.bank import Bank
from assay.protocols.trec_rag.responses import Responses
from assay.protocols.trec_rag.support import cited_requests, support_task
from assay.tasks.relevance import WAYS, grade_of
from assay.tasks.trec_rag import ASSIGNMENT


def linear_measures(bank: Bank) -> Iterator[LinearMeasure]:
    """The measures that single labels can correct, as far as no labels are among the inputs."""
    if bank.settings.support and not bank.inputs.support:
        yield from _support(bank)
    if not bank.inputs.assignments:
        yield from _recall(bank)
    if bank.settings.relevance != "none" and not bank.inputs.qrels:
        yield from _precision(bank)


def _support(bank: Bank) -> Iterator[LinearMeasure]:
    """A sentence is worth the mean of its citations that count. Precision is the mean over the
    sentences that have some, recall over all."""
    precision: list[Share] = []
    recall: list[Share] = []
    for answer, topics in _answers(bank):
        cited = sum(bool(one.citations) for one in answer.sentences)
        for _, sentence in groupby(cited_requests(bank, answer), itemgetter(0)):
            requests = [request for *_, request in sentence]
            for shares, count in (precision, cited), (recall, len(answer.sentences)):
                weight = 1 / (topics * count * len(requests))
                shares += [Share(answer.run, one, weight) for one in requests]
    for kind, least in ("weighted", 0.0), ("hard", 1.0):
        for name, shares in ("precision", precision), ("recall", recall):
            worth = _worth_from(least)
            yield LinearMeasure(f"{kind}_{name}", support_task(bank.settings), worth, shares)


def _worth_from(least: float) -> Worth:
    """What support is worth, 0 below the least that counts."""

    def worth(_: Request, verdict: Mapping[str, Any]) -> float:
        found = SUPPORT_VALUE[verdict["support"]]
        return found if found >= least else 0.0

    return worth


def _recall(bank: Bank) -> Iterator[LinearMeasure]:
    """A unit is an answer with a window of nuggets; it is worth the weighted mean of what it says
    of those that it is the label of."""
    responses = Responses(bank)
    answers = [(one, responses.windows(one)) for one, _ in _answers(bank)]
    for at, measure in enumerate(NUGGET_MEASURES):
        weights: dict[str, dict[str, float]] = {}
        for topic in bank.inputs.topics:
            nuggets = [one.nugget for one in bank[topic].nuggets or ()]
            vital = [one.importance is Importance.VITAL for one in nuggets]
            each = nugget_weights(vital)[at].tolist()
            found = {one.text: weight for one, weight in zip(nuggets, each, strict=True)}
            if any(found.values()):
                weights[topic] = found
        by_unit: dict[str, list[float]] = {}
        shares = []
        for answer, windows in answers:
            topics = sum(one in weights for one in _topics_of(bank, answer.run))
            of = weights.get(answer.topic, {})
            for request, texts in windows if of else ():
                own = [of[one] if one in texts else 0.0 for one in request.content["nuggets"]]
                by_unit[request.unit_hash] = own
                if any(own):
                    weight = sum(own) / sum(of.values()) / topics
                    shares.append(Share(answer.run, request, weight))
        yield LinearMeasure(measure, ASSIGNMENT, _assigned(by_unit, measure in STRICT), shares)


def _assigned(weights: Mapping[str, Sequence[float]], strict: bool) -> Worth:
    def worth(request: Request, verdict: Mapping[str, Any]) -> float:
        own = weights[request.unit_hash]
        said = [ASSIGNMENT_VALUE[one] for one in verdict["labels"]]
        values = [float(one == 1) for one in said] if strict else said
        return sum(each * one for each, one in zip(own, values, strict=True)) / sum(own)

    return worth


def _precision(bank: Bank) -> Iterator[LinearMeasure]:
    way = bank.settings.relevance
    for name in bank.settings.measures:
        measure = parse_measure(name)
        if not isinstance(measure, Precision) or measure.k is None:
            continue
        shares = []
        for run, file in bank.inputs.r_runs.items():
            ranked = {one: file.ranked(one) for one in bank.inputs.topics}
            answered = [one for one in bank.inputs.topics if ranked[one]]
            topics = answered if bank.settings.answers == "answered" else bank.inputs.topics
            for topic in answered:
                for doc in ranked[topic][: measure.k]:
                    pooled = doc in bank.inputs.ranks.get(topic, {})
                    request = bank[topic].relevance_request(doc, way) if pooled else None
                    if request is not None:
                        shares.append(Share(run, request, 1 / (measure.k * len(topics))))
        yield LinearMeasure(str(measure), WAYS[way].task, _relevant(way, measure.rel), shares)


def _relevant(way: str, least: float) -> Worth:
    def worth(_: Request, verdict: Mapping[str, Any]) -> float:
        return float(grade_of(way, verdict) >= least)

    return worth


def _topics_of(bank: Bank, run: str) -> list[str]:
    """The topics that a run's means are over."""
    answers = bank.inputs.answers[run].answers
    every = bank.settings.answers == "all"
    return [topic for topic in bank.inputs.topics if every or topic in answers]


def _answers(bank: Bank) -> Iterator[tuple[RagAnswer, int]]:
    """Every answer, and how many topics its run's means are over."""
    for answer in bank.inputs.every_answer:
        yield answer, len(_topics_of(bank, answer.run))
