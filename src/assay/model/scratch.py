"""Long rows of bytes that lie in a file without a name, instead of in memory."""

from __future__ import annotations

import mmap
import os
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain
from threading import Lock
from typing import IO, Any

from assay.model.errors import SettingsError

_HELD = 1 << 20  # bytes that are in memory before there is a file
_AWAITING = 1 << 16  # bytes that are written at once
_BLOCK = 1024  # numbers that are written at once
_AT_ONCE = 64 * _BLOCK  # numbers that are read at once
_TOGETHER = 1 << 20  # bytes that are read at once for several texts


class Scratch:
    """Bytes that are added and read again: the first in memory, so that what is small needs no
    disk, all others in the system's temporary folder. The file has no name: however the process
    ends, nothing is left behind. ``held``: how many bytes are in memory, a megabyte if None."""

    def __init__(self, held: int | None = None) -> None:
        self._most = _HELD if held is None else held
        self._held = bytearray()
        self._new = bytearray()  # the last bytes, which are in neither
        self._file: IO[bytes] | None = None
        self._end = 0
        self._lock = Lock()

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    def __len__(self) -> int:
        return self._end

    def add(self, data: bytes | memoryview | bytearray) -> int:
        """Add bytes behind all others, and say where they begin. Raises SettingsError where the
        temporary folder takes no more."""
        with self._lock:
            begin = self._end
            self._end += len(data)
            # Once something has gone further, all goes behind it: what is held is the beginning.
            if self._file is None and not self._new and self._end <= self._most:
                self._held += data
            else:
                self._new += data
                if len(self._new) >= _AWAITING:
                    self._write()
        return begin

    def _write(self) -> None:
        """Put the last bytes into the file."""
        new, self._new = self._new, bytearray()
        view = memoryview(new)
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(buffering=0, prefix="assay-")  # noqa: SIM115 (for long)
            self._file.seek(0, os.SEEK_END)
            while view:  # the system may take less than it is given
                view = view[self._file.write(view) :]
        except OSError as error:
            raise SettingsError(
                f"{tempfile.tempdir or 'No folder'}: what does not fit into memory cannot be "
                f"written there: {error.strerror}. Make room, or name another folder in TMPDIR."
            ) from error

    def read(self, at: int, size: int) -> bytes:
        """``size`` bytes from ``at`` on."""
        with self._lock:
            # What is asked for reaches into the last bytes.
            if self._new and at + size > self._end - len(self._new):
                self._write()
            found = bytes(self._held[at : at + size])
            if self._file is None or len(found) == size:
                return found
            self._file.seek(at + len(found) - len(self._held))
            while len(found) < size:  # the system gives 2 GB at once
                more = self._file.read(size - len(found))
                if not more:
                    raise SettingsError(
                        "A temporary file of this process was cut short by another."
                    )
                found += more
        return found

    def whole(self) -> memoryview:
        """All bytes in one piece. What lies in the file from its first byte on is not read, but
        mapped."""
        with self._lock:
            if self._new:
                self._write()
        if self._file is None:
            return memoryview(self._held)
        if self._held:
            return memoryview(self.read(0, self._end))
        return memoryview(mmap.mmap(self._file.fileno(), self._end, access=mmap.ACCESS_READ))


class Numbers:
    """Numbers of one kind (a type code of :mod:`array`) that are added one behind the other. A
    thousand or so are in memory, all others in a scratch."""

    def __init__(self, scratch: Scratch, kind: str) -> None:
        self._scratch = scratch
        self._begins = array("Q")  # of blocks of so many numbers
        self._last: tuple[int, array[Any]] | None = None  # the block that was read last
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
        return self._read(block)[rest]

    def _read(self, block: int) -> array[Any]:
        """A block that is in the scratch."""
        last = self._last
        if last is None or last[0] != block:
            found: array[Any] = array(self._new.typecode)
            found.frombytes(self._scratch.read(self._begins[block], _BLOCK * self._size))
            last = self._last = block, found  # at once: other threads may look, too
        return last[1]

    def some(self, begin: int, end: int) -> array[Any]:
        """Those from one place on to before another, in memory."""
        found: array[Any] = array(self._new.typecode)
        while begin < end and begin // _BLOCK < len(self._begins):
            block, rest = divmod(begin, _BLOCK)
            count = min(_BLOCK - rest, end - begin)
            found += self._read(block)[rest : rest + count]
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

    def extend(self, texts: Iterable[str]) -> None:
        """Add several."""
        data = [text.encode(errors="surrogatepass") for text in texts]
        begin, sizes = self._scratch.add(b"".join(data)), [*map(len, data)]
        begins = accumulate(sizes[:-1], initial=begin)
        self._ends.extend(chain.from_iterable(zip(begins, sizes, strict=False)))

    def add(self, data: bytes) -> None:
        """Add bytes that need be no text."""
        self._ends.extend((self._scratch.add(data), len(data)))

    def data(self, at: int) -> bytes:
        """The bytes at a place."""
        return self._scratch.read(*self._ends.some(2 * at, 2 * at + 2))

    def several(self, places: Sequence[int]) -> Iterator[str]:
        """The texts at some places; those that lie together are read at once."""
        first, last = min(places), max(places)
        ends = self._ends.some(2 * first, 2 * last + 2) if last - first < _AT_ONCE else None
        if ends is None or ends[-2] + ends[-1] - ends[0] > _TOGETHER:
            yield from map(self.__getitem__, places)
            return
        data = self._scratch.read(ends[0], ends[-2] + ends[-1] - ends[0])
        for at in places:
            begin, size = ends[2 * (at - first)] - ends[0], ends[2 * (at - first) + 1]
            yield data[begin : begin + size].decode(errors="surrogatepass")

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
