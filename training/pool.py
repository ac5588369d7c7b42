"""Make the pool of pairs that the judge is trained on: people's pairs of the training groups, what
is made of them, and pairs that nobody labelled, for a larger network to read.

    python training/pool.py --shared ../shared/data --start FOLDER --out FILE.npz [--part 1]

Every pair is of a kind: its source, or how it was made. How often pairs of a kind are drawn is
``SHARES``'s and ``WRITTEN``'s to say, not how many of them there are; among people's pairs of a
source yes is drawn as often as everything else. How often what was written for the judge is drawn
beside all others is said when a network is trained.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from augment import sentences
from broaden import Broadener
from frames import Twins, framed, frames
from prepare import assign, load
from rows import Row
from tokenizers import Encoding, Tokenizer
from written import written

from assay.labellers.judge.evidence import FIRST_TOKENS, WINDOW

HERE = Path(__file__).parent
MOST = 6000
"""People's pairs of a source and label at most."""
SMALL = 0.55
"""Pairs of a source are drawn in proportion to this power of their number."""
SHARES = {
    "people": 0.50,
    "made_framed claim": 0.13,
    "made_framed question": 0.03,
    "made_framed answer": 0.12,
    "made_connected": 0.08,
    "made_swapped": 0.05,
    "made_verbatim": 0.03,
    "made_mixed": 0.06,
}
"""Of the pairs that have labels and were not written for the judge; ``made_mixed`` is what
augment.py makes."""
WRITTEN = {
    "written claim": 0.28, "written question": 0.14, "written answer": 0.14,
    "written framed claim": 0.26, "written framed answer": 0.18,
}  # fmt: skip
"""Of those that were (written.py, frames.py); of each kind yes is drawn as often as everything
else."""
FRAMED = (24_000, 6_000, 18_000)
CONNECTED = 36_000
SWAPPED = 16_000
VERBATIM = 4_000
MIXED = {
    "claims swapped": 5000, "questions swapped": 5000, "answers swapped": 3000, "joined": 5000,
    "beside": 5000, "joined answers": 2500, "attacked": 4000, "emptied": 400, "stranger": 3500,
}  # fmt: skip
UNLABELLED = 120_000
FRAMES = 16
"""How often every text around a claim or an answer is filled."""


class Stranger:
    """Pairs that nobody labelled: other passages of the source that share words with the claim or
    question, passages with sentences left out, sentences of one passage beside another, answers
    beside each other's."""

    def __init__(self, rows: list[Row], chance: random.Random) -> None:
        self.chance = chance
        self.by_source: dict[str, list[Row]] = defaultdict(list)
        for row in rows:
            if row.passage or row.ability == "C":
                self.by_source[row.source].append(row)
        self.sources = sorted(self.by_source)
        self.words = {
            source: [set(row.passage.casefold().split()) for row in own]
            for source, own in self.by_source.items()
        }
        self.answers: dict[str, list[Row]] = defaultdict(list)
        for row in rows:
            if row.ability == "C":
                self.answers[row.question].append(row)

    def near(self, source: str, text: str, tries: int = 40) -> Row:
        """Of some rows of ``source`` the one whose passage shares most words with ``text``."""
        words = set(text.casefold().split())
        own = self.by_source[source]
        spots = [self.chance.randrange(len(own)) for _ in range(tries)]
        return own[max(spots, key=lambda at: len(words & self.words[source][at]))]

    def one(self) -> Row | None:
        chance = self.chance
        source = chance.choice(self.sources)
        row = chance.choice(self.by_source[source])
        if row.ability == "C":
            return self.answered(row)
        way = chance.random()
        if way < 0.35:
            return replace(row, passage=self.near(source, row.claim).passage)
        parts = sentences(row.passage)
        if way < 0.7:
            if len(parts) < 3:
                return None
            kept = [part for part in parts if chance.random() < 0.65]
            return replace(row, passage=" ".join(kept or parts[:1]))
        said = [part for part in parts if 5 <= len(part.split()) <= 32]
        if row.ability != "E" or not said:
            return None
        claim = chance.choice(said)
        return replace(row, claim=claim, passage=self.near(source, claim).passage)

    def answered(self, row: Row) -> Row | None:
        """Another system's or pupil's answer in place of the gold one, or an answer to another
        question."""
        others = [
            other.claim
            for other in self.answers[row.question]
            if other.claim != row.claim and 0 < len(other.claim) < 300
        ]
        if others and self.chance.random() < 0.7:
            return replace(row, gold=(self.chance.choice(others),))
        other = self.chance.choice(self.by_source[row.source])
        return replace(row, claim=other.claim) if other.question != row.question else None

    def rows(self, count: int) -> Iterator[Row]:
        while count:
            row = self.one()
            if row is not None:
                count -= 1
                yield replace(row, source="unlabelled", label=-0.5)


def people(rows: Iterable[Row], most: int, chance: random.Random) -> list[Row]:
    """At most ``most`` rows of a source and label."""
    kinds: dict[tuple[str, float], list[Row]] = defaultdict(list)
    for row in rows:
        kinds[row.source, row.label].append(row)
    found: list[Row] = []
    for kind in sorted(kinds):
        own = kinds[kind]
        chance.shuffle(own)
        found += own[:most]
    return found


def pool(
    rows: list[Row],
    own_texts: list[Row],
    around: list[Twins],
    tokenizer: Tokenizer,
    seed: str,
    part: float = 1.0,
    fills: int = FRAMES,
) -> list[Row]:
    """All pairs, ``source`` being their kind, of people's ``rows`` and of ``own_texts`` and what
    stands ``around`` claims and answers, which were written for the judge; ``part``: so much of all
    that is made of the first; ``fills``: how often what stands around is filled."""
    chance = random.Random(seed)
    broadener = Broadener(rows, tokenizer, chance)
    maker, framer = broadener.maker, broadener.framer
    own = people(rows, round(part * MOST), chance)
    found = [maker.facts_for_gold(row) if chance.random() < 0.3 else row for row in own]
    found += [maker.dressed(row) for row in own if row.passage and chance.random() < 0.35]
    claims = [row for row in own if row.ability == "E" and row.passage]
    passages = [row for row in own if row.ability != "C" and row.passage]
    answers = [row for row in own if row.source == "evouna"]
    ways: dict[str, tuple[list[Row], Callable[[Row], Row | None]]] = {
        "claims swapped": (claims, maker.swapped_claim),
        "questions swapped": (passages, maker.swapped_question),
        "answers swapped": (answers, maker.swapped_answer),
        "joined": (passages, maker.joined),
        "beside": (claims, maker.beside),
        "joined answers": (answers, maker.joined_answers),
        "attacked": (own, maker.attacked),
        "emptied": (own, maker.emptied),
        "stranger": (passages, maker.stranger),
    }
    mixed = [
        row
        for name, (some, make) in ways.items()
        for row in maker.some(some, round(part * MIXED[name]), make)
    ]
    found += [replace(row, source="made_mixed") for row in mixed]
    for count, spoil in ((1, False), (1, True), (2, False), (2, True)):
        number = VERBATIM // count
        made = (broadener.taken_over(row, count, spoil=spoil) for row in endless(claims, chance))
        found += take(made, round(part * number))
    found += broadener.swapped(round(part * SWAPPED))
    for plain in (True, False):
        for row in framer.rows(*(round(part * count) for count in FRAMED), plain=plain):
            name = {"E": "claim", "A": "question", "C": "answer"}[row.ability]
            found.append(replace(row, source=f"made_framed {name}"))
    found += broadener.connector.rows(round(part * CONNECTED))
    found += Stranger(rows, chance).rows(round(part * UNLABELLED))
    found += framed(framer, around, fills)
    found += own_texts
    found += [maker.dressed(row) for row in own_texts if row.passage and chance.random() < 0.35]
    return [broadener.cut(row) for row in found]


def endless(rows: list[Row], chance: random.Random) -> Iterator[Row]:
    while True:
        yield chance.choice(rows)


def take(rows: Iterator[Row | None], count: int) -> list[Row]:
    found: list[Row] = []
    while len(found) < count:
        row = next(rows)
        if row is not None:
            found.append(row)
    return found


def drawn(rows: list[Row]) -> np.ndarray:
    """How often every row is drawn, in proportion to the others that were written for the judge, or
    were not; 0: it has no label."""
    kinds = np.array([row.source for row in rows])
    yes = np.array([row.label > 0 for row in rows])
    weight = np.zeros(len(rows))
    others = ("made_", "unlabelled", "written")
    names = [name for name in np.unique(kinds) if not name.startswith(others)]
    sizes = {name: (kinds == name).sum() ** SMALL for name in names}
    for name in names:
        for side in (False, True):
            own = (kinds == name) & (yes == side)
            share = SHARES["people"] * sizes[name] / sum(sizes.values())
            both = len(np.unique(yes[kinds == name])) == 2
            weight[own] = share * (0.5 if both else 1.0) / max(1, own.sum())
    for name, share in SHARES.items():
        own = kinds == name
        weight[own] = share / max(1, own.sum())
    weight /= weight.sum()
    whole = np.array([row.label == 1 for row in rows])
    for name, share in WRITTEN.items():
        for side in (False, True):
            own = (kinds == name) & (whole == side)
            weight[own] = share / 2 / max(1, own.sum())
    return weight


def store(rows: list[Row], tokenizer: Tokenizer, path: Path) -> dict[str, int]:
    """Write token ids: the two texts of a row are one after the other; ``first`` is how long the
    first is; ``level`` -1 where nobody labelled the pair."""
    pairs = [row.texts() for row in rows]
    firsts = [one.ids[:FIRST_TOKENS] for one in encoded(tokenizer, [a for a, _ in pairs])]
    seconds = [one.ids for one in encoded(tokenizer, [b for _, b in pairs])]
    kept, ids, bounds = [], [], [0]
    for at, (one, other) in enumerate(zip(firsts, seconds, strict=True)):
        room = WINDOW - 3 - len(one)
        if len(other) > room and rows[at].label > 0 and rows[at].ability != "C":
            continue  # what supports it might be cut off
        kept.append(at)
        ids += [one, other[:room]]
        bounds.append(bounds[-1] + len(one) + len(other[:room]))
    rows = [rows[at] for at in kept]
    names, kind = np.unique([row.source for row in rows], return_inverse=True)
    np.savez(
        path, ids=np.concatenate([np.array(one, np.uint16) for one in ids]),
        bounds=np.array(bounds, np.int32),
        first=np.array([len(firsts[at]) for at in kept], np.uint8),
        ability=np.array(["EAC".index(row.ability) for row in rows], np.int8),
        level=np.array([round(row.label * 2) for row in rows], np.int8),
        weight=drawn(rows).astype(np.float32),
        kind=kind.astype(np.uint8), kinds=names,
    )  # fmt: skip
    count = Counter(f"{row.source} {row.label}" for row in rows)
    return {**dict(sorted(count.items())), "pairs": len(rows), "tokens": bounds[-1]}


def texts(part: float = 1.0) -> tuple[list[Row], list[Twins]]:
    """What was written for the judge to be trained on: pairs, and frames around people's; so much
    of it."""
    found = [row for row in written(HERE / "written") if row.split == "train"]
    step = round(1 / part)
    return found[::step], frames(HERE / "frames", held=False)[::step]


def whole_texts(start: Path) -> Tokenizer:
    """The tokeniser in folder ``start``, which cuts nothing and fills nothing up."""
    tokenizer = Tokenizer.from_file(str(start / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def encoded(tokenizer: Tokenizer, texts: list[str]) -> list[Encoding]:
    return tokenizer.encode_batch(texts, add_special_tokens=False)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--shared", type=Path, required=True, help="folder with judge/")
    parser.add_argument("--start", type=Path, required=True, help="folder with tokenizer.json")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--part", type=float, default=1.0, help="so much of people's pairs and what is made of them"
    )
    parser.add_argument(
        "--texts", type=float, default=1.0, help="so much of what was written for the judge"
    )
    parser.add_argument("--seed", default="1")
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    rows = [row for row in load(options.shared) if row.claim.strip()]
    split = assign(rows, options.shared)
    train = [row for row in rows if split[row.id] == "train"]
    tokenizer = whole_texts(options.start)
    made = pool(train, *texts(options.texts), tokenizer, options.seed, options.part)
    print(json.dumps(store(made, tokenizer, options.out), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
