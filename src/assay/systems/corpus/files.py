"""The files of a source: their formats by name, and the ids of their documents."""

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
    """The format of a source; ``auto`` detects it from names and first bytes."""

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
"""Formats with one document per file."""


def format_of(path: Path) -> SourceFormat:
    """A file's format by its name. Raises SettingsError if the name does not tell."""
    found = ENDINGS.get(_ending(path.name))
    if found is None:
        raise SettingsError(
            f"{path}: its format cannot be recognised from its name. Give it with --format "
            f"{'|'.join(each for each in SourceFormat if each != 'auto')}."
        )
    return found


def made_id(name: str) -> str:
    """An id, from a page's title or a file's name, that is valid in runs of any format: no white
    space, no semicolon, and in NFC."""
    return "_".join(unicodedata.normalize("NFC", name).split()).replace(";", "%3B")


def bare_name(name: str) -> str:
    """A file's name without the extension that gives its format."""
    bare, ending = os.path.splitext(_unpacked(name))
    return bare if ending.lower() in ENDINGS else _unpacked(name)


def _unpacked(name: str) -> str:
    for ending in PACKED:
        name = name.removesuffix(ending)
    return name


def files_in(folder: Path, below: str = "") -> Iterator[str]:
    """Names of the files in ``folder``, sorted folder by folder. Raises SettingsError if a link
    leads outside, or to a folder that contains it."""
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
    """Whether a file may hold documents, by its extension."""
    return _ending(name) in ENDINGS


def _ending(name: str) -> str:
    return os.path.splitext(_unpacked(name.lower()))[1]
