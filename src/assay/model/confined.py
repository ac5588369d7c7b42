"""Work that a file of somebody else's describes (a template), in a process of its own that ends
where it takes too long or too much memory: within ours, nothing could stop it."""

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
"""What one call may take."""
MEMORY = 1_500_000_000
"""Bytes of address space of the process; where the system takes no limit, time alone ends it."""

_LOOK = 0.1  # seconds between two looks at the time

_START = "import sys; sys.path[:] = sys.argv[3:]; from assay.model.confined import serve; serve()"


class Raised(SettingsError):
    """The function raised something itself: its process lives, and others may be asked of it."""


class Confined:
    """A function, ``module:name``, of plain JSON to plain JSON. Its process starts with the first
    call, and again after one that had to be ended."""

    def __init__(self, function: str, seconds: float = SECONDS) -> None:
        self._function = function
        self._seconds = seconds
        self._lock = threading.Lock()
        self._worker: _Worker | None = None

    def __call__(self, what: str, *args: Any) -> Any:
        """What the function says to ``args``. Raises SettingsError, about ``what``, where it
        comes to its limits, and Raised for what the function raises."""
        line = json.dumps(args, default=vars).encode() + b"\n"
        with self._lock:
            reply = self._asked(line, what)
        if "error" in reply:
            raise Raised(reply["error"])
        return reply["said"]

    def _asked(self, line: bytes, what: str) -> dict[str, Any]:
        worker = self._worker
        if worker is None or worker.process.poll() is not None:
            self._worker = worker = _Worker(self._function)
            # Bound to the worker: were it to this object, it would keep it alive for ever.
            weakref.finalize(self, worker.end)
        said = worker.asked(line, self._seconds)
        if said.endswith(b"\n"):
            reply: dict[str, Any] = json.loads(said)
            return reply
        worker.end()
        limit = (
            f"takes longer than {self._seconds:g} s"
            if worker.late
            else f"needs more than {MEMORY / 1e9:g} GB of memory, or is nested too deeply"
        )
        raise SettingsError(f"{what} {limit}. Make it simpler.")


class _Worker:
    """The process, and a thread that ends it where it is late."""

    def __init__(self, function: str) -> None:
        # Not the empty path, nor (-P) the current folder's: a json.py beside somebody's template
        # would run.
        paths = [path for path in sys.path if path]
        self.process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-P", "-c", _START, function, str(MEMORY), *paths],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.late = False
        self._until = math.inf
        self._read()  # it is ready: its start takes none of the first call's time
        threading.Thread(target=self._watch, daemon=True).start()

    def asked(self, line: bytes, seconds: float) -> bytes:
        """The line that it says to a line; an empty or broken one where it ends instead."""
        self._until = time.monotonic() + seconds
        try:
            if self.process.stdin is not None:
                self.process.stdin.write(line)
                self.process.stdin.flush()
            return self._read()
        except BrokenPipeError:
            return b""
        finally:
            self._until = math.inf

    def end(self) -> None:
        self.process.kill()
        with suppress(BrokenPipeError), self.process:  # its pipes are closed
            self.process.wait()

    def _read(self) -> bytes:
        return b"" if self.process.stdout is None else self.process.stdout.readline()

    def _watch(self) -> None:
        while self.process.poll() is None:
            if time.monotonic() > self._until:
                self.late = True
                self.process.kill()
            time.sleep(_LOOK)


def serve() -> None:
    """The process: one call a line, until its input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever asks
    module, _, name = sys.argv[1].partition(":")
    function = getattr(import_module(module), name)
    if sys.platform != "win32":
        import resource  # noqa: PLC0415 (there is none on Windows)

        # Macs take no such limit, and a stricter one that is there already cannot be raised.
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]),) * 2)
    out = sys.stdout.buffer
    out.write(b"\n")
    out.flush()
    for line in sys.stdin.buffer:
        try:
            reply = {"said": function(*json.loads(line))}
        except Exception as error:  # noqa: BLE001 (whatever it is, it is told)
            known = isinstance(error, SettingsError)
            reply = {"error": str(error) if known else f"{type(error).__name__}: {error}"}
        out.write(json.dumps(reply).encode() + b"\n")
        out.flush()
