"""The documents of retrieval runs and their grades: what is asked about them, the runs scored by
them, and a comparison of the ways of asking.

Source: overview of the TREC 2025 RAG track, section 3.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import compress
from math import nan
from typing import Any, NamedTuple

import numpy as np

from assay.labellers.base import Request
from assay.ledger.columns import NONE
from assay.measures.arrays import Bools, Floats
from assay.measures.names import parse_measure
from assay.measures.ranking.relevance import Precision
from assay.protocols.counted_labels import CountedLabels
from assay.protocols.label_pairs import LabelsPair, pairwise_agreement
from assay.protocols.labels import Asked, LabelBook, requests_of
from assay.protocols.linear import LinearMeasure, Share, at_least
from assay.protocols.places import Place
from assay.protocols.ranked import Ranked
from assay.protocols.trec_rag.inputs import GivenGrades, TrecRagInputs, TrecRagSettings
from assay.tasks.trec_rag import WAYS, grade_of

RELEVANCE_COLUMNS = ("topic", "doc", "grade", "way", "label")

PooledDocument = tuple[str, str]
"""topic, document"""


class JudgedDocuments(NamedTuple):
    """The labels of pooled documents under one way of asking, and their grades, NaN if unusable."""

    labels: CountedLabels
    grades: Floats


@dataclass(eq=False)
class PooledDocuments:
    """The documents retrieved for narratives: what is asked about them, and what labels say.
    ``given`` are qrels that take precedence over machines' labels. ``about`` gives what is asked
    for a topic under a way, except a document's text; empty until that is known."""

    inputs: TrecRagInputs
    settings: TrecRagSettings
    book: LabelBook
    given: GivenGrades
    about: Callable[[str, str], dict[str, Any]]
    _judged: dict[str, JudgedDocuments] = field(default_factory=dict, init=False)

    @cached_property
    def pool(self) -> list[PooledDocument]:
        """The documents that are judged: those of the retrieval runs, up to the pool depth."""
        return [(topic, doc) for topic, ranks in self.inputs.ranks.items() for doc in ranks]

    def _can_be_asked(self, way: str) -> tuple[Bools, Bools]:
        """Which pooled documents can be asked about under a way, and which have a given grade,
        which takes precedence over all labels but a person's."""
        qrels = self.given if way == self.settings.relevance else {}
        known = {topic for topic in self.inputs.topics if self.about(topic, way)}
        segments = self.inputs.segments
        able = [topic in known and doc in segments for topic, doc in self.pool]
        given = [doc in qrels.get(topic, {}) for topic, doc in self.pool]
        return np.array(able, np.bool_), np.array(given, np.bool_)

    def _asked(self, way: str, which: Bools) -> Asked:
        chosen = iter(which.tolist())
        for topic, ranks in self.inputs.ranks.items():
            about = self.about(topic, way)
            for doc in compress(ranks, chosen):
                content = {**about, "passage": self.inputs.segments[doc].text}
                yield content, Place("", topic, f"{doc} relevance")

    def requests(self, way: str) -> Iterator[tuple[PooledDocument, Request]]:
        """What is asked about pooled documents without a given grade."""
        able, given = self._can_be_asked(way)
        which = able & ~given
        requests = requests_of(WAYS[way].task, self._asked(way, which))
        return zip(compress(self.pool, which.tolist()), requests, strict=True)

    def judged(self, way: str) -> JudgedDocuments:
        """The labels of the pooled documents under a way; none under the way "none"."""
        if way not in self._judged:
            if way == "none":
                labels = CountedLabels(None, np.full(len(self.pool), NONE))
            else:
                able, given = self._can_be_asked(way)
                asked = self._asked(way, able)
                labels = self.book.labels(WAYS[way].task, asked, given[able]).spread(able)
            self._judged[way] = JudgedDocuments(labels, labels.map(partial(grade_of, way)))
        return self._judged[way]

    @cached_property
    def failed(self) -> frozenset[PooledDocument]:
        """The pooled documents whose label by the main way failed."""
        failed = self.judged(self.settings.relevance).labels.failed
        return frozenset(compress(self.pool, failed.tolist()))

    @property
    def asked(self) -> bool:
        """Whether a pooled document without a grade lacks a label: not where qrels alone say what
        is relevant, as they do among people's labels, too."""
        if self.settings.relevance == "none":
            return False
        only_people = self.book.by_unit is not None and self.book.by_unit.policy.rule == "human"
        return not (only_people and self.given)

    @cached_property
    def grades(self) -> dict[str, dict[str, int | None]]:
        """By topic, the grade of every pooled document under the policy, None if there is none: a
        person's label, then the given qrels, then the machine's label. Given grades of documents
        outside the pool are kept."""
        judged = self.judged(self.settings.relevance)
        every: dict[str, dict[str, int | None]] = {topic: {} for topic in self.inputs.topics}
        columns = (judged.grades.tolist(), judged.labels.human.tolist())
        for (topic, doc), grade, by_person in zip(self.pool, *columns, strict=True):
            given = self.given.get(topic, {})
            from_labels = doc not in given or by_person
            every[topic][doc] = _whole(grade) if from_labels else given[doc]
        for topic, found in every.items():
            given = self.given.get(topic, {})
            found |= {doc: grade for doc, grade in given.items() if doc not in found}
        return every


def _whole(grade: float) -> int | None:
    return None if grade != grade else int(grade)


def ranked_runs(relevance: PooledDocuments) -> Ranked:
    """The retrieval runs with the grades under the policy. If the evaluation has documents
    labelled, every topic counts, and every pooled document has a label or lacks one and may rise.
    If there are only given qrels, documents that they lack are unjudged by design."""
    settings, asked = relevance.settings, relevance.asked
    qrels: dict[str, dict[str, int]] = {}
    rising: dict[str, dict[str, float]] = {}
    for topic, grades in relevance.grades.items():
        known = {doc: grade for doc, grade in grades.items() if grade is not None}
        if asked or known:
            qrels[topic] = known
        if asked and len(known) < len(grades):
            lacking = sorted(grades.keys() - known.keys())
            rising[topic] = dict.fromkeys(lacking, float(settings.highest))
    return Ranked(
        topics=tuple(qrels),
        qrels=qrels,
        runs=relevance.inputs.rankings,
        measures={name: name for name in settings.measures},
        g_max=float(max([1, *(max(known.values(), default=0) for known in qrels.values())])),
        answered=settings.answers == "answered",
        rising=rising,
    )


def compare_gradings(relevance: PooledDocuments) -> list[LabelsPair]:
    """How the ways of asking for relevance agree on the same documents, and each with the given
    qrels, if both have labels."""
    settings, qrels, main = relevance.settings, relevance.inputs.qrels, relevance.given
    labels = {}
    for way in settings.ways:
        grades = zip(relevance.pool, relevance.judged(way).grades.tolist(), strict=True)
        labels[way] = {
            (topic, doc): grade
            for (topic, doc), grade in grades
            if grade == grade and (way != settings.relevance or doc not in main.get(topic, {}))
        }
    if qrels:
        labels["given qrels"] = {
            (topic, doc): float(grade)
            for topic in relevance.inputs.topics
            for doc, grade in qrels.get(topic, {}).items()
        }
    return list(pairwise_agreement(labels, settings.resampling))


def relevance_rows(relevance: PooledDocuments) -> Iterator[tuple[object, ...]]:
    """Every pooled document: the grade used, and the label under each way of asking."""
    ways = relevance.settings.ways
    by_way = [relevance.judged(way).grades.tolist() for way in ways]
    for (topic, doc), *grades in zip(relevance.pool, *by_way, strict=True):
        used = relevance.grades[topic][doc]
        for way, grade in zip(ways or ("given",), grades or (nan,), strict=True):
            yield topic, doc, used, way, _whole(grade)


def precision(relevance: PooledDocuments) -> Iterator[LinearMeasure]:
    """The measures that are precision at k, as sums over the grades of what runs show. Means are
    over every topic, or over those that a run answers."""
    way, settings, inputs = relevance.settings.relevance, relevance.settings, relevance.inputs
    requests, grade = dict(relevance.requests(way)), partial(grade_of, way)
    for measure in map(parse_measure, settings.measures):
        if not isinstance(measure, Precision) or measure.k is None:
            continue
        shares = []
        for run, shown in inputs.rankings.items():
            answered = [topic for topic in inputs.topics if shown.get(topic)]
            topics = len(inputs.topics) if settings.answers == "all" else len(answered)
            shares += [
                Share(run, requests[topic, doc], 1 / (measure.k * topics))
                for topic in answered
                for doc in shown[topic][: measure.k]
                if (topic, doc) in requests
            ]
        yield LinearMeasure(str(measure), WAYS[way].task, at_least(grade, measure.rel), shares)
