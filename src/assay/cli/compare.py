"""``assay compare``: which differences between runs are real."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.api.compared import (
    COLUMNS,
    TANGLED,
    Comparable,
    Compared,
    compare_all,
    measure_names,
    read_tables,
    score_runs,
)
from assay.api.undefined import LEVEL
from assay.cli.common import (
    FORM,
    forms,
    is_share,
    plot_option,
    present,
    remark,
    seed_option,
    topics_file,
)
from assay.model.options import Argument, Option
from assay.model.wording import counted, joined
from assay.page.tables import Table
from assay.page.wording import number
from assay.reports.statistics_plots import DifferencePanel, save_differences
from assay.statistics.comparison import PairComparison, Test

_MOST_PAIRS = 30


@forms("json", "csv")
def compare_command(
    files: Annotated[
        list[Path] | None,
        Argument(
            "QRELS RUN...",
            "Qrels and TREC runs; or one table of scores (as for --matrix), or a scored folder.",
        ),
    ] = None,
    measures: Annotated[
        list[str] | None,
        Option(
            "Measure, e.g. nDCG@20; repeatable. For a table: the score's name, or, if it has "
            "confidences, HMR, R_O, R_U, ECE, MCE, Brier, KS or AUROC; NAME:floor or NAME:ceiling "
            "for scores that are ranges.",
            flag="-m --measure",
            metavar="M",
        ),
    ] = None,
    matrix: Annotated[
        Path | None,
        Option(
            "Scores instead of qrels and runs: one column per run, or run,topic,score.",
            metavar="FILE.csv",
        ),
    ] = None,
    test: Annotated[
        Test | None,
        Option(
            "tukey | t | randomisation | bootstrap (default: tukey; for confidences, "
            "randomisation)."
        ),
    ] = None,
    alpha: Annotated[float, Option("Significance level at which runs count as different.")] = 0.05,
    topics: Annotated[
        str,
        Option(
            "'qrels': a topic that a run does not answer counts 0. 'answered': topics that any "
            "run does not answer are left out for all runs. A file with one topic id per line: "
            "only these topics; a topic that a run does not answer or that has no judgments "
            "counts 0.",
            metavar="qrels|answered|FILE",
        ),
    ] = "qrels",
    permutations: Annotated[
        int, Option("Random draws if a test is too large to be exact.", least=1)
    ] = 10_000,
    plot: Annotated[Path | None, plot_option("the intervals of differences")] = None,
    seed: Annotated[int, seed_option("Seed of all random draws.")] = 0,
) -> None:
    """Test which differences between runs are real: every pair with interval, p-value and effect
    size.

    Intervals (95 %) resample topics and are not adjusted; the effect is the difference divided by
    the residual standard deviation. Runs that share a letter are not shown to differ.
    """
    is_share(alpha, "--alpha")
    settings: dict[str, Any] = {
        "alpha": alpha, "level": LEVEL, "permutations": permutations, "seed": seed,
    }  # fmt: skip
    given = files or []
    if matrix is None and len(given) == 1:
        matrix = given.pop()
    inputs = _inputs(given, matrix, measure_names(measures or []), topics)
    found = list(compare_all(inputs, test, settings, remark))
    for one in found:
        if hopeless := one.hopeless():
            remark(hopeless)
        if FORM.get() and (without := one.without_p()):
            remark(f"{one.name}: {without}")
    if plot is not None:
        save_differences(plot, list(map(_panel, found)))
    policy = "matrix" if matrix is not None else topics
    tests = list(dict.fromkeys(one.result.test for one in found))
    used = {"test": tests[0] if len(tests) == 1 else tests, "topics": policy, **settings}
    present(
        lambda: {
            "rows": [row for one in found for row in one.row_documents()],
            "measures": [one.document() for one in found],
            "settings": used,
        },
        _people(found, policy, seed, plot),
        (COLUMNS, (row for one in found for row in one.rows())),
        (line for one in found for line in one.undefined("Empty")),
    )


def _inputs(
    files: Sequence[Path], matrix: Path | None, names: Sequence[str], topics: str
) -> Sequence[Comparable]:
    """What to compare, from arguments that are checked to go together."""
    only = topics_file(topics)
    if matrix is not None and files:
        raise typer.BadParameter("give either --matrix, or qrels and runs", param_hint="QRELS")
    if matrix is None and len(files) < 3:
        raise typer.BadParameter(
            "give qrels and at least two runs, or a table of scores", param_hint="QRELS RUN..."
        )
    if matrix is None and not names:
        raise typer.BadParameter("name a measure, e.g. -m nDCG@20", param_hint="-m")
    try:
        if matrix is not None:
            return read_tables(matrix, names or [None], remark)
        answered = topics == "answered"
        return score_runs(files[0], files[1:], names, remark, only=only, answered=answered)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="-m") from None


def _panel(one: Compared) -> DifferencePanel:
    """The intervals of the differences as data for a plot."""
    result = one.result
    pairs = [
        (pair.run_a, pair.run_b, pair.difference, pair.low, pair.high, pair.different)
        for pair in result.pairs
        if pair.low is not None and pair.high is not None
    ]
    note = (
        f"Filled: real at {result.alpha:g}, all pairs together ({result.test}).\nLines: 95 % "
        "bootstrap interval of each pair on its own."
    )
    return DifferencePanel(one.name, pairs, note)


def _people(
    found: Sequence[Compared], policy: str, seed: int, plot: Path | None
) -> Iterator[Table | str]:
    for one in found:
        yield from _tables(one)
        yield from _remarks(one, policy)
    if plot is not None:
        yield f"Plot: {plot}"


def _tables(one: Compared) -> Iterator[Table]:
    result = one.result
    letters = result.letters or dict.fromkeys(result.means, "–")
    yield Table(
        f"Runs by {'mean ' if result.variance else ''}{one.name}",
        ("run", "mean" if result.variance is not None else "value", "letters", "top group"),
        [
            (run, value, letters[run], "yes" if run in result.top else "")
            for run, value in result.means.items()
        ],
        digits=4,
    )
    if one.real:
        yield _pairs("Really different", ("is better than", "by"), one.real[:_MOST_PAIRS])
    if len(result.pairs) <= _MOST_PAIRS:
        others = [pair for pair in result.pairs if not pair.different]
        if others:
            yield _pairs("No difference shown", ("minus", "is"), others)


def _pairs(title: str, verbs: tuple[str, str], pairs: Sequence[PairComparison]) -> Table:
    return Table(
        title,
        ("run", *verbs, "95 % interval", "p", "effect"),
        [
            (
                pair.run_a,
                pair.run_b,
                pair.difference,
                f"{number(pair.low, 4)} to {number(pair.high, 4)}",
                pair.p_adjusted,
                number(pair.effect, 2),
            )
            for pair in pairs
        ],
        digits=4,
        numbers=frozenset(("95 % interval", "effect")),
    )


def _remarks(one: Compared, policy: str) -> Iterator[str]:
    result, real = one.result, len(one.real)
    hidden = (
        f"; {real - _MOST_PAIRS} of them are not shown here (use --csv)"
        if real > _MOST_PAIRS
        else ""
    )
    yield (
        f"{real} of {len(result.pairs)} pairs differ at {result.alpha:g} on {result.topics} "
        f"topics{hidden}. p is adjusted for all pairs. Runs that share a letter are not shown to "
        "differ, nor are those of the top group from the best run."
    )
    if result.letters is None:
        yield f"No letters: {TANGLED}."
    how = f"Test: {one.method}. Intervals: bootstrap over topics, for each pair on its own"
    yield f"{how}, seed {one.seed}."
    yield from one.undefined("–")
    if without := one.without_p():
        yield without
    if one.matrix.runs_left_out:
        runs = one.matrix.runs_left_out
        yield (
            f"Runs left out because they have no score for any topic ({len(runs)}): "
            f"{joined(runs, 10)}."
        )
    if one.matrix.left_out:
        count = counted(len(one.matrix.left_out), "topic")
        yield f"{count} left out for all runs, because some run has no score there."
    elif policy not in ("answered", "matrix"):
        of = "the qrels" if policy == "qrels" else policy
        yield f"Topics of {of} that a run does not answer count 0."
    else:
        yield "No topic is left out: every run has a score for all of them."
