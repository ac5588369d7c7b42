"""Names of files that one process at a time holds, or several that divide the work.

A claim is a file that is locked. The system lets go of the lock when a process ends, however it
ends, so that nobody is ever kept out by one that is gone.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from assay.model.errors import LedgerError
from assay.model.locking import HAS_LOCKS, locked
from assay.model.wording import printable

_LONGEST = 200
_WAIT = (
    "Wait until it is done, or stop it, and run again: what it was told is kept and not asked "
    "again."
)
_RETRY_AFTER = 0.01  # seconds


@contextmanager
def claim(path: Path, what: str, *, shards: int = 0, cure: str = _WAIT) -> Iterator[None]:
    """Hold the file at ``path`` for this process, or with all others that hold it for as many
    ``shards``. Raises LedgerError where another one does: ``what`` is being done by it, and the
    ``cure``."""
    if not HAS_LOCKS:
        yield
        return
    file = _locked(path, what, shards, cure)
    try:
        yield
    finally:
        with suppress(OSError):  # a folder that is gone or read-only, or other shards hold the file
            if locked(file):
                path.unlink()
        os.close(file)


def _sign(file: int, path: Path, text: str) -> None:
    """Write who holds the file. Where there is no room even for that, no label could be kept:
    better said before anything is paid."""
    try:
        os.truncate(file, 0)
        os.write(file, text.encode())
    except OSError as error:
        with suppress(OSError):
            path.unlink()
        os.close(file)
        raise LedgerError(
            f"{path} cannot be written: {error.strerror}. Nothing was asked. Make room, or see to "
            "what else keeps the disk from being written, and run again."
        ) from error


def _locked(path: Path, what: str, shards: int, cure: str) -> int:
    """A descriptor of the file at ``path``, locked."""
    now = datetime.now(UTC).astimezone()
    own = f"one of {shards} shards" if shards else f"number {os.getpid()}, since {now:%H:%M:%S}"
    while True:
        try:
            # No link is followed: a folder that someone sends could make us empty any file.
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        except OSError as error:
            raise LedgerError(
                f"{path} cannot be made: {error.strerror}. Remove it if it is there, and check "
                "that you may write to the folder."
            ) from error
        try:
            alone = locked(file)
            joined = not alone and bool(shards) and locked(file, shared=True)
        except OSError:
            return file  # a file system without locks
        holder = "" if alone else printable(os.read(file, _LONGEST).decode(errors="replace"))
        if not alone and not (joined and holder == own):
            os.close(file)
            if shards and holder in ("", own):  # another shard is taking it, or letting go of it
                time.sleep(_RETRY_AFTER)
                continue
            raise LedgerError(
                f"{what} by another process{f' ({holder})' if holder else ''}. {cure}"
            )
        # Whoever held it has removed the file when it was done: a lock on that one is worthless.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file), path.stat()):
                if alone:
                    _sign(file, path, own)
                if not alone or not shards or locked(file, shared=True):
                    return file
        os.close(file)
