"""What commands that ask labellers share: their options, and progress."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from rich.console import RenderableType
from rich.progress import BarColumn, Progress, TextColumn

from assay.api.opened import POLICY_HELP, Opened
from assay.api.telling import ProgressLines
from assay.cli.common import FORM, remark, tell
from assay.cli.ending import QUIET
from assay.cli.screen import err, writes_over
from assay.judging.progress import SilentProgress
from assay.labellers.spec import SPEC_HELP
from assay.model.locking import NO_LOCKS_WARNING
from assay.model.options import Option

LabellerOption = Annotated[
    str | None, Option(f"Use this labeller for all tasks: {SPEC_HELP}.", metavar="SPEC")
]
PolicyOption = Annotated[str | None, Option(f"Which labels count: {POLICY_HELP}.", metavar="P")]
BudgetOption = Annotated[
    float | None, Option("Stop judging at this cost (US dollars).", metavar="USD", least=0)
]
PriceOption = Annotated[
    str | None,
    Option(
        "US dollars per million tokens read and written (default: the list price).",
        metavar="IN/OUT",
    ),
]
RetryOption = Annotated[bool, Option("Ask again if a labeller's reply was unusable.")]
DryRunOption = Annotated[bool, Option("Show the calls and tokens needed; ask nothing.")]
ShowPromptsOption = Annotated[int, Option("Print N prompts; ask nothing.", metavar="N", least=0)]


@dataclass(frozen=True, slots=True)
class Asking:
    """How a folder's labellers are asked: who, how much, for which shard and where."""

    labeller: LabellerOption = None
    policy: PolicyOption = None
    budget: BudgetOption = None
    dry_run: DryRunOption = False
    retry_failed: RetryOption = False
    shard: Annotated[
        str | None, Option("Ask only this share of the questions, e.g. 2/8.", metavar="N/COUNT")
    ] = None
    workers: Annotated[
        int | None, Option("Run embedded labellers in N processes.", metavar="N", least=1)
    ] = None
    on: Annotated[
        str | None, Option("Run labellers on a Ray cluster.", metavar="ray[:ADDRESS]")
    ] = None


_SOON = 1.0  # seconds before other work shows a bar
_OFTEN = 0.1  # seconds between updates of a bar


class FetchLines:
    """Reports the download of a model: a line for each new step and every tenth of the way."""

    def __init__(self) -> None:
        self._last = ("", -1)

    def __call__(self, what: str, done: int, size: int) -> None:
        tenth = done * 10 // size if size else 0
        if (what, tenth) != self._last:
            self._last = (what, tenth)
            tell(f"{what}: {done / 1e6:,.0f} of {size / 1e6:,.0f} MB")


def is_quiet() -> bool:
    """Whether progress is silent, because of ``--quiet`` or because a program reads the output."""
    return QUIET.get() or bool(FORM.get())


def judging_bar() -> ProgressLines | SilentProgress:
    """Progress of judging: a bar on terminals that can overwrite lines, lines elsewhere."""
    if is_quiet():
        return SilentProgress()
    if NO_LOCKS_WARNING:
        remark(NO_LOCKS_WARNING)
    return JudgingBar() if writes_over(err()) else ProgressLines()


@contextmanager
def going() -> Iterator[ProgressLines | SilentProgress]:
    """Progress of any other work, reported through its ``at``; erased at the end."""
    shown = judging_bar()
    try:
        yield shown
    finally:
        shown.end()


class _Shown(Progress):
    """A bar with text beneath it, hidden until ``since``."""

    beneath: Callable[[], Iterable[RenderableType]] = staticmethod(lambda: ())
    since = 0.0

    def get_renderables(self) -> Iterable[RenderableType]:
        if time.monotonic() >= self.since:
            yield from super().get_renderables()
            yield from self.beneath()


class JudgingBar(ProgressLines):
    """Judging progress as a bar that is overwritten: done, rate, remaining, cost, failures. Other
    work shows one after a moment."""

    _bar: _Shown | None = None
    _drawn = 0.0

    def beneath(self) -> Iterable[RenderableType]:
        """The text beneath the bar."""
        return ()

    def begin(self, title: str, total: int, known: int) -> None:
        super().begin(title, total, known)
        if self._todo:
            self._opened().since = 0.0

    def at(self, what: str, done: int, share: float | None) -> None:
        self._opened()
        super().at(what, done, share)

    def _start(self, title: str, todo: int) -> None:
        super()._start(title, todo)
        self._drawn = 0.0  # redraw immediately

    def _opened(self) -> _Shown:
        if self._bar is None:
            self._bar = _Shown(
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=12),
                TextColumn("{task.fields[said]}", markup=False),
                console=err(),
                transient=True,
            )
            self._bar.beneath = self.beneath
            self._bar.since = time.monotonic() + _SOON
            self._bar.start()
            self._bar.add_task("", said="")
        return self._bar

    def _show(self, *, last: bool) -> None:
        now = time.monotonic()
        if last or now - self._drawn >= _OFTEN:
            self._drawn = now
            bar = self._opened()
            bar.update(
                bar.tasks[0].id,
                description=self._title,
                total=None if self._share is None else 1.0,
                completed=self._share or 0.0,
                said=self._in_words(),
            )

    def note(self, text: str) -> None:
        if self._bar is not None:
            self._bar.console.print(text, markup=False)

    def end(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def open_folder(path: Path, labeller: str | None = None, policy: str | None = None) -> Opened:
    """Open an evaluation folder completely, reporting model downloads. Raises SettingsError or
    FormatError."""
    return Opened.open(path, labeller=labeller, policy=policy, fetching=FetchLines())


@contextmanager
def showing(opened: Opened) -> Iterator[Opened]:
    """The same evaluation, with progress shown."""
    with going() as shown:
        yield replace(opened, progress=shown.at)
