"""A corpus that was built before: what of it stays when its source has grown or changed."""

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
"""Begins the line of a part that says what the passages after it were made of."""


class Stays(NamedTuple):
    """A document that is as it was: its passages as lines, and what became of its templates."""

    id: str
    source: str
    templates: list[tuple[str, str, int, int]]
    lines: bytes


class Updated(NamedTuple):
    """Documents that came, were made anew, stayed as they were, and went."""

    new: int
    changed: int
    same: int
    gone: int


def fingerprint(document: Document) -> str:
    """Changes when a document does."""
    parts = (document.kind, document.id, document.title, document.text)
    text = "\0".join((*parts, *map(repr, document.dropped)))
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()


def heading(source: str, templates: object) -> bytes:
    """The line before a document's passages in a part."""
    return HEAD + orjson.dumps([source, templates]) + b"\n"


class Former:
    """The corpus that is in a folder before an update."""

    def __init__(self, folder: Path, settings: object, version: str) -> None:
        """Raises SettingsError where it was made with other settings, by another version, or in a
        layout without look-up."""
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
        """``item``, or what was made of it before where it has not changed."""
        if not isinstance(item, Document) or item.kind is TextKind.SEGMENT:
            return item
        source = fingerprint(item)
        found = self.documents.made_of(item.id, source)
        return item if found is None else Stays(item.id, source, *found)

    def done(self) -> dict[str, str]:
        """All ids with the fingerprints of what the documents were made of. The corpus is closed:
        Windows replaces no file that is open."""
        with closing(self.documents):
            return dict(self.documents.sources())


def updated(before: dict[str, str], folder: Path) -> Updated:
    """What an update did, of the sources of the documents before it and the corpus after it."""
    new = changed = same = 0
    with closing(Documents(folder)) as documents:
        for doc, source in documents.sources():
            was = before.get(doc)
            new += was is None
            same += was == source
            changed += was not in (None, source)
    return Updated(new, changed, same, len(before) - changed - same)
