"""Run a function on untrusted input, such as somebody's template, within limits.

The function runs in a process of its own, which is killed if it takes too long and fails if it
needs too much memory. Within our own process nothing could stop it.
"""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
import threading
import time
import weakref
from contextlib import suppress
from importlib import import_module
from typing import Any

from assay.model.errors import SettingsError

SECONDS = 10.0
"""Time limit of one call."""
MEMORY = 1_500_000_000
"""Limit of the process's address space, in bytes. Systems without such a limit have only the
time."""

_POLL = 0.1  # seconds between two checks of the time limit

_START = "import sys; sys.path[:] = sys.argv[3:]; from assay.model.confined import serve; serve()"


class FunctionError(SettingsError):
    """The function itself raised an exception. Its process lives on and takes further calls."""


class ConfinedFunction:
    """A function, named ``module:name``, that takes and returns plain JSON. Its process starts at
    the first call, and again after a call that exceeded a limit."""

    def __init__(self, function: str, seconds: float = SECONDS) -> None:
        self._function = function
        self._seconds = seconds
        self._lock = threading.Lock()
        self._worker: _Worker | None = None

    def __call__(self, what: str, *args: Any) -> Any:
        """Call the function with ``args``; ``what`` names the input in messages. Raises
        SettingsError if the call exceeds a limit, and FunctionError if the function raises."""
        line = json.dumps(args, default=vars).encode() + b"\n"
        with self._lock:
            reply = self._call(line, what)
        if "error" in reply:
            raise FunctionError(reply["error"])
        return reply["result"]

    def _call(self, line: bytes, what: str) -> dict[str, Any]:
        worker = self._worker
        if worker is None or worker.process.poll() is not None:
            self._worker = worker = _Worker(self._function)
            # Bound to the worker: bound to this object, the finalizer would keep it alive for ever.
            weakref.finalize(self, worker.end)
        answer = worker.call(line, self._seconds)
        if answer.endswith(b"\n"):
            reply: dict[str, Any] = json.loads(answer)
            return reply
        worker.end()
        limit = (
            f"takes longer than {self._seconds:g} s"
            if worker.timed_out
            else f"needs more than {MEMORY / 1e9:g} GB of memory, or is nested too deeply"
        )
        raise SettingsError(f"{what} {limit}. Make it simpler.")


class _Worker:
    """The process, and a thread that kills it if it exceeds the time limit."""

    def __init__(self, function: str) -> None:
        # Neither the empty path nor (-P) the current folder: a json.py beside somebody's template
        # would be imported.
        paths = [path for path in sys.path if path]
        self.process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-P", "-c", _START, function, str(MEMORY), *paths],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.timed_out = False
        self._deadline = math.inf
        self._read()  # wait until it is ready: its start takes none of the first call's time
        threading.Thread(target=self._watch, daemon=True).start()

    def call(self, line: bytes, seconds: float) -> bytes:
        """Send a line and return the reply: empty or without a line break if the process ended."""
        self._deadline = time.monotonic() + seconds
        try:
            if self.process.stdin is not None:
                self.process.stdin.write(line)
                self.process.stdin.flush()
            return self._read()
        except BrokenPipeError:
            return b""
        finally:
            self._deadline = math.inf

    def end(self) -> None:
        self.process.kill()
        with suppress(BrokenPipeError), self.process:  # closes its pipes
            self.process.wait()

    def _read(self) -> bytes:
        return b"" if self.process.stdout is None else self.process.stdout.readline()

    def _watch(self) -> None:
        while self.process.poll() is None:
            if time.monotonic() > self._deadline:
                self.timed_out = True
                self.process.kill()
            time.sleep(_POLL)


def serve() -> None:
    """Main loop of the process: one call per line of standard input, until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent process
    module, _, name = sys.argv[1].partition(":")
    function = getattr(import_module(module), name)
    if sys.platform != "win32":
        import resource  # noqa: PLC0415 (not on Windows)

        # macOS has no such limit, and a stricter one that is already set cannot be raised.
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]),) * 2)
    out = sys.stdout.buffer
    out.write(b"\n")
    out.flush()
    for line in sys.stdin.buffer:
        try:
            reply = {"result": function(*json.loads(line))}
        except Exception as error:  # noqa: BLE001 (every error is reported to the caller)
            known = isinstance(error, SettingsError)
            reply = {"error": str(error) if known else f"{type(error).__name__}: {error}"}
        out.write(json.dumps(reply).encode() + b"\n")
        out.flush()
