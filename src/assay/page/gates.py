"""The result of a gate as plain values, from which terminal, Markdown and JUnit XML are made."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from assay.measures.ranges import Range


class Verdict(StrEnum):
    """The outcome for a measure, or a whole gate. After the first, worst outcomes come first."""

    PASS = "pass"  # noqa: S105
    REGRESSION = "regression"
    BOUND = "bound"
    INCOMPLETE = "incomplete"
    SKIPPED = "skipped"
    UNCOMPARABLE = "not comparable"


@dataclass(frozen=True, slots=True)
class Tested:
    """A paired test of one measure. Differences are after − before, with the sign reversed if less
    is better, so that values below 0 are worse.

    If labels are missing everything is computed twice, with these at their worst and at their best
    for the present run (``difference``, ``p`` and ``p_holm`` go from worst to best); ``low`` and
    ``high`` bound the intervals of both. ``units`` is the number of independent units among the
    ``n`` questions: sessions, or all questions. The ``tests`` of measures with any changed value
    share the level. ``detectable`` is the loss detected with power .8 at the test's level,
    ``detectable_holm`` at the shared level (None: nothing changed, or too few questions).
    ``needed`` is the number of questions needed to detect the loss asked for (None if these are
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
    """A measure and a gate's findings on it. ``before`` and ``now`` are the scores of the whole run
    (None: undefined or missing). ``bounds`` are sentences on violated bounds, ``held`` on those
    that hold."""

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
    """A question that got worse by a measure, or may have if labels are missing, with its text if
    known."""

    question: str
    text: str
    measure: str
    before: Range
    now: Range
    difference: Range


@dataclass(frozen=True)
class Gate:
    """The result of a gate. ``uncomparable`` says what differs if the runs cannot be compared;
    ``same`` counts questions unchanged in both, of ``of`` in the baseline. Of these, ``answers``
    and ``passages`` count those whose answer or passages changed, ``neither`` those with no change,
    ``relabelled`` those of the latter with other values by a gated measure. ``absent`` are the
    questions missing from the run, ``losers`` by measure those that got worse most. ``stands_on``
    are sentences, ``evaluation`` is the title of the folder."""

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
        """The gate as JSON."""
        return {**asdict(self), "title": self.title, "exit_status": self.exit_status}
