"""From a source to passages on disk: on all cores, as a stream, going on after a kill.

The source is read by one process and cut into batches; others clean the batches and write a part
file each, under its name only when whole. A line in the journal says that a part is done. When
all are, the parts become the corpus. A build that was stopped finds its journal, skips what is
done and goes on; the result is the same bytes.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from assay.labellers.gguf import usable_cores
from assay.model.errors import Fault, SettingsError
from assay.model.version import __version__
from assay.systems.corpus.accounting import Account, Became
from assay.systems.corpus.documents import Document, Item, Kind, Source, SourceSettings
from assay.systems.corpus.markup import plain
from assay.systems.corpus.passages import Passage, Window, passages
from assay.systems.corpus.store import (
    DOCUMENTS,
    MANIFEST,
    PASSAGES,
    Documents,
    Layout,
    from_line,
    line,
    write_passages,
    write_whole,
)
from assay.systems.corpus.wikitext import CleanSettings, clean, is_disambiguation
from assay.systems.corpus.workers import Begin, Workers

_BATCH_DOCUMENTS = 200
_BATCH_CHARS = 2_000_000
MOST_TEMPLATES = 1000
"""Kinds of templates that the manifest names, those that lost most words first."""

_PART = re.compile(r"\.?journal\.jsonl(?:\.fresh)?|\.?\d{7}\.jsonl(?:\.part)?")

Told = Callable[[int, int, int], None]
"""Told how much of the source is done, of how much, and how many passages there are."""


@dataclass(frozen=True, slots=True)
class BuildSettings:
    """How a corpus is made. ``disambiguations``: keep pages that list the meanings of a name.
    ``page_seconds``: a page that takes longer to read is left out and named."""

    source: SourceSettings = field(default_factory=SourceSettings)
    clean: CleanSettings = field(default_factory=CleanSettings)
    window: Window = field(default_factory=Window)
    layout: Layout = Layout.JSONL
    disambiguations: bool = False
    page_seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class Built:
    """What a build did. ``counts`` holds documents, passages, words and what was left out:
    redirects, other namespaces, disambiguations, empty pages, pages that took too long, unreadable
    files, ids that came twice. ``templates``: what became of those in wikitext."""

    counts: Mapping[str, int]
    faults: tuple[Fault, ...]
    more_faults: int
    resumed: int
    templates: tuple[Became, ...] = ()


BatchFaults = tuple[tuple[Fault, ...], int]
"""The faults that were kept of those found while a batch was read, and how many more there were."""


class _Done(NamedTuple):
    number: int
    counts: dict[str, int]
    templates: list[tuple[str, str, int, int]]


def document_text(
    document: Document, settings: CleanSettings, account: Account | None = None
) -> str:
    """The clean text of a document; a wiki page begins with its title. ``account`` is told what
    became of its templates."""
    if document.kind is not Kind.WIKITEXT:
        return plain(document.text)
    text = clean(document.text, document.title, settings, account)
    if not text:
        return ""
    return f"{plain(document.title)}\n\n{text}" if document.title else text


def document_passages(
    document: Document, settings: BuildSettings, account: Account | None = None
) -> list[Passage]:
    """The passages of a document; a segment is one as it is."""
    text = document_text(document, settings.clean, account)
    if document.kind is Kind.SEGMENT:
        whole = Passage(
            document.segment, document.id, document.title, 0, text, len(text.split()), 0, 0
        )
        return [whole] if text else []
    return list(passages(document.id, plain(document.title), text, settings.window))


def build_corpus(
    source_path: Path,
    out: Path,
    settings: BuildSettings | None = None,
    *,
    processes: int | None = None,
    restart: bool = False,
    told: Told = lambda _done, _total, _passages: None,
) -> Built:
    """Build the corpus of ``source_path`` into the folder ``out``.

    ``processes`` clean at once, as many as there are cores where None. A build that was stopped
    is gone on with; ``restart`` begins anew. Raises SettingsError where ``out`` holds a corpus or
    the beginning of another build.
    """
    how = settings or BuildSettings()
    source = Source(source_path, how.source)
    state = {
        "source": source.fingerprint(),
        "settings": orjson.loads(orjson.dumps(_plain(how))),
        "version": __version__,
    }
    work = out / "parts"
    journal = _Journal(out, work, state, restart)
    known = journal.done
    total = source.total
    counts: Counter[str] = Counter()
    account = Account()
    for done in known.values():
        counts.update(done)
    for rows in journal.templates.values():
        account.add(rows)
    resumed = len(known)
    told(0, total, counts["passages"])

    def finished(done: _Done) -> None:
        journal.write(done)
        counts.update(done.counts)
        account.add(done.templates)
        told(source.done, total, counts["passages"])

    first = 0
    while first in known:
        first += 1
    skip = sum(known[number]["read"] for number in range(first))
    if source.single_documents:  # other sources are read again from their beginning
        for number in range(first):
            source.recall(*journal.faults.get(number, ((), 0)))
    batches = (
        (number, batch)
        for number, batch in _batches(source, skip, first, journal.faults)
        if number not in known
    )
    workers = Workers(partial(_work, work, how), processes or usable_cores(), how.page_seconds)

    def too_slow(number: int, page: Item) -> None:
        name = page.id if isinstance(page, Document) else ""
        journal.slow[number].append(
            Fault(
                str(source_path),
                0,
                None,
                f"The page {name!r} takes more than {how.page_seconds:g} seconds to read.",
                "It was left out. Give it more time (--page-seconds) or mend its markup.",
            )
        )

    for batch_done in workers.run(batches, too_slow):
        finished(batch_done)
    twice = _finish(out, work, len(journal.done), how.layout)
    for key in ("documents", "passages", "words"):
        counts[key] -= twice[key]
    counts["twice"] = twice["documents"]
    faults = [*source.faults, *(fault for slow in journal.slow.values() for fault in slow)]
    templates = account.rows
    manifest = {
        "assay": __version__,
        "source": source_path.name,
        "settings": state["settings"],
        "counts": dict(sorted(counts.items())),
        "templates": [row._asdict() for row in templates[:MOST_TEMPLATES]],
        "more_templates": max(0, len(templates) - MOST_TEMPLATES),
        "faults": len(faults) + source.more_faults,
    }
    journal.clear(manifest)
    told(total, total, counts["passages"])
    return Built(dict(counts), tuple(faults), source.more_faults, resumed, tuple(templates))


def _plain(settings: BuildSettings) -> dict[str, Any]:
    found = asdict(settings)
    found["window"] = settings.window._asdict()
    return found


class _Journal:
    """What of a build is done, in ``parts/journal.jsonl`` of the folder."""

    def __init__(self, out: Path, work: Path, state: Mapping[str, Any], restart: bool) -> None:
        self.out = out
        self.work = work
        self.path = work / "journal.jsonl"
        self.done: dict[int, dict[str, int]] = {}
        self.templates: dict[int, list[Sequence[str | int]]] = {}
        self.faults: dict[int, BatchFaults] = {}  # only of batches that have some
        self.slow: defaultdict[int, list[Fault]] = defaultdict(list)
        ours = self.path.is_file() or (out / MANIFEST).is_file()
        there = [*out.iterdir()] if out.is_dir() else []
        begun = {self.path.with_name(f".{self.path.name}.fresh")}  # killed at its very start
        if there and not ours and (there != [work] or {*work.iterdir()} - begun):
            # Nothing of somebody else's is ever removed, --restart or not.
            raise SettingsError(f"{out} is not empty. Give a new or empty folder.")
        if not restart and (out / MANIFEST).is_file():
            raise SettingsError(
                f"{out} holds a corpus already. Give another folder, or --restart to replace it."
            )
        if self.path.is_file() and not restart:
            self._resume(state)
            return
        _remove(work)
        work.mkdir(parents=True, exist_ok=True)
        write_whole(self.path, orjson.dumps(state) + b"\n")

    def _resume(self, state: Mapping[str, Any]) -> None:
        head, *lines = self.path.read_bytes().split(b"\n")
        if head != orjson.dumps(state):
            raise SettingsError(
                f"{self.out} holds the beginning of another build (other settings, or the source "
                "has changed). Give the settings of that one, or --restart."
            )
        for each in lines:
            try:
                row = orjson.loads(each)
            except orjson.JSONDecodeError:
                continue  # the last line of a build that was killed while it wrote
            if _part(self.work, row["number"]).is_file():
                self.done[row["number"]] = row["counts"]
                self.templates[row["number"]] = row["templates"]
                if row.get("faults"):
                    faults = tuple(Fault(**fault) for fault in row["faults"])
                    self.faults[row["number"]] = faults, row["more_faults"]
                for fault in row["slow"]:
                    self.slow[row["number"]].append(Fault(**fault))
        with self.path.open("ab") as stream:
            stream.write(b"\n")

    def write(self, done: _Done) -> None:
        self.done[done.number] = done.counts
        with self.path.open("ab") as stream:
            faults, more = self.faults.get(done.number, ((), 0))
            row = {**done._asdict(), "faults": faults, "more_faults": more}
            row["slow"] = self.slow.get(done.number, ())
            stream.write(orjson.dumps(row) + b"\n")

    def clear(self, manifest: Mapping[str, Any]) -> None:
        """Everything is in the corpus: the manifest says so, the parts go."""
        data = orjson.dumps(manifest, option=orjson.OPT_INDENT_2) + b"\n"
        write_whole(self.out / MANIFEST, data)
        _remove(self.work)


def _batches(
    source: Source, skip: int, first: int, faults: dict[int, BatchFaults]
) -> Iterator[tuple[int, list[Item]]]:
    """The source in batches, numbered from ``first``; the same source gives the same batches.
    The faults found while a batch was read are put into ``faults`` before it is given."""
    batch: list[Item] = []
    size = 0
    number = first
    kept, more = len(source.faults), source.more_faults
    for item in source.items(skip):
        batch.append(item)
        size += len(item.text) if isinstance(item, Document) else 0
        if len(batch) >= _BATCH_DOCUMENTS or size >= _BATCH_CHARS:
            if len(source.faults) > kept or source.more_faults > more:
                faults[number] = tuple(source.faults[kept:]), source.more_faults - more
                kept, more = len(source.faults), source.more_faults
            yield number, batch
            batch, size, number = [], 0, number + 1
    if batch:
        yield number, batch


def _work(
    work: Path,
    how: BuildSettings,
    number: int,
    batch: Sequence[Item],
    too_slow: Collection[int],
    begin: Begin,
) -> _Done:
    """Clean a batch and write its part."""
    counts: Counter[str] = Counter(read=len(batch))
    account = Account()
    lines: list[bytes] = []
    for position, item in enumerate(batch):
        begin(position)
        if position in too_slow:
            counts["slow"] += 1
            continue
        if not isinstance(item, Document):
            counts[item.why] += 1
            continue
        if item.kind is Kind.WIKITEXT and not how.disambiguations and is_disambiguation(item.text):
            counts["disambiguation"] += 1
            continue
        made = document_passages(item, how, account)
        counts["documents" if made else "empty"] += 1
        counts["passages"] += len(made)
        counts["words"] += sum(passage.words - passage.overlap for passage in made)
        lines.extend(map(line, made))
    target = _part(work, number)
    fresh = target.with_name(f".{target.name}.part")
    fresh.write_bytes(b"".join(lines))
    fresh.replace(target)
    return _Done(number, dict(counts), [(*row,) for row in account.rows])


def _part(work: Path, number: int) -> Path:
    return work / f"{number:07d}.jsonl"


def _remove(work: Path) -> None:
    if work.is_dir():
        for path in work.iterdir():
            if _PART.fullmatch(path.name):
                path.unlink()
        if not any(work.iterdir()):
            work.rmdir()


def _finish(out: Path, work: Path, parts: int, layout: Layout) -> Counter[str]:
    """Make the corpus from its parts and count what was left out: of documents with one id the
    first is kept. (Segments are passages already: theirs are all kept.)"""
    for old in (PASSAGES, f"{PASSAGES}.gz", "passages.parquet", DOCUMENTS, MANIFEST):
        (out / old).unlink(missing_ok=True)
    for path in (out / "documents").glob("*.json.gz"):
        path.unlink()
    twice: Counter[str] = Counter()
    index = Documents.fresh(out)
    blocks = _unique(work, parts, index, twice)
    if layout is Layout.JSONL:
        fresh = out / f".{PASSAGES}.part"
        with fresh.open("wb") as stream:
            for block in blocks:
                stream.write(block)
        fresh.replace(out / PASSAGES)
        index.finish(out)
    else:
        rows = (from_line(each) for block in blocks for each in block.splitlines())
        write_passages(rows, out, layout)
        index.discard(out)
    return twice


def _unique(work: Path, parts: int, index: Documents, twice: Counter[str]) -> Iterator[bytes]:
    """The lines of each document, but for those whose id was there before."""
    at = 0
    for doc, group in groupby(_part_lines(work, parts), key=lambda each: each[0]["doc"]):
        rows = list(group)
        first = rows[0][0]
        fresh = index.add(doc, first["title"], at, sum(len(data) for _, data in rows))
        if not fresh and first["id"] == f"{doc}#{first['number']}":
            twice["documents"] += 1
            twice["passages"] += len(rows)
            twice["words"] += sum(row["words"] - row["overlap"] for row, _ in rows)
            continue
        block = b"".join(data for _, data in rows)
        at += len(block)
        yield block


def _part_lines(work: Path, parts: int) -> Iterator[tuple[dict[str, Any], bytes]]:
    for number in range(parts):
        with _part(work, number).open("rb") as stream:
            for data in stream:
                yield orjson.loads(data), data
