"""Errors that a person can act on. The command line prints them without a traceback."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from assay.model.wording import span_text, spans


class AssayError(Exception):
    """Base of every error that Assay raises on purpose.

    ``exit_status`` is what the command line ends with: 2 for wrong usage or unreadable
    input, 3 where a labeller could not be reached.
    """

    exit_status = 2


class SettingsError(AssayError):
    """A setting, a folder or an option that cannot be used, with the cure in the message."""


class PrerequisiteError(AssayError):
    """Something that must be installed or fetched first; the message holds the command."""


class LabellerUnreachable(AssayError):
    """A labeller that does not answer: no connection, wrong key, or it went on failing."""

    exit_status = 3


class LabellerFailed(LabellerUnreachable):
    """A labeller of one's own, a function or an object, that raised an exception."""


class LedgerError(AssayError):
    """A ledger that cannot be opened or written."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of an input file.

    ``line`` counts from 1 (0: the file as a whole), ``topic`` is the question or topic id where
    it is known, ``why`` says what is wrong and ``cure`` what to do about it. A ``warning`` does
    not make the file unusable.
    """

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


_REPEATS = 4  # from so many on alike faults are told together
_PLACES = 12  # lines, or rows of lines, that are named


def placed(faults: Iterable[Fault]) -> Iterator[tuple[str, Sequence[Fault]]]:
    """The faults of a file with their place in words. What is said of many lines alike is said
    once, with these lines, where it is a warning or no topic is known."""
    by_text: dict[tuple[object, ...], list[Fault]] = {}
    for fault in faults:
        alone = fault.severity == "error" and fault.topic
        said = (fault.severity, fault.why, fault.cure)
        by_text.setdefault((*said, fault.line, fault.topic) if alone else said, []).append(fault)
    for of in by_text.values():
        if len(of) >= _REPEATS and all(fault.line for fault in of):
            yield f"{of[0].file}:{_lines(fault.line for fault in of)} ({len(of)} lines)", of
            continue
        yield from ((fault.place, [fault]) for fault in of)


def in_lines(faults: Iterable[tuple[str, Sequence[Fault]]]) -> Iterator[str]:
    """A line for each of what :func:`placed` gives."""
    return (f"{place} {of[0].why} {of[0].cure}".rstrip() for place, of in faults)


def _lines(numbers: Iterable[int]) -> str:
    """Numbers of lines, those in a row as one: ``1–3,7``; of many the first, and how many more."""
    parts = spans(numbers)
    named = ",".join(map(span_text, parts[:_PLACES]))
    rest = sum(last - first + 1 for first, last in parts[_PLACES:])
    return named + (f" and {rest:,} more" if rest else "")


_SHOWN = 50  # faults in a message, shared by the files
_SHOWN_OF_A_FILE = 3


class FormatError(AssayError):
    """A file that does not keep to its format; carries *all* faults found, in line order."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        by_file: dict[str, list[Fault]] = {}
        for fault in self.faults:
            by_file.setdefault(fault.file, []).append(fault)
        most = max(_SHOWN // max(len(by_file), 1), _SHOWN_OF_A_FILE)
        lines = []
        for file, own in by_file.items():
            every = list(placed(own))
            lines += [f"  {one}" for one in in_lines(every[:most])]
            if rest := sum(len(of) for _, of in every[most:]):
                lines.append(f"  … and {rest} more (assay validate {shlex.quote(file)} lists all)")
        count = len(self.faults)
        title = f"{count} fault{'s' if count != 1 else ''} in the input:"
        super().__init__("\n".join([title, *lines]))
