"""Files as people name them: a file, a folder of them, or a pattern."""

from __future__ import annotations

import glob
from pathlib import Path


def expanded(given: Path) -> list[Path]:
    """The files of a folder, or those that match a pattern; else the path itself."""
    if given.is_dir():
        return sorted(
            path for path in given.iterdir() if path.is_file() and not path.name.startswith(".")
        )
    if not given.exists() and any(mark in str(given) for mark in "*?["):
        return [Path(path) for path in sorted(glob.glob(str(given)))] or [given]
    return [given]
