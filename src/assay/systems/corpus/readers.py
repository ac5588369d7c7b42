"""Extracting plain text from web pages, PDF and Markdown, with well-maintained libraries."""

from __future__ import annotations

import csv
import io
import logging
import re
import unicodedata
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from assay.formats.cells import separator
from assay.model.extras import import_extra
from assay.systems.corpus.accounting import words

_TITLE = re.compile(r"^title:[ \t]*[\"']?(.*?)[\"']?[ \t]*$", re.M)
_FRAME = (
    "nav, body > header, footer, aside:not([class*=infobox]), form, "
    "[role=navigation], [role=banner], [role=contentinfo]"
)
_MOST_FRAMES = 300
_SUBJECT = "main, article, h1"
_LONGEST_CELL = 100_000_000  # characters
_CODECS = {"shift_jis": "cp932", "euc_kr": "cp949", "big5": "big5hkscs"}
"""Encodings as browsers read them: with the vendors' extra characters, which are common."""
_FRONT_MATTER = re.compile(r"---\n(.*?)\n---\n", re.S)
_GLYPHS = re.compile("[\u2e80-\u2fdf\ufb00-\ufb06\ufb1d-\ufdff\ufe70-\ufefc]+")
"""Ligatures, radicals and positional forms, with which PDF encodes letters as drawn."""


class ReadDocument(NamedTuple):
    """A document that was read. ``dropped`` names parts left out of the text, with their numbers of
    words; ``unread`` says what could not be read."""

    title: str
    text: str
    dropped: tuple[tuple[str, int], ...] = ()
    unread: tuple[str, ...] = ()


def html_encoding(data: bytes) -> str:
    """A web page's encoding: UTF-8 if valid, else by its first bytes or ``<meta charset>``, else
    guessed."""
    if b"\x1b" not in data and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            data.decode()
        except UnicodeDecodeError:
            pass
        else:
            return "utf-8"
    encodings = _library("resiliparse.parse.encoding")
    name = str(encodings.detect_encoding(data, from_html_meta=True))
    return _CODECS.get(name, name)


def html_text(html: str) -> ReadDocument:
    """A web page's text without its frame (navigation, banner, footer, asides, forms): headings,
    paragraphs, lists ``- …`` and tables on separate lines. Infoboxes, and elements with the page's
    heading or more than half of its words, are not frame."""
    tree = _library("resiliparse.parse.html").HTMLTree.parse(html)
    if tree.body is None:
        return ReadDocument(tree.title or "", "")
    dropped = []
    half = len(tree.body.text) / 2
    nodes = list(tree.body.query_selector_all(_FRAME))
    for node in nodes:
        text = "" if len(nodes) > _MOST_FRAMES else node.text
        if not text:  # or so many that looking into each, one within the other, takes long
            node.decompose()
        elif node.query_selector(_SUBJECT) is None and len(text) <= half:
            dropped.append((f"<{node.tag}>", words(text)))
            node.decompose()
    text = _library("resiliparse.extract.html2text").extract_plain_text(tree, alt_texts=False)
    return ReadDocument(tree.title or "", re.sub(r"(?m)^\s*• ", "- ", text), tuple(dropped))


def pdf_text(data: bytes) -> ReadDocument:
    """A PDF's text, page by page; scanned pages have none. Raises ValueError if it cannot be
    read."""
    library = _library("pypdf")
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # what is wrong is told as a fault
    pages: list[str] = []
    unread: list[str] = []
    try:
        reader = library.PdfReader(io.BytesIO(data))
        count = len(reader.pages)
        title = (reader.metadata or {}).get("/Title") or ""
    except Exception as error:  # pypdf lets through whatever its parts raise
        raise ValueError(_why(error)) from error
    for number in range(count):
        try:
            pages.append((reader.pages[number].extract_text() or "").strip())
        except Exception as error:  # noqa: BLE001 (as above)
            unread.append(f"page {number + 1} of {count} cannot be read: {_why(error)}")
    if unread and not any(pages):
        raise ValueError(unread[0])
    text = "\n\n".join(page for page in pages if page)
    text = _GLYPHS.sub(lambda found: unicodedata.normalize("NFKC", found.group()), text)
    # words broken at a line's end
    return ReadDocument(str(title), re.sub(r"(?<=\w)-\n(?=[a-z])", "", text), (), tuple(unread))


def _why(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


def markdown_text(source: str) -> ReadDocument:
    """The text of Markdown, titled by its first heading or front matter: headings keep their ``#``,
    lists become lines ``- …``, tables stay, and of links and HTML only the words are kept."""
    parser = _library("markdown_it").MarkdownIt("commonmark").enable("table")
    front = _FRONT_MATTER.match(source)
    named = _TITLE.search(front[1]) if front else None
    title = named[1] if named else ""
    text: list[str] = []
    prefix = ""
    row: list[str] | None = None
    for token in parser.parse(source[front.end() :] if front else source):
        if token.type == "heading_open":
            prefix = f"{'#' * int(token.tag[1:])} "
        elif token.type == "list_item_open":
            prefix = "- "
        elif token.type == "tr_open":
            row = []
        elif token.type == "tr_close" and row is not None:
            text.append(f"| {' | '.join(row)} |\n")
            row = None
        elif token.type == "inline":
            said = "".join(_said(child) for child in token.children or ())
            if row is not None:
                row.append(said.replace("|", "\\|"))
                continue
            title = title or (said if prefix.startswith("#") else "")
            text.append(f"{prefix}{said}\n" if prefix == "- " else f"\n{prefix}{said}\n\n")
            prefix = ""
        elif token.type in ("fence", "code_block"):
            text.append(f"\n{token.content}\n")
        elif token.type == "html_block":
            text.append(f"\n{html_text(token.content).text}\n")
    return ReadDocument(title, "".join(text))


def _said(inline: Any) -> str:
    """The words of an inline element; of an image its alternative text."""
    if inline.type in ("softbreak", "hardbreak"):
        return "\n"
    return "" if inline.type == "html_inline" else str(inline.content)


def csv_rows(lines: Iterator[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a table with a header and cells separated by commas, tabs or semicolons, each
    with the number of its last line. Raises csv.Error if it is malformed."""
    header = next(lines, "")
    csv.field_size_limit(_LONGEST_CELL)
    rows = csv.reader(chain((header,), lines), delimiter=separator(header), strict=True)
    names = [name.strip().lower() for name in next(rows, ())]
    for row in rows:
        if row:
            yield rows.line_num, dict(zip(names, row, strict=False))


def parquet_rows(path: Path, at_once: int = 2000) -> Iterator[dict[str, Any]]:
    """The rows of a Parquet file, read in blocks. Raises OSError if it cannot be read."""
    import polars as pl  # noqa: PLC0415 (slow to load, and most sources need none of it)

    try:
        frame = pl.scan_parquet(path)
        height = int(frame.select(pl.len()).collect().item())
        for start in range(0, height, at_once):
            yield from frame.slice(start, at_once).collect().iter_rows(named=True)
    except pl.exceptions.PolarsError as error:
        raise OSError(" ".join(str(error).split())[:200]) from error


def _library(name: str) -> Any:
    return import_extra(name, f"Reading this needs {name.partition('.')[0]}", "documents")
