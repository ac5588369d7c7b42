"""Split the folder of labelled pairs, and write the calibration and test pairs of the judge.

    python training/prepare.py --shared ../shared/data --out FOLDER

Pairs that share a premise, paragraph, question or sentence are one group, and a group is in one
split only: 80 % of the groups train, 8 % calibrate, 12 % test. WiCE's dev claims, OpenQA-eval and
ConjNLI are never trained or tuned on, nor is any group that calibration/pairs.py measures the
embedded language models on. Of what was written for the judge an eighth is tested on, too.
Everything is drawn with fixed seeds.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from augment import Augmenter
from grammar import Framer, Grammar
from rows import Row
from written import written

sys.path.append(str(Path(__file__).parents[1] / "calibration"))
from pairs import all_pairs, read_rows

UNSEEN = ("openqa_eval", "conjnli")
"""Sources that are only tested on; WiCE's dev rows are too."""
LATER = (
    "bump", "contract_nli", "covid_qa", "defacto", "fib", "infotabs", "pubmedqa", "summedits",
)  # fmt: skip
"""Sources whose dev part is what is tested on."""


def key(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


class Groups:
    """Disjoint sets of texts that belong together."""

    def __init__(self) -> None:
        self.parent: dict[str, str] = {}

    def find(self, item: str) -> str:
        root = item
        while self.parent.setdefault(root, root) != root:
            root = self.parent[root]
        while self.parent[item] != root:
            self.parent[item], item = root, self.parent[item]
        return root

    def join(self, one: str, other: str) -> None:
        self.parent[self.find(one)] = self.find(other)


def load(shared: Path) -> list[Row]:
    rows = []
    for path in sorted((shared / "judge").glob("*.jsonl.gz")):
        for raw in read_rows(path):
            rows.append(as_row(raw))
    return rows


def as_row(raw: dict[str, Any]) -> Row:
    gold = raw.get("gold", "")
    source = raw["source"].replace("squad2_dev", "squad2")
    # EVOUNA and OpenQA-eval separate aliases by a slash, SemEval its reference answers by " / ".
    parts = gold.split("/" if source in ("evouna", "openqa_eval") else " / ")
    return Row(
        id=raw["id"], ability=raw["ability"], source=source, split=raw["split"],
        claim=raw["hypothesis"], passage=raw["premise"], label=raw["label"],
        question=raw.get("question") or "", gold=tuple(p.strip() for p in parts if p.strip()),
    )  # fmt: skip


def group_keys(row: Row) -> list[str]:
    if row.source == "semeval2013_sra":  # many of its questions are "Explain your reasoning."
        return [f"c:{key(row.question)} {key(' '.join(row.gold))}"]
    if row.ability == "C":
        return [f"c:{key(row.question)}"]
    if row.source == "selqa":
        # Its questions come in two wordings; the sentence that answers is the same.
        answer = [f"p:{key(row.passage)}"] if row.label == 1.0 else []
        return [f"q:{key(row.claim)}", *answer]
    if row.source == "med_monotonicity":  # asked in both directions
        return [f"p:{key(row.passage)}", f"p:{key(row.claim)}"]
    if row.source in ("factcheck_gpt", "cad_nli", "wice", "fever", "fever_symmetric"):
        return [f"p:{key(row.passage)}", f"h:{row.source[:5]}:{key(row.claim)}"]
    return [f"p:{key(row.passage)}"]


def grouped(rows: list[Row]) -> dict[str, str]:
    """Group of every row's id."""
    groups = Groups()
    for row in rows:
        first, *others = group_keys(row)
        groups.find(first)
        for other in others:
            groups.join(first, other)
    # QNLI's sentences are of SQuAD's paragraphs.
    paragraphs = {key(r.passage) for r in rows if r.source in ("squad2", "disfl_qa")}
    text = "\n".join(sorted(paragraphs))
    starts = np.cumsum([0] + [len(p) + 1 for p in sorted(paragraphs)])
    ordered = sorted(paragraphs)
    for sentence in {key(r.passage) for r in rows if r.source == "qnli"}:
        at = text.find(sentence)
        if at >= 0:
            place = int(np.searchsorted(starts, at, side="right")) - 1
            groups.join(f"p:{sentence}", f"p:{ordered[place]}")
    return {row.id: groups.find(group_keys(row)[0]) for row in rows}


def split_of(group: str) -> str:
    number = int.from_bytes(hashlib.sha256(f"split:{group}".encode()).digest()[:4]) / 2**32
    return "test" if number < 0.12 else "calib" if number < 0.20 else "train"


def assign(rows: list[Row], shared: Path) -> dict[str, str]:
    """Split of every row's id."""
    group = grouped(rows)
    measured = set()
    for pair in all_pairs(shared):
        measured.update(key(str(v)) for k, v in pair.unit.items() if k in ("passage", "question"))
        measured.update(key(n) for n in pair.unit.get("nuggets", ()))
    kept = {
        group[row.id]
        for row in rows
        if row.source in UNSEEN
        or (row.source == "wice" and row.split == "dev")
        or key(row.passage) in measured
        or key(row.question) in measured
        or (row.ability == "A" and key(row.claim) in measured)
    }
    kept.discard(group_of_nothing(rows, group))
    # Sources that came later are cut by document already: what is their dev part is test here.
    return {
        row.id: "test"
        if group[row.id] in kept or (row.source in LATER and row.split == "dev")
        else "train"
        if row.source in LATER and split_of(group[row.id]) == "test"
        else split_of(group[row.id])
        for row in rows
    }


def group_of_nothing(rows: Iterable[Row], group: dict[str, str]) -> str:
    """The group of rows with an empty key, which are no group at all."""
    return next((group[row.id] for row in rows if group_keys(row)[0] in ("p:", "c:", "q:")), "")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--shared", type=Path, required=True, help="folder with judge/")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=5)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rows = [row for row in load(options.shared) if row.claim.strip()]
    split = assign(rows, options.shared)
    largest = Counter(grouped(rows).values()).most_common(5)
    print("largest groups:", largest)
    report = {"splits": Counter(f"{r.source} {split[r.id]}" for r in rows)}
    for name in ("calib", "test"):
        own = [row for row in rows if split[row.id] == name]
        people = list(own)
        own += made_ones(people, random.Random(f"{options.seed} {name}"))
        if name == "calib":
            own += framed_ones(people, random.Random(f"{options.seed} framed"))
        else:
            texts = written(Path(__file__).parent / "written")
            own += [
                replace(row, source=f"made_{row.source}", split="made")
                for row in texts
                if row.split == "held"
            ]
        with (options.out / f"{name}.jsonl").open("w", encoding="utf-8") as stream:
            for row in own:
                stream.write(json.dumps(row.__dict__, ensure_ascii=False) + "\n")
    (options.out / "prepared.json").write_text(json.dumps(report, indent=1, sort_keys=True))
    print(json.dumps(report, indent=1, sort_keys=True))
    return 0


def made_ones(rows: list[Row], chance: random.Random) -> list[Row]:
    """Pairs made of ``rows``, as sources of their own whose names begin with ``made_``: two claims
    or questions in one, names and numbers swapped, tries to fool the judge, and two claims beside
    the premises of both."""
    maker = Augmenter(rows, chance)
    real = [row for row in rows if row.source != "selqa" and row.passage]
    questions = [row for row in rows if row.source in ("squad2", "qnli", "selqa")]
    answers = [row for row in rows if row.source == "evouna"]
    groups = {
        "joined": [
            *maker.some([r for r in real if r.ability == "E"], 250, maker.joined),
            *maker.some([r for r in real if r.ability == "A"], 250, maker.joined),
            *maker.some(answers, 250, maker.joined_answers),
        ],
        "swapped": [
            *maker.some(real, 250, maker.swapped_claim),
            *maker.some(questions, 150, maker.swapped_question),
            *maker.some(answers, 150, maker.swapped_answer),
        ],
        "attacked": [
            *maker.some(real, 300, maker.attacked),
            *maker.some(answers, 150, maker.attacked),
        ],
        "beside": maker.some([r for r in real if r.ability == "E"], 300, maker.beside),
    }
    return [
        replace(row, source=f"made_{kind}", split="made") for kind in groups for row in groups[kind]
    ]


def framed_ones(rows: list[Row], chance: random.Random) -> list[Row]:
    """Attacks, and what looks like them, made of ``rows`` in wordings never trained on."""
    framer = Framer(rows, Augmenter(rows, chance), Grammar(chance, held=True))
    return [replace(row, split="made") for row in framer.rows(120, 60, 120)]


if __name__ == "__main__":
    sys.exit(main())
