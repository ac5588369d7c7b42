"""What ``assay compare`` says of a comparison: rows, a JSON document, tables and remarks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.text import Text

from assay.cli.common import out, plain_table
from assay.cli.statistics import explained, shown, undefined_values
from assay.formats.confidence_matrices import ConfidenceMatrix
from assay.formats.score_matrices import ScoreMatrix
from assay.model.wording import counted, listed, printable
from assay.reports.statistics_plots import DifferencePanel
from assay.statistics.comparison import Comparison, PairComparison

__all__ = [
    "HEADER",
    "TESTS",
    "Compared",
    "document",
    "hopeless",
    "pair_rows",
    "panel",
    "show",
    "undefined",
    "without_p",
]

HEADER = (
    "measure", "run_a", "run_b", "difference", "low", "high", "p", "p_adjusted", "effect",
)  # fmt: skip
TESTS: dict[str, str] = {
    "tukey": "randomised Tukey HSD, which covers all pairs by itself",
    "t": "paired t-test, Holm's correction over all pairs",
    "randomisation": "paired randomisation test, Holm's correction over all pairs",
    "bootstrap": "paired bootstrap test, Holm's correction over all pairs",
}
_MOST_PAIRS = 30
_SAME_EVERYWHERE = "the difference is the same on every topic"
_NO_VARIANCE = "the residual variance is 0"
_NO_MEAN = "the measure is no mean over topics"
_TANGLED = "so many pairs differ in such a tangle that thousands would be needed"


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


def hopeless(result: Comparison) -> str | None:
    """What to say of a test whose smallest possible p-value no correction lets through."""
    if result.test not in ("randomisation", "bootstrap") or result.permutations is None:
        return None
    least = 2 / result.permutations if result.exact else 1 / (result.permutations + 1)
    pairs = len(result.pairs)
    if least * pairs < result.alpha:
        return None
    cure = (
        "more topics are needed"
        if result.exact
        else (f"use --permutations {math.ceil(pairs / result.alpha)}")
    )
    use = "Use --test tukey, or " if result.variance is not None else ""
    return (
        f"no pair can count as different: {result.permutations:,} draws give no p-value below "
        f"{least:.2g}, and Holm's correction multiplies it by {counted(pairs, 'pair')}. {use}"
        f"{cure if use else cure.capitalize()}."
    )


def without_p(result: Comparison) -> str | None:
    """What becomes of pairs that have no p-value, where there are some."""
    count = sum(pair.p_adjusted is None for pair in result.pairs)
    if not count:
        return None
    pairs = "1 pair without p does" if count == 1 else f"{count:,} pairs without p do"
    return f"{pairs} not count as different; --test randomisation has a p for every pair."


def pair_rows(one: Compared) -> Iterable[tuple[str | float | None, ...]]:
    """The pairs under :data:`HEADER`."""
    for pair in one.result.pairs:
        p = pair.p if one.result.test != "tukey" else pair.p_adjusted
        yield (
            one.name, pair.run_a, pair.run_b, pair.difference, pair.low, pair.high, p,
            pair.p_adjusted, pair.effect,
        )  # fmt: skip


def _reasons(pair: PairComparison, *, means: bool) -> Mapping[str, str]:
    """Why what is undefined of a pair is, by its column."""
    found = {}
    if pair.p_adjusted is None:
        found["p"] = _SAME_EVERYWHERE
    if pair.effect is None:
        found["effect"] = _NO_VARIANCE if means else _NO_MEAN
    return found


def undefined(mark: str, one: Compared) -> Iterator[str]:
    """What is undefined and why."""
    if one.result.variance is None:
        yield f"{mark} is undefined: {_NO_MEAN} (effect)."
        return
    found = [
        (f"{name} of {pair.run_a} and {pair.run_b}", reason)
        for pair in one.result.pairs
        for name, reason in _reasons(pair, means=True).items()
    ]
    yield from undefined_values(mark, found)


def panel(one: Compared) -> DifferencePanel:
    """The intervals of the differences, as a plot shows them."""
    result = one.result
    pairs = [
        (pair.run_a, pair.run_b, pair.difference, pair.low, pair.high, pair.different)
        for pair in result.pairs
        if pair.low is not None and pair.high is not None
    ]
    note = (
        f"Filled: real at {result.alpha:g}, all pairs together ({result.test}).\n"
        "Lines: 95 % bootstrap interval of the pair alone."
    )
    return DifferencePanel(one.name, pairs, note)


def document(
    rows: Iterable[tuple[str | float | None, ...]],
    compared: Sequence[Compared],
    settings: Mapping[str, object],
) -> dict[str, Any]:
    """What ``--json`` prints."""
    reasons = (
        _reasons(pair, means=one.result.variance is not None)
        for one in compared
        for pair in one.result.pairs
    )
    return {
        "rows": [
            explained(
                dict(zip(HEADER, row, strict=True)),
                "; ".join(f"{name}: {reason}" for name, reason in why.items()) or None,
            )
            for row, why in zip(rows, reasons, strict=True)
        ],
        "measures": [
            {
                "measure": one.name,
                "topics": one.result.topics,
                "topics_left_out": one.matrix.left_out,
                "runs_left_out": one.matrix.runs_left_out,
                "runs": [
                    explained(
                        {
                            "run": run,
                            "mean": mean,
                            "letters": one.result.letters and one.result.letters[run],
                            "top": run in one.result.top,
                        },
                        _TANGLED if one.result.letters is None else None,
                    )
                    for run, mean in one.result.means.items()
                ],
                "different": [[pair.run_a, pair.run_b] for pair in one.real],
                "paired_effects": [
                    explained(
                        {"run_a": pair.run_a, "run_b": pair.run_b, "effect": pair.paired_effect},
                        (_SAME_EVERYWHERE if one.result.variance else _NO_MEAN)
                        if pair.paired_effect is None
                        else None,
                    )
                    for pair in one.result.pairs
                ],
                "residual_variance": one.result.variance and one.result.variance.value,
                "permutations": one.result.permutations,
                "exact": one.result.exact,
            }
            for one in compared
        ],
        "settings": settings,
    }


def show(one: Compared, policy: str, seed: int) -> None:
    """Print the runs, the pairs that differ and how that was found."""
    result = one.result
    table = plain_table("")
    mean = "mean" if result.variance is not None else "value"
    table.title = Text(f"Runs by {'mean ' if result.variance else ''}{one.name}")
    table.add_column("run", overflow="fold")
    for name in (mean, "letters", "top group"):
        table.add_column(name, justify="right" if name == mean else "left", overflow="fold")
    for run, value in result.means.items():
        letters = result.letters[run] if result.letters else "–"
        table.add_row(Text(run), shown(value), letters, "yes" if run in result.top else "")
    out().print(table)
    if one.real:
        different = plain_table("Really different")
        different.add_column("run", overflow="fold")
        different.add_column("is better than", overflow="fold")
        for name in ("by", "95 % interval", "p", "effect"):
            different.add_column(name, justify="right", no_wrap=True)
        for pair in one.real[:_MOST_PAIRS]:
            different.add_row(
                Text(pair.run_a), Text(pair.run_b), shown(pair.difference),
                f"{shown(pair.low)} to {shown(pair.high)}", shown(pair.p_adjusted),
                shown(pair.effect, 2),
            )  # fmt: skip
        out().print(different)
    for line in _remarks(one, policy, seed):
        out().print(line, markup=False, soft_wrap=True)


def _remarks(one: Compared, policy: str, seed: int) -> Iterable[str]:
    result, real = one.result, len(one.real)
    hidden = f"; {real - _MOST_PAIRS} of them not shown (see --csv)" if real > _MOST_PAIRS else ""
    yield (
        f"{real} of {len(result.pairs)} pairs differ at {result.alpha:g} on {result.topics} "
        f"topics{hidden}. p is adjusted for all pairs. Runs that share a letter do not differ; the "
        "top group does not differ from the best run."
    )
    if result.letters is None:
        yield f"No letters: {_TANGLED}."
    how = f"Test: {TESTS[result.test]}"
    if result.permutations is not None:
        what = "resamples" if result.test == "bootstrap" else "permutations"
        exact = f"all {result.permutations:,} {what} (exact)"
        drawn = f"{result.permutations:,} random {what}, seed {seed}"
        how += f"; {exact if result.exact else drawn}"
    yield how + f". Intervals: bootstrap over topics, seed {seed}."
    yield from undefined("–", one)
    without = without_p(result)
    if without:
        yield without
    if one.matrix.runs_left_out:
        runs = one.matrix.runs_left_out
        yield f"Runs without a score of any topic, left out ({len(runs)}): {listed(runs, 10)}."
    if one.matrix.left_out:
        count = counted(len(one.matrix.left_out), "topic")
        yield f"{count} that some run has no score for: left out for all runs."
    elif policy not in ("answered", "matrix"):
        of = "the qrels" if policy == "qrels" else printable(policy)
        yield f"Topics of {of} on which a run is silent count 0."
    else:
        yield "No topic is left out: every run has a score for all of them."
