"""Pages of the web, PDF and Markdown to plain text, by well-kept libraries."""

from __future__ import annotations

import importlib
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.model.errors import PrerequisiteError

_ROWS = 2000
_HURT = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
_TITLE = re.compile(r"^title:[ \t]*[\"']?(.*?)[\"']?[ \t]*$", re.M)
_FRAME = (
    "nav, body > header, footer, aside, form, [role=navigation], [role=banner], [role=contentinfo]"
)
_FRONT_MATTER = re.compile(r"---\n(.*?)\n---\n", re.S)


def html_text(html: str) -> tuple[str, str]:
    """Title and text of a web page without its frame (navigation, banner, footer, asides, forms):
    headings, paragraphs, lists ``- …`` and tables on lines of their own."""
    tree = _library("resiliparse.parse.html").HTMLTree.parse(html)
    if tree.body is None:
        return tree.title or "", ""
    for node in list(tree.body.query_selector_all(_FRAME)):
        node.decompose()
    text = _library("resiliparse.extract.html2text").extract_plain_text(tree, alt_texts=False)
    return tree.title or "", re.sub(r"(?m)^\s*• ", "- ", text)


def pdf_text(data: bytes) -> tuple[str, str]:
    """Title and text of a PDF, page by page; pages that are pictures have none. Raises ValueError
    for what cannot be read."""
    library = _library("pypdf")
    try:
        reader = library.PdfReader(io.BytesIO(data))
        pages = [page.extract_text() or "" for page in reader.pages]
        title = (reader.metadata or {}).get("/Title") or ""
    except (
        library.errors.PyPdfError,
        ArithmeticError,
        LookupError,
        TypeError,
        ValueError,
    ) as error:
        raise ValueError(" ".join(str(error).split())[:200] or type(error).__name__) from error
    text = "\n\n".join(page.strip() for page in pages if page.strip())
    return str(title), re.sub(r"(?<=\w)-\n(?=[a-z])", "", text)  # words broken at a line's end


def markdown_text(source: str) -> tuple[str, str]:
    """Title (the first heading, or that of a front matter) and text of Markdown: headings keep
    their ``#``, lists are lines ``- …``, tables stay, links leave their words."""
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
            words = "".join(_said(child) for child in token.children or ())
            if row is not None:
                row.append(words.replace("|", "\\|"))
                continue
            title = title or (words if prefix.startswith("#") else "")
            text.append(f"{prefix}{words}\n" if prefix == "- " else f"\n{prefix}{words}\n\n")
            prefix = ""
        elif token.type in ("fence", "code_block"):
            text.append(f"\n{token.content}\n")
    return title, "".join(text)


def _said(inline: Any) -> str:
    """The words of a part of a line; of an image those that stand for it."""
    if inline.type in ("softbreak", "hardbreak"):
        return "\n"
    return "" if inline.type == "html_inline" else str(inline.content)


def parquet_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a Parquet file, some at a time. Raises OSError for what cannot be read."""
    pl = importlib.import_module("polars")  # late: most sources need none of it
    try:
        frame = pl.scan_parquet(path)
        height = int(frame.select(pl.len()).collect().item())
        for start in range(0, height, _ROWS):
            yield from frame.slice(start, _ROWS).collect().iter_rows(named=True)
    except pl.exceptions.PolarsError as error:
        raise OSError(" ".join(str(error).split())[:200]) from error


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise PrerequisiteError(
            f"Reading this needs {name.partition('.')[0]}: pip install 'assay-rag[documents]'"
        ) from error
