"""People's preferences compared with SGSS: AR and MAR.

Source: Sakai et al. 2026, sections 4.2 and 4.3, equations 13 and 14.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from assay.labellers.base import Request
from assay.measures.ranges import OPEN, Range
from assay.measures.scores import Score
from assay.model.summaries import Preference
from assay.page.parts import Part, Table
from assay.protocols.labels import LabelBook
from assay.protocols.means import mean_score
from assay.protocols.places import Place
from assay.protocols.sgss.inputs import SgssInputs, SgssSettings, is_test
from assay.protocols.sgss.labels import JudgedSummary, compared_in, preference
from assay.statistics.worsening import session_interval
from assay.tasks.sgss import PREFERENCE

Kind = Literal["test", "train", "assumed", "asked"]
PARTS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class PreferredPair:
    """Two summaries of a query and all preferences between them, of which ``left_better`` of
    ``labels`` are for the left. ``part`` is one of :data:`PARTS`: an ``assumed`` pair is an
    original and its degraded version, an ``asked`` one was compared under ``sgss.preference``,
    others are from a file. ``both_orders``: both labels are a machine's, one for each order. If not
    ``sure``, it depends on a missing label whether the pair counts at all."""

    query: str
    left: str
    right: str
    left_better: int
    labels: int
    part: Kind
    sure: bool = True
    both_orders: bool = False


Compared = Sequence[tuple[PreferredPair, Range | None, Range | None]]
"""Pairs with ΔSGSS and AR."""


def pairs(preferences: Iterable[Preference], settings: SgssSettings) -> list[PreferredPair]:
    """The pairs that were compared, each once, whichever side a summary was on."""
    found: dict[tuple[str, str, str], list[bool]] = {}
    parts: dict[tuple[str, str, str], Kind] = {}
    for one in preferences:
        left, right = sorted((one.left, one.right))
        key = (one.query, left, right)
        found.setdefault(key, []).append(one.left_better == (one.left == left))
        parts[key] = "test" if is_test(one, settings) else "train"
    return [
        PreferredPair(
            *key, left_better=sum(left_preferred), labels=len(left_preferred), part=parts[key]
        )
        for key, left_preferred in found.items()
    ]


def assumed(
    inputs: SgssInputs, judged: Mapping[str, Mapping[str, JudgedSummary]]
) -> list[PreferredPair]:
    """Originals with sections, assumed to be better than their degraded versions. A version that
    lost its first section counts only if that had a relevant statement (section 4.1)."""
    found = []
    for query, by_run in inputs.summaries.items():
        for run, summary in by_run.items():
            if summary.original is None or not by_run[summary.original].sections:
                continue
            sure = True
            if summary.degraded == "NoSection1":
                lost = judged[query][summary.original].labels.parts[0].srel
                sure = any(lost)
                if not sure and None not in lost:
                    continue
            found.append(PreferredPair(query, summary.original, run, 1, 1, "assumed", sure))
    return found


def requests_in_other_order(inputs: SgssInputs, book: LabelBook) -> Iterator[Request]:
    """The preferences in the other order, for those pairs that a machine compared in the first."""
    for query, one, other in compared_in(inputs):
        if book.judged_by_machine(PREFERENCE, preference(one, other)):
            unit = PREFERENCE.unit.model_validate(preference(other, one))
            yield Request(PREFERENCE, unit, topic=query)


def asked_pairs(inputs: SgssInputs, book: LabelBook) -> list[PreferredPair]:
    """Return the pairs compared under ``sgss.preference``, noting and counting their labels.

    The preferences of a pair are those of every person who counts (eq. 14), or, if there are none,
    the machine's in both orders. A pair that lacks one of the two orders is left out.
    """
    found = []
    for query, first, second in compared_in(inputs):
        orders = ((first, second), (second, first))
        asked = [
            (preference(*side), Place("", query, f"preference: {side[0].run}, {side[1].run}"))
            for side in orders
        ]
        by_people = book.of_each_person(PREFERENCE, asked)
        usable, lacks = ([], False) if by_people else book.in_both_orders(PREFERENCE, asked)
        verdicts = by_people or [(order, verdict) for order, _, verdict in usable]
        left, right = sorted((first.run, second.run))
        preferred = [orders[order][one["preferred"] == "RIGHT"].run for order, one in verdicts]
        if not lacks:
            counts = preferred.count(left), len(preferred)
            found.append(PreferredPair(query, left, right, *counts, "asked", True, not by_people))
    return found


def agreement_rate(pair: PreferredPair, difference: float) -> float:
    """AR, eq. 14: the share of preferences with the sign of ΔSGSS (eq. 13), 0 if that is 0."""
    if difference > 0:
        return pair.left_better / pair.labels
    if difference < 0:
        return (pair.labels - pair.left_better) / pair.labels
    return 0.0


def rates(
    found: Sequence[PreferredPair], scores: Mapping[str, Mapping[str, Range | None]]
) -> Compared:
    """Each pair with ΔSGSS and AR, None if SGSS is undefined in the evaluation. A missing label
    that both summaries share counts twice, so that the ends are safe. If a summary is missing,
    people saw what cannot be scored: ΔSGSS is unknown, and AR takes its whole range."""
    rows: list[tuple[PreferredPair, Range | None, Range | None]] = []
    for pair in found:
        here = scores[pair.query]
        if not is_there(pair, here):
            rows.append((pair, None, _rate(pair, Range(-math.inf, math.inf))))
            continue
        left, right = here[pair.left], here[pair.right]
        if left is None or right is None:
            rows.append((pair, None, None))
            continue
        difference = Range(left.floor - right.ceiling, left.ceiling - right.floor)
        rows.append((pair, difference, _rate(pair, difference)))
    return rows


def is_there(pair: PreferredPair, runs: Container[str]) -> bool:
    """Whether both summaries are in the evaluation."""
    return pair.left in runs and pair.right in runs


def _rate(pair: PreferredPair, difference: Range) -> Range:
    if not pair.sure:
        # A rate from 0 to 1 makes the mean's ends include those of the mean without the pair.
        return OPEN
    # A difference of 0, which agrees with nobody, may lie between the ends.
    within = (0.0,) if difference.floor < 0 < difference.ceiling else ()
    possible = [agreement_rate(pair, one) for one in (*difference, *within)]
    return Range(min(possible), max(possible))


# -- what is shown ------------------------------------------------------------------------------


def mean_rates(compared: Compared, settings: SgssSettings) -> Iterator[tuple[Score, int]]:
    """MAR of each part with its interval over queries (pairs of a query are dependent), and the
    number of labels on which it rests."""
    for part in PARTS:
        own = [(pair, rate) for pair, _, rate in compared if pair.part == part]
        if own:
            known = [(pair, rate) for pair, rate in own if rate is not None]
            mar = mean_score(part, "MAR", [rate for _, rate in own], settings)
            queries = [pair.query for pair, _ in known]
            least, most = (
                over_queries([rate[end] for _, rate in known], queries, settings) for end in (0, 1)
            )
            low, high = least and least[0], most and most[1]
            yield replace(mar, low=low, high=high), sum(pair.labels for pair, _ in known)


def over_queries(
    values: Sequence[float], queries: Sequence[str], settings: SgssSettings
) -> tuple[float, float] | None:
    """The interval of a mean over pairs, resampling whole queries; None for a single query."""
    if len(set(queries)) < 2:
        return None
    found = session_interval(values, queries, **settings.resampling)
    return None if found is None else (found.low, found.high)


def preference_scores(compared: Compared, settings: SgssSettings) -> list[dict[str, object]]:
    """MAR of each part, for scripts. ``missing`` counts pairs whose AR depends on missing
    labels."""
    return [
        {
            "part": mar.run, "MAR": mar.value, "low": mar.low, "high": mar.high,
            "pairs": mar.topics, "labels": labels, "missing": mar.missing, "floor": mar.floor,
            "ceiling": mar.ceiling,
        }
        for mar, labels in mean_rates(compared, settings)
    ]  # fmt: skip


def preference_part(compared: Compared, settings: SgssSettings) -> tuple[Part, ...]:
    """AR of every pair and MAR of every part."""
    if not compared:
        return ()
    columns = ("part", "MAR", "low", "high", "pairs", "labels", "missing")
    summary = [
        (mar.run, mar.ends, mar.low, mar.high, mar.topics, labels, mar.missing)
        for mar, labels in mean_rates(compared, settings)
    ]
    of_pairs = ("query", "left", "right", "part", "prefer left", "ΔSGSS", "AR")
    rows = [
        (pair.query, pair.left, pair.right, pair.part, f"{pair.left_better} of {pair.labels}",
         difference, rate)
        for pair, difference, rate in compared
    ]  # fmt: skip
    note = (
        "Weights are learned from the training part and checked on the test part. An original is "
        "assumed to be better than its degraded version. Intervals are over queries."
    )
    if any(pair.part == "asked" for pair, _, _ in compared):
        note += (
            " Pairs under “asked” were compared here under sgss.preference. A machine sees each in "
            "both orders; if it prefers the same side both times, it prefers neither summary."
        )
    if any(rate is not None and rate.value is None for _, _, rate in compared):
        note += " A range covers all values that missing labels may still give."
    tables = (
        Table("Mean agreement rate", columns, summary),
        Table("Pairs", of_pairs, rows, folded=True),
    )
    return (Part("Agreement with preferences", note, tables),)
