"""A lock that lets only one process build in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from assay.model.errors import SettingsError
from assay.model.locking import HAS_LOCKS, try_lock


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Lock ``folder`` for this process, creating it if needed. The system releases the lock however
    the process ends. Raises SettingsError if another process holds it, or if it is a file."""
    if folder.exists() and not folder.is_dir():
        raise SettingsError(f"{folder} is a file. Choose a folder.")
    folder.mkdir(parents=True, exist_ok=True)
    if not HAS_LOCKS:
        yield
        return
    held = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks
            if not try_lock(held):
                raise SettingsError(
                    f"Another process is building in {folder}. Wait until it is done, or stop it, "
                    "and run again: what it has done is kept."
                )
        yield
    finally:
        os.close(held)
