"""Relevance labels beside each other: judgment runs, ways of asking, people and machines.

Source: overview of the TREC 2025 RAG track, section 3.4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import comb
from typing import NamedTuple

from assay.measures.ranges import Range
from assay.measures.scores import Ends, Score
from assay.model.trec_rag import JudgmentRun, RelevanceGuess
from assay.protocols.trec_rag.bank import Bank
from assay.protocols.trec_rag.inputs import Inputs, TrecRagSettings
from assay.protocols.trec_rag.retrieval import Pool
from assay.statistics.agreement import Agreement, PairOrders, agree, pair_orders

SCALE = (0.0, 1.0, 2.0, 3.0, 4.0)
RJ_NAMES = ("agreement", "kappa", "pairs_agree", "pairs_tie", "pairs_disagree")
RELEVANCE_COLUMNS = ("topic", "doc", "grade", "way", "label")


@dataclass(frozen=True)
class Way:
    """Labels of one way of asking against the labels used, or of two ways."""

    first: str
    second: str
    found: Agreement


def judgment_scores(
    inputs: Inputs, pool: Pool, settings: TrecRagSettings
) -> dict[str, dict[str, Score]]:
    """Agreement of every judgment run with the labels used, over the whole pool: the share of equal
    labels, Cohen's κ (only for labels 0 to 4), and the pairs of documents ordered alike, tied, or
    in opposite ways, as shares of all pairs.

    A document that a run leaves undecided counts as the worst label that it could have given: it
    never agrees in ``agreement``; in κ it has the label of the scale that makes κ least; a pair
    with it is one in opposite order, unless the labels used tie it, which no label would change.
    Where labels used are missing, the ends of ``agreement`` are exact, the others safe.
    """
    return {name: _judgments(run, pool, settings) for name, run in inputs.rj_runs.items()}


def judged_shares(inputs: Inputs, pool: Pool) -> dict[str, float | None]:
    """The share of the pool that each judgment run judged."""
    return {
        name: sum(label is not None for *_, label in rows) / len(rows) if rows else None
        for name, run in inputs.rj_runs.items()
        for rows in (_rows(run, pool),)
    }


class _Row(NamedTuple):
    """A document of the pool: the label used, and the run's; None where there is none."""

    topic: str
    grade: int | None
    label: int | None


def _rows(run: JudgmentRun, pool: Pool) -> list[_Row]:
    found = []
    for topic in pool.topics:
        guesses, grades = run.guesses.get(topic, {}), pool.grades[topic]
        for doc in (*grades, *sorted(pool.missing[topic])):
            guess = guesses.get(doc)
            found.append(_Row(topic, grades.get(doc), None if guess is None else guess.label))
    return found


def _judgments(run: JudgmentRun, pool: Pool, settings: TrecRagSettings) -> dict[str, Score]:
    rows = _rows(run, pool)
    topics = len({row.topic for row in rows})
    missing = len({row.topic for row in rows if row.grade is None})
    on_scale = all(0 <= g.label <= 4 for by_doc in run.guesses.values() for g in by_doc.values())
    ends: dict[str, tuple[Range, tuple[Ends, ...]] | None] = dict.fromkeys(RJ_NAMES)
    if rows:
        ends["agreement"] = _agreement(rows, pool.highest, settings)
        ends["kappa"] = _kappa(rows, settings) if on_scale else None
        ends |= {name: (found, ()) for name, found in _pairs(rows).items()}
    return {
        name: Score.undefined(run.name, name, topics=topics, missing=missing)
        if found is None
        else Score.between(run.name, name, found[0], *found[1], topics=topics, missing=missing)
        for name, found in ends.items()
    }


def _agreement(
    rows: Sequence[_Row], highest: int, settings: TrecRagSettings
) -> tuple[Range, tuple[Ends, ...]]:
    """The share of equal labels; a missing one is unlike the run's or, in the ceiling, like it."""

    def share(*, best: bool) -> tuple[float, tuple[Ends, ...]]:
        may = [best and row.label is not None and 0 <= row.label <= highest for row in rows]
        alike = [
            row.label is not None and (row.label == row.grade or (row.grade is None and one))
            for row, one in zip(rows, may, strict=True)
        ]
        found = agree(
            [float(one) for one in alike],
            [1.0] * len(rows),
            topics=[row.topic for row in rows],
            level=settings.level,
            resamples=settings.resamples,
            seed=settings.seed,
        ).estimates["agreement"]
        interval = found.interval
        return found.value or 0.0, ((interval.low, interval.high),) if interval else ()

    ends = [share(best=best) for best in (False, True)]
    return Range(ends[0][0], ends[1][0]), (*ends[0][1], *ends[1][1])


def _kappa(
    rows: Sequence[_Row], settings: TrecRagSettings
) -> tuple[Range, tuple[Ends, ...]] | None:
    """κ, with its interval over topics where no label used is missing."""
    if any(row.grade is None for row in rows):
        return _kappa_bounds(rows), ()
    grades = Counter(row.grade for row in rows)
    by_count = sorted(SCALE, key=lambda label: -grades[int(label)])
    common, other = by_count[:2]
    tried = []
    # κ = 1 − (1 − p_o) / (1 − p_e). A wrong label costs most where it is the commonest. Where that
    # one is right, the commonest of the others is, or, as 1 − κ is a fraction of two linear
    # functions of how many have which, the commonest for all.
    for instead in (other, common):
        labels = [
            (common if row.grade != common else instead) if row.label is None else row.label
            for row in rows
        ]
        found = agree(
            [float(row.grade) for row in rows if row.grade is not None],
            [float(label) for label in labels],
            topics=[row.topic for row in rows],
            scale=SCALE,
            level=settings.level,
            resamples=settings.resamples,
            seed=settings.seed,
        ).estimates["kappa"]
        if found.value is not None:
            tried.append((found.value, found.interval))
        if all(row.label is not None for row in rows):
            break
    if not tried:
        return None
    value, interval = min(tried, key=lambda one: one[0])
    return Range.certain(value), ((interval.low, interval.high),) if interval else ()


def _kappa_bounds(rows: Sequence[_Row]) -> Range:
    """Safe ends of κ: the least and the greatest agreement, observed and by chance, each by itself,
    wherever the missing labels and the undecided documents lie."""
    n = len(rows)
    grades = Counter(row.grade for row in rows if row.grade is not None)
    labels = Counter(row.label for row in rows if row.label is not None)
    unknown, undecided = n - grades.total(), n - labels.total()
    right = sum(row.label is not None and row.label == row.grade for row in rows)
    may = sum(row.label is not None and row.grade is None for row in rows)
    known = sum(grades[label] * count for label, count in labels.items())
    most_labels = max((labels[int(label)] for label in SCALE), default=0)
    most_grades = max(grades.values(), default=0) + unknown
    chance = (known + unknown * most_labels + undecided * most_grades) / n**2
    floor = max(-1.0, 1 - (1 - right / n) / (1 - chance)) if chance < 1 else -1.0
    least = (known + unknown * min(labels[int(label)] for label in SCALE)) / n**2
    ceiling = 1 - (1 - (right + may) / n) / (1 - least) if least < 1 else 1.0
    return Range(floor, max(floor, ceiling))


def _pairs(rows: Sequence[_Row]) -> dict[str, Range]:
    """The shares of pairs; none without a pair. Of a pair with a missing label all is possible that
    the run's own labels allow."""
    by_topic: dict[str, list[_Row]] = {}
    for row in rows:
        by_topic.setdefault(row.topic, []).append(row)
    alike = tied = may_agree = may_tie = pairs = 0
    for found in by_topic.values():
        known = [row for row in found if row.grade is not None]
        decided = [row for row in found if row.label is not None]
        both = [row for row in known if row.label is not None]
        every = comb(len(found), 2)
        # A pair with a missing label is tied if the run ties it; an undecided one cannot agree.
        run_ties = _ties(row.label for row in decided) - _ties(row.label for row in both)
        may_agree += comb(len(decided), 2) - comb(len(both), 2) - run_ties
        may_tie += every - comb(len(known), 2) - run_ties
        orders = PairOrders(0, 0, 0)
        if len(both) > 1:
            orders = pair_orders(
                [float(row.grade or 0) for row in both], [float(row.label or 0) for row in both]
            )
        alike += orders.agree
        # Pairs that the labels used tie are tied, whatever the run says of them.
        tied += orders.tie + run_ties
        tied += _ties(row.grade for row in known) - _ties(row.grade for row in both)
        pairs += every
    if not pairs:
        return {}
    opposite = pairs - alike - tied - may_tie
    return {
        "pairs_agree": Range(alike / pairs, (alike + may_agree) / pairs),
        "pairs_tie": Range(tied / pairs, (tied + may_tie) / pairs),
        "pairs_disagree": Range((opposite + may_tie) / pairs, opposite / pairs),
    }


def _ties(labels: Iterable[int | None]) -> int:
    """How many pairs of labels are equal."""
    return sum(comb(count, 2) for count in Counter(labels).values())


def compare_ways(bank: Bank) -> list[Way]:
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
    if not bank.settings.ways:
        return None
    judged = bank.quiet.judged(bank.settings.ways[0])
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
    judged = {way: bank.quiet.judged(way).grades for way in bank.settings.ways}
    for topic in bank.inputs.topics:
        for doc in bank.inputs.ranks.get(topic, {}):
            used = grades.get(topic, {}).get(doc)
            for way, labels in (judged or {"given": {}}).items():
                yield (topic, doc, used, way, labels.get((topic, doc)))
