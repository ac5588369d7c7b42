"""Vectors at size: what cells and 8 bits find of what exact search in half precision finds.

Run: ``python benchmarks/vectors.py VECTORS.npy QUERIES.npy [--folder F]``. Both hold unit vectors,
one a row, of any embedder. For each form (f16, int8): seconds to write and to make the cells,
megabytes, and for exact search and cells CPU milliseconds a query and recall at 10, 20 and 100,
the share of the best k by exact search over the vectors as given that are among the k found.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from assay.systems.retrieval.dense import FEW, DenseIndex, build_dense
from assay.systems.retrieval.embedders import Vectors
from assay.systems.retrieval.stored import Precision

DEPTHS = (10, 20, 100)
_CHUNK = 50_000


class Given:
    """Vectors of a file, as if a model made them; a text is a row's number."""

    name = spec = "given"
    at_once = _CHUNK

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors

    def passages(self, texts: list[str]) -> Vectors:
        return np.asarray(self._vectors[int(texts[0]) : int(texts[-1]) + 1], dtype=np.float32)

    queries = passages


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("vectors", type=Path)
    parser.add_argument("queries", type=Path)
    parser.add_argument("--folder", type=Path, help="where indexes are made (else a temporary one)")
    options = parser.parse_args()
    vectors = np.load(options.vectors, mmap_mode="r")
    queries = np.load(options.queries).astype(np.float32)
    print(f"{len(vectors):,} vectors of {vectors.shape[1]}, {len(queries):,} queries", flush=True)
    best = exactly(vectors, queries)
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        for form in Precision:
            measure(Path(name) / form, form, vectors, queries, best)


def exactly(vectors: Vectors, queries: Vectors) -> np.ndarray:
    """The best rows of each query, best first, by plain multiplication."""
    most = max(DEPTHS)
    scores = np.empty((len(queries), 0), dtype=np.float32)
    rows = np.empty((len(queries), 0), dtype=np.int64)
    for start in range(0, len(vectors), _CHUNK):
        part = queries @ np.asarray(vectors[start : start + _CHUNK], dtype=np.float32).T
        here = np.argpartition(-part, min(most, part.shape[1] - 1), axis=1)[:, :most]
        scores = np.hstack((scores, np.take_along_axis(part, here, axis=1)))
        rows = np.hstack((rows, here + start))
        order = np.argsort(-scores, axis=1, kind="stable")[:, :most]
        scores, rows = (np.take_along_axis(one, order, axis=1) for one in (scores, rows))
    return rows


def measure(
    folder: Path, form: Precision, vectors: Vectors, queries: Vectors, best: np.ndarray
) -> None:
    texts = [str(number) for number in range(len(vectors))]
    started = time.process_time()
    build_dense(folder, Given(vectors), texts, form=form, ann_above=len(texts) + 1)
    written = time.process_time() - started
    build_dense(folder, Given(vectors), texts, form=form, ann_above=1)
    cells = time.process_time() - started - written
    size = (folder / f"vectors.{form}").stat().st_size / 1e6
    print(f"{form}: {size:,.0f} MB; CPU seconds to write {written:,.0f}, cells {cells:,.0f}")
    index = DenseIndex(folder)
    for exact in (True, False):
        started = time.process_time()
        size = len(queries) if exact else FEW
        parts = [queries[at : at + size] for at in range(0, len(queries), size)]
        found = [hits for part in parts for hits in index.search(part, max(DEPTHS), exact=exact)]
        spent = 1000 * (time.process_time() - started) / len(queries)
        shares = []
        for depth in DEPTHS:
            shared = [
                len({hit.number for hit in hits[:depth]} & set(rows[:depth].tolist())) / depth
                for hits, rows in zip(found, best, strict=True)
            ]
            shares.append(f"@{depth} {np.mean(shared):.4f} (worst {min(shared):.2f})")
        how = "exact" if exact else "cells"
        print(f"  {how}: {spent:,.1f} CPU ms a query; recall {', '.join(shares)}", flush=True)


if __name__ == "__main__":
    main()
