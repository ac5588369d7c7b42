"""What embedders find: questions of SQuAD 2's development set over its passages.

Run: ``python benchmarks/embedders.py squad2_dev.jsonl.gz minilm model2vec:FOLDER …``. The file
holds an object a line: ``premise`` is a passage, ``hypothesis`` a question, ``label`` 1 where the
passage answers it. Of BM25 alone, and of each embedder alone and fused with BM25 (reciprocal ranks,
60): the share of questions whose passage comes first, or among the first five; and how many
passages were embedded in a CPU second of one core.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from assay.systems.corpus.passages import CutPassage
from assay.systems.retrieval.analysis import Analysis
from assay.systems.retrieval.bm25 import BM25Index, BM25Settings, BM25Writer
from assay.systems.retrieval.embedders import make_embedder
from assay.systems.retrieval.fusion import rrf

SEED = 1
DEPTH = 100  # passages of each list that are fused


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("embedders", nargs="*", metavar="SPEC")
    parser.add_argument("--questions", type=int, default=1000)
    options = parser.parse_args()
    passages, asked = read(options.file)
    chosen = random.Random(SEED).sample(asked, min(options.questions, len(asked)))
    questions, right = [text for text, _ in chosen], [number for _, number in chosen]
    words = sum(len(text.split()) for text in passages) / len(passages)
    print(f"{len(questions):,} questions, {len(passages):,} passages of {words:.0f} words")
    by_terms = ranked_by_terms(passages, questions)
    print(f"BM25: {found(by_terms, right)}", flush=True)
    for spec in options.embedders:
        embedder = make_embedder(spec, threads=1)
        started = time.process_time()
        size = embedder.at_once
        parts = [passages[at : at + size] for at in range(0, len(passages), size)]
        rows = np.concatenate([embedder.passages(part) for part in parts])
        rate = len(passages) / (time.process_time() - started)
        scores = embedder.queries(questions) @ rows.T
        by_sense = np.argsort(-scores, axis=1, kind="stable")[:, :DEPTH].tolist()
        both = zip(by_terms, by_sense, strict=True)
        fused = [[number for number, _ in rrf(lists)] for lists in both]
        alone, together = found(by_sense, right), found(fused, right)
        print(f"{spec}: {rate:,.0f} passages a CPU second; {alone}; fused {together}", flush=True)


def read(path: Path) -> tuple[list[str], list[tuple[str, int]]]:
    """The passages, and each question that one answers with that one's number."""
    passages: dict[str, int] = {}
    asked = []
    with gzip.open(path, "rt") as lines:
        for row in map(json.loads, lines):
            number = passages.setdefault(row["premise"], len(passages))
            if float(row["label"]) == 1:
                asked.append((row["hypothesis"], number))
    return list(passages), asked


def ranked_by_terms(passages: Sequence[str], questions: Sequence[str]) -> list[list[int]]:
    """The numbers of the passages that BM25 puts first for each question."""
    with tempfile.TemporaryDirectory() as folder:
        writer = BM25Writer(Path(folder) / "index", Analysis(), title=False, megabytes=64)
        for number, text in enumerate(passages):
            writer.add(CutPassage(str(number), str(number), "", 0, text, 1, 0, 0))
        writer.finish()
        index = BM25Index(Path(folder) / "index", Analysis(), title=False)
        return [
            [hit.number for hit in index.search(text, DEPTH, BM25Settings())] for text in questions
        ]


def found(lists: Sequence[Sequence[int]], right: Sequence[int]) -> str:
    shares = (
        np.mean([number in one[:depth] for one, number in zip(lists, right, strict=True)])
        for depth in (1, 5)
    )
    return "R@1 {:.3f}, R@5 {:.3f}".format(*shares)


if __name__ == "__main__":
    main()
