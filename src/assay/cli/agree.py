"""``assay agree``: how well two files of labels agree."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import typer

from assay.api.agreeing import MOST_CUTS, UNGIVEN, Agreed, agree_files, scale_of
from assay.api.agreement_page import (
    DISAGREEMENTS,
    agreement_tables,
    disagreement_rows,
    write_agreement,
)
from assay.api.undefined import undefined_values
from assay.cli.common import FORM, forms, present, remark, seed_option
from assay.model.options import Argument, Option
from assay.model.wording import counted, printable
from assay.page.tables import Table

_LONG = frozenset({"what", "why_a", "why_b"})


@forms("json", "csv")
def agree_command(
    a: Annotated[
        Path,
        Argument(
            "A",
            "Labels: qrels, an RJ run, CSV [run,]topic,doc,label, support labels, assignments, "
            "nuggets, battles, or an evaluation's out/labels.jsonl.",
        ),
    ],
    b: Annotated[Path, Argument("B", "Other labels of the same documents.")],
    scale: Annotated[
        str | None,
        Option(
            "The possible labels: a range such as 0:4, or a list such as 0,0.5,1. Default: the "
            "labels found.",
            metavar="LOW:HIGH",
        ),
    ] = None,
    by: Annotated[
        Literal["topic", "run", "edit"] | None,
        Option(
            "Also show each topic or run, or labels from scratch and post-edited ones separately.",
            metavar="topic|run|edit",
        ),
    ] = None,
    clip: Annotated[bool, Option("Move labels outside the scale to its nearest end.")] = False,
    label: Annotated[
        str | None,
        Option(
            "Which labels to compare: 'importance' for assignments; a task such as 'support' for "
            "an export.",
            metavar="NAME",
        ),
    ] = None,
    disagreements: Annotated[
        bool, Option("Print the units on which the two differ, with the reasons given.")
    ] = False,
    html: Annotated[
        Path | None, Option("Write an HTML page that includes the disagreements.", metavar="FILE")
    ] = None,
    seed: Annotated[int, seed_option("Seed of the bootstrap over topics.")] = 0,
) -> None:
    """Measure the agreement of two label files: raw, Cohen's kappa and Krippendorff's alpha, with
    counts.

    Units are matched by topic, document and, if there is one, run. Intervals (95 %) resample
    topics. kappa@t is kappa of labels cut in two: at least t, or less.
    """
    if clip and scale is None:
        raise typer.BadParameter("needs a --scale to clip to", param_hint="--clip")
    try:
        labels = None if scale is None else scale_of(scale)
    except ValueError:
        raise typer.BadParameter(
            f"{scale!r} is not a scale; write a range such as 0:4, or a list such as 0,0.5,1",
            param_hint="--scale",
        ) from None
    whole = bool(FORM.get())
    found = agree_files(
        a, b, scale=labels, clip=clip, seed=seed, by=by, whole=whole, note=remark, label=label
    )
    if html is not None:
        write_agreement(found, a, b, html)
    if disagreements:
        rows = list(disagreement_rows(found))
        present(
            lambda: [dict(zip(DISAGREEMENTS, row, strict=True)) for row in rows],
            [Table("Where they differ", DISAGREEMENTS, rows, texts=_LONG)],
            (DISAGREEMENTS, rows),
        )
        return
    present(
        lambda: {**found.document(), "files": {"A": str(a), "B": str(b)}},
        _people(found, printable(str(a)), printable(str(b))),
        (found.columns(), found.rows()),
        (*found.findings(), *found.undefined("Empty")),
    )


def _people(found: Agreed, a: str, b: str) -> Iterator[Table | str]:
    result = found.result
    yield from agreement_tables(found)
    yield f"A is {a}, B is {b}."
    units, topics = counted(result.n, "unit"), result.topics or 0
    yield f"{units} of {counted(topics, 'topic')} labelled in both."
    yield from found.findings()
    cuts = found.cuts <= MOST_CUTS
    if not cuts:
        yield f"kappa@t at {found.cuts:,} thresholds is not shown here (use --csv)."
    orders = result.orders
    yield (
        f"Pairs of units of a topic: {orders.agree:,} in the same order, {orders.disagree:,} in "
        f"opposite order, {orders.tie:,} tied."
    )
    if topics > 1:
        yield f"Low and high: 95 % bootstrap interval over topics, seed {found.labels.seed}."
    yield from found.undefined("–", cuts=cuts)
    labels = ((f"label {found.labels.name(one.label)}", one.agreement) for one in result.by_label)
    yield from undefined_values(
        "–", ((name, UNGIVEN if value is None else None) for name, value in labels)
    )
