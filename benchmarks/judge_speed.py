"""How fast the embedded judge is and how much memory it takes, on 1 and 2 threads.

    python benchmarks/judge_speed.py [--pairs 400]

Short pairs are the nuggets and passages of examples/films (some 40 words); long ones have the same
passages joined to some 200 words. Every measurement is a process of its own, loading left out.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

from assay.labellers.base import Request
from assay.labellers.judge.labeller import JudgeLabeller
from assay.protocols.folder import Folder
from assay.protocols.r2c2.inputs import R2C2Settings, load_inputs
from assay.protocols.r2c2.judge import step3_requests
from assay.tasks.r2c2 import ENTAILMENT, EntailmentUnit

FILMS = Path(__file__).parents[1] / "examples/films"
LONG_WORDS = 200


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=400)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        kind, threads = options.measure.split()
        print(json.dumps(measured(kind, int(threads), options.pairs)))
        return 0
    print("| pairs | threads | pairs/s | pairs a CPU second | tokens/s | memory, MB |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for kind in ("short", "long"):
        for threads in (1, 2):
            command = [sys.executable, __file__, "--pairs", str(options.pairs)]
            command += ["--measure", f"{kind} {threads}"]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            row = json.loads(done.stdout)
            print(
                f"| {kind} | {threads} | {row['pairs']:.0f} | {row['busy']:.0f} | "
                f"{row['tokens']:,.0f} | "
                f"{row['memory']:.0f} |"
            )
    return 0


def measured(kind: str, threads: int, count: int) -> dict[str, float]:
    folder = Folder.open(FILMS)
    units = [request.unit for request in step3_requests(load_inputs(folder, R2C2Settings()))]
    requests = []
    for number in range(count):
        unit = units[number % len(units)]
        passage, at = unit.passage, number
        while kind == "long" and len(passage.split()) < LONG_WORDS:
            at += 7
            passage += " " + units[at % len(units)].passage
        made = EntailmentUnit(passage=f"{passage} ({number})", nugget=unit.nugget)
        requests.append(Request(ENTAILMENT, made))
    return asyncio.run(timed(requests, threads))


async def timed(requests: list[Request], threads: int) -> dict[str, float]:
    async with JudgeLabeller(threads=threads) as labeller:
        await labeller.label(requests[0])
        started, busy = time.perf_counter(), time.process_time()
        outcomes = await asyncio.gather(*(labeller.label(request) for request in requests))
        seconds, busy = time.perf_counter() - started, time.process_time() - busy
    read = sum(outcome.tokens_in or 0 for outcome in outcomes)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "pairs": len(requests) / seconds, "busy": len(requests) / busy,
        "tokens": read / seconds, "memory": peak,
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
