"""Locks of files and folders, which the system lets go of when a process ends, however it ends; and
folders that are gone with the process that made them."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from shutil import rmtree

try:
    import fcntl
except ImportError:  # Windows has no such locks: nobody is kept out there
    fcntl = None  # type: ignore[assignment]

HAS_LOCKS = fcntl is not None
WITHOUT = "" if HAS_LOCKS else "nothing here keeps a second process from the same work: start none."
"""What is told where there are no locks: two that ask the same would pay for all twice."""


def locked(file: int, *, shared: bool = False, wait: bool = False) -> bool:
    """Lock an open file or folder; False where another process's lock is in the way, unless it is
    waited for. Raises OSError on file systems without locks."""
    how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(file, how if wait else how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class PassingFolder:
    """A folder ``assay-KIND-…`` in the system's temporary one, until it is closed. Those of
    processes that were killed, which nobody holds, are taken away when the next is made: so nothing
    that is wanted later belongs there."""

    def __init__(self, kind: str) -> None:
        self._held: int | None = None
        take_away_left(kind)
        while self._held is None:
            self.path = Path(tempfile.mkdtemp(prefix=f"assay-{kind}-"))
            if not HAS_LOCKS:
                return
            # Until it is held, another process may take it for one that was left.
            with suppress(FileNotFoundError):
                self._held = os.open(self.path, os.O_RDONLY)
                with suppress(OSError):
                    locked(self._held, wait=True)
                if not self.path.is_dir():
                    self.close()

    def close(self) -> None:
        """Take it away with all that is in it."""
        rmtree(self.path, ignore_errors=True)
        if self._held is not None:
            os.close(self._held)
            self._held = None


def take_away_left(kind: str) -> None:
    """Remove this person's folders of a kind whose processes were killed."""
    for left in Path(tempfile.gettempdir()).glob(f"assay-{kind}-*") if HAS_LOCKS else ():
        with suppress(OSError):  # somebody else's, gone meanwhile, or no folder
            _take_away(left)


def _take_away(path: Path) -> None:
    """Remove a folder of this person's that no process holds."""
    file = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.fstat(file).st_uid == os.getuid() and locked(file):
            rmtree(path)
    finally:
        os.close(file)
