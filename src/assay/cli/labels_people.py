"""``assay labels people``: people who labelled the same units, beside each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Annotated

from assay.api.labels import tasks_named
from assay.api.people import COLUMNS, Overlap, overlaps
from assay.cli.common import FolderArgument, Paragraph, forms, present
from assay.model.options import Option
from assay.model.wording import counted
from assay.page.tables import Table
from assay.page.wording import number


@forms("json", "csv")
def people_command(
    folder: FolderArgument,
    task: Annotated[str | None, Option("Only this task.")] = None,
) -> None:
    """How far people who labelled the same units agree, and how reliable each of them is.

    κ and α by what they said, and each one's accuracy by the model of Dawid and Skene, which
    estimates it and the true labels from one another. Only labels that were given without another's
    in sight. It changes no score: --policy majority and adjudication do.
    """
    found = overlaps(folder, (tasks_named(task) or [""])[0])
    present(
        lambda: [asdict(one) for one in found],
        _agreement(found),
        (COLUMNS, (row for one in found for row in one.rows())),
        [
            f"{short_name(one.task)} {one.field}: {n}"
            for one in found
            for n in (*one.notes, one.why)
            if n
        ],
    )


def _agreement(found: Sequence[Overlap]) -> Iterator[Table | Paragraph]:
    if not found:
        yield Paragraph("No two people labelled the same unit, each without seeing the other's.")
    for one in found:
        rows = [
            (
                who.name, who.labels, who.shared, who.kappa, who.accuracy,
                *(who.sensitivity.get(name) for name in one.categories),
            )
            for who in one.people
        ]  # fmt: skip
        heading = ("person", "labels", "shared", "κ", "accuracy", *one.categories)
        yield Table(f"{short_name(one.task)}: {one.field}", heading, rows)
        alpha = "undefined" if one.alpha is None else number(one.alpha)
        changed = ""
        if not one.why:
            counts = ", ".join(f"{name} {count:,}" for name, count in one.consensus.items())
            changed = (
                f" The model's labels: {counts}; not that of most people on {one.changed} of "
                f"{one.items:,}."
            )
        yield Paragraph(f"α {alpha} over {counted(one.shared, 'shared item')}.{changed}")
        for note in (*one.notes, *((f"No accuracies: {one.why}",) if one.why else ())):
            yield Paragraph(f"• {note}")


def short_name(task: str) -> str:
    """A task's name without that of its protocol."""
    return task.rpartition(".")[2]
