"""Hosts in processes of this machine, for labellers that compute within Assay."""

from __future__ import annotations

import asyncio
import base64
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import BinaryIO

from assay.labellers.host import Host, Recipe
from assay.labellers.hosted import BLOCKS_PER_HOST, Hosting
from assay.model.errors import LabellerUnreachable

_TRIES = 3
_START = (
    "import sys; sys.path[:] = sys.argv[2:]; "
    "from assay.labellers.processes import serve; serve(sys.argv[1])"
)


class Processes(Hosting):
    """``count`` processes for each labeller that computes within Assay. Endpoints are called from
    the planning process, which is fast enough."""

    kinds = frozenset(("embedded",))
    option = "--workers"

    def __init__(self, count: int) -> None:
        self._count = count
        self._made: dict[tuple[str, str], list[_Process]] = {}

    def count(self, recipe: Recipe) -> int:
        return self._count

    def hosts(self, recipe: Recipe) -> Sequence[_Process]:
        if recipe.name not in self._made:
            self._made[recipe.name] = [_Process(recipe) for _ in range(self._count)]
        return self._made[recipe.name]

    def close(self) -> None:
        for process in (one for every in self._made.values() for one in every):
            process.close()
        self._made.clear()


class _Process:
    """A process that hosts a labeller; its pipes are read in threads."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(BLOCKS_PER_HOST, thread_name_prefix="assay-host")
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    async def ready(self) -> None:
        return None  # it starts with the first block

    async def answer(self, block: bytes) -> bytes:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._answer, block)

    def _answer(self, block: bytes) -> bytes:
        with self._lock:
            for _ in range(_TRIES):
                with suppress(OSError):
                    answer = self._ask(block)
                    if answer or self._closed:
                        return answer
                self._end()
        raise LabellerUnreachable(
            f"The process that answers for {self._recipe.spec} died {_TRIES} times in a row (out "
            "of memory?). Use fewer --workers."
        )

    def _ask(self, block: bytes) -> bytes:
        """The answer to a block, or nothing if the process has died."""
        process = self._process
        if process is None:
            process = self._process = self._start()
        if process.stdin is None or process.stdout is None:
            return b""
        process.stdin.write(block + b"\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        return answer if answer.endswith(b"\n") else b""

    def _start(self) -> subprocess.Popen[bytes]:
        recipe = base64.b64encode(pickle.dumps(self._recipe)).decode()
        paths = [path for path in sys.path if path]
        return subprocess.Popen(  # noqa: S603
            [sys.executable, "-P", "-c", _START, recipe, *paths],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with suppress(OSError), process:  # closes its pipes
                process.wait()

    def close(self) -> None:
        self._closed = True
        if self._process is not None:
            self._process.kill()  # readers then get nothing and release the lock
        with self._lock:
            self._end()
        self._threads.shutdown()


def serve(recipe: str) -> None:
    """Main loop of the process: one block per line, until its input ends or its parent dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent process
    out: BinaryIO = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # libraries that print must not disturb the answers
    host = Host(pickle.loads(base64.b64decode(recipe)))  # noqa: S301 (from our parent)
    with asyncio.Runner() as runner:
        for block in sys.stdin.buffer:
            out.write(runner.run(host.answer(block)) + b"\n")
            out.flush()
        runner.run(host.close())
