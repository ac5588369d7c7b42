"""How a command ends: what it wrote is out, or it says that it could not be."""

from __future__ import annotations

import errno
import io
import os
import sys
from contextvars import ContextVar
from pathlib import Path
from typing import NoReturn

from assay.model.errors import AssayError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}

INTERRUPTED = 130
"""Exit status after Ctrl-C or SIGTERM."""

QUIET: ContextVar[bool] = ContextVar("QUIET", default=False)
"""Whether nothing is told of how work goes on."""


def open_streams() -> None:
    """Make standard output and error such that anything can be written to them."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # it was closed by whoever started us
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115  (to the end)
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for what its encoding lacks


def unwritable(error: OSError) -> NoReturn:
    """End the process because standard output takes no more; raise what is not about that."""
    if error.filename is not None or error.errno not in _FULL:
        raise error
    _forget_output()
    print(f"assay: the output could not be written: {error.strerror}.", file=sys.stderr)
    sys.exit(AssayError.exit_status)


class AtOnce(SystemExit):
    """The end of a command that leaves threads behind."""


def leave(done: SystemExit) -> NoReturn:
    """End the process with the status of ``done``; right away, whatever threads do, where it was
    interrupted, or is to end :class:`AtOnce`."""
    status = done.code
    if status == INTERRUPTED:
        print("assay: interrupted; every answer that arrived is kept.", file=sys.stderr)
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:  # the reader of our output went away (``| head``)
        _forget_output()
        status = 0
    except OSError as error:
        unwritable(error)
    if status == INTERRUPTED or isinstance(done, AtOnce):
        os._exit(status if isinstance(status, int) else 0)
    sys.exit(status)


def _forget_output() -> None:
    """Send what Python still holds nowhere: written at the very end, it would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
