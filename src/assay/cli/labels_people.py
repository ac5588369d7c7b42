"""``assay labels people``: people who labelled the same units, beside each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

from assay.api.labels import tasks_named
from assay.api.people import people_of
from assay.cli.common import FolderArgument, Paragraph, forms, present
from assay.model.options import Option
from assay.model.wording import counted
from assay.page.tables import Table
from assay.protocols.people import COLUMNS, Overlap
from assay.protocols.people_parts import in_words
from assay.statistics.agreement import Estimate


@forms("json", "csv")
def people_command(
    folder: FolderArgument,
    task: Annotated[str | None, Option("Only this task.")] = None,
) -> None:
    """Show how far people who labelled the same units agree, with each other and with the machine,
    how reliable each person is, and whose labels seem uninformative.

    κ and α use the labels given; each person's accuracy is estimated by the model of Dawid and
    Skene, which estimates accuracies and true labels together. Only labels given without seeing
    another label are used. No score changes: for that, use --policy majority, adjudication, or
    'without' in [settings].
    """
    found = people_of(folder, (tasks_named(task) or [""])[0])
    present(
        lambda: found,
        _agreement(found),
        (COLUMNS, (row for one in found for row in one.rows())),
        [f"{short_name(one.task)} {one.field}: {n}" for one in found for n in one.remarks],
    )


def _agreement(found: Sequence[Overlap]) -> Iterator[Table | Paragraph]:
    if not any(one.shared for one in found):
        yield Paragraph(
            "No two people have labelled the same unit without seeing each other's label."
        )
    for one in found:
        yield one.table(f"{short_name(one.task)}: {one.field}")
        told = []
        if one.shared:
            items = counted(one.shared, "shared item")
            told.append(
                f"α ({one.metric}) {_known(one.alpha)} over {items}, of which people differ on "
                f"{one.differ}."
            )
        if one.beside is not None:
            labels = counted(one.beside.labels, "label")
            told.append(
                f"Compared with the machine: agreement {_known(one.beside.agreement)}, κ "
                f"{_known(one.beside.kappa)} over {labels} by people."
            )
        if not one.why:
            counts = ", ".join(f"{name} {count:,}" for name, count in one.consensus.items())
            told.append(
                f"The model's labels: {counts}; they differ from what most people said on "
                f"{one.changed} of {one.items:,}."
            )
        yield Paragraph(" ".join(told))
        for remark in one.remarks:
            yield Paragraph(f"• {remark}")


def _known(estimate: Estimate) -> str:
    return "undefined" if estimate.value is None else in_words(estimate)


def short_name(task: str) -> str:
    """A task's name without its protocol."""
    return task.rpartition(".")[2]
