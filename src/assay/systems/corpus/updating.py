"""Updating a corpus whose source has grown or changed: finding the documents that can stay."""

from __future__ import annotations

import hashlib
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import orjson

from assay.model.errors import SettingsError
from assay.systems.corpus.documents import Document, Item, TextKind
from assay.systems.corpus.store import DOCUMENTS, MANIFEST, Documents

HEAD = b"\x1e"
"""Starts a part's heading line, which identifies the source of the passages after it."""


class Stays(NamedTuple):
    """An unchanged document: its passages as lines, and what happened to its templates."""

    id: str
    source: str
    templates: list[tuple[str, str, int, int]]
    lines: bytes


class Updated(NamedTuple):
    """The numbers of documents that were added, changed, unchanged and removed."""

    new: int
    changed: int
    same: int
    gone: int


def fingerprint(document: Document) -> str:
    """A hash that changes when a document does."""
    parts = (document.kind, document.id, document.title, document.text)
    text = "\0".join((*parts, *map(repr, document.dropped)))
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()


def heading(source: str, templates: object) -> bytes:
    """The heading line before a document's passages in a part."""
    return HEAD + orjson.dumps([source, templates]) + b"\n"


class Former:
    """The corpus that is in a folder before an update."""

    def __init__(self, folder: Path, settings: object, version: str) -> None:
        """Raises SettingsError if it was built with other settings, by another version, or in a
        layout without an index."""
        about = orjson.loads((folder / MANIFEST).read_bytes())
        if (about.get("settings"), about.get("assay")) != (settings, version):
            raise SettingsError(
                f"{folder} holds a corpus with other settings, or by another version of Assay. "
                "Use the settings of that corpus, or --restart."
            )
        if not (folder / DOCUMENTS).is_file():
            raise SettingsError(
                "Only a corpus with the layout jsonl can be updated. Use --restart."
            )
        self.documents = Documents(folder, half_updated=True)

    def stays(self, item: Item) -> Item | Stays:
        """``item``, or its earlier passages if it has not changed."""
        if not isinstance(item, Document) or item.kind is TextKind.SEGMENT:
            return item
        source = fingerprint(item)
        found = self.documents.made_of(item.id, source)
        return item if found is None else Stays(item.id, source, *found)

    def done(self) -> dict[str, str]:
        """All document ids with their sources' fingerprints. Closes the corpus, as Windows cannot
        replace an open file."""
        with closing(self.documents):
            return dict(self.documents.sources())


def updated(before: dict[str, str], folder: Path) -> Updated:
    """The effect of an update, from the fingerprints before it and the corpus after it."""
    new = changed = same = 0
    with closing(Documents(folder)) as documents:
        for doc, source in documents.sources():
            was = before.get(doc)
            new += was is None
            same += was == source
            changed += was not in (None, source)
    return Updated(new, changed, same, len(before) - changed - same)
