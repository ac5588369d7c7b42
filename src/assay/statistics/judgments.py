"""A run of relevance labels beside the labels used, where either lacks some: agreement, κ and the
orders of pairs, as ranges.

Source: overview of the TREC 2025 RAG track, section 3.4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import comb
from typing import NamedTuple

from assay.measures.ranges import Range
from assay.measures.scores import Ends
from assay.statistics.agreement import Agreement, PairOrders, agree, pair_orders

SCALE = (0.0, 1.0, 2.0, 3.0, 4.0)
RJ_NAMES = ("agreement", "kappa", "pairs_agree", "pairs_tie", "pairs_disagree")

Found = tuple[Range, tuple[Ends, ...]]
"""Where a score lies, and the bootstrap intervals of its ends."""

Agreed = Callable[..., Agreement]
""":func:`assay.statistics.agreement.agree` with the settings of intervals."""


class Graded(NamedTuple):
    """A document of the pool: the label used, and the run's; None if there is none."""

    topic: str
    grade: float | None
    label: int | None


def judgment_ranges(
    rows: Sequence[Graded],
    highest: int,
    *,
    on_scale: bool,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int,
) -> dict[str, Found | None]:
    """The share of equal labels, Cohen's κ (None unless the run's labels are ``on_scale``, 0 to 4),
    and the pairs of documents ordered alike, tied, or in opposite ways, as shares of all pairs; by
    the names of :data:`RJ_NAMES`, None if undefined. A missing label used is one of 0 to
    ``highest``.

    A document that a run leaves undecided counts as the worst label that it could have given: it
    never agrees in ``agreement``; in κ it has the label of the scale that makes κ least; a pair
    with it is one in opposite order, unless the labels used tie it, which no label would change.
    Where labels used are missing, the ends of ``agreement`` are exact, the others safe.
    """
    found: dict[str, Found | None] = dict.fromkeys(RJ_NAMES)
    if rows:
        agreed = partial(agree, level=level, resamples=resamples, seed=seed)
        found["agreement"] = _agreement(rows, highest, agreed)
        found["kappa"] = _kappa(rows, agreed) if on_scale else None
        found |= {name: (ends, ()) for name, ends in _pairs(rows).items()}
    return found


def _agreement(rows: Sequence[Graded], highest: int, agreed: Agreed) -> Found:
    """The share of equal labels; a missing one is unlike the run's or, in the ceiling, like it."""

    def share(*, best: bool) -> tuple[float, tuple[Ends, ...]]:
        may = [best and row.label is not None and 0 <= row.label <= highest for row in rows]
        concordant = [
            row.label is not None and (row.label == row.grade or (row.grade is None and one))
            for row, one in zip(rows, may, strict=True)
        ]
        found = agreed(
            [float(one) for one in concordant],
            [1.0] * len(rows),
            topics=[row.topic for row in rows],
        ).estimates["agreement"]
        interval = found.interval
        return found.value or 0.0, ((interval.low, interval.high),) if interval else ()

    ends = [share(best=best) for best in (False, True)]
    return Range(ends[0][0], ends[1][0]), (*ends[0][1], *ends[1][1])


def _kappa(rows: Sequence[Graded], agreed: Agreed) -> Found | None:
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
        found = agreed(
            [float(row.grade) for row in rows if row.grade is not None],
            [float(label) for label in labels],
            topics=[row.topic for row in rows],
            scale=SCALE,
        ).estimates["kappa"]
        if found.value is not None:
            tried.append((found.value, found.interval))
        if all(row.label is not None for row in rows):
            break
    if not tried:
        return None
    value, interval = min(tried, key=lambda one: one[0])
    return Range.certain(value), ((interval.low, interval.high),) if interval else ()


def _kappa_bounds(rows: Sequence[Graded]) -> Range:
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


def _pairs(rows: Sequence[Graded]) -> dict[str, Range]:
    """The shares of pairs; none without a pair. Of a pair with a missing label all is possible that
    the run's own labels allow."""
    by_topic: dict[str, list[Graded]] = {}
    for row in rows:
        by_topic.setdefault(row.topic, []).append(row)
    concordant = tied = may_agree = may_tie = pairs = 0
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
        concordant += orders.agree
        # Pairs that the labels used tie are tied, whatever the run says of them.
        tied += orders.tie + run_ties
        tied += _ties(row.grade for row in known) - _ties(row.grade for row in both)
        pairs += every
    if not pairs:
        return {}
    opposite = pairs - concordant - tied - may_tie
    return {
        "pairs_agree": Range(concordant / pairs, (concordant + may_agree) / pairs),
        "pairs_tie": Range(tied / pairs, (tied + may_tie) / pairs),
        # Less is better: the floor is the greater number.
        "pairs_disagree": Range((opposite + may_tie) / pairs, opposite / pairs),
    }


def _ties(labels: Iterable[float | None]) -> int:
    """How many pairs of labels are equal."""
    return sum(comb(count, 2) for count in Counter(labels).values())
