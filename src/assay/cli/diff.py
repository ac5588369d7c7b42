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
    second: Annotated[Path, Argument("OUT2", "The evaluation to compare it with.")],
    measures: Annotated[
        list[str] | None,
        Option("Only these measures (default: all).", flag="-m --measure", metavar="M"),
    ] = None,
    html: Annotated[
        Path | None, Option("Write an HTML page that includes the answers.", metavar="FILE")
    ] = None,
    every: Annotated[
        bool, Option("Show every value that changed, not only the first 20.", flag="--all")
    ] = False,
) -> None:
    """Compare two evaluations: which scores changed and by how much, what else changed, and which
    topics flipped.

    Lists changes in settings, prompts, labellers, inputs and versions. For each topic that changed,
    it says whether the texts differ or the same texts have different labels.
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
