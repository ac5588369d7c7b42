"""Files read with their warnings told, and the faults of all of them kept; how scripts hear."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable
from typing import TypeVar

from assay.formats.parsed import Parsed
from assay.model.errors import Fault, FormatError, fault_lines, group_faults

T = TypeVar("T")
Note = Callable[[object], None]
"""Hears what people should know of the files."""


def warn(text: object) -> None:
    """A warning of Python's, at the line of whoever called Assay."""
    level, frame = 1, sys._getframe()
    # (What is run by exec() need have no name.)
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("assay."):
        level, frame = level + 1, frame.f_back
    warnings.warn(str(text), stacklevel=level)


def used(parsed: Parsed[T], note: Note) -> T:
    """The value of a file, whose warnings ``note`` hears. Raises FormatError with its errors."""
    return all_used([lambda: parsed], note)[0]


def all_used(readers: Iterable[Callable[[], Parsed[T]]], note: Note) -> list[T]:
    """The values of several files, whose warnings ``note`` hears, each of them once. Raises
    FormatError with the errors of all files."""
    values: list[T] = []
    told: dict[str, None] = {}
    faults: list[Fault] = []
    for read in readers:
        try:
            parsed = read()
            values.append(parsed.require())
            told |= dict.fromkeys(fault_lines(group_faults(parsed.warnings)))
        except FormatError as error:
            faults += error.faults
    for said in told:
        note(said)
    if faults:
        raise FormatError(tuple(dict.fromkeys(faults)))
    return values
