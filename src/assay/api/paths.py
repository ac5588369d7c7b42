"""Files as people name them: a file, a folder of them, or a pattern."""

from __future__ import annotations

import glob
from collections.abc import Iterable
from os import PathLike, fspath
from pathlib import Path

from assay.model.errors import SettingsError

_SCORES = "per_topic.csv"


def path_of(given: object, name: str) -> Path:
    """What a caller gives as the argument ``name``. Raises TypeError for what is no path."""
    if isinstance(given, str | PathLike) and isinstance(found := fspath(given), str):
        return Path(found)
    raise TypeError(f"{name} must be a path (a text or a Path), not {given!r}")


def paths_of(given: object, name: str) -> tuple[Path, ...]:
    """The same of an argument that may be several; a single one is not taken letter by letter."""
    if isinstance(given, str | bytes | PathLike) or not isinstance(given, Iterable):
        return (path_of(given, name),)
    return tuple(path_of(one, name) for one in given)


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
    """The values of topics of an evaluation folder, or of its ``out/``; else the path itself.
    Raises SettingsError for a folder without any."""
    if not given.is_dir():
        return given
    for path in (given / _SCORES, given / "out" / _SCORES):
        if path.is_file():
            return path
    raise SettingsError(
        f"{given}: there is no {_SCORES} in this folder. Give an evaluation folder or its out/ "
        "('assay score FOLDER' writes it; of several protocols, out/PROTOCOL), or a table."
    )
