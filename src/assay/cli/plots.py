"""The option ``--plot``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from assay.model.wording import printable
from assay.reports.plotting import checked_plot


def plot_option(draws: str) -> Any:
    """``--plot``, of a plot that ``draws`` something."""
    says = f"Draw {draws} (.svg, .pdf or .png)."
    return typer.Option("--plot", callback=_checked, help=says)


def _checked(plot: Path | None) -> Path | None:
    """Refuse a plot's name whose ending says no format, before any work is done."""
    try:
        checked_plot(plot or "none.svg")
    except ValueError as error:
        raise typer.BadParameter(printable(str(error)), param_hint="--plot") from None
    return plot
