"""JSON Lines: one object per line, with every faulty line reported."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from assay.formats.naming import normal_id
from assay.formats.parsed import FaultList
from assay.formats.text import SourceText
from assay.model.wording import joined

_CURE = "Write one JSON object per line."
# An unclosed string runs to the end; searching from each later quote would take quadratic time.
_TEXT_OR_NAN = re.compile(r'"(?:[^"\\]|\\.)*+"?|\bNaN\b')


def read_json(text: str) -> tuple[Any, bool]:
    """Parse a JSON document; also return whether it held ``NaN``, which is not JSON, but which
    Python and pandas write for a missing value. It is read as null.

    Raises :class:`orjson.JSONDecodeError`.
    """
    try:
        return orjson.loads(text), False
    except orjson.JSONDecodeError as error:
        mended = _TEXT_OR_NAN.sub(lambda one: "null" if one[0] == "NaN" else one[0], text)
        if mended != text:
            try:
                return orjson.loads(mended), True
            except orjson.JSONDecodeError:
                pass
        raise error


def read_objects(
    source: SourceText, faults: FaultList, *, lists: bool = False
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file with their line numbers; other lines are reported in ``faults``.

    A file that is one JSON document over several lines is a single fault. With ``lists`` a file
    that is one JSON list of objects is read too; their line number is then 0.
    """
    if lists and first_character(source) == "[":
        yield from _objects_of_list(source, faults)
        return
    first = source.first_line
    if (
        first.lstrip()[:1] in ("[", "{")
        and not _parses(first)
        and len(source.lines) < 5_000_000
        and _parses("\n".join(source.lines))
    ):
        faults.error(0, "The file is one JSON document over several lines.", _CURE)
        return
    for number, found in read_values(source, faults):
        if isinstance(found, dict):
            yield number, found
        else:
            faults.error(number, "The line holds no JSON object.", _CURE)


def read_values(
    source: SourceText, faults: FaultList, cure: str = _CURE
) -> Iterator[tuple[int, Any]]:
    """The JSON value of each non-blank line with its line number; lines that are not JSON are
    reported in ``faults``."""
    mended: list[int] = []
    for number, line in source.numbered():
        try:
            value, had_nan = read_json(line)
        except orjson.JSONDecodeError as error:
            several = _concatenated_objects(line)
            if several:
                faults.warning(
                    number,
                    f"{len(several)} JSON documents are on one line.",
                    "All were read. Write one per line.",
                )
                yield from ((number, one) for one in several)
            elif line.strip():
                # The parser's own "line 1" is this line.
                why = str(error).partition(": line ")[0]
                faults.error(number, f"The line is not JSON ({why}, column {error.colno}).", cure)
            continue
        if had_nan:
            mended.append(number)
        yield number, value
    _warn_of_nan(mended, faults)


def _concatenated_objects(line: str) -> list[Any]:
    """The objects of a line that holds objects only, one after the other; else an empty list."""
    found: list[Any] = []
    decoder, at = json.JSONDecoder(), 0
    while line[at : at + 1] == "{":
        start = at
        try:
            _, at = decoder.raw_decode(line, start)
            found.append(read_json(line[start:at])[0])  # orjson is stricter
        except (ValueError, RecursionError):
            return []
        while line[at : at + 1].isspace():
            at += 1
    return found if at == len(line) else []


def _warn_of_nan(lines: list[int], faults: FaultList) -> None:
    if lines:
        which = f"line{'s' if len(lines) > 1 else ''} {joined(map(str, lines), 10)}"
        faults.warning(
            lines[0],
            f"NaN is not JSON ({which}).",
            "It is read as null: missing. Write null.",
        )


def _objects_of_list(source: SourceText, faults: FaultList) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        found, had_nan = read_json("\n".join(source.lines))
    except orjson.JSONDecodeError as error:
        why = str(error).partition(": line ")[0]
        faults.error(error.lineno, f"The list is not JSON ({why}, column {error.colno}).", _CURE)
        return
    if had_nan:
        lines = [number for number, line in source.numbered() if "NaN" in line]
        _warn_of_nan(lines, faults)
    for place, one in enumerate(found, 1):
        if isinstance(one, dict):
            yield 0, one
        else:
            faults.error(0, f"Item {place} of the list is not a JSON object.", _CURE)


def first_character(source: SourceText) -> str:
    """The first character that is not white space; empty for a blank file."""
    return source.first_line.lstrip()[:1]


def _parses(line: str) -> bool:
    try:
        read_json(line)
    except orjson.JSONDecodeError:
        return False
    return True


def one_id(record: Mapping[str, Any], *names: str) -> str | None:
    """The id under the first of ``names`` that holds one: a non-blank string or an integer. An
    integer and the string of its digits are the same id."""
    for name in names:
        value = record.get(name)
        if isinstance(value, str) and value.strip():
            return normal_id(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
    return None


def one_text(record: Mapping[str, Any], *names: str) -> str | None:
    """The string under the first of ``names`` that holds one."""
    for name in names:
        value = record.get(name)
        if isinstance(value, str):
            return value
    return None


def first_object(source: SourceText) -> dict[str, Any] | None:
    """The first object of JSON Lines, or of a file that is one JSON list; None if that is no
    object."""
    is_list = first_character(source) == "["
    text = source.first_line
    try:
        found, _ = read_json("\n".join(source.lines) if is_list else text)
    except orjson.JSONDecodeError:
        return None
    if is_list and isinstance(found, list):
        found = next(iter(found), None)
    return found if isinstance(found, dict) else None


def dump_line(record: Mapping[str, Any]) -> bytes:
    """A record as a line of JSON."""
    return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)
