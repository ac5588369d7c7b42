"""``assay trust``: scores corrected by people's labels of a random draw, with their intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Annotated, Any, cast

import typer

from assay.api.corrected import Corrected
from assay.api.corrected_tables import (
    corrected_tables,
    population_in_words,
    remarks_of,
)
from assay.api.correcting import COLUMNS, Trusted
from assay.api.trust import CarriedOver, carried_over, trust, write_trust
from assay.cli.common import FolderArgument, Paragraph, forms, present
from assay.model.options import Option
from assay.page.tables import Table
from assay.page.wording import interval, number
from assay.statistics.corrected import Population


class Of(StrEnum):
    """What an interval refers to."""

    THESE = "these"
    LIKE_THESE = "like-these"


@forms("json", "csv")
def trust_command(
    folder: FolderArgument,
    measure: Annotated[
        list[str] | None,
        Option(
            "Measure to show and write (default: show those that rank, and write all of the "
            "leaderboards).",
            flag="--measure -m",
            metavar="M",
        ),
    ] = None,
    population: Annotated[
        Of,
        Option(
            "these: the score if people labelled all topics here. like-these: the score expected "
            "on topics of this kind; use it for claims about systems."
        ),
    ] = Of.THESE,
    level: Annotated[float, Option("Confidence level of the intervals.")] = 0.95,
    draw: Annotated[str, Option("Id of the draw to use, or its beginning.")] = "",
    carried: Annotated[
        str,
        Option(
            "Make a sensitivity analysis instead, from how the judge did on another collection, "
            "e.g. 45/50,40/50 (45 of 50 right ones called right, 40 of 50 wrong ones called "
            "wrong).",
            metavar="TP/M1,TN/M0",
        ),
    ] = "",
) -> None:
    """Correct scores with people's labels of a random draw, and show intervals.

    The machine labels everything; people label what 'assay draw' drew. The correction removes the
    machine's errors, which widens the intervals. Writes out/trust.csv. Exit status 1 if nothing can
    be corrected.
    """
    if carried:
        _carried(carried_over(folder, carried, measures=measure or (), level=level))
        return
    of = cast("Population", population.replace("-", " "))
    found = trust(folder, measures=measure or (), population=of, level=level, draw=draw)
    file = str(write_trust(folder, found)) if found.corrects or not measure else ""
    present(
        lambda: _document(found),
        _people(found, bool(measure), file if found.corrects else ""),
        (COLUMNS, found.rows()),
        remarks_of(found),
    )
    if not found.corrects:
        raise typer.Exit(1)


def _carried(found: Sequence[CarriedOver]) -> None:
    """Print a sensitivity analysis, unordered, as it does not rank runs."""
    says = (
        "This is a sensitivity analysis, not a correction: it assumes that the judge errs here as "
        "it did on the other collection, and alike for all runs. Do not compare runs by it; "
        "'assay draw' and 'assay trust' give corrected scores."
    )
    rows = [(o.run, o.measure, o.judge_alone, f"{number(o.value)} [{interval(o.low, o.high)}]", o.n)
            for o in found]  # fmt: skip
    heading = ("run", "measure", "judge alone", "if it errs as elsewhere", "topics")
    present(
        lambda: {"kind": "sensitivity analysis", "says": says,
                 "scores": [one._asdict() for one in found]},
        [Table("If the judge errs here as elsewhere", heading, rows), Paragraph(says)],
        (CarriedOver._fields, found),
    )  # fmt: skip


def _document(found: Trusted) -> dict[str, Any]:
    return {
        "stands_on": found.basis,
        "why": found.why or None,
        "remarks": found.remarks,
        "draw": None if found.draw is None else found.draw.draw.uid,
        "labels": found.people,
        "population": found.population,
        "level": found.level,
        "scores": [dict(zip(COLUMNS, row, strict=True)) for row in found.rows()],
        "boards": [
            {
                "title": board.title,
                "measures": [_board(one) for one in board.found],
                "refused": dict(board.refused),
            }
            for board in found.boards
        ],
    }


def _board(one: Corrected) -> dict[str, Any]:
    ranks = None
    if one.best is not None and one.worst is not None:
        ranks = {run: list(ends) for run, *ends in zip(one.runs, one.best, one.worst, strict=True)}
    return {
        "measure": one.measure, "ranks": ranks, "pairs": one.pairs, "decided": one.decided,
        "tau": one.tau, "judge_weight": one.weight, "warnings": one.warnings,
        "families": one.families,
    }  # fmt: skip


def _people(found: Trusted, chosen: bool, file: str) -> Iterator[Table | Paragraph | str]:
    for table, order in corrected_tables(found, every=chosen):
        yield table
        if order:
            yield Paragraph(order)
    for line in (population_in_words(found), f"Based on: {found.basis}.", found.why):
        if line:
            yield Paragraph(line)
    for line in remarks_of(found):
        yield Paragraph(f"• {line}")
    if file:
        yield f"{'Scores' if chosen else 'All measures'}: {file}"
