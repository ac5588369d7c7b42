"""Why claims are judged less well than the 1.5B language model judges them: three experiments.

    python training/why.py --shared ../shared/data --data WORK/data --start WORK/start
        --judge WORK/run/judge.pt --judge WORK/further/judge.pt

*Seen and unseen*: AUC on pairs that were trained on, as they are, and on test pairs of the same
source, after each training. Where seen pairs are told apart much better, more pairs would help;
where they are not, the network or the time of training is what lacks. *Claim alone*: AUC on test
pairs whose premise is that of another pair; what is left above .5 is what the claim's wording
gives away. *A source's own pairs*: the last judge trained on for ``--steps`` steps with the
training pairs of symmetric FEVER alone, or with as many of FEVER; AUC on test pairs. What is
trained here is thrown away.

Everything is read once, cut at the window, by the network in full precision and without
calibration: figures differ a little from those of evaluate.py.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from encoder import Judge, batch
from prepare import FIRST_TOKENS, WINDOW, assign, load
from rows import Row, sampled
from tokenizers import Tokenizer
from torch.nn import functional
from train import STEP as PAIRS
from train import Data, begun, shuffled

from assay.measures.confidence import auroc

SOURCES = ("snli", "cad_nli", "breaking_nli", "med_monotonicity", "fever", "fever_symmetric")
UNSEEN = ("conjnli",)
RATE = 2e-5
STEP = 24


Mark = tuple[int, bytes]


def seen(data: Data, steps: int) -> set[Mark]:
    """The pairs that a training of so many steps read."""
    order = shuffled(len(data), steps * PAIRS, 5)[: steps * PAIRS]
    return {
        (int(data.first[row]), data.ids[data.bounds[row] : data.bounds[row + 1]].tobytes())
        for row in set(order.tolist())
        if data.ability[row] == 0
    }


class Pairs:
    """Labelled pairs as tokens."""

    def __init__(self, rows: Sequence[Row], tokenizer: Tokenizer) -> None:
        texts = [row.texts() for row in rows]
        firsts = tokenizer.encode_batch([a for a, _ in texts], add_special_tokens=False)
        seconds = tokenizer.encode_batch([b for _, b in texts], add_special_tokens=False)
        self.first = [one.ids[:FIRST_TOKENS] for one in firsts]
        self.second = [
            two.ids[: WINDOW - 3 - len(one)] for one, two in zip(self.first, seconds, strict=True)
        ]
        self.yes = np.array([row.label == 1 for row in rows], dtype=bool)

    def marks(self) -> list[Mark]:
        """What tells each pair from others, as :func:`seen` does."""
        return [
            (len(one), np.array([*one, *two], np.int32).tobytes())
            for one, two in zip(self.first, self.second, strict=True)
        ]

    def strangers(self) -> list[tuple[list[int], list[int]]]:
        """Each claim with the premise of a pair half the list away."""
        half = len(self.second) // 2
        turned = self.second[half:] + self.second[:half]
        return list(zip(self.first, turned, strict=True))

    def own(self) -> list[tuple[list[int], list[int]]]:
        return list(zip(self.first, self.second, strict=True))


def margins(judge: Judge, pairs: Sequence[tuple[list[int], list[int]]]) -> np.ndarray:
    """log P(yes) − log P(not yes) of ability E."""
    order = sorted(range(len(pairs)), key=lambda at: len(pairs[at][0]) + len(pairs[at][1]))
    found = np.zeros(len(pairs))
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        for start in range(0, len(order), 24):
            part = order[start : start + 24]
            logits = judge(*batch([pairs[at] for at in part]))[:, 0].float()
            found[part] = (logits[:, 2] - torch.logsumexp(logits[:, :2], dim=1)).numpy()
    return found


def auc(judge: Judge, pairs: Pairs, *, strangers: bool = False) -> float:
    scores = margins(judge, pairs.strangers() if strangers else pairs.own())
    squeezed = 1 / (1 + np.exp(-scores))
    return float(auroc(squeezed, pairs.yes.astype(float)))


def trained_on(judge: Judge, pairs: Pairs, steps: int, seed: int) -> None:
    """Train ``judge`` on with these pairs, at a falling rate."""
    chance = np.random.default_rng(seed)
    own = pairs.own()
    trained = [p for n, p in judge.named_parameters() if not n.startswith(("words", "places"))]
    optimiser = torch.optim.AdamW(trained, lr=RATE, weight_decay=0.01)
    passes = steps * STEP // len(own) + 1
    order = np.concatenate([chance.permutation(len(own)) for _ in range(passes)])
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = RATE * min(1.0, (step + 1) / 10, (steps - step) / (steps / 2))
        rows = order[step * STEP : (step + 1) * STEP]
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = judge(*batch([own[row] for row in rows]))[:, 0]
        level = torch.from_numpy(np.where(pairs.yes[rows], 2, 0))
        functional.cross_entropy(logits.float(), level, label_smoothing=0.02).backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True, help="folder of prepare.py")
    parser.add_argument("--start", type=Path, required=True, help="folder with tokenizer.json")
    parser.add_argument("--judge", type=Path, action="append", required=True)
    parser.add_argument("--most", type=int, default=480, help="pairs of a source and split")
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    tokenizer = Tokenizer.from_file(str(options.start / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    every = [row for row in load(options.shared) if row.claim.strip()]
    split = assign(every, options.shared)
    rows = [row for row in every if row.ability == "E"]
    known: set[Mark] = set()
    for path, name in zip(options.judge, ("train", "further"), strict=False):
        about = json.loads((path.parent / "trained.json").read_text())
        known |= seen(Data(options.data / f"{name}.npz"), about["steps"])
    sets: dict[tuple[str, str], Pairs] = {}
    at_hand: dict[str, tuple[int, int]] = {}
    for source in (*SOURCES, *UNSEEN):
        for name in ("train", "test"):
            own = [r for r in rows if split[r.id] == name and r.source == source]
            own = [row for row in own if row.label in (0, 1)]
            if name == "train":
                marks = Pairs(own, tokenizer).marks() if own else []
                count = len(own)
                own = [row for row, mark in zip(own, marks, strict=True) if mark in known]
                at_hand[source] = (count, len(own))
            if own:
                sets[name, source] = Pairs(sampled(own, options.most, name), tokenizer)
    judges = [begun(path).eval() for path in options.judge]
    print("AUC: seen pairs, test pairs; the last judge on test claims alone\n")
    names = [path.parent.name for path in options.judge]
    print(f"| source | pairs at hand, seen | tests | {' | '.join(names)} | claim alone |")
    print("| --- | --- | --- | --- | " + " | ".join("---" for _ in judges) + " |")
    for source in (*SOURCES, *UNSEEN):
        cells = []
        for judge in judges:
            own = sets.get(("train", source))
            before = "–" if own is None else f"{auc(judge, own):.3f}"
            cells.append(f"{before}, {auc(judge, sets['test', source]):.3f}")
        alone = auc(judges[-1], sets["test", source], strangers=True)
        count = len(sets["test", source].yes)
        hand = "{:,}, {:,}".format(*at_hand[source])
        print(f"| {source} | {hand} | {count} | {' | '.join(cells)} | {alone:.3f} |", flush=True)
    print(f"\nThe last judge after {options.steps} more steps of {STEP} pairs: AUC on tests\n")
    targets = ("fever_symmetric", "fever", "snli", "conjnli")
    print("| trained on with | pairs at hand | " + " | ".join(targets) + " |")
    print("| --- | --- | --- | --- | --- | --- |")
    most = at_hand["fever_symmetric"][0]
    for source in ("fever_symmetric", "fever"):
        judge = begun(options.judge[-1])
        own = [r for r in rows if split[r.id] == "train" and r.source == source]
        own = [row for row in own if row.label in (0, 1)]
        random.Random(5).shuffle(own)
        pairs = Pairs(own[:most], tokenizer)
        judge.train()
        trained_on(judge, pairs, options.steps, 5)
        judge.eval()
        cells = " | ".join(f"{auc(judge, sets['test', one]):.3f}" for one in targets)
        print(f"| {source} | {len(pairs.yes)} | {cells} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
