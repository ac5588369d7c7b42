"""The documents of retrieval runs and their grades: what is asked about them, runs scored by them,
judgment runs and ways of asking beside them.

Source: overview of the TREC 2025 RAG track, section 3.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import compress
from typing import Any, NamedTuple

import numpy as np

from assay.labellers.base import Request
from assay.measures.confidence import Bools
from assay.measures.names import parse_measure
from assay.measures.ranking.relevance import Precision
from assay.measures.scores import Score
from assay.model.trec_rag import JudgmentRun, RelevanceGuess
from assay.protocols.beside import LabelsPair, agreements
from assay.protocols.counted import CountedLabels
from assay.protocols.labels import Asked, LabelBook, requests_of
from assay.protocols.linear import LinearMeasure, Share
from assay.protocols.places import Place
from assay.protocols.ranked import Ranked
from assay.protocols.trec_rag.inputs import Qrels, TrecRagInputs, TrecRagSettings
from assay.statistics.judgments import Graded, judgment_ranges
from assay.tasks.relevance import WAYS, grade_of

RELEVANCE_COLUMNS = ("topic", "doc", "grade", "way", "label")


Pooled = tuple[str, str]
"""topic, document"""


class JudgedDocuments(NamedTuple):
    """Documents with their ``labels`` of one way of asking: the ``grades`` of those that have one
    that can be used, and whose label is a person's or failed."""

    documents: Sequence[Pooled] = ()
    labels: CountedLabels = CountedLabels(None, np.zeros(0, np.int64))
    grades: Mapping[Pooled, int] = {}
    by_people: frozenset[Pooled] = frozenset()
    failed: frozenset[Pooled] = frozenset()


@dataclass(eq=False)
class PooledDocuments:
    """The documents retrieved for narratives: what is asked about them, and what the labels say.
    ``given`` are qrels that go before the labels of machines; ``about`` says what is asked of a
    topic in one way beside a document's text, nothing while that is not known."""

    inputs: TrecRagInputs
    settings: TrecRagSettings
    book: LabelBook
    given: Qrels
    about: Callable[[str, str], dict[str, Any]]
    _judged: dict[str, JudgedDocuments] = field(
        default_factory=lambda: {"none": JudgedDocuments()}, init=False
    )

    @cached_property
    def pool(self) -> list[Pooled]:
        """The documents that are judged: those of the retrieval runs, up to the depth."""
        return [(topic, doc) for topic, ranks in self.inputs.ranks.items() for doc in ranks]

    def _can_be_asked(self, way: str) -> tuple[Bools, Bools]:
        """Which pooled documents can be asked about in one way, and which have a given grade, which
        goes before all labels but a person's."""
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

    def requests(self, way: str) -> Iterator[tuple[Pooled, Request]]:
        """What is asked about pooled documents without a given grade."""
        able, given = self._can_be_asked(way)
        which = able & ~given
        requests = requests_of(WAYS[way].task, self._asked(way, which))
        return zip(compress(self.pool, which.tolist()), requests, strict=True)

    def judged(self, way: str) -> JudgedDocuments:
        """What the labels of one way say of the pooled documents."""
        if way not in self._judged:
            able, given = self._can_be_asked(way)
            labels = self.book.labels(WAYS[way].task, self._asked(way, able), given[able])
            documents = list(compress(self.pool, able.tolist()))
            grades = labels.map(partial(grade_of, way)).tolist()
            self._judged[way] = JudgedDocuments(
                documents,
                labels,
                {one: int(g) for one, g in zip(documents, grades, strict=True) if g == g},
                frozenset(compress(documents, labels.human)),
                frozenset(compress(documents, labels.failed)),
            )
        return self._judged[way]

    @property
    def asked(self) -> bool:
        """Whether a pooled document without a grade lacks a label: not where qrels alone say what
        is relevant, as they do among people's labels, too."""
        if self.settings.relevance == "none":
            return False
        only_people = self.book.book is not None and self.book.book.policy.name == "human"
        return not (only_people and self.given)

    @cached_property
    def grades(self) -> dict[str, dict[str, int | None]]:
        """By topic the grade of every pooled document under the policy, None where there is none: a
        person's label, then the given qrels, then the machine's label. Given grades of documents
        beyond the pool are kept."""
        judged, every = self.judged(self.settings.relevance), dict[str, dict[str, int | None]]()
        for topic in self.inputs.topics:
            given, found = self.given.get(topic, {}), every.setdefault(topic, {})
            for doc in self.inputs.ranks.get(topic, ()):
                theirs = doc not in given or (topic, doc) in judged.by_people
                found[doc] = judged.grades.get((topic, doc)) if theirs else given[doc]
            found |= {doc: grade for doc, grade in given.items() if doc not in found}
        return every


def ranked_runs(relevance: PooledDocuments) -> Ranked:
    """The retrieval runs with the grades under the policy. Where documents are labelled by the
    evaluation, every topic counts and every pooled document has a label, or lacks one and may rise;
    where only qrels were given, what they do not have is unjudged by design."""
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
        runs={
            name: {topic: run.ranked(topic) for topic in run.scores}
            for name, run in relevance.inputs.r_runs.items()
        },
        measures={name: name for name in settings.measures},
        g_max=float(max([1, *(max(known.values(), default=0) for known in qrels.values())])),
        answered=settings.answers == "answered",
        rising=rising,
    )


def judgment_scores(
    inputs: TrecRagInputs, ranked: Ranked, settings: TrecRagSettings
) -> tuple[dict[str, dict[str, Score]], dict[str, float | None]]:
    """Agreement of every judgment run with the labels used, over the whole pool
    (:func:`assay.statistics.judgments.judgment_ranges`), and the share of it that each judged."""
    found: dict[str, dict[str, Score]] = {}
    shares: dict[str, float | None] = {}
    for name, run in inputs.rj_runs.items():
        rows = _rows(run, ranked)
        topics = len({row.topic for row in rows})
        missing = len({row.topic for row in rows if row.grade is None})
        labels = (one.label for by_doc in run.guesses.values() for one in by_doc.values())
        on_scale = all(0 <= label <= 4 for label in labels)
        ends = judgment_ranges(rows, settings.highest, on_scale=on_scale, **settings.resampling)
        found[name] = {
            measure: Score.undefined(name, measure, topics=topics, missing=missing)
            if one is None
            else Score.between(name, measure, one[0], *one[1], topics=topics, missing=missing)
            for measure, one in ends.items()
        }
        judged = sum(row.label is not None for row in rows)
        shares[name] = judged / len(rows) if rows else None
    return found, shares


def _rows(run: JudgmentRun, ranked: Ranked) -> list[Graded]:
    found = []
    for topic, grades in ranked.qrels.items():
        guesses = run.guesses.get(topic, {})
        for doc in (*grades, *ranked.rising.get(topic, ())):
            guess = guesses.get(doc)
            found.append(Graded(topic, grades.get(doc), None if guess is None else guess.label))
    return found


def compare_ways(relevance: PooledDocuments) -> list[LabelsPair]:
    """How the ways of asking for relevance agree on the same documents, and each with the given
    qrels, where both have a label."""
    settings, inputs = relevance.settings, relevance.inputs
    if len(settings.ways) + bool(inputs.qrels) < 2:
        return []
    main = relevance.given
    labels = {
        way: {
            (topic, doc): float(grade)
            for (topic, doc), grade in relevance.judged(way).grades.items()
            if way != settings.relevance or doc not in main.get(topic, {})
        }
        for way in settings.ways
    }
    if inputs.qrels:
        labels["given qrels"] = {
            (topic, doc): float(grade)
            for topic in inputs.topics
            for doc, grade in inputs.qrels.get(topic, {}).items()
        }
    return list(agreements(labels, settings.resampling))


def judgment_run(relevance: PooledDocuments, name: str) -> JudgmentRun | None:
    """The evaluation's own relevance labels as a judgment run, to be handed in or compared; None
    without any. The confidence is the share of an ensemble's votes that agree with its label, 1
    for a single labeller, which states none."""
    if not relevance.settings.ways:
        return None
    way = relevance.settings.ways[0]
    judged, agreeing = relevance.judged(way), dict[tuple[str, str], float]()
    for like, which in judged.labels.by_kind():
        votes = [one["verdict"] for one in like.detail.get("votes", ()) if one["verdict"]]
        for document in (judged.documents[at] for at in which.tolist() if votes):
            same = sum(grade_of(way, one) == judged.grades.get(document) for one in votes)
            agreeing[document] = same / len(votes)
    guesses: dict[str, dict[str, RelevanceGuess]] = {}
    for (topic, doc), grade in judged.grades.items():
        guess = RelevanceGuess(doc, grade, agreeing.get((topic, doc), 1.0))
        guesses.setdefault(topic, {})[doc] = guess
    return JudgmentRun(name, guesses) if guesses else None


def relevance_rows(
    relevance: PooledDocuments, grades: Mapping[str, Mapping[str, float]]
) -> Iterator[tuple[object, ...]]:
    """Every pooled document: the grade used, and the label of each way of asking."""
    judged = {way: relevance.judged(way).grades for way in relevance.settings.ways}
    for topic, doc in relevance.pool:
        used = grades.get(topic, {}).get(doc)
        for way, labels in (judged or {"given": {}}).items():
            yield (topic, doc, used, way, labels.get((topic, doc)))


def precision_measures(relevance: PooledDocuments) -> Iterator[LinearMeasure]:
    """Precision at k as sums over labels."""
    way, every = relevance.settings.relevance, relevance.settings.answers == "all"
    for measure in map(parse_measure, relevance.settings.measures):
        if not isinstance(measure, Precision) or measure.k is None:
            continue
        requests, shares = dict(relevance.requests(way)), []
        for run, file in relevance.inputs.r_runs.items():
            ranked = {topic: file.ranked(topic)[: measure.k] for topic in relevance.inputs.topics}
            topics = len(ranked) if every else sum(map(bool, ranked.values()))
            shares += [
                Share(run, requests[topic, doc], 1 / (measure.k * topics))
                for topic, docs in ranked.items()
                for doc in docs
                if (topic, doc) in requests
            ]
        worth = partial(_relevant, way, measure.rel)
        yield LinearMeasure(str(measure), WAYS[way].task, worth, shares)


def _relevant(way: str, least: float, _: Request, verdict: Mapping[str, Any]) -> float:
    return float(grade_of(way, verdict) >= least)
