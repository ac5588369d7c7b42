"""What the commands that ask labellers share: their options, and how judging goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from assay.api.opened import Opened
from assay.api.options import POLICY_HELP
from assay.api.telling import ProgressLines
from assay.cli.common import tell
from assay.cli.screen import err
from assay.judging.progress import Progress as Judging
from assay.judging.progress import Silent
from assay.labellers.spec import SPEC_HELP

LabellerOption = Annotated[
    str | None,
    typer.Option(
        "--labeller", metavar="SPEC", help=f"Use this labeller for all tasks: {SPEC_HELP}."
    ),
]
PolicyOption = Annotated[
    str | None, typer.Option("--policy", metavar="P", help=f"Which label counts: {POLICY_HELP}.")
]
BudgetOption = Annotated[
    float | None,
    typer.Option("--budget", metavar="USD", min=0, help="Stop judging at this cost (US dollars)."),
]
PriceOption = Annotated[
    str | None,
    typer.Option(
        "--price",
        metavar="IN/OUT",
        help="US dollars for a million tokens read and written (else the list price).",
    ),
]
RetryOption = Annotated[
    bool, typer.Option("--retry-failed", help="Ask again where a labeller's reply was unusable.")
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Show the calls and tokens ahead; ask nothing.")
]
ShowPromptsOption = Annotated[
    int, typer.Option("--show-prompts", metavar="N", min=0, help="Print N prompts; ask nothing.")
]
ShardOption = Annotated[
    str | None,
    typer.Option(
        "--shard", metavar="N/COUNT", help="Only this share of the questions, such as 2/8."
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        "--workers", metavar="N", min=1, help="Have embedded labellers answer in N processes."
    ),
]
OnOption = Annotated[
    str | None,
    typer.Option("--on", metavar="ray[:ADDRESS]", help="Have labellers answer on a Ray cluster."),
]


class FetchLines:
    """Says that a model is being fetched: a line at each new step and every tenth of the way."""

    def __init__(self) -> None:
        self._last = ("", -1)

    def __call__(self, what: str, done: int, size: int) -> None:
        tenth = done * 10 // size if size else 0
        if (what, tenth) != self._last:
            self._last = (what, tenth)
            tell(f"{what}: {done / 1e6:,.0f} of {size / 1e6:,.0f} MB")


def judging_bar(*, quiet: bool = False) -> Judging:
    """How judging goes on: a bar where standard error is a terminal, lines elsewhere."""
    if quiet:
        return Silent()
    return JudgingBar() if err().is_terminal else ProgressLines()


class _Shown(Progress):
    """A bar, and what stands beneath it."""

    beneath: Callable[[], Iterable[RenderableType]] = staticmethod(lambda: ())

    def get_renderables(self) -> Iterable[RenderableType]:
        yield from super().get_renderables()
        yield from self.beneath()


class JudgingBar(ProgressLines):
    """A progress bar for judging: done, rate, remaining, cost, failures."""

    _bar: Progress | None = None

    def beneath(self) -> Iterable[RenderableType]:
        """What is shown beneath the bar."""
        return ()

    def begin(self, title: str, total: int, known: int) -> None:
        super().begin(title, total, known)
        if total == known:
            return
        self._bar = bar = _Shown(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[extra]}"),
            console=err(),
            transient=True,
        )
        bar.beneath = self.beneath
        bar.start()
        bar.add_task(title, total=total, completed=known, rate="", extra="")

    def _show(self) -> None:
        if self._bar is not None:
            task = self._bar.tasks[0]
            rate = self._done / task.elapsed if task.elapsed else 0.0
            extra = ", ".join(self._extras())
            self._bar.update(task.id, advance=1, rate=f"{rate:.1f}/s", extra=extra, refresh=False)

    def note(self, text: str) -> None:
        if self._bar is not None:
            self._bar.console.print(text, markup=False)

    def end(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def open_folder(path: Path, labeller: str | None = None, policy: str | None = None) -> Opened:
    """Open an evaluation folder with everything in it, telling of models that are fetched. Raises
    SettingsError or FormatError."""
    return Opened.open(path, labeller=labeller, policy=policy, fetching=FetchLines())
