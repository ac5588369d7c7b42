"""Long rows of bytes that lie in a file without a name, instead of in memory."""

from __future__ import annotations

import os
import tempfile
from array import array
from collections.abc import Iterable, Iterator
from threading import Lock
from typing import IO, Any

from assay.model.errors import SettingsError

_HELD = 1 << 20  # bytes that are in memory before there is a file
_BLOCK = 1024  # numbers that are written at once
_AT_ONCE = 64 * _BLOCK  # numbers that are read at once


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


class Numbers:
    """Numbers of one kind (a type code of :mod:`array`) that are added one behind the other. A
    thousand or so are in memory, all others in a scratch."""

    def __init__(self, scratch: Scratch, kind: str) -> None:
        self._scratch = scratch
        self._begins = array("Q")  # of blocks of so many numbers
        self._new: array[Any] = array(kind)
        self._size = self._new.itemsize

    def __len__(self) -> int:
        return len(self._begins) * _BLOCK + len(self._new)

    def append(self, number: float) -> None:
        """Add a number."""
        self._new.append(number)
        if len(self._new) == _BLOCK:
            self._put()

    def extend(self, numbers: Iterable[float] | bytes) -> None:
        """Add several, which may be given as their bytes."""
        if isinstance(numbers, bytes):
            self._new.frombytes(numbers)
        else:
            self._new.extend(numbers)
        if len(self._new) >= _BLOCK:
            self._put()

    def _put(self) -> None:
        whole = len(self._new) - len(self._new) % _BLOCK
        begin = self._scratch.add(self._new[:whole].tobytes())
        step = _BLOCK * self._size
        self._begins.extend(range(begin, begin + whole * self._size, step))
        self._new = self._new[whole:]

    def __getitem__(self, at: int) -> Any:
        block, rest = divmod(at, _BLOCK)
        if block == len(self._begins):
            return self._new[rest]
        found: array[Any] = array(self._new.typecode)
        found.frombytes(self._scratch.read(self._begins[block] + rest * self._size, self._size))
        return found[0]

    def some(self, begin: int, end: int) -> array[Any]:
        """Those from one place on to before another, in memory."""
        found: array[Any] = array(self._new.typecode)
        while begin < end and begin // _BLOCK < len(self._begins):
            block, rest = divmod(begin, _BLOCK)
            count = min(_BLOCK - rest, end - begin)
            at = self._begins[block] + rest * self._size
            found.frombytes(self._scratch.read(at, count * self._size))
            begin += count
        if begin < end:
            held = len(self._begins) * _BLOCK
            found += self._new[begin - held : end - held]
        return found

    def blocks(self) -> Iterator[array[Any]]:
        """All of them, some at a time."""
        for begin in range(0, len(self), _AT_ONCE):
            yield self.some(begin, min(begin + _AT_ONCE, len(self)))

    def __iter__(self) -> Iterator[Any]:
        for block in self.blocks():
            yield from block


class Texts:
    """Texts in a scratch, one added behind the other."""

    def __init__(self, scratch: Scratch) -> None:
        self._scratch = scratch
        self._ends = Numbers(scratch, "Q")  # where each begins and how long it is

    def __len__(self) -> int:
        return len(self._ends) // 2

    def append(self, text: str) -> None:
        """Add a text."""
        self.add(text.encode(errors="surrogatepass"))

    def add(self, data: bytes) -> None:
        """Add bytes that need be no text."""
        self._ends.extend((self._scratch.add(data), len(data)))

    def data(self, at: int) -> bytes:
        """The bytes at a place."""
        return self._scratch.read(*self._ends.some(2 * at, 2 * at + 2))

    def __getitem__(self, at: int) -> str:
        return self.data(at).decode(errors="surrogatepass")


class Parts:
    """Records of one size, put into parts in any order, of which one after the other is read: to
    sort more than fits into memory."""

    def __init__(self, scratch: Scratch) -> None:
        self._scratch = scratch
        self._parts: dict[int, array[int]] = {}

    def add(self, part: int, data: bytes) -> None:
        """Add to a part."""
        at = self._scratch.add(data)
        self._parts.setdefault(part, array("Q")).extend((at, len(data)))

    def read(self, part: int) -> bytes:
        """All of a part, in the order in which it was added."""
        ends = iter(self._parts.get(part, ()))
        return b"".join(self._scratch.read(at, size) for at, size in zip(ends, ends, strict=True))
