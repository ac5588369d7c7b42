"""The result of every reader: the value as far as it could be read, and all faults of the file.

A reader never stops at the first fault, so that a file can be corrected in one go. Errors make a
file unusable (:meth:`Parsed.require` raises them all at once); warnings do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

from assay.model.errors import Fault, FormatError
from assay.model.wording import counted, joined, printable, quoted

T = TypeVar("T")


class Parsed(NamedTuple, Generic[T]):
    """A file's ``value`` (best effort; None if nothing could be read) and its faults."""

    value: T | None
    faults: tuple[Fault, ...]

    @property
    def errors(self) -> tuple[Fault, ...]:
        """The faults that make the file unusable, in line order."""
        return tuple(fault for fault in self.faults if fault.severity == "error")

    @property
    def warnings(self) -> tuple[Fault, ...]:
        """The faults that leave the file usable, in line order."""
        return tuple(fault for fault in self.faults if fault.severity != "error")

    @property
    def ok(self) -> bool:
        """Whether the file is free of errors (it may have warnings)."""
        return self.value is not None and not self.errors

    def require(self) -> T:
        """The value. Raises :class:`FormatError` with *all* errors of the file if it has any."""
        errors = self.errors
        if errors or self.value is None:
            raise FormatError(errors or self.faults)
        return self.value


class FaultList:
    """Collects the faults of one file while it is read; ``done`` gives them in line order."""

    def __init__(self, file: str, faults: Iterable[Fault] = ()) -> None:
        self.file = printable(file)
        self._faults = list(faults)

    def error(self, line: int, why: str, cure: str, topic: str | None = None) -> None:
        """Add a fault that makes the file unusable."""
        self._add(line, why, cure, topic, "error")

    def warning(self, line: int, why: str, cure: str, topic: str | None = None) -> None:
        """Add a fault that leaves the file usable."""
        self._add(line, why, cure, topic, "warning")

    def missing(self, what: str, lines: Sequence[int], cure: str) -> None:
        """Warn that ``what`` is missing on ``lines``, if there are any."""
        if lines:
            where = f"{counted(len(lines), 'line')} ({joined(map(str, lines), 10)})"
            self.warning(lines[0], f"{what} is missing on {where}.", cure)

    def at(self, line: int, topic: str | None = None) -> Spot:
        """A place to report the faults of one line."""
        return Spot(self, line, topic)

    def _add(self, line: int, why: str, cure: str, topic: str | None, severity: str) -> None:
        shown = printable(topic) if topic else None
        # Messages of the csv and json modules may quote control characters of the file.
        self._faults.append(
            Fault(self.file, line, shown, printable(why), printable(cure), severity)
        )

    @property
    def faulty(self) -> bool:
        """Whether there are errors. What seems to be missing may then be in the faulty lines."""
        return any(fault.severity == "error" for fault in self._faults)

    def done(self) -> tuple[Fault, ...]:
        """All faults in line order; those of the file as a whole (line 0) come first."""
        return tuple(sorted(self._faults, key=lambda fault: fault.line))


class Spot(NamedTuple):
    """A line of a file and its topic, if known, so that its faults need not repeat the two."""

    faults: FaultList
    line: int
    topic: str | None = None

    def error(self, why: str, cure: str) -> None:
        """A fault that makes the file unusable."""
        self.faults.error(self.line, why, cure, self.topic)

    def warning(self, why: str, cure: str) -> None:
        """A fault that leaves the file usable."""
        self.faults.warning(self.line, why, cure, self.topic)

    def twice(self, run: str, first: int) -> None:
        """Report a second answer of ``run`` to the topic; the other is on line ``first``."""
        why = f"The answer of run {quoted(run)} is already on line {first}."
        self.error(why, "Keep one of the two; the first was read.")
