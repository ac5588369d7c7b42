"""Calls and prompt tokens of a whole evaluation: Assay beside nuggetizer's windows.

20 runs × 10 narratives: nugget creation from 40 documents a narrative, importance, assignment to
every answer, and support of every first citation. One scripted server gives both the same
answers; nuggets, importance and assignments must come out equal. nuggetizer has no support
evaluation: the reference there is a call for every run's sentence and first citation.

The runs are those of five teams with four variants each; every second sentence of an answer, and
one whole answer in four, is the same in all variants of a team. ``--distinct`` makes all differ.

    python -m venv N && N/bin/pip install nuggetizer
    python benchmarks/nuggets.py --nuggetizer-python N/bin/python

nuggetizer counts tokens with tiktoken, which fetches its table on first use (TIKTOKEN_CACHE_DIR).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PARTS = Path(__file__).parent / "nugget_parts"
WORDS = (
    "harbour copper engine winter ledger valley signal orchard granite timber compass meadow "
    "lantern river market tower glass stone paper bridge"
).split()
KINDS = ("creation", "importance", "assignment", "support")
TOML = """
[evaluation]
protocol = "trec-rag"
[inputs]
narratives = "narratives.jsonl"
rag_runs = ["rag/*.jsonl"]
segments = ["segments.jsonl"]
qrels = "qrels.txt"
[labellers]
default = "openai:benchmark@{url}"
[settings]
relevance = "none"
mapping = false
"""


def filler(count: int, seed: int) -> str:
    return " ".join(WORDS[(seed * 7 + n * (seed % 5 + 1)) % len(WORDS)] for n in range(count))


def make_job(runs: int, cases: int, *, distinct: bool) -> dict[str, Any]:
    """Narratives with documents, and for each run an answer of ten sentences, each citing one
    document."""
    found = []
    for case in range(cases):
        documents = [
            f"Document {n} says that the archive holds fact {n} of case {case}; {filler(110, n)}."
            for n in range(40)
        ]
        answers: dict[str, list[str]] = {}
        cited: dict[str, list[int]] = {}
        for run in range(runs):
            team = run // 4
            sentences, docs = [], []
            for n in range(10):
                same = not distinct and (n % 2 or (case + team) % 4 == 0)
                who = 1000 + team if same else run
                number = who * 100 + n
                start = f"As item {who * 7 + case} says, " if not n else ""
                sentences.append(f"{start}claim {number} on case {case}: {filler(18, number)}.")
                docs.append((number + case) % 40)
            answers[f"run{run}"] = sentences
            cited[f"run{run}"] = docs
        narrative = f"I want to know what the archive holds on case {case}, and {filler(25, case)}."
        found.append(
            {"id": str(case), "narrative": narrative, "documents": documents,
             "answers": answers, "cited": cited}
        )  # fmt: skip
    return {"cases": found}


def write_folder(folder: Path, job: dict[str, Any], url: str) -> None:
    """The job as an evaluation folder."""
    (folder / "rag").mkdir()
    (folder / "assay.toml").write_text(TOML.format(url=url))
    narratives, segments, qrels = [], [], []
    runs: dict[str, list[dict[str, Any]]] = {}
    for case in job["cases"]:
        narratives.append({"id": case["id"], "title": case["narrative"]})
        for n, text in enumerate(case["documents"]):
            doc = f"{case['id']}-{n}"
            segments.append({"docid": doc, "segment": text})
            qrels.append(f"{case['id']} 0 {doc} 1\n")
        for run, sentences in case["answers"].items():
            docs = [f"{case['id']}-{n}" for n in case["cited"][run]]
            references = list(dict.fromkeys(docs))
            answer = [
                {"text": text, "citations": [references.index(doc)]}
                for text, doc in zip(sentences, docs, strict=True)
            ]
            metadata = {
                "team_id": "b",
                "run_id": run,
                "narrative_id": case["id"],
                "narrative": case["narrative"],
                "type": "automatic",
                "prompt": "",
            }
            runs.setdefault(run, []).append(
                {"metadata": metadata, "references": references, "answer": answer}
            )
    for name, rows in (("narratives", narratives), ("segments", segments)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "qrels.txt").write_text("".join(qrels))
    for run, rows in runs.items():
        (folder / "rag" / f"{run}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))


@contextmanager
def server() -> Iterator[str]:
    """The scripted server in a process of its own; its base URL."""
    command = [sys.executable, str(PARTS / "server.py")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.stdin.close()


def stats(url: str) -> dict[str, dict[str, int]]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"{url}/stats") as reply:
        found: dict[str, dict[str, int]] = json.load(reply)
    return found


def environment() -> dict[str, str]:
    return {name: text for name, text in os.environ.items() if "proxy" not in name.lower()}


def by_assay(job: dict[str, Any], url: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Calls and tokens, and what came out."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_folder(folder, job, url)
        command = [sys.executable, "-m", "assay.cli.main", "evaluate", str(folder), "--json"]
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment(), check=False
        )
        if done.returncode:
            raise SystemExit(f"assay failed:\n{done.stdout[-1500:]}\n{done.stderr[-1500:]}")
        counted = stats(url)
        out = folder / "out"
        lists = [json.loads(line) for line in (out / "nuggets.jsonl").read_text().splitlines()]
        rows = [json.loads(line) for line in (out / "assignments.jsonl").read_text().splitlines()]
        again = subprocess.run(
            command, capture_output=True, text=True, env=environment(), check=False
        )
        more = sum(stats(url)["calls"].values())
        if again.returncode or more:
            raise SystemExit(f"assay asked {more} more when it was run again")
    nuggets = {
        one["qid"]: {each["text"]: each["importance"] for each in one["nuggets"]} for one in lists
    }
    assigned = {
        f"{one['run_id']} {one['qid']}": {
            each["text"]: each["assignment"] for each in one["nuggets"]
        }
        for one in rows
    }
    return counted, {"nuggets": nuggets, "assigned": assigned}


def by_nuggetizer(
    job: dict[str, Any], url: str, python: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(job, file)
        file.flush()
        command = [python, str(PARTS / "nuggetizer_job.py"), file.name, url]
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment(), check=False, timeout=1200
        )
    if done.returncode:
        raise SystemExit(f"nuggetizer failed:\n{done.stdout[-1500:]}\n{done.stderr[-1500:]}")
    return stats(url), json.loads(done.stdout.splitlines()[-1])


def support_reference(job: dict[str, Any], ours: dict[str, Any]) -> tuple[int, int]:
    """A call for every run's sentence and first citation, at Assay's mean prompt length."""
    calls = sum(len(sentences) for case in job["cases"] for sentences in case["answers"].values())
    mean = ours["tokens"]["support"] / ours["calls"]["support"]
    return calls, round(calls * mean)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--nuggetizer-python", metavar="PYTHON")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--narratives", type=int, default=10)
    parser.add_argument("--distinct", action="store_true", help="runs have nothing in common")
    options = parser.parse_args()
    job = make_job(options.runs, options.narratives, distinct=options.distinct)
    with server() as url:
        ours, found = by_assay(job, url)
        theirs: dict[str, Any] = {"calls": {}, "tokens": {}}
        if options.nuggetizer_python:
            theirs, peer = by_nuggetizer(job, url, options.nuggetizer_python)
            if peer != found:
                raise SystemExit("the two tools do not end with the same labels")
            print("Nuggets, importance and assignments are equal.")
        else:
            print("nuggetizer was not run (--nuggetizer-python).")
    theirs["calls"]["support"], theirs["tokens"]["support"] = support_reference(job, ours)
    print(f"{'':12}{'Assay calls':>13}{'reference':>11}{'Assay tokens':>14}{'reference':>11}")
    for kind in KINDS:
        row = [ours["calls"].get(kind, 0), theirs["calls"].get(kind),
               ours["tokens"].get(kind, 0), theirs["tokens"].get(kind)]  # fmt: skip
        shown = ["-" if value is None else f"{value:,}" for value in row]
        print(f"{kind:12}{shown[0]:>13}{shown[1]:>11}{shown[2]:>14}{shown[3]:>11}")
    if options.nuggetizer_python:
        calls = [sum(one["calls"].values()) for one in (ours, theirs)]
        tokens = [sum(one["tokens"].values()) for one in (ours, theirs)]
        print(
            f"Assay : reference   calls {calls[0]:,} : {calls[1]:,} = {calls[0] / calls[1]:.2f}, "
            f"tokens {tokens[0]:,} : {tokens[1]:,} = {tokens[0] / tokens[1]:.2f}"
        )


if __name__ == "__main__":
    main()
