"""Decide whether a run may be released: bounds on its scores, and tests against a baseline.

All tests are paired, over the questions unchanged in both. The difference on a question with the
same answer and passages is 0 even if its labels differ now, as the run did not change.
(The specification of the protocol rag, section 4.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from assay.api.compared import completed
from assay.api.gate_terms import FEWEST, Terms, gated
from assay.formats.baselines import Baseline, GatedQuestion
from assay.formats.confidence_matrices import Confident, at_end
from assay.measures.arrays import Bools, Floats
from assay.measures.confidence import MEASURES, confidence_measure
from assay.measures.ranges import Range
from assay.model.errors import SettingsError
from assay.model.wording import counted, joined, printable
from assay.page.gates import Gate, Lost, Tested, Verdict
from assay.protocols.label_shares import MAX_SHARE_DIFFERENCE
from assay.statistics.confidence import paired_differences
from assay.statistics.significance import holm
from assay.statistics.worsening import (
    by_session,
    detectable_loss,
    jackknife_spread,
    questions_needed,
    session_interval,
    sign_flip_p,
)

_PAIR = ("Confidence", "Accuracy")
_RESAMPLES, _FLIPS = 2000, 10_000  # of intervals, and of tests that are not exact
_MOST_LOSERS = 10


def gate(
    now: Baseline,
    before: Baseline | None,
    terms: Terms,
    *,
    texts: Mapping[str, str],
    bounds: Mapping[str, Range] | None = None,
    stands_on: Sequence[str] = (),
) -> Gate:
    """Compare a run with a baseline (None: only check bounds). ``texts`` are the texts of
    questions. ``bounds`` are ranges to check bounds against instead of a score's floor and ceiling.

    Raises SettingsError for an unknown measure.
    """
    _check(now, terms)
    found = Gate(now.protocol, now.run, Verdict.PASS, (), terms.alpha, terms.prove,
                 stands_on=tuple(stands_on))  # fmt: skip
    pairs: list[tuple[GatedQuestion, GatedQuestion]] = []
    if before is not None:
        found = replace(found, stands_on=(*stands_on, *_others(before, now)))
        found, pairs = _matched(found, before, now, terms)
        if found.uncomparable:
            return replace(found, verdict=Verdict.UNCOMPARABLE)
    if before is not None and (tasks := _unevenly_by_people(before, now)):
        said, pairs = _by_one_kind(before, now, pairs, tasks)
        found = replace(found, stands_on=(*found.stands_on, said))
    tested, losers = _tested(pairs, terms) if before is not None else ({}, ())
    measures = tuple(
        gated(name, rule, now, before, tested.get(name), terms, bounds or {})
        for name, rule in terms.rules.items()
    )
    worst = [one.verdict for one in measures if one.verdict is not Verdict.PASS]
    losers = tuple(
        replace(one, text=texts.get(one.question, "")) for one in sorted(losers, key=_loss)
    )
    verdict = min(worst, key=list(Verdict).index, default=Verdict.PASS)
    return replace(found, measures=measures, losers=losers, verdict=verdict)


# -- what may be compared -------------------------------------------------------------------------


def _check(now: Baseline, terms: Terms) -> None:
    for name, rule in terms.rules.items():
        if name not in now.measures:
            known = joined(now.measures, 60)
            raise SettingsError(f"Run {now.run} has no measure {name}; it has {known}.")
        if rule.loss is None:
            continue
        confident = name in MEASURES and any(
            all(part in one.scores for part in _PAIR) for one in now.questions
        )
        if not confident and not any(name in one.scores for one in now.questions):
            raise SettingsError(
                f"{name} has no values for single questions, so it cannot be tested. Set a bound "
                f"instead: --min {name}=VALUE."
            )
        if rule.loss and not _is_mean(name, now.questions):
            raise SettingsError(
                f"{name} is not a mean over questions, so it can only be tested with a loss of 0. "
                f"Leave the loss of {name} out, or set a bound: --min {name}=VALUE."
            )


def _is_mean(name: str, questions: Sequence[GatedQuestion]) -> bool:
    return name not in MEASURES or any(name in one.scores for one in questions)


def _matched(
    found: Gate, before: Baseline, now: Baseline, terms: Terms
) -> tuple[Gate, list[tuple[GatedQuestion, GatedQuestion]]]:
    """Match the questions unchanged in both, and check whether the two may be compared at all."""
    old, new = before.by_id, now.by_id
    both = [name for name in old if name in new]
    same = [name for name in both if old[name].asked == new[name].asked]
    pairs = [(old[name], new[name]) for name in same]
    reasons = list(_differences(before, now))
    if len(same) < FEWEST or len(same) < terms.share * len(old):
        reasons.append(
            f"only {len(same)} of {counted(len(old), 'question')} of the baseline are unchanged "
            f"here; at least {max(FEWEST, int(np.ceil(terms.share * len(old))))} are needed "
            f"(questions = {terms.share:g} in [gate], and never fewer than {FEWEST})"
        )
    answers, passages = (
        sum(a.handed_in[part] != b.handed_in[part] for a, b in pairs) for part in (0, 1)
    )
    neither = [pair for pair in pairs if _untouched(*pair)]
    return replace(
        found,
        against=f"{before.run}, {before.made[:10]}",
        uncomparable=tuple(reasons),
        same=len(same),
        of=len(old),
        answers=answers,
        passages=passages,
        neither=len(neither),
        relabelled=sum(
            any(a.scores.get(name) != b.scores.get(name) for name in terms.rules)
            for a, b in neither
        ),
        new=tuple(name for name in new if name not in old),
        gone=tuple(name for name in old if name not in new),
        changed=tuple(name for name in both if old[name].asked != new[name].asked),
    ), pairs


def _differences(before: Baseline, now: Baseline) -> Iterator[str]:
    """Yield a sentence for each difference in what the scores are based on."""
    for what in ("protocol", "policy"):
        a, b = getattr(before, what), getattr(now, what)
        if a != b:
            yield f"{what}: {a} in the baseline, {b} here"
    for name in sorted({*before.settings, *now.settings}):
        here, there = now.settings.get(name), before.settings.get(name)
        if here != there:
            yield f"setting {name}: {there} in the baseline, {here} here"
    for name in sorted({*before.tasks, *now.tasks}):
        if name not in before.tasks or name not in now.tasks:
            where = "in the baseline" if name in before.tasks else "here"
            yield f"task {name} is asked only {where}"
            continue
        a, b = before.tasks[name], now.tasks[name]
        if a.version != b.version:
            yield f"task {name}: version {a.version} in the baseline, {b.version} here"
        if a.labeller != b.labeller:
            yield f"labeller of {name}: {a.labeller} in the baseline, {b.labeller or 'none'} here"
        elif a.params != b.params:
            yield (
                f"labeller of {name}: other parameters of {a.labeller} (a version, a setting, a "
                "calibration)"
            )
        if a.prompt != b.prompt:
            yield f"prompt of {name}: different wording"


def _unevenly_by_people(before: Baseline, now: Baseline) -> list[str]:
    """Tasks of which people labelled a different share for the baseline than for the run."""
    return [
        name
        for name in sorted({*before.people, *now.people})
        if abs(before.people.get(name, 0.0) - now.people.get(name, 0.0)) > MAX_SHARE_DIFFERENCE
    ]


def _by_one_kind(
    before: Baseline,
    now: Baseline,
    pairs: list[tuple[GatedQuestion, GatedQuestion]],
    tasks: Sequence[str],
) -> tuple[str, list[tuple[GatedQuestion, GatedQuestion]]]:
    """A remark on the uneven shares, and the pairs, scored by the machine's labels alone if both
    sides have them: a person's label on one side and a judge's on the other would differ by the
    judge's errors."""
    shares = "; ".join(
        f"{name}: {100 * before.people.get(name, 0.0):.0f} % before, "
        f"{100 * now.people.get(name, 0.0):.0f} % now"
        for name in tasks
    )
    said = f"People labelled more on one side than on the other ({shares})"
    if before.machine and now.machine:
        said += (
            ": tests compare only the judge's labels on both sides. Scores before and now, and "
            "bounds, also use people's labels."
        )
        return said, [(a.of_machine, b.of_machine) for a, b in pairs]
    said += (
        ": a difference may be one between people and the judge. Use --policy machine, for the "
        "baseline too."
    )
    return said, pairs


def _others(before: Baseline, now: Baseline) -> Iterator[str]:
    """Remarks on what may have changed under the same name: a server's model, and Assay itself."""
    for name, task in now.tasks.items():
        was = before.tasks[name].models if name in before.tasks else ()
        if was and (new := set(task.models) - set(was)):
            models = (joined(sorted(map(printable, some)), 5) for some in (was, new))
            yield (
                "{}: the server called its model {} for the baseline, and {} for labels here. If "
                "these are different models, a difference may come from them.".format(name, *models)
            )
    if before.assay != now.assay:
        yield f"The baseline was written by Assay {before.assay}; this is {now.assay}."


def _untouched(a: GatedQuestion, b: GatedQuestion) -> bool:
    """Whether a run's texts are known to be the same; not if the protocol does not report them."""
    return a.handed_in == b.handed_in and any(a.handed_in)


# -- tests ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _End:
    """A test with missing labels assumed to be at one end. ``units`` is the number of independent
    units (questions or sessions), ``spread`` their variation. ``p`` is None if no value
    differs: then nothing can be worse, and the test does not count in Holm's correction."""

    difference: float
    low: float
    high: float
    p: float | None
    spread: float
    n: int
    units: int


def _tested(
    pairs: Sequence[tuple[GatedQuestion, GatedQuestion]], terms: Terms
) -> tuple[dict[str, Tested], tuple[Lost, ...]]:
    """The tests of all measures, corrected together, and the questions with the largest losses."""
    ends: dict[str, tuple[_End, _End]] = {}
    losers: list[Lost] = []
    for name, rule in terms.rules.items():
        if rule.loss is None:
            continue
        if _is_mean(name, [b for _, b in pairs]):
            made = _of_means(name, rule.loss, pairs, terms)
            losers += _losers(name, pairs, terms)
        else:
            made = _of_confidences(name, pairs, terms)
        if made is not None:
            ends[name] = made
    corrected = [
        dict(zip(ends, holm([of[end].p for of in ends.values()]), strict=True)) for end in (0, 1)
    ]
    tests = max(1, *(sum(of[end].p is not None for of in ends.values()) for end in (0, 1)))
    changed = sum(not _untouched(*pair) for pair in pairs)
    found = {}
    for name, (worst, best) in ends.items():
        loss, spread = terms.rules[name].loss or 0.0, max(worst.spread, best.spread)
        units = worst.units
        seen = detectable_loss(spread, units, terms.alpha)
        needed = questions_needed(spread, 2 * loss, terms.alpha)
        found[name] = Tested(
            loss=loss,
            n=worst.n,
            units=units,
            tests=tests,
            difference=Range(worst.difference, best.difference),
            low=min(worst.low, best.low),
            high=max(worst.high, best.high),
            p=Range(_or_one(worst.p), _or_one(best.p)),
            p_holm=Range(*(_or_one(of[name]) for of in corrected)),
            detectable=seen,
            detectable_holm=detectable_loss(spread, units, terms.alpha / tests),
            needed=math.ceil(needed * worst.n / units)
            if needed is not None and seen is not None and seen > 2 * loss
            else None,
            changed=changed,
        )
    return found, tuple(losers)


def _or_one(p: float | None) -> float:
    return 1.0 if p is None else p


def _values(name: str, one: GatedQuestion, terms: Terms) -> Range | None:
    """A question's value, oriented so that higher is better, plus what silence counts."""
    ends = one.scores.get(name)
    if ends is None:
        return None
    more = (terms.silence or {}).get(name)
    added = one.scores.get(more, (0.0, 0.0)) if more else (0.0, 0.0)
    sign = terms.sign(name)
    return Range(sign * (ends[0] + added[0]), sign * (ends[1] + added[1]))


def _differences_of(
    name: str, pairs: Sequence[tuple[GatedQuestion, GatedQuestion]], terms: Terms
) -> list[tuple[GatedQuestion, Range]]:
    """The range of now − before, from worst to best case, for each question with both values."""
    found = []
    for old, new in pairs:
        a, b = _values(name, old, terms), _values(name, new, terms)
        if a is None or b is None:
            continue
        none = Range.certain(0.0)
        d = none if _untouched(old, new) else Range(b.floor - a.ceiling, b.ceiling - a.floor)
        found.append((new, d))
    return found


def _of_means(
    name: str,
    loss: float,
    pairs: Sequence[tuple[GatedQuestion, GatedQuestion]],
    terms: Terms,
) -> tuple[_End, _End] | None:
    every = _differences_of(name, pairs, terms)
    sessions = [one.session or f"\0{one.id}" for one, _ in every]
    units = len(set(sessions))
    if units < FEWEST:
        return None
    made = []
    for end in (0, 1):
        d = np.array([both[end] for _, both in every])
        interval = session_interval(d, sessions, resamples=_RESAMPLES)
        assert interval is not None  # noqa: S101 (of so many units there is one)
        p = None
        if d.any() or terms.prove:
            p = sign_flip_p(d + loss, sessions, upper=terms.prove, permutations=_FLIPS)
        spread = float(by_session(d, sessions)[0].std(ddof=1)) * units / len(d)
        made.append(_End(float(d.mean()), interval.low, interval.high, p, spread, len(d), units))
    return made[0], made[1]


def _of_confidences(
    name: str, pairs: Sequence[tuple[GatedQuestion, GatedQuestion]], terms: Terms
) -> tuple[_End, _End] | None:
    """A measure over all answers at once, as HMR: answers are swapped question by question."""
    if len(pairs) < FEWEST:
        return None
    sign = terms.sign(name)
    made = []
    for now_at, before_at in (("floor", "ceiling"), ("ceiling", "floor")):
        new = _answers(name, [b for _, b in pairs], now_at)
        old = _answers(name, [a for a, _ in pairs], before_at)
        untouched = np.array([_untouched(*pair) for pair in pairs])
        new[untouched] = old[untouched]
        p, c = np.stack([new[:, 0], old[:, 0]], 1), np.stack([new[:, 1], old[:, 1]], 1) > 0.5
        columns = [(0, 1)] if sign > 0 else [(1, 0)]
        test = partial(
            paired_differences, measure=name, pairs=columns, level=0.95, permutations=_FLIPS,
            seed=0, exact_limit=2**17,
        )  # fmt: skip
        (one,) = test(p, c, resamples=_RESAMPLES)
        if one.difference is None or one.p_below is None:
            return None
        spread = jackknife_spread(partial(_difference, name, p, c, sign), len(p))
        low, high = (one.interval.low, one.interval.high) if one.interval else (-1.0, 1.0)
        p_below = one.p_below if (new != old).any() else None
        made.append(_End(one.difference, low, high, p_below, spread or 0.0, len(p), len(p)))
    return made[0], made[1]


def _difference(
    name: str, p: Floats, c: Bools, sign: float, places: npt.NDArray[np.int64]
) -> float | None:
    a, b = (confidence_measure(name, p[places, run], c[places, run]) for run in (0, 1))
    return None if a is None or b is None else sign * (a - b)


def _answers(name: str, questions: Sequence[GatedQuestion], end: str) -> Floats:
    """Confidence and correctness of every question for which the measure is at its end."""
    given = {}
    for one in questions:
        p, c = (one.scores.get(part) for part in _PAIR)
        right = None if c is None or c[0] != c[1] else c[0]
        given[one.id] = Confident(None if p is None else p[0], right)
    found = at_end(given, end, partial(completed, name, end))
    return np.array([found[one.id] for one in questions])


def _losers(
    name: str, pairs: Sequence[tuple[GatedQuestion, GatedQuestion]], terms: Terms
) -> list[Lost]:
    """The questions with the largest losses by a measure: certain losses first."""
    before = {old.id: old for old, _ in pairs}
    lost = [
        Lost(one.id, "", name, Range(*before[one.id].scores[name]), Range(*one.scores[name]), d)
        for one, d in _differences_of(name, pairs, terms)
        if d.floor < 0
    ]
    return sorted(lost, key=_loss)[:_MOST_LOSERS]


def _loss(one: Lost) -> tuple[float, float, str]:
    """Sort key of a question: its least loss, then its greatest."""
    return one.difference.ceiling, one.difference.floor, one.question
