"""Make the pairs of the third training, which is about texts unlike those of the first two: the
sources that came later, long passages, sentences taken over word for word, and attacks.

    python training/broaden.py --shared ../shared/data --start FOLDER --out FOLDER

``half.npz`` leaves the sources of ``LATER`` out, so that what a training with it is worth on
sources never seen can be measured on them; ``later.npz``, with which the training goes on, has them
and some of the others.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from attacks import TRAINED, shuffled, within
from augment import Augmenter
from prepare import FIRST_TOKENS, WINDOW, assign, choose, load, store
from rows import Row
from tokenizers import Tokenizer

from assay.labellers.judge.evidence import nearest
from assay.labellers.judge.texts import sentences

OLD = {
    "snli": (160, 100), "cad_nli": (160, 100), "breaking_nli": (60, 40),
    "med_monotonicity": (100, 100), "fever": (200, 200), "fever_symmetric": (150, 150),
    "factcheck_gpt": (150, 150), "wice": (0, 150), "squad2": (220, 220), "disfl_qa": (180, 180),
    "qnli": (110, 110), "selqa": (140, 120), "evouna": (200, 200), "semeval2013_sra": (160, 140),
    "truthfulqa_judge": (150, 150),
}  # fmt: skip
NEW = {"bump": (450, 450), "contract_nli": (350, 350), "infotabs": (800, 800)}
LATER = {
    "summedits": (900, 800), "defacto": (600, 600), "fib": (450, 350), "covid_qa": (700, 700),
    "pubmedqa": (300, 300),
}  # fmt: skip
"""Pairs of a source, (label 0, label .5 or 1)."""
MADE = {
    "verbatim": 500, "verbatim spoilt": 500, "two sentences": 250, "two sentences spoilt": 250,
    "attacked passages": 800, "attacked answers": 220, "swapped": 350, "beside": 300,
    "stranger": 150,
}  # fmt: skip


class Broadener:
    """Draws from ``rows`` (training rows only)."""

    def __init__(self, rows: list[Row], tokenizer: Tokenizer, chance: random.Random) -> None:
        self.chance, self.tokenizer = chance, tokenizer
        self.maker = Augmenter(rows, chance)
        self.long = sorted({r.passage for r in rows if 500 < len(r.passage) < 6000})

    def made(self, rows: list[Row], share: float) -> list[Row]:
        """``rows`` and ``share`` of what is made of them, cut to a window and shuffled."""
        claims = [row for row in rows if row.ability == "E" and row.passage]
        passages = [row for row in rows if row.ability != "C" and row.passage]
        answers = [row for row in rows if row.source == "evouna"]
        makers: dict[str, tuple[list[Row], Callable[[Row], Row | None]]] = {
            "verbatim": (claims, lambda row: self.taken_over(row, 1, spoil=False)),
            "verbatim spoilt": (claims, lambda row: self.taken_over(row, 1, spoil=True)),
            "two sentences": (claims, lambda row: self.taken_over(row, 2, spoil=False)),
            "two sentences spoilt": (claims, lambda row: self.taken_over(row, 2, spoil=True)),
            "attacked passages": (passages, self.attacked),
            "attacked answers": (answers, self.attacked_answer),
            "swapped": (claims, self.maker.swapped_claim),
            "beside": (claims, self.maker.beside),
            "stranger": (passages, self.maker.stranger),
        }
        found = list(rows)
        for name, (some, make) in makers.items():
            found += self.maker.some(some, round(share * MADE[name]), make)
        found = [self.cut(row) for row in found]
        self.chance.shuffle(found)
        return found

    def taken_over(self, _row: Row, count: int, *, spoil: bool) -> Row | None:
        """``count`` sentences of a long passage as a claim on it; ``spoil``: a name or number of
        one of them is another one of the passage's."""
        passage = self.chance.choice(self.long)
        parts = [one for one in sentences(passage) if 6 <= len(one.split()) <= 32]
        if len(parts) < count + 2:
            return None
        at = self.chance.randrange(len(parts) - count + 1)
        taken = parts[at : at + count]
        if spoil:
            place = self.chance.randrange(count)
            other = self.maker.swapped(taken[place], passage)
            if other is None:
                return None
            taken[place] = other
        # Of two sentences one still stands in the passage.
        label = (0.5 if count > 1 else 0.0) if spoil else 1.0
        claim = " ".join(taken)
        return Row("", "E", "made_verbatim", "made", claim, passage, label)

    def attacked(self, row: Row) -> Row | None:
        """The claim's or question's words where they support and answer nothing: in a passage of
        something else, or beside what is judged, whose label stays."""
        chance = self.chance
        kinds = ["shuffled", "asked", "denied", "supposed", "praised"]
        if row.ability == "A":
            kinds = ["shuffled", "praised for a question"]
        kind = chance.choice(kinds)
        if kind == "shuffled":
            extra = shuffled(row.claim, chance)
        else:
            extra = within(chance.choice(TRAINED[kind]), row.claim)
        # Beside a passage that supports it, a denial would make the label doubtful.
        keep = chance.random() < (0.5 if row.label == 0 else 0.25) and kind != "denied"
        passage = row.passage if keep else chance.choice(self.maker.passages)
        spots = sentences(passage)
        spots.insert(chance.randrange(len(spots) + 1), extra)
        label = row.label if keep else 0.0
        return replace(row, passage=" ".join(spots), label=label, source="made_attacked")

    def attacked_answer(self, row: Row) -> Row | None:
        if not row.gold:
            return None
        kind = self.chance.choice(("denied answer", "several answers", "declined"))
        wording = self.chance.choice(TRAINED[kind])
        gold, other = self.chance.choice(row.gold), self.chance.choice(self.maker.names)
        claim = wording.replace("{gold}", gold).replace("{other}", other)
        return replace(row, claim=claim, label=0.0, source="made_attacked")

    def cut(self, row: Row) -> Row:
        """A passage that is too long for a window is cut to the sentences nearest to the claim, as
        many as there is room for, in their order."""
        if row.ability == "C":
            return row
        first, second = row.texts()
        counted = self.tokenizer.encode_batch([first, second], add_special_tokens=False)
        own, whole = (len(one.ids) for one in counted)
        room = WINDOW - 3 - min(own, FIRST_TOKENS)
        if whole <= room:
            return row
        parts = sentences(row.passage)
        sizes = [
            len(one.ids) for one in self.tokenizer.encode_batch(parts, add_special_tokens=False)
        ]
        kept: list[int] = []
        for place in nearest(parts, first, len(parts)):
            if sizes[place] <= room:
                kept.append(place)
                room -= sizes[place]
        return replace(row, passage=" ".join(parts[place] for place in sorted(kept)))


def part_of(plan: dict[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """A third of ``plan``."""
    return {source: (no // 3, yes // 3) for source, (no, yes) in plan.items()}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--shared", type=Path, required=True, help="folder with judge/")
    parser.add_argument("--start", type=Path, required=True, help="folder with tokenizer.json")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=11)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rows = [row for row in load(options.shared) if row.claim.strip()]
    split = assign(rows, options.shared)
    tokenizer = Tokenizer.from_file(str(options.start / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    report: dict[str, Counter[str]] = {}
    plans: Sequence[tuple[str, dict[str, tuple[int, int]]]] = (
        ("half", {**OLD, **NEW}), ("later", {**part_of(OLD), **part_of(NEW), **LATER}),
    )  # fmt: skip
    for number, (name, plan) in enumerate(plans):
        train = [row for row in rows if split[row.id] == "train" and row.source in plan]
        chosen = choose(train, plan, random.Random(options.seed + number))
        chance = random.Random(f"{options.seed} {name}")
        share = 1.0 if name == "half" else 0.5
        made = Broadener(train, tokenizer, chance).made(chosen, share)
        report[name] = store(made, tokenizer, options.out / f"{name}.npz")
    print(json.dumps(report, indent=1, sort_keys=True))
    return 0


if __name__ == "__main__":
    sys.exit(main())
