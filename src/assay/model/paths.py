"""Paths of files that an evaluation folder names. They must be inside the folder: one that somebody
sends must not pull in other files of this machine."""

from __future__ import annotations

import fnmatch
import os
import re
import unicodedata
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

from assay.model.errors import SettingsError

TRUSTED_FOLDERS: ContextVar[tuple[Path, ...]] = ContextVar("TRUSTED", default=())
"""Folders outside evaluation folders that the user has allowed (``--trust``)."""

RESULT_FOLDERS = ("", "out", "dossier")
"""Where results are, relative to a path that the user gives: an ``out/``, an evaluation folder, a
release."""

_WILD = re.compile(r"[*?[]")

_PIECE = 16 << 20
"""Bytes hashed at a time. With small pieces, a hashing thread would take Python's lock often and
slow the others down."""


def path_inside(folder: Path, name: Path | str, what: str) -> Path:
    """The path of ``name`` relative to ``folder``. Raises SettingsError if it, or the target of a
    link, is neither in the folder nor in a trusted one. ``what`` begins the message: what names the
    file."""
    path = folder / name
    try:
        real = path.resolve()
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links; a NUL
        raise SettingsError(f"{what} is not a path: {error}.") from error
    if any(map(real.is_relative_to, allowed_folders(folder))):
        return path
    raise SettingsError(
        f"{what} names {path}, which is outside the folder: {real}. Copy it into the folder, or "
        "allow its place on the command line: assay --trust DIRECTORY COMMAND … (from Python: "
        "trust=[DIRECTORY])."
    )


def allowed_folders(folder: Path) -> Iterator[Path]:
    """The folders that files may be in. The unresolved path comes first: it usually suffices, and
    resolving links is slow."""
    yield folder.absolute()
    yield from (place.resolve() for place in (folder, *TRUSTED_FOLDERS.get()))


def matching_files(folder: Path, pattern: str, what: str) -> list[Path]:
    """Sorted files that ``pattern`` matches (``*``, ``?``, ``[…]``, and ``**`` for any folders).

    The pattern is relative to ``folder``. A folder that several links lead to is searched once.
    Raises as :func:`path_inside` if a file or a folder to search lies elsewhere (a link to ``/``
    must not have the whole machine searched), and if a folder cannot be read or a link is broken
    (an unmounted disk): an evaluation must not silently leave files out.
    """
    start = Path(pattern).anchor
    *parts, last = pattern[len(start) :].split("/")
    places = [Path(start)]
    for part in [*filter(None, parts), *(["**"] if last == "**" else [])]:
        places = list(_folders(folder, places, part, what))
    name = "*" if last == "**" else last
    files = sorted(file for place in places for file in _entries(folder, place, name, what))
    # An entry of a folder that was checked is inside too, unless it is a link.
    listed = _WILD.search(name) is not None
    return [
        path if listed and not path.is_symlink() else path_inside(folder, file, what)
        for file in files
        if (path := folder / file).is_file()
    ]


def _folders(folder: Path, places: list[Path], part: str, what: str) -> Iterator[Path]:
    """The folders, each once, to which one ``part`` of a pattern leads from ``places``."""
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
                # The list grows during iteration: subfolders at any depth.
                waiting.extend(_entries(folder, place, "*", what))


def _entries(folder: Path, place: Path, part: str, what: str) -> list[Path]:
    """The entries of ``place`` that one ``part`` of a pattern matches; paths relative to
    ``folder``."""
    names = [part]
    if _WILD.search(part) or not part.isascii():
        path = path_inside(folder, place, what)
        try:
            entries = sorted(os.listdir(path)) if path.is_dir() else []
        except OSError as error:
            raise SettingsError(
                f"{what}: {path} cannot be read: {error.strerror}. Check that you have permission."
            ) from error
        hidden = part.startswith(".")
        # macOS writes "ë" in file names as two characters, which look the same.
        like = re.compile(fnmatch.translate(unicodedata.normalize("NFC", part)))
        names = [
            name
            for name in entries
            if (hidden or name[:1] != ".") and like.match(unicodedata.normalize("NFC", name))
        ]
    for name in names:
        path = folder / place / name
        if path.is_symlink() and not path.exists():
            raise SettingsError(
                f"{what} names {path}, a link to {os.readlink(path)}, which does not exist. Is a "
                "disk missing? Put it back, or remove the link."
            )
    return [place / name for name in names]


def check_file(path: Path, most: int | None, what: str) -> None:
    """Raise SettingsError unless ``path`` is a plain file of at most ``most`` bytes. Reading a pipe
    or a device could wait forever. ``what`` begins the message."""
    if not path.is_file():
        raise SettingsError(f"{what}: {path} is not a regular file. Put a file in its place.")
    if most is not None and path.stat().st_size > most:
        raise SettingsError(f"{what}: {path} is larger than {most / 1e6:g} MB. Make it smaller.")


FileStamp = tuple[int, int] | None
"""A file's modification time (nanoseconds) and size; None if there is no file."""


def file_stamp(path: Path) -> FileStamp:
    """A stamp that differs once the file is written anew."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal."""
    from hashlib import sha256  # noqa: PLC0415 (OpenSSL is slow to load)

    digest = sha256()
    with path.open("rb", buffering=0) as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()
