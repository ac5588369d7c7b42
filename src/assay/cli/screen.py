"""Screen output: tables, paragraphs, and anything else that rich draws."""

from __future__ import annotations

import errno

from rich.console import Console, ConsoleDimensions, RenderableType
from rich.text import Text

from assay.model.wording import printable_lines
from assay.page.tables import Table
from assay.reports.tables import table


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to ``main`` that nobody reads on; rich would end with a failure."""
        raise BrokenPipeError(errno.EPIPE, "the output is not read any more")


_LONGEST = 2000
"""Most characters of a row that stays on one line."""


def out() -> Console:
    """Console for results: standard output, wrapped to the screen width, except that with
    ``TERM=dumb`` a row stays on one line for screen readers, which read line by line."""
    console = _Console(highlight=False, emoji=False)
    if console.is_dumb_terminal:
        console.size = ConsoleDimensions(_LONGEST, console.height)
    return console


def err() -> Console:
    """Console for progress and remarks: standard error."""
    return _Console(stderr=True, highlight=False, emoji=False)


def writes_over(console: Console) -> bool:
    """Whether lines on the terminal can be overwritten. Never with ``TERM=dumb``: screen readers
    would read out each state."""
    return console.is_terminal and not console.is_dumb_terminal


def show(one: Table | RenderableType) -> None:
    """Print something; sentences are wrapped to the screen width."""
    if isinstance(one, str):
        out().print(Text(printable_lines(one)))
    else:
        drawn = table(one, out().width) if isinstance(one, Table) else one
        out().print(drawn, soft_wrap=isinstance(drawn, Text))
