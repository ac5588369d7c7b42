"""R2C2 passage runs as rankings: for each question the PassageKeys in the order of their ranks.

The qrels that R2C2 derives from nuggets name a passage by its key, ``PRrunName;PassageRank``, so a
PR run is measured like any other run once its passages are named that way. Source: docs/r2c2.md,
step 6.
"""

from __future__ import annotations

from os import PathLike

from assay.formats.parsed import Parsed
from assay.formats.r2c2_pr import read_pr_run
from assay.formats.text import SourceText


def read_rankings(
    given: str | PathLike[str] | SourceText,
) -> tuple[str, Parsed[dict[str, list[str]]]]:
    """A PR run's name (its file's) and its rankings. Raises FormatError where the file
    cannot be read at all."""
    parsed = read_pr_run(given)
    run = parsed.value
    if run is None:
        return "", Parsed(None, parsed.faults)
    rankings = {
        question: [str(passage.key) for passage in passages]
        for question, passages in run.passages.items()
    }
    return run.name, Parsed(rankings, parsed.faults)
