"""File locks that the system releases however a process ends, and temporary folders that do not
outlive their process."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from shutil import rmtree

try:
    import fcntl
except ImportError:  # Windows has no such locks; there, nothing is locked
    fcntl = None  # type: ignore[assignment]

HAS_LOCKS = fcntl is not None
NO_LOCKS_WARNING = (
    ""
    if HAS_LOCKS
    else "nothing here prevents a second process from doing the same work: do not start one."
)
"""Warning on systems without locks, where two processes could ask, and pay for, the same."""


def try_lock(file: int, *, shared: bool = False, wait: bool = False) -> bool:
    """Lock an open file or folder; False if another process holds the lock (never with ``wait``).
    Raises OSError on file systems without locks."""
    how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(file, how if wait else how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class TemporaryFolder:
    """A folder ``assay-KIND-…`` in the system's temporary folder, which ``close`` removes. Folders
    of processes that were killed are removed when the next one is created."""

    def __init__(self, kind: str) -> None:
        self._lock: int | None = None
        remove_abandoned(kind)
        while self._lock is None:
            self.path = Path(tempfile.mkdtemp(prefix=f"assay-{kind}-"))
            if not HAS_LOCKS:
                return
            # Until it is locked, another process may take it for an abandoned one and remove it.
            with suppress(FileNotFoundError):
                self._lock = os.open(self.path, os.O_RDONLY)
                with suppress(OSError):
                    try_lock(self._lock, wait=True)
                if not self.path.is_dir():
                    self.close()

    def close(self) -> None:
        """Remove the folder and everything in it."""
        rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def remove_abandoned(kind: str) -> None:
    """Remove this user's folders of a kind whose processes were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"assay-{kind}-*") if HAS_LOCKS else ():
        with suppress(OSError):  # another user's, just removed, or not a folder
            _remove_if_abandoned(folder)


def _remove_if_abandoned(path: Path) -> None:
    """Remove a folder of this user that no process has locked."""
    file = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.fstat(file).st_uid == os.getuid() and try_lock(file):
            rmtree(path)
    finally:
        os.close(file)
