"""Relevance labels beside each other: judgment runs, ways of asking, people and machines.

Source: overview of the TREC 2025 RAG track, section 3.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from assay.measures.scores import Score
from assay.model.trec_rag import JudgmentRun, RelevanceGuess
from assay.protocols.beside import LabelsPair, agreements
from assay.protocols.trec_rag.bank import Bank
from assay.protocols.trec_rag.inputs import TrecRagInputs, TrecRagSettings
from assay.protocols.trec_rag.retrieval import JudgedPool
from assay.statistics.judgments import Graded, judgment_ranges

RELEVANCE_COLUMNS = ("topic", "doc", "grade", "way", "label")


def judgment_scores(
    inputs: TrecRagInputs, pool: JudgedPool, settings: TrecRagSettings
) -> dict[str, dict[str, Score]]:
    """Agreement of every judgment run with the labels used, over the whole pool
    (:func:`assay.statistics.judgments.judgment_ranges`)."""
    return {name: _judgments(run, pool, settings) for name, run in inputs.rj_runs.items()}


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


def _judgments(run: JudgmentRun, pool: JudgedPool, settings: TrecRagSettings) -> dict[str, Score]:
    rows = _rows(run, pool)
    topics = len({row.topic for row in rows})
    missing = len({row.topic for row in rows if row.grade is None})
    on_scale = all(0 <= g.label <= 4 for by_doc in run.guesses.values() for g in by_doc.values())
    ends = judgment_ranges(rows, pool.highest, on_scale=on_scale, **settings.resampling)
    return {
        name: Score.undefined(run.name, name, topics=topics, missing=missing)
        if found is None
        else Score.between(run.name, name, found[0], *found[1], topics=topics, missing=missing)
        for name, found in ends.items()
    }


def compare_ways(bank: Bank) -> list[LabelsPair]:
    """How the ways of asking for relevance agree on the same documents, and each with the given
    qrels, where both have a label."""
    settings, inputs = bank.settings, bank.inputs
    if len(settings.ways) + bool(inputs.qrels) < 2:
        return []
    labels: dict[str, dict[tuple[str, str], float]] = {way: {} for way in settings.ways}
    for way, mine in labels.items():
        skips = way == settings.relevance and bank.people_given
        for (topic, doc), grade in bank.judged(way).grades.items():
            if not (skips and doc in inputs.qrels.get(topic, {})):
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
