"""Measure the packaged judge on pairs never trained or tuned on, beside lexical overlap, MiniLM
cosine and the 1.5B language model, and print the tables of benchmarks/judges.md.

    python training/evaluate.py --data FOLDER --shared ../shared/data --margins MARGINS.jsonl

Intervals are 95 % bootstrap intervals over groups of pairs that share a premise or question (1,000
draws). ``--margins`` is the file of calibration/fit_embedded.py; without it the language model's
columns stay empty. ``--cosine`` is an ONNX file of the start weights (export.py --bits 32 of
model.safetensors).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from beside import compared
from calibrate import PACKAGE, balanced
from readings import Reader
from rows import Row, as_question, read_split, sampled

from assay.labellers.judge.evidence import Tokenise
from assay.labellers.judge.model import (
    JudgeQuestion,
    empty,
    probabilities,
    verbatim,
)
from assay.labellers.judge.texts import ABILITIES, Ability, words
from assay.measures.confidence import auroc, ece

sys.path.append(str(Path(__file__).parents[1] / "calibration"))
from fit_embedded import prompt
from pairs import Pair

from assay.tasks.base import canonical, content_hash
from assay.tasks.rendering import Renderer

DRAWS = 1000
Calibration = Mapping[str, Any]
"""What judge.json says for each ability."""


@dataclass(frozen=True)
class Item:
    """A measured pair: whether people said yes, its group, and the scores of every judge (None
    where one was not asked)."""

    source: str
    ability: str
    group: str
    question: JudgeQuestion
    truth: bool
    level: int
    margin: float | None = None


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of prepare.py")
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--margins", type=Path, action="append", default=[])
    parser.add_argument("--cosine", type=Path)
    parser.add_argument("--most", type=int, default=220, help="pairs of a source")
    parser.add_argument("--split", default="test")
    parser.add_argument("--package", type=Path, default=PACKAGE)
    parser.add_argument("--readings", type=Path, help="JSONL of what was read before")
    parser.add_argument("--out", type=Path, help="where the figures go as JSON")
    options = parser.parse_args()
    package = options.package
    calibration = json.loads((package / "judge.json").read_text(encoding="utf-8"))["calibration"]
    reader = Reader(package / "judge.onnx", package / "tokenizer.json", options.readings)
    cosine = Embedder(options.cosine, reader.network.tokenise) if options.cosine else None
    rows = sampled(read_split(options.data, options.split), options.most, options.split)
    items = [from_row(row) for row in rows]
    margins = {}
    for path in options.margins:
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            margins[row["key"]] = row["margin"]
    same = same_sample(options.shared, options.data, margins)
    figures = {
        "tests": tables(reader, calibration, cosine, items),
        "same sample as the language model": tables(reader, calibration, cosine, same),
    }
    for title, found in figures.items():
        if not found:
            print(f"\n{title}: no pairs (--margins)")
            continue
        print(f"\n{title}\n")
        show(found)
    if options.out:
        options.out.write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n")
    return 0


def from_row(row: Row) -> Item:
    group = row.passage or row.question
    level = round(row.label * 2)
    return Item(row.source, row.ability, group, as_question(row), level == 2, level)


def same_sample(shared: Path, data: Path, margins: dict[str, float | None]) -> list[Item]:
    """The pairs that the language model was measured on, with its margin."""
    renderer = Renderer()
    found = []
    for pair in compared(shared, data):
        margin = margins.get(content_hash(canonical(list(prompt(pair, renderer)))))
        if margin is not None and pair.key != "r2c2.answer/correct":
            source = f"{pair.key.partition('/')[2]}: {pair.source}"
            question = of_pair(pair)
            found.append(
                Item(
                    source, question.ability.value, pair.group, question, pair.label,
                    2 * pair.label, margin,
                )
            )  # fmt: skip
    return found


def of_pair(pair: Pair) -> JudgeQuestion:
    """What the judge is asked for a calibration pair."""
    unit = pair.unit
    if pair.task == "r2c2.entailment":
        row = Row("", "E", pair.source, "", unit["nugget"], unit["passage"], 0)
    elif pair.probe == "helped":
        row = Row("", "A", pair.source, "", unit["question"], pair.context["nugget"], 0)
    else:
        basis = tuple(unit["gold"] or unit["nuggets"])
        row = Row("", "C", pair.source, "", unit["answer"], "", 0, unit["question"], basis)
    return as_question(row)


class Embedder:
    """Cosine of the start encoder's mean vectors, without any training of ours."""

    def __init__(self, path: Path, tokenise: Tokenise) -> None:
        import onnxruntime  # noqa: PLC0415 (only with --cosine)

        self.session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        self.tokenise = tokenise

    def __call__(self, questions: Sequence[JudgeQuestion]) -> np.ndarray:
        firsts = self.vectors([q.first.partition(": ")[2] for q in questions])
        seconds = self.vectors([q.second for q in questions])
        return np.array((firsts * seconds).sum(axis=1))

    def vectors(self, texts: Sequence[str]) -> np.ndarray:
        tokens = [ids[:254] for ids in self.tokenise(texts)]
        order = sorted(range(len(texts)), key=lambda row: len(tokens[row]))
        found = np.zeros((len(texts), 384))
        for start in range(0, len(order), 32):
            rows = order[start : start + 32]
            length = max(len(tokens[row]) for row in rows) + 2
            ids = np.zeros((len(rows), length), np.int64)
            mask = np.zeros_like(ids)
            for at, row in enumerate(rows):
                size = len(tokens[row]) + 2
                ids[at, :size] = [101, *tokens[row], 102]
                mask[at, :size] = 1
            feed = {"ids": ids, "kinds": np.zeros_like(ids), "mask": mask}
            mean = self.session.run(["mean"], feed)[0]
            found[rows] = mean / np.linalg.norm(mean, axis=1, keepdims=True)
        return found


def overlap(question: JudgeQuestion) -> float:
    """Share of the claim's, question's or gold answer's words that stand in the other text."""
    first, second = words(question.first.partition(": ")[2]), words(question.second)
    if question.ability is Ability.C:
        answer = words(question.first.removeprefix("answer: ").rpartition(" | question: ")[0])
        golds = [words(gold) for gold in question.second.split(" / ")]
        return max((len(gold & answer) / (len(gold) or 1) for gold in golds), default=0.0)
    return len(first & second) / (len(first) or 1)


def judged(
    reader: Reader, calibration: Calibration, questions: Sequence[JudgeQuestion]
) -> np.ndarray:
    """Calibrated probabilities (questions, levels). As when it judges, what has no words is a no
    and what stands in the passage word for word a yes. The rules on answers are not applied:
    measured is what the network says of them."""
    found = np.zeros((len(questions), 3))
    able = []
    for at, question in enumerate(questions):
        if empty(question):
            found[at, 0] = 1
        elif verbatim(question):
            found[at, 2] = 1
        else:
            able.append(at)
    features = reader.features([questions[at] for at in able])
    for at, row in zip(able, features, strict=True):
        own = calibration[questions[at].ability]
        weights, bias = np.array(own["weights"]), np.array(own["bias"])
        found[at] = probabilities(weights, bias, row, own["slope"])
    return found


def tables(
    reader: Reader, calibration: Calibration, cosine: Embedder | None, items: Sequence[Item]
) -> list[dict]:
    """A row of figures for every source, and for every ability over its sources."""
    questions = [item.question for item in items]
    levels = judged(reader, calibration, questions)
    scores: dict[str, np.ndarray] = {
        "judge": levels[:, 2],
        "overlap": np.array([overlap(question) for question in questions]),
    }
    if cosine:
        scores["cosine"] = cosine(questions)
    if all(item.margin is not None for item in items):
        scores["qwen2.5-1.5b"] = np.array([item.margin for item in items])
    truth = np.array([item.truth for item in items])
    found = []
    for ability in ABILITIES:
        own = [at for at, item in enumerate(items) if item.ability == ability]
        sources = sorted({items[at].source for at in own})
        kinds = {name: [at for at in own if items[at].source == name] for name in sources}
        people = [at for at in own if not items[at].source.startswith("made_")]
        kinds = {"all sources": people, **kinds}
        for name, rows in kinds.items():
            if rows:
                cut = float(calibration[ability]["threshold"])
                group = [items[at].group for at in rows]
                parts = {key: value[rows] for key, value in scores.items()}
                found.append(
                    {
                        "ability": ability.value,
                        "source": name,
                        **figures(parts, truth[rows], group, cut),
                    }
                )
    return found


def figures(
    scores: dict[str, np.ndarray], truth: np.ndarray, group: Sequence[str], cut: float
) -> dict[str, object]:
    judge = scores["judge"]
    found: dict[str, object] = {"n": len(truth), "yes": round(float(truth.mean()), 3)}
    for name, score in scores.items():
        found[f"auc {name}"] = interval(auroc, unit_range(score), truth, group)
    if 0 < truth.sum() < len(truth):
        found["balanced"] = interval(
            lambda s, t: balanced(s > cut, t) if 0 < t.sum() < len(t) else None, judge, truth, group
        )
    found["ece"] = round(ece(judge, truth), 4)
    found["accuracy"] = round(float(((judge > cut) == truth).mean()), 4)
    return found


def unit_range(score: np.ndarray) -> np.ndarray:
    """``score`` between 0 and 1 with its order and ties kept, as ``auroc`` takes confidences."""
    _, place = np.unique(score, return_inverse=True)
    return np.asarray(place / max(1, place.max()))


def interval(
    measure: Callable[[np.ndarray, np.ndarray], float | None],
    score: np.ndarray,
    truth: np.ndarray,
    group: Sequence[str],
) -> list[float] | None:
    """Value, low and high."""
    value = measure(score, truth)
    if value is None:
        return None
    names = {name: number for number, name in enumerate(dict.fromkeys(group))}
    of = np.array([names[name] for name in group])
    members = [np.flatnonzero(of == number) for number in range(len(names))]
    chance = np.random.default_rng(7)
    drawn = []
    for _ in range(DRAWS if len(truth) < 3000 else 300):
        rows = np.concatenate(
            [members[n] for n in chance.integers(len(members), size=len(members))]
        )
        one = measure(score[rows], truth[rows])
        if one is not None:
            drawn.append(one)
    low, high = np.percentile(drawn, [2.5, 97.5])
    return [round(float(v), 4) for v in (value, low, high)]


def show(found: Sequence[dict]) -> None:
    names = [key for key in found[0] if key.startswith("auc ")] if found else []
    print("| ability | source | n | yes |", " | ".join(names), "| balanced | ECE |")
    print("| --- | --- | ---: | ---: |", " | ".join("---:" for _ in names), "| ---: | ---: |")
    for row in found:
        cells = [text(row.get(name)) for name in names]
        balance = text(row.get("balanced"))
        print(
            f"| {row['ability']} | {row['source']} | {row['n']:,} | {row['yes']:.2f} |",
            " | ".join(cells), f"| {balance} | {row['ece']:.3f} |",
        )  # fmt: skip


def text(found: object) -> str:
    if not isinstance(found, list):
        return "–"
    value, low, high = (f"{v:.3f}".lstrip("0") if v < 1 else "1.00" for v in found)
    return f"{value} {low[:3]}–{high[:3]}" if value != "1.00" else value


if __name__ == "__main__":
    sys.exit(main())
