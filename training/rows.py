"""A labelled pair, and the files of them."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from assay.labellers.judge.model import JudgeQuestion, question_of
from assay.labellers.judge.texts import Ability, answer_text, claim_text, gold_text, question_text


@dataclass(frozen=True)
class Row:
    """A labelled pair: ``claim`` is the claim, question or answer; ``passage`` the premise, empty
    for answers, which have ``question`` and ``gold``."""

    id: str
    ability: str
    source: str
    split: str
    claim: str
    passage: str
    label: float
    question: str = ""
    gold: tuple[str, ...] = ()

    def texts(self) -> tuple[str, str]:
        if self.ability == "E":
            return claim_text(self.claim), self.passage
        if self.ability == "A":
            return question_text(self.claim), self.passage
        return answer_text(self.question, self.claim), gold_text(self.claim, self.gold)


def as_question(row: Row) -> JudgeQuestion:
    """What the judge is asked about a pair."""
    return question_of(Ability(row.ability), *row.texts())


def read_split(folder: Path, name: str) -> list[Row]:
    """The pairs of split ``name`` (``calib`` or ``test``) that prepare.py wrote."""
    rows = []
    with (folder / f"{name}.jsonl").open(encoding="utf-8") as stream:
        for line in stream:
            raw = json.loads(line)
            rows.append(Row(**{**raw, "gold": tuple(raw["gold"])}))
    return rows


def sampled(rows: list[Row], most: int, seed: str) -> list[Row]:
    """At most ``most`` rows of every source, drawn with a fixed seed."""
    by_source: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_source[row.source].append(row)
    found: list[Row] = []
    for source in sorted(by_source):
        own = by_source[source]
        random.Random(f"{seed} {source}").shuffle(own)
        found += own[:most]
    return found
