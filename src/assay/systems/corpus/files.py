"""The files of a source: what they hold by their names, and what their documents are called."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

from assay.model.errors import SettingsError
from assay.model.paths import path_inside
from assay.systems.corpus.packed import PACKED


class SourceFormat(StrEnum):
    """What a source holds; ``auto`` looks at names and first bytes."""

    AUTO = "auto"
    MEDIAWIKI = "mediawiki"
    WIKITEXT = "wikitext"
    JSONL = "jsonl"
    TSV = "tsv"
    CSV = "csv"
    PARQUET = "parquet"
    HTML = "html"
    PDF = "pdf"
    MARKDOWN = "markdown"


ENDINGS = {
    ".xml": SourceFormat.MEDIAWIKI,
    ".wikitext": SourceFormat.WIKITEXT,
    ".mediawiki": SourceFormat.WIKITEXT,
    ".wiki": SourceFormat.WIKITEXT,
    ".jsonl": SourceFormat.JSONL,
    ".ndjson": SourceFormat.JSONL,
    ".json": SourceFormat.JSONL,
    ".tsv": SourceFormat.TSV,
    ".csv": SourceFormat.CSV,
    ".parquet": SourceFormat.PARQUET,
    ".html": SourceFormat.HTML,
    ".htm": SourceFormat.HTML,
    ".pdf": SourceFormat.PDF,
    ".md": SourceFormat.MARKDOWN,
    ".markdown": SourceFormat.MARKDOWN,
}
PAGES = frozenset((SourceFormat.HTML, SourceFormat.PDF, SourceFormat.MARKDOWN))
ONE_EACH = PAGES | {SourceFormat.WIKITEXT}
"""Formats whose files hold one document each."""


def format_of(path: Path) -> SourceFormat:
    """What a file holds by its name. Raises SettingsError where that does not tell."""
    found = ENDINGS.get(_ending(path.name))
    if found is None:
        raise SettingsError(
            f"{path}: its format cannot be recognised from its name. Give it with --format "
            f"{'|'.join(each for each in SourceFormat if each != 'auto')}."
        )
    return found


def made_id(name: str) -> str:
    """An id from a page's title or a file's name that can stand in runs of any format: no white
    space, no semicolon, and NFC, as ids are compared."""
    return "_".join(unicodedata.normalize("NFC", name).split()).replace(";", "%3B")


def bare_name(name: str) -> str:
    """A file's name without the ending that says what it holds."""
    bare, ending = os.path.splitext(_unpacked(name))
    return bare if ending.lower() in ENDINGS else _unpacked(name)


def _unpacked(name: str) -> str:
    for ending in PACKED:
        name = name.removesuffix(ending)
    return name


def files_in(folder: Path, below: str = "") -> Iterator[str]:
    """Names of the files in ``folder``, folder by folder in order. Raises SettingsError where a
    link leads to what lies elsewhere, or to a folder that holds it."""
    with os.scandir(folder / below) as entries:
        found = sorted(
            (entry.name, entry.is_dir(), entry.is_symlink())
            for entry in entries
            if entry.name[0] != "."
        )
    for name, is_folder, is_link in found:
        path = f"{below}/{name}" if below else name
        if is_link:
            real = path_inside(folder, path, "The source").resolve()
            if (folder / path).absolute().is_relative_to(real):
                raise SettingsError(
                    f"{folder / path} is a link to a folder that holds it. Remove it."
                )
        if is_folder:
            yield from files_in(folder, path)
        else:
            yield path


def is_read(name: str) -> bool:
    """Whether a file may hold documents, by its ending."""
    return _ending(name) in ENDINGS


def _ending(name: str) -> str:
    return os.path.splitext(_unpacked(name.lower()))[1]
