"""Small R2C2 evaluations in which runs often hold the same nuggets and answers."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay.labellers.base import Request, request_key
from assay.ledger import Ledger, NewLabel
from assay.ledger.policy import Policy
from assay.model.labels import LabellerId, Status
from assay.protocols.answers.results import AnswerFindings
from assay.protocols.evaluation import Evaluation
from assay.protocols.folder import Folder
from assay.protocols.r2c2.inputs import R2c2Inputs
from assay.protocols.r2c2.protocol import R2C2
from assay.protocols.results import Result
from assay.tasks.r2c2 import ANSWER, DIALOGUE_ACT, ENTAILMENT

KIM = LabellerId("human:KIM", "human", {})
RUNS = ("A", "B", "C")


def write_world(folder: Path, draw: random.Random, *, questions: int = 3) -> None:
    """An evaluation folder of three runs; passages, nuggets and answers are often alike."""
    for name in ("pr", "ac"):
        (folder / name).mkdir(parents=True)
    ids = [f"{number:04}" for number in range(1, questions + 1)]
    (folder / "questions.tsv").write_text("".join(f"{one}\tWho was it?\n" for one in ids))
    lines = [f"{one};{rank};d{rank};passage {rank // 2}\n" for one in ids for rank in (1, 2, 3, 4)]
    (folder / "pr" / "PR.txt").write_text("".join(lines))
    for run in RUNS:
        blocks = []
        for one in ids:
            nuggets = "".join(
                f"{num};PR;{draw.randint(1, 4)};claim {draw.randrange(3)}\n"
                for num in range(1, draw.randint(1, 5))
            )
            blocks.append(f"<{one}>\nanswer {draw.randrange(2)};{draw.randint(0, 100)}\n{nuggets}")
            blocks.append(f"</{one}>\n")
        (folder / "ac" / f"{run}.txt").write_text("".join(blocks))
    (folder / "assay.toml").write_text(
        '[evaluation]\nprotocol = "r2c2"\n[inputs]\nquestions = "questions.tsv"\n'
        'pr_runs = "pr/*.txt"\nac_runs = "ac/*.txt"\n[labellers]\ndefault = "recorded:none.jsonl"\n'
        "[settings]\nresamples = 100\nmeasures = ['nDCG@20']\n"
    )
    (folder / "none.jsonl").write_text(
        '{"task": "r2c2.entailment", "unit": {"passage": "", "nugget": ""}, '
        '"verdict": {"entailed": "NO"}}\n'
    )


def label(request: Request, who: LabellerId, verdict: dict[str, Any], key: str) -> NewLabel:
    return NewLabel(
        key=key,
        task=request.task.name,
        version=request.task.version,
        unit=request.unit_hash,
        content=request.content,
        labeller=who,
        status=Status.OK,
        verdict=verdict,
    )


def some_verdict(request: Request, draw: random.Random) -> dict[str, Any]:
    if request.task is ENTAILMENT:
        return {"reason": "so", "entailed": draw.random() < 0.7}
    if request.task is ANSWER:
        correct = draw.random() < 0.6
        numbers = range(1, len(request.content["nuggets"]) + 1)
        helped = [
            {"nugget": n, "reason": "a step", "helped": correct and draw.random() < 0.5}
            for n in numbers
        ]
        return {"reason": "so", "correct": correct, "nuggets": helped}
    assert request.task is DIALOGUE_ACT
    return {"reason": "", "act": "answer"}


class World:
    """An evaluation folder, its inputs and its ledger."""

    def __init__(self, path: Path) -> None:
        self.folder = Folder.open(path)
        # Of a policy that was chosen nothing is scored beside it.
        self.evaluation = Evaluation.open(self.folder, R2C2, "people")
        self.labellers = self.evaluation.labellers()
        self.ledger = Ledger.open(self.folder.ledger_place)
        self.inputs: R2c2Inputs = self.evaluation.inputs

    def judge(self, draw: random.Random, share: float = 1.0) -> None:
        """Have the machine label what it has not labelled; a ``share`` of that."""
        for step in self.evaluation.steps:
            self._judge(step.requests(self.evaluation.book(self.ledger)), draw, share)

    def _judge(self, requests: Iterable[Request], draw: random.Random, share: float) -> None:
        new: dict[str, NewLabel] = {}
        for request in requests:
            labeller = self.labellers[request.task.name]
            key = request_key(labeller, request)
            if draw.random() < share and not self.ledger.statuses([(request.unit_hash, key)]):
                new[key] = label(request, labeller.id, some_verdict(request, draw), key)
        self.ledger.add(new.values())

    def say(self, request: Request, draw: random.Random) -> None:
        """A person's label."""
        self.ledger.add([label(request, KIM, some_verdict(request, draw), "by hand")])

    def score(self, policy: str = "people") -> AnswerFindings:
        found: AnswerFindings = self.result(policy).findings.detail
        return found

    def result(self, policy: str = "people") -> Result:
        return replace(self.evaluation, policy=Policy.parse(policy)).score(self.ledger)
