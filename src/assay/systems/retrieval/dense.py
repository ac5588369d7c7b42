"""Vectors on disk: written as they are made, searched exactly or, if there are many, by cells.

``vectors.f16`` or ``vectors.int8`` holds one row per passage, in order. A stopped build resumes at
its last row.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from assay.model.errors import SettingsError
from assay.systems.corpus.store import write_whole
from assay.systems.damage import damage_reported, read_about
from assay.systems.retrieval.bm25 import Hit
from assay.systems.retrieval.cells import Cells, build_cells
from assay.systems.retrieval.embedders import Embedder, Vectors
from assay.systems.retrieval.stored import Packing, Precision, Rows

HASHES, ABOUT = "hashes.b16", "dense.json"
ANN_ABOVE = 200_000
"""Passages above which cells are built, since exact search reads every vector for every query."""

FEW = 4
"""Most simultaneous queries for which cells are used. With a million vectors, a query took 205 ms
of core time by cells, and 19 ms by exact search in a batch of 200 that share one reading."""

_FIRST = 8  # passages after which the total time is estimated
_HASH = 16  # bytes of a text's hash
_CHUNK = 32_768  # vectors multiplied at once


class KnownVectors(NamedTuple):
    """Existing vectors, by the hashes of their texts."""

    rows: dict[bytes, int]
    vectors: Rows
    size: int

    @classmethod
    def of(cls, folder: Path, embedder: str) -> KnownVectors | None:
        """The vectors in ``folder`` by ``embedder``, or None if it holds none with hashes."""
        if not (folder / ABOUT).is_file() or not (folder / HASHES).is_file():
            return None
        about = read_about(folder / ABOUT, _ABOUT, _CURE)
        if about["embedder"] != embedder or not about["rows"]:
            return None
        hashes = (folder / HASHES).read_bytes()
        rows = {hashes[at : at + _HASH]: at // _HASH for at in range(0, len(hashes), _HASH)}
        packing = _packing(about)
        return cls(rows, packing.rows(folder / _vectors(packing.form), about["rows"]), packing.size)


def build_dense(
    folder: Path,
    embedder: Embedder,
    texts: Iterable[str],
    *,
    known: KnownVectors | None = None,
    ann_above: int = ANN_ABOVE,
    form: Precision | None = None,
    progress: Callable[[int], None] = lambda _done: None,
) -> int:
    """Embed ``texts`` into ``folder`` and return their number.

    Existing vectors by the same embedder, also from a stopped build, and those in ``known`` are
    reused. ``form`` is the precision (None: that of existing vectors, else half precision). Raises
    SettingsError if existing vectors are by another embedder or in another form.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if (about := _known(folder / ABOUT, embedder.name, form)) is not None:
        done = int(about["rows"])
        if (0 < done >= ann_above) != about["cells"]:
            vectors = folder / _vectors(_packing(about).form)
            _finish(folder, vectors, {**about, "cells": 0 < done >= ann_above})
        progress(done)
        return done
    state = folder / f".{ABOUT}.part"
    begun = _known(state, embedder.name, form)
    packing = _packing(begun) if begun else Packing(form or Precision.F16, 0)
    whole = folder / _vectors(packing.form)
    part = folder / f".{whole.name}.part"
    if begun and not part.is_file() and whole.is_file():
        whole.replace(part)  # the build was killed just before the end
    hashes = folder / HASHES
    done = part.stat().st_size // packing.dtype.itemsize if begun and part.is_file() else 0
    done = min(done, hashes.stat().st_size // _HASH if hashes.is_file() else 0)
    waiting = iter(texts)
    for _ in islice(waiting, done):
        pass
    progress(done)
    about = {"embedder": embedder.name, "spec": embedder.spec, "size": packing.size}
    about["form"] = packing.form
    with part.open("r+b" if done else "wb") as out, hashes.open("r+b" if done else "wb") as names:
        # A build that was killed while writing may have left half a row.
        out.truncate(done * packing.dtype.itemsize)
        names.truncate(done * _HASH)
        out.seek(0, 2)
        names.seek(0, 2)
        wanted = min(_FIRST, embedder.at_once)
        while batch := list(islice(waiting, wanted)):
            marks = [_hash(text) for text in batch]
            rows = _embedded(embedder, batch, marks, known)
            wanted = embedder.at_once
            if not packing.size:
                packing = Packing(packing.form, rows.shape[1])
                about["size"] = packing.size
                write_whole(state, orjson.dumps(about))
            elif rows.shape[1] != packing.size:
                raise SettingsError(
                    f"{embedder.name} gave vectors of {rows.shape[1]} components instead of "
                    f"{packing.size}."
                )
            out.write(packing.packed(rows))
            names.write(b"".join(marks))
            out.flush()
            names.flush()
            done += len(batch)
            progress(done)
    _finish(folder, part, {**about, "rows": done, "cells": 0 < done >= ann_above})
    state.unlink(missing_ok=True)
    return done


def _embedded(
    embedder: Embedder,
    texts: list[str],
    marks: list[bytes],
    known: KnownVectors | None,
) -> Vectors:
    """One row per text, copied if known and embedded otherwise."""
    old = [None if known is None else known.rows.get(mark) for mark in marks]
    fresh = [place for place, row in enumerate(old) if row is None]
    if known is None or len(fresh) == len(texts):
        return embedder.passages(texts)
    rows = np.empty((len(texts), known.size), dtype=np.float32)
    if fresh:
        made = embedder.passages([texts[place] for place in fresh])
        if made.shape[1] != known.size:
            raise SettingsError(
                f"{embedder.name} gave vectors of {made.shape[1]} components, but the existing "
                f"ones have {known.size}: use --restart."
            )
        rows[fresh] = made
    known_places = [place for place, row in enumerate(old) if row is not None]
    rows[known_places] = known.vectors[[row for row in old if row is not None]]
    return rows


def _hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=_HASH).digest()


def _finish(folder: Path, vectors: Path, about: dict[str, Any]) -> None:
    """Build the cells, if there are enough vectors, and mark the folder as complete."""
    packing = _packing(about)
    if about["cells"]:
        build_cells(folder, packing.rows(vectors, about["rows"]))
    vectors.replace(folder / _vectors(packing.form))
    write_whole(folder / ABOUT, orjson.dumps(about, option=orjson.OPT_INDENT_2) + b"\n")


def _vectors(form: Precision) -> str:
    """The file of vectors in a folder."""
    return f"vectors.{form}"


def _packing(about: Mapping[str, Any]) -> Packing:
    """The storage format described by ``about``. Raises SettingsError for an unknown one."""
    form = about.get("form", Precision.F16)
    if form not in set(Precision):
        raise SettingsError(f"Vectors in {form!r} are from another version of Assay. {_CURE}")
    return Packing(Precision(form), int(about["size"]))


def _known(path: Path, name: str, form: Precision | None) -> dict[str, Any] | None:
    """The description in ``path`` of vectors by the embedder ``name`` (in ``form`` unless that is
    None), or None if there is none."""
    try:
        known: dict[str, Any] = orjson.loads(path.read_bytes())
        other = known["embedder"]
    except (FileNotFoundError, orjson.JSONDecodeError, KeyError, TypeError):
        return None
    if other != name:
        what = "vectors" if path.name == ABOUT else "unfinished vectors"
        raise SettingsError(
            f"{path.parent} holds {what} by {other}, not by {name}. Use that embedder, another "
            "folder, or --restart."
        )
    if form is not None and known.get("form", Precision.F16) != form:
        raise SettingsError(
            f"{path.parent} holds vectors in {known.get('form', Precision.F16)}, not in {form}. "
            "Leave out --vectors, or use --restart."
        )
    return known


_ABOUT = {"embedder": str, "rows": int, "size": int, "cells": bool}
_CURE = "Build the vectors again: assay index build --dense --restart"


class DenseIndex:
    """The vectors of an index; ``spec`` recreates the embedder that made them."""

    def __init__(self, folder: Path) -> None:
        """Open ``folder``; raises SettingsError if it holds no vectors."""
        path = folder / ABOUT
        if not path.is_file():
            raise SettingsError(
                "The index has no vectors. Build it with --dense, or use --method bm25."
            )
        about = read_about(path, _ABOUT, _CURE)
        self.embedder: str = about["embedder"]
        self.spec: str = str(about.get("spec") or self.embedder.partition(" (")[0])
        self._rows: int = about["rows"]
        self._size: int = about["size"]
        with damage_reported(folder, _CURE):
            packing = _packing(about)
            self.form = packing.form
            self._vectors = packing.rows(folder / _vectors(packing.form), self._rows)
            self._cells = Cells.open(folder) if about["cells"] else None

    def __len__(self) -> int:
        return self._rows

    def search(self, queries: Vectors, k: int, *, exact: bool) -> list[list[Hit]]:
        """The ``k`` passages of highest cosine for each query, best first; ties by number. Cells
        are used for up to FEW queries, unless ``exact``."""
        if not self._rows or not len(queries):
            return [[] for _ in queries]
        if queries.shape[1] != self._size:
            raise SettingsError(
                f"The index has vectors of {self._size} components by {self.embedder}, but the "
                f"queries have {queries.shape[1]}: use the embedder that built the index."
            )
        if not exact and self._cells is not None and len(queries) <= FEW:
            return self._approximate(self._cells, queries, k)
        k = min(k, self._rows)
        best: list[list[Hit]] = [[] for _ in queries]
        for start in range(0, self._rows, _CHUNK):
            rows = self._vectors[start : start + _CHUNK]
            for number, scores in enumerate(queries @ rows.T):
                top = _top(scores, k)
                found = [Hit(start + int(row), float(scores[row])) for row in top]
                merged = sorted(best[number] + found, key=lambda hit: (-hit.score, hit.number))
                best[number] = merged[:k]
        return best

    def _approximate(self, graph: Cells, queries: Vectors, k: int) -> list[list[Hit]]:
        found = []
        for query in queries:
            rows = graph.members(query, k)
            scores = self._vectors[rows] @ query
            top = _top(scores, min(k, len(rows)))
            hits = [Hit(int(rows[place]), float(scores[place])) for place in top]
            found.append(sorted(hits, key=lambda hit: (-hit.score, hit.number))[:k])
        return found


def _top(scores: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """Rows of the ``k`` highest scores, including all ties with the last of them."""
    if len(scores) <= k:
        return np.arange(len(scores))
    limit = np.partition(scores, len(scores) - k)[len(scores) - k]
    return np.flatnonzero(scores >= limit)
