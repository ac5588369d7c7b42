"""Building a corpus from a source: streaming, on all cores, and resumable after a kill.

One process reads the source and divides it into batches. Others clean the batches and write a part
file each, which gets its name only when complete; a line in the journal then marks it as done. When
all are done, the parts become the corpus. A stopped build resumes from its journal and produces the
same bytes.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import orjson

from assay.labellers.gguf import usable_cores
from assay.model.errors import Fault
from assay.model.progress import ProgressCallback, fraction_done, no_progress
from assay.model.version import __version__
from assay.model.words import word_spans
from assay.systems.alone import alone
from assay.systems.corpus.accounting import Account, Became, Fate
from assay.systems.corpus.documents import Document, Item, Source, SourceSettings, TextKind
from assay.systems.corpus.journal import BatchFaults, DoneBatch, Journal, part_file
from assay.systems.corpus.markup import plain
from assay.systems.corpus.passages import CutPassage, WordWindow, passages
from assay.systems.corpus.store import (
    DOCUMENTS,
    MANIFEST,
    PASSAGES,
    Documents,
    Layout,
    from_line,
    line,
    write_passages,
)
from assay.systems.corpus.updating import (
    HEAD,
    Former,
    Stays,
    Updated,
    fingerprint,
    heading,
    updated,
)
from assay.systems.corpus.wikitext import CleanSettings, clean, is_disambiguation
from assay.systems.corpus.workers import Begin, Workers

_BATCH_DOCUMENTS = 200
_BATCH_CHARS = 2_000_000
MOST_TEMPLATES = 1000
"""Kinds of templates listed in the manifest, those that lost most words first."""


@dataclass(frozen=True, slots=True)
class BuildSettings:
    """How a corpus is built. ``disambiguations``: keep pages that list the meanings of a name.
    ``page_seconds``: pages that take longer are left out and reported."""

    source: SourceSettings = field(default_factory=SourceSettings)
    clean: CleanSettings = field(default_factory=CleanSettings)
    window: WordWindow = field(default_factory=WordWindow)
    layout: Layout = Layout.JSONL
    disambiguations: bool = False
    page_seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class Built:
    """The result of a build. ``counts`` holds documents, passages, words and what was left out:
    redirects, other namespaces, disambiguations, empty pages, pages that took too long, unreadable
    files, files of other kinds, duplicate ids. ``templates`` counts what happened to templates in
    wikitext, ``updated`` what an update changed."""

    counts: Mapping[str, int]
    faults: tuple[Fault, ...]
    more_faults: int
    resumed: int
    templates: tuple[Became, ...] = ()
    updated: Updated | None = None


def document_text(
    document: Document, settings: CleanSettings, account: Account | None = None
) -> str:
    """The clean text of a document; that of a wiki page begins with its title. ``account`` records
    its templates, and a web page's frame."""
    if document.kind is not TextKind.WIKITEXT:
        if account is not None:
            for name, lost in document.dropped:
                account.note(name, Fate.DROPPED, 1, lost)
        return plain(document.text)
    text = clean(document.text, document.title, settings, account)
    if not text:
        return ""
    return f"{plain(document.title)}\n\n{text}" if document.title else text


def document_passages(
    document: Document, settings: BuildSettings, account: Account | None = None
) -> list[CutPassage]:
    """The passages of a document. A segment is one passage, unchanged."""
    text = document_text(document, settings.clean, account)
    if document.kind is TextKind.SEGMENT:
        whole = CutPassage(
            document.segment, document.id, document.title, 0, text, len(word_spans(text)), 0, 0
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
    update: bool = False,
    progress: ProgressCallback = no_progress,
) -> Built:
    """Build the corpus of ``source_path`` into the folder ``out``.

    ``processes`` is the number of worker processes (None: one for each core). A stopped build is
    resumed, or with ``restart`` begun again. ``update`` rebuilds only documents of the corpus in
    ``out`` that are new or changed, and drops those that are gone, with the same result as a full
    build. Raises SettingsError if ``out`` holds a corpus or an unfinished other build, or if
    another process is building there.
    """
    how = settings or BuildSettings()
    source = Source(source_path, how.source)
    with alone(out):
        state = {
            "source": source.fingerprint(),
            "settings": orjson.loads(orjson.dumps(_plain(how))),
            "version": __version__,
        }
        former = None
        if update and (out / MANIFEST).is_file():
            # The build rests on it from now on.
            state["updates"] = hashlib.sha256((out / MANIFEST).read_bytes()).hexdigest()
            former = Former(out, state["settings"], state["version"])
        workdir = out / "parts"
        journal = Journal(out, workdir, state, restart=restart, update=update)
        known = journal.done
        total = source.total
        counts: Counter[str] = Counter()
        account = Account()
        for done in known.values():
            counts.update(done)
        for rows in journal.templates.values():
            account.add(rows)
        resumed = len(known)

        def tell(done: int) -> None:
            progress("passages made", counts["passages"], fraction_done(done, total))

        tell(0)
        first = 0
        while first in known:
            first += 1
        skip = sum(known[number]["read"] for number in range(first))
        if source.single_documents:  # other sources are read again from their beginning
            for number in range(first):
                source.recall(*journal.faults.get(number, ((), 0)))
        batches = (
            (number, [former.stays(item) for item in batch] if former else batch)
            for number, batch in _batches(source, skip, first, journal.faults)
            if number not in known
        )
        workers = Workers(
            partial(_build_pages, workdir, how), processes or usable_cores(), how.page_seconds
        )

        def too_slow(number: int, page: Item | Stays) -> None:
            name = page.id if isinstance(page, Document) else ""
            journal.slow[number].append(
                Fault(
                    str(source.path),
                    0,
                    None,
                    f"The page {name!r} takes more than {how.page_seconds:g} seconds to read.",
                    "It was left out. Give it more time (--page-seconds) or fix its markup.",
                )
            )

        for batch_done in workers.run(batches, too_slow):
            journal.write(batch_done)
            counts.update(batch_done.counts)
            account.add(batch_done.templates)
            tell(source.done)
        before = None if former is None else former.done()
        twice = _finish(out, workdir, len(journal.done), how.layout)
        for key in ("documents", "passages", "words"):
            counts[key] -= twice[key]
        counts["twice"] = twice["documents"]
        if source.of_other_kinds:
            counts["other_kind"] = source.of_other_kinds
        faults = [*source.faults, *(fault for slow in journal.slow.values() for fault in slow)]
        templates = account.rows
        manifest = {
            "assay": __version__,
            "source": source.path.name,
            "settings": state["settings"],
            "counts": dict(sorted(counts.items())),
            "templates": [row._asdict() for row in templates[:MOST_TEMPLATES]],
            "more_templates": max(0, len(templates) - MOST_TEMPLATES),
            "faults": len(faults) + source.more_faults,
        }
        journal.clear(manifest)
        tell(total)
        return Built(
            dict(counts),
            tuple(faults),
            source.more_faults,
            resumed,
            tuple(templates),
            None if before is None else updated(before, out),
        )


def _plain(settings: BuildSettings) -> dict[str, Any]:
    found = asdict(settings)
    found["window"] = settings.window._asdict()
    return found


def _batches(
    source: Source, skip: int, first: int, faults: dict[int, BatchFaults]
) -> Iterator[tuple[int, list[Item]]]:
    """The source in batches, numbered from ``first``; the same source gives the same batches.
    Faults found while reading a batch are put into ``faults`` before it is yielded."""
    batch: list[Item] = []
    size = 0
    number = first
    shown, more = len(source.faults), source.more_faults
    for item in source.items(skip):
        batch.append(item)
        size += len(item.text) if isinstance(item, Document) else 0
        if len(batch) >= _BATCH_DOCUMENTS or size >= _BATCH_CHARS:
            if len(source.faults) > shown or source.more_faults > more:
                faults[number] = tuple(source.faults[shown:]), source.more_faults - more
                shown, more = len(source.faults), source.more_faults
            yield number, batch
            batch, size, number = [], 0, number + 1
    if batch:
        yield number, batch


def _build_pages(
    workdir: Path,
    how: BuildSettings,
    number: int,
    batch: Sequence[Item | Stays],
    too_slow: Collection[int],
    begin: Begin,
) -> DoneBatch:
    """Clean a batch and write its part."""
    counts: Counter[str] = Counter(read=len(batch))
    account = Account()
    lines: list[bytes] = []
    for position, item in enumerate(batch):
        begin(position)
        if position in too_slow:
            counts["slow"] += 1
            continue
        if isinstance(item, Stays):
            lines += [heading(item.source, item.templates), item.lines]
            made = [from_line(each) for each in item.lines.splitlines()]
            account.add(item.templates)
        elif not isinstance(item, Document):
            counts[item.why] += 1
            continue
        elif (
            item.kind is TextKind.WIKITEXT
            and not how.disambiguations
            and is_disambiguation(item.text)
        ):
            counts["disambiguation"] += 1
            continue
        else:
            own = Account()
            made = document_passages(item, how, own)
            account.add(own.rows)
            if item.kind is not TextKind.SEGMENT:
                lines.append(heading(fingerprint(item), [(*row,) for row in own.rows]))
            lines += map(line, made)
        counts["documents" if made else "empty"] += 1
        counts["passages"] += len(made)
        counts["words"] += sum(passage.words - passage.overlap for passage in made)
    target = part_file(workdir, number)
    fresh = target.with_name(f".{target.name}.part")
    fresh.write_bytes(b"".join(lines))
    fresh.replace(target)
    return DoneBatch(number, dict(counts), [(*row,) for row in account.rows])


def _finish(out: Path, workdir: Path, parts: int, layout: Layout) -> Counter[str]:
    """Make the corpus from its parts and count what was left out. Of documents with the same id the
    first is kept, but all segments are. An old corpus stays until the new one is complete."""
    # Whoever is stopped from here on goes on from the parts, which are all there.
    for path in (out / "documents").glob("*.json.gz"):
        path.unlink()
    twice: Counter[str] = Counter()
    index = Documents.fresh(out)
    blocks = _unique(workdir, parts, index, twice)
    if layout is Layout.JSONL:
        fresh = out / f".{PASSAGES}.part"
        with fresh.open("wb") as stream:
            for block in blocks:
                stream.write(block)
            size = stream.tell()
        fresh.replace(out / PASSAGES)
        index.finish(out, size)
        made = {PASSAGES, DOCUMENTS}
    else:
        rows = (from_line(each) for block in blocks for each in block.splitlines())
        write_passages(rows, out, layout)
        index.discard(out)
        made = {f"passages.{layout}"}
    for old in {PASSAGES, f"{PASSAGES}.gz", "passages.parquet", DOCUMENTS} - made:
        (out / old).unlink(missing_ok=True)
    return twice


def _unique(workdir: Path, parts: int, index: Documents, twice: Counter[str]) -> Iterator[bytes]:
    """The lines of each document whose id has not occurred before."""
    at = 0
    for (head, doc, _), group in groupby(_part_lines(workdir, parts), key=lambda each: each[:3]):
        rows = [(orjson.loads(data), data) for *_, data in group]
        first = rows[0][0]
        source, templates = orjson.loads(head) if head else ("", [])
        size = sum(len(data) for _, data in rows)
        fresh = index.add(doc, first["title"], at, size, source, orjson.dumps(templates))
        # By its id: segments come with ids of their own.
        if not fresh and first["id"] == f"{doc}#{first['number']}":
            twice["documents"] += 1
            twice["passages"] += len(rows)
            twice["words"] += sum(row["words"] - row["overlap"] for row, _ in rows)
            continue
        block = b"".join(data for _, data in rows)
        at += len(block)
        yield block


def _part_lines(workdir: Path, parts: int) -> Iterator[tuple[bytes, str, int, bytes]]:
    """Each passage's heading line, document, number of documents so far, and line."""
    begun, last = 0, ("", "")
    for number in range(parts):
        head = b""
        with part_file(workdir, number).open("rb") as stream:
            for data in stream:
                if data.startswith(HEAD):
                    head = data[1:]
                else:
                    row = orjson.loads(data)
                    if row["doc"] != last[0] or row["id"] == last[1]:
                        begun, last = begun + 1, (row["doc"], row["id"])
                    yield head, row["doc"], begun, data
