"""Retrieval runs scored by the grades of documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from assay.measures.ranges import Range
from assay.protocols.ranked import Ranked
from assay.protocols.ranked_scores import score_rankings
from assay.protocols.sheets import Sheet, Values
from assay.protocols.trec_rag.bank import Bank
from assay.protocols.trec_rag.inputs import TrecRagInputs, TrecRagSettings
from assay.tasks.relevance import WAYS


class JudgedPool(NamedTuple):
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


def pooled(bank: Bank) -> JudgedPool:
    """The grades under a bank's policy. Where documents are labelled by the evaluation, every topic
    counts and every pooled document has a label or lacks one; where only qrels were given, what
    they do not have is unjudged by design."""
    found = {topic: bank[topic].grades for topic in bank.inputs.topics}
    asked, way = bank.relevance_asked, bank.settings.relevance
    grades = {
        topic: {doc: grade for doc, grade in docs.items() if grade is not None}
        for topic, docs in found.items()
    }
    topics = tuple(topic for topic in found if asked or grades[topic])
    return JudgedPool(
        topics,
        {topic: grades[topic] for topic in topics},
        {
            topic: frozenset(doc for doc, grade in found[topic].items() if asked and grade is None)
            for topic in topics
        },
        0 if way == "none" else WAYS[way].highest,
    )


def retrieval_sheet(
    inputs: TrecRagInputs, settings: TrecRagSettings, pool: JudgedPool
) -> Sheet | None:
    """Every retrieval run by every measure; None without runs or topics."""
    if not pool.topics or not inputs.r_runs:
        return None
    ranked = _ranked(inputs, settings, pool)
    rising = {
        topic: dict.fromkeys(sorted(docs), float(pool.highest))
        for topic, docs in pool.missing.items()
        if docs
    }
    values: dict[str, Values] = {
        run: {
            measure: {topic: ends for topic, ends in found.items() if ranked.runs[run].get(topic)}
            for measure, found in by_measure.items()
        }
        for run, by_measure in score_rankings(ranked, rising).items()
    }
    nothing: Values = {
        name: dict.fromkeys(pool.topics, Range.certain(0.0)) for name in settings.measures
    }
    return Sheet(pool.topics, settings.measures, values, nothing)


def ranked_runs(
    inputs: TrecRagInputs, settings: TrecRagSettings, pool: JudgedPool
) -> Ranked | None:
    """The retrieval runs as they are scored, for files; None without grades."""
    return _ranked(inputs, settings, pool) if any(pool.grades.values()) else None


def _ranked(inputs: TrecRagInputs, settings: TrecRagSettings, pool: JudgedPool) -> Ranked:
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
