"""The same judging jobs through Assay, umbrela and nuggetizer, against one local server.

Relevance: 500 passages on the scale 0-3, one call a passage. Nuggets: 50 answers × 20 nuggets =
1,000 labels. Every tool is a process of its own (for Assay: rendering, keys, ledger look-up, calls,
parsing and the ledger on disk), and every label is compared with what the server meant to say.

umbrela and nuggetizer run in environments of their own. nuggetizer counts tokens with tiktoken,
which fetches its table on first use: without a network TIKTOKEN_CACHE_DIR must hold it, or
nuggetizer repeats its first call for ever (a run is ended after five minutes)::

    python -m venv N && N/bin/pip install nuggetizer
    python -m venv U && U/bin/pip install umbrela 'setuptools<81' faiss-cpu
    U/bin/pip install --no-deps pyserini==0.25.0       # what umbrela 0.0.7 imports; needs Java
    python benchmarks/judging.py --nuggetizer-python N/bin/python --umbrela-python U/bin/python
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PARTS = Path(__file__).parent / "judging_parts"
LABELS = ("support", "partial_support", "not_support")
WORDS = "harbour ledger winter engine copper valley signal archive pollen charter".split()

# Of umbrela's and nuggetizer's newest sources on another machine of 2 cores (project issue 3).
RECORDED = {
    "umbrela": "540 labels/s steady; 3.3 s for 500 with start-up; 1.85 ms CPU a label; 1.9 s CPU "
    "to start; at 200 ms and 64 in flight 108 labels/s for the whole job",
    "nuggetizer": "100 calls, 79,000 prompt tokens, .083 ms CPU a label for 1,000 labels",
}


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be labelled: texts on their own, or every nugget against every text."""

    name: str
    question: str
    texts: tuple[str, ...]
    nuggets: tuple[str, ...] = ()

    @property
    def labels(self) -> int:
        return len(self.texts) * (len(self.nuggets) or 1)

    def expected(self) -> list[Any]:
        """What the server means to say (see server.py)."""
        if not self.nuggets:
            return [item % 4 for item in range(len(self.texts))]
        facts = range(len(self.nuggets))
        return [[LABELS[(i + fact) % 3] for fact in facts] for i in range(len(self.texts))]


@dataclass(frozen=True, slots=True)
class Figures:
    """One run of a job: wall seconds of the whole process and of the job in it, CPU seconds of
    the job and of the start-up before it, and what the server counted."""

    labels: int
    whole: float
    wall: float
    cpu: float
    start: float
    calls: int
    tokens: int
    most: int
    server_cpu: float

    @property
    def rate(self) -> float:
        return self.labels / self.wall

    @property
    def per_label(self) -> float:
        """Milliseconds of CPU a label, start-up left out."""
        return 1e3 * self.cpu / self.labels


def filler(count: int, seed: int) -> str:
    """``count`` words that differ from text to text."""
    return " ".join(WORDS[(seed * 7 + n * (seed % 5 + 1)) % len(WORDS)] for n in range(count))


def relevance(count: int) -> Job:
    texts = tuple(f"This is item {n} of the collection: {filler(90, n)}." for n in range(count))
    return Job("relevance", "What became of the harbour's copper engine in winter?", texts)


def assignment(answers: int, nuggets: int = 20) -> Job:
    texts = tuple(f"This is item {n}, an answer: {filler(231, n)}." for n in range(answers))
    facts = tuple(f"the archive holds fact {n} of the {filler(5, n)}" for n in range(nuggets))
    return Job("nuggets", "What became of the harbour's copper engine?", texts, facts)


@contextmanager
def server(latency: float) -> Iterator[str]:
    """A server of its own; its base URL."""
    command = [sys.executable, str(PARTS / "server.py"), str(latency)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.stdin.close()


def stats(url: str) -> dict[str, Any]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"{url}/stats") as reply:
        found: dict[str, Any] = json.load(reply)
    return found


def run(script: str, python: str, job: Job, concurrency: int, url: str) -> Figures:
    """Run a job as a process; raises SystemExit where it fails or a label is not the server's."""
    before = stats(url)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"question": job.question, "texts": job.texts, "nuggets": job.nuggets}, file)
        file.flush()
        command = [python, str(PARTS / script), file.name, str(concurrency), url]
        environment = {
            name: text for name, text in os.environ.items() if "proxy" not in name.lower()
        }
        started = time.perf_counter()
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, env=environment, check=False, timeout=300
            )
        except subprocess.TimeoutExpired:
            raise SystemExit(f"{script} was not done after five minutes") from None
        whole = time.perf_counter() - started
    if done.returncode:
        raise SystemExit(f"{script} failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    found = json.loads(done.stdout.splitlines()[-1])
    if found["labels"] != job.expected():
        raise SystemExit(f"{script}: its labels are not what the server answered")
    counted = stats(url)
    return Figures(
        labels=job.labels,
        whole=whole,
        wall=found["job_wall"],
        cpu=found["job_cpu"],
        start=found["startup_cpu"],
        calls=counted["calls"],
        tokens=counted["tokens"],
        most=counted["most"],
        server_cpu=counted["cpu"] - before["cpu"],
    )


def median(
    script: str, python: str, job: Job, concurrency: int, latency: float, runs: int
) -> Figures:
    """The run of middle wall time."""
    with server(latency) as url:
        found = [run(script, python, job, concurrency, url) for _ in range(runs)]
    return sorted(found, key=lambda one: one.whole)[len(found) // 2]


def show(tool: str, what: str, one: Figures) -> None:
    print(
        f"{tool:11} {what:32} {one.rate:8,.0f} labels/s  whole {one.whole:6.2f} s  "
        f"start {one.start:4.2f} s CPU  {1e3 * one.cpu / one.calls:6.3f} ms CPU a call  "
        f"{one.per_label:6.4f} a label  {one.calls:5,} calls  {one.tokens:8,} tokens  "
        f"most at once {one.most}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--umbrela-python", metavar="PYTHON")
    parser.add_argument("--nuggetizer-python", metavar="PYTHON")
    parser.add_argument("--runs", type=int, default=5, help="runs of each job; the median counts")
    options = parser.parse_args()
    small, nuggets, runs = relevance(500), assignment(50), options.runs

    def assay(what: str, job: Job, concurrency: int = 64, latency: float = 0.0) -> Figures:
        one = median("assay_job.py", sys.executable, job, concurrency, latency, runs)
        show("Assay", what, one)
        return one

    ours = assay("500 relevance labels", small)
    steady = assay("5,000 relevance labels", relevance(5000))
    ours_nuggets = assay("1,000 nugget labels", nuggets)
    assay("20,000 nugget labels", assignment(1000))
    steady_nuggets = assay("100,000 nugget labels", assignment(5000))
    for count, flight in ((500, 64), (500, 256), (3000, 64), (8000, 256)):
        assay(f"{count:,} at 200 ms, {flight} in flight", relevance(count), flight, 0.2)

    if options.umbrela_python:
        peer = median("umbrela_job.py", options.umbrela_python, small, 1, 0.0, runs)
        show("umbrela", "500 relevance labels", peer)
        slow = median("umbrela_job.py", options.umbrela_python, relevance(20), 1, 0.2, 1)
        show("umbrela", "20 at 200 ms, one at a time", slow)
        print(
            f"Assay : umbrela   {steady.rate / peer.rate:.1f} × the labels/s, whole job "
            f"{peer.whole / ours.whole:.1f} × as fast, CPU a label 1/"
            f"{peer.per_label / steady.per_label:.1f}, "
            f"start-up CPU 1/{peer.start / ours.start:.1f}"
        )
    else:
        print("umbrela was not run (--umbrela-python).")
    if options.nuggetizer_python:
        peer = median("nuggetizer_job.py", options.nuggetizer_python, nuggets, 1, 0.0, runs)
        show("nuggetizer", "1,000 nugget labels", peer)
        print(
            f"Assay : nuggetizer  calls {ours_nuggets.calls}:{peer.calls}, tokens "
            f"{ours_nuggets.tokens / peer.tokens:.2f}, CPU a label 1/"
            f"{peer.per_label / steady_nuggets.per_label:.1f}, "
            f"start-up CPU 1/{peer.start / ours_nuggets.start:.1f}"
        )
    else:
        print("nuggetizer was not run (--nuggetizer-python).")
    for tool, text in RECORDED.items():
        print(f"Recorded before, not measured here: {tool}: {text}")
    share = steady.server_cpu / steady.wall
    print(f"The server itself was busy {share:.0%} of the time of the 5,000 labels.")


if __name__ == "__main__":
    main()
