"""What the network says of questions, kept as it comes, so that a run that was cut off goes on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rows import Row

from assay.labellers.judge.evidence import FIRST_TOKENS, WINDOW
from assay.labellers.judge.model import JudgeQuestion, Network, read
from assay.labellers.judge.texts import ABILITIES, TEXTS_VERSION, Ability

AT_ONCE = 64


class Reader:
    """Features of questions by the network in ``model``; ``kept`` is a JSONL file of known ones."""

    def __init__(self, model: Path, tokeniser: Path, kept: Path | None = None) -> None:
        data = model.read_bytes()
        self.sha256 = hashlib.sha256(data).hexdigest()
        self.network = Network(data, tokeniser.read_bytes())
        self.kept = kept
        self.known: dict[str, list[float]] = {}
        if kept is not None and kept.exists():
            for line in kept.read_text(encoding="utf-8").splitlines():
                if line.endswith("}"):  # a line cut off by a kill is read again
                    row = json.loads(line)
                    self.known[row["key"]] = row["features"]

    def features(self, questions: Sequence[JudgeQuestion]) -> np.ndarray:
        """Features (questions, features), those not known yet from the network."""
        keys = [self._key(question) for question in questions]
        todo = [at for at, key in enumerate(keys) if key not in self.known]
        for start in range(0, len(todo), AT_ONCE):
            part = todo[start : start + AT_ONCE]
            readings = read(self.network, [questions[at] for at in part])
            lines = []
            for at, reading in zip(part, readings, strict=True):
                self.known[keys[at]] = np.round(reading.features, 5).tolist()
                lines.append(json.dumps({"key": keys[at], "features": self.known[keys[at]]}))
            if self.kept is not None:
                with self.kept.open("a", encoding="utf-8") as stream:
                    stream.write("\n".join(lines) + "\n")
            if start % 1024 == 0:
                print(f"{start} of {len(todo)} questions read", flush=True)
        return np.array([self.known[key] for key in keys])

    def _key(self, question: JudgeQuestion) -> str:
        parts = [self.sha256, str(TEXTS_VERSION), question.ability, question.first, question.second]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def margins(network: Network, rows: Sequence[Row]) -> np.ndarray:
    """Log odds of yes of the first window of each row, before calibration."""
    texts = [row.texts() for row in rows]
    firsts = network.tokenise([first for first, _ in texts])
    seconds = network.tokenise([second for _, second in texts])
    pairs = [
        (one[:FIRST_TOKENS], other[: WINDOW - 3 - len(one[:FIRST_TOKENS])])
        for one, other in zip(firsts, seconds, strict=True)
    ]
    abilities = [ABILITIES.index(Ability(row.ability)) for row in rows]
    logits = network.logits(pairs)[np.arange(len(rows)), abilities]
    found: np.ndarray = logits[:, 2] - np.logaddexp(logits[:, 0], logits[:, 1])
    return found
