"""Agreement of a run of relevance labels with the labels used, as ranges if some are missing.

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

RangeWithIntervals = tuple[Range, tuple[Ends, ...]]
"""The range of a score, and the bootstrap intervals of its ends."""

Agree = Callable[..., Agreement]
""":func:`assay.statistics.agreement.agree` with the settings of the intervals applied."""


class PoolDocument(NamedTuple):
    """A pooled document: ``grade``, the label used, and ``label``, the run's; None if missing."""

    topic: str
    grade: float | None
    label: int | None


def judgment_ranges(
    rows: Sequence[PoolDocument],
    highest: int,
    *,
    on_scale: bool,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int,
) -> dict[str, RangeWithIntervals | None]:
    """The share of equal labels, Cohen's κ, and the shares of pairs of documents that are ordered
    in the same way, tied, or ordered in opposite ways.

    ``highest``: a missing label used may be anything from 0 to this. ``on_scale``: whether the
    run's labels are on the scale from 0 to 4; otherwise κ is None. ``level``, ``resamples``,
    ``seed``: of the intervals over topics. Returns ranges by :data:`RJ_NAMES`, None if undefined.

    A document that the run leaves undecided counts as the worst label possible: it never agrees; in
    κ it has the label of the scale that makes κ lowest; and a pair with it is ordered in opposite
    ways, unless it is tied by the labels used. If labels used are missing, the ends of
    ``agreement`` are exact, and the others are bounds.
    """
    ranges: dict[str, RangeWithIntervals | None] = dict.fromkeys(RJ_NAMES)
    if rows:
        agree_with = partial(agree, level=level, resamples=resamples, seed=seed)
        ranges["agreement"] = _agreement(rows, highest, agree_with)
        ranges["kappa"] = _kappa(rows, agree_with) if on_scale else None
        ranges |= {name: (ends, ()) for name, ends in _pairs(rows).items()}
    return ranges


def _agreement(rows: Sequence[PoolDocument], highest: int, agree_with: Agree) -> RangeWithIntervals:
    """The share of equal labels. A missing label differs from the run's in the floor, and equals
    it, if possible, in the ceiling."""

    def share(*, best: bool) -> tuple[float, tuple[Ends, ...]]:
        may = [best and row.label is not None and 0 <= row.label <= highest for row in rows]
        equal = [
            row.label is not None and (row.label == row.grade or (row.grade is None and may_equal))
            for row, may_equal in zip(rows, may, strict=True)
        ]
        estimate = agree_with(
            [float(one) for one in equal],
            [1.0] * len(rows),
            topics=[row.topic for row in rows],
        ).estimates["agreement"]
        interval = estimate.interval
        return estimate.value or 0.0, ((interval.low, interval.high),) if interval else ()

    ends = [share(best=best) for best in (False, True)]
    return Range(ends[0][0], ends[1][0]), (*ends[0][1], *ends[1][1])


def _kappa(rows: Sequence[PoolDocument], agree_with: Agree) -> RangeWithIntervals | None:
    """κ, with its interval over topics unless a label used is missing."""
    if any(row.grade is None for row in rows):
        return _kappa_bounds(rows), ()
    grades = Counter(row.grade for row in rows)
    by_count = sorted(SCALE, key=lambda label: -grades[int(label)])
    common, other = by_count[:2]
    tried = []
    # κ = 1 − (1 − p_o) / (1 − p_e). The worst wrong label is the most common one. For documents
    # where that is the right one, it is either the second most common, or also the most common:
    # 1 − κ is a ratio of linear functions of the number with each, so one of the extremes is worst.
    for instead in (other, common):
        labels = [
            (common if row.grade != common else instead) if row.label is None else row.label
            for row in rows
        ]
        estimate = agree_with(
            [float(row.grade) for row in rows if row.grade is not None],
            [float(label) for label in labels],
            topics=[row.topic for row in rows],
            scale=SCALE,
        ).estimates["kappa"]
        if estimate.value is not None:
            tried.append((estimate.value, estimate.interval))
        if all(row.label is not None for row in rows):
            break
    if not tried:
        return None
    value, interval = min(tried, key=lambda estimate: estimate[0])
    return Range.certain(value), ((interval.low, interval.high),) if interval else ()


def _kappa_bounds(rows: Sequence[PoolDocument]) -> Range:
    """Bounds of κ, from separate bounds of the observed agreement and that expected by chance, over
    all missing labels and undecided documents."""
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


def _pairs(rows: Sequence[PoolDocument]) -> dict[str, Range]:
    """The ranges of the shares of pairs; empty if there are no pairs. A pair with a missing label
    may have any order that the run's own labels allow."""
    by_topic: dict[str, list[PoolDocument]] = {}
    for row in rows:
        by_topic.setdefault(row.topic, []).append(row)
    concordant = tied = may_agree = may_tie = pairs = 0
    for documents in by_topic.values():
        known = [row for row in documents if row.grade is not None]
        decided = [row for row in documents if row.label is not None]
        both = [row for row in known if row.label is not None]
        all_pairs = comb(len(documents), 2)
        # A pair with a missing label is tied if the run ties it; an undecided one cannot agree.
        run_ties = _ties(row.label for row in decided) - _ties(row.label for row in both)
        may_agree += comb(len(decided), 2) - comb(len(both), 2) - run_ties
        may_tie += all_pairs - comb(len(known), 2) - run_ties
        orders = PairOrders(0, 0, 0)
        if len(both) > 1:
            orders = pair_orders(
                [float(row.grade or 0) for row in both], [float(row.label or 0) for row in both]
            )
        concordant += orders.agree
        # Pairs that the labels used tie are tied, whatever the run's labels are.
        tied += orders.tie + run_ties
        tied += _ties(row.grade for row in known) - _ties(row.grade for row in both)
        pairs += all_pairs
    if not pairs:
        return {}
    opposite = pairs - concordant - tied - may_tie
    return {
        "pairs_agree": Range(concordant / pairs, (concordant + may_agree) / pairs),
        "pairs_tie": Range(tied / pairs, (tied + may_tie) / pairs),
        # Lower is better, so the floor is the greater number.
        "pairs_disagree": Range((opposite + may_tie) / pairs, opposite / pairs),
    }


def _ties(labels: Iterable[float | None]) -> int:
    """The number of pairs of equal labels."""
    return sum(comb(count, 2) for count in Counter(labels).values())
