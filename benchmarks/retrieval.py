"""BM25 over a corpus: Assay's index (tantivy, exact and fast) against bm25s.

Run: ``python benchmarks/retrieval.py CORPUS [--queries N] [--limit P] [--only assay|bm25s]``. Each
in a process of its own: seconds to index, size on disk, peak memory of indexing and of searching,
queries a second one after the other. A query is a few words of a random passage. bm25s is given
the same terms (made by Assay's analyser, which is not counted for either: bm25s's own tokeniser
would make others), keeps its scores in memory for searching, and is saved and loaded between.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

import bm25s

from assay.systems.corpus.store import read_passages
from assay.systems.retrieval.analysis import Analysis
from assay.systems.retrieval.bm25 import BM25Index, BM25Settings, BM25Writer, indexed_text

K = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--limit", type=int, help="passages at most")
    parser.add_argument("--megabytes", type=int, default=256)
    parser.add_argument("--only", choices=("assay", "bm25s"))
    parser.add_argument("--worker", choices=tuple(WORKERS), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(WORKERS[options.worker](options) | {"peak MiB": peak()}))
        return
    with tempfile.TemporaryDirectory() as name:
        for system in ("assay", "bm25s"):
            if options.only in (None, system):
                folder = Path(name) / system
                report(f"{system}: index", run(f"{system}-index", folder, options))
                size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
                print(f"  {size / 1e6:,.0f} MB on disk")
                report(f"{system}: search", run(f"{system}-search", folder, options))


def run(worker: str, folder: Path, options: argparse.Namespace) -> dict[str, float]:
    command = [sys.executable, __file__, str(options.corpus), "--worker", worker]
    command += ["--folder", str(folder), "--queries", str(options.queries)]
    command += ["--megabytes", str(options.megabytes)]
    command += ["--limit", str(options.limit)] if options.limit else []
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def report(what: str, found: dict[str, float]) -> None:
    print(
        what + ": " + ", ".join(f"{key} {value:,.1f}" for key, value in found.items()), flush=True
    )


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def passages(options: argparse.Namespace):  # noqa: ANN201
    return islice(read_passages(options.corpus), options.limit)


def queries(options: argparse.Namespace) -> list[str]:
    """Six words in a row of every so many passages, chosen with a fixed seed."""
    chance = random.Random(1)
    found: list[str] = []
    for number, passage in enumerate(islice(read_passages(options.corpus), 20_000)):
        if number % 97 == 0 and len(found) < options.queries:
            words = passage.text.split()
            start = chance.randrange(max(1, len(words) - 6))
            found.append(" ".join(words[start : start + 6]))
    return found


def assay_index(options: argparse.Namespace) -> dict[str, float]:
    started = time.perf_counter()
    writer = BM25Writer(options.folder, Analysis(), title=True, megabytes=options.megabytes)
    for passage in passages(options):
        writer.add(passage)
    writer.finish()
    seconds = time.perf_counter() - started
    return {"passages": len(writer), "seconds": seconds, "CPU seconds": time.process_time()}


def assay_search(options: argparse.Namespace) -> dict[str, float]:
    asked = queries(options)
    started = time.perf_counter()
    index = BM25Index(options.folder, Analysis(), title=True)
    index.search(asked[0], K, BM25Settings())
    found = {"seconds to open": time.perf_counter() - started}
    for name, settings in (
        ("exact queries/s", BM25Settings()),
        ("k1 .9, b .4 queries/s", BM25Settings(0.9, 0.4)),
        ("fast queries/s", BM25Settings(exact=False)),
    ):
        started, cpu = time.perf_counter(), time.process_time()
        for query in asked:
            index.search(query, K, settings)
        found[name] = len(asked) / (time.perf_counter() - started)
        found[name.replace("queries/s", "CPU ms a query")] = (
            1000 * (time.process_time() - cpu) / len(asked)
        )
    return found


def bm25s_index(options: argparse.Namespace) -> dict[str, float]:
    analyzer = Analysis().analyzer()
    vocabulary: dict[str, int] = {}
    ids: list[list[int]] = []
    for passage in passages(options):
        terms = analyzer.analyze(indexed_text(passage, title=True))
        ids.append([vocabulary.setdefault(term, len(vocabulary)) for term in terms])
    started, cpu = time.perf_counter(), time.process_time()
    model = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    model.index((ids, vocabulary), show_progress=False)
    model.save(str(options.folder))
    return {
        "passages": len(ids),
        "seconds": time.perf_counter() - started,
        "CPU seconds": time.process_time() - cpu,
    }


def bm25s_search(options: argparse.Namespace) -> dict[str, float]:
    asked = queries(options)
    analyzer = Analysis().analyzer()
    started = time.perf_counter()
    model = bm25s.BM25.load(str(options.folder), mmap=False)
    opened = time.perf_counter() - started
    terms = [analyzer.analyze(query) for query in asked]
    model.retrieve([terms[0]], k=K, show_progress=False)
    started, cpu = time.perf_counter(), time.process_time()
    for query in terms:
        model.retrieve([query], k=K, show_progress=False)
    return {
        "seconds to open": opened,
        "queries/s": len(asked) / (time.perf_counter() - started),
        "CPU ms a query": 1000 * (time.process_time() - cpu) / len(asked),
    }


WORKERS = {
    "assay-index": assay_index,
    "assay-search": assay_search,
    "bm25s-index": bm25s_index,
    "bm25s-search": bm25s_search,
}

if __name__ == "__main__":
    main()
