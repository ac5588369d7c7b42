"""A result as a report, and as leaderboards for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from assay.model.version import __version__
from assay.page.page import Page
from assay.protocols.pages import page_of
from assay.protocols.results import Result
from assay.reports.general import render_report
from assay.reports.terminal import board_tables


def html_of(page: Page | Result) -> str:
    """The report as HTML."""
    page = page_of(page) if isinstance(page, Result) else page
    return render_report(page, generated_by=f"Assay {__version__}")


def tables_of(result: Result) -> Sequence[Table]:
    """Its leaderboards."""
    return board_tables(page_of(result, sections=False))
