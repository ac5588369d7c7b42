"""``assay exam``: EXAM++ scores of published collections of graded passages, asking nobody."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.api.exam import GradedFileRuns, Row, cover_ranks, graded
from assay.cli.common import Paragraph, forms, present, remark, takes, tell
from assay.model.options import Argument, Option
from assay.page.tables import Table
from assay.page.wording import span
from assay.protocols.scores import VALUE_COLUMNS
from assay.protocols.sheets import Topics
from assay.reports.leaderboards import rank_texts


@forms("json", "csv")
@takes(graded, topics="denominator")
def exam_command(
    file: Annotated[Path, Argument("GRADED.jsonl.gz", "Graded passages (Autograder).")],
    *,
    topics: Annotated[
        Topics,
        Option(
            "Take means over 'all' queries (a query that a run does not answer counts 0) or "
            "'answered' ones."
        ),
    ] = "all",
    sweep: Annotated[bool, Option("Show every τ from 1 to 5.")] = False,
    qrels: Annotated[Path | None, Option("Write EXAM-Labels as qrels.", metavar="FILE")] = None,
    binary: Annotated[
        bool, Option("With --qrels: write 1 for a label of at least τ, else 0.")
    ] = False,
    per_topic: Annotated[bool, Option("Show each query too.")] = False,
    **options: Any,
) -> None:
    """Compute EXAM-Cover, EXAM-Qrels and α-nDCG of the runs in a file of graded passages.

    Asks no labeller. If a score depends on missing grades, it is a range from its worst to its best
    possible value (exit status 1).
    """
    if binary and qrels is None:
        raise typer.BadParameter("--binary only works with --qrels")
    try:
        found = graded(file, note=remark, **options)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="-m") from None
    if qrels is not None:
        found.write_qrels(qrels, binary=binary)
    rows = list(found.rows(sweep=sweep, answered=topics == "answered", per_topic=per_topic))
    columns = (*VALUE_COLUMNS, *(("tau",) if sweep else ()), "standard_error")
    present(
        lambda: found.document(rows),
        _people(found, rows),
        (columns, ([row[name] for name in columns] for row in rows)),
    )
    if found.unheld:
        remark(
            f"{found.unheld} ranks of the runs hold passages that are not in the file. They cover "
            "nothing."
        )
    if any(row["missing"] for row in rows):
        tell(
            "Some scores depend on grades missing from the file (column 'missing'): they are "
            "ranges from the worst to the best possible value."
        )
        raise typer.Exit(1)


def _people(found: GradedFileRuns, rows: Sequence[Row]) -> Iterator[Table | str]:
    names, unjudged = found.names(rows), found.unjudged
    means = [row for row in rows if row["mean"]]
    for tau in dict.fromkeys(row["tau"] for row in means):
        here = [row for row in means if row["tau"] == tau]
        cells = {(row["run"], row["measure"]): _cell(row) for row in here}
        yield Table(
            f"EXAM++, τ = {tau}, k = {found.options.k}",
            ("#", "run", *names, "no grade"),
            [
                (rank, run, *(cells[run, name] for name in names), unjudged[run])
                for run, rank in rank_texts(cover_ranks(here)).items()
            ],
            numbers=frozenset(("#", *names)),
        )
    counts = {row["topics"] for row in means}
    over = f"{min(counts)} to {max(counts)}" if len(counts) > 1 else f"{min(counts, default=0)}"
    yield Paragraph(
        f"Means over {over} queries ± standard error, by the lowest possible cover; if grades are "
        "missing, from the worst to the best possible score. Cover: the share of the bank's "
        "questions that some of the first k passages answer with a grade of at least τ; weighted: "
        "questions by weight; normalised: of the questions that the pool can answer. The other "
        "measures take a passage's best grade as its relevance label. No grade: passages among "
        "the first k without one."
    )


def _cell(row: Row) -> str:
    """A score in a narrow column, with its standard error or the end of its range below."""
    error = row["standard_error"]
    shown = span(row["floor"], row["ceiling"]).replace("–", "–\n", 1)
    return shown + ("" if error is None else f"\n±{error:.3f}".replace("0.", "."))
