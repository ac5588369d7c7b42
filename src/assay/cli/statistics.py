"""What ``agree``, ``correlate``, ``compare`` and ``samplesize`` share."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import typer

from assay.cli.common import err
from assay.formats.parsed import Parsed
from assay.reports.statistics_plots import checked_plot

T = TypeVar("T")

LEVEL = 0.95
"""Of all intervals."""


def one_output(*, as_json: bool, as_csv: bool) -> None:
    """Refuse ``--json`` beside ``--csv``: standard output holds one document."""
    if as_json and as_csv:
        raise typer.BadParameter("choose one of --json and --csv", param_hint="--json")


def one_of(value: str, known: tuple[str, ...], option: str) -> None:
    """Refuse a value that an option does not have."""
    if value not in known:
        said = ", ".join(repr(one) for one in known[:-1])
        raise typer.BadParameter(
            f"must be {said + ' or ' if said else ''}{known[-1]!r}", param_hint=option
        )


def plot_file(plot: Path | None) -> None:
    """Refuse a plot's name whose ending says no format, before any work is done."""
    try:
        checked_plot(plot or "none.svg")
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--plot") from None


def used(parsed: Parsed[T]) -> T:
    """The value of a file, with its warnings on standard error.

    Raises:
        FormatError: the file has errors.
    """
    value = parsed.require()
    for fault in parsed.warnings:
        note(fault)
    return value


def note(text: object) -> None:
    """One remark on standard error."""
    err().print(f"Note: {text}", markup=False, soft_wrap=True)


def shown(value: float | None, digits: int = 4) -> str:
    """A number for people; undefined is a dash."""
    return "–" if value is None else f"{value:.{digits}f}"
