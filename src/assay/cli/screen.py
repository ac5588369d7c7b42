"""What is drawn on the screen: tables, paragraphs, and whatever else rich draws."""

from __future__ import annotations

import errno

from rich.console import Console, RenderableType
from rich.text import Text

from assay.model.wording import printable_lines
from assay.page.tables import Table
from assay.reports.tables import table


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to ``main`` that nobody reads on; rich would end with a failure."""
        raise BrokenPipeError(errno.EPIPE, "the output is not read any more")


def out() -> Console:
    """Console for results: standard output, never wider than the screen."""
    return _Console(highlight=False, emoji=False)


def err() -> Console:
    """Console for progress and remarks: standard error."""
    return _Console(stderr=True, highlight=False, emoji=False)


def writes_over(console: Console) -> bool:
    """Whether it is a terminal on which lines are written over. On one of ``TERM=dumb`` none is:
    screen readers read out each state of a line."""
    return console.is_terminal and not console.is_dumb_terminal


def show(one: Table | RenderableType) -> None:
    """Print something; sentences are broken into lines as wide as the screen."""
    if isinstance(one, str):
        out().print(Text(printable_lines(one)))
    else:
        drawn = table(one, out().width) if isinstance(one, Table) else one
        out().print(drawn, soft_wrap=isinstance(drawn, Text))
