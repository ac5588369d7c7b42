"""A result as a report, and as leaderboards for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from assay.model.version import __version__
from assay.protocols.r2c2.results import Found
from assay.protocols.results import Result
from assay.reports import r2c2
from assay.reports.general import board_tables, render_report
from assay.reports.tables import leaderboard_tables


def page_of(result: Result) -> str:
    """The report as HTML."""
    if isinstance(result.findings.detail, Found):
        return r2c2.render_report(result, generated_by=f"Assay {__version__}")
    return render_report(result, generated_by=f"Assay {__version__}")


def tables_of(result: Result) -> Sequence[Table]:
    """Its leaderboards."""
    if isinstance(result.findings.detail, Found):
        return leaderboard_tables(result)
    return board_tables(result)
