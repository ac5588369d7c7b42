"""Make the pairs of the third training, which is about texts unlike those of the first two: the
sources that came later, long passages, sentences taken over word for word, and attacks; and those
of the fourth, which gives plain pairs back what the third took from them.

    python training/broaden.py --shared ../shared/data --start FOLDER --out FOLDER [--judge ONNX]

Of claims with a name or number swapped those are taken that ``--judge`` is surest are supported.

``half.npz`` leaves the sources of ``LATER`` out, so that what a training with it is worth on
sources never seen can be measured on them; ``later.npz``, with which the training goes on, has them
and some of the others. ``plain.npz`` has mostly people's pairs of all sources, few attacks, and the
small changes of ``connectives.py``.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from augment import Augmenter
from connectives import Connector
from grammar import Framer, Grammar
from prepare import FIRST_TOKENS, WINDOW, assign, choose, load, store
from readings import margins
from rows import Row
from tokenizers import Tokenizer

from assay.labellers.judge.evidence import nearest
from assay.labellers.judge.model import Network
from assay.labellers.judge.texts import sentences

OLD = {
    "snli": (400, 250), "cad_nli": (400, 250), "breaking_nli": (120, 80),
    "med_monotonicity": (220, 220), "fever": (450, 450), "fever_symmetric": (300, 300),
    "factcheck_gpt": (300, 300), "wice": (0, 250), "squad2": (500, 500), "disfl_qa": (400, 400),
    "qnli": (240, 240), "selqa": (320, 240), "evouna": (450, 550), "semeval2013_sra": (400, 340),
    "truthfulqa_judge": (350, 350),
}  # fmt: skip
NEW = {"bump": (450, 450), "contract_nli": (350, 350), "infotabs": (800, 800)}
LATER = {
    "summedits": (900, 800), "defacto": (600, 600), "fib": (450, 350), "covid_qa": (700, 700),
    "pubmedqa": (300, 300),
}  # fmt: skip
"""Pairs of a source, (label 0, label .5 or 1)."""
PLAIN = {
    "snli": (800, 600), "cad_nli": (700, 450), "breaking_nli": (200, 120),
    "med_monotonicity": (400, 400), "fever": (800, 800), "fever_symmetric": (300, 300),
    "factcheck_gpt": (400, 400), "wice": (0, 270), "squad2": (800, 800), "disfl_qa": (550, 550),
    "qnli": (400, 400), "selqa": (500, 400), "evouna": (900, 1100),
    "semeval2013_sra": (1300, 1050), "truthfulqa_judge": (1250, 1200), "bump": (450, 450),
    "contract_nli": (300, 300), "infotabs": (600, 600), "summedits": (500, 450),
    "defacto": (500, 500), "fib": (400, 330), "covid_qa": (450, 450), "pubmedqa": (200, 200),
}  # fmt: skip
"""Of the fourth training."""
MADE = {
    "verbatim": 500,
    "verbatim spoilt": 500,
    "two sentences": 250,
    "two sentences spoilt": 250,
    "swapped": 1500,
    "beside": 300,
    "stranger": 150,
}
FRAMED = {"half": (5200, 1400, 3400), "later": (2600, 700, 1700), "plain": (3900, 600, 2600)}
"""Pairs with a claim, a question or an answer in a wording of the grammar."""
CONNECTED = 5000
"""Pairs of connectives.py in the fourth training."""
CANDIDATES = 2
"""Swapped claims of which one is taken."""  # fmt: skip


class Broadener:
    """Draws from ``rows`` (training rows only)."""

    def __init__(
        self,
        rows: list[Row],
        tokenizer: Tokenizer,
        chance: random.Random,
        judge: Network | None = None,
    ) -> None:
        self.chance, self.tokenizer, self.judge = chance, tokenizer, judge
        self.maker = Augmenter(rows, chance)
        self.framer = Framer(rows, self.maker, Grammar(chance, held=False))
        self.connector = Connector(rows, self.framer)
        self.supported: dict[str, list[Row]] = defaultdict(list)
        for row in rows:
            if row.ability == "E" and row.label == 1.0 and len(row.passage) < 900:
                self.supported[row.source].append(row)
        self.long = sorted({r.passage for r in rows if 500 < len(r.passage) < 6000})

    def made(self, rows: list[Row], training: str) -> list[Row]:
        """``rows`` and what ``training`` (half, later, plain) makes of them, cut to a window and
        shuffled."""
        share = 0.5 if training == "later" else 1.0
        claims = [row for row in rows if row.ability == "E" and row.passage]
        passages = [row for row in rows if row.ability != "C" and row.passage]
        makers: dict[str, tuple[list[Row], Callable[[Row], Row | None]]] = {
            "verbatim": (claims, lambda row: self.taken_over(row, 1, spoil=False)),
            "verbatim spoilt": (claims, lambda row: self.taken_over(row, 1, spoil=True)),
            "two sentences": (claims, lambda row: self.taken_over(row, 2, spoil=False)),
            "two sentences spoilt": (claims, lambda row: self.taken_over(row, 2, spoil=True)),
            "beside": (claims, self.maker.beside),
            "stranger": (passages, self.maker.stranger),
        }
        found = list(rows)
        for name, (some, make) in makers.items():
            found += self.maker.some(some, round(share * MADE[name]), make)
        found += self.swapped(round(share * MADE["swapped"]))
        found += self.framer.rows(*FRAMED[training], plain=training == "plain")
        if training == "plain":
            found += self.connector.rows(CONNECTED)
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

    def swapped(self, count: int) -> list[Row]:
        """``count`` supported claims with a name or number swapped, or two names with each other,
        of all sources: of several times as many those that the judge is surest are supported. A
        third as many are left as they are, so that names are not what tells."""

        def make(row: Row) -> Row | None:
            turned = roles(row.claim) if self.chance.random() < 0.3 else None
            claim = turned or self.maker.swapped(row.claim, row.passage)
            return replace(row, claim=claim, label=0.0) if claim else None

        wanted = count * CANDIDATES if self.judge else count
        each = -(-wanted // len(self.supported)) * 2
        fakes = [
            self.cut(row)
            for source in sorted(self.supported)
            for row in self.maker.some(self.supported[source], each, make)
        ]
        fakes = self.chance.sample(fakes, min(wanted, len(fakes)))
        if self.judge and fakes:
            sure = margins(self.judge, fakes)
            fakes = [fakes[at] for at in np.argsort(-sure, kind="stable")[:count]]
        else:
            fakes = fakes[:count]
        known = {row.id for row in fakes}
        whole = [row for own in self.supported.values() for row in own if row.id in known]
        whole = self.chance.sample(whole, min(len(whole), count // 3))
        return [replace(row, source="made_swapped") for row in (*fakes, *whole)]

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


_NAME = re.compile(r"(?:^|(?<= ))[A-Z][\w’-]+(?: (?:of |the |de |van )?[A-Z][\w’-]+)*")
_ALIKE = re.compile(
    r"\b(?:and|or|with|both|between|versus|met|married|wife|husband|brothers?|sisters?|friends?|"
    r"co-\w+|same|equal|like|near)\b"
)


def roles(claim: str) -> str | None:
    """``claim`` with two of its names in each other's place; None where it has not two, or says
    what may hold both ways."""
    names = [spot for spot in _NAME.finditer(claim) if spot.start() or " " in spot.group()]
    if len(names) < 2 or _ALIKE.search(claim) or names[0].group() == names[1].group():
        return None
    one, two = names[:2]
    return "".join(
        (claim[: one.start()], two.group(), claim[one.end() : two.start()], one.group(),
         claim[two.end() :])
    )  # fmt: skip


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
    parser.add_argument("--judge", type=Path, help="an exported judge, which finds hard pairs")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--only", help="of half, later and plain, one that is to be made alone")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rows = [row for row in load(options.shared) if row.claim.strip()]
    split = assign(rows, options.shared)
    tokenizer = Tokenizer.from_file(str(options.start / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    judge = None
    if options.judge:
        vocabulary = (options.start / "tokenizer.json").read_bytes()
        judge = Network(options.judge.read_bytes(), vocabulary, threads=1)
    report: dict[str, Counter[str]] = {}
    plans: Sequence[tuple[str, dict[str, tuple[int, int]]]] = (
        ("half", {**OLD, **NEW}), ("later", {**part_of(OLD), **part_of(NEW), **LATER}),
        ("plain", PLAIN),
    )  # fmt: skip
    for number, (name, plan) in enumerate(plans):
        if options.only not in (None, name):
            continue
        train = [row for row in rows if split[row.id] == "train" and row.source in plan]
        chosen = choose(train, plan, random.Random(options.seed + number))
        chance = random.Random(f"{options.seed} {name}")
        made = Broadener(train, tokenizer, chance, judge).made(chosen, name)
        report[name] = store(made, tokenizer, options.out / f"{name}.npz")
    print(json.dumps(report, indent=1, sort_keys=True))
    return 0


if __name__ == "__main__":
    sys.exit(main())
