"""What people's labels say of the judge: flattery of its own family, circularity, the top of the
table, small differences, length. Nobody is asked anything."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np

from assay.api.audit.findings import RESAMPLES, Finding
from assay.api.audit.units import Base, Labelled, bases
from assay.api.by_topics import of_people, quick, topic_values
from assay.api.correcting import open_units
from assay.api.families import family_of
from assay.ledger import Ledger
from assay.ledger.policy import Policy
from assay.measures.bootstrap import mean_interval
from assay.measures.confidence import Bools, Floats
from assay.model.wording import counted, listed
from assay.page.page import Board
from assay.protocols.evaluation import Evaluation
from assay.statistics import corrected
from assay.statistics.correlation import ap_correlation, kendall_tau
from assay.tasks.audit.probes import words_in
from assay.tasks.audit.views import View

TOP, SELF, CIRCLE, SMALL = "top", "self-preference", "circularity", "small-differences"
LENGTH = "length"

_QUARTER = 0.25
_LEAST_TOP = 3  # runs of which an order can be spoken of
_LEAST_UNITS = 10  # labelled by both, for a slope
_DEPTH = 20
_SWAPS = 50  # documents moved down of a topic, at most


@dataclass(frozen=True)
class Both:
    """A measure of a leaderboard by people's labels and by the judge's: runs × topics, people's
    known where ``drawn``. ``sign`` is −1 where lower is better."""

    measure: str
    runs: tuple[str, ...]
    judge: Floats
    people: Floats
    drawn: Bools
    sign: float

    def means(self, level: float) -> tuple[Floats, Floats]:
        """The runs' scores, higher is better: people's (corrected where these are of a draw), and
        the judge's alone. Raises ValueError where there are too few topics."""
        if self.drawn.all():
            return self.sign * self.people.mean(axis=1), self.sign * self.judge.mean(axis=1)
        found = corrected.topics(self.people, self.judge, self.drawn, level=level)
        return self.sign * found.value, self.sign * self.judge.mean(axis=1)


def both(parts: Mapping[str, Evaluation], ledger: Ledger) -> Iterator[Both | str]:
    """The first measure of each leaderboard that is a mean over topics, by both; or why people's
    labels do not give it."""
    draws = ledger.draws()
    if draws:
        units = [done for _, done in open_units(parts, ledger, draws[-1])]
        if not all(units):
            yield f"{len(units) - sum(units)} of the newest draw's labels by people are not there"
            return
    for name, part in parts.items():
        prefix = f"{name}: " if len(parts) > 1 else ""
        own = quick(part)
        judge = replace(own, policy=Policy.parse("machine")).score(ledger).findings
        tasks = [task.name for task in part.tasks]
        people = of_people(own, draws[-1]) if draws else replace(own, policy=Policy.of_drawn(tasks))
        human = people.score(ledger).findings
        topics = tuple(judge.topics)
        chosen = dict(zip(draws[-1].names, draws[-1].drawn, strict=True)) if draws else {}
        drawn = np.array([chosen.get(topic, not draws) for topic in topics])
        for board in judge.boards:
            measure = _mean_over_topics(board, judge.per_topic)
            if measure is None:
                continue
            runs = tuple(run for run in judge.per_topic if measure in judge.per_topic[run])
            f, y = (
                np.stack([topic_values(one.per_topic, run, measure, topics) for run in runs])
                for one in (judge, human)
            )
            y[:, ~drawn] = np.nan
            if np.isnan(f).any():
                yield f"{prefix}{measure}: labels of the judge are missing"
            elif np.isnan(y[:, drawn]).any():
                hand = "labels of what is drawn" if draws else "of all, or of a draw"
                yield f"{prefix}{measure}: people have not given every label that it takes: {hand}"
            else:
                sign = -1.0 if measure in board.lower_is_better else 1.0
                yield Both(prefix + measure, runs, f, y, drawn, sign)


def _mean_over_topics(board: Board, table: Mapping[str, Mapping[str, object]]) -> str | None:
    return next(
        (m for m in board.measures if any(m in by for by in table.values())), None
    )  # the runs that have it are those of the board


def of_tables(
    found: Sequence[Both | str],
    probes: Sequence[str],
    *,
    families: Mapping[str, str],
    judges: Sequence[str],
    used: Sequence[str],
    level: float,
) -> Iterator[Finding]:
    """The probes that set leaderboards against each other, a finding for each that was asked for.
    ``families`` are those of runs and judges by name, ``used`` the runs that the judge helped to
    make; names may have ``*``."""
    for probe in probes:
        for one in found:
            if isinstance(one, str):
                yield Finding(probe, "", "", ", ".join(judges), note=f"not to be had: {one}")
                continue
            own = Finding(probe, "", one.measure, ", ".join(judges))
            try:
                if probe == TOP:
                    yield from _top(own, one, level)
                elif probe == SELF:
                    yield from _self(own, one, families, judges, level)
                elif probe == CIRCLE:
                    yield from _circle(own, one, used, level)
            except ValueError as error:
                yield replace(own, note=f"not to be had: {error}")


def _top(own: Finding, one: Both, level: float) -> Iterator[Finding]:
    people, judge = one.means(level)
    best = np.argsort(-people, kind="stable")[: math.ceil(_QUARTER * len(one.runs))]
    if len(one.runs) < 2:
        yield replace(own, note="one run has no order")
        return
    few = len(best) < _LEAST_TOP
    for name, measure in (("τ", kendall_tau), ("τ_AP", ap_correlation)):
        whole = measure(people, judge)
        top = None if few else measure(people[best], judge[best])
        yield replace(
            own, variant=name, n=len(one.runs), before=whole, after=top, figure="best 25 % − all",
            value=None if whole is None or top is None else top - whole,
            note=(
                f"the best 25 % of {counted(len(one.runs), 'run')} are {len(best)}: too few for "
                "an order"
                if few
                else f"before: all runs; after: the best {len(best)}"
            ),
        )  # fmt: skip


def _self(
    own: Finding, one: Both, families: Mapping[str, str], judges: Sequence[str], level: float
) -> Iterator[Finding]:
    named = {run: family for run in one.runs if (family := family_of(run, families))}
    of_judges = sorted({f for who in judges if (f := family_of(who, families))})
    if not of_judges:
        yield replace(own, note=f"not to be had: no family of {listed(judges, 3)} is named")
        return
    for family in of_judges:
        ours = [at for at, run in enumerate(one.runs) if named.get(run) == family]
        others = [at for at, run in enumerate(one.runs) if named.get(run, "") not in ("", family)]
        variant = replace(own, variant=family)
        if not ours or not others:
            lack = "of the judge's family" if not ours else "of another family"
            yield replace(variant, note=f"not to be had: no run {lack} is named")
            continue
        error = one.sign * (one.judge - one.people)
        yield replace(
            variant, n=int(one.drawn.sum()),
            before=_known(error[others], one.drawn), after=_known(error[ours], one.drawn),
            figure="Δ mean(f − y)", **_contrast(error, ours, others, one.drawn, level),
            note=f"{counted(len(ours), 'run')} of the family, {len(others)} of others; n: topics",
        )  # fmt: skip


def _circle(own: Finding, one: Both, used: Sequence[str], level: float) -> Iterator[Finding]:
    ours = [at for at, run in enumerate(one.runs) if family_of(run, dict.fromkeys(used, "used"))]
    others = [at for at in range(len(one.runs)) if at not in ours]
    if not ours or not others:
        lack = "used the judge" if not ours else "did without it"
        yield replace(own, note=f"not to be had: no run here {lack} (--used RUN names those)")
        return
    people, judge = (
        one.sign * (_known(table[ours], one.drawn) - _known(table[others], one.drawn))
        for table in (one.people, one.judge)
    )
    error = one.sign * (one.judge - one.people)
    yield replace(
        own, variant="gain", n=int(one.drawn.sum()), before=people, after=judge,
        figure="gain by judge − by people", **_contrast(error, ours, others, one.drawn, level),
        note=f"{counted(len(ours), 'run')} used the judge, {len(others)} not; n: topics",
    )  # fmt: skip
    scores = one.means(level)
    few = len(others) < 2
    before = None if few else kendall_tau(*(values[others] for values in scores))
    after = kendall_tau(*scores)
    yield replace(
        own, variant="τ", n=len(one.runs), before=before, after=after,
        figure="τ with − without them",
        value=None if before is None or after is None else after - before,
        note=f"{len(ours) / len(one.runs):.0%} of the runs used the judge",
    )  # fmt: skip


def _known(table: Floats, drawn: Bools) -> float:
    return float(table[:, drawn].mean())


def _contrast(
    error: Floats, ours: Sequence[int], others: Sequence[int], drawn: Bools, level: float
) -> dict[str, Any]:
    """The judge's errors on some runs less those on others, with the interval of a draw of whole
    topics (these topics; a point where all are labelled)."""
    apart = (error[ours].mean(axis=0) - error[others].mean(axis=0))[None]
    found = corrected.topics(apart, np.zeros(apart.shape), drawn, level=level)
    return {"value": float(found.value[0]), "low": float(found.low[0]),
            "high": float(found.high[0])}  # fmt: skip


# -- units that people labelled too -----------------------------------------------------------


@dataclass(frozen=True)
class Twice:
    """A unit with its value by the judge and by a person."""

    base: Base
    person: float


def labelled_twice(one: Labelled, view: View, ledger: Ledger, seed: int) -> list[Twice]:
    """The units that a person labelled, with nobody else's label in sight, and the judge."""
    if one.task.name not in ledger.judged_by_people():
        return []
    part = replace(one.steps[0][0], policy=Policy.of_drawn([one.task.name]))
    book = part.book(ledger)
    found = []
    for base in bases(one, ledger, seed):
        label = book.find(one.task, base.request.content)
        if label is not None and label.verdict is not None:
            found.append(Twice(base, view.value(label.verdict)))
    return found


def small_differences(
    one: Labelled, ledger: Ledger, *, level: float, seed: int
) -> Iterator[Finding]:
    """Rankings that are best by people's labels, each with one relevant document moved down past a
    worse one: whether the judge's labels tell the two apart by nDCG@20."""
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
        why = "people labelled no topic with a relevant passage and a worse one"
        yield replace(own, note=f"not to be had: {why}")
        return
    interval = None
    if len(shares) > 1:
        interval = mean_interval(shares, level=level, resamples=RESAMPLES, seed=seed)
    yield replace(
        own, n=count, figure="share ordered right", value=float(np.mean(shares)),
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        note=f"{counted(len(shares), 'topic')}, which weigh alike; {ties} pairs of rankings tie",
    )  # fmt: skip


def _told_apart(units: Sequence[Twice], random: Random) -> tuple[int, int, int]:
    """Of pairs of a best ranking and one with a document moved down: how many the judge orders
    rightly, how many tie, and how many there are."""
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
        moved = np.insert(np.delete(gains, old), new, gains[old])
        lost = float(discount @ (gains - moved))
        equal += abs(lost) < 1e-9
        right += lost >= 1e-9
    return right, equal, len(moves)


def length_slope(one: Labelled, ledger: Ledger, *, level: float, seed: int) -> Iterator[Finding]:
    """How the judge's value goes with the length of a text where people's is equal."""
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
        why = f"people labelled {counted(len(twice), 'unit')}; it takes {_LEAST_UNITS}"
        yield replace(own, note=f"not to be had: {why}")
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

    drawn = np.random.default_rng(seed).integers(0, len(names), (RESAMPLES, len(names)))
    some = [slope(np.bincount(one, minlength=len(names))[topic].astype(float)) for one in drawn]
    known = [value for value in some if not math.isnan(value)]
    value = slope(np.ones(len(twice)))
    ends = (
        np.quantile(known, [(1 - level) / 2, (1 + level) / 2]) if len(names) > 1 and known else None
    )
    yield replace(
        own, n=len(twice), figure="slope on log length", value=None if math.isnan(value) else value,
        low=None if ends is None else float(ends[0]),
        high=None if ends is None else float(ends[1]),
        note="at equal label by people",
    )  # fmt: skip
