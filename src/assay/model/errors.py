"""Errors that a user can act on. The command line prints them without a traceback."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from assay.model.wording import consecutive, range_text


class AssayError(Exception):
    """Base class of all errors that Assay raises on purpose. ``exit_status`` is the command line's:
    2 for wrong usage or unreadable input, 3 if a labeller could not be reached."""

    exit_status = 2


class SettingsError(AssayError):
    """A setting, folder or option that cannot be used; the message says how to fix it."""


class PrerequisiteError(AssayError):
    """Something must be installed or fetched first; the message gives the command."""


class LabellerUnreachable(AssayError):
    """A labeller does not answer: no connection, a wrong key, or repeated failures."""

    exit_status = 3


class LabellerFailed(LabellerUnreachable):
    """A user's own labeller, a function or an object, raised an exception."""


class LedgerError(AssayError):
    """A ledger that cannot be opened or written."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault in an input file. ``line`` counts from 1 (0 is the file as a whole), ``topic`` is the
    question or topic id if known, ``why`` says what is wrong and ``cure`` what to do about it.
    ``severity`` is ``error``, or ``warning`` if the file is still usable."""

    file: str
    line: int
    topic: str | None
    why: str
    cure: str
    severity: str = "error"

    @property
    def place(self) -> str:
        """File, line and topic, as far as they are known."""
        line, topic = f":{self.line}" if self.line else "", f" [{self.topic}]" if self.topic else ""
        return f"{self.file}{line}{topic}"

    def __str__(self) -> str:
        return f"{self.place} {self.why} {self.cure}".rstrip()


_REPEATS = 4  # this many equal faults are shown as one
_MOST_RANGES = 12  # lines, or ranges of lines, that are named


def group_faults(faults: Iterable[Fault]) -> Iterator[tuple[str, Sequence[Fault]]]:
    """Faults of one file, equal ones as one group, each with its place in words. Errors that name a
    topic are never grouped."""
    by_text: dict[tuple[object, ...], list[Fault]] = {}
    for fault in faults:
        alone = fault.severity == "error" and fault.topic
        text = (fault.severity, fault.why, fault.cure)
        by_text.setdefault((*text, fault.line, fault.topic) if alone else text, []).append(fault)
    for equal in by_text.values():
        if len(equal) >= _REPEATS and all(fault.line for fault in equal):
            lines = _lines(fault.line for fault in equal)
            yield f"{equal[0].file}:{lines} ({len(equal)} lines)", equal
            continue
        yield from ((fault.place, [fault]) for fault in equal)


def fault_lines(groups: Iterable[tuple[str, Sequence[Fault]]]) -> Iterator[str]:
    """A line of text for each group of :func:`group_faults`."""
    return (f"{place} {group[0].why} {group[0].cure}".rstrip() for place, group in groups)


def _lines(numbers: Iterable[int]) -> str:
    """Line numbers as ranges, ``1–3,7``: the first ranges, and how many more lines there are."""
    parts = consecutive(numbers)
    named = ",".join(map(range_text, parts[:_MOST_RANGES]))
    rest = sum(last - first + 1 for first, last in parts[_MOST_RANGES:])
    return named + (f" and {rest:,} more" if rest else "")


_MOST_SHOWN = 50  # faults in a message, shared between the files
_LEAST_PER_FILE = 3


class FormatError(AssayError):
    """Input files with faults; ``faults`` holds *all* of them, in line order."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        by_file: dict[str, list[Fault]] = {}
        for fault in self.faults:
            by_file.setdefault(fault.file, []).append(fault)
        most = max(_MOST_SHOWN // max(len(by_file), 1), _LEAST_PER_FILE)
        lines = []
        for file, own in by_file.items():
            groups = list(group_faults(own))
            lines += [f"  {line}" for line in fault_lines(groups[:most])]
            if rest := sum(len(group) for _, group in groups[most:]):
                lines.append(f"  … and {rest} more (assay validate {shlex.quote(file)} lists all)")
        count = len(self.faults)
        title = f"{count} fault{'s' if count != 1 else ''} in the input:"
        super().__init__("\n".join([title, *lines]))
