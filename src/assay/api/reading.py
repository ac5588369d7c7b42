"""Read files: report their warnings, and collect the faults of all files before raising."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable
from typing import TypeVar

from assay.formats.parsed import Parsed
from assay.model.errors import Fault, FormatError, fault_lines, group_faults

T = TypeVar("T")
Note = Callable[[object], None]
"""Takes a warning about a file, to show it to the user."""


def warn(text: object) -> None:
    """Issue a Python warning that points at the line that called Assay."""
    level, frame = 1, sys._getframe()
    # Code run by exec() may have no __name__.
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("assay."):
        level, frame = level + 1, frame.f_back
    warnings.warn(str(text), stacklevel=level)


def used(parsed: Parsed[T], note: Note) -> T:
    """The value of a file; its warnings go to ``note``. Raises FormatError with its errors."""
    return all_used([lambda: parsed], note)[0]


def all_used(readers: Iterable[Callable[[], Parsed[T]]], note: Note) -> list[T]:
    """The values of several files; each distinct warning goes to ``note`` once. Raises FormatError
    with the errors of all files."""
    values: list[T] = []
    notes: dict[str, None] = {}  # a dict, to keep their order
    faults: list[Fault] = []
    for read in readers:
        try:
            parsed = read()
            values.append(parsed.require())
            notes |= dict.fromkeys(fault_lines(group_faults(parsed.warnings)))
        except FormatError as error:
            faults += error.faults
    for text in notes:
        note(text)
    if faults:
        raise FormatError(tuple(dict.fromkeys(faults)))
    return values
