"""Ask a language model about the pairs on which training/evaluate.py compares it with the judge.

    python training/beside.py --data FOLDER --shared ../shared/data --margins MARGINS.jsonl

Those are the pairs of calibration/ and further ones from the test groups: whether a passage answers
a question, for calibration/ has fewer than 300 of them. MARGINS.jsonl is written as by
calibration/fit_embedded.py: what is known is not asked again, answers are kept as they come.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from rows import Row, read_split

sys.path.append(str(Path(__file__).parents[1] / "calibration"))
from fit_embedded import collect
from pairs import Pair, all_pairs, balanced

from assay.labellers.gguf import GgufEngine
from assay.labellers.models import fetch_model
from assay.tasks.rendering import Renderer

SOURCES = ("qnli", "selqa", "squad2")
EACH = 30
"""Pairs of a source, half of them answered, at most two of a passage."""
LENGTHS = range(30, 701)
"""Characters of a passage: a language model takes a second for every hundred tokens."""


def compared(shared: Path, data: Path) -> list[Pair]:
    """Every pair that is compared on, always the same ones in the same order."""
    known = all_pairs(shared)
    return [*known, *further(read_split(data, "test"), known)]


def further(rows: Iterable[Row], known: Iterable[Pair]) -> list[Pair]:
    """Pairs of test groups, none of whose questions or passages is among ``known``."""
    used = {str(text) for pair in known for text in (pair.group, pair.context.get("nugget"))}
    fresh: dict[str, list[dict[str, str | float]]] = {source: [] for source in SOURCES}
    for row in rows:
        texts = {row.claim, row.passage}
        if row.source in fresh and len(row.passage) in LENGTHS and not texts & used:
            fresh[row.source].append({"q": row.claim, "p": row.passage, "label": row.label})
    found = []
    for source, own in fresh.items():
        for row in balanced(own, EACH, f"further {source}", per_group="p"):
            unit = {"question": row["q"], "answer": "", "gold": [], "nuggets": [row["p"]]}
            context = {"nugget": row["p"], "number": 1}
            key, label = "r2c2.answer/helped", row["label"] == 1.0
            found.append(Pair(key, "r2c2.answer", "helped", source, row["q"], unit, label, context))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of prepare.py")
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--margins", type=Path, required=True)
    parser.add_argument("--model", default="qwen2.5-1.5b", help="a known name or a GGUF file")
    options = parser.parse_args()
    model = fetch_model(options.model, lambda what, done, size: print(what, done, size))
    engine = GgufEngine(model.path)
    try:
        scored = collect(
            compared(options.shared, options.data), Renderer(), engine, options.margins
        )
    finally:
        engine.close()
    print(f"The margins of {len(scored)} pairs are in {options.margins}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
