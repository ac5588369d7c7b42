"""What a gate found, as plain values: terminal, Markdown and JUnit XML are drawn from these."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from assay.measures.ranges import Range


class Verdict(StrEnum):
    """What came of a measure, or of a whole gate: after the first the worst ones stand first."""

    PASS = "pass"  # noqa: S105
    REGRESSION = "regression"
    BOUND = "bound"
    INCOMPLETE = "incomplete"
    SKIPPED = "skipped"
    UNCOMPARABLE = "not comparable"


@dataclass(frozen=True, slots=True)
class Tested:
    """A paired test of one measure. All differences are after − before with the sign turned where
    less is better, so that below 0 is worse.

    Where labels are missing everything is had twice: with the missing ones at their worst and at
    their best for the run as it is now (``difference``, ``p`` and ``p_holm`` from worst to best).
    ``low`` and ``high`` bound the interval of both. ``units`` are what is independent of the ``n``
    questions, sessions or all of them. ``tests`` share the level: those of measures of which any
    value differs. ``detectable`` is the loss that the test would find with power .8 at its level,
    ``detectable_holm`` at the level that is shared (None: nothing changed, or too few questions),
    ``needed`` how many questions it would take to see what it is asked to see (None where these are
    enough).
    """

    loss: float
    n: int
    units: int
    tests: int
    difference: Range
    low: float
    high: float
    p: Range
    p_holm: Range
    detectable: float | None
    detectable_holm: float | None
    needed: int | None = None
    changed: int = 0


@dataclass(frozen=True, slots=True)
class Gated:
    """A measure with what a gate asks of it. ``before`` and ``now`` are the scores of the whole
    run (None: undefined or not there). ``bounds`` are sentences of bounds that are broken, ``held``
    those that hold."""

    measure: str
    before: Range | None
    now: Range | None
    verdict: Verdict
    tested: Tested | None = None
    bounds: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class Lost:
    """A question that lost by a measure, or may have where labels are missing, with its text as
    far as it is known."""

    question: str
    text: str
    measure: str
    before: Range
    now: Range
    difference: Range


@dataclass(frozen=True)
class Gate:
    """What a gate found. ``uncomparable`` says what differs where nothing may be compared;
    ``same`` is how many questions both have unchanged, of ``of`` in the baseline. ``answers`` and
    ``passages`` count those of them whose answer, or passages, are others now, ``neither`` those
    that have the same; ``relabelled`` of these have other values by a gated measure. ``absent`` are
    the questions that the run has nothing of, ``losers`` by measure those that lost most.
    ``stands_on`` are sentences, ``evaluation`` is the title of the folder."""

    protocol: str
    run: str
    verdict: Verdict
    measures: tuple[Gated, ...]
    alpha: float
    prove: bool = False
    against: str = ""
    uncomparable: tuple[str, ...] = ()
    same: int = 0
    of: int = 0
    answers: int = 0
    passages: int = 0
    neither: int = 0
    relabelled: int = 0
    new: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    losers: tuple[Lost, ...] = ()
    stands_on: tuple[str, ...] = ()
    evaluation: str = ""

    @property
    def title(self) -> str:
        """The verdict in words."""
        failed = [one.measure for one in self.measures if one.verdict is not Verdict.PASS]
        of = f" ({self.evaluation})" if self.evaluation else ""
        if self.verdict is Verdict.PASS:
            proven = ", shown not to be worse than allowed" if self.prove else ""
            return f"Gate passed: run {self.run}{proven}{of}"
        if self.verdict is Verdict.UNCOMPARABLE:
            return f"Gate: run {self.run} cannot be compared with the baseline{of}"
        return f"Gate failed: run {self.run}, {', '.join(failed)}{of}"

    @property
    def exit_status(self) -> int:
        """0 pass, 1 regression, bound or incomplete, 2 not comparable."""
        return {Verdict.PASS: 0, Verdict.UNCOMPARABLE: 2}.get(self.verdict, 1)

    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**asdict(self), "title": self.title, "exit_status": self.exit_status}
