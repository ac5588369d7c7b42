"""``assay exam``: EXAM++ scores of published collections of graded passages, asking nobody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

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
from assay.model.errors import SettingsError
from assay.model.exam import Bank, BankQuestion, QueryBank, Run
from assay.protocols.exam.inputs import held_runs, trec_rankings
from assay.protocols.exam.scoring import COVER, NORMALISED, WEIGHTED, ExamOptions, ExamScorer
from assay.protocols.output import write_bytes

_COVERS = (COVER, WEIGHTED, NORMALISED)


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

    Asks no labeller. A score that hangs on a grade that is not there is undefined and counted
    (exit status 1).
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
    pool = {name: one.grades for name, one in file.queries.items()}
    try:
        scorer = ExamScorer(questions, pool, options)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="-m") from None
    rankings = _rankings(file, runs or ())
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
    if any(row["missing"] for row in rows):
        err().print(
            "Some scores are undefined: they hang on grades that the file does not hold "
            "(column 'missing').",
            markup=False,
        )
        raise typer.Exit(1)


def bank_of(file: GradedFile) -> Bank:
    """A bank of the questions that have grades, for files that come without one."""
    return Bank(
        {
            name: QueryBank(name, None, tuple(BankQuestion(q, q) for q in one.grades.questions))
            for name, one in file.queries.items()
        }
    )


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
    values = next(iter(scorer.sweep(ranking, [tau]).values()))
    rows = []
    for measure, by_query in values.items():
        counted = {
            query: value
            for query, value in by_query.items()
            if topics == "all" or ranking.get(query)
        }
        known = [value for value in counted.values() if value is not None]
        rows.append(
            {
                "run": run,
                "topic": "all",
                "measure": measure,
                "tau": tau,
                "value": sum(known) / len(known) if known else None,
                "standard_error": standard_error(known),
                "topics": len(known),
                # Without anything that the pool answers, normalised cover is undefined for all.
                "missing": 0 if measure == NORMALISED else len(counted) - len(known),
            }
        )
        if per_topic:
            rows += [
                {
                    "run": run,
                    "topic": query,
                    "measure": measure,
                    "tau": tau,
                    "value": value,
                    "standard_error": None,
                    "topics": 1,
                    "missing": 0,
                }
                for query, value in counted.items()
            ]
    return rows


_SHORT = {"EXAM-Cover": "Cover", "EXAM-Cover-weighted": "wtd.", "EXAM-Cover-normalised": "norm."}


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
        columns = ("run", "topic", "measure", "value")
        more = ("tau", "standard_error") if sweep else ("standard_error",)
        print_csv((*columns, *more), ([row[name] for name in (*columns, *more)] for row in rows))
        return
    names = list(dict.fromkeys(row["measure"] for row in rows))
    for tau in dict.fromkeys(row["tau"] for row in rows):
        here = {
            (row["run"], row["measure"]): row
            for row in rows
            if row["tau"] == tau and row["topic"] == "all"
        }
        order = sorted(rankings, key=lambda run: -(here[run, COVER]["value"] or 0.0))
        table = plain_table(f"EXAM++, τ = {tau}, k = {options.k}")
        table.add_column("run", overflow="fold")
        for name in names:
            table.add_column(_heading(name), justify="right")
        table.add_column("no\ngrade", justify="right")
        for run in order:
            cells = []
            for name in names:
                row = here[run, name]
                error = row["standard_error"]
                shown = "–" if row["value"] is None else f"{row['value']:.3f}"
                cells.append(shown + ("" if error is None else f" ±{error:.3f}".replace("0.", ".")))
            table.add_row(safe(run), *cells, str(unjudged[run]))
        out().print(table)
    out().print(
        f"Means over {len(scorer.queries)} queries ± standard error. Cover: the share of the "
        "bank's questions that some of the first k passages answer with a grade of at least τ; "
        "wtd.: questions by weight; norm.: of the questions that the pool can answer. The other "
        "measures take a passage's best grade as its relevance label. No grade: passages among the "
        "first k without one.",
        markup=False,
    )
