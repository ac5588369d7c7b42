"""File names of the pages of a large report, in a folder beside it.

The pages of ``report.html`` are in ``report/``: ``part-3-17.html`` is the seventeenth of the third
section. Paths contain only numbers, never text from runs or corpora.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

_PAGE = re.compile(r"(?:part|first)-[0-9]+-[0-9]+\.html")


def folder_of(name: str) -> str:
    """The folder beside a report of this name."""
    stem, dot, _ = name.rpartition(".")
    return stem if dot and stem else f"{name}-pages"


def page_name(section: str, place: int) -> str:
    """The file name of a section's detail, by its number."""
    return f"{section}-{place}.html"


def pages_of(report: Path) -> list[Path]:
    """The existing pages of a report."""
    folder = report.parent / folder_of(report.name)
    return sorted(one for one in folder.glob("*.html") if _PAGE.fullmatch(one.name))


def remove_pages(report: Path, *, but: frozenset[str] = frozenset()) -> None:
    """Remove the pages of a report, except those named in ``but``. Other files stay."""
    for path in pages_of(report):
        if path.name not in but:
            path.unlink(missing_ok=True)
    with suppress(OSError):  # it holds something, or was never there
        (report.parent / folder_of(report.name)).rmdir()
