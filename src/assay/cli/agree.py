"""``assay agree``: how well two files of labels agree."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from assay.api.agreeing import COLUMNS, MOST_CUTS, OF_GROUPS, UNGIVEN, Agreed, agree_files, scale_of
from assay.api.undefined import undefined_values
from assay.cli.common import CsvOption, JsonOption, one_of, present, remark
from assay.model.wording import counted, printable
from assay.page.tables import Table
from assay.statistics.agreement import label_name

_MOST_LABELS = 12  # more make a table of counts that no one reads


def agree_command(
    a: Annotated[
        Path,
        typer.Argument(
            metavar="A",
            help="Labels: qrels, an RJ run, CSV [run,]topic,doc,label, support labels or "
            "assignments.",
        ),
    ],
    b: Annotated[Path, typer.Argument(metavar="B", help="Other labels of the same documents.")],
    scale: Annotated[
        str | None,
        typer.Option(
            "--scale",
            metavar="LOW:HIGH",
            help="The labels that there are: 0:4, or a list as 0,0.5,1. Default: those given.",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option("--by", metavar="topic|run", help="Also every single topic, or run."),
    ] = None,
    clip: Annotated[
        bool, typer.Option("--clip", help="Move labels outside the scale to its nearest end.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the bootstrap over topics.")] = 0,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Agreement of two label files: raw, Cohen's kappa and Krippendorff's alpha, with counts.

    Units are matched by topic, document and run if there is one. Intervals (95 %) resample topics.
    kappa@t is kappa of labels that are cut in two: at least t, or less.
    """
    if by is not None:
        one_of(by, ("topic", "run"), "--by")
    if clip and scale is None:
        raise typer.BadParameter("needs a --scale to clip to", param_hint="--clip")
    try:
        labels = None if scale is None else scale_of(scale)
    except ValueError:
        raise typer.BadParameter(
            f"{scale!r} is no scale; write 0:4, or a list as 0,0.5,1", param_hint="--scale"
        ) from None
    found = agree_files(
        a, b, scale=labels, clip=clip, seed=seed, by=by, whole=as_json or as_csv, note=remark
    )
    present(
        lambda: {**found.document(), "files": {"A": str(a), "B": str(b)}},
        _people(found, printable(str(a)), printable(str(b))),
        (found.columns(), found.rows()),
        (*found.findings(), *found.undefined("Empty")),
        as_json=as_json,
        as_csv=as_csv,
    )


def _people(found: Agreed, a: str, b: str) -> Iterator[Table | str]:
    result = found.result
    cuts = found.cuts <= MOST_CUTS
    shown = [one for one in found.coefficients if cuts or not one.cut]
    yield Table("Agreement", COLUMNS, [one.row for one in shown], digits=4)
    if result.table is not None and len(result.labels) <= _MOST_LABELS:
        names = tuple(map(label_name, result.labels))
        lines = zip(result.by_label, result.table, strict=True)
        rows = [(label_name(one.label), *line, one.agreement) for one, line in lines]
        yield Table("Counts: A down, B across", ("", *names, "agreement"), rows, digits=4)
    if found.by:
        rows = [
            (
                one.name,
                one.units,
                *(each.estimate.value for each in one.coefficients if each.name in OF_GROUPS),
            )
            for one in found.groups
        ]
        yield Table(f"By {found.by}", (found.by, "units", *OF_GROUPS), rows, digits=4)
    yield f"A is {a}, B is {b}."
    units, topics = counted(result.n, "unit"), result.topics or 0
    yield f"{units} of {counted(topics, 'topic')} labelled in both."
    yield from found.findings()
    if not cuts:
        yield f"kappa@t of {found.cuts:,} thresholds: not shown (see --csv)."
    orders = result.orders
    yield (
        f"Pairs of units of a topic: {orders.agree:,} ordered alike, {orders.disagree:,} in "
        f"opposite ways, {orders.tie:,} with a tie."
    )
    if topics > 1:
        yield f"Low and high: 95 % bootstrap over topics, seed {found.labels.seed}."
    yield from found.undefined("–", cuts=cuts)
    labels = ((f"label {label_name(one.label)}", one.agreement) for one in result.by_label)
    yield from undefined_values(
        "–", ((name, UNGIVEN if value is None else None) for name, value in labels)
    )
