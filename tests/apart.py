"""The ``assay`` command in a process of its own that need not load it first: it is forked from one
that has. For what starting Python itself does there is ``subprocess``."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing import get_context, process
from multiprocessing.reduction import DupFd
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

from assay.protocols.registry import OWN

CONTEXT = get_context("forkserver")
CONTEXT.set_forkserver_preload(
    [
        "assay.cli.commands",
        "assay.cli.ui",
        "assay.cli.evaluate",
        "assay.cli.labels",
        "assay.systems.corpus.build",
        *(f"assay.protocols.{name.replace('-', '_')}.protocol" for name in OWN),
        "assay.labellers.rules",
        "assay.ledger.postgres",
        "tests.engine.asking",
        "tests.preloaded",
    ]
)
_STARTING = threading.Lock()


class _Stream:
    """A file descriptor that goes to another process."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __getstate__(self) -> Any:
        return DupFd(self.number)

    def __setstate__(self, state: Any) -> None:
        self.number = state.detach()


class Apart:
    """A process that runs the command with these arguments, standard streams (of file descriptors)
    and environment. ``before`` is called in it first."""

    def __init__(
        self,
        *arguments: object,
        env: Mapping[str, str],
        streams: tuple[int, int, int],
        cwd: Path | None = None,
        before: Callable[[], None] | None = None,
    ) -> None:
        given = (
            ["assay", *map(str, arguments)],
            dict(env),
            str(cwd or Path.cwd()),
            [_Stream(number) for number in streams],
            before,
        )
        with _STARTING, mock.patch.dict(sys.modules, __main__=ModuleType("__main__")):
            self._process = CONTEXT.Process(target=_enter, args=given)
            self._process.start()
            # Or what starts next looks after it too, and takes its status away.
            process._children.discard(self._process)  # type: ignore[attr-defined]

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def wait(self, timeout: float | None = None) -> int:
        """The status that it ends with."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            assert timeout is not None
            raise subprocess.TimeoutExpired("assay", timeout)
        return self._process.exitcode

    def send_signal(self, number: signal.Signals) -> None:
        if self._process.exitcode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _enter(
    argv: list[str],
    env: dict[str, str],
    cwd: str,
    streams: list[_Stream],
    before: Callable[[], None] | None,
) -> None:
    from assay.cli.main import main

    for number, stream in enumerate(streams):
        os.dup2(stream.number, number)
        os.close(stream.number)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding=env.get("PYTHONIOENCODING", "utf-8"), closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, "utf-8", "backslashreplace", closefd=False)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    sys.path[:0] = [place for place in env.get("PYTHONPATH", "").split(":") if place]
    sys.dont_write_bytecode = True  # modules of tests are written anew within a second
    sys.argv = argv
    sys.modules["__main__"] = ModuleType("__main__")
    if before is not None:
        before()
    main()
