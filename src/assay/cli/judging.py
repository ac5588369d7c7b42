"""What the commands that ask labellers share: their options, and how judging goes on."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from assay.cli.common import err
from assay.labellers.base import Outcome
from assay.labellers.spec import SPEC_HELP
from assay.ledger.policy import POLICY_HELP
from assay.model.labels import Status

_EVERY = 5.0  # seconds between two lines about progress where there is no bar

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


class FetchLines:
    """Says that a model is being fetched: a line at each new step and every tenth of the way."""

    def __init__(self) -> None:
        self._last = ("", -1)

    def __call__(self, what: str, done: int, size: int) -> None:
        tenth = done * 10 // size if size else 0
        if (what, tenth) != self._last:
            self._last = (what, tenth)
            err().print(
                f"{what}: {done / 1e6:,.0f} of {size / 1e6:,.0f} MB", markup=False, soft_wrap=True
            )


class JudgingBar:
    """A progress bar for judging: done, rate, remaining, cost, failures.

    Where standard error is no terminal, a line is printed every few seconds instead.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._console = err()
        self._quiet = quiet
        self._bar: Progress | None = None
        self._task: Any = None
        self._title = ""
        self._total = self._known = self._done = self._failed = 0
        self._cost = 0.0
        self._told = time.monotonic()

    def begin(self, title: str, total: int, known: int) -> None:
        self._title, self._total, self._known = title, total, known
        self._done = self._failed = 0
        self._told = time.monotonic()
        if self._quiet or total == known:
            return
        if self._console.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=24),
                MofNCompleteColumn(),
                TextColumn("{task.fields[rate]}"),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[extra]}"),
                console=self._console,
                transient=True,
            )
            self._bar.start()
            self._task = self._bar.add_task(
                title, total=total, completed=known, rate="", extra=self._extra()
            )
        else:
            self._console.print(f"{title}: {total - known} to ask, {known} known", markup=False)

    def step(self, outcome: Outcome | None) -> None:
        self._done += 1
        if outcome is not None:
            self._failed += outcome.status is Status.FAILED
            self._cost += outcome.cost or 0.0
        if self._bar is not None:
            task = self._bar.tasks[0]
            rate = self._done / task.elapsed if task.elapsed else 0.0
            self._bar.update(
                self._task, advance=1, rate=f"{rate:.1f}/s", extra=self._extra(), refresh=False
            )
        elif not self._quiet:
            todo = self._total - self._known
            now = time.monotonic()
            if now - self._told >= _EVERY:
                self._told = now
                self._console.print(
                    f"{self._title}: {self._done}/{todo}{self._extra(', ')}", markup=False
                )

    def note(self, text: str) -> None:
        if not self._quiet:
            self._console.print(text, markup=False)

    def end(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _extra(self, before: str = "") -> str:
        parts = []
        if self._cost:
            parts.append(f"${self._cost:.4f}")
        if self._failed:
            parts.append(f"{self._failed} failed")
        return before + ", ".join(parts) if parts else ""
