"""Relevance labels beside each other: judgment runs, ways of asking, people and machines.

Source: overview of the TREC 2025 RAG track, section 3.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from assay.model.labels import Label
from assay.model.trec_rag import JudgmentRun, RelevanceGuess
from assay.protocols.scores import Score
from assay.protocols.trec_rag.bank import Bank
from assay.protocols.trec_rag.inputs import Inputs, TrecRagSettings
from assay.protocols.trec_rag.narratives import grade_of
from assay.statistics.agreement import Agreement, agree

SCALE = (0.0, 1.0, 2.0, 3.0, 4.0)
RELEVANCE_COLUMNS = ("topic", "doc", "grade", "way", "label")


@dataclass(frozen=True)
class Way:
    """Labels of one way of asking against the labels used, or of two ways."""

    first: str
    second: str
    found: Agreement


def judgment_scores(
    inputs: Inputs, grades: Mapping[str, Mapping[str, int]], settings: TrecRagSettings
) -> dict[str, dict[str, Score]]:
    """Agreement of every judgment run with the labels used: the share of equal labels, Cohen's κ
    (only for labels 0 to 4), and the pairs of documents ordered alike, tied, or in opposite ways,
    as shares of all pairs."""
    found = {}
    for name, run in inputs.rj_runs.items():
        found[name] = _judgments(name, run, grades, settings)
    return found


def _judgments(
    name: str,
    run: JudgmentRun,
    grades: Mapping[str, Mapping[str, int]],
    settings: TrecRagSettings,
) -> dict[str, Score]:
    rows = [
        (topic, grade, run.guesses.get(topic, {}).get(doc))
        for topic, judged in grades.items()
        for doc, grade in judged.items()
    ]
    both = [(topic, grade, guess.label) for topic, grade, guess in rows if guess is not None]
    missing = len(rows) - len(both)
    topics = len({topic for topic, _, _ in both})
    names = ("agreement", "kappa", "pairs_agree", "pairs_tie", "pairs_disagree")
    if not both:
        return {one: Score.undefined(name, one, missing=missing) for one in names}
    every = [guess.label for by_doc in run.guesses.values() for guess in by_doc.values()]
    on_scale = all(0 <= label <= 4 for label in every)
    agreement = agree(
        [grade for _, grade, _ in both],
        [label for _, _, label in both],
        topics=[topic for topic, _, _ in both],
        scale=SCALE if on_scale else None,
        level=settings.level,
        resamples=settings.resamples,
        seed=settings.seed,
    )
    scores = {}
    for one in ("agreement", "kappa"):
        estimate = agreement.estimates[one]
        value = estimate.value if one == "agreement" or on_scale else None
        ends = estimate.interval if value is not None else None
        low, high = (ends.low, ends.high) if ends else (None, None)
        scores[one] = Score(name, one, value, low, high, topics, missing, value, value)
    orders = agreement.orders
    pairs = orders.agree + orders.tie + orders.disagree
    for one, count in (
        ("pairs_agree", orders.agree),
        ("pairs_tie", orders.tie),
        ("pairs_disagree", orders.disagree),
    ):
        share = count / pairs if pairs else None
        scores[one] = Score(name, one, share, None, None, topics, missing, share, share)
    return scores


def compare_ways(bank: Bank) -> list[Way]:
    """How the ways of asking for relevance agree on the same documents, and each with the given
    qrels, where both have a label."""
    settings, inputs = bank.settings, bank.inputs
    labels: dict[str, dict[tuple[str, str], float]] = {way: {} for way in settings.ways}
    for way, mine in labels.items():
        for topic in inputs.topics:
            given = inputs.qrels.get(topic, {})
            for doc in inputs.ranks.get(topic, {}):
                skipped = way == settings.relevance and doc in given and bank.people_given
                grade = None if skipped else bank.judged(topic, doc, way)[0]
                if grade is not None:
                    mine[topic, doc] = float(grade)
    if inputs.qrels:
        labels["given qrels"] = {
            (topic, doc): float(grade)
            for topic in inputs.topics
            for doc, grade in inputs.qrels.get(topic, {}).items()
        }
    names = list(labels)
    found = []
    for place, first in enumerate(names):
        for second in names[place + 1 :]:
            shared = [one for one in labels[first] if one in labels[second]]
            if shared:
                found.append(
                    Way(
                        first,
                        second,
                        agree(
                            [labels[first][one] for one in shared],
                            [labels[second][one] for one in shared],
                            topics=[topic for topic, _ in shared],
                            level=settings.level,
                            resamples=settings.resamples,
                            seed=settings.seed,
                        ),
                    )
                )
    return found


def judgment_run(bank: Bank, name: str) -> JudgmentRun | None:
    """The evaluation's own relevance labels as a judgment run, to be handed in or compared; None
    without any. The confidence is the share of an ensemble's votes that agree with its label, 1
    for a single labeller, which states none."""
    quiet = Bank(bank.inputs, bank.settings, bank.book)
    guesses: dict[str, dict[str, RelevanceGuess]] = {}
    for topic in bank.inputs.topics if bank.settings.ways else ():
        for doc in bank.inputs.ranks.get(topic, {}):
            grade, label = quiet.judged(topic, doc, bank.settings.ways[0])
            if grade is not None and label is not None:
                guess = RelevanceGuess(doc, grade, _confidence(label, bank.settings.ways[0]))
                guesses.setdefault(topic, {})[doc] = guess
    return JudgmentRun(name, guesses) if guesses else None


def _confidence(label: Label, way: str) -> float:
    votes = [one["verdict"] for one in label.detail.get("votes", ()) if one["verdict"]]
    if not votes or label.verdict is None:
        return 1.0
    same = sum(grade_of(way, vote) == grade_of(way, label.verdict) for vote in votes)
    return same / len(votes)


def relevance_rows(
    bank: Bank, grades: Mapping[str, Mapping[str, int]]
) -> Iterator[tuple[object, ...]]:
    """Every pooled document: the grade used, and the label of each way of asking."""
    quiet = Bank(bank.inputs, bank.settings, bank.book)
    for topic in bank.inputs.topics:
        for doc in bank.inputs.ranks.get(topic, {}):
            used = grades.get(topic, {}).get(doc)
            for way in bank.settings.ways or ("given",):
                label = None if way == "given" else quiet.judged(topic, doc, way)[0]
                yield (topic, doc, used, way, label)
