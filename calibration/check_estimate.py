"""Whether ``assay judge --dry-run`` foretold what judging came to, within a tolerance.

Run after judging: ``python calibration/check_estimate.py examples/films [--tolerance 0.1]``.
Compares the dry run of a copy of the folder without its ledger with what the ledger holds, a task
at a time: questions, tokens read, tokens written. Exit status 1 where one is further off, by more
than the tolerance; tokens that answers read may be foretold too high by ``--above``: answers are
asked beside their entailed nuggets, of which the dry run takes .75 for entailed, as people do in
films (.76), and a stricter labeller (judge 5: .57) reads less.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

TASKS = {"bogus nuggets": "r2c2.entailment", "answers": "r2c2.answer"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tolerance", type=float, default=0.1)
    parser.add_argument("--above", type=float, default=0.25)
    options = parser.parse_args()
    spent = {row["task"]: row for row in assay("labels", "stats", options.folder)}
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name) / "copy"
        ignore = shutil.ignore_patterns("out", "build", "labels.sqlite*")
        shutil.copytree(options.folder, copy, ignore=ignore)
        ahead = assay("judge", copy, "--dry-run")["ahead"]
    too_far = False
    for row in ahead:
        real = spent.get(TASKS.get(row["task"], ""))
        if real is None:
            continue
        pairs = (("to_ask", "labels"), ("tokens_in", "tokens_in"), ("tokens_out", "tokens_out"))
        for foretold, came in pairs:
            if not row[foretold] and not real[came]:  # an encoder writes nothing
                continue
            off = row[foretold] / real[came] - 1 if real[came] else float("inf")
            assumed = (row["task"], came) == ("answers", "tokens_in")
            above = options.above if assumed else options.tolerance
            too_far |= not -options.tolerance <= off <= above
            print(f"{row['task']:14} {came:10} {row[foretold]:>8,} {real[came]:>8,} {off:+.1%}")
    return int(too_far)


def assay(*arguments: object) -> Any:
    command = [sys.executable, "-m", "assay.cli.main", *map(str, arguments), "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


if __name__ == "__main__":
    sys.exit(main())
