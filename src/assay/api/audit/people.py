"""Probes that compare the judge with people's existing labels: own-family preference, circularity,
order at the top, small differences and length. No new labels are requested."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from math import comb
from random import Random
from typing import Any

import numpy as np

from assay.api.audit.asking import Base, Labelled, bases
from assay.api.audit.findings import RESAMPLES, Finding, low_high
from assay.api.by_items import Items, Voices, batches, estimated, is_whole, items_of, linear_of
from assay.api.corrected import SAME, Corrected, family_of, off_by
from assay.api.correcting import Evaluations, whole_draw
from assay.api.results import prefix_of
from assay.ledger import Ledger
from assay.ledger.draws import TOPICS, Draw
from assay.measures.arrays import Bools, Floats
from assay.measures.bootstrap import mean_interval, percentile_interval, topic_counts
from assay.model.wording import counted, joined
from assay.statistics import corrected
from assay.statistics.corrected import Estimates
from assay.statistics.correlation import ap_correlation, kendall_tau
from assay.tasks.audit.probes import words_in
from assay.tasks.audit.views import View

TOP, SELF, CIRCLE, SMALL = "top", "self-preference", "circularity", "small-differences"
LENGTH = "length"
AGAINST_PEOPLE = "Δ mean(f − y)"

_QUARTER = 0.25
_LEAST_TOP = 3  # fewest runs that can be ranked meaningfully
_LEAST_UNITS = 10  # units labelled by both, for a slope
_DEPTH = 20
_SWAPS = 50  # most documents moved down per topic
_CHOICES = 200  # most choices of runs that used the judge
_LABELLED = "n: topics or units of the draw"


def of_tables(
    found: Sequence[Corrected | str],
    probes: Sequence[str],
    *,
    families: Mapping[str, str],
    judges: Sequence[str],
    used: Sequence[str],
    level: float,
) -> Iterator[Finding]:
    """Compare the judge's leaderboards with corrected ones: one finding for each requested probe.
    ``families`` maps the names of runs and judges to families, ``used`` names the runs that the
    judge helped to make; names may contain ``*``."""
    for probe in probes:
        for one in found:
            if isinstance(one, str):
                yield Finding(probe, "", "", ", ".join(judges), note=f"not available: {one}")
                continue
            own = Finding(probe, "", one.measure, ", ".join(judges))
            if probe == TOP:
                yield from _top(own, one)
            elif probe == SELF:
                yield from of_families(own, one, families, judges, level)
            elif probe == CIRCLE:
                yield from _circle(own, one, used, level)


def _scores(one: Corrected) -> tuple[Floats, Floats]:
    """The runs' corrected scores, and those by the judge alone; higher is better."""
    sign = -1.0 if one.lower_is_better else 1.0
    return sign * one.value, sign * one.judge


def _top(own: Finding, one: Corrected) -> Iterator[Finding]:
    people, judge = _scores(one)
    best = np.argsort(-people, kind="stable")[: math.ceil(_QUARTER * len(one.runs))]
    if len(one.runs) < 2:
        yield replace(own, note="a single run has no order")
        return
    few = len(best) < _LEAST_TOP
    for name, measure in (("τ", kendall_tau), ("τ_AP", ap_correlation)):
        whole = measure(people, judge)
        top = None if few else measure(people[best], judge[best])
        yield replace(
            own, variant=name, n=len(one.runs), before=whole, after=top, figure="best 25 % − all",
            value=None if whole is None or top is None else top - whole,
            note=(
                f"the best 25 % of {counted(len(one.runs), 'run')} are {len(best)}: too few to "
                "compare their order"
                if few
                else f"before: all runs; after: the best {len(best)}"
            ),
        )  # fmt: skip


def of_families(
    own: Finding, one: Corrected, families: Mapping[str, str], judges: Sequence[str], level: float
) -> Iterator[Finding]:
    """How much more ``judges`` overrate runs of their own family than other runs, relative to
    people. The uncertainty of people's labels is the same whichever judge is compared with them."""
    named = np.array([family_of(run, families) for run in one.runs])
    of_judges = sorted({f for who in judges if (f := family_of(who, families))})
    if not of_judges:
        yield replace(own, note=f"not available: no family of {joined(judges, 3)} is named")
    people, judge = _scores(one)
    for family in of_judges:
        ours, others = named == family, (named != family) & (named != "")
        variant = replace(own, variant=family)
        if not ours.any() or not others.any():
            lack = "of the judge's family" if not ours.any() else "of another family"
            yield replace(variant, note=f"not available: no run {lack} is named")
            continue
        off = judge - people
        yield replace(
            variant, before=float(off[others].mean()), after=float(off[ours].mean()),
            figure=AGAINST_PEOPLE, **_apart(one, ours, others, level),
            note=f"{counted(int(ours.sum()), 'run')} of the family, {others.sum()} of others; "
            f"{_LABELLED}",
        )  # fmt: skip


def _circle(own: Finding, one: Corrected, used: Sequence[str], level: float) -> Iterator[Finding]:
    ours = np.array([bool(family_of(run, dict.fromkeys(used, "used"))) for run in one.runs])
    others = ~ours
    if not ours.any() or not others.any():
        lack = "used the judge" if not ours.any() else "did without it"
        yield replace(
            own, note=f"not available: no run here {lack} (name such runs with --used RUN)"
        )
        return
    yield _gain(
        replace(own, variant="gain"), one, ours, level,
        f"{counted(int(ours.sum()), 'run')} used the judge, {others.sum()} not; {_LABELLED}",
    )  # fmt: skip
    scores = _scores(one)
    before = None if others.sum() < 2 else kendall_tau(*(some[others] for some in scores))
    for count in range(1, int(ours.sum()) + 1):
        after = _mean_tau(scores, ours, count)
        total = int(others.sum()) + count
        yield replace(
            own, variant=f"τ, {count / total:.0%}", n=total, before=before, after=after,
            figure="τ with − without them",
            value=None if before is None or after is None else after - before,
            note=f"{count} of {counted(total, 'run')} used the judge; averaged over all such "
            "tables",
        )  # fmt: skip


def _mean_tau(scores: tuple[Floats, Floats], ours: Bools, count: int) -> float | None:
    """Mean Kendall's τ between both orders of the other runs plus ``count`` of ``ours``, over all
    choices of these, or over a sample if there are very many."""
    places, others = np.flatnonzero(ours), np.flatnonzero(~ours)
    choices = [*islice(combinations(places, count), _CHOICES)]
    if comb(len(places), count) > _CHOICES:
        random = np.random.default_rng(0)
        choices = [tuple(random.choice(places, count, replace=False)) for _ in range(_CHOICES)]
    found = [kendall_tau(*(one[[*others, *choice]] for one in scores)) for choice in choices]
    known = [one for one in found if one is not None]
    return float(np.mean(known)) if known else None


def of_judged_run(
    found: Sequence[Corrected], judges: Sequence[str], level: float
) -> Iterator[Finding]:
    """The lead over the mean of the other runs that the judge gives to the run made from its own
    labels (:func:`judged_runs`), which is the last of each evaluation."""
    for one in found:
        ours = np.arange(len(one.runs)) == len(one.runs) - 1
        own = Finding(CIRCLE, one.runs[-1], one.measure, ", ".join(judges))
        note = (
            f"built from what {counted(len(one.runs) - 1, 'run')} contain, ranked by it; "
            f"{_LABELLED}"
        )
        yield _gain(own, one, ours, level, note)


def _gain(own: Finding, one: Corrected, ours: Bools, level: float, note: str) -> Finding:
    """The lead of some runs over the others by people (before) and by the judge (after)."""
    before, after = (float(some[ours].mean() - some[~ours].mean()) for some in _scores(one))
    return replace(
        own, before=before, after=after, figure="gain by judge − by people",
        **_apart(one, ours, ~ours, level), note=note,
    )  # fmt: skip


def _apart(one: Corrected, ours: Bools, others: Bools, level: float) -> dict[str, Any]:
    """How much more the judge overrates some runs than others, on average."""
    assert one.estimates is not None  # noqa: S101 (its runs are estimated together)
    sign = -1.0 if one.lower_is_better else 1.0
    a = sign * (ours / ours.sum() - others / others.sum())
    value, low, high = off_by(a, one.judge, one.estimates, level)
    return {"n": one.estimates.labels, "value": value, "low": low, "high": high}


# -- units that people labelled too -----------------------------------------------------------


@dataclass(frozen=True)
class Twice:
    """A unit with a judge's value and a person's."""

    base: Base
    person: float


def labelled_twice(one: Labelled, view: View, ledger: Ledger, seed: int) -> list[Twice]:
    """Units labelled both by the judge and by a person who saw nobody else's label."""
    if one.task.name not in ledger.judged_by_people():
        return []
    part = one.steps[0][0]
    book = replace(part, policy=part.policy.of_drawn([one.task.name])).book(ledger)
    found = []
    for base in bases(one, ledger, seed):
        label = book.find(one.task, base.request.content)
        if label is not None and label.verdict is not None:
            found.append(Twice(base, view.value(label.verdict)))
    return found


def small_differences(
    one: Labelled, ledger: Ledger, *, level: float, seed: int
) -> Iterator[Finding]:
    """Whether the judge's labels can tell an ideal ranking by people's labels from the same ranking
    with one relevant document moved below a worse one, by nDCG@20."""
    view = one.view
    own = Finding(SMALL, "one moved down", one.task.name, one.labeller.id.name)
    if view is None or not view.relevance:
        return
    topics: dict[str, list[Twice]] = {}
    for twice in labelled_twice(one, view, ledger, seed):
        topics.setdefault(twice.base.topic, []).append(twice)
    shares, ties, count = [], 0, 0
    for topic, units in sorted(topics.items()):
        right, equal, pairs = _told_apart(units, Random(f"{seed} {topic}"))  # noqa: S311
        if pairs:
            shares.append(right / pairs)
            ties, count = ties + equal, count + pairs
    if not shares:
        why = "people labelled no topic with both a relevant passage and a worse one"
        yield replace(own, note=f"not available: {why}")
        return
    interval = mean_interval(shares, level=level, resamples=RESAMPLES, seed=seed)
    yield replace(
        own, n=count, figure="share ordered right", value=float(np.mean(shares)),
        note=f"{counted(len(shares), 'topic')}, weighted equally; {ties} pairs of rankings tie",
        **low_high(interval),
    )  # fmt: skip


def _told_apart(units: Sequence[Twice], random: Random) -> tuple[int, int, int]:
    """Compare ideal rankings with ones in which a document was moved down; returns how many pairs
    the judge orders correctly, how many tie, and the total."""
    best = sorted(units, key=lambda one: -one.person)[:_DEPTH]
    gains = np.array([one.base.value for one in best])
    people = [one.person for one in best]
    discount = 1 / np.log2(np.arange(len(best)) + 2)
    moves = [
        (old, new)
        for old in range(len(best))
        for new in range(old + 1, len(best))
        if people[old] > people[new]
    ]
    if len(moves) > _SWAPS:
        moves = random.sample(moves, _SWAPS)
    right = equal = 0
    for old, new in moves:
        reordered = np.insert(np.delete(gains, old), new, gains[old])
        lost = float(discount @ (gains - reordered))
        equal += abs(lost) < SAME
        right += lost >= SAME
    return right, equal, len(moves)


def length_slope(one: Labelled, ledger: Ledger, *, level: float, seed: int) -> Iterator[Finding]:
    """Slope of the judge's value over text length, among units with the same value by people."""
    view = one.view
    if view is None:
        return
    own = Finding(LENGTH, "slope", one.task.name, one.labeller.id.name)
    twice = labelled_twice(one, view, ledger, seed)
    topics = [unit.base.topic for unit in twice]
    length = np.log([len(words_in(str(unit.base.request.content[view.text]))) or 1
                     for unit in twice])  # fmt: skip
    grades, which = np.unique([unit.person for unit in twice], return_inverse=True)
    values = np.array([unit.base.value for unit in twice])
    if len(twice) < _LEAST_UNITS:
        why = f"people labelled {counted(len(twice), 'unit')}; at least {_LEAST_UNITS} are needed"
        yield replace(own, note=f"not available: {why}")
        return
    names, topic = np.unique(topics, return_inverse=True)

    def slope(weights: Floats) -> float:
        count = np.bincount(which, weights, len(grades))
        middle = [
            np.divide(np.bincount(which, weights * one, len(grades)), count,
                      out=np.zeros(len(grades)), where=count > 0)[which]
            for one in (length, values)
        ]  # fmt: skip
        x, y = length - middle[0], values - middle[1]
        spread = float(weights @ (x * x))
        return float(weights @ (x * y)) / spread if spread > 1e-12 else math.nan

    counts = (one for block in topic_counts(len(names), RESAMPLES, seed) for one in block)
    slopes = np.array([slope(one[topic]) for one in counts])
    value = slope(np.ones(len(twice)))
    yield replace(
        own, n=len(twice), figure="slope on log length", value=None if math.isnan(value) else value,
        note="the texts are equally long" if math.isnan(value) else "at equal label by people",
        **low_high(percentile_interval(slopes, level, len(names)) if len(names) > 1 else None),
    )  # fmt: skip


JUDGED = "its own run"


def judged_runs(evaluations: Evaluations, ledger: Ledger, *, level: float) -> Iterator[Corrected]:
    """For each protocol, the first measure whose runs fill places of equal weight (such as P@k and
    accuracy): its runs, and last a run that the judge makes of their units. Needs the counting
    draw, or people's labels of everything; otherwise empty."""
    draws = ledger.draws()
    draw = whole_draw(evaluations, ledger, draws)
    if isinstance(draw, str):
        return
    for name, part in evaluations.items():
        judge = part.quick().by_machine(ledger).findings
        voices = Voices(part, ledger)
        prefix = prefix_of(name, evaluations)
        for linear in linear_of(part, ledger):
            items = items_of(voices, linear, judge.scores)
            weights = None if isinstance(items, str) else judged_weights(items)
            if isinstance(items, str) or weights is None:
                continue
            more = replace(
                items, runs=(*items.runs, JUDGED), weights=np.vstack([items.weights, weights]),
                offset=np.append(items.offset, 0.0),
            )  # fmt: skip
            found = _estimated(more, draw, draws, judge.topics, level)
            if found is not None:
                yield Corrected(
                    prefix + items.measure, False, more.runs, found.value, found.low, found.high,
                    more.weights @ more.judge[0], estimates=found,
                )  # fmt: skip
                break


def judged_weights(items: Items) -> Floats | None:
    """Unit weights of a run that holds, for each topic, as many units as the longest run, chosen by
    the judge's preference; tied units share the remaining places. None if a topic's places differ
    in weight or scores depend on other units too."""
    if (np.abs(items.offset) > SAME).any():
        return None
    found = np.zeros(len(items.units))
    for topic in range(len(items.topics)):
        inside = np.flatnonzero(items.topic == topic)
        held = items.weights[:, inside]
        each = held[held > 0]
        if np.ptp(each) > SAME:
            return None
        left = int((held > 0).sum(axis=1).max())
        said = items.judge[0, inside]
        for value in np.unique(said)[::-1]:
            same_value = inside[said == value]
            found[same_value] = each[0] * min(left, len(same_value)) / len(same_value)
            left -= min(left, len(same_value))
    return found


def _estimated(
    items: Items, draw: Draw | None, draws: Sequence[Draw], topics: Sequence[str], level: float
) -> Estimates | None:
    """Corrected scores, or None if the draw does not correct this measure."""
    try:
        if draw is None or draw.design == TOPICS:
            said = {} if draw is None else dict(zip(draw.names, draw.drawn, strict=True))
            drawn = np.array([draw is None or said.get(one, False) for one in topics])
            people, judge = (_by_topic(items, worth, topics)
                             for worth in (items.people, items.judge[0]))  # fmt: skip
            people[:, ~drawn] = np.nan
            return corrected.topics(people, judge, drawn, level=level)
        if draw.tasks != (items.task,):
            return None
        whole = [one for one in batches(draws, draw) if is_whole(items, one)]
        return estimated(items, whole, level=level, population="these")
    except ValueError:
        return None


def _by_topic(items: Items, worth: Floats, topics: Sequence[str]) -> Floats:
    """The runs' scores for each topic; their means are the runs' scores."""
    place = {name: at for at, name in enumerate(topics)}
    at = np.array([place[name] for name in items.topics])[items.topic]
    found: Floats = np.array([np.bincount(at, row, len(topics)) for row in items.weights * worth])
    return len(topics) * found
