"""Whose labels seem to carry no information, and other notes on people's labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.model.labels import WORKBENCH, Label, is_turned, without_reasons
from assay.model.wording import and_list
from assay.statistics.dawid_skene import NO_LABEL
from assay.tasks.base import AnyTask

if TYPE_CHECKING:
    from assay.protocols.people import Rater

FEW = 10
"""Nothing is said about a person with fewer labels."""
_BY_CHANCE = 0.001  # probability below which something is no coincidence
_HARDLY = 0.1  # κ below which agreement is hardly more than chance
_FASTER = 4  # how many times faster than the others is suspicious


def rater_doubts(raters: Sequence[Rater], labels: Any, categories: Sequence[str]) -> Iterator[str]:
    """Whose labels seem to carry no information about the units."""
    for at, who in enumerate(raters):
        shared = labels[:, at] != NO_LABEL
        others = np.delete(labels[shared], at, axis=1)
        others = others[others != NO_LABEL]
        own = np.unique(labels[shared, at])
        if who.shared < FEW:
            continue
        by_others = float((others == own[0]).mean())
        if len(own) == 1 and by_others**who.shared < _BY_CHANCE:
            yield (
                f"{who.name} said {categories[own[0]]} of all {who.labels}; others said "
                f"{categories[own[0]]} in {by_others:.0%} of their labels of these."
            )
        elif who.kappa is not None and who.kappa < _HARDLY and who.shared >= 2 * FEW:
            yield f"{who.name} agrees with others little more than by chance (κ {who.kappa:.2f})."
        rest = [one.seconds for one in raters if one is not who and one.seconds is not None]
        if who.seconds is not None and rest and who.seconds * _FASTER < median(rest):
            yield f"{who.name} took {who.seconds:.1f} s per label, others {median(rest):.1f} s."


def copied_labels(given: Sequence[Label]) -> Iterator[str]:
    """Who has someone else's labels under another name: their times agree to the microsecond."""
    at_once: dict[tuple[str, str], set[str]] = {}
    for one in given:
        if WORKBENCH in one.detail:
            who = one.labeller.name.removeprefix("human:")
            at_once.setdefault((one.unit, one.created), set()).add(who)
    pairs = Counter(tuple(sorted(who)) for who in at_once.values() if len(who) > 1)
    for copied, n in sorted(pairs.items()):
        yield f"{and_list([*copied])} labelled {n} units at the same moments: one copied the other."


def order_effects(task: AnyTask, given: Sequence[Label]) -> tuple[list[str], list[str]]:
    """Who chose by position, and how often people chose what they saw first, for tasks that compare
    two things."""
    if task.sides is None:
        return [], []
    left, right = task.sides[1]
    first: dict[str, dict[str, bool]] = {}
    for one in given:
        turned = is_turned(one)
        values = without_reasons(one.verdict or {}).values()
        chosen = [value for value in values if value in (left, right)]
        if turned is not None and chosen:
            who = one.labeller.name.removeprefix("human:")
            first.setdefault(who, {})[one.unit] = (chosen[0] == left) != turned
    counts = {who: (sum(some.values()), len(some)) for who, some in sorted(first.items())}
    doubts = [
        f"{who} chose what was shown first in {heads} of {n}."
        for who, (heads, n) in counts.items()
        if _lopsided(heads, n) < _BY_CHANCE
    ]
    heads, n = (sum(each) for each in zip((0, 0), *counts.values(), strict=True))
    return doubts, [f"What was shown first was chosen in {heads} of {n}."] if n else []


def _lopsided(heads: int, n: int) -> float:
    """The probability that a fair coin falls at least as unevenly: McNemar's test, without scipy,
    whose import would delay scoring."""
    ways = accumulate(range(min(heads, n - heads)), lambda c, k: c * (n - k) // (k + 1), initial=1)
    return min(1.0, 2 * sum(ways) / (1 << n))


def guideline_notes(given: Sequence[Label]) -> Iterator[str]:
    """A note if labels were given under different versions of the guideline."""
    details = (one.detail.get(WORKBENCH) for one in given)
    guidelines = (one.get("guideline") for one in details if isinstance(one, Mapping))
    versions = Counter(one for one in guidelines if isinstance(one, str))
    if len(versions) > 1:
        counts = and_list([f"{n:,}" for n in versions.values()])
        yield f"Labels were given under {len(versions)} versions of the guideline: {counts}."
