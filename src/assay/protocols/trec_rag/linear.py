"""Support, nugget recall and precision at k as sums over single labels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from assay.labellers.base import Request
from assay.measures.names import parse_measure
from assay.measures.nuggets import NUGGET_MEASURES
from assay.measures.ranking.relevance import Precision
from assay.model.trec_rag import (
    ASSIGNMENT_VALUE,
    SUPPORT_VALUE,
    Assigned,
    Importance,
    RagAnswer,
    RagNugget,
    Support,
)
from assay.protocols.linear import LinearMeasure, Share, Worth
from assay.protocols.trec_rag.bank import Bank
from assay.protocols.trec_rag.responses import Responses
from assay.protocols.trec_rag.support import cited_requests, support_task
from assay.tasks.relevance import WAYS, grade_of
from assay.tasks.trec_rag import ASSIGNMENT


def linear_measures(bank: Bank) -> Iterator[LinearMeasure]:
    """The measures that single labels can correct, as far as no labels are among the inputs."""
    responses = Responses(bank)
    if bank.settings.support and not bank.inputs.support:
        yield from _support(bank)
    if not bank.inputs.assignments:
        yield from _recall(responses)
    if bank.settings.relevance != "none" and not bank.inputs.qrels:
        yield from _precision(bank)


# -- support -----------------------------------------------------------------------------------


def _support(bank: Bank) -> Iterator[LinearMeasure]:
    """A sentence is worth the mean of its citations that count. Precision is the mean over the
    sentences that have some, recall over all."""
    shares: dict[str, list[Share]] = {"precision": [], "recall": []}
    for run, answer, topics in _answers(bank):
        units: dict[int, list[Request]] = defaultdict(list)
        for place, _, request in cited_requests(bank, answer):
            units[place].append(request)
        cited = sum(bool(one.citations) for one in answer.sentences)
        for name, sentences in (("precision", cited), ("recall", len(answer.sentences))):
            shares[name] += [
                Share(run, request, 1 / (topics * sentences * len(requests)))
                for requests in units.values()
                for request in requests
            ]
    for kind, worth in (("weighted", _supported), ("hard", _supported_in_full)):
        for name, each in shares.items():
            yield LinearMeasure(f"{kind}_{name}", support_task(bank.settings), worth, each)


def _supported(_: Request, verdict: Mapping[str, Any]) -> float:
    return SUPPORT_VALUE[Support(verdict["support"])]


def _supported_in_full(_: Request, verdict: Mapping[str, Any]) -> float:
    return float(verdict["support"] == Support.FULL)


# -- nuggets -----------------------------------------------------------------------------------


def _weight(measure: str, nugget: RagNugget) -> float:
    vital = nugget.importance is Importance.VITAL
    if measure in ("strict_vital", "vital"):
        return float(vital)
    return 0.5 if measure == "weighted" and not vital else 1.0


def _recall(responses: Responses) -> Iterator[LinearMeasure]:
    """A unit is an answer with a window of nuggets; it is worth the weighted mean of what it says
    of those that it is the label of."""
    answers = [
        (run, answer, responses.windows(answer.topic, answer), bank)
        for run, answer, _ in _answers(responses.bank)
        for bank in (responses.bank[answer.topic].nuggets or (),)
    ]
    for measure in NUGGET_MEASURES:
        defined = {
            topic
            for topic in responses.bank.inputs.topics
            if any(_weight(measure, one.nugget) for one in responses.bank[topic].nuggets or ())
        }
        weights: dict[str, dict[int, float]] = {}
        shares = []
        for run, answer, windows, bank in answers:
            if answer.topic not in defined:
                continue
            topics = sum(one in defined for one in _topics_of(responses.bank, run))
            every = sum(_weight(measure, one.nugget) for one in bank)
            by_text = {one.nugget.text: _weight(measure, one.nugget) for one in bank}
            for request, texts in windows:
                nuggets = request.content["nuggets"]
                mine = {at: by_text[one] for at, one in enumerate(nuggets) if one in texts}
                weights[request.unit_hash] = mine
                if sum(mine.values()):
                    shares.append(Share(run, request, sum(mine.values()) / every / topics))
        yield LinearMeasure(
            measure, ASSIGNMENT, _assigned(weights, strict=measure.startswith("strict")), shares
        )


def _assigned(weights: Mapping[str, Mapping[int, float]], *, strict: bool) -> Worth:
    def worth(request: Request, verdict: Mapping[str, Any]) -> float:
        mine = weights[request.unit_hash]
        said = [ASSIGNMENT_VALUE[Assigned(one)] for one in verdict["labels"]]
        values = [float(one == 1) if strict else one for one in said]
        return sum(each * values[at] for at, each in mine.items()) / sum(mine.values())

    return worth


# -- retrieval ---------------------------------------------------------------------------------


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


# -- answers -----------------------------------------------------------------------------------


def _topics_of(bank: Bank, run: str) -> list[str]:
    """The topics that a run's means are over."""
    answers = bank.inputs.answers[run].answers
    every = bank.settings.answers == "all"
    return [topic for topic in bank.inputs.topics if every or topic in answers]


def _answers(bank: Bank) -> Iterator[tuple[str, RagAnswer, int]]:
    """Every answer with its run, and how many topics the run's means are over."""
    for run, file in bank.inputs.answers.items():
        topics = _topics_of(bank, run)
        for topic in topics:
            if topic in file.answers:
                yield run, file.answers[topic], len(topics)
