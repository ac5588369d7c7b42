"""``assay exam``: EXAM++ scores of published collections of graded passages, asking nobody."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from assay.cli.common import (
    CsvOption,
    JsonOption,
    err,
    out,
    plain_table,
    print_csv,
    print_json,
    safe,
)
from assay.formats.exam_bank import read_bank
from assay.formats.exam_graded import GradedFile, read_graded
from assay.formats.trec import format_qrels, read_trec_run
from assay.measures.coverage import standard_error
from assay.measures.ranges import Range
from assay.model.errors import SettingsError
from assay.model.exam import Run
from assay.model.exam_grades import Grades
from assay.page.wording import span
from assay.protocols.exam.inputs import bank_of, held_runs, judgments_of, pool_of, trec_rankings
from assay.protocols.exam.scoring import (
    COVER,
    NORMALISED,
    WEIGHTED,
    ExamOptions,
    ExamScorer,
    certain,
    mean_range,
)
from assay.protocols.output import write_bytes
from assay.protocols.scores import VALUE_COLUMNS, Score, ranks, value_row
from assay.reports.leaderboards import rank_texts


def exam_command(
    graded: Annotated[
        Path, typer.Argument(metavar="GRADED.jsonl.gz", help="Graded passages (Autograder).")
    ],
    bank: Annotated[
        Path | None,
        typer.Option(
            "--bank", help="The question bank; without it, the questions that have a grade."
        ),
    ] = None,
    runs: Annotated[
        list[Path] | None,
        typer.Option("--run", metavar="RUN", help="A TREC run, instead of the file's rankings."),
    ] = None,
    tau: Annotated[
        int, typer.Option("--tau", min=1, max=5, help="The least grade that counts as answered.")
    ] = 4,
    k: Annotated[int, typer.Option("-k", min=1, help="Passages of a run that count.")] = 20,
    measures: Annotated[
        list[str] | None,
        typer.Option("-m", metavar="M", help="EXAM-Qrels measure, repeatable."),
    ] = None,
    denominator: Annotated[
        str, typer.Option("--denominator", help="Of EXAM-Cover: 'bank', or 'graded' questions.")
    ] = "bank",
    topics: Annotated[
        str,
        typer.Option(
            "--topics", help="Means over 'all' queries (a silent run gets 0) or 'answered' ones."
        ),
    ] = "all",
    llm: Annotated[str | None, typer.Option("--llm", help="Grades by this model only.")] = None,
    prompt: Annotated[
        str | None, typer.Option("--prompt-class", help="Grades by this prompt only.")
    ] = None,
    sweep: Annotated[bool, typer.Option("--sweep", help="Every τ from 1 to 5.")] = False,
    qrels: Annotated[
        Path | None, typer.Option("--qrels", metavar="FILE", help="Write EXAM-Labels as qrels.")
    ] = None,
    binary: Annotated[
        bool, typer.Option("--binary", help="Write 1 for a label of at least τ there, else 0.")
    ] = False,
    per_topic: Annotated[bool, typer.Option("--per-topic", help="Add single queries.")] = False,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """EXAM-Cover, EXAM-Qrels and α-nDCG of the runs in a file of graded passages.

    Asks no labeller. A score that hangs on grades that are not there runs from the worst that it
    can be to the best (exit status 1).
    """
    if denominator not in ("bank", "graded"):
        raise typer.BadParameter("must be 'bank' or 'graded'", param_hint="--denominator")
    if topics not in ("all", "answered"):
        raise typer.BadParameter("must be 'all' or 'answered'", param_hint="--topics")
    parsed = read_graded(graded, llm=llm, prompt=prompt, answers=False)
    for fault in parsed.warnings:
        err().print(f"Note: {fault}", markup=False, soft_wrap=True)
    file = parsed.require()
    questions = bank_of(file) if bank is None else read_bank(bank).require()
    top = 5 if file.way is None or file.way.rated else 1
    if tau > top:
        tau = top  # right or wrong: an answered question has grade 1
    options = ExamOptions(tau=tau, k=k, denominator=denominator, top=top)  # type: ignore[arg-type]
    if measures:
        options = ExamOptions(tau, k, options.denominator, tuple(measures), top)
    rankings = _rankings(file, runs or ())
    asked, _ = pool_of(questions, rankings, {}, file, judgments_of(file), k)
    pool = {
        name: file.queries[name].grades.of(asked[name])
        if name in file.queries
        else Grades((), (), np.empty((0, 0), dtype=np.int8)).of(asked[name])
        for name in asked
    }
    try:
        scorer = ExamScorer(questions, pool, options)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="-m") from None
    if binary and qrels is None:
        raise typer.BadParameter("--binary is about the file of --qrels")
    if qrels is not None:
        lines = format_qrels(scorer.judged(tau if binary else None))
        write_bytes(qrels, lines.encode())
    taus = range(1, top + 1) if sweep else [tau]
    rows = [
        row
        for at in taus
        for run, ranking in rankings.items()
        for row in _rows(run, at, ranking, scorer, topics=topics, per_topic=per_topic)
    ]
    _show(rows, scorer, rankings, options, sweep=sweep, as_json=as_json, as_csv=as_csv)
    unheld = 0 if runs else sum(one.unheld(k) for run in rankings.values() for one in run.values())
    if unheld:
        err().print(
            f"Note: {unheld} ranks of the runs are of passages that the file does not hold. They "
            "cover nothing.",
            markup=False,
            soft_wrap=True,
        )
    if any(row["missing"] for row in rows):
        err().print(
            "Some scores hang on grades that the file does not hold (column 'missing'): they run "
            "from the worst that they can be to the best.",
            markup=False,
            soft_wrap=True,
        )
        raise typer.Exit(1)


def _rankings(file: GradedFile, paths: Sequence[Path]) -> dict[str, Run]:
    if paths:
        runs = [read_trec_run(path).require() for path in paths]
        return {run.name: trec_rankings(run) for run in runs}
    found = held_runs(file)
    if not found:
        raise SettingsError("The file holds no rankings. Give runs: --run RUN.")
    return found


def _rows(
    run: str,
    tau: int,
    ranking: Run,
    scorer: ExamScorer,
    *,
    topics: str,
    per_topic: bool,
) -> list[dict[str, Any]]:
    rows = []
    for measure, by_query in scorer.at(scorer.shown({"": ranking}), tau)[""].items():
        counted = {
            query: value
            for query, value in by_query.items()
            if topics == "all" or ranking.get(query)
        }
        mean = mean_range(counted.values()) if counted else None
        error = standard_error(certain(counted.values()))
        lacking = sum(one.value is None for one in counted.values())
        rows.append(_row(run, "all", measure, tau, mean, error, len(counted), lacking))
        if per_topic:
            rows += [
                _row(run, query, measure, tau, value, None, 1, int(value.value is None))
                for query, value in counted.items()
            ]
    return rows


def _row(
    run: str,
    topic: str,
    measure: str,
    tau: int,
    ends: Range | None,
    error: float | None,
    topics: int,
    missing: int,
) -> dict[str, Any]:
    named = dict(zip(VALUE_COLUMNS, value_row(run, topic, measure, ends), strict=True))
    return {**named, "tau": tau, "standard_error": error, "topics": topics, "missing": missing}


_SHORT = {COVER: "Cover", WEIGHTED: "wtd.", NORMALISED: "norm."}


def _heading(measure: str) -> str:
    """A measure's name in a narrow column."""
    return _SHORT.get(measure) or safe(measure).replace("α-", "α-\n").replace("@", "\n@")


def _show(
    rows: Sequence[Mapping[str, Any]],
    scorer: ExamScorer,
    rankings: Mapping[str, Run],
    options: ExamOptions,
    *,
    sweep: bool,
    as_json: bool,
    as_csv: bool,
) -> None:
    unjudged = {run: scorer.unjudged(ranking) for run, ranking in rankings.items()}
    if as_json:
        print_json(
            {
                "scores": list(rows),
                "unjudged": unjudged,
                "queries": len(scorer.queries),
                "k": options.k,
                "denominator": options.denominator,
            }
        )
        return
    if as_csv:
        more = ("tau", "standard_error") if sweep else ("standard_error",)
        columns = (*VALUE_COLUMNS, *more)
        print_csv(columns, ([row[name] for name in columns] for row in rows))
        return
    names = [
        name
        for name in dict.fromkeys(row["measure"] for row in rows)
        if name != WEIGHTED or scorer.weighted
    ]
    for tau in dict.fromkeys(row["tau"] for row in rows):
        here = {
            (row["run"], row["measure"]): row
            for row in rows
            if row["tau"] == tau and row["topic"] == "all"
        }
        table = plain_table(f"EXAM++, τ = {tau}, k = {options.k}")
        table.add_column("", justify="right")
        table.add_column("run", overflow="fold")
        for name in names:
            table.add_column(_heading(name), justify="right")
        table.add_column("no\ngrade", justify="right")
        for run, rank in rank_texts(_ranks(here, rankings)).items():
            cells = [_cell(here[run, name]) for name in names]
            table.add_row(rank, safe(run), *cells, str(unjudged[run]))
        out().print(table)
    counts = {row["topics"] for row in rows if row["topic"] == "all"}
    over = f"{min(counts)} to {max(counts)}" if len(counts) > 1 else f"{min(counts, default=0)}"
    out().print(
        f"Means over {over} queries ± standard error, by the least that cover can be; where grades "
        "are missing, from the worst that a score can be to the best. Cover: the share of the "
        "bank's questions that some of the first k passages answer with a grade of at least τ; "
        "wtd.: questions by weight; norm.: of the questions that the pool can answer. The other "
        "measures take a passage's best grade as its relevance label. No grade: passages among the "
        "first k without one.",
        markup=False,
    )


def _ranks(
    here: Mapping[tuple[str, str], Mapping[str, Any]], runs: Iterable[str]
) -> dict[str, int | None]:
    """The runs by EXAM-Cover, with ranks that those share whose ranges overlap."""
    scores = {}
    for run in runs:
        row = here[run, COVER]
        if row["floor"] is None:
            score = Score.undefined(run, COVER)
        else:
            ends = Range(row["floor"], row["ceiling"])
            score = Score.between(run, COVER, ends, topics=row["topics"], missing=row["missing"])
        scores[run] = {COVER: score}
    return ranks(scores, COVER)


def _cell(row: Mapping[str, Any]) -> str:
    """A score in a narrow column: its standard error, or where its range ends, stands below."""
    error = row["standard_error"]
    shown = span(row["floor"], row["ceiling"]).replace("–", "–\n", 1)
    return shown + ("" if error is None else f"\n±{error:.3f}".replace("0.", "."))
