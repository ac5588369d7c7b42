"""``assay measure``: ranking measures of runs, as a table, CSV, JSON or trec_eval's lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.api.run_files import (
    COLUMNS,
    DEFAULTS,
    KNOWN,
    OFFICIAL,
    ScoredRuns,
    measures_named,
    scored,
)
from assay.cli.common import FORM, Paragraph, forms, present, put, remark, takes, topics_file
from assay.model.options import Argument, Option
from assay.page.tables import Table
from assay.page.wording import number


@forms("json", "csv", "trec")
@takes(scored)
def measure_command(
    qrels: Annotated[Path, Argument("QRELS", "Relevance grades, TREC qrels.")],
    runs: Annotated[list[Path], Argument("RUN...", "TREC run files, or R2C2 PR runs.")],
    measures: Annotated[
        list[str] | None,
        Option(
            "Measure, e.g. nDCG@20, 'Q(beta=1)@20', AP, or trec_eval's ndcg_cut_20 or map; "
            f"repeatable. Default: {', '.join(DEFAULTS)}. Known: {', '.join(KNOWN)}.",
            flag="-m --measure",
            metavar="NAME",
        ),
    ] = None,
    per_topic: Annotated[
        bool, Option("Show each topic too, not only the mean.", flag="--per-topic -q")
    ] = False,
    **options: Any,
) -> None:
    """Measure runs against relevance grades: nDCG, Q, AP, ERR and more.

    Files may be compressed with gzip or bzip2; columns are separated by tabs or spaces. For
    alpha-nDCG, I-rec, D-nDCG and D#-nDCG, the second column of the qrels is the subtopic. R2C2 PR
    runs are measured against qrels of passage keys (RUN;RANK), in the order of their ranks.
    """
    only = topics_file(options["topics"])
    try:
        wanted = measures_named(measures or (OFFICIAL if FORM.get() == "trec" else DEFAULTS))
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="-m") from None
    found = scored(qrels, runs, wanted, only=only, note=remark, **options)
    for line in found.remarks():
        remark(line)
    if FORM.get() == "trec":
        lines = found.trec_lines(per_topic=per_topic, counts=not measures)
        put(f"{line}\n".encode() for line in lines)
        return
    present(
        lambda: found.document(per_topic=per_topic),
        _people(found, per_topic=per_topic),
        (COLUMNS, (row[:4] for row in found.rows(per_topic=per_topic))),
    )
    if found.strangers:
        raise typer.Exit(1)


def _people(found: ScoredRuns, *, per_topic: bool) -> Iterator[Table | str]:
    """A table with one column per measure."""
    cells: dict[tuple[str, str, bool], list[float | None]] = {}
    for means in (False, True):  # separately, as a topic may have the mean's name
        for run, topic, _, value, _ in found.rows(per_topic=per_topic and not means, means=means):
            cells.setdefault((run, topic, means), []).append(value)
    order = {run: place for place, run in enumerate(found.runs)}
    places = sorted(cells, key=lambda place: (order[place[0]], place[2]))
    titles = ("run", "topic") if per_topic else ("run",)
    names = tuple(found.measures)
    rows = [(*place[: len(titles)], *(number(one, 4) for one in cells[place])) for place in places]
    yield Table("Measures", (*titles, *names), rows, numbers=frozenset(names))
    over = f"all topics of {found.of}" if found.topics == "qrels" else "the topics each run answers"
    ideals = "" if found.ideal == "qrels" else " Ideal lists: what each run shows."
    yield Paragraph(
        f"Means over {over} ({len(found.judged.topics)} in {found.of}). Equal scores: "
        f"{found.ties}. Highest grade: {found.judged.g_max:g}.{ideals}"
    )
