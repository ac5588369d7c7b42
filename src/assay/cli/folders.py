"""Evaluation folders as the commands open and show them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from assay.api.opened import Opened
from assay.api.overview import uncompared
from assay.api.pages import tables_of
from assay.api.results import BoardAgreement, Results
from assay.cli.common import plain_table
from assay.cli.judging import FetchLines
from assay.page.wording import number


def open_folder(path: Path, labeller: str | None = None, policy: str | None = None) -> Opened:
    """Open an evaluation folder with everything in it, telling of models that are fetched. Raises
    SettingsError or FormatError."""
    return Opened.open(path, labeller=labeller, policy=policy, fetching=FetchLines())


def tables(results: Results) -> Iterator[Table]:
    """The leaderboards of every protocol, and where there are several, how these agree."""
    for one in results.by_protocol.values():
        yield from tables_of(one)
    if results.several:
        yield _agreement(results.agreements)


def _agreement(agreements: Sequence[BoardAgreement]) -> Table:
    table = plain_table("How the leaderboards agree")
    for name in ("leaderboard", "and"):
        table.add_column(name, overflow="fold")
    for name in ("τ-b", "ρ", "runs"):
        table.add_column(name, justify="right")
    if alone := sum(one.runs < 2 for one in agreements):
        table.caption = Text(uncompared(alone, len(agreements)))
        table.caption_justify = "left"
    for one in agreements:
        if one.runs > 1:
            table.add_row(
                Text(one.first), Text(one.second), number(one.tau), number(one.rho), str(one.runs)
            )
    return table
