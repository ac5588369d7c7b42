"""An index on the disk: BM25, and vectors where wanted."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from assay.model.errors import SettingsError
from assay.model.version import __version__
from assay.systems.corpus.passages import Passage
from assay.systems.corpus.store import read_passages, write_whole
from assay.systems.damage import read_about, told_of_damage
from assay.systems.retrieval.analysis import Analysis
from assay.systems.retrieval.bm25 import BM25Index, BM25Writer, indexed_text
from assay.systems.retrieval.dense import ABOUT as DENSE
from assay.systems.retrieval.dense import ANN_ABOVE, DenseIndex, build_dense
from assay.systems.retrieval.embedders import make_embedder

ABOUT = "index.json"

_LEDGER = ("labels.sqlite", "labels.sqlite-shm", "labels.sqlite-wal")
_OURS = {".bm25.part", "bm25", f".{ABOUT}.fresh", *_LEDGER}

Told = Callable[[str, int], None]
"""Told what is being built and how many passages are done."""


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """``title``: index a passage's title with its text. ``dense``: an embedder's SPEC, None for
    BM25 alone. ``ann_above``: passages from which on vectors are put into cells, 0 for
    never.
    ``megabytes``: memory for building the BM25 index."""

    analysis: Analysis = field(default_factory=Analysis)
    title: bool = True
    dense: str | None = None
    ann_above: int = ANN_ABOVE
    megabytes: int = 256


def build_index(
    corpus: Path,
    folder: Path,
    settings: IndexSettings | None = None,
    *,
    restart: bool = False,
    told: Told = lambda _what, _done: None,
) -> int:
    """Build the index of ``corpus`` in ``folder`` and return the number of passages.

    A BM25 index that is there already, of the same passages and settings, is kept: vectors can be
    added later, and embedding goes on where it was stopped. Raises SettingsError where ``folder``
    holds something else, or an index of other passages or settings (unless ``restart``).
    """
    how = settings or IndexSettings()
    embedder = None if how.dense is None else make_embedder(how.dense)
    if how.megabytes < 16:
        raise SettingsError("Building needs at least 16 MB: --memory 16.")
    about: dict[str, Any] = {
        "assay": __version__,
        "corpus": corpus.resolve().name,
        "analysis": asdict(how.analysis),
        "title": how.title,
    }
    path = folder / ABOUT
    if restart and path.is_file():
        # The ledger stays: what models said of these passages was paid for.
        (folder / "dense" / DENSE).unlink(missing_ok=True)
        shutil.rmtree(folder / "dense", ignore_errors=True)
        path.unlink()
        shutil.rmtree(folder / "bm25", ignore_errors=True)
    known = read_about(path, {}, _CURE) if path.is_file() else None
    if known is None:
        if folder.is_dir() and {entry.name for entry in folder.iterdir()} - _OURS:
            raise SettingsError(f"{folder} is not empty and holds no index. Give a new folder.")
        about["passages"], about["content"] = _build_bm25(corpus, folder, how, told)
        write_whole(path, orjson.dumps(about, option=orjson.OPT_INDENT_2) + b"\n")
    else:
        if any(known.get(key) != about[key] for key in ("analysis", "title")):
            raise SettingsError(
                f"{folder} holds an index of other settings. Give another folder, or --restart to "
                "replace it."
            )
        about["passages"], about["content"] = _content(corpus, told)
        if known.get("content") != about["content"]:
            raise SettingsError(
                f"{folder} holds an index of other passages: {known.get('passages')} that are not "
                f"the {about['passages']} of {corpus}. Give another folder, or --restart to "
                "replace it."
            )
    count = int(about["passages"])
    if embedder is not None:
        build_dense(
            folder / "dense",
            embedder,
            (indexed_text(passage, title=how.title) for passage in read_passages(corpus)),
            ann_above=how.ann_above or count + 1,
            told=lambda done: told("vectors", done),
        )
    return count


class _Digest:
    """Passages as one hash: an index holds just these or others."""

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=16)
        self.count = 0

    def add(self, passage: Passage) -> None:
        text = f"{passage.id}\0{passage.doc}\0{passage.title}\0{passage.text}\0"
        self._hash.update(text.encode("utf-8", "replace"))
        self.count += 1

    @property
    def found(self) -> tuple[int, str]:
        """How many passages there are, and their hash."""
        return self.count, self._hash.hexdigest()


def _content(corpus: Path, told: Told) -> tuple[int, str]:
    digest = _Digest()
    for passage in read_passages(corpus):
        digest.add(passage)
        if digest.count % 500 == 0:
            told("compared", digest.count)
    return digest.found


def _build_bm25(corpus: Path, folder: Path, how: IndexSettings, told: Told) -> tuple[int, str]:
    part = folder / ".bm25.part"
    for left in (part, folder / "bm25"):  # of a build that was killed
        shutil.rmtree(left, ignore_errors=True)
    writer = BM25Writer(part, how.analysis, title=how.title, megabytes=how.megabytes)
    digest = _Digest()
    for passage in read_passages(corpus):
        writer.add(passage)
        digest.add(passage)
        if len(writer) % 500 == 0:
            told("BM25", len(writer))
    writer.finish()
    told("BM25", len(writer))
    part.replace(folder / "bm25")
    return digest.found


_ABOUT = {"analysis": dict, "title": bool, "passages": int}
_CURE = "Build the index again: assay index build --restart"


class Index:
    """An index that was built. Raises SettingsError where ``folder`` holds none."""

    def __init__(self, folder: Path) -> None:
        path = folder / ABOUT
        if not path.is_file():
            raise SettingsError(f"{folder} holds no index. Make one with: assay index build")
        self.folder = folder
        self.about = read_about(path, _ABOUT, _CURE)
        with told_of_damage(path, _CURE):
            analysis = Analysis(**self.about["analysis"])
        self.bm25 = BM25Index(folder / "bm25", analysis, title=self.about["title"])
        if len(self) != self.about["passages"]:
            raise SettingsError(
                f"{folder} holds {len(self)} passages, and {path} says {self.about['passages']}. "
                f"{_CURE}"
            )

    def __len__(self) -> int:
        return len(self.bm25)

    @cached_property
    def dense(self) -> DenseIndex:
        """The vectors; raises SettingsError where there are none."""
        found = DenseIndex(self.folder / "dense")
        if len(found) != len(self):
            raise SettingsError(
                f"{self.folder} holds {len(self)} passages and {len(found)} vectors. {_CURE}"
            )
        return found

    def passage(self, number: int) -> Passage:
        """The passage with this number."""
        return self.bm25.passage(number)
