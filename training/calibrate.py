"""Fit the judge's calibration on the calibration pairs and put the judge into the package.

    python training/calibrate.py --model judge.onnx --data FOLDER --start FOLDER

For each ability a multinomial logistic regression from what the encoder says of the best window and
the best sentence, and from two overlaps of words, to the three levels; every source of 100 pairs or
more weighs the same, and the penalty is chosen by cross-validation. Then the probabilities above
which the verdict is yes, and at least partly: those of greatest balanced accuracy.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
from pathlib import Path

import numpy as np
from readings import Reader
from rows import Row, as_question, read_split, sampled
from sklearn.linear_model import LogisticRegression

from assay.labellers.judge.model import empty, probabilities
from assay.labellers.judge.texts import ABILITIES

FEW = 100
"""A source of fewer pairs does not count for as much as the others: WiCE has 28, all *partly*."""
STRENGTHS = (1.0, 0.3, 0.1, 0.03)
FOLDS = 5
PACKAGE = Path(__file__).parents[1] / "src/assay/labellers/judge/data"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True, help="folder of prepare.py")
    parser.add_argument("--start", type=Path, required=True, help="folder with tokenizer.json")
    parser.add_argument("--out", type=Path, default=PACKAGE)
    parser.add_argument("--version", default="3")
    parser.add_argument("--most", type=int, default=200, help="pairs of a source")
    parser.add_argument("--readings", type=Path, help="JSONL of what was read before")
    options = parser.parse_args()
    rows = sampled(read_split(options.data, "calib"), options.most, "calib")
    rows = [row for row in rows if not empty(as_question(row))]  # those are a no by rule
    reader = Reader(options.model, options.start / "tokenizer.json", options.readings)
    features = reader.features([as_question(row) for row in rows])
    calibration = {
        ability.value: fitted(
            [row for row in rows if row.ability == ability],
            features[[row.ability == ability for row in rows]],
        )
        for ability in ABILITIES
    }
    options.out.mkdir(parents=True, exist_ok=True)
    document = {
        "version": options.version,
        "sha256": reader.sha256,
        "calibration": calibration,
    }
    shutil.copyfile(options.model, options.out / "judge.onnx")
    shutil.copyfile(options.start / "tokenizer.json", options.out / "tokenizer.json")
    text = json.dumps(document, indent=1, sort_keys=True) + "\n"
    (options.out / "judge.json").write_text(text, encoding="utf-8")
    for ability, found in calibration.items():
        print(ability, {k: v for k, v in found.items() if k not in ("weights", "bias")})
    return 0


def source_weights(rows: list[Row]) -> np.ndarray:
    """Weights by which every source counts the same, but for those of fewer than ``FEW`` pairs,
    which count for less; they are 1 on average."""
    names = [row.source for row in rows]
    weight = {name: 1 / max(FEW, names.count(name)) for name in set(names)}
    found = np.array([weight[name] for name in names])
    return found / found.mean()


def fitted(rows: list[Row], features: np.ndarray) -> dict[str, object]:
    """Weights, bias and thresholds of one ability."""
    level = np.array([round(row.label * 2) for row in rows])
    weight = source_weights(rows)
    strength = best_strength(rows, features, level, weight)
    weights, bias = regression(features, level, weight, strength)
    found = probabilities(weights, bias, features)
    yes, some = found[:, 2], found[:, 1] + found[:, 2]
    # Made pairs are two claims in one, swapped, or dressed up: they teach what partly looks like,
    # but the thresholds of yes are people's.
    given = np.array([not row.source.startswith("made_") for row in rows])
    return {
        "weights": np.round(weights, 6).tolist(),
        "bias": np.round(bias, 6).tolist(),
        "threshold": round(best_cut(yes[given], level[given] == 2, weight[given]), 4),
        "partly": round(best_cut(some, level >= 1, weight), 4),
        "strength": strength,
        "pairs": len(rows),
        "sources": {n: sum(r.source == n for r in rows) for n in sorted({r.source for r in rows})},
    }


def best_strength(
    rows: list[Row], features: np.ndarray, level: np.ndarray, weight: np.ndarray
) -> float:
    """The inverse penalty at which probabilities of pairs left out, a fifth of the premises and
    questions at a time, are best by their logarithm."""
    texts = [(row.passage or row.question).encode() for row in rows]
    fold = np.array([hashlib.sha256(text).digest()[0] % FOLDS for text in texts])
    loss = {}
    for strength in STRENGTHS:
        found = np.zeros(len(rows))
        for number in range(FOLDS):
            out = fold == number
            weights, bias = regression(features[~out], level[~out], weight[~out], strength)
            given = probabilities(weights, bias, features[out])
            found[out] = given[np.arange(out.sum()), level[out]]
        loss[strength] = -float((weight * np.log(np.maximum(found, 1e-9))).mean())
    return min(loss, key=loss.__getitem__)


def regression(
    features: np.ndarray, level: np.ndarray, weight: np.ndarray, strength: float
) -> tuple[np.ndarray, np.ndarray]:
    """Weights (3, features) and bias (3); a level that no pair has gets a small probability."""
    model = LogisticRegression(C=strength, max_iter=2000).fit(features, level, weight)
    weights, bias = np.zeros((3, features.shape[1])), np.full(3, -9.0)
    if len(model.classes_) == 2:  # then there is one row, that of the higher level
        weights[model.classes_[1]], bias[model.classes_] = model.coef_[0], (0, model.intercept_[0])
    else:
        weights[model.classes_], bias[model.classes_] = model.coef_, model.intercept_
    return weights, bias


def best_cut(score: np.ndarray, truth: np.ndarray, weight: np.ndarray) -> float:
    """Threshold of greatest balanced accuracy, the middle of the cuts within .002 of the best."""
    cuts = np.linspace(0.02, 0.98, 97)
    quality = np.array([balanced(score > cut, truth, weight) for cut in cuts])
    return float(np.median(cuts[quality >= quality.max() - 0.002]))


def balanced(said: np.ndarray, truth: np.ndarray, weight: np.ndarray | None = None) -> float:
    w = np.ones(len(said)) if weight is None else weight
    yes = (w * (said & truth)).sum() / (w * truth).sum()
    no = (w * (~said & ~truth)).sum() / (w * ~truth).sum()
    return float((yes + no) / 2)


if __name__ == "__main__":
    sys.exit(main())
