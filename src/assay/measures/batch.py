"""Ranking measures over whole runs at once; equal to the topic-by-topic scorer to 1e-12.

Every measure of the registry has a vectorised form here. A measure that has none (one of your own),
and any case that the plain code may refuse, is scored list by list by ``Measure.score``, so
both ways give the same values and the same errors. Formulas and sources: each measure's own
class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from assay.measures.base import RELEVANT, APNorm, Gain, Measure
from assay.measures.hits import Floats, Hits, Integers, Judgements, running
from assay.measures.ranking import (
    AP,
    ERR,
    IRBU,
    NDCG,
    NDCGJK,
    NERR,
    NIRBU,
    RBP,
    RR,
    AlphaNDCG,
    Judged,
    Precision,
    Q,
    Recall,
    RPrecision,
    Success,
)

__all__ = ["score_hits", "score_one_by_one"]


class _NotVectorisedError(Exception):
    """A case that is left to the plain code, which scores it or says what is wrong."""


def score_hits(
    hits: Hits, judged: Judgements, measures: Iterable[Measure]
) -> dict[Measure, Floats]:
    """Score ranked lists.

    Args:
        hits: one list for each topic of *judged*, in its order; for several runs, run after run.
        judged: the qrels.
        measures: what to compute.

    Returns:
        For each measure an array with a row for each run and a column for each topic.

    Raises:
        ValueError: a grade is above *g_max* in a measure that uses it, an exponential gain is too
            large for a float, or a score is not a finite number; the message names the topic.
    """
    scores: dict[Measure, Floats] = {}
    cut: dict[int | None, Hits] = {}
    with np.errstate(over="ignore", invalid="ignore"):
        for measure in measures:
            measure.ready()
            if measure.k not in cut:
                cut[measure.k] = hits.cut(measure.k)
            form = _FORMS.get(type(measure))
            try:
                if form is None:
                    raise _NotVectorisedError
                values = form(measure, cut[measure.k], judged)
                if not np.isfinite(values).all():
                    raise _NotVectorisedError
            except _NotVectorisedError:
                values = score_one_by_one(hits, judged, measure)
            scores[measure] = values.reshape(-1, len(judged.topics))
    return scores


def score_one_by_one(hits: Hits, judged: Judgements, measure: Measure) -> Floats:
    """Score each list with ``measure.score``; see :func:`score_hits`."""
    starts = hits.starts()
    values = np.zeros(len(hits.shown))
    for number in np.flatnonzero(hits.shown).tolist():
        topic = number % len(judged.topics)
        grades: list[float | None] = [None] * int(hits.shown[number])
        mine = slice(int(starts[number]), int(starts[number + 1]))
        for rank, grade in zip(hits.ranks[mine].tolist(), hits.grades[mine].tolist(), strict=True):
            grades[rank - 1] = grade
        try:
            values[number] = measure.score(grades, judged.ideal(topic).tolist(), judged.g_max)
        except ValueError as error:
            raise ValueError(f"topic {judged.topics[topic]}: {error}") from None
        if not np.isfinite(values[number]):
            raise ValueError(f"topic {judged.topics[topic]}: {measure} is not a finite number")
    return values


# --- building blocks -----------------------------------------------------------------------------


def _gains(gain: Gain, grades: Floats) -> Floats:
    if gain is Gain.LINEAR:
        return np.maximum(grades, 0.0)
    gains = np.where(grades > 0, np.exp2(grades) - 1.0, 0.0)
    if not np.isfinite(gains).all():
        raise _NotVectorisedError
    return gains


def _over(values: Floats, ideals: Floats | Integers) -> Floats:
    """Divide each topic's values by what is best for it; 0 where nothing can be had."""
    table = values.reshape(-1, len(ideals))
    return np.divide(table, ideals, out=np.zeros_like(table), where=ideals > 0)


def _normalised(
    measure: Measure, hits: Hits, judged: Judgements, value: Callable[[Hits], Floats]
) -> Floats:
    """Divide by the value of the ideal list, cut like the list; computed once for all runs."""
    highest = judged.remembered(measure)
    if highest is None:
        highest = judged.remember(measure, value(judged.best.cut(measure.k)))
    return _over(value(hits), highest)


def _relevant(hits: Hits, rel: float) -> Hits:
    return hits.only(hits.grades >= rel)


def _numbers(hits: Hits) -> Floats:
    """Count each list's hits from 1."""
    starts = hits.starts()
    return (np.arange(len(hits.lists)) - starts[hits.lists] + 1).astype(np.float64)


# --- one form for each measure -------------------------------------------------------------------


def _ndcg(measure: NDCG, hits: Hits, judged: Judgements) -> Floats:
    def dcg(some: Hits) -> Floats:
        return some.total(_gains(measure.gain, some.grades) / np.log2(some.ranks + 1.0))

    return _normalised(measure, hits, judged, dcg)


def _ndcg_jk(measure: NDCGJK, hits: Hits, judged: Judgements) -> Floats:
    def dcg(some: Hits) -> Floats:
        ranks = np.maximum(some.ranks, measure.b)  # log_b(b) = 1: no discount below b
        return some.total(_gains(measure.gain, some.grades) * (np.log(measure.b) / np.log(ranks)))

    return _normalised(measure, hits, judged, dcg)


def _q(measure: Q, hits: Hits, judged: Judgements) -> Floats:
    relevant = judged.relevant()
    best = _relevant(judged.best.cut(measure.k), RELEVANT)
    starts = best.starts()
    ideal_sums = running(np.add, _gains(measure.gain, best.grades), starts)
    topics = hits.lists % len(judged.topics)
    wanted = (hits.grades >= RELEVANT) & (relevant[topics] > 0)
    found, topics = hits.only(wanted), topics[wanted]
    cumulated = running(np.add, _gains(measure.gain, found.grades), found.starts())
    last = np.minimum(found.ranks, np.diff(starts)[topics]) - 1
    ideal = ideal_sums[starts[topics] + last] if len(topics) else np.zeros(0)
    above = _numbers(found) + measure.beta * cumulated
    total = found.total(above / (found.ranks + measure.beta * ideal))
    return _over(total, relevant if measure.k is None else np.minimum(relevant, measure.k))


def _ap(measure: AP, hits: Hits, judged: Judgements) -> Floats:
    found = _relevant(hits, measure.rel)
    total = found.total(_numbers(found) / found.ranks)
    relevant = judged.relevant(measure.rel)
    if measure.norm is APNorm.MIN and measure.k is not None:
        relevant = np.minimum(relevant, measure.k)
    return _over(total, relevant)


def _stops(gain: Gain, hits: Hits, g_max: float) -> Floats:
    """Return s_r = p_r Π_{j<r} (1 − p_j); a list's unjudged documents have p = 0."""
    if (hits.grades > max(g_max, 0.0)).any():
        raise _NotVectorisedError
    highest = float(_gains(gain, np.array([g_max]))[0])
    chances = _gains(gain, hits.grades) / (highest + 1.0)
    starts = hits.starts()
    going_on = running(np.multiply, 1.0 - chances, starts)
    before = np.ones_like(chances)
    before[1:] = going_on[:-1]
    before[starts[:-1][np.diff(starts) > 0]] = 1.0
    return before * chances


def _err(measure: ERR, hits: Hits, judged: Judgements) -> Floats:
    return hits.total(_stops(measure.gain, hits, judged.g_max) / hits.ranks)


def _nerr(measure: NERR, hits: Hits, judged: Judgements) -> Floats:
    return _normalised(measure, hits, judged, lambda some: _err(measure, some, judged))


def _irbu(measure: IRBU, hits: Hits, judged: Judgements) -> Floats:
    return hits.total(measure.phi**hits.ranks * _stops(measure.gain, hits, judged.g_max))


def _nirbu(measure: NIRBU, hits: Hits, judged: Judgements) -> Floats:
    return _normalised(measure, hits, judged, lambda some: _irbu(measure, some, judged))


def _rbp(measure: RBP, hits: Hits, judged: Judgements) -> Floats:
    if (hits.grades > max(judged.g_max, 0.0)).any():
        raise _NotVectorisedError
    highest = float(_gains(measure.gain, np.array([judged.g_max]))[0])
    if highest <= 0:
        return np.zeros(len(hits.shown))
    total = hits.total(measure.p ** (hits.ranks - 1) * _gains(measure.gain, hits.grades))
    return (1.0 - measure.p) * total / highest


def _precision(measure: Precision, hits: Hits, judged: Judgements) -> Floats:
    return _relevant(hits, measure.rel).count() / (measure.k or 1)


def _r_precision(measure: RPrecision, hits: Hits, judged: Judgements) -> Floats:
    relevant = judged.relevant(measure.rel)
    found = _relevant(hits, measure.rel)
    within = found.only(found.ranks <= relevant[found.lists % len(relevant)])
    return _over(within.count().astype(np.float64), relevant)


def _rr(measure: RR, hits: Hits, judged: Judgements) -> Floats:
    found = _relevant(hits, measure.rel)
    values = np.zeros(len(hits.shown))
    starts = found.starts()
    some = np.diff(starts) > 0
    values[some] = 1.0 / found.ranks[starts[:-1][some]]
    return values


def _recall(measure: Recall, hits: Hits, judged: Judgements) -> Floats:
    found = _relevant(hits, measure.rel).count().astype(np.float64)
    return _over(found, judged.relevant(measure.rel))


def _success(measure: Success, hits: Hits, judged: Judgements) -> Floats:
    return (_relevant(hits, measure.rel).count() > 0).astype(np.float64)


def _alpha_ndcg(measure: AlphaNDCG, hits: Hits, judged: Judgements) -> Floats:
    covered = judged.covered(measure.rel)
    ideals = judged.remembered(measure)
    if ideals is None:
        own = None if judged.shown is None else set(judged.shown.rows.tolist())
        best = [
            measure.ideal(
                [
                    covered[places[document]]
                    for document in sorted(places, reverse=True)
                    if own is None or places[document] in own
                ]
            )
            for places in judged.places()
        ]
        ideals = judged.remember(measure, np.array(best))
    values = np.zeros(len(hits.shown))
    ends = hits.starts().tolist()
    for number in np.flatnonzero(np.diff(ends)).tolist():
        some = slice(ends[number], ends[number + 1])
        ranks = hits.ranks[some].tolist()
        shown: list[tuple[str, ...]] = [()] * ranks[-1]
        for rank, row in zip(ranks, hits.rows[some].tolist(), strict=True):
            shown[rank - 1] = covered[row]
        values[number] = measure.gained(shown)
    return _over(values, ideals)


def _judged(measure: Judged, hits: Hits, judged: Judgements) -> Floats:
    shown = hits.shown if measure.k is None else np.minimum(hits.shown, measure.k)
    return hits.count() / np.maximum(shown, 1)


_FORMS: dict[type[Measure], Callable[[Any, Hits, Judgements], Floats]] = {
    NDCG: _ndcg,
    NDCGJK: _ndcg_jk,
    Q: _q,
    AP: _ap,
    ERR: _err,
    NERR: _nerr,
    IRBU: _irbu,
    NIRBU: _nirbu,
    RBP: _rbp,
    Precision: _precision,
    RPrecision: _r_precision,
    RR: _rr,
    Recall: _recall,
    Success: _success,
    AlphaNDCG: _alpha_ndcg,
    Judged: _judged,
}
