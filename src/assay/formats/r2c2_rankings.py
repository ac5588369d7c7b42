"""R2C2 passage runs as rankings: for each question the PassageKeys in the order of their ranks.

The qrels that R2C2 derives from nuggets name a passage by its key, ``PRrunName;PassageRank``, so a
PR run is measured like any other run once its passages are named that way. Source: docs/r2c2.md,
step 6.
"""

from __future__ import annotations

import re
from os import PathLike

from assay.formats.parsed import Parsed
from assay.formats.r2c2_pr import read_pr_run

__all__ = ["is_passage_run", "read_rankings"]

_PASSAGE = re.compile(rb"[^;]*;[ \t]*[0-9]+[ \t]*;[^;]*;")
_TREC = re.compile(rb"\S+[ \t]+\S+[ \t]+\S+[ \t]+[-+0-9]+[ \t]+[-+.0-9eE]+[ \t]+\S+")


def is_passage_run(beginning: bytes) -> bool:
    """Return whether a file that begins so is a PR run and not a TREC run.

    The first line decides: ``QuestionID;PassageRank;DocID;`` with a number in the second place.
    """
    lines = beginning.removeprefix(b"\xef\xbb\xbf").lstrip().splitlines()
    if not lines or _TREC.fullmatch(lines[0].strip()):
        return False
    return _PASSAGE.match(lines[0]) is not None


def read_rankings(path: str | PathLike[str]) -> tuple[str, Parsed[dict[str, list[str]]]]:
    """Return a PR run's name (its file's) and its rankings.

    Raises:
        FormatError: the file cannot be read at all.
    """
    parsed = read_pr_run(path)
    run = parsed.value
    if run is None:
        return "", Parsed(None, parsed.faults)
    rankings = {
        question: [str(passage.key) for passage in passages]
        for question, passages in run.passages.items()
    }
    return run.name, Parsed(rankings, parsed.faults)
