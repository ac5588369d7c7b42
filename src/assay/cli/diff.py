"""``assay diff``: two evaluations topic by topic, and what changed between them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from assay.api.diff_tables import (
    MOST_SHOWN,
    diff_remarks,
    diff_tables,
    hanging_in_words,
    summary,
    write_diff,
)
from assay.api.diffing import Difference, diff
from assay.cli.common import Paragraph, forms, present
from assay.model.options import Argument, Option
from assay.page.tables import Table


@forms("json")
def diff_command(
    first: Annotated[Path, Argument("OUT1", "An evaluation folder, its out/, or a release.")],
    second: Annotated[Path, Argument("OUT2", "The other one.")],
    measures: Annotated[
        list[str] | None, Option("Only these (left out: all).", flag="-m --measure", metavar="M")
    ] = None,
    html: Annotated[Path | None, Option("Write a page, answers included.", metavar="FILE")] = None,
    every: Annotated[
        bool, Option("Show every value that moved, not the first 20.", flag="--all")
    ] = False,
) -> None:
    """Two evaluations: which scores moved and by how much, what changed, and which topics flipped.

    What changed are settings, prompts, labellers, inputs and versions; of each topic that moved it
    is said whether its texts are others, or the same texts have other labels.
    """
    found = diff(first, second, measures or ())
    if html is not None:
        write_diff(found, html)
    present(found.document, _people(found, html, None if every else MOST_SHOWN))


def _people(found: Difference, html: Path | None, most: int | None) -> Iterator[Table | Paragraph]:
    for line in (*summary(found), *hanging_in_words(found), *diff_remarks(found)):
        yield Paragraph(line)
    yield from diff_tables(found, most=most)
    if html is not None:
        yield Paragraph(f"Page: {html}")
