"""Functions that are computed by another process, while this one does something else.

Python does one thing at a time; where what goes in and comes out is small, a second process makes
use of a second core.
"""

from __future__ import annotations

import gc
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from types import TracebackType
from typing import Any, Self

# The other process looks for modules where this one does; it begins before it is given anything.
_START = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from assay.protocols.second_process import serve; serve()"
)


class SecondProcess:
    """Calls functions of one argument, each named by its module and its name there.

    The other process is started when this is entered, and loads the module ``ready`` before it is
    given anything. Without ``start``, where it cannot be started, and where it breaks, this process
    calls the function itself when the result is asked for: only the time differs.
    """

    def __init__(self, ready: str, *, start: bool = True) -> None:
        self._ready = ready
        self._start = start
        self._process: subprocess.Popen[bytes] | None = None
        self._unread: Callable[[], Any] | None = None

    def __enter__(self) -> Self:
        if self._start and sys.executable:
            with suppress(OSError):
                self._process = subprocess.Popen(  # noqa: S603 (this Python, with our own words)
                    [sys.executable, "-P", "-c", _START],  # -P: no modules from this folder
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,  # whatever breaks it there is seen here
                )
                self._send(sys.path)
                self._send(self._ready)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None:
            self._process.kill()
            for pipe in (self._process.stdin, self._process.stdout):
                with suppress(OSError):  # what was not sent yet cannot be any more
                    if pipe is not None:
                        pipe.close()
            self._process.wait()

    def call(self, module: str, name: str, argument: Any) -> Callable[[], Any]:
        """Begin to call a function; what is returned gives the result, waiting for it where it
        must. It is to be asked for before this is left."""
        if self._process is None:
            return cache(lambda: _call(module, name, argument))
        if self._unread is not None:
            self._unread()  # else each process could wait for the other to read
        broken = False
        try:
            self._send((module, name, argument))
        except OSError:  # the other process has ended
            broken = True

        # Read here and not by a thread, which would stand in the way of what is done meanwhile.
        def result() -> Any:
            try:
                if not broken:
                    return self._received()
            except (OSError, EOFError, pickle.UnpicklingError):
                pass
            return _call(module, name, argument)

        self._unread = cache(result)
        return self._unread

    def _send(self, value: object) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.write(pickle.dumps(value))
            self._process.stdin.flush()

    def _received(self) -> Any:
        if self._process is None or self._process.stdout is None:
            raise EOFError
        return pickle.load(self._process.stdout)  # noqa: S301 (of our own process)


def _call(module: str, name: str, argument: Any) -> Any:
    return getattr(import_module(module), name)(argument)


def serve() -> None:
    """What the other process does: get ready, and answer calls until nobody is there."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends with the process that began it
    gc.disable()  # it lives for seconds
    given, found = sys.stdin.buffer, sys.stdout.buffer
    with suppress(EOFError, BrokenPipeError):
        import_module(pickle.load(given))  # noqa: S301 (of the process that began this one)
        while True:
            found.write(pickle.dumps(_call(*pickle.load(given))))  # noqa: S301
            found.flush()
