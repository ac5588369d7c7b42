"""The terms of a gate, and its verdict on each measure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from assay.formats.baselines import Baseline
from assay.measures.confidence import LOWER_IS_BETTER
from assay.measures.ranges import Range
from assay.model.errors import SettingsError
from assay.page.gates import Gated, Tested, Verdict
from assay.page.wording import number
from assay.protocols.config import GateMeasure

FEWEST = 5
"""Least number of common questions for a comparison."""

_OPEN = (
    "it depends on what is not known: labels that are missing (assay judge asks for them, "
    "--retry-failed for failed ones) or texts that are cut or absent (assay score names them)"
)


@dataclass(frozen=True)
class Terms:
    """How a gate tests. ``lower`` are the measures of which lower is better. ``silence`` maps some
    of them to the measure of saying nothing that is added to them."""

    rules: Mapping[str, GateMeasure]
    alpha: float = 0.05
    share: float = 0.95
    prove: bool = False
    lower: frozenset[str] = frozenset()
    silence: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        losses = [rule.loss for rule in self.rules.values() if rule.loss is not None]
        if self.prove and not (losses and all(losses)):
            raise SettingsError(
                "--prove asks whether a run is shown not to be worse than the loss allowed: give "
                "each tested measure a loss above 0, e.g. --no-worse MEASURE=0.02. A loss of 0 "
                "cannot be shown."
            )

    def sign(self, measure: str) -> float:
        """−1 if lower is better, otherwise 1."""
        return -1.0 if measure in self.lower or measure in LOWER_IS_BETTER else 1.0


def gated(
    name: str,
    rule: GateMeasure,
    now: Baseline,
    before: Baseline | None,
    tested: Tested | None,
    terms: Terms,
    bounds: Mapping[str, Range],
) -> Gated:
    ends = _ends(now, name)
    held = list(_bounds(name, rule, bounds.get(name, ends), corrected=name in bounds))
    broken = tuple(said for said, holds in held if not holds)
    verdict, why = Verdict.PASS, ""
    if rule.loss is not None and before is not None:
        verdict, why = _verdict(tested, terms)
    if broken and verdict is not Verdict.REGRESSION:
        verdict = Verdict.BOUND
    was = None if before is None else _ends(before, name)
    fulfilled = tuple(said for said, holds in held if holds)
    return Gated(name, was, ends, verdict, tested, broken, fulfilled, why)


def _verdict(tested: Tested | None, terms: Terms) -> tuple[Verdict, str]:
    """The verdict of a test, and why. A regression or a pass needs the same result whatever missing
    labels turn out to be; if there may be a loss, a pass also needs enough questions to find it."""
    if tested is None:
        return Verdict.SKIPPED, f"fewer than {FEWEST} questions, or sessions, have a value in both"
    failed = [(p < terms.alpha) is not terms.prove for p in tested.p_holm]
    if all(failed):
        return Verdict.REGRESSION, "not shown to be good enough" if terms.prove else ""
    if any(failed):
        return Verdict.INCOMPLETE, _OPEN
    least = tested.tests * 0.5**tested.units
    if not terms.prove and least >= terms.alpha and tested.difference.floor < -tested.loss:
        return Verdict.INCOMPLETE, (
            "it may have lost, but no loss can be found here: even a loss on each of its "
            f"{tested.units} questions or sessions would have p = {number(least)}. Ask more "
            "questions, test fewer measures, or set bounds only"
        )
    return Verdict.PASS, ""


def _ends(of: Baseline, name: str) -> Range | None:
    one = of.measures.get(name)
    if one is None or one.floor is None or one.ceiling is None:
        return None
    return Range(one.floor, one.ceiling)


def _bounds(
    name: str, rule: GateMeasure, ends: Range | None, *, corrected: bool
) -> Iterator[tuple[str, bool]]:
    """Each bound in words, and whether it holds."""
    whose = "end of the corrected interval" if corrected else "end"
    for limit, which, sign in ((rule.min, min, 1.0), (rule.max, max, -1.0)):
        if limit is None:
            continue
        kind, side = ("min", "lower") if sign > 0 else ("max", "upper")
        if ends is None:
            yield f"{name} is undefined ({kind} {limit:g})", False
            continue
        value = which(ends)
        yield (
            f"{name} {number(value)} ({side} {whose}), {kind} {limit:g}",
            sign * value >= sign * limit,
        )
