"""The ``assay`` command, run within this process or in one of its own."""

from __future__ import annotations

import contextlib
import contextvars
import gc
import importlib
import logging
import os
import signal
import subprocess
import sys
import traceback
import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from io import TextIOWrapper
from pathlib import Path
from tempfile import TemporaryFile
from types import ModuleType
from typing import IO, Any, NoReturn
from unittest import mock

from typer.main import get_command

from assay.cli import commands, ending
from tests.apart import Apart

Done = subprocess.CompletedProcess[str]
_IGNORED = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)


def without_keys() -> dict[str, str]:
    """The environment without anybody's keys."""
    return {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}


def run_here(
    *arguments: object,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    input: str = "",  # noqa: A002 (as subprocess.run calls it)
) -> Done:
    """What the command does in a process with this environment, folder and input, but without
    starting one, with streams, signals and collector put back after it.

    For what only a process can show (signals, limits, pipes, starting up) there is `run_apart`.
    """
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(TemporaryFile()) for _ in range(3)]
        files[0].write(input.encode())
        files[0].seek(0)
        for manager in (
            _environment(without_keys() if env is None else env),
            contextlib.chdir(cwd or Path.cwd()),
            _streams(files),
            _process_wide(),
            mock.patch.object(sys, "argv", ["assay", *map(str, arguments)]),
            _no_main(),
            mock.patch.object(commands, "_load", loaded),
            mock.patch.object(commands, "app", _app()),
        ):
            stack.enter_context(manager)
        status = contextvars.copy_context().run(_status)
        sys.stdout.flush()
        sys.stderr.flush()
        out, err = (_text(file) for file in files[1:])
    if status == ending.INTERRUPTED:  # which was meant for all tests
        raise KeyboardInterrupt(err)
    return Done(["assay", *map(str, arguments)], status, out, err)


def run_apart(
    *arguments: object,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    input: str = "",  # noqa: A002 (as subprocess.run calls it)
) -> Done:
    """Run the command in a process of its own."""
    with TemporaryFile() as given, TemporaryFile() as out, TemporaryFile() as err:
        given.write(input.encode())
        given.seek(0)
        process = Apart(
            *arguments,
            env=without_keys() if env is None else env,
            cwd=cwd,
            streams=(given.fileno(), out.fileno(), err.fileno()),
        )
        try:
            status = process.wait(120)
        finally:
            process.kill()
        return Done(["assay", *map(str, arguments)], status, _text(out), _text(err))


def _status() -> int:
    try:
        commands.run()
    except SystemExit as done:
        if done.code is None or isinstance(done.code, int):
            return done.code or 0
        print(done.code, file=sys.stderr)
        return 1
    except BaseException:  # noqa: BLE001 (as Python itself would end)
        traceback.print_exc()
        return 1
    return 0


_load = commands._load


@cache
def _made(name: str, target: object) -> Any:
    return _load(name)


def loaded(name: str) -> Any:
    """A command, which is made of its function once: that takes longer than most commands do."""
    return _made(name, commands.command_of(name))


@cache
def _app() -> Any:
    """The command of commands, made of its functions once."""
    return get_command(commands.app)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return TextIOWrapper(file, encoding="utf-8").read()


@contextlib.contextmanager
def _environment(wanted: Mapping[str, str]) -> Iterator[None]:
    """Another environment. Modules that its PYTHONPATH leads to are forgotten after it."""
    former = dict(os.environ)
    asked = wanted.get("PYTHONPATH", "").split(":")
    places = [place for place in asked if place and place not in sys.path]
    try:
        _set(wanted)
        with (
            mock.patch.object(sys, "path", [*places, *sys.path]),
            mock.patch.object(sys, "dont_write_bytecode", True),  # written anew within a second
            _forgotten(places) if places else contextlib.nullcontext(),
        ):
            yield
    finally:
        _set(former)


def _set(wanted: Mapping[str, str]) -> None:
    """Bring the environment to this: most of it is so already."""
    for name in os.environ.keys() - wanted.keys():
        del os.environ[name]
    for name, value in wanted.items():
        if os.environ.get(name) != value:
            os.environ[name] = value


@contextlib.contextmanager
def _forgotten(places: list[str]) -> Iterator[None]:
    """Find modules in these places as they are now, and forget them after it."""
    known = set(sys.modules)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        for name in set(sys.modules) - known:
            origin = Path(getattr(sys.modules[name], "__file__", None) or "")
            if any(origin.is_relative_to(place) for place in places):
                del sys.modules[name]


@contextlib.contextmanager
def _streams(files: list[IO[bytes]]) -> Iterator[None]:
    """Files in the place of the standard streams, for what is written below Python too."""
    kept = [os.dup(number) for number in range(3)]
    for number, file in enumerate(files):
        os.dup2(file.fileno(), number)
    try:
        with (
            open(0, encoding="utf-8", closefd=False) as given,
            open(1, "w", encoding="utf-8", closefd=False) as out,
            open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False) as err,
            mock.patch.multiple(sys, stdin=given, stdout=out, stderr=err),
        ):
            yield
    finally:
        for number, copy in enumerate(kept):
            os.dup2(copy, number)
            os.close(copy)


@contextlib.contextmanager
def _process_wide() -> Iterator[None]:
    """Put back what the command does to its process; say to standard error what Python says."""
    signals = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    thresholds, collects = gc.get_threshold(), gc.isenabled()
    handler = logging.StreamHandler(sys.stderr)
    handler.setLevel(logging.WARNING)
    logging.getLogger().addHandler(handler)
    try:
        with (
            warnings.catch_warnings(),
            mock.patch.object(os, "_exit", _end),
        ):
            warnings.simplefilter("always")
            for category in _IGNORED:
                warnings.simplefilter("ignore", category)
            warnings.showwarning = _say
            yield
    finally:
        logging.getLogger().removeHandler(handler)
        gc.set_threshold(*thresholds)
        (gc.enable if collects else gc.disable)()
        for number, former in signals.items():
            signal.signal(number, former)


@contextlib.contextmanager
def _no_main() -> Iterator[None]:
    """Another main module than pytest's, so that usage is said as where Assay is installed."""
    former = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = former


def _end(status: int) -> NoReturn:
    raise SystemExit(status)


def _say(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: Any
) -> None:
    sys.stderr.write(warnings.formatwarning(message, category, filename, lineno))
