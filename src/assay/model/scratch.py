"""Growing data that is kept in an unnamed temporary file instead of in memory."""

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

_HELD = 1 << 20  # bytes kept in memory before a file is opened
_BUFFER = 1 << 16  # bytes written at a time
_BLOCK = 1024  # numbers written at a time
_AT_ONCE = 64 * _BLOCK  # numbers read at a time
_TOGETHER = 1 << 20  # most bytes read at a time for several texts


class Scratch:
    """An append-only store of bytes. The first ``held`` bytes (a megabyte if None) stay in memory,
    so small data needs no disk; the rest goes to the system's temporary folder. That file has no
    name, so however the process ends, nothing is left behind."""

    def __init__(self, held: int | None = None) -> None:
        self._most = _HELD if held is None else held
        self._held = bytearray()
        self._new = bytearray()  # the last bytes, not yet in the file
        self._file: IO[bytes] | None = None
        self._end = 0
        self._lock = Lock()

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    def __len__(self) -> int:
        return self._end

    def add(self, data: bytes | memoryview | bytearray) -> int:
        """Append bytes and return their offset. Raises SettingsError if the temporary folder is
        full or cannot be written."""
        with self._lock:
            begin = self._end
            self._end += len(data)
            # What is held in memory is the beginning: once anything is beyond it, so is the rest.
            if self._file is None and not self._new and self._end <= self._most:
                self._held += data
            else:
                self._new += data
                if len(self._new) >= _BUFFER:
                    self._write()
        return begin

    def _write(self) -> None:
        """Write the buffer to the file."""
        new, self._new = self._new, bytearray()
        view = memoryview(new)
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(buffering=0, prefix="assay-")  # noqa: SIM115 (kept open)
            self._file.seek(0, os.SEEK_END)
            while view:  # the system may write only a part
                view = view[self._file.write(view) :]
        except OSError as error:
            raise SettingsError(
                f"{tempfile.tempdir or 'No folder'}: cannot write temporary files for data that "
                f"does not fit into memory: {error.strerror}. Free some space, or name another "
                "folder in TMPDIR."
            ) from error

    def read(self, at: int, size: int) -> bytes:
        """``size`` bytes from offset ``at``."""
        with self._lock:
            # The bytes wanted reach into the buffer.
            if self._new and at + size > self._end - len(self._new):
                self._write()
            found = bytes(self._held[at : at + size])
            if self._file is None or len(found) == size:
                return found
            self._file.seek(at + len(found) - len(self._held))
            while len(found) < size:  # the system reads at most 2 GB at a time
                more = self._file.read(size - len(found))
                if not more:
                    raise SettingsError(
                        "A temporary file of this process was cut short by another."
                    )
                found += more
        return found

    def whole(self) -> memoryview:
        """All bytes as one block; memory-mapped if all of them are in the file."""
        with self._lock:
            if self._new:
                self._write()
        if self._file is None:
            return memoryview(self._held)
        if self._held:
            return memoryview(self.read(0, self._end))
        return memoryview(mmap.mmap(self._file.fileno(), self._end, access=mmap.ACCESS_READ))


class Numbers:
    """An append-only list of numbers of one :mod:`array` type code; all but the last thousand or so
    are in a scratch file."""

    def __init__(self, scratch: Scratch, kind: str) -> None:
        self._scratch = scratch
        self._begins = array("Q")  # offsets of the blocks
        self._last: tuple[int, array[Any]] | None = None  # the last block that was read
        self._new: array[Any] = array(kind)
        self._size = self._new.itemsize

    def __len__(self) -> int:
        return len(self._begins) * _BLOCK + len(self._new)

    def append(self, number: float) -> None:
        """Append a number."""
        self._new.append(number)
        if len(self._new) == _BLOCK:
            self._put()

    def extend(self, numbers: Iterable[float] | bytes) -> None:
        """Append several numbers, given as numbers or as their bytes."""
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
        """A block of the scratch file."""
        last = self._last
        if last is None or last[0] != block:
            found: array[Any] = array(self._new.typecode)
            found.frombytes(self._scratch.read(self._begins[block], _BLOCK * self._size))
            last = self._last = block, found  # in one step: other threads may read it
        return last[1]

    def slice(self, begin: int, end: int) -> array[Any]:
        """The numbers from index ``begin`` to before ``end``."""
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
        """All numbers, in chunks."""
        for begin in range(0, len(self), _AT_ONCE):
            yield self.slice(begin, min(begin + _AT_ONCE, len(self)))

    def __iter__(self) -> Iterator[Any]:
        for block in self.blocks():
            yield from block


class Texts:
    """An append-only list of texts in a scratch file."""

    def __init__(self, scratch: Scratch) -> None:
        self._scratch = scratch
        self._spans = Numbers(scratch, "Q")  # offset and size of each

    def __len__(self) -> int:
        return len(self._spans) // 2

    def append(self, text: str) -> None:
        """Append a text."""
        self.add(text.encode(errors="surrogatepass"))

    def extend(self, texts: Iterable[str]) -> None:
        """Append several texts."""
        data = [text.encode(errors="surrogatepass") for text in texts]
        begin, sizes = self._scratch.add(b"".join(data)), [*map(len, data)]
        begins = accumulate(sizes[:-1], initial=begin)
        self._spans.extend(chain.from_iterable(zip(begins, sizes, strict=False)))

    def add(self, data: bytes) -> None:
        """Append bytes, which need not be text."""
        self._spans.extend((self._scratch.add(data), len(data)))

    def data(self, at: int) -> bytes:
        """The bytes at an index."""
        return self._scratch.read(*self._spans.slice(2 * at, 2 * at + 2))

    def get_many(self, indexes: Sequence[int]) -> Iterator[str]:
        """The texts at ``indexes``; if they are close together, they are read in one go."""
        first, last = min(indexes), max(indexes)
        spans = self._spans.slice(2 * first, 2 * last + 2) if last - first < _AT_ONCE else None
        if spans is None or spans[-2] + spans[-1] - spans[0] > _TOGETHER:
            yield from map(self.__getitem__, indexes)
            return
        data = self._scratch.read(spans[0], spans[-2] + spans[-1] - spans[0])
        for at in indexes:
            begin, size = spans[2 * (at - first)] - spans[0], spans[2 * (at - first) + 1]
            yield data[begin : begin + size].decode(errors="surrogatepass")

    def __getitem__(self, at: int) -> str:
        return self.data(at).decode(errors="surrogatepass")


class Parts:
    """Records distributed over numbered parts, each of which is read as a whole: for sorting more
    than fits into memory."""

    def __init__(self, scratch: Scratch) -> None:
        self._scratch = scratch
        self._parts: dict[int, array[int]] = {}  # offset and size of each record

    def add(self, part: int, data: bytes) -> None:
        """Append a record to a part."""
        at = self._scratch.add(data)
        self._parts.setdefault(part, array("Q")).extend((at, len(data)))

    def read(self, part: int) -> bytes:
        """All records of a part, in the order in which they were added."""
        spans = iter(self._parts.get(part, ()))
        return b"".join(self._scratch.read(at, size) for at, size in zip(spans, spans, strict=True))
