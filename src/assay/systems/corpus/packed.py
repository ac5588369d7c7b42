"""Reading plain files and those compressed with gzip, bzip2 or 7-Zip as a stream of bytes."""

from __future__ import annotations

import bz2
import gzip
import io
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from assay.formats.text import MAX_UNPACKED, most_bytes
from assay.model.errors import PrerequisiteError

PACKED = (".gz", ".bz2", ".7z")
_7ZIP = ("7zz", "7z", "7za", "7zr")


@contextmanager
def unpacked(path: Path) -> Iterator[tuple[IO[bytes], Callable[[], int]]]:
    """The decompressed content as a stream, and a function that returns how many bytes of the file
    on disk were read. The format is detected from the first bytes, not the name."""
    with path.open("rb") as raw:
        magic = raw.peek(6)[:6]
        if magic.startswith(b"\x1f\x8b"):
            yield _limited(gzip.GzipFile(fileobj=raw), path), raw.tell
        elif magic.startswith(b"BZh"):
            yield _limited(bz2.BZ2File(raw), path), raw.tell
        elif magic.startswith(b"7z\xbc\xaf"):
            with _seven_zip(path) as stream:
                yield _limited(stream, path), raw.tell
        else:
            yield raw, raw.tell


def _limited(stream: Any, path: Path) -> IO[bytes]:
    return cast("IO[bytes]", io.BufferedReader(_Limited(stream, path)))


class _Limited(io.RawIOBase):
    """A stream that raises OSError if a file's compression ratio is too high. The size itself is
    not limited, as dumps are large and never held in memory."""

    def __init__(self, stream: Any, path: Path) -> None:
        self._stream = stream
        self._left = most_bytes(path.stat().st_size, largest=None)

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        data = self._stream.read(len(target))
        self._left -= len(data)
        if self._left < 0:
            raise OSError(
                "it unpacks to many times its size, which may be an attack; if the file is "
                f"genuine, set {MAX_UNPACKED} to the number of bytes to allow"
            )
        target[: len(data)] = data
        return len(data)


@contextmanager
def _seven_zip(path: Path) -> Iterator[IO[bytes]]:
    """The content of a 7-Zip archive, through the 7z tool. Raises PrerequisiteError if that is
    missing, OSError at the end of a damaged archive."""
    tool = next((found for name in _7ZIP if (found := shutil.which(name))), None)
    if tool is None:
        raise PrerequisiteError(
            f"{path} is a 7-Zip archive, but no 7z tool is installed (looked for "
            f"{', '.join(_7ZIP)}). Install 7zip, or unpack the archive."
        )
    command = [tool, "e", "-so", "-y", str(path.resolve())]
    process = subprocess.Popen(  # noqa: S603 (no shell; the path is absolute)
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    whole = False
    try:
        assert process.stdout is not None  # noqa: S101 (it is a pipe)
        yield process.stdout
        whole = True
    finally:
        if process.stdout is not None:
            process.stdout.close()
        # If nobody reads on, it would wait for ever at a full pipe.
        process.kill() if not whole else None
        status = process.wait()
    if whole and status > 0:
        raise OSError("7z could not unpack the archive")
