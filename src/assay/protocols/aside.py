"""A function that is computed by another process, while this one does something else.

Python does one thing at a time; where what goes in and comes out is small, a second process makes
use of a second core.
"""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from types import TracebackType
from typing import Generic, Self, TypeVar, cast

Given = TypeVar("Given")
Found = TypeVar("Found")

# The other process looks for modules where this one does; it begins before it is given anything.
_START = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from assay.protocols.aside import serve; serve()"
)


class Aside(Generic[Given, Found]):
    """Computes the function called ``name`` of ``module``, of one argument.

    The other process is started when this is entered, and gets ready while the argument is not
    known yet. Without ``start``, where it cannot be started, and where it breaks, this process
    computes the function itself when the result is asked for: only the time differs.
    """

    def __init__(self, module: str, name: str, *, start: bool = True) -> None:
        self._module, self._name = module, name
        self._start = start
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        if not self._start or not sys.executable:
            return self
        with suppress(OSError):
            self._process = subprocess.Popen(  # noqa: S603 (this Python, with our own words)
                [sys.executable, "-c", _START],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,  # whatever breaks it there is seen here
            )
            self._send(sys.path, (self._module, self._name))
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

    def of(self, argument: Given) -> Callable[[], Found]:
        """Begin to compute; what is returned gives the result, waiting for it where it must.
        To be called once, and the result is to be asked for before this is left."""
        process = self._process
        if process is None or process.stdin is None:
            return cache(lambda: self._here(argument))
        with suppress(OSError):  # it has ended: ``result`` sees that
            self._send(argument)
            process.stdin.close()

        # Read here and not by a thread, which would stand in the way of what is done meanwhile.
        def result() -> Found:
            said = process.stdout.read() if process.stdout else b""
            if process.wait():
                return self._here(argument)
            return cast("Found", pickle.loads(said))  # noqa: S301 (of our own process)

        return cache(result)

    def _here(self, argument: Given) -> Found:
        found: Found = getattr(import_module(self._module), self._name)(argument)
        return found

    def _send(self, *values: object) -> None:
        if self._process is not None and self._process.stdin is not None:
            for value in values:
                self._process.stdin.write(pickle.dumps(value))
            self._process.stdin.flush()


def serve() -> None:
    """What the other process does: get ready, compute once, and end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends with the process that began it
    given, found = sys.stdin.buffer, sys.stdout.buffer
    module, name = pickle.load(given)  # noqa: S301 (of the process that began this one)
    function = getattr(import_module(module), name)
    found.write(pickle.dumps(function(pickle.load(given))))  # noqa: S301
