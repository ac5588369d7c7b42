"""The measures of docs/measures.md as plain loops over one list, to compare the array code with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate

from assay.measures import Measure

Grades = Sequence[float | None]


def score(measure: Measure, grades: Grades, ideal: Sequence[float], g_max: float) -> float:
    """The score of one list of one topic; see ``Measure.score``."""
    best = sorted(ideal, reverse=True)[: measure.k]
    return FORMS[measure.name](measure, grades[: measure.k], best, ideal, g_max)


def _gains(measure, grades: Iterable[float | None]) -> list[float]:
    positive = [max(grade or 0.0, 0.0) for grade in grades]
    return [2.0**one - 1 for one in positive] if measure.gain == "exp" else positive


def _found(measure, grades: Grades) -> list[int]:
    """The ranks of relevant documents."""
    rel = getattr(measure, "rel", 1.0)
    return [rank for rank, one in enumerate(grades, 1) if one is not None and one >= rel]


def _share(value: float, highest: float) -> float:
    return value / highest if highest > 0 else 0.0


def _discounted(discount: Callable[[Measure, int], float]):
    def form(measure, grades, best, ideal, g_max):
        value, highest = (
            sum(gain / discount(measure, rank) for rank, gain in enumerate(_gains(measure, one), 1))
            for one in (grades, best)
        )
        return _share(value, highest)

    return form


def _q(measure, grades, best, ideal, g_max):
    sums = list(accumulate(_gains(measure, (one for one in best if one >= 1))))
    total = gained = 0.0
    for number, rank in enumerate(_found(measure, grades), 1):
        gained += _gains(measure, [grades[rank - 1]])[0]
        most = sums[min(rank, len(sums)) - 1] if sums else 0.0
        total += (number + measure.beta * gained) / (rank + measure.beta * most)
    relevant = len(_found(measure, ideal))
    return _share(total, min(relevant, measure.k or relevant))


def _ap(measure, grades, best, ideal, g_max):
    total = sum(number / rank for number, rank in enumerate(_found(measure, grades), 1))
    relevant = len(_found(measure, ideal))
    at_most = measure.k if measure.norm == "min" and measure.k else relevant
    return _share(total, min(relevant, at_most))


def _stops(measure, grades, g_max) -> list[float]:
    highest = _gains(measure, [g_max])[0]
    going_on, found = 1.0, []
    for gain in _gains(measure, grades):
        found.append(going_on * gain / (highest + 1))
        going_on *= 1 - gain / (highest + 1)
    return found


def _err(measure, grades, best, ideal, g_max):
    return sum(stop / rank for rank, stop in enumerate(_stops(measure, grades, g_max), 1))


def _irbu(measure, grades, best, ideal, g_max):
    return sum(
        measure.phi**rank * stop for rank, stop in enumerate(_stops(measure, grades, g_max), 1)
    )


def _normalised(form):
    return lambda measure, grades, best, ideal, g_max: _share(
        form(measure, grades, best, ideal, g_max), form(measure, best, best, ideal, g_max)
    )


def _rbp(measure, grades, best, ideal, g_max):
    gains = _gains(measure, grades)
    total = sum(measure.p**above * gain for above, gain in enumerate(gains))
    return (1 - measure.p) * _share(total, _gains(measure, [g_max])[0])


def _r_precision(measure, grades, best, ideal, g_max):
    relevant = len(_found(measure, ideal))
    return _share(len(_found(measure, grades[:relevant])), relevant)


def _alpha(measure, grades, best, ideal, g_max):
    """All relevant documents cover the same subtopic."""
    value, highest = (
        sum(
            (1 - measure.alpha) ** above / math.log2(rank + 1)
            for above, rank in enumerate(_found(measure, one))
        )
        for one in (grades, best)
    )
    return _share(value, highest)


def alpha_ndcg(covered: Sequence[set[object]], alpha: float, k: int) -> float:
    """α-nDCG of documents in rank order, given the subtopics of each; there are no others."""

    def gained(ranking: Sequence[set[object]]) -> float:
        return sum(
            _worth(one, ranking[: rank - 1], alpha) / math.log2(rank + 1)
            for rank, one in enumerate(ranking, 1)
        )

    left, best = [*covered], []
    while left and len(best) < k:
        best.append(left.pop(max(range(len(left)), key=lambda at: _worth(left[at], best, alpha))))
    return _share(gained(covered[:k]), gained(best))


def _worth(covered: set[object], above: Sequence[set[object]], alpha: float) -> float:
    return math.fsum((1 - alpha) ** sum(one in other for other in above) for one in covered)


def d_sharp_ndcg(grades: Sequence[Sequence[float]], ideal, gamma: float, k: int) -> float:
    """D♯-nDCG of documents in their order, by their grades for each subtopic, as those of the
    ``ideal`` pool."""

    def dcg(gains: Iterable[float]) -> float:
        return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))

    covered, there = ({at for one in some for at, grade in enumerate(one) if grade >= 1}
                      for some in (grades[:k], ideal))  # fmt: skip
    best = sorted(map(sum, ideal), reverse=True)[:k]
    relevance = _share(dcg(map(sum, grades[:k])), dcg(best))
    return gamma * _share(len(covered), len(there)) + (1 - gamma) * relevance


def _i_rec(measure, grades, best, ideal, g_max):
    """All relevant documents cover the same subtopic."""
    return float(bool(_found(measure, grades)))


_ndcg = _discounted(lambda measure, rank: math.log2(rank + 1))

FORMS = {
    "nDCG": _ndcg,
    "nDCG-JK": _discounted(lambda measure, rank: math.log(max(rank, measure.b), measure.b)),
    "Q": _q,
    "AP": _ap,
    "ERR": _err,
    "nERR": _normalised(_err),
    "iRBU": _irbu,
    "niRBU": _normalised(_irbu),
    "RBP": _rbp,
    "P": lambda measure, grades, *_: len(_found(measure, grades)) / measure.k,
    "Rprec": _r_precision,
    "RR": lambda measure, grades, *_: 1 / min(_found(measure, grades), default=math.inf),
    "Recall": lambda measure, grades, best, ideal, g_max: _share(
        len(_found(measure, grades)), len(_found(measure, ideal))
    ),
    "Success": lambda measure, grades, *_: float(bool(_found(measure, grades))),
    "α-nDCG": _alpha,
    "I-rec": _i_rec,
    "D-nDCG": _ndcg,
    "D#-nDCG": lambda measure, *lists: (
        measure.gamma * _i_rec(measure, *lists) + (1 - measure.gamma) * _ndcg(measure, *lists)
    ),
    "Judged": lambda measure, grades, *_: _share(
        sum(one is not None for one in grades), len(grades)
    ),
}
