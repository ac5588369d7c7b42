"""``assay compare``: which differences between runs are real."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from rich.text import Text

from assay.cli.common import (
    CsvOption,
    JsonOption,
    out,
    plain_table,
    print_csv,
    print_json,
    topics_file,
)
from assay.cli.compare_inputs import Confidences, read_matrices
from assay.cli.statistics import (
    LEVEL,
    explained,
    note,
    one_of,
    one_output,
    plot_file,
    shown,
    undefined_values,
)
from assay.formats.parsed import listed, printable
from assay.formats.score_matrices import ConfidenceMatrix, ScoreMatrix
from assay.model.errors import SettingsError
from assay.reports.statistics_plots import DifferencePanel, save_differences
from assay.reports.text import counted
from assay.statistics.comparison import (
    Comparison,
    PairComparison,
    Test,
    compare_confidences,
    compare_runs,
)

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
class _Compared:
    """What is compared by one measure and what came of the test."""

    name: str
    matrix: ScoreMatrix | ConfidenceMatrix
    result: Comparison

    @property
    def real(self) -> list[PairComparison]:
        """The pairs that differ."""
        return [pair for pair in self.result.pairs if pair.different]


def compare_command(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="QRELS RUN...",
            help="Qrels and TREC runs; or one table of scores (as --matrix).",
        ),
    ] = None,
    measures: Annotated[
        list[str] | None,
        typer.Option(
            "-m",
            "--measure",
            metavar="M",
            help="Measure, e.g. nDCG@20; repeatable. Of a table: the score's name, or HMR, R_O, "
            "R_U, ECE, MCE, Brier, KS, AUROC where it has confidences.",
        ),
    ] = None,
    matrix: Annotated[
        Path | None,
        typer.Option(
            "--matrix",
            metavar="FILE.csv",
            help="Scores instead of qrels and runs: a column a run, or run,topic,score.",
        ),
    ] = None,
    test: Annotated[
        str | None,
        typer.Option(
            "--test",
            help="tukey | t | randomisation | bootstrap (default: tukey; of confidences, "
            "randomisation).",
        ),
    ] = None,
    alpha: Annotated[
        float, typer.Option("--alpha", help="Level at which runs count as different.")
    ] = 0.05,
    topics: Annotated[
        str,
        typer.Option(
            "--topics",
            metavar="qrels|answered|FILE",
            help="'qrels': a topic that a run is silent on counts 0; 'answered': topics that some "
            "run is silent on are left out for all runs; a file with one topic id a line: these, "
            "0 where a run is silent or nothing is judged.",
        ),
    ] = "qrels",
    permutations: Annotated[
        int,
        typer.Option(
            "--permutations", min=1, help="Random draws of a test that is too large to be exact."
        ),
    ] = 10_000,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", help="Draw the intervals of differences (.svg, .pdf or .png)."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of all random draws.")] = 0,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Which differences between runs are real: every pair with interval, p-value and effect size.

    Intervals (95 %) resample topics and are not adjusted; effect is the difference over the
    residual standard deviation. Runs that share a letter do not differ.
    """
    one_output(as_json=as_json, as_csv=as_csv)
    one_of(test or "tukey", tuple(TESTS), "--test")
    topics_file(topics)
    if not 0 < alpha < 1:
        raise typer.BadParameter("must be between 0 and 1", param_hint="--alpha")
    plot_file(plot)
    settings: dict[str, Any] = {
        "alpha": alpha, "level": LEVEL, "permutations": permutations, "seed": seed,
    }  # fmt: skip
    compared = []
    given = files or []
    if matrix is None and len(given) == 1:
        matrix = given.pop()
    for one in read_matrices(given, matrix, measures or [], topics):
        try:
            compared.append(_compared(one, test, settings))
        except ValueError as error:
            raise SettingsError(f"{one.name}: {error}.") from None
        result = compared[-1].result
        hopeless = _hopeless(result)
        if hopeless:
            note(hopeless)
        without = _without_p(result)
        if without and (as_json or as_csv):
            note(f"{one.name}: {without}")
    if plot is not None:
        save_differences(plot, [_panel(one) for one in compared])
    rows = [row for one in compared for row in _rows(one)]
    policy = "matrix" if matrix is not None else topics
    if as_json:
        tests = list(dict.fromkeys(one.result.test for one in compared))
        used = {"test": tests[0] if len(tests) == 1 else tests, "topics": policy, **settings}
        print_json(_document(rows, compared, used))
    elif as_csv:
        for done in compared:
            for line in _undefined("Empty", done):
                note(line)
        print_csv(HEADER, rows)
    else:
        for done in compared:
            _show(done, policy, seed)
        if plot is not None:
            out().print(f"Plot: {printable(str(plot))}", markup=False, soft_wrap=True)


def _compared(
    one: ScoreMatrix | Confidences, test: str | None, settings: Mapping[str, Any]
) -> _Compared:
    if isinstance(one, ScoreMatrix):
        chosen = cast("Test", test or "tukey")
        return _Compared(one.name, one, compare_runs(one.scores, one.runs, test=chosen, **settings))
    if test not in (None, "randomisation"):
        raise typer.BadParameter(
            f"{one.name} is no mean over topics: its test is 'randomisation'", param_hint="--test"
        )
    table = one.matrix
    result = compare_confidences(
        table.confidences, table.correct, table.runs, measure=one.name, **settings
    )
    undefined = [run for run in table.runs if run not in result.means]
    if undefined:
        note(f"{one.name} is undefined, so that it is left out, of {listed(undefined, 10)}.")
    return _Compared(one.name, table, result)


def _hopeless(result: Comparison) -> str | None:
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


def _without_p(result: Comparison) -> str | None:
    """What becomes of pairs that have no p-value, where there are some."""
    count = sum(pair.p_adjusted is None for pair in result.pairs)
    if not count:
        return None
    pairs = "1 pair without p does" if count == 1 else f"{count:,} pairs without p do"
    return f"{pairs} not count as different; --test randomisation has a p for every pair."


# --- output --------------------------------------------------------------------------------------


def _rows(one: _Compared) -> Iterable[tuple[str | float | None, ...]]:
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


def _undefined(mark: str, one: _Compared) -> Iterator[str]:
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


def _panel(one: _Compared) -> DifferencePanel:
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


def _document(
    rows: Iterable[tuple[str | float | None, ...]],
    compared: Sequence[_Compared],
    settings: Mapping[str, object],
) -> dict[str, Any]:
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


def _show(one: _Compared, policy: str, seed: int) -> None:
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


def _remarks(one: _Compared, policy: str, seed: int) -> Iterable[str]:
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
    yield from _undefined("–", one)
    without = _without_p(result)
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
