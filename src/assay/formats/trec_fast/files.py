"""TREC run files as bytes: opening, decompressing, recognising, tidying."""

from __future__ import annotations

import bz2
import gzip
import io
import re
import zlib
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

from assay.formats.trec_fast.columns import PAD

Stream = io.FileIO | gzip.GzipFile | bz2.BZ2File
_LINE_END = ord("\n")
_PASSAGE = re.compile(rb"[^;]*;[ \t]*[0-9]+[ \t]*;[^;]*;")
_TREC_BY_TABS = re.compile(rb"[^\t]+\t[^\t;]+\t[^\t]+\t[^\t;]+\t[^\t;]+\t[^\t]+")
_TREC = re.compile(rb"\S+[ \t]+\S+[ \t]+\S+[ \t]+[-+0-9]+[ \t]+[-+.0-9eE]+[ \t]+\S+")


def is_passage_run(beginning: bytes) -> bool:
    """Whether a file with this beginning is a PR run and not a TREC run.

    The first line decides: ``QuestionID;PassageRank;DocID;`` with a numeric second field.
    """
    lines = beginning.removeprefix(b"\xef\xbb\xbf").lstrip().splitlines()
    if not lines or _TREC.fullmatch(lines[0].strip()) or _TREC_BY_TABS.fullmatch(lines[0]):
        return False
    return _PASSAGE.match(lines[0]) is not None


def _unpacking(path: Path, magic: bytes) -> gzip.GzipFile | bz2.BZ2File | None:
    """A decompressing stream; None for a file that is not compressed."""
    if magic.startswith(b"\x1f\x8b\x08"):
        return gzip.GzipFile(path, "rb")
    if magic.startswith(b"BZh"):
        return bz2.BZ2File(path, "rb")
    return None


def open_run(path: Path) -> Stream:
    """Open a plain, gzip or bzip2 file, to be read decompressed."""
    with path.open("rb") as stream:
        magic = stream.read(4)
    return _unpacking(path, magic) or path.open("rb", buffering=0)


def read_into(path: Path, space: memoryview) -> int | None:
    """Read as much of a file as fits into ``space``. Returns the number of bytes read, or None if
    there is a fault, which the strict reader will report."""
    try:
        # A system call costs as much as a thousand lines, so a plain file is opened only once.
        with path.open("rb", buffering=0) as stream:
            size = stream.readinto(space) or 0
            unpacking = _unpacking(path, bytes(space[:4]) if size >= 4 else b"")
            if unpacking is not None:
                with unpacking:
                    return _fill(unpacking, space, 0)
            return _fill(stream, space, size)
    except (OSError, EOFError, ValueError, zlib.error):
        return None


def _fill(stream: Stream, space: memoryview, size: int) -> int:
    while size < len(space) and (more := stream.readinto(space[size:])):
        size += more
    return size


class Window:
    """A part of a long file: whole lines, in a buffer with ``PAD`` bytes at both ends.

    ``data``: the buffer, which is replaced by a larger one if nothing can be dropped. ``end``: the
    end of the data in it. ``ended``: whether the file has been read to its end.
    """

    def __init__(self, buffer: bytearray) -> None:
        self.data = buffer
        self.end = PAD
        self.ended = False

    def fill(self, stream: Stream) -> int:
        """Read until the buffer is full, and return where the last whole line ends."""
        if self.end + 1 + PAD >= len(self.data):
            self.data = self.data + bytes(len(self.data))  # others may still refer to the old one
        with memoryview(self.data) as every, every[self.end : -PAD - 1] as space:
            size = _fill(stream, space, 0)
            self.ended = size < len(space)
        self.end += size
        if self.ended and self.data[self.end - 1] != _LINE_END:
            self.data[self.end] = _LINE_END
            self.end += 1
        return self.data.rfind(b"\n", PAD, self.end) + 1 or PAD

    def tidy(self, end: int, *, first: bool) -> int:
        """Tidy the data up to ``end``; return its new end, which is ``PAD`` if nothing is left."""
        text = tidy(bytes(self.data[PAD:end]), first=first)
        if text and not text.endswith(b"\n"):
            text += b"\n"
        rest = bytes(self.data[end : self.end])
        self.end = PAD + len(text) + len(rest)
        self.data[PAD : self.end] = text + rest
        return PAD + len(text)

    def drop(self, end: int) -> None:
        """Discard the data up to ``end``."""
        rest = bytes(self.data[end : self.end])
        self.end = PAD + len(rest)
        self.data[PAD : self.end] = rest


def tidy(data: bytes, *, first: bool = True) -> bytes:
    """The same columns, separated by single spaces, without empty lines.

    A byte order mark is removed if ``data`` is the ``first`` of its file.
    """
    data = (data.removeprefix(b"\xef\xbb\xbf") if first else data).replace(b"\r\n", b"\n")
    gap = b"\t"
    if b" " in data:
        gap = b" "
        data = data.replace(b"\t", gap)
    for twice, once in ((gap * 2, gap), (gap + b"\n", b"\n"), (b"\n" + gap, b"\n")):
        while twice in data:
            data = data.replace(twice, once)
    while b"\n\n" in data:
        data = data.replace(b"\n\n", b"\n")
    return data.lstrip(gap + b"\n").rstrip(gap + b"\r")


def padded(pieces: Sequence[bytes]) -> tuple[bytes, list[int]]:
    """The pieces as data for :func:`parse`, each ending in a line feed, and where they end."""
    whole = [piece if piece.endswith(b"\n") else piece + b"\n" for piece in pieces]
    return b"".join([bytes(PAD), *whole, bytes(PAD)]), list(
        accumulate(map(len, whole), initial=PAD)
    )
