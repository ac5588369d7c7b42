"""Sources of documents: dumps, folders of wikitext, segment files, plain tables.

Documents are streamed one at a time. Unreadable ones are reported with file and line and left out.
"""

from __future__ import annotations

import codecs
import csv
import hashlib
import io
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import orjson

from assay.model.errors import Fault, SettingsError
from assay.model.wording import printable, quoted
from assay.systems.corpus import mediawiki
from assay.systems.corpus.files import (
    ENDINGS,
    ONE_EACH,
    PAGES,
    SourceFormat,
    bare_name,
    files_in,
    format_of,
    is_read,
    made_id,
)
from assay.systems.corpus.packed import unpacked
from assay.systems.corpus.readers import (
    csv_rows,
    html_encoding,
    html_text,
    markdown_text,
    parquet_rows,
    pdf_text,
)
from assay.systems.corpus.wikitext import is_redirect


class TextKind(StrEnum):
    """The kind of a document's text: wikitext, plain text, or a passage that must not be cut."""

    WIKITEXT = "wikitext"
    PLAIN = "plain"
    SEGMENT = "segment"


class Document(NamedTuple):
    """A document as read from a source. ``segment`` is the passage id if it is already a passage.
    ``dropped`` lists parts that are not in its text, with their numbers of words."""

    id: str
    title: str
    text: str
    kind: TextKind
    segment: str = ""
    dropped: tuple[tuple[str, int], ...] = ()


class Skipped(NamedTuple):
    """An item that is not a document, and why: ``redirect``, ``namespace``, or ``unreadable`` for a
    file that should hold one."""

    why: str


Item = Document | Skipped


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """``namespaces``: numbers of the MediaWiki namespaces to read (0: articles). ``ids``: whether
    page ``id`` or ``title`` becomes the document id in a dump."""

    format: SourceFormat = SourceFormat.AUTO
    namespaces: tuple[int, ...] = (0,)
    ids: str = "id"


_KEPT_FAULTS = 100
_HEADER = re.compile(r"[\r\n]*#[ \t]*(QID|ID|TITLE|LANG)[ \t]*:(.*)", re.IGNORECASE)
_NO_ID = "The id is blank or contains characters that cannot be printed."
_IDS = ("docid", "doc_id", "id", "_id", "pid", "document_id")
_TEXTS = ("segment", "text", "contents", "body", "content", "passage", "wikitext")


class Source:
    """A file or a folder of files, and the documents in it.

    Raises SettingsError if there is nothing to read or the format is unknown.
    """

    def __init__(self, path: Path, settings: SourceSettings) -> None:
        self.path = path
        self.settings = settings
        self.faults: list[Fault] = []
        self.more_faults = 0
        self._at: Callable[[], int] = _nothing  # how much of the file that is being read
        self._before = 0
        self.of_other_kinds = 0
        """Number of files in the folder that hold no document, by their extension."""
        if path.is_dir():
            every = list(files_in(path))
            self.files = tuple(filter(is_read, every))
            self.of_other_kinds = len(every) - len(self.files)
            if not self.files:
                raise SettingsError(
                    f"{path} contains no file whose name ends in {', '.join(ENDINGS)} (or one of "
                    "these packed as .gz, .bz2 or .7z)."
                )
        elif path.is_file():
            self.files = ("",)
        else:
            raise SettingsError(f"There is no file or folder {path}.")

    @cached_property
    def single_documents(self) -> bool:
        """Whether every file holds exactly one document, so that skipped files need not be read."""
        return all(self._format(self._file(name)) in ONE_EACH for name in self.files)

    @property
    def total(self) -> int:
        """The source's size on disk in bytes."""
        return sum(self._file(name).stat().st_size for name in self.files)

    @property
    def done(self) -> int:
        """The bytes of ``total`` read so far."""
        return self._before + self._at()

    def fingerprint(self) -> str:
        """A hash of names, sizes and settings that changes when the source does. Contents are left
        out, as reading a dump takes as long as building."""
        digest = hashlib.sha256(repr(self.settings).encode())
        for name in self.files:
            digest.update(f"{name}\0".encode())
            digest.update(str(self._file(name).stat().st_size).encode())
        return digest.hexdigest()[:32]

    def items(self, skip: int = 0) -> Iterator[Item]:
        """All documents in a fixed order, without the first ``skip``."""
        left = skip
        for path in map(self._file, self.files):
            if left and self.single_documents:
                left -= 1
            else:
                for item in self._read(path, self._format(path)):
                    if left:
                        left -= 1
                    else:
                        yield item
            self._at = _nothing
            self._before += path.stat().st_size

    def fault(self, path: Path, line: int, why: str, cure: str, topic: str | None = None) -> None:
        """Record something unreadable. The first 100 faults are kept, the rest counted."""
        if len(self.faults) < _KEPT_FAULTS:
            self.faults.append(
                Fault(printable(str(path)), line, topic, printable(why), printable(cure))
            )
        else:
            self.more_faults += 1

    def recall(self, faults: Iterable[Fault], more: int) -> None:
        """Restore faults found earlier in files that will not be read again."""
        known = [*self.faults, *faults]
        self.faults[:] = known[:_KEPT_FAULTS]
        self.more_faults += more + len(known[_KEPT_FAULTS:])

    def _file(self, name: str) -> Path:
        return self.path / name if name else self.path

    def _format(self, path: Path) -> SourceFormat:
        known = self.settings.format
        return format_of(path) if known is SourceFormat.AUTO else known

    def _read(self, path: Path, kind: SourceFormat) -> Iterator[Item]:
        try:
            with unpacked(path) as (stream, self._at):
                if kind is SourceFormat.MEDIAWIKI:
                    yield from self._pages(path, stream)
                elif kind is SourceFormat.WIKITEXT:
                    yield from self._page(path, stream)
                elif kind in ONE_EACH:
                    yield self._whole_file(path, kind, stream.read())
                elif kind is SourceFormat.PARQUET:
                    for number, row in enumerate(parquet_rows(path), 1):
                        yield from self._row(path, number, row)
                elif kind is SourceFormat.JSONL:
                    yield from self._json_lines(path, stream)
                elif kind is SourceFormat.CSV:
                    yield from self._csv(path, stream)
                else:
                    yield from self._table(path, stream)
        except (OSError, EOFError, zlib.error) as error:
            self._at = _nothing
            cure = "The file is damaged or truncated; what was read before is kept."
            self.fault(path, 0, f"Reading stops here: {error}.", cure)
            if kind in ONE_EACH:
                yield Skipped("unreadable")  # one item a file, so that skipping can count files

    def _pages(self, path: Path, stream: IO[bytes]) -> Iterator[Item]:
        """The pages of a MediaWiki export."""
        last = ""
        for found in mediawiki.pages(stream):
            if isinstance(found, mediawiki.Broken):
                why, cure = found.why, "Use a dump with pages, or give its format with --format."
                if found.line:
                    after = f" after the page {quoted(last)}" if last else ""
                    why = f"The XML is broken{after}: {why}."
                    cure = "Is the dump complete? Pages before and after this place are kept."
                self.fault(path, found.line, why, cure)
                continue
            title = _text(found.get("title"))
            last = title or last
            yield self._of_page(path, found, title)

    def _of_page(self, path: Path, page: dict[str, Any], title: str) -> Item:
        space = _text(page.get("ns")) or "0"
        if space.lstrip("-").isdigit() and int(space) not in self.settings.namespaces:
            return Skipped("namespace")
        text = ""
        revision = page.get("revision")
        for child in () if revision is None else revision:
            if mediawiki.local(child.tag) == "text":
                text = child.text or ""
        if "redirect" in page or is_redirect(text):
            return Skipped("redirect")
        one = _text(page.get("id")) if self.settings.ids == "id" else ""
        one = one or made_id(title)
        if not one:
            self.fault(path, 0, "A page has neither id nor title.", "It was left out.")
            return Skipped("namespace")
        return Document(one, title or one, text, TextKind.WIKITEXT)

    def _page(self, path: Path, stream: IO[bytes]) -> Iterator[Item]:
        """A file with one page, whose header lines (``# QID: …``) give id and title."""
        text = self._text(path, stream.read())
        header: dict[str, str] = {}
        start = 0
        while found := _HEADER.match(text, start):
            header.setdefault(found.group(1).upper(), found.group(2).strip())
            start = found.end()
        rest = text[start:].lstrip("\r\n")
        stem = bare_name(path.name)
        before, _, after = stem.partition("__")
        one = made_id(header.get("QID") or header.get("ID") or before or stem)
        title = (header.get("TITLE") or after or stem).replace("_", " ").strip()
        yield (
            Skipped("redirect")
            if is_redirect(rest)
            else Document(one, title, rest, TextKind.WIKITEXT)
        )

    def _text(self, path: Path, data: bytes) -> str:
        """A whole file's text: UTF-8, or UTF-16 if marked as such."""
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return data.decode("utf-16", errors="replace")
        return self._decoded(path, data)

    def _decoded(self, path: Path, data: bytes, first: int = 1) -> str:
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            self.fault(
                path,
                data.count(b"\n", 0, error.start) + first,
                "Not UTF-8.",
                "Such bytes were read as U+FFFD; save the file as UTF-8.",
            )
            return data.decode("utf-8", errors="replace")

    def _lines(self, path: Path, stream: IO[bytes]) -> Iterator[tuple[int, bytes]]:
        number = 0
        for number, line in enumerate(io.BufferedReader(cast("Any", stream), 1 << 20), 1):
            whole = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            if whole.strip():
                yield number, whole.strip(b" \r\n")
        if not number:
            self.fault(path, 0, "The file is empty.", "Use a file with documents.")

    def _json_lines(self, path: Path, stream: IO[bytes]) -> Iterator[Item]:
        """JSON objects, one per line: MS MARCO V2.1 segments and documents, BEIR, Pyserini …"""
        for number, line in self._lines(path, stream):
            try:
                row = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                self.fault(path, number, f"Not JSON: {error}.", "Write one JSON object per line.")
                continue
            yield from self._row(path, number, row)

    def _csv(self, path: Path, stream: IO[bytes]) -> Iterator[Item]:
        """A table whose header names the same fields as ``.jsonl``."""
        lines = enumerate(io.BufferedReader(cast("Any", stream), 1 << 20), 1)
        try:
            for number, row in csv_rows(self._decoded(path, line, n) for n, line in lines):
                yield from self._row(path, number, row)
        except csv.Error as error:
            self.fault(path, 0, f"It is not a table: {error}.", "What was read before is kept.")

    def _row(self, path: Path, number: int, row: object) -> Iterator[Item]:
        found = _of_row(row)
        if isinstance(found, str):
            self.fault(path, number, found, "It was left out.")
        else:
            yield found

    def _whole_file(self, path: Path, kind: SourceFormat, data: bytes) -> Item:
        """A web page, a PDF or Markdown; its id is the file's path in the folder."""
        try:
            if kind is SourceFormat.PDF:
                read = pdf_text(data)
            elif kind is SourceFormat.MARKDOWN:
                read = markdown_text(self._text(path, data))
            elif (encoding := html_encoding(data)) == "utf-8":
                read = html_text(self._decoded(path, data))
            else:
                read = html_text(data.decode(encoding, errors="replace").removeprefix("\ufeff"))
        except ValueError as error:
            self.fault(path, 0, f"It cannot be read: {error}.", "The file was left out.")
            return Skipped("unreadable")
        for why in read.unread:
            self.fault(path, 0, f"Not all of it can be read: {why}.", "The rest was read.")
        name = self._place(path)
        stem = bare_name(name)
        one = name if stem in self._shared else stem
        title = " ".join(read.title.split()) or Path(stem).name
        return Document(made_id(one), title, read.text, TextKind.PLAIN, dropped=read.dropped)

    def _place(self, path: Path) -> str:
        return str(path.relative_to(self.path)) if path != self.path else path.name

    @cached_property
    def _shared(self) -> frozenset[str]:
        """File names that are the same without extension, such as ``a.html`` and ``a.pdf``."""
        names = (name for name in self.files if name and self._format(self._file(name)) in PAGES)
        return frozenset(
            stem for stem, count in Counter(map(bare_name, names)).items() if count > 1
        )

    def _table(self, path: Path, stream: IO[bytes]) -> Iterator[Item]:
        """``id<TAB>text`` or ``id<TAB>title<TAB>text``, possibly after a header of these words."""
        for number, line in self._lines(path, stream):
            cells = self._decoded(path, line, number).split("\t")
            if number == 1 and cells[0].lower() in _IDS and cells[-1].lower() in _TEXTS:
                continue
            one = cells[0].strip()
            if len(cells) not in (2, 3):
                count = f"{len(cells)} {'column' if len(cells) == 1 else 'columns'}"
                cure = (
                    "Write id, text or id, title, text, separated by tabs; the line was left out."
                )
                self.fault(path, number, f"The line has {count}.", cure)
            elif not _is_id(one):
                self.fault(
                    path, number, _NO_ID, "Add an id in the first column; the line was left out."
                )
            else:
                title = cells[1].strip() if len(cells) == 3 else ""
                yield Document(one, title, cells[-1], TextKind.PLAIN)


def _nothing() -> int:
    return 0


def _is_id(text: str) -> bool:
    return bool(text) and text.isprintable()


def _of_row(row: object) -> Document | str:
    """The document in a JSON object, or what is wrong with it."""
    if not isinstance(row, dict):
        return "The line is not a JSON object."
    one = next((row[key] for key in _IDS if row.get(key) not in (None, "")), None)
    if isinstance(one, bool) or not isinstance(one, str | int):
        return f"There is no id (looked for {', '.join(_IDS)})."
    one = str(one).strip()
    if not _is_id(one):
        return _NO_ID
    key = next((key for key in _TEXTS if isinstance(row.get(key), str)), None)
    if key is None:
        return f"There is no text (looked for {', '.join(_TEXTS)})."
    about = row.get("metadata")
    title = row.get("title") or (about.get("title") if isinstance(about, dict) else None)
    name = title if isinstance(title, str) else ""
    if key == "segment":
        # MS MARCO V2.1: msmarco_v2.1_doc_00_0#0_0 is segment 0 of document msmarco_v2.1_doc_00_0.
        return Document(one.partition("#")[0], name, row[key], TextKind.SEGMENT, one)
    return Document(one, name, row[key], TextKind.WIKITEXT if key == "wikitext" else TextKind.PLAIN)


def _text(element: Any) -> str:
    return "" if element is None else (element.text or "").strip()
