"""What a comparison of runs found: which differences are real."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.api.compare_inputs import Comparable, compared
from assay.api.reading import Note
from assay.api.undefined import explained, undefined_values
from assay.formats.confidence_matrices import ConfidenceMatrix
from assay.formats.score_matrices import ScoreMatrix
from assay.model.errors import SettingsError
from assay.model.wording import counted
from assay.statistics.comparison import Comparison, PairComparison, Test

COLUMNS = (
    "measure", "run_a", "run_b", "difference", "low", "high", "p", "p_adjusted", "effect",
)  # fmt: skip
TESTS: dict[Test, str] = {
    "tukey": "randomised Tukey HSD, which covers all pairs by itself",
    "t": "paired t-test, Holm's correction over all pairs",
    "randomisation": "paired randomisation test, Holm's correction over all pairs",
    "bootstrap": "paired bootstrap test, Holm's correction over all pairs",
}
TANGLED = "so many pairs differ in such a tangle that thousands would be needed"
_SAME_EVERYWHERE = "the difference is the same on every topic"
_NO_VARIANCE = "the residual variance is 0"
_NO_MEAN = "the measure is no mean over topics"


@dataclass(frozen=True, slots=True)
class Compared:
    """What is compared by one measure and what came of the test."""

    name: str
    matrix: ScoreMatrix | ConfidenceMatrix
    result: Comparison

    @property
    def real(self) -> list[PairComparison]:
        """The pairs that differ."""
        return [pair for pair in self.result.pairs if pair.different]

    def rows(self) -> Iterator[tuple[str | float | None, ...]]:
        """The pairs under :data:`COLUMNS`."""
        for pair in self.result.pairs:
            p = pair.p_adjusted if self.result.test == "tukey" else pair.p
            yield (
                self.name, pair.run_a, pair.run_b, pair.difference, pair.low, pair.high, p,
                pair.p_adjusted, pair.effect,
            )  # fmt: skip

    def _reasons(self, pair: PairComparison) -> dict[str, str]:
        """Why what is undefined of a pair is, by its column."""
        found = {}
        if pair.p_adjusted is None:
            found["p"] = _SAME_EVERYWHERE
        if pair.effect is None:
            found["effect"] = _NO_MEAN if self.result.variance is None else _NO_VARIANCE
        return found

    def row_documents(self) -> Iterator[dict[str, Any]]:
        """The pairs as JSON has them."""
        for pair, row in zip(self.result.pairs, self.rows(), strict=True):
            reasons = "; ".join(f"{name}: {why}" for name, why in self._reasons(pair).items())
            yield explained(dict(zip(COLUMNS, row, strict=True)), reasons or None)

    def document(self) -> dict[str, Any]:
        """The runs, and how they were compared, as JSON has it."""
        result = self.result
        tangled = TANGLED if result.letters is None else None
        return {
            "measure": self.name,
            "topics": result.topics,
            "topics_left_out": self.matrix.left_out,
            "runs_left_out": self.matrix.runs_left_out,
            "runs": [
                explained(
                    {
                        "run": run,
                        "mean": mean,
                        "letters": result.letters and result.letters[run],
                        "top": run in result.top,
                    },
                    tangled,
                )
                for run, mean in result.means.items()
            ],
            "different": [[pair.run_a, pair.run_b] for pair in self.real],
            "paired_effects": [
                explained(
                    {"run_a": pair.run_a, "run_b": pair.run_b, "effect": pair.paired_effect},
                    (_SAME_EVERYWHERE if result.variance else _NO_MEAN)
                    if pair.paired_effect is None
                    else None,
                )
                for pair in result.pairs
            ],
            "residual_variance": result.variance and result.variance.value,
            "permutations": result.permutations,
            "exact": result.exact,
        }

    def undefined(self, mark: str) -> Iterator[str]:
        """What is undefined and why."""
        if self.result.variance is None:
            yield f"{mark} is undefined: {_NO_MEAN} (effect)."
            return
        yield from undefined_values(
            mark,
            (
                (f"{name} of {pair.run_a} and {pair.run_b}", reason)
                for pair in self.result.pairs
                for name, reason in self._reasons(pair).items()
            ),
        )

    def hopeless(self) -> str | None:
        """What to say of a test whose smallest possible p-value no correction lets through."""
        result = self.result
        if result.test not in ("randomisation", "bootstrap") or result.permutations is None:
            return None
        least = 2 / result.permutations if result.exact else 1 / (result.permutations + 1)
        pairs = len(result.pairs)
        if least * pairs < result.alpha:
            return None
        cure = f"use --permutations {math.ceil(pairs / result.alpha)}"
        if result.exact:
            cure = "more topics are needed"
        use = "Use --test tukey, or " if result.variance is not None else ""
        return (
            f"no pair can count as different: {result.permutations:,} draws give no p-value below "
            f"{least:.2g}, and Holm's correction multiplies it by {counted(pairs, 'pair')}. {use}"
            f"{cure if use else cure.capitalize()}."
        )

    def without_p(self) -> str | None:
        """What becomes of pairs that have no p-value, where there are some."""
        count = sum(pair.p_adjusted is None for pair in self.result.pairs)
        if not count:
            return None
        pairs = "1 pair without p does" if count == 1 else f"{count:,} pairs without p do"
        return f"{pairs} not count as different; --test randomisation has a p for every pair."


def measure_names(given: Sequence[str]) -> list[str]:
    """Repeated options that may hold lists; commas inside of brackets belong to a measure."""
    parts = [part.strip() for name in given for part in re.split(r",(?![^()]*\))", name)]
    return list(dict.fromkeys(part for part in parts if part))


def compare_matrix(
    one: Comparable, test: Test | None, settings: Mapping[str, Any], note: Note
) -> Compared:
    """Every pair of the runs of a matrix. Raises ValueError for what cannot be compared."""
    result = compared(one, note, test=test, **settings)
    return Compared(one.name, one if isinstance(one, ScoreMatrix) else one.matrix, result)


def compare_all(
    inputs: Sequence[Comparable], test: Test | None, settings: Mapping[str, Any], note: Note
) -> Iterator[Compared]:
    """Compare one after the other. Raises SettingsError for what cannot be compared."""
    for one in inputs:
        try:
            yield compare_matrix(one, test, settings, note)
        except ValueError as error:
            which = "" if str(error).startswith(one.name) else f"{one.name}: "
            raise SettingsError(f"{which}{error}.") from None
