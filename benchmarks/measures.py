"""nDCG@20, AP and RR of many runs: Assay beside pytrec-eval-terrier, ir_measures and ranx.

Run: ``python benchmarks/measures.py --peer-python PATH [--set small|large|RUNSxTOPICSxDOCUMENTS]
[--repeat K] [--mode process|files|memory] [--tool NAME]``, where PATH is the Python of an
environment that holds the peers (``pip install pytrec-eval-terrier ir_measures ranx``). Without it
only Assay is timed.

Three things are timed, each tool in a process of its own and one after the other, K times round:

* *process*: what a user waits for, from nothing to printed means: ``assay measure … --csv`` beside
  the shortest script for pytrec-eval-terrier that prints the same, processor time with all imports;
* *files*: read the qrels and every run file, and compute the means of each run;
* *memory*: the same means from each tool's own form in memory (Assay, pytrec-eval-terrier: dicts;
  ir_measures: lists of tuples; ranx: its Run objects). Runs are loaded one by one, untimed.

In the other two imports are not timed; ranx compiles before the clock starts. Printed are the
medians, each tool's time over Assay's, the peak memory of the process (files), and whether all
agree on the means.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

SETS = {"small": (100, 100, 100), "large": (50, 1000, 1000)}
PEERS = ("pytrec_eval", "ir_measures", "ranx")
JUDGED = 100  # documents judged a topic
MODES = ("process", "files", "memory")

SCRIPT = """
import glob, sys
import pytrec_eval
names = ("ndcg_cut_20", "map", "recip_rank")
with open(sys.argv[1] + "/qrels.txt") as file:
    qrels = pytrec_eval.parse_qrel(file)
evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.20", "map", "recip_rank"})
for path in sorted(glob.glob(sys.argv[1] + "/run*.txt")):
    with open(path) as file:
        scores = list(evaluator.evaluate(pytrec_eval.parse_run(file)).values())
    print(path, *(sum(topic[name] for topic in scores) / len(scores) for name in names), sep=",")
"""

Means = list[float]
Load = Callable[[Path], Any]
Evaluate = Callable[[Any], Means]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer-python", help="Python of the environment with the peers")
    parser.add_argument("--set", action="append", help="small, large or e.g. 10x100x1000")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--mode", choices=MODES, help="only files or only memory")
    parser.add_argument("--tool", action="append", choices=PEERS, help="only these peers")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        tool, mode, folder = options.worker
        print(json.dumps(work(tool, mode, Path(folder))))
        return
    for name in options.set or ["small"]:
        runs, topics, documents = SETS.get(name) or map(int, name.split("x"))
        with tempfile.TemporaryDirectory() as folder:
            make(Path(folder), runs, topics, documents)
            print(f"{runs} runs x {topics} topics x {documents} documents")
            tools = ("assay", *((options.tool or PEERS) if options.peer_python else ()))
            modes = (options.mode,) if options.mode else MODES
            for mode in modes:
                if mode == "process":
                    processes(Path(folder), options.peer_python, options.repeat)
                    continue
                compare(Path(folder), mode, tools, options.peer_python, options.repeat)


def make(folder: Path, runs: int, topics: int, documents: int) -> None:
    """Write qrels with grades 0 to 3 and runs that rank relevant documents somewhat higher."""
    np = import_module("numpy")
    rng = np.random.default_rng(20)
    pool = max(2 * documents, 2 * JUDGED)
    grades = np.zeros((topics, pool))
    with (folder / "qrels.txt").open("w") as file:
        for topic in range(topics):
            for doc in sorted(rng.choice(pool, JUDGED, replace=False).tolist()):
                grades[topic, doc] = grade = int(rng.integers(0, 4))
                file.write(f"{topic + 1} 0 D{topic:04}-{doc:06} {grade}\n")
    for run in range(runs):
        with (folder / f"run{run:03}.txt").open("w") as file:
            for topic in range(topics):
                scores = rng.normal(20, 5, pool) + 2 * grades[topic]
                best = np.argsort(-scores)[:documents]
                file.writelines(
                    f"{topic + 1} Q0 D{topic:04}-{doc:06} {rank} {score:.6f} system{run:03}\n"
                    for rank, (doc, score) in enumerate(
                        zip(best.tolist(), scores[best].tolist(), strict=True), 1
                    )
                )


def processes(folder: Path, peer_python: str | None, repeat: int) -> None:
    """Print the processor time of whole processes, the medians of taking turns."""
    runs = sorted(map(str, folder.glob("run*.txt")))
    asked = [word for name in ("nDCG@20", "AP", "RR") for word in ("-m", name)]
    qrels = str(folder / "qrels.txt")
    measure = [sys.executable, "-m", "assay", "measure", qrels, *runs, *asked, "--csv"]
    commands = {"assay": measure}
    if peer_python:
        commands["pytrec_eval"] = [peer_python, "-c", SCRIPT, str(folder)]
    times: dict[str, list[float]] = {tool: [] for tool in commands}
    means: dict[str, list[Means]] = {}
    # Modules that are installed are compiled; here the first round, which does not count, does so.
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    for turn in range(repeat + 1):
        for tool, command in commands.items():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run(command, check=True, capture_output=True, text=True, env=env)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
            if turn:
                times[tool].append(user + system)
            means[tool] = _printed(tool, done.stdout)
    own = statistics.median(times["assay"])
    for tool, found in times.items():
        median = statistics.median(found)
        agree = "" if tool == "assay" else f", means differ by {_apart(means, tool):.0e} at most"
        print(f"  process {tool:12} {median:8.3f} s ({median / own:5.2f}){agree}")


def _printed(tool: str, text: str) -> list[Means]:
    """The means of each run, as a tool printed them."""
    if tool != "assay":
        return [list(map(float, line.split(",")[1:])) for line in text.splitlines()]
    values = [float(row["value"]) for row in csv.DictReader(text.splitlines())]
    return [values[at : at + 3] for at in range(0, len(values), 3)]


def compare(
    folder: Path, mode: str, tools: Sequence[str], peer_python: str | None, repeat: int
) -> None:
    times: dict[str, list[float]] = {tool: [] for tool in tools}
    peaks: dict[str, list[float]] = {tool: [] for tool in tools}
    means: dict[str, list[Means]] = {}
    for _ in range(repeat):
        for tool in tools:
            python = sys.executable if tool == "assay" else str(peer_python)
            command = [python, __file__, "--worker", tool, mode, str(folder)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            result = json.loads(done.stdout.splitlines()[-1])
            times[tool].append(result["seconds"])
            peaks[tool].append(result["peak"])
            means[tool] = result["means"]
    own = statistics.median(times["assay"])
    for tool in tools:
        median = statistics.median(times[tool])
        peak = f", peak {statistics.median(peaks[tool]):5.0f} MB" if mode == "files" else ""
        agree = "" if tool == "assay" else f", means differ by {_apart(means, tool):.0e} at most"
        print(f"  {mode:6} {tool:12} {median:8.3f} s ({median / own:5.2f}){peak}{agree}")


def _apart(means: dict[str, list[Means]], tool: str) -> float:
    pairs = zip(means["assay"], means[tool], strict=True)
    return max(abs(a - b) for one, two in pairs for a, b in zip(one, two, strict=True))


# --- one tool in one process ---------------------------------------------------------------------


def work(tool: str, mode: str, folder: Path) -> dict[str, Any]:
    """Time one tool once; all that is imported here is the tool itself."""
    prepare = {"assay": assay, "pytrec_eval": pytrec_eval, "ir_measures": ir_measures, "ranx": ranx}
    paths = sorted(folder.glob("run*.txt"))
    start, from_files, load, evaluate = prepare[tool]()
    seconds = 0.0
    begun = time.perf_counter()
    state = start(folder / "qrels.txt")
    if mode == "files":
        means = list(from_files(state, paths))
        seconds = time.perf_counter() - begun
    else:
        means = []
        for path in paths:
            run = load(path)
            begun = time.perf_counter()
            means.append(evaluate(state, run))
            seconds += time.perf_counter() - begun
            del run
    return {"seconds": seconds, "peak": peak_memory(), "means": means}


def peak_memory() -> float:
    """MB. What getrusage says can be the parent's, which made the files."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    line = next(one for one in status.read_text().splitlines() if one.startswith("VmHWM"))
    return int(line.split()[1]) / 1e3


Tool = tuple[
    Callable[[Path], Any],
    Callable[[Any, list[Path]], Iterable[Means]],
    Load,
    Callable[[Any, Any], Means],
]


def assay() -> Tool:
    # Late: peers are measured by this file, too.
    from assay.formats import trec  # noqa: PLC0415
    from assay.formats import trec_fast as fast  # noqa: PLC0415
    from assay.measures import parse_measure, run_scores  # noqa: PLC0415

    wanted = [parse_measure(name) for name in ("nDCG@20", "AP", "RR")]

    def start(path: Path) -> Any:
        return run_scores.to_judgements(trec.read_qrels(path).require().grades).reduced_for(wanted)

    def from_files(judged: Any, paths: list[Path]) -> Iterable[Means]:
        for batch in fast.read_runs(paths, judged):
            for scores in run_scores.run_scores(batch.hits, judged, wanted, batch.unjudged):
                yield [scores.mean(measure) for measure in wanted]

    def evaluate(judged: Any, run: Any) -> Means:
        scores = run_scores.evaluate_runs(judged, {"run": run}, wanted)["run"]
        return [scores.mean(measure) for measure in wanted]

    return start, from_files, lambda path: trec.read_trec_run(path).require().scores, evaluate


def pytrec_eval() -> Tool:
    tool = import_module("pytrec_eval")
    names = ("ndcg_cut_20", "map", "recip_rank")

    def start(path: Path) -> Any:
        with path.open() as file:
            qrels = tool.parse_qrel(file)
        return tool.RelevanceEvaluator(qrels, {"ndcg_cut.20", "map", "recip_rank"})

    def load(path: Path) -> Any:
        with path.open() as file:
            return tool.parse_run(file)

    def evaluate(evaluator: Any, run: Any) -> Means:
        scores = list(evaluator.evaluate(run).values())
        return [sum(topic[name] for topic in scores) / len(scores) for name in names]

    return start, lambda state, paths: (evaluate(state, load(p)) for p in paths), load, evaluate


def ir_measures() -> Tool:
    tool = import_module("ir_measures")
    wanted = [tool.nDCG @ 20, tool.AP, tool.RR]

    def start(path: Path) -> Any:
        return tool.evaluator(wanted, list(tool.read_trec_qrels(str(path))))

    def load(path: Path) -> Any:
        return list(tool.read_trec_run(str(path)))

    def evaluate(evaluator: Any, run: Any) -> Means:
        means = evaluator.calc_aggregate(run)
        return [means[measure] for measure in wanted]

    def from_files(evaluator: Any, paths: list[Path]) -> Iterable[Means]:
        return (evaluate(evaluator, tool.read_trec_run(str(path))) for path in paths)

    return start, from_files, load, evaluate


def ranx() -> Tool:
    tool = import_module("ranx")
    names = ["ndcg@20", "map", "mrr"]
    with tempfile.TemporaryDirectory() as folder:  # compiles what the clock must not see
        qrels, run = Path(folder) / "qrels.txt", Path(folder) / "run.txt"
        qrels.write_text("1 0 a 1\n1 0 b 0\n2 0 a 1\n")
        run.write_text("1 Q0 a 1 2.5 r\n1 Q0 b 2 1.5 r\n2 Q0 a 1 1 r\n")
        own = tool.Qrels.from_file(str(qrels), kind="trec")
        tool.evaluate(own, tool.Run.from_file(str(run), kind="trec"), names)

    def start(path: Path) -> Any:
        return tool.Qrels.from_file(str(path), kind="trec")

    def load(path: Path) -> Any:
        return tool.Run.from_file(str(path), kind="trec")

    def evaluate(qrels: Any, run: Any) -> Means:
        means = tool.evaluate(qrels, run, names)
        return [float(means[name]) for name in names]

    return start, lambda state, paths: (evaluate(state, load(p)) for p in paths), load, evaluate


if __name__ == "__main__":
    main()
