"""Runs against the grades of documents: retrieval runs scored by them, judgment runs and ways of
asking beside them.

Source: overview of the TREC 2025 RAG track, section 3.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from assay.measures.ranges import Range
from assay.measures.scores import Score
from assay.model.trec_rag import JudgmentRun, RelevanceGuess
from assay.protocols.beside import LabelsPair, agreements
from assay.protocols.ranked import Ranked
from assay.protocols.ranked_scores import score_rankings
from assay.protocols.sheets import Sheet, Values
from assay.protocols.trec_rag.bank import Bank
from assay.protocols.trec_rag.inputs import TrecRagInputs, TrecRagSettings
from assay.statistics.judgments import Graded, judgment_ranges
from assay.tasks.relevance import WAYS

RELEVANCE_COLUMNS = ("topic", "doc", "grade", "way", "label")


class JudgedPool(NamedTuple):
    """The grades of documents by topic, and the documents whose label is ``missing``: these have a
    grade from 0 to ``highest``. A document in neither is not relevant. ``topics`` are those that
    retrieval is scored on, and ``grades`` and ``missing`` have all of them."""

    topics: tuple[str, ...]
    grades: Mapping[str, Mapping[str, int]]
    missing: Mapping[str, frozenset[str]]
    highest: int

    @property
    def judged(self) -> bool:
        """Whether there is any grade."""
        return any(self.grades.values())

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
    ranked = ranked_runs(inputs, settings, pool)
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


def ranked_runs(inputs: TrecRagInputs, settings: TrecRagSettings, pool: JudgedPool) -> Ranked:
    """The retrieval runs as they are scored."""
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


def judgment_scores(
    inputs: TrecRagInputs, pool: JudgedPool, settings: TrecRagSettings
) -> dict[str, dict[str, Score]]:
    """Agreement of every judgment run with the labels used, over the whole pool
    (:func:`assay.statistics.judgments.judgment_ranges`)."""
    found: dict[str, dict[str, Score]] = {}
    for name, run in inputs.rj_runs.items():
        rows = _rows(run, pool)
        topics = len({row.topic for row in rows})
        missing = len({row.topic for row in rows if row.grade is None})
        labels = (one.label for by_doc in run.guesses.values() for one in by_doc.values())
        on_scale = all(0 <= label <= 4 for label in labels)
        ends = judgment_ranges(rows, pool.highest, on_scale=on_scale, **settings.resampling)
        found[name] = {
            measure: Score.undefined(name, measure, topics=topics, missing=missing)
            if one is None
            else Score.between(name, measure, one[0], *one[1], topics=topics, missing=missing)
            for measure, one in ends.items()
        }
    return found


def judged_shares(inputs: TrecRagInputs, pool: JudgedPool) -> dict[str, float | None]:
    """The share of the pool that each judgment run judged."""
    return {
        name: sum(label is not None for *_, label in rows) / len(rows) if rows else None
        for name, run in inputs.rj_runs.items()
        for rows in (_rows(run, pool),)
    }


def _rows(run: JudgmentRun, pool: JudgedPool) -> list[Graded]:
    found = []
    for topic in pool.topics:
        guesses, grades = run.guesses.get(topic, {}), pool.grades[topic]
        for doc in (*grades, *sorted(pool.missing[topic])):
            guess = guesses.get(doc)
            found.append(Graded(topic, grades.get(doc), None if guess is None else guess.label))
    return found


def compare_ways(bank: Bank) -> list[LabelsPair]:
    """How the ways of asking for relevance agree on the same documents, and each with the given
    qrels, where both have a label."""
    settings, inputs = bank.settings, bank.inputs
    if len(settings.ways) + bool(inputs.qrels) < 2:
        return []
    labels: dict[str, dict[tuple[str, str], float]] = {way: {} for way in settings.ways}
    for way, mine in labels.items():
        given = bank.given.qrels if way == settings.relevance else {}
        for (topic, doc), grade in bank.judged(way).grades.items():
            if doc not in given.get(topic, {}):
                mine[topic, doc] = float(grade)
    if inputs.qrels:
        labels["given qrels"] = {
            (topic, doc): float(grade)
            for topic in inputs.topics
            for doc, grade in inputs.qrels.get(topic, {}).items()
        }
    return list(agreements(labels, settings.resampling))


def judgment_run(bank: Bank, name: str) -> JudgmentRun | None:
    """The evaluation's own relevance labels as a judgment run, to be handed in or compared; None
    without any. The confidence is the share of an ensemble's votes that agree with its label, 1
    for a single labeller, which states none."""
    if not bank.settings.ways:
        return None
    judged = bank.judged(bank.settings.ways[0])
    guesses: dict[str, dict[str, RelevanceGuess]] = {}
    for topic in bank.inputs.topics:
        for doc in bank.inputs.ranks.get(topic, {}):
            grade = judged.grades.get((topic, doc))
            if grade is not None:
                guess = RelevanceGuess(doc, grade, judged.agreeing.get((topic, doc), 1.0))
                guesses.setdefault(topic, {})[doc] = guess
    return JudgmentRun(name, guesses) if guesses else None


def relevance_rows(
    bank: Bank, grades: Mapping[str, Mapping[str, int]]
) -> Iterator[tuple[object, ...]]:
    """Every pooled document: the grade used, and the label of each way of asking."""
    judged = {way: bank.judged(way).grades for way in bank.settings.ways}
    for topic in bank.inputs.topics:
        for doc in bank.inputs.ranks.get(topic, {}):
            used = grades.get(topic, {}).get(doc)
            for way, labels in (judged or {"given": {}}).items():
                yield (topic, doc, used, way, labels.get((topic, doc)))
