"""One process at a time builds in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.model.errors import SettingsError

try:
    import fcntl
except ImportError:  # Windows has no such locks: nobody is kept out there
    fcntl = None  # type: ignore[assignment]


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold ``folder``, made where there is none, for this process; the system lets go of it when
    the process ends, however it ends. Raises SettingsError where another process has it, or where
    it is a file."""
    if folder.exists() and not folder.is_dir():
        raise SettingsError(f"{folder} is a file. Give a folder.")
    folder.mkdir(parents=True, exist_ok=True)
    if fcntl is None:
        yield
        return
    held = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise SettingsError(
                f"Another process is building in {folder}. Wait until it is done, or stop it, and "
                "run again: what it has done is kept."
            ) from error
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        os.close(held)
