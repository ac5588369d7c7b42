"""Resolve the paths people give: a file, a folder, or a pattern."""

from __future__ import annotations

import glob
from pathlib import Path

from assay.model.errors import SettingsError
from assay.model.paths import RESULT_FOLDERS

_SCORES = "per_topic.csv"


def expanded(given: Path) -> list[Path]:
    """The files in a folder or matching a pattern, otherwise the path itself."""
    if given.is_dir():
        return sorted(
            path for path in given.iterdir() if path.is_file() and not path.name.startswith(".")
        )
    if not given.exists() and any(mark in str(given) for mark in "*?["):
        return [Path(path) for path in sorted(glob.glob(str(given)))] or [given]
    return [given]


def scores_in(given: Path) -> Path:
    """The ``per_topic.csv`` of an evaluation folder, its ``out/`` or a release, otherwise the path
    itself. Raises SettingsError for a folder without one."""
    if not given.is_dir():
        return given
    for path in (given / name / _SCORES for name in RESULT_FOLDERS):
        if path.is_file():
            return path
    raise SettingsError(
        f"{given}: there is no {_SCORES} in this folder. Give an evaluation folder or its out/ "
        "('assay score FOLDER' writes it), a release (with several protocols, out/PROTOCOL or "
        "dossier/PROTOCOL), or a table."
    )
