"""Findings of an audit: the new verdicts compared with the judge's earlier ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from assay.api.audit.asking import ORDER, REPEAT, Ask, Trial, repeated
from assay.labellers.audited import STRIDE
from assay.measures.bootstrap import Interval
from assay.model.labels import Label, without_reasons
from assay.statistics.paired import by_topic, look_level, mcnemar, paired_shares, wilson
from assay.systems.asking import usable
from assay.tasks.audit.views import Listed, View
from assay.tasks.base import canonical

COLUMNS = (
    "probe", "variant", "of", "labeller", "n", "missing", "up", "down", "before", "after",
    "figure", "value", "low", "high", "p", "against", "note",
)  # fmt: skip

CHANGE, EQUAL = "change", "share equal"
RESAMPLES = 2000
_FEW_TOPICS = 10  # with fewer topics, an interval by topic is rough

LabelsBySample = Mapping[tuple[str, int], Label]
"""Labels of an audit by unit hash and sample number."""


@dataclass(frozen=True)
class Example:
    """A unit that shows the effect of a probe: the judge's verdicts ``before`` and ``after``,
    without reasons, and the contents they refer to."""

    topic: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    unit: Mapping[str, Any]
    changed: Mapping[str, Any]


@dataclass(frozen=True)
class Finding:
    """The result of one variant of a probe, for a task (or measure) and a labeller.

    ``n`` units have both verdicts; ``missing`` units lack a usable label. ``up`` and ``down`` count
    the verdicts that rose and fell. ``before`` and ``after`` are shares of yes, or means of graded
    verdicts if no grade is singled out. ``figure`` names the ``value``, whose interval runs from
    ``low`` to ``high``; ``p`` comes from the exact McNemar test or the paired bootstrap by topic.
    What cannot be computed is None, and ``note`` says why. ``against`` is the variant that
    ``before`` belongs to.
    """

    probe: str
    variant: str
    of: str
    labeller: str
    n: int = 0
    missing: int = 0
    up: int | None = None
    down: int | None = None
    before: float | None = None
    after: float | None = None
    figure: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    against: str = ""
    note: str = ""
    alarm: bool = False
    example: Example | None = None

    @property
    def row(self) -> tuple[object, ...]:
        """The cells of the finding under :data:`COLUMNS`."""
        return tuple(getattr(self, name) for name in COLUMNS)


@dataclass(frozen=True)
class VerdictPair:
    """Two verdicts to compare."""

    ask: Ask
    before: Mapping[str, Any]
    after: Mapping[str, Any]

    @property
    def equal(self) -> bool:
        return canonical(without_reasons(self.before)) == canonical(without_reasons(self.after))


def findings(trial: Trial, labels: LabelsBySample, *, level: float, seed: int) -> Iterator[Finding]:
    """The findings of a trial, or one finding that says why there are none."""
    nothing = Finding(trial.probe, "", trial.of.task.name, trial.of.labeller.id.name)
    if not trial.asks:
        yield replace(nothing, note=trial.why)
        return
    variants = dict.fromkeys(ask.variant for ask in trial.asks)
    if trial.probe == REPEAT:
        yield _equal(nothing, "the same again", trial.asks, labels, trial.of.view, level)
        return
    for variant in variants:
        asks = [ask for ask in trial.asks if ask.variant == variant]
        pairs, missing = _pairs(trial, asks, labels)
        own = replace(nothing, variant=variant, missing=missing, against=asks[0].against)
        if not pairs:
            yield replace(own, note="it got no usable label")
        elif trial.of.view is None:
            continue
        elif trial.probe == ORDER and trial.of.view.listed is not None:
            yield from _orders(own, trial.of.view, trial.of.view.listed, pairs, level)
        else:
            yield _changed(own, trial, trial.of.view, pairs, level, seed)


def _pairs(
    trial: Trial, asks: Sequence[Ask], labels: LabelsBySample
) -> tuple[list[VerdictPair], int]:
    """The verdict pairs of a variant, and the number of pairs in which a verdict is missing."""
    other = {
        (ask.base.unit, ask.variant): ask.request.unit_hash for ask in trial.asks
    }  # each unit as changed by the variant
    pairs = []
    for ask in asks:
        after = usable(labels.get((ask.request.unit_hash, ask.request.sample)))
        before: Mapping[str, Any] | None = ask.base.verdict
        if ask.against:
            unit = other.get((ask.base.unit, ask.against), "")
            before = usable(labels.get((unit, 0)))
        if before is not None and after is not None:
            pairs.append(VerdictPair(ask, before, after))
    return pairs, len(asks) - len(pairs)


def _example(pair: VerdictPair) -> Example:
    content = pair.ask.request.content
    return Example(
        pair.ask.base.topic, without_reasons(pair.before), without_reasons(pair.after),
        pair.ask.base.request.content, content,
    )  # fmt: skip


def _first(pairs: Sequence[VerdictPair], wanted: Callable[[VerdictPair], bool]) -> Example | None:
    return next((_example(pair) for pair in pairs if wanted(pair)), None)


def low_high(interval: Interval | None) -> dict[str, Any]:
    """An interval as the fields of a finding, which are None if there is no interval."""
    return {} if interval is None else {"low": interval.low, "high": interval.high}


def _flips(values: Sequence[tuple[float, float]]) -> dict[str, Any]:
    return {
        "up": sum(after > before for before, after in values),
        "down": sum(after < before for before, after in values),
    }


def _changed(
    own: Finding,
    trial: Trial,
    view: View,
    pairs: Sequence[VerdictPair],
    level: float,
    seed: int,
) -> Finding:
    """Compare verdicts before and after, for a variant that changes what is judged."""
    chosen = trial.kind != "all"  # the judge answers yes, or no, to everything
    binary = view.binary or chosen
    least = view.top if trial.kind == "yes" else view.positive

    def number(verdict: Mapping[str, Any]) -> float:
        value = view.value(verdict)
        return float(value >= least) if binary else value

    values = [(number(pair.before), number(pair.after)) for pair in pairs]
    flips, n = _flips(values), len(values)
    before, after = (sum(some) / n for some in zip(*values, strict=True))
    more: dict[str, Any] = {"n": n, **flips, "figure": CHANGE}
    note = ""
    if not binary:
        topics = [pair.ask.base.topic for pair in pairs]
        first, second = zip(*values, strict=True)
        before, after, interval, p = by_topic(
            first, second, topics, level=level, resamples=RESAMPLES, seed=seed
        )
        more["p"] = p
        count = len(set(topics))
        if p is None:
            note = "one topic: no interval" if count < 2 else "equal on all topics: no interval"
        else:
            more |= low_high(interval)
            note = f"by topic, of which there are {count}" if count < _FEW_TOPICS else ""
    elif chosen and not own.against:
        seen = wilson(after, n, level=level)
        more |= {"low": seen.low - before, "high": seen.high - before}
        note = f"chosen by {'the highest verdict' if trial.kind == 'yes' else 'their no'}: no test"
    else:
        more |= low_high(paired_shares(flips["up"], flips["down"], n, level=level))
        more["p"] = mcnemar(flips["up"], flips["down"])

    def fooled(pair: VerdictPair) -> bool:
        was, now = number(pair.before), number(pair.after)
        return {"yes": now > 0, "no": now > was}.get(trial.kind, now != was)

    return replace(
        own, before=before, after=after, value=after - before, note=note,
        example=_first(pairs, fooled), **more,
    )  # fmt: skip


def _equal(
    own: Finding,
    variant: str,
    asks: Sequence[Ask],
    labels: LabelsBySample,
    view: View | None,
    level: float,
) -> Finding:
    """Share of labels that stay the same when a question is repeated. A unit counts once, however
    often it was asked."""
    pairs = [
        VerdictPair(ask, ask.base.verdict, after)
        for ask in asks
        if (after := usable(labels.get((ask.request.unit_hash, ask.request.sample))))
    ]
    missing = len(asks) - len(pairs)
    if not pairs:
        return replace(own, variant=variant, missing=missing, note="it got no usable label")
    units: dict[str, list[bool]] = {}
    for pair in pairs:
        units.setdefault(pair.ask.base.unit, []).append(pair.equal)
    share = sum(sum(some) / len(some) for some in units.values()) / len(units)
    more: dict[str, Any] = {}
    if view is not None:
        values = [(view.value(pair.before), view.value(pair.after)) for pair in pairs]
        more = _flips(values)
        more["before"], more["after"] = (
            sum(some) / len(some) for some in zip(*values, strict=True)
        )
    return replace(
        own, variant=variant, n=len(units), missing=missing, figure=EQUAL, value=share,
        example=_first(pairs, lambda pair: not pair.equal),
        **low_high(wilson(share, len(units), level=level)), **more,
    )  # fmt: skip


def _orders(
    own: Finding, view: View, listed: Listed, pairs: Sequence[VerdictPair], level: float
) -> Iterator[Finding]:
    """Compare verdicts on reordered lists: whether entries are judged as before, and in how many
    units more entries rise when moved nearer to the beginning (primacy) or the end (recency).
    Entries of a unit are not independent, so each unit counts once."""
    entries = listed.values
    same, early, late = 0.0, 0, 0
    ups = downs = 0
    odd: VerdictPair | None = None
    for pair in pairs:
        ask = pair.ask
        if entries is None:
            equal = [view.value(pair.before) == view.value(pair.after)]
        else:
            before = entries(ask.base.request.content, pair.before)
            after = entries(ask.request.content, pair.after)
            both = [(before[old], after[new], new - old) for new, old in enumerate(ask.order)]
            equal = [x == y for x, y, _ in both]
            rises = [int(y > x) - int(y < x) for x, y, _ in both]
            ups, downs = ups + rises.count(1), downs + rises.count(-1)
            lean = sum(rise * (-1 if way > 0 else way < 0)
                       for rise, (_, _, way) in zip(rises, both, strict=True))  # fmt: skip
            early, late = early + (lean > 0), late + (lean < 0)
        same += sum(equal) / len(equal)
        if odd is None and not all(equal):
            odd = pair
    share = same / len(pairs)
    yield replace(
        own, n=len(pairs), figure="position consistency", value=share,
        up=None if entries is None else ups, down=None if entries is None else downs,
        example=None if odd is None else _example(odd),
        **low_high(wilson(share, len(pairs), level=level)),
    )  # fmt: skip
    if entries is not None:
        n = len(pairs)
        yield replace(
            own, variant="primacy − recency", n=n, missing=0, up=early, down=late,
            figure="(primacy − recency)/n", value=(early - late) / n,
            p=mcnemar(early, late), **low_high(paired_shares(early, late, n, level=level)),
        )  # fmt: skip


def drift_findings(trial: Trial, labels: LabelsBySample, *, level: float) -> Iterator[Finding]:
    """Compare each day's repeated labels with the original ones; ``labels`` holds those of all
    days. The intervals hold jointly over any number of days, and so does the alarm, raised if a
    day's exact test is significant at that day's level."""
    own = Finding(trial.probe, "", trial.of.task.name, trial.of.labeller.id.name)
    if not trial.asks:
        yield replace(own, note=trial.why)
        return
    view = trial.of.view
    days = sorted({sample // STRIDE for _, sample in labels})
    for look, day in enumerate(days, 1):
        own_level = look_level(look, level=level)
        asks = [replace(ask, request=repeated(ask.base, day)) for ask in trial.asks]
        named = date.fromordinal(day).isoformat()
        one = _equal(own, named, asks, labels, view, own_level)
        if view is None or not one.n:
            yield one
            continue
        up, down = one.up or 0, one.down or 0
        p = mcnemar(up, down)
        alarm = p is not None and p < 1 - own_level
        note = f"{one.value or 0:.0%} of the labels are equal"
        yield replace(
            one, figure="share risen − share fallen", value=(up - down) / one.n, p=p, alarm=alarm,
            note=f"ALARM: it judges differently now; {note}" if alarm else note,
            **low_high(paired_shares(up, down, one.n, level=own_level)),
        )  # fmt: skip
