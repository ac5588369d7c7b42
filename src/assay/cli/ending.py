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
from assay.model.wording import printable

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
_CURES = {
    **dict.fromkeys(
        (errno.EACCES, errno.EPERM, errno.EROFS), "Check that you have permission to use it."
    ),
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "Free some space and run it again."),
    **dict.fromkeys((errno.EMFILE, errno.ENFILE), "Allow more open files: ulimit -n."),
}

INTERRUPTED = 130
"""Exit status after Ctrl-C or SIGTERM."""

QUIET: ContextVar[bool] = ContextVar("QUIET", default=False)
"""Whether to show no progress."""


def open_streams() -> None:
    """Make standard output and error such that anything can be written to them."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # it was closed by whoever started us
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115  (to the end)
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for what its encoding lacks


def denied(error: OSError) -> NoReturn:
    """End the process because the system does not let it have a file, or write what it says; raise
    what is not about that."""
    cure = _CURES.get(error.errno or 0)
    if error.filename is None and error.errno in _FULL:
        _forget_output()
        what = "cannot write to the output or a file: "
    elif error.filename is None and error.errno == errno.ENOENT:
        temporary = "temporary" in str(error.strerror)  # or it is of os.getcwd
        what = "" if temporary else "the current folder: "
        cure = (
            "Set TMPDIR to a folder that you can write to."
            if temporary
            else "Change to another folder."
        )
    elif error.filename is not None or cure is not None:
        what = "" if error.filename is None else f"{printable(os.fsdecode(error.filename))}: "
    else:
        raise error
    said = " ".join(filter(None, (f"{error.strerror}.", cure)))
    print(f"assay: {what}{said}", file=sys.stderr)
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
        denied(error)
    if status == INTERRUPTED or isinstance(done, AtOnce):
        os._exit(status if isinstance(status, int) else 0)
    sys.exit(status)


def _forget_output() -> None:
    """Send what Python still holds nowhere: written at the very end, it would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
