"""Files as people name them: a file, a folder of them, or a pattern."""

from __future__ import annotations

import glob
from pathlib import Path

from assay.model.errors import SettingsError
from assay.model.paths import RESULT_FOLDERS

_SCORES = "per_topic.csv"


def expanded(given: Path) -> list[Path]:
    """The files of a folder, or those that match a pattern; else the path itself."""
    if given.is_dir():
        return sorted(
            path for path in given.iterdir() if path.is_file() and not path.name.startswith(".")
        )
    if not given.exists() and any(mark in str(given) for mark in "*?["):
        return [Path(path) for path in sorted(glob.glob(str(given)))] or [given]
    return [given]


def scores_in(given: Path) -> Path:
    """The values of topics of an evaluation folder, of its ``out/`` or of a release; else the path
    itself. Raises SettingsError for a folder without any."""
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
