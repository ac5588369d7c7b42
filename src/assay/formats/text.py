"""Text files as numbered lines: compression, byte order marks, line endings, broken encodings.

Compression is recognised by its magic bytes, not by the file's name. Nothing here depends on a
format: the faults found (bad UTF-8, NUL bytes, control characters) can occur in any file.
"""

from __future__ import annotations

import bz2
import gzip
import io
import os
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, wraps
from os import PathLike
from pathlib import Path
from typing import BinaryIO, Concatenate, ParamSpec, TypeVar

from assay.formats.parsed import FaultList, Parsed, Spot
from assay.model.errors import Fault, FormatError, SettingsError
from assay.model.wording import printable, quoted

P = ParamSpec("P")
T = TypeVar("T")

MAX_BYTES = 4 << 30
"""Maximum size of a file in bytes once decompressed: a guard against decompression bombs."""

MAX_UNPACKED = "ASSAY_MAX_UNPACKED"
"""Environment variable that sets how many bytes a compressed file may unpack to."""

_ALWAYS_ALLOWED = 64 << 20  # bytes any compressed file may unpack to; beyond, the ratio is limited
_MAX_RATIO = 200

_PIECE = 1 << 20
_CHUNK = 1 << 15  # bytes of a plain file that are split into lines at a time
_BOM = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b\x08"
# The magic of a block, or of the end if there is none, is needed too: a text may begin with BZh1.
_BZIP2 = re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)")
_NOT_TEXT = (
    (b"PK\x03\x04", "a ZIP archive (or an office document)", "Unpack it, or save it as text."),
    (b"\xfd7zXZ\x00", "compressed with xz", "Unpack it with xz -d."),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd", "Unpack it with zstd -d."),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", "Unpack it with 7z x."),
    (b"PAR1", "a Parquet file", "Save what is in it as text."),
    (b"ARROW1", "an Arrow file", "Save what is in it as text."),
    (b"\xff\xff\xff\xff", "an Arrow file", "Save what is in it as text."),
    (b"%PDF-", "a PDF document", "Give the text file itself."),
    (b"\xff\xfe", "in UTF-16", "Save it as UTF-8, e.g. with iconv -f UTF-16 -t UTF-8."),
    (b"\xfe\xff", "in UTF-16", "Save it as UTF-8, e.g. with iconv -f UTF-16 -t UTF-8."),
)
_UTF8_CURE = "Save it as UTF-8 (a spreadsheet: as “CSV UTF-8”; iconv -f OLD-ENCODING -t UTF-8)."
_OLD_ENCODINGS = (
    "Windows and Excel write CP932 in Japanese, GB18030 in Chinese, CP949 in Korean, CP1252 in "
    "Western languages."
)
# Control characters other than tab and the LINE_BREAKS.
_CONTROL = re.compile("[\x00-\x08\x0e-\x1b\x1f\x7f\x80-\x84\x86-\x9f]")

# Bytes that do not occur in lines of printable ASCII that end in a line feed.
_NOT_PLAIN = bytes([*range(10), *range(11, 32), *range(127, 256)])

LINE_BREAKS = re.compile("[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
"""Characters other than LF at which editors, browsers or ``str.splitlines`` break lines."""


@dataclass(frozen=True)
class SourceText:
    """A text file, decompressed and split into lines (numbered from 1, without line endings).

    ``data`` holds the decompressed bytes, including any byte order mark. ``faults`` are those of
    the encoding; broken UTF-8 is replaced by U+FFFD in ``lines``. ``decoded`` holds the lines, or
    is None for a plain file, whose lines are decoded from ``data`` when they are needed.
    """

    path: Path
    data: bytes = field(repr=False)
    decoded: tuple[str, ...] | None = field(repr=False)
    faults: tuple[Fault, ...]
    last_newline_missing: bool
    separator: bytes = b"\n"

    @property
    def plain(self) -> bool:
        """Whether all lines are printable ASCII, and so need no check for odd characters."""
        return self.decoded is None

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """All lines."""
        return tuple(self._plain_lines()) if self.decoded is None else self.decoded

    def sound(self) -> SourceText:
        """The text itself. Raises :class:`FormatError` if its encoding has errors."""
        return Parsed(self, self.faults).require()

    @property
    def first_line(self) -> str:
        """The first line that is not blank; empty if there is none."""
        return next((line for _, line in self.numbered() if line.strip()), "")

    @property
    def file(self) -> str:
        """The path as given, for messages."""
        return str(self.path)

    def numbered(self) -> Iterator[tuple[int, str]]:
        """The lines with their numbers; those of a plain file are decoded a piece at a time."""
        return enumerate(self._plain_lines() if self.decoded is None else self.decoded, 1)

    def _plain_lines(self) -> Iterator[str]:
        start, size = 0, len(self.data)
        while start < size:
            end = self.data.find(b"\n", start + _CHUNK)
            end = size - (not self.last_newline_missing) if end < 0 else end
            yield from self.data[start:end].decode("ascii").split("\n")
            start = end + 1


Given = str | PathLike[str] | SourceText
"""A file: its path, or its text if it has been read already."""


def read_text(path: str | PathLike[str]) -> SourceText:
    """Read a plain, gzip or bzip2 file.

    Raises :class:`FormatError` if it cannot be read: it is missing or a folder, its compression is
    damaged, it is not text, or it is larger than allowed (:func:`most_bytes`).
    """
    where = Path(path)
    data, faults = _read_bytes(where)
    for magic, what, cure in _NOT_TEXT:
        if data.startswith(magic):
            raise _unreadable(where, f"The file is {what}, not UTF-8 text.", cure)
    bom = data.startswith(_BOM)
    body = data[len(_BOM) :] if bom else data
    separator = b"\n"
    if b"\n" not in body and b"\r" in body.rstrip(b"\r"):
        separator = b"\r"
        faults.warning(
            0,
            "Lines end with a lone carriage return (old Macintosh style).",
            "Save the file with line feeds (LF).",
        )
    # Checking all bytes once is faster than having each reader check every line.
    plain = not bom and len(body.translate(None, _NOT_PLAIN)) == len(body)
    return SourceText(
        path=where,
        data=data,
        decoded=None if plain else _decode(body, separator.decode(), faults),
        faults=faults.done(),
        last_newline_missing=bool(body) and not body.endswith(separator),
        separator=separator,
    )


def text_of(given: Given) -> SourceText:
    """The text of a file, read unless it has been already: a pipe can be read only once."""
    return given if isinstance(given, SourceText) else read_text(given)


def most_bytes(packed: int, largest: int | None = MAX_BYTES) -> int:
    """How many bytes a file of ``packed`` bytes may unpack to, never more than ``largest``. Raises
    :class:`SettingsError` if ``ASSAY_MAX_UNPACKED`` is not a number of bytes."""
    limit = os.environ.get(MAX_UNPACKED)
    if limit is None:
        most = max(_ALWAYS_ALLOWED, _MAX_RATIO * packed)
        return most if largest is None else min(largest, most)
    if not re.fullmatch(r"[0-9]{1,18}", limit):
        raise SettingsError(f"{MAX_UNPACKED} is {quoted(limit)}; write a number of bytes.")
    return int(limit)


def reads_file(
    read: Callable[Concatenate[SourceText, FaultList, P], T | None],
) -> Callable[Concatenate[Given, P], Parsed[T]]:
    """Decorate a function that reads a text and adds its faults to a list, so that it accepts a
    path or a text and returns value and faults as :class:`Parsed`. The result raises
    :class:`FormatError` only if the file cannot be read at all."""

    @wraps(read)
    def reader(given: Given, /, *args: P.args, **options: P.kwargs) -> Parsed[T]:
        source = text_of(given)
        faults = FaultList(source.file, source.faults)
        value = read(source, faults, *args, **options)
        return Parsed(value, faults.done())

    return reader


def check_break(text: str, what: str, at: Spot) -> None:
    """Report a hidden line break inside ``text`` by its name (``U+2028``); ``what`` names the text
    in the message."""
    found = LINE_BREAKS.search(text)
    if found:
        at.error(f"The {what} holds a line break (U+{ord(found.group()):04X}).", "Write a space.")


def _read_bytes(path: Path) -> tuple[bytes, FaultList]:
    faults = FaultList(str(path))
    try:
        with path.open("rb") as stream:
            raw = _up_to(stream, MAX_BYTES + 1)
    except FileNotFoundError:
        raise _unreadable(path, "There is no such file.", "Check the path.") from None
    except IsADirectoryError:
        cure = "Give the files in it."
        if (path / "assay.toml").is_file():
            cure = (
                "Give the files in it; 'assay judge FOLDER --dry-run' checks all, and asks nobody."
            )
        raise _unreadable(path, "This is a folder.", cure) from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise _unreadable(path, f"The file cannot be read: {why}.", "") from error
    ending = path.suffix.lower()
    kind, size = "", len(raw)
    packed = raw.startswith(_GZIP) or ending == ".bz2" or _BZIP2.match(raw)
    most = most_bytes(size) if packed else MAX_BYTES
    try:
        if raw.startswith(_GZIP):
            kind = ".gz"
            with gzip.GzipFile(fileobj=io.BytesIO(raw)) as stream_gz:
                raw = _up_to(stream_gz, most + 1)
        elif _BZIP2.match(raw) or (ending == ".bz2" and raw.startswith(b"BZh")):
            kind = ".bz2"
            with bz2.BZ2File(io.BytesIO(raw)) as stream_bz2:
                raw = _up_to(stream_bz2, most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise _unreadable(
            path,
            f"The {kind[1:]} compression is damaged or cut off ({error}).",
            "Copy or compress the file again.",
        ) from error
    if len(raw) > most:
        if kind:
            why = f"Its {size:,} bytes unpack to more than {most:,}: perhaps made to fill memory."
            cure = f"If the file is as intended, set {MAX_UNPACKED} to the number of bytes allowed."
            raise _unreadable(path, why, cure)
        raise _unreadable(path, f"The file holds more than {most:,} bytes.", "Split it.")
    if not kind and ending in {".gz", ".bz2"} and raw:
        faults.warning(
            0, f"The name ends in {ending} but the file is not compressed.", "Rename it."
        )
    return raw, faults


def _up_to(stream: BinaryIO | gzip.GzipFile | bz2.BZ2File, most: int) -> bytes:
    """Up to ``most`` bytes of a stream. They are read in pieces: ``read`` allocates as much as it
    is asked for, which may be more memory than the process has."""
    buffer = io.BytesIO()
    while piece := stream.read(min(_PIECE, most - buffer.tell())):
        buffer.write(piece)
    return buffer.getvalue()


def _decode(body: bytes, separator: str, faults: FaultList) -> tuple[str, ...]:
    """The lines of ``body``; bad UTF-8 and control characters are added to ``faults``."""
    if not body:
        return ()
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        end = b"\r" if separator == "\n" else b""
        raw = body.split(separator.encode())
        lines = [_decode_line(one.removesuffix(end), n, faults) for n, one in enumerate(raw, 1)]
        text = separator.join(lines)
        broken = [fault.line for fault in faults.done() if fault.severity == "error"]
        # If most of what is not ASCII is bad UTF-8, other faults of these lines are noise.
        if len(broken) > 1 and 2 * len(broken) > sum(not one.isascii() for one in raw):
            why = "The file is in another encoding than UTF-8."
            cure = f"{_UTF8_CURE} {_OLD_ENCODINGS}"
            raise FormatError([Fault(faults.file, broken[0], None, why, cure)]) from None
    else:
        clean = text.replace("\r\n", "\n") if separator == "\n" and "\r" in text else text
        lines = clean.split(separator)
        if "\ufffd" in text:
            number = next(n for n, line in enumerate(lines, 1) if "\ufffd" in line)
            faults.warning(
                number,
                "A replacement character (U+FFFD): the text was damaged before Assay read it.",
                "Make the file again from its source.",
            )
    if body.endswith(separator.encode()):
        lines.pop()
    if _CONTROL.search(text):
        for number, line in enumerate(lines, 1):
            _check_control(line, number, faults)
    return tuple(lines)


def _decode_line(raw: bytes, number: int, faults: FaultList) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        faults.error(
            number,
            f"Not UTF-8: byte 0x{raw[error.start]:02X} at byte {error.start + 1} of the line.",
            _UTF8_CURE,
        )
        return raw.decode("utf-8", errors="replace")


def _check_control(line: str, number: int, faults: FaultList) -> None:
    found = sorted(set(_CONTROL.findall(line)))
    if "\x00" in found:
        faults.error(number, "The line holds a NUL byte.", "Remove it; is this a text file?")
        found.remove("\x00")
    if found:
        names = ", ".join(f"U+{ord(char):04X}" for char in found)
        faults.warning(number, f"The line holds control characters ({names}).", "Remove them.")


def _unreadable(path: Path, why: str, cure: str) -> FormatError:
    return FormatError([Fault(printable(str(path)), 0, None, why, cure)])
