"""Retrieval runs scored by the grades of documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from assay.measures.batch import score_hits
from assay.measures.frames import run_hits
from assay.measures.judgements import Judgements
from assay.measures.names import parse_measure
from assay.measures.ranges import Range
from assay.measures.ranking_ranges import Known, score_ranges
from assay.protocols.ranked import Ranked
from assay.protocols.sheets import Sheet, Values
from assay.protocols.trec_rag.inputs import Inputs, TrecRagSettings
from assay.protocols.trec_rag.narratives import Narratives

HIGHEST = {"counted": 4, "at-once": 4, "0-3": 3, "yes-no": 1, "none": 0}
"""The top of the scale of every way to ask for relevance."""


class Pool(NamedTuple):
    """The grades of documents by topic, and the documents whose label is ``missing``: these have a
    grade from 0 to ``highest``. A document in neither is not relevant. ``topics`` are those that
    retrieval is scored on, and ``grades`` and ``missing`` have all of them."""

    topics: tuple[str, ...]
    grades: Mapping[str, Mapping[str, int]]
    missing: Mapping[str, frozenset[str]]
    highest: int

    @property
    def top(self) -> float:
        """The highest grade that was given, at least 1: that of the scale of measures."""
        known = (grade for docs in self.grades.values() for grade in docs.values())
        return float(max(1, max(known, default=1)))


def pooled(bank: Narratives) -> Pool:
    """The grades under a bank's policy. Where documents are labelled by the evaluation, every topic
    counts and every pooled document has a label or lacks one; where only qrels were given, what
    they do not have is unjudged by design."""
    found = {topic: bank.grades(topic) for topic in bank.inputs.topics}
    asked = bank.relevance_asked
    grades = {
        topic: {doc: grade for doc, grade in docs.items() if grade is not None}
        for topic, docs in found.items()
    }
    topics = tuple(topic for topic in found if asked or grades[topic])
    return Pool(
        topics,
        {topic: grades[topic] for topic in topics},
        {
            topic: frozenset(doc for doc, grade in found[topic].items() if asked and grade is None)
            for topic in topics
        },
        HIGHEST[bank.settings.relevance],
    )


def retrieval_sheet(inputs: Inputs, settings: TrecRagSettings, pool: Pool) -> Sheet | None:
    """Every retrieval run by every measure; None without runs or topics."""
    if not pool.topics or not inputs.r_runs:
        return None
    measures = [parse_measure(name) for name in settings.measures]
    top = max(pool.top, pool.highest if any(pool.missing.values()) else 1)
    scale = [float(grade) for grade in range(int(pool.top), int(top) + 1)]
    ideals = {
        topic: [
            [float(one) for one in (*pool.grades[topic].values(), *missing)]
            for missing in ([end] * len(pool.missing[topic]) for end in (0, pool.highest))
        ]
        for topic in pool.topics
    }

    def known(topic: str, ranked: Sequence[str]) -> Known:
        grades, missing = pool.grades[topic], pool.missing[topic]
        worst = [grades.get(doc) for doc in ranked]
        best = [pool.highest if doc in missing else grades.get(doc) for doc in ranked]
        return Known(worst, best, *ideals[topic])

    judged = Judgements(pool.grades, scale[0])
    unsure = {topic for topic in pool.topics if pool.missing[topic] or len(scale) > 1}
    values: dict[str, Values] = {}
    for name, run in inputs.r_runs.items():
        rankings = {topic: run.ranked(topic) for topic in pool.topics}
        shown = [topic for topic, ranked in rankings.items() if ranked]
        lists = {topic: known(topic, rankings[topic]) for topic in shown if topic in unsure}
        hits = run_hits(rankings, judged, ties="file")
        values[name] = {}
        for measure, table in score_hits(hits, judged, measures).items():
            certain = map(Range.certain, table[0].tolist())
            found = dict(zip(pool.topics, certain, strict=True))
            if lists:
                ends = score_ranges(measure, [*lists.values()], scale)
                found |= zip(lists, ends, strict=True)
            values[name][str(measure)] = {topic: found[topic] for topic in shown}
    nothing: Values = {
        str(measure): dict.fromkeys(pool.topics, Range.certain(0.0)) for measure in measures
    }
    return Sheet(pool.topics, tuple(map(str, measures)), values, nothing)


def ranked_runs(inputs: Inputs, settings: TrecRagSettings, pool: Pool) -> Ranked | None:
    """The retrieval runs as they are scored, for files; None without grades."""
    if not any(pool.grades.values()):
        return None
    return Ranked(
        topics=pool.topics,
        qrels=pool.grades,
        runs={
            name: {topic: run.ranked(topic) for topic in run.scores}
            for name, run in inputs.r_runs.items()
        },
        measures={name: name for name in settings.measures},
        g_max=pool.top,
        answered=settings.answers == "answered",
    )
