"""Long rows of bytes that lie in a file without a name, instead of in memory."""

from __future__ import annotations

import os
import tempfile
from array import array
from threading import Lock
from typing import IO

from assay.model.errors import SettingsError

_HELD = 32 << 20  # bytes that are in memory before there is a file


class Scratch:
    """Bytes that are added and read again: the first in memory, so that what is small needs no
    disk, all others in the system's temporary folder. The file has no name: however the process
    ends, nothing is left behind."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._file: IO[bytes] | None = None
        self._end = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return self._end

    def add(self, data: bytes | memoryview | bytearray) -> int:
        """Add bytes behind all others, and say where they begin. Raises SettingsError where the
        temporary folder takes no more."""
        with self._lock:
            begin = self._end
            if self._file is None and begin + len(data) <= _HELD:
                self._held += data
            else:
                self._write(data, begin - len(self._held))
            self._end += len(data)
        return begin

    def _write(self, data: bytes | memoryview | bytearray, at: int) -> None:
        view = memoryview(data)
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="assay-")  # noqa: SIM115 (for long)
            while view:
                done = os.pwrite(self._file.fileno(), view, at)
                view, at = view[done:], at + done
        except OSError as error:
            raise SettingsError(
                f"{tempfile.gettempdir()}: what does not fit into memory cannot be written there: "
                f"{error.strerror}. Make room, or name another folder in TMPDIR."
            ) from error

    def read(self, at: int, size: int) -> bytes:
        """``size`` bytes from ``at`` on."""
        found = bytes(self._held[at : at + size])
        at -= len(self._held)
        if self._file is None or len(found) == size:
            return found
        while len(found) < size:  # the system gives 2 GB at once
            more = os.pread(self._file.fileno(), size - len(found), at + len(found))
            if not more:
                raise SettingsError("A temporary file of this process was cut short by another.")
            found += more
        return found


class Texts:
    """Texts in a scratch, one added behind the other, twelve bytes each in memory."""

    def __init__(self, scratch: Scratch) -> None:
        self._scratch = scratch
        self._begins, self._sizes = array("Q"), array("I")

    def __len__(self) -> int:
        return len(self._begins)

    def append(self, text: str) -> None:
        """Add a text."""
        data = text.encode(errors="surrogatepass")
        self._begins.append(self._scratch.add(data))
        self._sizes.append(len(data))

    def __getitem__(self, at: int) -> str:
        data = self._scratch.read(self._begins[at], self._sizes[at])
        return data.decode(errors="surrogatepass")
