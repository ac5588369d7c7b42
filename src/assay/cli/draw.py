"""``assay draw``: a random draw for people to label, recorded before anybody labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Annotated, Any, cast

import typer

from assay.api.correcting import DrawProgress
from assay.api.opened import Opened
from assay.api.trust import draw_for_people, draw_units, drawn_so_far
from assay.cli.common import FolderArgument, Paragraph, forms, present, seed_option
from assay.model.options import Option
from assay.model.wording import counted
from assay.page.tables import Table

COLUMNS = ("draw", "design", "seed", "name", "pi", "drawn")


class Design(StrEnum):
    """The design of a random draw: what is drawn, and with which probabilities."""

    TOPICS = "topics"
    UNIFORM = "uniform"
    LEVERAGE = "leverage"
    PAIRS = "pairs"


@forms("json", "csv")
def draw_command(
    folder: FolderArgument,
    n: Annotated[
        int | None, Option("How many to draw. Without it, show what was drawn so far.", least=1)
    ] = None,
    task: Annotated[
        list[str] | None,
        Option(
            "Tasks that people label (default: all that are asked). Drawing single units takes "
            "exactly one."
        ),
    ] = None,
    design: Annotated[
        Design,
        Option(
            "topics: whole topics, good for every measure. Single units of one task, for measures "
            "that are sums over its labels: leverage favours those that narrow the scores most; "
            "pairs, those that narrow the differences between runs; uniform treats all alike."
        ),
    ] = Design.TOPICS,
    measure: Annotated[
        str,
        Option(
            "Measure for which single units are drawn (default: all of the task).",
            flag="--measure -m",
        ),
    ] = "",
    seed: Annotated[int, seed_option("Seed of the draw; the same seed gives the same draw.")] = 1,
) -> None:
    """Draw a random sample for people to label, so that scores can be corrected.

    The draw is kept in the ledger permanently, with the probability of each topic or unit. 'assay
    ui' queues it for labelling; once all of it is labelled, 'assay trust' corrects the scores.
    """
    if n is None:
        found = drawn_so_far(Opened.open(folder))
    elif design is Design.TOPICS:
        if measure:
            raise typer.BadParameter(
                "is for single units, e.g. with --design leverage", param_hint="-m"
            )
        found = [draw_for_people(folder, n=n, seed=seed, tasks=task or ())]
    else:
        if len(task or ()) != 1:
            raise typer.BadParameter(
                "drawing single units takes exactly one task", param_hint="--task"
            )
        found = [
            draw_units(
                folder, n=n, seed=seed, task=(task or [""])[0],
                design=cast("Any", design.value), measure=measure,
            )
        ]  # fmt: skip
    rows = (
        (one.draw.uid[:8], one.draw.design, one.draw.seed, *row)
        for one in found
        for row in zip(one.draw.names, one.draw.pi, map(int, one.draw.drawn), strict=True)
    )
    present(lambda: {"draws": [_document(one) for one in found]}, _people(found), (COLUMNS, rows))


def _document(one: DrawProgress) -> dict[str, Any]:
    draw = one.draw
    names = zip(draw.names, draw.pi, draw.drawn, strict=True)
    return {
        "draw": draw.uid, "design": draw.design, "tasks": draw.tasks, "n": draw.size,
        "seed": draw.seed, "units": one.units, "labelled": one.labelled,
        "names": [{"name": name, "pi": pi, "drawn": drawn} for name, pi, drawn in names],
    }  # fmt: skip


def _people(found: Sequence[DrawProgress]) -> Iterator[Table | Paragraph]:
    if not found:
        yield Paragraph("Nothing has been drawn yet. Draw with: assay draw FOLDER --n N --seed S.")
    for one in found:
        draw = one.draw
        when = "" if one.new else " (drawn before)"
        yield Paragraph(
            f"Draw {draw.uid[:8]}: {len(draw.chosen)} of "
            f"{counted(len(draw.names), draw.unit_name)}, seed {draw.seed}{when}"
            + (f": {', '.join(draw.chosen)}." if draw.design == Design.TOPICS else ".")
        )
        yield Paragraph(f"People label {', '.join(draw.tasks)}.")
        left = one.units - one.labelled
        more = "More units may follow as people label. " if one.may_grow else ""
        yield Paragraph(
            f"{one.labelled} of {counted(one.units, 'label')} are done. "
            + (
                f"{more}Label the rest in 'assay ui'."
                if left
                else "See the scores with 'assay trust'."
            )
        )
