"""Streaming the pages of a MediaWiki export; after broken XML, reading resumes at the next page."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

_CHUNK, _LARGEST_CHUNK = 1 << 16, 1 << 25  # bytes
_SILENT = 1 << 28  # bytes without the beginning or end of an element: no page is that long
_ELEMENTS = 1_000_000  # of one page
_PAGE = b"<page>"
_ROOT = b"<mediawiki>"


class Broken(NamedTuple):
    """A fault in the XML: its line (0: the whole file) and a description."""

    line: int
    why: str


def pages(stream: IO[bytes]) -> Iterator[dict[str, Any] | Broken]:
    """The elements of each page by name, for any schema version, and faults where they occur. After
    a fault, reading resumes at the next ``<page>``."""
    parser = _parser()
    top: Any = None
    data = stream.read(_CHUNK)
    if not data:
        yield Broken(0, "The file is empty.")
        return
    line, column = 1, 0  # where ``data`` begins, as the parser counts columns
    shift = 0  # lines before the parser's first
    least = 0  # where in ``data`` the page after a fault can begin
    root = ""
    found = False
    silent = elements = 0  # bytes since the last event, elements since the last page
    while True:
        fault: tuple[int, str, int] | None = None  # line, why, where in ``data`` to go on
        try:
            if data:
                parser.feed(data)
            else:
                parser.close()
            silent += len(data)
            for event, element in parser.read_events():
                silent = 0
                if event == "start":
                    elements += 1
                    top = element if top is None else top
                    root = root or local(element.tag)
                elif local(element.tag) == "page":
                    found = True
                    elements = 0
                    yield {local(child.tag): child for child in element}
                    # Clear the root, too: it keeps everything that was under it.
                    element.clear()
                    top.clear()
            if silent > _SILENT or elements > _ELEMENTS:
                why = "A comment, tag or text has no end, or elements without number are here"
                fault = line, why, len(data)
        except ElementTree.ParseError as error:
            start = _place(data, shift + error.position[0] - line, error.position[1], column)
            why = str(error).partition(": line ")[0]
            fault = shift + error.position[0], why, max(start, least)
        if fault is not None:
            yield Broken(*fault[:2])
            data, line = _from_page(stream, data, line, fault[2])
            if not data:
                return
            parser, top = _parser(), None
            parser.feed(_ROOT)
            shift, column, least = line - 1, len(_ROOT), 1
            silent = elements = 0
            continue
        if not data:
            break
        line += data.count(b"\n")
        last = data.rfind(b"\n")
        column = len(data) - last - 1 if last >= 0 else column + len(data)
        # The parser reads what has no end anew with each chunk: twice as large a one each time.
        data, least = stream.read(min(max(_CHUNK, silent), _LARGEST_CHUNK)), 0
    if not found and root != "mediawiki":
        yield Broken(0, f"This is not a MediaWiki export: the XML begins with <{root}>.")


def local(tag: str) -> str:
    """An element's name without its namespace."""
    return tag.rpartition("}")[2]


def _parser() -> Any:
    return ElementTree.XMLPullParser(("start", "end"))


def _place(data: bytes, lines: int, column: int, begin: int) -> int:
    """The offset in ``data`` of the place ``lines`` further on, at ``column``; ``data`` starts at
    column ``begin``. It may be a little too low, as columns count characters."""
    if lines <= 0:
        return max(column - begin, 0) if not lines else 0
    at = 0
    for _ in range(lines):
        at = data.find(b"\n", at) + 1
    return at + column


def _from_page(stream: IO[bytes], data: bytes, line: int, start: int) -> tuple[bytes, int]:
    """The data from the next ``<page>`` on, and its line."""
    while (at := data.find(_PAGE, start)) < 0:
        more = stream.read(_CHUNK)
        if not more:
            return b"", line
        tail = data[-len(_PAGE) + 1 :]
        line += data.count(b"\n") - tail.count(b"\n")
        data, start = tail + more, 0
    return data[at:], line + data.count(b"\n", 0, at)
