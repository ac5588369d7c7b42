"""Make the goldens anew: ``python tests/golden/make.py [CASE …] [--labels] [--large]``.

Without a name all cases of ``cases.py`` are run and what comes out is written to ``data/``; before
that it says what differs from what was there. Do this only where numbers are meant to change, and
say in the commit which and why.

``--labels`` first asks the embedded judge again about the examples that come without labels
(``labels/``); ``--large`` makes the goldens of ``large.py`` too, of 200,000 labels each (minutes).
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.golden import large, pins
from tests.golden.cases import CASES
from tests.golden.stage import EXAMPLES, LABELS, assay

EMBEDDED = ("films", "trec-rag")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("cases", nargs="*", metavar="CASE", default=[])
    parser.add_argument("--labels", action="store_true", help="ask the embedded judge again")
    parser.add_argument("--large", action="store_true", help="those of 200,000 labels too")
    options = parser.parse_args()
    if options.labels:
        for example in EMBEDDED:
            labels(example)
    for name in options.cases or CASES:
        with tempfile.TemporaryDirectory() as folder:
            made = CASES[name](Path(folder))
        before = pins.read(name) if (pins.DATA / f"{name}.json.xz").exists() else made
        for one in pins.differences(before, made)[:20]:
            print(f"  {one}")
        path = pins.write(name, made)
        print(f"{name}: {len(made)} results, {path.stat().st_size:,} bytes", flush=True)
    if not options.cases:
        large.make(labels=large.SMALL)
    if options.large:
        large.make()


def labels(example: str) -> None:
    """Have the embedded judge label an example, and keep what it says."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / example
        ignored = shutil.ignore_patterns("out", "labels.sqlite*", "build", "wiki")
        shutil.copytree(EXAMPLES / example, folder, ignore=ignored)
        assay("judge", folder, "--json")
        assay("labels", "export", folder, "-o", folder / "all.jsonl")
        rows = [json.loads(line) for line in (folder / "all.jsonl").read_text().splitlines()]
    kept = [
        {key: row[key] for key in ("task", "unit", "verdict")}
        for row in sorted(rows, key=lambda row: (row["task"], row["unit_hash"]))
        if row["labeller"]["kind"] != "rules"
    ]
    for row in kept:
        _without_reasons(row["verdict"])
    LABELS.mkdir(exist_ok=True)
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in kept)
    data = gzip.compress(text.encode("utf-8"), mtime=0)
    (LABELS / f"{example}.jsonl.gz").write_bytes(data)
    print(f"{example}: {len(kept)} labels")


def _without_reasons(verdict: object) -> None:
    if isinstance(verdict, dict):
        verdict.pop("reason", None)
        for one in verdict.values():
            _without_reasons(one)
    elif isinstance(verdict, list):
        for one in verdict:
            _without_reasons(one)


if __name__ == "__main__":
    main()
