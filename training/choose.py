"""What a network alone says of attacks in wordings that it was not trained on, and of people's
pairs: the figures by which a training is chosen, before rules and calibration.

    python training/choose.py --data FOLDER --start FOLDER [--pairs 40] MODEL.onnx...

All pairs are of the calibration groups. *Grammar* is the sixth of ``wordings.txt`` that is held
out, *connected* what ``connectives.py`` makes; the others are lists of ``attacks.py``. Shares
called yes (of + they should be) are of texts read as one window; AUC is a mean of sources.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from attacks import ASSERTED, FRESH, HELD, THIRD, within
from augment import Augmenter
from connectives import Connector
from evaluate import auroc
from grammar import DENYING, WRONG, Framer, Grammar
from readings import margins
from rows import Row, read_split, sampled

from assay.labellers.judge.model import Network

READ = (
    "denied", "asked", "supposed", "praised", "praised for a question", "denied answer",
    "several answers", "declined",
)  # fmt: skip
"""Kinds of the lists of ``attacks.py``."""


def attacked(rows: list[Row], count: int) -> Iterator[tuple[str, list[Row]]]:
    """Rows by set and kind."""
    chance = random.Random(23)
    framer = Framer(rows, Augmenter(rows, chance), Grammar(chance, held=True))

    def claims(made: Iterator[Row | None]) -> list[Row]:
        found: list[Row] = []
        while len(found) < count:
            row = next(made)
            if row is not None:
                found.append(row)
        return found

    def endless(kind: str) -> Iterator[Row | None]:
        while True:
            yield framer.around_answer(kind) if kind in answers else framer.around_claim(kind)

    answers = (*WRONG, "plain answer", "given and denied", "declined")
    for kind in (*DENYING, "shuffled", *WRONG, "declined"):
        yield f"grammar: {kind}", [row for row in claims(endless(kind)) if row.label == 0.0]
    asked = [framer.around_question() for _ in range(count)]
    yield "grammar: praised question", [row for row in asked if row.label == 0.0]
    both = [framer.one_of_two() for _ in range(count)]
    yield "grammar: one of two", [row for row in both if row.label == 0.0]
    yield "grammar: + one of two", [row for row in both if row.label == 1.0]
    for kind in ("asserted", "plain answer", "given and denied"):
        own = claims(endless(kind))
        yield f"grammar: {kind}, something else", [row for row in own if row.label == 0.0]
        yield f"grammar: + {kind}", [row for row in own if row.label == 1.0]
    connected = list(Connector(rows, framer).rows(4 * count))
    yield "connected", [row for row in connected if row.label < 1.0]
    yield "+ connected", [row for row in connected if row.label == 1.0]
    for name, lists in (("held", HELD), ("fresh", FRESH), ("third", THIRD)):
        for kind in READ:
            yield f"{name}: {kind}", [listed(framer, kind, lists[kind]) for _ in range(count)]
    yield "third: + asserted", [listed(framer, "asserted", ASSERTED) for _ in range(count)]
    real = [row for row in rows if row.ability == "E" and row.label == 1.0]
    swapped = framer.maker.some(real, count, framer.maker.swapped_claim)
    yield "swapped", swapped


def listed(framer: Framer, kind: str, wordings: Sequence[str]) -> Row:
    """A row in one of the ``wordings`` of a list."""
    wording = framer.chance.choice(wordings)
    if "answer" in kind or kind == "declined":
        row = framer.chance.choice(framer.answers)
        other, third = framer.others(row)
        text = wording.replace("{gold}", row.gold[0]).replace("{other}", other)
        text = text.replace("{others}", ", ".join((third, *framer.others(row))))
        return Row("", "C", "", "", text, "", 0.0, row.question, row.gold)
    asks = kind == "praised for a question"
    claim = framer.chance.choice(framer.questions).claim if asks else framer.claim().claim
    passage = framer.placed(within(wording, claim))
    return Row("", "A" if asks else "E", "", "", claim, passage, float(kind == "asserted"))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--data", type=Path, required=True, help="folder of prepare.py")
    parser.add_argument("--start", type=Path, required=True, help="folder with tokenizer.json")
    parser.add_argument("--n", type=int, default=80, help="of each attack")
    parser.add_argument("--pairs", type=int, default=40, help="people's pairs of a source")
    options = parser.parse_args()
    vocabulary = (options.start / "tokenizer.json").read_bytes()
    networks = [Network(path.read_bytes(), vocabulary, threads=1) for path in options.models]
    rows = [row for row in read_split(options.data, "calib") if row.split != "made"]
    mean: dict[str, list[list[float]]] = defaultdict(list)
    for name, made in attacked(rows, options.n):
        if made:
            shares = [float((margins(one, made) > 0).mean()) for one in networks]
            kind = name.partition(": ")[0] + (" +" if "+" in name else "")
            mean[kind].append(shares)
            print(f"{name:42} {len(made):4}", *(f"{share:.2f}" for share in shares), flush=True)
    for kind, found in mean.items():
        print(f"mean of {kind:34}     ", *(f"{share:.3f}" for share in np.mean(found, axis=0)))
    aucs: list[list[float]] = []
    by_source: dict[str, list[Row]] = defaultdict(list)
    for row in sampled(rows, options.pairs, "choose") if options.pairs else ():
        by_source[row.source].append(row)
    for source, own in sorted(by_source.items()):
        truth = np.array([row.label == 1.0 for row in own])
        if 0 < truth.sum() < len(truth):
            ranks = [1 / (1 + np.exp(-margins(one, own))) for one in networks]
            aucs.append([float(auroc(one, truth)) for one in ranks])
            cells = (f"{value:.2f}" for value in aucs[-1])
            print(f"AUC {source:38} {len(own):4}", *cells, flush=True)
    if aucs:
        print("mean AUC" + " " * 39, *(f"{value:.3f}" for value in np.mean(aucs, axis=0)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
