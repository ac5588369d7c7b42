"""``assay plan``: what people should label next, and the expected gain."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from assay.api.opened import Opened
from assay.api.planning import AGREEMENT, COLUMNS, Aim, LabelPlan, plan_labels
from assay.cli.common import FolderArgument, Paragraph, forms, present, takes
from assay.model.options import Option
from assay.model.wording import counted
from assay.page.tables import Table
from assay.page.wording import narrow


@forms("json", "csv")
@takes(Aim, measure="n", task="n")
def plan_command(
    folder: FolderArgument,
    *,
    measure: Annotated[
        str,
        Option(
            "Measure to plan for (default: the one that depends on most labels).",
            flag="--measure -m",
        ),
    ] = "",
    task: Annotated[str, Option("Task that people label.")] = "",
    agreement: Annotated[
        float,
        Option(
            "If nobody has labelled yet: the share of units on which people are expected to agree "
            "with the machine."
        ),
    ] = AGREEMENT,
    **options: Any,
) -> None:
    """Plan what to label next, and show what it is expected to gain: interval widths, pairs of runs
    settled, hours, money.

    The expectations are based on the labels there are. Nothing is drawn or written. The plan ends
    with an 'assay draw' command that makes the draw.
    """
    aim = Aim(**options)
    if not 0.5 <= agreement < 1:
        raise typer.BadParameter("must be at least .5 and below 1", param_hint="--agreement")
    if aim.width is not None and not 0 < aim.width < math.inf:
        raise typer.BadParameter("must be a number above 0", param_hint="--width")
    if sum((aim.to_decide, aim.width is not None, aim.n is not None)) > 1:
        raise typer.BadParameter("give only one of --to-decide, --width and --n", param_hint="--n")
    opened = Opened.open(folder)
    found = plan_labels(opened, aim, task=task, measure=measure, agreement=agreement)
    present(
        lambda: _document(found, aim), _people(found, aim), (COLUMNS, found.rows()), found.notes
    )


def _document(found: LabelPlan, aim: Aim) -> dict[str, Any]:
    return {
        "measure": found.measure, "task": found.task, "runs": found.runs, "pairs": found.pairs,
        "settled": found.settled, "offers": found.offers,
        "cheapest": found.cheapest,
        "command": found.command or None, "looks": aim.looks, "level": aim.level,
        "deciding_level": aim.deciding, "notes": found.notes,
    }  # fmt: skip


def _people(found: LabelPlan, aim: Aim) -> Iterator[Table | Paragraph]:
    rows = [
        (
            one.design,
            f"{one.labels:,}",
            "" if one.topics is None else str(one.topics),
            ">1" if one.width > 1 else narrow(f"{one.width:.3f}"),
            f"{one.decided:.1f} of {found.pairs}" if found.pairs else "–",
            "–" if one.hours is None else f"{one.hours:.1f}",
            "–" if one.cost is None else f"${one.cost:.2f}",
        )
        for one in found.offers
    ]
    heading = (
        "design",
        "labels",
        "topics",
        "widest interval",
        "pairs settled",
        "hours",
        "model's price",
    )
    title = f"Expected gain from labels: {found.measure}"
    yield Table(title, heading, rows, numbers=frozenset(heading[1:]))
    if found.settled:
        yield Paragraph(f"Settled now: {found.settled} of {counted(found.pairs, 'pair')}.")
    for note in found.notes:
        yield Paragraph(f"• {note}")
    best = found.cheapest
    if best is not None:
        wanted = "The largest gain" if aim.n is not None else "The fewest labels that reach it"
        yield Paragraph(f"{wanted}: {best.labels:,} by {best.design}.")
        yield Paragraph(found.command)
