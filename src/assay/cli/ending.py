"""End of a command: all output is written, or the failure to write it is reported."""

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
    """Make sure that anything can be written to standard output and error."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by the parent process
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115  (to the end)
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for characters that its encoding lacks


def denied(error: OSError) -> NoReturn:
    """End the process if the system denies a file or output; re-raise any other error."""
    cure = _CURES.get(error.errno or 0)
    if error.filename is None and error.errno in _FULL:
        _forget_output()
        what = "cannot write to the output or a file: "
    elif error.filename is None and error.errno == errno.ENOENT:
        temporary = "temporary" in str(error.strerror)  # otherwise it is from os.getcwd
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
    """Ends a command that leaves threads behind."""


def leave(done: SystemExit) -> NoReturn:
    """End the process with the status of ``done``; immediately, whatever threads do, if it was
    interrupted or ends with :class:`AtOnce`."""
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
    """Discard what Python still buffers: written at exit, it would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
