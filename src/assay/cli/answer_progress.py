"""How answers are shown while they come: line by line, and on a terminal while they are written."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from rich.console import RenderableType
from rich.text import Text

from assay.api.telling import ProgressLines
from assay.cli.judging import JudgingBar, is_quiet
from assay.cli.screen import err
from assay.judging.progress import Progress as Judging
from assay.judging.progress import Silent
from assay.labellers.base import Outcome, Request
from assay.systems.reply_lines import Teller

_ROWS = 6  # replies under way that are shown at once


def answers_shown(teller: Teller) -> Judging:
    """Answers as they are written where standard output and error are a terminal; a plain line for
    each that has come elsewhere; nothing where that is wanted."""
    if is_quiet():
        return Silent()
    live = err().is_terminal and sys.stdout.isatty()
    return _WrittenAnswers(teller) if live else _AnswerLines(teller)


class _AnswerLines(ProgressLines):
    """A line an answer; replies are not asked for in pieces."""

    live = False

    def __init__(self, teller: Teller) -> None:
        super().__init__()
        self._teller = teller

    def heard(self, _request: Request, _text: str) -> None: ...

    def came(self, request: Request, outcome: Outcome) -> None:
        line = self._teller.answered(request, outcome)
        if line is not None:
            self.note(line)


class _WrittenAnswers(JudgingBar):
    """The bar of judging with the replies under way beneath it, and the answers that have come
    above it."""

    live = True

    def __init__(self, teller: Teller) -> None:
        super().__init__()
        self._teller = teller
        self._writing: dict[tuple[str, str, int], str] = {}

    def heard(self, request: Request, text: str) -> None:
        line = self._teller.writing(request, text)
        if line is not None:
            self._writing[_place(request)] = line

    def came(self, request: Request, outcome: Outcome) -> None:
        self._writing.pop(_place(request), None)
        line = self._teller.answered(request, outcome)
        if line is not None:
            self.note(line)

    def beneath(self) -> Iterable[RenderableType]:
        for line in list(self._writing.values())[:_ROWS]:
            yield Text(line, style="dim", no_wrap=True, overflow="ellipsis")


def _place(request: Request) -> tuple[str, str, int]:
    return request.topic, request.task.name, request.sample
