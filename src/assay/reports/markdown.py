"""Texts of files in GitHub's Markdown: on one line, and nothing in them is markup."""

from __future__ import annotations

import re
from collections.abc import Iterable

from assay.page.wording import shortened

_MARKS = re.compile(r"([\\`*_{}\[\]#!|~>&<$])")


def safe(text: str) -> str:
    """A text as it is, whatever it holds; a very long one is cut."""
    return _MARKS.sub(r"\\\1", shortened(text, 2_000))


def line(cells: Iterable[str]) -> str:
    """A row of a table."""
    return f"| {' | '.join(cells)} |"
