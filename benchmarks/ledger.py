"""The ledger at scale: labels inserted, keys looked up, labels read, size of the file.

Run: ``python benchmarks/ledger.py [--labels N] [--keys K] [--batch B] [--keep FOLDER]``. Three
labellers, one after the other, give N labels in all to the same units (a passage of some 30 words
and a nugget of 10); a label has a reason of a sentence, tokens, cost and time. Inserts are in
transactions of B.
"""

from __future__ import annotations

import argparse
import random
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from assay.ledger import Ledger, NewLabel
from assay.model.labels import LabellerId, Status
from assay.tasks.base import content_hash, unit_hash

WORDS = "film actor director year city star role scene music award story sequel studio".split()
LABELLERS = [LabellerId(f"openai:{m}", "model", {"model": m}) for m in ("alpha", "beta", "gamma")]
TASK = "r2c2.entailment"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--labels", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--keep", type=Path, help="folder to leave the ledger in")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        path = (options.keep or Path(name)) / "labels.sqlite"
        measure(path, options.labels, options.keys, options.batch)


def measure(path: Path, labels: int, keys: int, batch: int) -> None:
    with Ledger.open(path) as ledger:
        spent = last = 0.0
        waiting: list[NewLabel] = []
        for number, label in enumerate(made(labels), 1):
            waiting.append(label)
            if len(waiting) == batch:
                started = time.perf_counter()
                ledger.add(waiting)
                spent += time.perf_counter() - started
                waiting = []
            if number % max(1, labels // 10) == 0:
                now = labels / 10 / (spent - last)
                print(f"  {number:,} labels, {now:,.0f}/s lately", flush=True)
                last = spent
        ledger.add(waiting)
        print(f"insert: {labels:,} labels, {labels / spent:,.0f}/s in transactions of {batch}")
    size = path.stat().st_size
    print(f"file: {size / 1e9:.2f} GB, {size / labels:.0f} bytes a label")
    hashes = [unit for unit, _ in units_of(labels)]
    draw = random.Random(1)
    asked = [
        (unit, key_of(who, unit))
        for who in (LABELLERS[0].name, "another")
        for unit in draw.sample(hashes, min(keys // 2, len(hashes)))
    ]
    keys = len(asked)
    with Ledger.open(path) as ledger:
        started = time.perf_counter()
        known = ledger.statuses(asked)
        took = time.perf_counter() - started
        print(f"look-up: {keys:,} keys, {len(known):,} of them known, {took:.1f} s")
        started = time.perf_counter()
        count = sum(1 for _ in ledger.labels([TASK]))
        print(f"read: {count:,} labels in {time.perf_counter() - started:.1f} s")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(f"peak memory {peak:.0f} MB")


def key_of(labeller: str, unit: str) -> str:
    return content_hash(f"{labeller} {unit}".encode())


def units_of(labels: int) -> Iterator[tuple[str, dict[str, str]]]:
    """The units, each with its hash, that so many labels are about."""
    draw = random.Random(2)
    for number in range(labels // len(LABELLERS)):
        content = {
            "nugget": " ".join(draw.choices(WORDS, k=10)),
            "passage": " ".join(draw.choices(WORDS, k=30)) + f" {number}",
        }
        yield unit_hash(TASK, content), content


def made(labels: int) -> Iterator[NewLabel]:
    """Labels of three labellers."""
    draw = random.Random(0)
    for who in LABELLERS:
        for unit, content in units_of(labels):
            entailed = draw.random() < 0.7
            reason = " ".join(draw.choices(WORDS, k=12))
            yield NewLabel(
                key=key_of(who.name, unit),
                task=TASK,
                version="1",
                unit=unit,
                content=content,
                labeller=who,
                status=Status.OK,
                verdict={"reason": reason, "entailed": entailed},
                reason=reason,
                tokens_in=300,
                tokens_out=30,
                cost=0.00084,
                seconds=0.731,
            )


if __name__ == "__main__":
    main()
