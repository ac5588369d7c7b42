"""Whether ``assay judge --dry-run`` foretold what judging came to, within a tolerance.

Run after judging: ``python calibration/check_estimate.py examples/films [--tolerance 0.1]``.
Compares what the ledger holds, a task at a time (questions, tokens read, tokens written), with the
dry run of a copy of the folder without its ledger, and with that of a copy of which half of the
questions is judged, added to what that half took. Exit status 1 where one is
further off. How much answers read is told after the half alone: they are asked beside their
entailed nuggets, and how many a labeller takes for entailed is not known before it was asked (of
films' people take .76, judge 6 takes .66; the first dry run takes .75). Where labels of nuggets
failed so is how many answers are asked: those of such nuggets wait.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

TASKS = {"bogus nuggets": "r2c2.entailment", "answers": "r2c2.answer"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tolerance", type=float, default=0.1)
    options = parser.parse_args()
    came = spent(options.folder)
    too_far = False
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name) / "copy"
        ignore = shutil.ignore_patterns("out", "build", "labels.sqlite*")
        shutil.copytree(options.folder, copy, ignore=ignore)
        ahead = assay("judge", copy, "--dry-run")["ahead"]
        too_far |= is_off("from nothing", ahead, {}, came, options.tolerance)
        assay("judge", copy, "--shard", "1/2", fine=(0, 1))  # 1: answers wait for the other half
        ahead = assay("judge", copy, "--dry-run")["ahead"]
        too_far |= is_off("after a half", ahead, spent(copy), came, options.tolerance)
    return int(too_far)


def spent(folder: Path) -> dict[str, Counter[str]]:
    """By task what its labels took, also those that failed, and how many of them did."""
    found: dict[str, Counter[str]] = {}
    for row in assay("labels", "stats", folder):
        own = found.setdefault(row["task"], Counter())
        own.update({name: row[name] or 0 for name in ("labels", "tokens_in", "tokens_out")})
        own["failed"] += row["labels"] if row["status"] == "failed" else 0
    return found


def is_off(
    when: str,
    ahead: Any,
    before: dict[str, Counter[str]],
    came: dict[str, Counter[str]],
    tolerance: float,
) -> bool:
    """Prints what was foretold, with what was spent ``before``, beside what it came to. Whether
    one is further off than the tolerance."""
    too_far = False
    for row in ahead:
        task = TASKS.get(row["task"], "")
        if task not in came:
            continue
        pairs = (("to_ask", "labels"), ("tokens_in", "tokens_in"), ("tokens_out", "tokens_out"))
        for foretold, name in pairs:
            told = row[foretold] + (before[task][name] if task in before else 0)
            real = came[task][name]
            if not told and not real:  # an encoder writes nothing
                continue
            off = told / real - 1 if real else float("inf")
            waits = name == "tokens_in" or came[TASKS["bogus nuggets"]]["failed"]
            known = bool(before) or row["task"] != "answers" or not waits
            too_far |= known and abs(off) > tolerance
            print(f"{when:12} {row['task']:14} {name:10} {told:>8,} {real:>8,} {off:+.1%}")
    return too_far


def assay(*arguments: object, fine: tuple[int, ...] = (0,)) -> Any:
    command = [sys.executable, "-m", "assay.cli.main", *map(str, arguments), "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in fine:
        raise SystemExit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


if __name__ == "__main__":
    sys.exit(main())
