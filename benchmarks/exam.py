"""How long EXAM++ scores of a published collection take: ``python benchmarks/exam.py [RUNS]``.

Makes 9,260 graded passages of 131 queries, 10 questions each, with 22 runs, and times the whole
command ``assay exam`` (start-up, reading, all scores). For a yardstick the same file is read with
the standard library's ``json`` alone, which computes nothing.
"""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

READ = "import gzip, json, sys\nfor line in gzip.open(sys.argv[1]): json.loads(line)"


def make(path: Path, passages: int = 9260, queries: int = 131, runs: int = 22) -> None:
    """Write the collection."""
    rng = random.Random(7)
    made = 0
    with gzip.open(path, "wt") as file:
        for number in range(queries):
            query = f"q{number:03d}"
            names = [f"p{made + i:06d}" for i in range(passages // queries + 1)][: passages - made]
            made += len(names)
            places: dict[str, list[dict[str, object]]] = {name: [] for name in names}
            for run in range(runs):
                for rank, name in enumerate(rng.sample(names, min(20, len(names))), 1):
                    row = {"method": f"run{run}", "paragraphId": name, "queryId": query}
                    places[name].append({**row, "rank": rank, "score": 1 / rank})
            rows = [passage(query, name, places[name], rng) for name in names]
            file.write(json.dumps([query, rows]) + "\n")


def passage(
    query: str, name: str, rankings: list[dict[str, object]], rng: random.Random
) -> dict[str, object]:
    """One graded passage."""
    grades = {f"{query}/{i}": rng.choice([0, 0, 1, 2, 3, 4, 5]) for i in range(10)}
    entry = {
        "correctAnswered": [],
        "wrongAnswered": [],
        "answers": [[question, str(grade)] for question, grade in grades.items()],
        "llm": "model",
        "prompt_info": {"prompt_class": "SelfRated"},
        "self_ratings": [{"question_id": q, "self_rating": grade} for q, grade in grades.items()],
    }
    data = {"judgments": [], "rankings": rankings}
    text = "word " * 90
    return {"paragraph_id": name, "text": text, "paragraph_data": data, "exam_grades": [entry]}


def seconds(*command: str) -> float:
    """How long a command takes as a whole process."""
    started = time.perf_counter()
    subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def main() -> None:
    """Print the best of some runs, and the ratio."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graded.jsonl.gz"
        make(path)
        ours = min(seconds("-m", "assay.cli.main", "exam", str(path)) for _ in range(times))
        plain = min(seconds("-c", READ, str(path)) for _ in range(times))
    print(f"assay exam: {ours:.2f} s; reading with json alone: {plain:.2f} s; {ours / plain:.1f} x")


if __name__ == "__main__":
    main()
