"""Human-labelled pairs for calibration, as units of the tasks: which question, about what, and
what people said. Everything is drawn with a fixed seed from the folder given as ``--shared``."""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Pair:
    """``key`` is the threshold it counts for, ``group`` the premise or question by which pairs are
    split into halves, ``half`` 0 for fitting and 1 for reporting."""

    key: str
    task: str
    probe: str
    source: str
    group: str
    unit: dict[str, Any]
    label: bool
    context: dict[str, Any] = field(default_factory=dict)

    @property
    def half(self) -> int:
        return hashlib.sha256(self.group.encode()).digest()[0] & 1


Row = dict[str, Any]


def read_rows(path: Path) -> list[Row]:
    data = path.read_bytes()
    text = gzip.decompress(data) if path.suffix == ".gz" else data
    return [json.loads(line) for line in text.splitlines()]


def balanced(
    rows: Iterable[Row], count: int, seed: str, positive: float = 0.5, per_group: str | None = None
) -> list[Row]:
    """``count`` rows, ``positive`` of them labelled 1, at most two for each value of
    ``per_group`` so that no premise or question counts for much."""
    picked: list[Row] = []
    chooser = random.Random(seed)
    shuffled = list(rows)
    chooser.shuffle(shuffled)
    wanted = {True: round(count * positive), False: count - round(count * positive)}
    seen: dict[Any, int] = {}
    for row in shuffled:
        side = row["label"] == 1.0
        group = row[per_group] if per_group else id(row)
        if wanted[side] and seen.get(group, 0) < 2:
            wanted[side] -= 1
            seen[group] = seen.get(group, 0) + 1
            picked.append(row)
    return picked


def entailment(shared: Path) -> Iterator[Pair]:
    """Short premises as R2C2's passages have them. Neutral, contradicted and partially supported
    claims are not entailed. breaking_nli and cad_nli change single words, names, numbers."""
    plan = {
        "snli": (56, 0.5),
        "cad_nli": (40, 0.5),
        "breaking_nli": (56, 0.5),
        "fever": (64, 0.5),
        "fever_symmetric": (64, 0.5),
        "conjnli": (24, 0.5),
    }
    for source, (count, positive) in plan.items():
        rows = [
            row
            for row in read_rows(shared / "judge" / f"{source}.jsonl.gz")
            if 20 <= len(row["premise"]) <= 320
        ]
        for row in balanced(rows, count, source, positive, "premise"):
            yield _entailed(source, row["premise"], row["hypothesis"], row["label"] == 1.0)
    wice = []
    for row in read_rows(shared / "wice" / "claim_dev.jsonl"):
        chosen = min(row["supporting_sentences"] or [[]], key=len)
        premise = " ".join(row["evidence"][number] for number in chosen)
        if 40 <= len(premise) <= 500:
            wice.append({**row, "premise": premise, "label": float(row["label"] == "supported")})
    for row in balanced(wice, 70, "wice", 0.5):
        yield _entailed("wice", row["premise"], row["claim"], row["label"] == 1.0)


def _entailed(source: str, premise: str, claim: str, label: bool) -> Pair:
    unit = {"passage": premise, "nugget": claim}
    key = "r2c2.entailment/entailed"
    return Pair(key, "r2c2.entailment", "entailed", source, premise, unit, label)


def answers(shared: Path) -> Iterator[Pair]:
    """People's verdicts on answers, asked with gold answers, with facts, and with neither.

    The facts are longer answers of other systems to the same question that people found correct.
    """
    rows = _evouna(shared)
    sentences = _correct_sentences(rows)
    short = [row for row in rows if len(row["hypothesis"]) <= 120]
    golden = balanced(short, 110, "gold", 0.5, "question")
    openqa = read_rows(shared / "judge" / "openqa_eval.jsonl.gz")
    golden += balanced(openqa, 70, "gold", 0.5, "question")
    for number, row in enumerate(golden):
        facts = sentences.get(row["question"], [])[:2] if number % 2 else []
        facts = [fact for fact in facts if fact != row["hypothesis"]]
        yield _correct("correct_gold", row, gold=_gold(row), nuggets=facts)
    with_facts = [row for row in short if sentences.get(row["question"])]
    for row in balanced(with_facts, 130, "facts", 0.5, "question"):
        facts = [f for f in sentences[row["question"]] if f != row["hypothesis"]][:2]
        if facts:
            yield _correct("correct_nuggets", row, gold=[], nuggets=facts)
    for row in balanced(_openqa_human(shared), 120, "plain", 0.5, "question"):
        yield _correct("correct", row, gold=[], nuggets=[])


def helped(shared: Path) -> Iterator[Pair]:
    """Whether a fact helps: sentences that people found to (not) answer a question (SelQA, QNLI;
    their answers are not known, so the correct answer is left open), and correct sentences about
    the same or the most similar other question (EVOUNA), given the gold answer."""
    for source, count in (("selqa", 70), ("qnli", 80)):
        rows = [
            row
            for row in read_rows(shared / "judge" / f"{source}.jsonl.gz")
            if 30 <= len(row["premise"]) <= 240
        ]
        for row in balanced(rows, count, source, 0.5, "hypothesis"):
            yield _helped(source, row["hypothesis"], "", row["premise"], row["label"] == 1.0)
    rows = _evouna(shared)
    sentences = _correct_sentences(rows)
    gold = {row["question"]: _gold(row)[0] for row in rows}
    questions = sorted(q for q in sentences if len(sentences[q]) > 1)
    random.Random("helped").shuffle(questions)
    words = {q: set(re.findall(r"\w{4,}", q.lower())) for q in questions}
    for number, question in enumerate(questions[:80]):
        if number % 2:
            yield _helped("evouna", question, gold[question], sentences[question][0], True)
            continue
        other = max(
            (q for q in questions if q != question and gold[q] != gold[question]),
            key=lambda q: (len(words[q] & words[question]) / (len(words[q]) + 4), q),
        )
        yield _helped("evouna", question, gold[question], sentences[other][0], False)


def _helped(source: str, question: str, answer: str, fact: str, label: bool) -> Pair:
    unit = {"question": question, "answer": answer, "gold": [], "nuggets": [fact]}
    key = "r2c2.answer/helped"
    context = {"nugget": fact, "number": 1}
    return Pair(key, "r2c2.answer", "helped", source, question, unit, label, context)


def _correct(key: str, row: Row, gold: list[str], nuggets: list[str]) -> Pair:
    unit = {
        "question": row["question"],
        "answer": row["hypothesis"],
        "gold": gold,
        "nuggets": nuggets,
    }
    return Pair(
        f"r2c2.answer/{key}",
        "r2c2.answer",
        "correct",
        str(row["source"]),
        row["question"],
        unit,
        row["label"] == 1.0,
    )


def _evouna(shared: Path) -> list[Row]:
    rows = read_rows(shared / "judge" / "evouna.jsonl.gz")
    return [row for row in rows if row["hypothesis"].strip() and row["gold"].strip()]


def _correct_sentences(rows: Iterable[Row]) -> dict[str, list[str]]:
    """Question → correct answers that are short sentences."""
    found: dict[str, list[str]] = {}
    for row in rows:
        text = row["hypothesis"]
        if row["label"] == 1.0 and 40 <= len(text) <= 200 and text.endswith("."):
            found.setdefault(row["question"], []).append(text)
    return found


def _gold(row: Row) -> list[str]:
    parts = [part.strip() for part in row["gold"].split("/") if part.strip()]
    return parts[:5] or [row["gold"]]


def _openqa_human(shared: Path) -> list[Row]:
    rows: list[Row] = []
    path = shared / "openqa" / "NQ301_human.tsv"
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        _, question, answer, verdict, *_ = [*line.split("\t"), "", "", ""]
        if verdict in ("Yes", "No") and 0 < len(answer) <= 120:
            label = float(verdict == "Yes")
            rows.append(
                {"question": question, "hypothesis": answer, "label": label, "source": "nq301"}
            )
    return rows


def all_pairs(shared: Path) -> list[Pair]:
    """Every pair, always the same ones in the same order."""
    return [*entailment(shared), *answers(shared), *helped(shared)]
