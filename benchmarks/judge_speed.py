"""How fast the embedded judge is and how much memory it takes, on 1 and 2 threads.

    python benchmarks/judge_speed.py [--pairs 400] [--judge large] [--beside qwen2.5-1.5b --few 8]

Short pairs are the nuggets and passages of examples/films (some 40 words); long ones have the same
passages joined to some 200 words. Every measurement is a process of its own, loading left out.
With ``--beside`` an embedded language model judges the first ``--few`` of the same pairs, reasons
included, and the ratio is printed; the model must have been fetched before.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path

from which_judge import add_judge, asked_for

from assay.labellers.base import Labeller, Request
from assay.labellers.embedded import EmbeddedLabeller
from assay.labellers.judge.labeller import JudgeLabeller
from assay.labellers.judge.packages import JudgePackage
from assay.protocols.answers.requests import nuggets_asked
from assay.protocols.evaluation import Evaluation
from assay.protocols.folder import Folder
from assay.protocols.labels import requests_of
from assay.protocols.r2c2.protocol import R2C2
from assay.tasks.r2c2 import ENTAILMENT, EntailmentUnit
from assay.tasks.rendering import Renderer

FILMS = Path(__file__).parents[1] / "examples/films"
LONG_WORDS = 200


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=400)
    parser.add_argument("--beside", metavar="MODEL", help="an embedded language model")
    parser.add_argument("--few", type=int, default=8, help="pairs that it judges")
    parser.add_argument("--threads", type=int, choices=(1, 2), action="append")
    add_judge(parser)
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    judge = asked_for(options)
    which = ["--package", str(options.package)] if options.package else ["--judge", judge.name]
    if options.measure:
        kind, threads, model = options.measure
        count = options.few if model else options.pairs
        print(json.dumps(measured(kind, int(threads), count, model, judge)))
        return 0
    print("| pairs | labeller | threads | pairs/s | pairs a CPU second | tokens/s | memory, MB |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for kind in ("short", "long"):
        for threads in options.threads or (1, 2):
            pace = {}
            for model in ("", *([options.beside] if options.beside else [])):
                command = [sys.executable, __file__, "--pairs", str(options.pairs)]
                command += [
                    *which,
                    "--few",
                    str(options.few),
                    "--measure",
                    kind,
                    str(threads),
                    model,
                ]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                row = json.loads(done.stdout)
                pace[model] = row["pairs"]
                print(
                    f"| {kind} | {model or judge.name} | {threads} | {row['pairs']:.3g} | "
                    f"{row['busy']:.3g} | {row['tokens']:,.0f} | {row['memory']:.0f} |",
                    flush=True,
                )
            if options.beside:
                print(f"{kind}, {threads} threads: {pace[''] / pace[options.beside]:.0f} times")
    return 0


def measured(
    kind: str, threads: int, count: int, model: str, judge: JudgePackage
) -> dict[str, float]:
    inputs = Evaluation.open(Folder.open(FILMS), R2C2, None).inputs
    units = [
        request.content for request in requests_of(ENTAILMENT, nuggets_asked(inputs.answers()))
    ]
    requests = []
    for number in range(count):
        unit = units[number % len(units)]
        passage, at = str(unit["passage"]), number
        while kind == "long" and len(passage.split()) < LONG_WORDS:
            at += 7
            passage += f" {units[at % len(units)]['passage']}"
        made = EntailmentUnit(passage=f"{passage} ({number})", nugget=str(unit["nugget"]))
        requests.append(Request(ENTAILMENT, made))
    return asyncio.run(timed(requests, labeller(threads, model, judge)))


def labeller(threads: int, model: str, judge: JudgePackage) -> Labeller:
    if not model:
        return JudgeLabeller(judge, threads=threads)
    return EmbeddedLabeller(model, Renderer(), threads=threads)


async def timed(requests: list[Request], asked: Labeller) -> dict[str, float]:
    async with asked:
        await asked.label(requests[0])
        started, busy = time.perf_counter(), time.process_time()
        if isinstance(asked, JudgeLabeller):
            outcomes = await asyncio.gather(*(asked.label(request) for request in requests))
        else:
            outcomes = [await asked.label(request) for request in requests[1:]]
        seconds, busy = time.perf_counter() - started, time.process_time() - busy
    found = [outcome for outcome in outcomes if outcome is not None]
    read = sum(outcome.tokens_in or 0 for outcome in found)
    status = Path("/proc/self/status").read_text()
    peak = int(status.partition("VmHWM:")[2].split()[0]) / 1024
    return {
        "pairs": len(found) / seconds, "busy": len(found) / busy,
        "tokens": read / seconds, "memory": peak,
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
