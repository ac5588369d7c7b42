"""``assay validate`` over 100 TREC RAG runs of 300 topics: wall time of the whole process.

    python benchmarks/validate.py [--runs 100] [--topics 300]

Answers have 16 sentences of 24 words with two citations each and 20 references.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WORDS = "the segment says that rail freight grew while canals lost trade to roads and ports".split()


def record(run: int, topic: int, chooser: random.Random) -> str:
    references = [
        f"msmarco_v2.1_doc_{chooser.randrange(60):02d}_{n}#{run}_{topic}" for n in range(20)
    ]
    answer = [
        {
            "text": " ".join(chooser.choices(WORDS, k=24)) + ".",
            "citations": chooser.sample(range(20), 2),
        }
        for _ in range(16)
    ]
    metadata = {
        "team_id": "bench",
        "run_id": f"run{run}",
        "type": "automatic",
        "narrative_id": topic,
        "narrative": f"Narrative {topic}",
        "prompt": "p",
    }
    return json.dumps({"metadata": metadata, "references": references, "answer": answer})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--topics", type=int, default=300)
    options = parser.parse_args()
    chooser = random.Random(7)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        topics = folder / "topics.jsonl"
        rows = ({"id": n, "title": f"Narrative {n}"} for n in range(options.topics))
        topics.write_text("".join(json.dumps(row) + "\n" for row in rows))
        files = []
        for run in range(options.runs):
            file = folder / f"run{run}.jsonl"
            lines = (record(run, topic, chooser) for topic in range(options.topics))
            file.write_text("\n".join(lines) + "\n")
            files.append(str(file))
        size = sum(Path(file).stat().st_size for file in files)
        command = [sys.executable, "-m", "assay.cli.main", "validate", *files,
                   "--format", "trec-rag", "--topics", str(topics)]  # fmt: skip
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        wall = time.perf_counter() - start
    print(
        f"{options.runs} runs × {options.topics} topics, {size / 1e6:.0f} MB: {wall:.2f} s, "
        f"status {done.returncode}, {len(done.stdout.splitlines())} lines"
    )


if __name__ == "__main__":
    main()
