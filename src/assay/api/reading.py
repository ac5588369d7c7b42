"""Files read with their warnings told, and the faults of all of them kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from assay.formats.parsed import Parsed
from assay.model.errors import Fault, FormatError, in_lines, placed

T = TypeVar("T")
Note = Callable[[object], None]
"""Hears what people should know of the files."""


def used(parsed: Parsed[T], note: Note) -> T:
    """The value of a file, whose warnings ``note`` hears. Raises FormatError with its errors."""
    value = parsed.require()
    for said in in_lines(placed(parsed.warnings)):
        note(said)
    return value


def all_used(readers: Iterable[Callable[[], Parsed[T]]], note: Note) -> list[T]:
    """The values of several files, whose warnings ``note`` hears, each of them once. Raises
    FormatError with the errors of all files."""
    values: list[T] = []
    warnings: list[Fault] = []
    faults: list[Fault] = []
    for read in readers:
        try:
            parsed = read()
            values.append(parsed.require())
            warnings += parsed.warnings
        except FormatError as error:
            faults += error.faults
    for fault in dict.fromkeys(warnings):
        note(fault)
    if faults:
        raise FormatError(tuple(dict.fromkeys(faults)))
    return values
