"""What ``agree``, ``correlate``, ``compare`` and ``samplesize`` share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import typer

from assay.api import reading
from assay.cli.common import err
from assay.formats.parsed import Parsed
from assay.model.wording import listed, printable
from assay.reports.statistics_plots import checked_plot

T = TypeVar("T")

LEVEL = 0.95
"""Of all intervals."""

RESAMPLES = 2000
"""Of all bootstraps over topics."""


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
        raise typer.BadParameter(printable(str(error)), param_hint="--plot") from None


def used(parsed: Parsed[T]) -> T:
    """The value of a file, with its warnings on standard error. Raises FormatError with its
    errors."""
    return reading.used(parsed, note)


def all_used(readers: Iterable[Callable[[], Parsed[T]]]) -> list[T]:
    """The values of several files, with their warnings on standard error, each of them once.
    Raises FormatError with the errors of all files."""
    return reading.all_used(readers, note)


def note(text: object) -> None:
    """One remark on standard error."""
    err().print(f"Note: {text}", markup=False, soft_wrap=True)


def shown(value: float | None, digits: int = 4) -> str:
    """A number for people; undefined is a dash."""
    return "–" if value is None else f"{value:.{digits}f}"


# --- what is undefined, and why ------------------------------------------------------------------


def explained(row: dict[str, object], reason: str | None, undefined: int = 0) -> dict[str, object]:
    """A row of JSON with the reason of its nulls and the resamples that its interval leaves out."""
    if undefined:
        row["undefined_resamples"] = undefined
    if reason is not None:
        row["reason"] = reason
    return row


def undefined_values(mark: str, found: Iterable[tuple[str, str | None]]) -> Iterator[str]:
    """For every reason a sentence that names the values that it leaves undefined.

    Args:
        mark: what stands in their place.
        found: name and reason of every value; without a reason it is defined.
    """
    names: dict[str, list[str]] = {}
    for name, reason in found:
        if reason is not None:
            names.setdefault(reason, []).append(name)
    for reason, every in names.items():
        yield f"{mark} is undefined: {reason} ({listed(every, 12)})."


def undefined_resamples(found: Iterable[tuple[str, int]]) -> Iterator[str]:
    """A sentence on how many resamples the intervals leave out, given as name and number."""
    counts = [f"{name} {count:,}" for name, count in found if count]
    if counts:
        yield (
            f"Low and high leave out those of {RESAMPLES:,} resamples in which the value is "
            f"undefined: {listed(counts, 12)}."
        )


def no_interval(topics: int) -> str:
    """Why a value that is defined has no interval."""
    why = "there is one topic only" if topics == 1 else "it is undefined in every resample"
    return f"no interval: {why}"
