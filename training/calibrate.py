"""Fit the judge's calibration on the calibration pairs and put the judge into the package.

    python training/calibrate.py --model judge.onnx --data FOLDER --start FOLDER

For each ability a multinomial logistic regression from what the encoder says of the best window and
the best sentence, and from two overlaps of words, to the three levels. Every source of 100 pairs or
more weighs the same, and within it those of yes as much as all others, as nobody knows how many are
yes elsewhere. No pair is of a group that was trained on. The penalty, the probabilities above which
the verdict is yes, and at least partly (those of greatest balanced accuracy), and those between
which the judge had better abstain are chosen by pairs of sources left out, one family of sources at
a time.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from readings import Reader
from rows import Row, as_question, read_split, sampled
from sklearn.linear_model import LogisticRegression

from assay.labellers.judge.model import empty, probabilities, verbatim
from assay.labellers.judge.texts import ABILITIES, Ability

FEW = 100
"""A source of fewer pairs does not count for as much as the others: WiCE has 28, all *partly*."""
STRENGTHS = (1.0, 0.3, 0.1, 0.03)
SLOPE = 0.65
"""What the log odds are multiplied by: sources left out here were read in training, so that the
network looks as sure of a stranger's pairs as of theirs. Of sources that it never read the figures
were too high and too low by as much (benchmarks/judges.md)."""
LACKING = {"E": 1.5}
"""What the shares of a claim's numbers and names that the passage has are weighed more by than
readings of sources that the network was trained on say: there it is nearly always right without
them. Of sources that it never read the shares say more (benchmarks/judges.md)."""
FAMILIES = {
    "fever": ("fever", "fever_symmetric"), "nli": ("snli", "cad_nli", "breaking_nli"),
    "squad": ("squad2", "disfl_qa", "qnli"), "bbc": ("defacto", "fib"),
}  # fmt: skip
ERROR = 0.1
"""Of the pairs of either kind, how many may lie outside of a prediction set."""
PIECE = 16_000_000
"""Bytes of a file, of a network that is too large for one."""
PACKAGE = Path(__file__).parents[1] / "src/assay/labellers/judge/data"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--model", type=Path, required=True, help="the network")
    parser.add_argument(
        "--keep", action="store_true",
        help="weights and thresholds of judge.json in OUT; fit where to abstain alone",
    )  # fmt: skip
    parser.add_argument(
        "--only",
        default="EAC",
        help="abilities to fit; the others are as judge.json in OUT has them",
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of prepare.py")
    parser.add_argument("--start", type=Path, required=True, help="folder with tokenizer.json")
    parser.add_argument("--out", type=Path, default=PACKAGE)
    parser.add_argument("--version", default="7.1")
    parser.add_argument(
        "--pieces", action="store_true",
        help=f"the network goes into files of {PIECE:,} bytes, and no tokeniser beside it",
    )  # fmt: skip
    parser.add_argument("--most", type=int, default=120, help="pairs of a source")
    parser.add_argument("--readings", type=Path, help="JSONL of what was read before")
    options = parser.parse_args()
    rows = sampled(read_split(options.data, "calib"), options.most, "calib")
    # Those are decided by rule, whatever the network says.
    asked = [as_question(row) for row in rows]
    rows = [
        row
        for row, question in zip(rows, asked, strict=True)
        if row.ability in options.only and not empty(question) and not verbatim(question)
    ]
    fresh = [ability for ability in ABILITIES if ability.value in options.only]
    check_labels(rows, fresh, "raise --most")
    reader = Reader(options.model, options.start / "tokenizer.json", options.readings)
    features = reader.features([as_question(row) for row in rows])
    path = options.out / "judge.json"
    known = options.keep or len(fresh) < len(ABILITIES)
    before = json.loads(path.read_text(encoding="utf-8"))["calibration"] if known else {}
    calibration = before | {
        ability.value: fitted(
            [row for row in rows if row.ability == ability],
            features[[row.ability == ability for row in rows]],
            before[ability.value] if options.keep else {},
        )
        for ability in fresh
    }
    options.out.mkdir(parents=True, exist_ok=True)
    network = options.model.read_bytes()
    document = {
        "version": options.version,
        "sha256": hashlib.sha256(network).hexdigest(),
        "calibration": calibration,
    }
    if options.pieces:
        for number, begin in enumerate(range(0, len(network), PIECE)):
            piece = options.out / f"judge.onnx.{number:02}"
            piece.write_bytes(network[begin : begin + PIECE])
    else:
        (options.out / "judge.onnx").write_bytes(network)
        vocabulary = (options.start / "tokenizer.json").read_bytes()
        (options.out / "tokenizer.json").write_bytes(vocabulary)
    text = json.dumps(document, indent=1, sort_keys=True) + "\n"
    path.write_text(text, encoding="utf-8")
    for ability in fresh:
        found = calibration[ability.value]
        print(
            ability.value, {k: v for k, v in found.items() if k not in ("weights", "bias", "held")}
        )
        for name, shares in found["held"].items():
            print(f"  {name}, by the sets of the others: {shares}")
    return 0


def source_weights(rows: list[Row]) -> np.ndarray:
    """Weights by which every source counts the same, but for those of fewer than ``FEW`` pairs,
    which count for less, and within a source yes and everything else; they are 1 on average."""
    kinds = [(row.source, row.label == 1.0) for row in rows]
    sizes = Counter(row.source for row in rows)
    count = Counter(kinds)
    share = {kind: min(1.0, sizes[kind[0]] / FEW) / 2 / n for kind, n in count.items()}
    found = np.array([share[kind] for kind in kinds])
    return found / found.mean()


def family(source: str) -> str:
    """Sources that share texts, under one name."""
    return next((name for name, own in FAMILIES.items() if source in own), source)


def check_labels(rows: Sequence[Row], abilities: Sequence[Ability], cure: str) -> None:
    """Raise SystemExit where nothing can be fitted: people called no pair of one of the abilities a
    yes, or all of them, or without one of the families all pairs have one label."""
    for ability in abilities:
        own = [row for row in rows if row.ability == ability]
        if len({row.label == 1.0 for row in own if not row.source.startswith("made_")}) < 2:
            raise SystemExit(
                f"ability {ability}: people said the same of all pairs to fit probabilities on; "
                f"{cure}"
            )
        for name in sorted({family(row.source) for row in own}):
            if len({round(row.label * 2) for row in own if family(row.source) != name}) < 2:
                raise SystemExit(
                    f"ability {ability}: without {name} all pairs to fit probabilities on have "
                    f"one label; {cure}"
                )


def fitted(
    rows: list[Row], features: np.ndarray, kept: Mapping[str, object] | None = None
) -> dict[str, object]:
    """Weights, bias, thresholds and where to abstain of one ability; of ``kept`` all but the last
    is taken as it is."""
    kept = kept or {}
    level = np.array([round(row.label * 2) for row in rows])
    weight = source_weights(rows)
    lacking = LACKING.get(rows[0].ability, 0.0)
    strength, found = best_strength(rows, features, level, weight, lacking)
    weights, bias = regression(features, level, weight, strength, lacking)
    yes, some = found[:, 2], found[:, 1] + found[:, 2]
    # Made pairs are two claims in one, swapped, or dressed up: they teach what partly looks like,
    # but the thresholds of yes are people's.
    given = np.array([not row.source.startswith("made_") for row in rows])
    cut = float(
        kept.get("threshold") or round(best_cut(yes[given], level[given] == 2, weight[given]), 4)
    )
    partly = float(kept.get("partly") or round(best_cut(some, level >= 1, weight), 4))
    family_of = np.array([family(row.source) for row in rows])
    return {
        "weights": kept.get("weights") or np.round(weights, 6).tolist(),
        "bias": kept.get("bias") or np.round(bias, 6).tolist(),
        "slope": kept.get("slope") or SLOPE,
        "threshold": cut,
        "partly": partly,
        "unsure": {
            "yes": conformal(yes[given], level[given] == 2, weight[given], cut),
            "partly": conformal(some[given], level[given] >= 1, weight[given], partly),
        },
        "held": held(yes[given], level[given] == 2, weight[given], cut, family_of[given]),
        "strength": kept.get("strength") or strength,
        "pairs": len(rows),
        "sources": {n: sum(r.source == n for r in rows) for n in sorted({r.source for r in rows})},
    }


def best_strength(
    rows: list[Row], features: np.ndarray, level: np.ndarray, weight: np.ndarray, lacking: float
) -> tuple[float, np.ndarray]:
    """The inverse penalty at which probabilities of sources left out, a family at a time, are best
    by their logarithm, and these probabilities as they are told, by ``SLOPE``."""
    fold = np.array([family(row.source) for row in rows])
    people = np.array([not row.source.startswith("made_") for row in rows])
    found, told = ({strength: np.zeros((len(rows), 3)) for strength in STRENGTHS} for _ in range(2))
    loss = {}
    for strength in STRENGTHS:
        for name in set(fold):
            out = fold == name
            weights, bias = regression(features[~out], level[~out], weight[~out], strength, lacking)
            found[strength][out] = probabilities(weights, bias, features[out], 1.0)
            told[strength][out] = probabilities(weights, bias, features[out], SLOPE)
        given = found[strength][np.arange(len(rows)), level]
        loss[strength] = -float((weight * np.log(np.maximum(given, 1e-9)))[people].mean())
    best = min(loss, key=loss.__getitem__)
    return best, told[best]


def conformal(score: np.ndarray, truth: np.ndarray, weight: np.ndarray, cut: float) -> list[float]:
    """Where prediction sets that hold the truth of 1 − ``ERROR`` of the pairs of either kind
    (label-conditional split conformal prediction, Vovk 2012) have both: between these two
    probabilities the judge knows too little. What is said beyond them is what the sets hold: the
    threshold ``cut`` lies between, or they are equal to it, where no set has both."""
    edges = []
    for kind, distance in ((truth, 1 - score), (~truth, score)):
        order = np.argsort(distance[kind])
        # The pair that will be judged is one more, of which nothing is known: that costs coverage.
        total = np.cumsum(weight[kind][order]) / (weight[kind].sum() + weight[kind].mean())
        at = int(np.searchsorted(total, 1 - ERROR))
        edges.append(float(distance[kind][order][at]) if at < len(order) else 1.0)
    return [round(min(1 - edges[0], cut), 4), round(max(edges[1], cut), 4)]


def held(
    yes: np.ndarray, truth: np.ndarray, weight: np.ndarray, cut: float, family_of: np.ndarray
) -> dict[str, dict[str, float]]:
    """Of every family's pairs of either kind, how many the prediction sets hold that are made by
    the pairs of all others; and for how many of its pairs these hold both (``both``)."""
    found = {}
    for name in sorted(set(family_of)):
        own = family_of == name
        if truth[own].all() or not truth[own].any():
            continue
        low, high = conformal(yes[~own], truth[~own], weight[~own], cut)
        shares = {
            "yes": (yes > low)[own & truth], "no": (yes < high)[own & ~truth],
            "both": ((low < yes) & (yes < high))[own],
        }  # fmt: skip
        found[name] = {key: round(float(value.mean()), 3) for key, value in shares.items()}
    return found


def regression(
    features: np.ndarray, level: np.ndarray, weight: np.ndarray, strength: float, lacking: float
) -> tuple[np.ndarray, np.ndarray]:
    """Weights (3, features) and bias (3); a level that no pair has gets a small probability. The
    two shares are weighed ``lacking`` more for yes, half as much for *partly*; a pair of mean
    shares has the probabilities that it had."""
    model = LogisticRegression(C=strength, max_iter=2000).fit(features, level, weight)
    weights, bias = np.zeros((3, features.shape[1])), np.full(3, -9.0)
    if len(model.classes_) == 2:  # then there is one row, that of the higher level
        weights[model.classes_[1]], bias[model.classes_] = model.coef_[0], (0, model.intercept_[0])
    else:
        weights[model.classes_], bias[model.classes_] = model.coef_, model.intercept_
    more = lacking * np.array([0.0, 0.5, 1.0])
    weights[:, -2:] += more[:, None]
    bias -= more * (weight @ features[:, -2:]).sum() / weight.sum()
    return weights, bias


def best_cut(score: np.ndarray, truth: np.ndarray, weight: np.ndarray) -> float:
    """Threshold of greatest balanced accuracy; of the cuts within .02 of the best, which is about
    its standard error, that nearest .5, where yes and no are as likely."""
    cuts = np.linspace(0.02, 0.98, 97)
    quality = np.array([balanced(score > cut, truth, weight) for cut in cuts])
    good = cuts[quality >= quality.max() - 0.02]
    return float(good[np.abs(good - 0.5).argmin()])


def balanced(said: np.ndarray, truth: np.ndarray, weight: np.ndarray | None = None) -> float:
    w = np.ones(len(said)) if weight is None else weight
    yes = (w * (said & truth)).sum() / (w * truth).sum()
    no = (w * (~said & ~truth)).sum() / (w * ~truth).sum()
    return float((yes + no) / 2)


if __name__ == "__main__":
    sys.exit(main())
