"""``assay compare``: which differences between runs are real."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

import numpy as np
import typer
from rich.text import Text

from assay.cli.common import (
    CsvOption,
    JsonOption,
    err,
    out,
    plain_table,
    print_csv,
    print_json,
)
from assay.formats.parsed import Parsed, listed
from assay.formats.score_tables import ScoreMatrix, read_matrix
from assay.formats.trec import Qrels, TrecRun, read_qrels, read_trec_run
from assay.measures.evaluation import evaluate
from assay.measures.names import parse_measure
from assay.measures.ranking import Measure
from assay.model.errors import SettingsError
from assay.reports.statistics_plots import DifferencePanel, checked_plot, save_differences
from assay.reports.text import counted
from assay.statistics.comparison import Comparison, PairComparison, Test, compare_runs
from assay.statistics.resampling import topic_counts
from assay.statistics.significance import compact_letters, holm, joined, top_group

T = TypeVar("T")

HEADER = (
    "measure", "run_a", "run_b", "difference", "low", "high", "p", "p_adjusted", "effect",
)  # fmt: skip
TESTS = {
    "tukey": "randomised Tukey HSD, which covers all pairs by itself",
    "t": "paired t-test, Holm's correction over all pairs",
    "randomisation": "paired randomisation test, Holm's correction over all pairs",
    "bootstrap": "paired bootstrap test, Holm's correction over all pairs",
}
_MOST_PAIRS = 30
_AT_ONCE = 500  # pairs that the bootstrap goes through at a time


@dataclass(frozen=True, slots=True)
class _Compared:
    """The scores of one measure and what came of the test."""

    matrix: ScoreMatrix
    result: Comparison


def compare_command(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="QRELS RUN...", help="Qrels and TREC runs.")
    ] = None,
    measures: Annotated[
        list[str] | None,
        typer.Option(
            "-m",
            "--measure",
            metavar="M",
            help="Measure, e.g. nDCG@20; repeatable. Of --matrix: the score's name.",
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
        str, typer.Option("--test", help="tukey | t | randomisation | bootstrap")
    ] = "tukey",
    alpha: Annotated[
        float, typer.Option("--alpha", help="Level at which runs count as different.")
    ] = 0.05,
    topics: Annotated[
        str,
        typer.Option(
            "--topics",
            help="'qrels': a topic that a run is silent on counts 0; 'answered': topics that some "
            "run is silent on are left out for all runs.",
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
    if test not in TESTS:
        raise typer.BadParameter(f"must be one of {', '.join(TESTS)}", param_hint="--test")
    if topics not in ("qrels", "answered"):
        raise typer.BadParameter("must be 'qrels' or 'answered'", param_hint="--topics")
    if not 0 < alpha < 1:
        raise typer.BadParameter("must be between 0 and 1", param_hint="--alpha")
    try:
        checked_plot(plot or "none.svg")
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--plot") from None
    tables = _matrices(files or [], matrix, _split(measures or []), topics)
    draws = (permutations, seed)
    try:
        compared = [_Compared(one, _compare(one, test, alpha, *draws)) for one in tables]
    except ValueError as error:
        raise SettingsError(str(error)) from None
    if plot is not None:
        save_differences(plot, [_panel(one, test) for one in compared])
    rows = [row for one in compared for row in _rows(one)]
    policy = "matrix" if matrix is not None else topics
    if as_json:
        settings = {"test": test, "alpha": alpha, "topics": policy, "level": 0.95, "seed": seed}
        print_json(_document(rows, compared, settings))
    elif as_csv:
        print_csv(HEADER, rows)
    else:
        for done in compared:
            _show(done, test, policy, seed)
        if plot is not None:
            out().print(f"Plot: {plot}", markup=False, soft_wrap=True)


def _compare(
    matrix: ScoreMatrix, test: str, alpha: float, permutations: int, seed: int
) -> Comparison:
    settings: dict[str, Any] = {"alpha": alpha, "permutations": permutations, "seed": seed}
    if test == "bootstrap":
        return _bootstrap(matrix, **settings)
    return compare_runs(matrix.scores, matrix.runs, test=cast("Test", test), **settings)


def _bootstrap(matrix: ScoreMatrix, alpha: float, permutations: int, seed: int) -> Comparison:
    """The comparison of a t-test with p-values by the bootstrap, and what follows from them.

    A pair's t is compared with the t of resampled differences that are centred on 0 (Efron &
    Tibshirani 1993, section 16.4; Sakai, SIGIR 2006). Like t, p is undefined where all of a pair's
    differences are equal.
    """
    base = compare_runs(matrix.scores, matrix.runs, test="t", alpha=alpha, seed=seed)
    scores = np.array(matrix.scores)
    place = {run: column for column, run in enumerate(matrix.runs)}
    first = [place[pair.run_a] for pair in base.pairs]
    second = [place[pair.run_b] for pair in base.pairs]
    extreme = np.zeros(len(first))
    for start in range(0, len(first), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        differences = scores[:, first[part]] - scores[:, second[part]]
        n = len(differences)
        with np.errstate(divide="ignore", invalid="ignore"):
            observed = np.abs(differences.mean(axis=0)) / differences.std(axis=0, ddof=1)
            centred = differences - differences.mean(axis=0)
            for counts in topic_counts(n, permutations, seed):
                means = counts @ centred / n
                spread = np.sqrt(np.maximum(counts @ centred**2 / n - means**2, 0) * n / (n - 1))
                drawn = np.abs(means) / spread
                extreme[part] += (drawn >= observed * (1 - 1e-12)).sum(axis=0)
    p = [
        None if pair.p is None else float((count + 1) / (permutations + 1))
        for pair, count in zip(base.pairs, extreme, strict=True)
    ]
    adjusted = holm(p)
    pairs = tuple(
        replace(pair, p=one, p_adjusted=other)
        for pair, one, other in zip(base.pairs, p, adjusted, strict=True)
    )
    names, means = list(base.means), list(base.means.values())
    different = np.zeros((len(names), len(names)), dtype=np.bool_)
    different[np.triu_indices(len(names), 1)] = [_is_real(pair, alpha) for pair in pairs]
    different |= different.T
    letters = map(joined, compact_letters(means, different))
    return replace(
        base,
        pairs=pairs,
        letters=dict(zip(names, letters, strict=True)),
        top=tuple(names[row] for row in top_group(means, different)),
        permutations=permutations,
        exact=False,
    )


def _is_real(pair: PairComparison, alpha: float) -> bool:
    if pair.p_adjusted is None:  # all differences are equal, so there is no doubt about them
        return abs(pair.difference) > 1e-12
    return pair.p_adjusted < alpha


# --- input ---------------------------------------------------------------------------------------


def _split(names: Sequence[str]) -> list[str]:
    """Repeated options that may hold lists; commas inside of brackets belong to a measure."""
    parts = [part.strip() for name in names for part in re.split(r",(?![^()]*\))", name)]
    return list(dict.fromkeys(part for part in parts if part))


def _matrices(
    files: Sequence[Path], matrix: Path | None, names: Sequence[str], topics: str
) -> list[ScoreMatrix]:
    if matrix is not None:
        if files:
            raise typer.BadParameter("give either --matrix or qrels and runs", param_hint="QRELS")
        tables = [_used(read_matrix(matrix, name)) for name in (names or (None,))]
        if len(tables) > 1 and tables[0].wide:
            raise typer.BadParameter(f"{matrix} holds one score only", param_hint="-m")
        return tables
    if len(files) < 3:
        raise typer.BadParameter(
            "give qrels and at least two runs, or --matrix FILE.csv", param_hint="QRELS RUN..."
        )
    if not names:
        raise typer.BadParameter("say by which measure, e.g. -m nDCG@20", param_hint="-m")
    try:
        measures = list(dict.fromkeys(parse_measure(name) for name in names))
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="-m") from None
    qrels = _used(read_qrels(files[0]))
    runs = _runs(files[1:])
    return _evaluated(qrels, runs, measures, topics)


def _used(parsed: Parsed[T]) -> T:
    value = parsed.require()
    for fault in parsed.warnings:
        _note(fault)
    return value


def _note(text: object) -> None:
    err().print(f"Note: {text}", markup=False, soft_wrap=True)


def _runs(files: Sequence[Path]) -> list[TrecRun]:
    runs = [_used(read_trec_run(file)) for file in files]
    seen: dict[str, Path] = {}
    for run, file in zip(runs, files, strict=True):
        other = seen.setdefault(run.name, file)
        if other is not file:
            raise SettingsError(
                f"{file} and {other} are both runs named {run.name}: give each a name of its own "
                "in the last column."
            )
    return runs


def _evaluated(
    qrels: Qrels, runs: Sequence[TrecRun], measures: Sequence[Measure], topics: str
) -> list[ScoreMatrix]:
    silent: set[str] = set()
    columns: dict[Measure, list[Mapping[str, float]]] = {measure: [] for measure in measures}
    for run in runs:
        ranked = {topic: run.ranked(topic) for topic in run.scores if topic in qrels.grades}
        try:
            found = evaluate(ranked, qrels.grades, measures)
        except ValueError as error:
            raise SettingsError(f"run {run.name}: {error}") from None
        if found.missing:
            silent.update(found.missing)
            count = counted(len(found.missing), "topic")
            _note(f"run {run.name} is silent on {count}: {listed(found.missing, 10)}.")
        for measure in measures:
            columns[measure].append(found.scores[measure])
    gaps = silent if topics == "answered" else set()
    kept = [topic for topic in qrels.grades if topic not in gaps]
    left_out = tuple(topic for topic in qrels.grades if topic in gaps)
    names = tuple(run.name for run in runs)
    if len(kept) < 2:
        count = counted(len(kept), "topic")
        raise SettingsError(f"{count} left to compare on: at least 2 are needed.")
    tables = []
    for measure in measures:
        rows = (tuple(scores[topic] for scores in columns[measure]) for topic in kept)
        tables.append(ScoreMatrix(str(measure), tuple(kept), names, tuple(rows), left_out))
    return tables


# --- output --------------------------------------------------------------------------------------


def _rows(one: _Compared) -> Iterable[tuple[str | float | None, ...]]:
    for pair in one.result.pairs:
        p = pair.p if one.result.test != "tukey" else pair.p_adjusted
        yield (
            one.matrix.name, pair.run_a, pair.run_b, pair.difference, pair.low, pair.high, p,
            pair.p_adjusted, pair.effect,
        )  # fmt: skip


def _panel(one: _Compared, test: str) -> DifferencePanel:
    alpha = one.result.alpha
    pairs = [
        (pair.run_a, pair.run_b, pair.difference, pair.low, pair.high, _is_real(pair, alpha))
        for pair in one.result.pairs
    ]
    note = f"Filled: real at {alpha:g} ({test}). Lines: 95 % bootstrap."
    return DifferencePanel(one.matrix.name, pairs, note)


def _document(
    rows: Iterable[tuple[str | float | None, ...]],
    compared: Iterable[_Compared],
    settings: Mapping[str, object],
) -> dict[str, Any]:
    return {
        "rows": [dict(zip(HEADER, row, strict=True)) for row in rows],
        "measures": [
            {
                "measure": one.matrix.name,
                "topics": one.result.topics,
                "topics_left_out": one.matrix.left_out,
                "runs": [
                    {
                        "run": run,
                        "mean": mean,
                        "letters": one.result.letters[run],
                        "top": run in one.result.top,
                    }
                    for run, mean in one.result.means.items()
                ],
                "residual_variance": one.result.variance.value,
                "permutations": one.result.permutations,
                "exact": one.result.exact,
            }
            for one in compared
        ],
        "settings": settings,
    }


def _show(one: _Compared, test: str, policy: str, seed: int) -> None:
    result = one.result
    table = plain_table("")
    table.title = Text(f"Runs by mean {one.matrix.name}")
    table.add_column("run", overflow="fold")
    for name in ("mean", "letters", "top group"):
        table.add_column(name, justify="right" if name == "mean" else "left")
    for run, mean in result.means.items():
        top = "yes" if run in result.top else ""
        table.add_row(Text(run), f"{mean:.4f}", result.letters[run], top)
    out().print(table)
    real = [pair for pair in result.pairs if _is_real(pair, result.alpha)]
    if real:
        different = plain_table("Really different")
        different.add_column("run", overflow="fold")
        different.add_column("is better than", overflow="fold")
        for name in ("by", "95 % interval", "p", "effect"):
            different.add_column(name, justify="right", no_wrap=True)
        for pair in real[:_MOST_PAIRS]:
            ends = f"{pair.low:.4f} to {pair.high:.4f}"
            effect = "–" if pair.effect is None else f"{pair.effect:.2f}"
            p = "–" if pair.p_adjusted is None else f"{pair.p_adjusted:.4f}"
            different.add_row(
                Text(pair.run_a), Text(pair.run_b), f"{pair.difference:.4f}", ends, p, effect
            )
        out().print(different)
    for line in _remarks(one, len(real), test, policy, seed):
        out().print(line, markup=False, soft_wrap=True)


def _remarks(one: _Compared, real: int, test: str, policy: str, seed: int) -> Iterable[str]:
    result = one.result
    hidden = f"; {real - _MOST_PAIRS} of them not shown (see --csv)" if real > _MOST_PAIRS else ""
    yield (
        f"{real} of {len(result.pairs)} pairs differ at {result.alpha:g} on {result.topics} "
        f"topics{hidden}. p is adjusted for all pairs. Runs that share a letter do not differ; the "
        "top group does not differ from the best run."
    )
    how = f"Test: {TESTS[test]}"
    if result.permutations is not None:
        what = "resamples" if test == "bootstrap" else "permutations"
        exact = f"all {result.permutations:,} {what} (exact)"
        drawn = f"{result.permutations:,} random {what}, seed {seed}"
        how += f"; {exact if result.exact else drawn}"
    yield how + f". Intervals: bootstrap over topics, seed {seed}."
    if policy == "qrels":
        yield "Topics of the qrels on which a run is silent count 0."
    elif one.matrix.left_out:
        count = counted(len(one.matrix.left_out), "topic")
        yield f"{count} that some run has no score for: left out for all runs."
    else:
        yield "No topic is left out: every run has a score for all of them."
