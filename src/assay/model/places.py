"""What a folder names lies in the folder: one that somebody sends must not draw other files in."""

from __future__ import annotations

import fnmatch
import os
import re
import unicodedata
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

from assay.model.errors import SettingsError

TRUSTED: ContextVar[tuple[Path, ...]] = ContextVar("TRUSTED", default=())
"""Places outside of evaluation folders that the person who runs Assay has named."""

RESULTS = ("", "out", "dossier")
"""Where results lie in what is given for them: an ``out/``, an evaluation folder, a release."""

_WILD = re.compile(r"[*?[]")

_PIECE = 16 << 20
"""Bytes hashed at once: with small pieces a thread that hashes would ask for Python's lock often,
and stand in the way of the others."""


def inside(folder: Path, name: Path | str, what: str) -> Path:
    """The path of the file ``name``, relative to ``folder``. Raises SettingsError where it, or
    what a link leads to, lies neither in the folder nor in a place that the person has named.
    ``what`` begins the message: what it is that names the file."""
    path = folder / name
    try:
        real = path.resolve()
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links; a NUL
        raise SettingsError(f"{what} names no path: {error}.") from error
    if any(map(real.is_relative_to, _places(folder))):
        return path
    raise SettingsError(
        f"{what} names {path}, which lies outside of the folder: {real}. Copy it into the folder, "
        "or name its place on the command line: assay --trust DIRECTORY COMMAND … (from Python: "
        "trust=[DIRECTORY])."
    )


def _places(folder: Path) -> Iterator[Path]:
    """Where files may lie. What has no links in it lies below the folder as it is called only where
    that has none either: to look for them in the folder too takes as long again."""
    yield folder.absolute()
    yield from (place.resolve() for place in (folder, *TRUSTED.get()))


def files_like(folder: Path, pattern: str, what: str) -> list[Path]:
    """The files that ``pattern`` (``*``, ``?``, ``[…]``, and ``**`` for any folders), which is
    relative to ``folder``, matches, sorted. Raises as :func:`inside` where a folder that is looked
    into, or a file, lies elsewhere: a link to ``/`` must not have the machine searched; and where a
    folder cannot be looked into, or a link leads to nothing (a disk that is not there): what is
    missing must not be left out of an evaluation. A folder that several links lead to is looked
    into once."""
    start = Path(pattern).anchor
    *parts, last = pattern[len(start) :].split("/")
    places = [Path(start)]
    for part in [*filter(None, parts), *(["**"] if last == "**" else [])]:
        places = list(_folders(folder, places, part, what))
    name = "*" if last == "**" else last
    files = sorted(file for place in places for file in _entries(folder, place, name, what))
    # What was listed lies in a folder that is inside, and so does it, unless it is a link.
    listed = _WILD.search(name) is not None
    return [
        path if listed and not path.is_symlink() else inside(folder, file, what)
        for file in files
        if (path := folder / file).is_file()
    ]


def _folders(folder: Path, places: list[Path], part: str, what: str) -> Iterator[Path]:
    """The folders, each once, that ``part`` of a pattern leads to from ``places``."""
    waiting = list(places)
    if part != "**":
        waiting = [entry for place in places for entry in _entries(folder, place, part, what)]
    seen: set[Path] = set()
    for place in waiting:
        path = folder / place
        if path.is_dir() and (real := path.resolve()) not in seen:
            seen.add(real)
            yield place
            if part == "**":
                # It grows while it is gone through: folders in folders, however deep.
                waiting.extend(_entries(folder, place, "*", what))


def _entries(folder: Path, place: Path, part: str, what: str) -> list[Path]:
    """What ``part`` of a pattern matches in ``place``; all of them relative to ``folder``."""
    names = [part]
    if _WILD.search(part) or not part.isascii():
        path = inside(folder, place, what)
        try:
            there = sorted(os.listdir(path)) if path.is_dir() else []
        except OSError as error:
            raise SettingsError(
                f"{what}: {path} cannot be read: {error.strerror}. Check that you may."
            ) from error
        hidden = part.startswith(".")
        # A Mac writes "ë" in a file's name as two characters, and nobody sees which it is.
        like = re.compile(fnmatch.translate(unicodedata.normalize("NFC", part)))
        names = [
            name
            for name in there
            if (hidden or name[:1] != ".") and like.match(unicodedata.normalize("NFC", name))
        ]
    for name in names:
        path = folder / place / name
        if path.is_symlink() and not path.exists():
            raise SettingsError(
                f"{what} names {path}, a link to {os.readlink(path)}, which is not there. Is a "
                "disk missing? Put it back, or take the link away."
            )
    return [place / name for name in names]


def check_file(path: Path, most: int | None, what: str) -> None:
    """Raise SettingsError where ``path`` is no file that ends by itself (a pipe, a device: reading
    it could wait forever), or is larger than ``most`` bytes. ``what`` begins the message."""
    if not path.is_file():
        raise SettingsError(f"{what}: {path} is no plain file. Put a file in its place.")
    if most is not None and path.stat().st_size > most:
        raise SettingsError(f"{what}: {path} is larger than {most / 1e6:g} MB. Make it smaller.")


Stamp = tuple[int, int] | None
"""When a file was changed (nanoseconds), and its bytes; None where there is none."""


def file_stamp(path: Path) -> Stamp:
    """What tells a file that is written anew from the one that was read."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal."""
    from hashlib import sha256  # noqa: PLC0415 (OpenSSL takes a while to load)

    digest = sha256()
    with path.open("rb", buffering=0) as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()
