"""Passages on disk: one JSONL or Parquet file, or one compressed JSON file per document.

Reads corpora written by Assay or by R2C2's organisers (a folder of JSON files, each with the
passages of one document); field names may differ a little.
"""

from __future__ import annotations

import gzip
import os
import re
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

import orjson

from assay.model.errors import SettingsError
from assay.model.wording import printable
from assay.systems.corpus.passages import CutPassage
from assay.systems.corpus.readers import parquet_rows
from assay.systems.corpus.records import file_passages, passage_of, unreadable
from assay.systems.damage import damage_reported

MANIFEST = "corpus.json"
PASSAGES = "passages.jsonl"
DOCUMENTS = "documents.sqlite"


class Layout(StrEnum):
    """How passages are stored on disk."""

    JSONL = "jsonl"
    GZIP = "jsonl.gz"
    PARQUET = "parquet"
    DOCUMENTS = "documents"


_SAFE = "-_.,()'!&=+@ "
_NO_NAME = re.compile(r"\.|(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)
"""Beginnings to avoid in file names: such files are hidden, or devices on Windows."""
_ROWS = 20_000


def line(passage: CutPassage) -> bytes:
    """A passage as a line of JSON, line feed included."""
    return (
        orjson.dumps({**passage._asdict(), "overlap_ratio": round(passage.overlap_ratio, 6)})
        + b"\n"
    )


def from_line(data: bytes) -> CutPassage:
    """A passage from a line that :func:`line` made."""
    return passage_of(orjson.loads(data), Path(PASSAGES), 0)


def write_whole(path: Path, data: bytes) -> None:
    """Write a small file atomically."""
    fresh = path.with_name(f".{path.name}.fresh")
    fresh.write_bytes(data)
    fresh.replace(path)


def read_passages(path: Path) -> Iterator[CutPassage]:
    """All passages of a corpus in order: a folder made by ``assay corpus build``, a folder of
    documents, or a JSONL (also packed) or Parquet file.

    Raises FormatError with file and line for unreadable content, SettingsError if there is no
    corpus.
    """
    if path.is_dir():
        for name in (PASSAGES, f"{PASSAGES}.gz", "passages.parquet"):
            if (path / name).is_file():
                yield from read_passages(path / name)
                return
        folder = path / "documents" if (path / "documents").is_dir() else path
        yield from _documents(folder)
    elif not path.is_file():
        raise SettingsError(f"There is no corpus at {path}. Make one with: assay corpus build")
    elif path.suffix == ".parquet":
        yield from _parquet(path)
    else:
        yield from _lines(path)


def passages_in(path: Path) -> int | None:
    """The number of passages of a corpus built by Assay; None if only reading them all can tell."""
    try:
        return int(orjson.loads((path / MANIFEST).read_bytes())["counts"]["passages"])
    except (OSError, ValueError, LookupError, TypeError):
        return None


def write_passages(passages: Iterable[CutPassage], folder: Path, layout: Layout) -> int:
    """Write ``passages``, grouped by document, into ``folder``; return how many.

    The file gets its name only when complete.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if layout is Layout.DOCUMENTS:
        return _write_documents(passages, folder / "documents")
    if layout is Layout.PARQUET:
        return _write_parquet(passages, folder / "passages.parquet")
    target = folder / (PASSAGES if layout is Layout.JSONL else f"{PASSAGES}.gz")
    fresh = target.with_name(f".{target.name}.part")
    count = 0
    index = Documents.fresh(folder) if layout is Layout.JSONL else None
    with fresh.open("wb") as raw:
        out: Any = raw if index is not None else gzip.GzipFile("", "wb", 6, raw, mtime=0)
        for doc, rows in groupby(passages, key=lambda passage: passage.doc):
            every = list(rows)
            data = b"".join(map(line, every))
            if index is not None and not index.add(doc, every[0].title, raw.tell(), len(data)):
                raise SettingsError(f"The passages of document {printable(doc)} are not together.")
            out.write(data)
            count += len(every)
        if index is None:
            out.close()
        size = raw.tell()
    fresh.replace(target)
    if index is not None:
        index.finish(folder, size)
    return count


_CURE = (
    "If an update was interrupted, run the same command again; otherwise build the corpus again: "
    "assay corpus build --restart"
)


class Documents:
    """An index from document ids to passages in ``passages.jsonl``.

    Can be the corpus of ``read_pr_run``: ``get`` returns a document's text.
    """

    def __init__(self, folder: Path, *, half_updated: bool = False) -> None:
        """Open the index of ``folder``. Raises SettingsError if it has none, or (without
        ``half_updated``) if the passages are from an update that was stopped."""
        path = folder / DOCUMENTS
        self._folder = folder
        self._by_file = None
        if not path.is_file():
            if (folder / "documents").is_dir() or any(folder.glob("*.json.gz")):
                self._by_file = folder / "documents" if (folder / "documents").is_dir() else folder
                return
            raise SettingsError(
                f"{folder} has no documents to look up. Build it with: assay corpus build SOURCE "
                f"{folder} (layout jsonl or documents)"
            )
        with damage_reported(folder, _CURE):
            self._stream = (folder / PASSAGES).open("rb")
            self._database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
            size = self._database.execute("SELECT bytes FROM whole").fetchone()[0]
            self._whole = size == (folder / PASSAGES).stat().st_size
            if not self._whole and not half_updated:
                raise ValueError("its passages do not match its index of documents")

    @classmethod
    def fresh(cls, folder: Path) -> Documents:
        """A new, empty index, written under another name until :meth:`finish`."""
        made = cls.__new__(cls)
        part = folder / f".{DOCUMENTS}.part"
        part.unlink(missing_ok=True)
        made._database = sqlite3.connect(part)
        # No rollback journal is needed: a half-written index has a temporary name.
        made._database.executescript(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
            "CREATE TABLE documents (id TEXT PRIMARY KEY, title TEXT, at INTEGER, size INTEGER,"
            " source TEXT, templates TEXT) WITHOUT ROWID; CREATE TABLE whole (bytes INTEGER)"
        )
        return made

    def add(
        self, doc: str, title: str, at: int, size: int, source: str = "", templates: bytes = b"[]"
    ) -> bool:
        """Add a document, with its source's fingerprint and what happened to its templates. Returns
        False if its id is already there."""
        row = (doc, title, at, size, source, templates)
        made = self._database.execute("INSERT OR IGNORE INTO documents VALUES (?,?,?,?,?,?)", row)
        return made.rowcount > 0

    def finish(self, folder: Path, size: int) -> None:
        """Close a fresh index of ``size`` bytes of passages and give it its name."""
        self._database.execute("INSERT INTO whole VALUES (?)", (size,))
        self._database.commit()
        self._database.close()
        (folder / f".{DOCUMENTS}.part").replace(folder / DOCUMENTS)

    def discard(self, folder: Path) -> None:
        """Close and remove a fresh index that is not needed."""
        self._database.close()
        (folder / f".{DOCUMENTS}.part").unlink(missing_ok=True)

    def close(self) -> None:
        """Close the index and the file of passages."""
        self._database.close()
        self._stream.close()

    def __len__(self) -> int:
        if self._by_file is not None:
            return sum(1 for _ in self._by_file.glob("*.json.gz"))
        with damage_reported(self._folder, _CURE):
            return int(self._database.execute("SELECT count(*) FROM documents").fetchone()[0])

    def passages(self, doc: str) -> list[CutPassage]:
        """A document's passages in order; empty if there is no such document."""
        if self._by_file is not None:
            plain = self._by_file / f"{quote(doc, safe=_SAFE)[:200]}.json.gz"  # written elsewhere
            for path in (*_places(self._by_file, doc), plain):
                found = list(file_passages(path)) if path.is_file() else []
                if found and (found[0].doc == doc or found[0].doc.casefold() != doc.casefold()):
                    return found
            return []
        with damage_reported(self._folder, _CURE):
            row = self._database.execute(
                "SELECT at, size FROM documents WHERE id = ?", (doc,)
            ).fetchone()
            if row is None:
                return []
            self._stream.seek(row[0])
            data = self._stream.read(row[1])
            found = [orjson.loads(each) for each in data.splitlines()]
        return [passage_of(row, self._folder / PASSAGES, 0) for row in found]

    def made_of(self, doc: str, source: str) -> tuple[list[Any], bytes] | None:
        """What happened to the templates of a document, and its passages as lines; None if there is
        no such document made from ``source``."""
        with damage_reported(self._folder, _CURE):
            row = self._database.execute(
                "SELECT at, size, templates FROM documents WHERE id = ? AND source = ?",
                (doc, source),
            ).fetchone()
            if row is None or not self._whole:
                return None
            self._stream.seek(row[0])
            return orjson.loads(row[2]), self._stream.read(row[1])

    def sources(self) -> Iterator[tuple[str, str]]:
        """All document ids with their sources' fingerprints."""
        yield from self._database.execute("SELECT id, source FROM documents")

    def get(self, key: str, /) -> str | None:
        """A document's text, reassembled from its passages; None if there is none."""
        found = self.passages(key)
        return joined(found) if found else None


def joined(passages: Iterable[CutPassage]) -> str:
    """The text that a document's ``passages`` were cut from, except for trailing white space."""
    text = ""
    for passage in passages:
        if passage.start > len(text) or (passage.start == 0 and text):
            text = f"{text}\n{passage.text}"  # no overlap, or segments of no known place
        else:
            text += passage.text[len(text) - passage.start :]
    return text


def file_name(doc: str) -> str:
    """A document id as a file name. Everything but letters, digits and ``-_.,()' `` is escaped, so
    that no id can lead out of a folder; so is the start of Windows device names."""
    safe = quote(doc, safe=_SAFE)
    if _NO_NAME.match(safe):
        safe = f"%{ord(safe[0]):02X}{safe[1:]}"
    return safe if len(safe) <= 200 else f"{safe[:160]}~{_digest(doc)}"


def _digest(doc: str) -> str:
    return f"{zlib.crc32(doc.encode()):08x}"


def _places(folder: Path, doc: str) -> tuple[Path, Path]:
    """A document's file, and the file to use instead if the disk ignores case and another
    document's id differs only in case."""
    name = file_name(doc)
    return folder / f"{name}.json.gz", folder / f"{name}~{_digest(doc)}.json.gz"


def _lines(path: Path) -> Iterator[CutPassage]:
    try:
        with path.open("rb") as raw:
            packed = raw.peek(2)[:2] == b"\x1f\x8b"
            stream: Any = gzip.GzipFile(fileobj=raw) if packed else raw
            for number, data in enumerate(stream, 1):
                if data.strip():
                    try:
                        row = orjson.loads(data)
                    except orjson.JSONDecodeError as error:
                        raise unreadable(path, number, f"Not JSON: {error}.") from None
                    yield passage_of(row, path, number)
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(path, 0, f"It cannot be read: {error}.") from error


def _parquet(path: Path) -> Iterator[CutPassage]:
    try:
        for row in parquet_rows(path, _ROWS):
            yield passage_of(row, path, 0)
    except OSError as error:
        raise unreadable(path, 0, f"It cannot be read: {error}.") from error


def _documents(folder: Path) -> Iterator[CutPassage]:
    with os.scandir(folder) as entries:
        names = sorted(e.name for e in entries if re.search(r"\.json(?:\.gz)?$", e.name))
    names = [name for name in names if name != MANIFEST]
    if not names:
        raise SettingsError(
            f"{folder} holds no corpus: no {PASSAGES}, no passages.parquet, no *.json.gz. Make "
            "one with: assay corpus build"
        )
    for name in names:
        yield from file_passages(folder / name)


def _write_documents(passages: Iterable[CutPassage], folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for doc, rows in groupby(passages, key=lambda passage: passage.doc):
        every = list(rows)
        body = {
            "doc": doc,
            "title": every[0].title,
            "passages": [
                {
                    **{k: v for k, v in each._asdict().items() if k not in ("doc", "title")},
                    "overlap_ratio": round(each.overlap_ratio, 6),
                }
                for each in every
            ],
        }
        target, apart = _places(folder, doc)
        if target.exists():
            target = apart
        fresh = target.with_name(f".{os.getpid()}.part")
        fresh.write_bytes(gzip.compress(orjson.dumps(body), 6, mtime=0))
        fresh.replace(target)
        count += len(every)
    return count


def _write_parquet(passages: Iterable[CutPassage], target: Path) -> int:
    """Write a JSONL file beside ``target``, and let polars convert it to Parquet as a stream."""
    import polars as pl  # noqa: PLC0415 (slow to load, and most stores are JSON Lines)

    text, number = pl.String, pl.Int64
    schema = pl.Schema(
        {
            "id": text, "doc": text, "title": text, "number": number, "text": text,
            "words": number, "overlap": number, "start": number, "overlap_ratio": pl.Float64,
        }
    )  # fmt: skip
    middle = target.with_name(".passages.jsonl.part")
    fresh = target.with_name(".passages.parquet.part")
    count = 0
    with middle.open("wb") as out:
        for passage in passages:
            out.write(line(passage))
            count += 1
    if count:
        pl.scan_ndjson(middle, schema=schema).sink_parquet(fresh, row_group_size=_ROWS)
    else:
        pl.DataFrame(schema=schema).write_parquet(fresh)
    middle.unlink()
    fresh.replace(target)
    return count
