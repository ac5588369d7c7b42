"""Claims: locked files that one process holds, or several that divide the work.

The system releases the lock however the process ends, so a dead process never blocks others.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from assay.model.errors import LedgerError
from assay.model.locking import HAS_LOCKS, try_lock
from assay.model.wording import printable

_LONGEST = 400
_RETRY_AFTER = 0.01  # seconds
_WAIT = (
    "Wait until it is done, or stop it, and run again: answers it received are kept and not asked "
    "for again."
)
_APART = (
    "A ledger file can only be used by processes of one machine: several machines on a shared "
    "disk would corrupt it. Give each its own ledger (ASSAY_LEDGER=FILE) and combine the labels "
    "with 'assay labels merge', or keep the ledger on PostgreSQL."
)


@contextmanager
def claim(
    path: Path, what: str, *, cure: str = _WAIT, group: str = "", who: str = ""
) -> Iterator[None]:
    """Hold the file at ``path`` for this process, or together with all others of a ``group``.
    Raises LedgerError if another holds it; the message is ``what``, the holder and the ``cure``.
    ``who`` names this process to others (default: the group, or process number and time)."""
    if not HAS_LOCKS:
        yield
        return
    file = _locked(path, what, cure, group, who)
    try:
        yield
    finally:
        with suppress(OSError):  # a folder that is gone or read-only, or other shards hold the file
            if try_lock(file):
                path.unlink()
        os.close(file)


def claim_of_machine(path: Path) -> AbstractContextManager[None]:
    """Hold the SQLite file at ``path`` together with all processes of this machine. SQLite's log
    needs shared memory: two machines on one disk would overwrite each other's labels unnoticed."""
    real = path.resolve()
    return claim(
        real.with_name(f"{real.name}-machine"),
        f"{path} is in use on another machine",
        cure=_APART,
        group=_machine(),
        who=socket.gethostname(),
    )


@cache
def _machine() -> str:
    """An id that all containers on one machine share, and no two machines do."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    # Not the host name if possible: a Mac's changes with its network.
    with suppress(OSError, subprocess.SubprocessError):
        asked = ["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"]
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603
    return socket.gethostname()


def _sign(file: int, path: Path, text: str) -> None:
    """Write the holder into the file. If the disk has no room even for that, no label could be
    kept: fail before anything is paid for."""
    try:
        os.truncate(file, 0)
        os.write(file, text.encode())
    except OSError as error:
        with suppress(OSError):
            path.unlink()
        os.close(file)
        raise LedgerError(
            f"{path} cannot be written: {error.strerror}. Nothing was asked. Free some space, or "
            "remove whatever else prevents writing to the disk, and run again."
        ) from error


def _locked(path: Path, what: str, cure: str, group: str, who: str) -> int:
    """Lock the file at ``path`` and return its descriptor."""
    now = datetime.now(UTC).astimezone()
    own = f"{group}\n{who or group or f'number {os.getpid()}, since {now:%H:%M:%S}'}"
    while True:
        try:
            # No link is followed: a folder that someone sends could make us empty any file.
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        except OSError as error:
            raise LedgerError(
                f"{path} cannot be created: {error.strerror}. If it exists, remove it; check that "
                "you may write to the folder."
            ) from error
        try:
            alone = try_lock(file)
            joined = not alone and bool(group) and try_lock(file, shared=True)
        except OSError:
            return file  # a file system without locks
        held = "" if alone else os.read(file, _LONGEST).decode(errors="replace")
        of, _, holder = held.partition("\n")
        if not alone and not (joined and of == group):
            os.close(file)
            if group and (not held or of == group):  # one is taking it, or letting go of it
                time.sleep(_RETRY_AFTER)
                continue
            raise LedgerError(f"{what}{f' ({printable(holder)})' if holder else ''}. {cure}")
        # Whoever held it has removed the file when it was done: a lock on that one is worthless.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file), path.stat()):
                if alone:
                    _sign(file, path, own)
                if not alone or not group or try_lock(file, shared=True):
                    return file
        os.close(file)
