"""Labels of two machines and a person, failed, missing and outdated ones: what counts of them."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.labellers.base import Request, request_key
from assay.ledger import NewLabel
from assay.model.labels import LabellerId, Status
from assay.protocols.evaluation import Evaluation
from assay.protocols.folder import Folder
from assay.protocols.r2c2.protocol import R2C2
from assay.protocols.ranked import ranked_files
from assay.protocols.results import Findings
from assay.tasks.r2c2 import ANSWER, ENTAILMENT, RELEVANCE

KIM, OTHER = LabellerId("human:KIM", "human"), LabellerId("openai:other", "model", {"seed": 1})
QUESTIONS, RUNS, NUGGETS = 30, 3, 5
DIGESTS = {
    ("false", "people"): "67abba3dd28300e3",
    ("false", "machine"): "addeb76ec495b39f",
    ("false", "human"): "1bfee6366ca6455b",
    ("false", "only:openai:other"): "7349cd6e3fb2d305",
    ("true", "people"): "b4ef7b20c106b8ec",
    ("true", "machine"): "cd296da906e5fa6f",
    ("true", "human"): "811aad664ae960de",
    ("true", "only:openai:other"): "806eea1066d3985e",
}


def write_inputs(folder: Path, draw: random.Random, check: str) -> None:
    """Answers of three runs; passages, nuggets and answers are often alike."""
    for name in ("pr", "ac"):
        (folder / name).mkdir(parents=True)
    ids = [f"{n:04}" for n in range(1, QUESTIONS + 1)]
    rows = [f"{one}\tWho was number {n // 2}?\tSimple\tgold {one}\n" for n, one in enumerate(ids)]
    (folder / "questions.tsv").write_text("".join(rows))
    for run in "AB":
        lines = [f"{q};{r};d{r};passage {draw.randrange(90)}\n" for q in ids for r in range(1, 6)]
        (folder / "pr" / f"PR-{run}.txt").write_text("".join(lines))
    for run in range(RUNS):
        blocks = []
        for q in ids:
            if draw.random() < 0.05:
                continue
            nuggets = "".join(
                f"{n};PR-{draw.choice('AB')};{draw.randint(1, 5)};claim {draw.randrange(40)}\n"
                for n in range(1, NUGGETS + 1)
            )
            answer = f"answer {draw.randrange(3)};{draw.randint(0, 100)}"
            blocks.append(f"<{q}>\n{answer}\n{nuggets}</{q}>\n")
        (folder / "ac" / f"AC-{run}.txt").write_text("".join(blocks))
    (folder / "assay.toml").write_text(
        '[evaluation]\nprotocol = "r2c2"\n[inputs]\nquestions = "questions.tsv"\n'
        'pr_runs = "pr/*.txt"\nac_runs = "ac/*.txt"\n[labellers]\ndefault = "openai:m"\n'
        f"[settings]\nresamples = 100\nrelevance_check = {check}\n"
    )


def verdict(request: Request, draw: random.Random) -> dict[str, Any]:
    if request.task is ENTAILMENT:
        return {"reason": "so", "entailed": draw.random() < 0.8}
    if request.task is ANSWER:
        numbers = range(1, len(request.content["nuggets"]) + 1)
        nuggets = [
            {"nugget": n, "reason": "a step", "helped": draw.random() < 0.5} for n in numbers
        ]
        return {"reason": "so", "correct": draw.random() < 0.6, "nuggets": nuggets}
    if request.task is RELEVANCE:
        return {"reason": "", "relevant": draw.random() < 0.3}
    return {"reason": "", "act": draw.choice(["answer", "answer", "dont_know"])}


def some_labels(
    requests: Iterable[Request], who: LabellerId, key: Any, draw: random.Random
) -> Iterator[NewLabel]:
    """Labels of two machines and a person, of which some failed, are missing, of another version
    or of an older wording."""

    def made(request: Request, labeller: LabellerId = who, **more: Any) -> NewLabel:
        values: dict[str, Any] = {
            "key": key(request),
            "version": request.task.version,
            "status": Status.OK,
            "verdict": verdict(request, draw),
            "detail": {"model": draw.choice(["m-1", "m-2"])},
        }
        values.update(more)
        return NewLabel(
            task=request.task.name,
            unit=request.unit_hash,
            content=request.content,
            labeller=labeller,
            **values,
        )

    for request in requests:
        label = partial(made, request)
        chance = draw.random()
        if chance < 0.05:
            yield label(status=Status.FAILED, verdict=None, error="no JSON")
        elif chance < 0.95:
            yield label()
        if draw.random() < 0.1:
            yield label(key=f"older {request.unit_hash}")
        if draw.random() < 0.1:
            yield label(OTHER, key=f"other {request.unit_hash}")
        if draw.random() < 0.1:
            yield label(KIM, key=f"hand {request.unit_hash}")
        if draw.random() < 0.05:
            yield label(version="0", key=f"version {request.unit_hash}")


def make(folder: Path, check: str) -> None:
    draw = random.Random(7)
    write_inputs(folder, draw, check)
    evaluation = Evaluation.open(Folder.open(folder), R2C2, None)
    labellers = evaluation.labellers()
    with evaluation.folder.open_ledger() as ledger:
        for step in evaluation.steps:
            for request in step.people_requests(evaluation.book(ledger)):
                labeller = labellers[request.task.name]
                key = lambda one, by=labeller: request_key(by, one)  # noqa: E731
                ledger.add(some_labels([request], labeller.id, key, draw))


def digest(found: Findings) -> str:
    """Of all marks, grades and verdicts."""
    files = {**found.files, **dict(ranked_files(found.ranked))}
    names = [one for one in ("confidence.csv", "qrels.txt", "relevance.csv") if one in files]
    names += sorted(one for one in files if one.startswith("marked/"))
    data = (files[one] for one in names)
    lines = (one if isinstance(one, bytes) else b"".join(one()) for one in data)
    return hashlib.sha256(b"".join(lines)).hexdigest()[:16]


@pytest.mark.parametrize("check", ["false", "true"])
def test_marks_and_grades_under_every_policy(tmp_path: Path, monkeypatch, check: str):
    """They are those that an earlier, separately written scorer gave, of a ledger without what a
    machine said to a question that it had answered before."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    make(tmp_path, check)
    for policy in ("people", "machine", "human", "only:openai:other"):
        evaluation = Evaluation.open(Folder.open(tmp_path), R2C2, policy)
        with evaluation.folder.open_ledger(create=False) as ledger:
            result = evaluation.score(ledger)
            assert digest(result.findings) == DIGESTS[check, policy]
            assert len({number for number, _ in result.used.rows()}) > 40
        (others,) = [one for one in result.warnings if one.startswith("Labels are missing")]
        # Where the policy leaves machines out, nobody's naming would have labels count.
        assert ("name that labeller" in others) == (policy in ("people", "machine"))
        again = [one for one in result.warnings if "asked again because" in one]
        assert len(again) == (4 if check == "true" else 3)


def test_members_of_an_ensemble_are_named_already(tmp_path: Path):
    write_inputs(tmp_path, random.Random(7), "false")
    settings = (tmp_path / "assay.toml").read_text()
    settings = settings.replace("openai:m", "ensemble:jury") + "[ensembles.jury]\nmembers = [{}]\n"
    members = [f'"tests.golden.oracle:{name}"' for name in ("judge", "second", "third")]

    def remark(policy: str, *named: str) -> str:
        (tmp_path / "assay.toml").write_text(settings.format(", ".join(named)))
        evaluation = Evaluation.open(Folder.open(tmp_path), R2C2, policy)
        with evaluation.folder.open_ledger(create=False) as ledger:
            warnings = evaluation.score(ledger).warnings
        return next((one for one in warnings if one.startswith("Labels are missing")), "")

    (tmp_path / "assay.toml").write_text(settings.format(", ".join(members[:2])))
    assay.open(tmp_path).judge()
    assert remark("people", *members[:2]) == ""
    asked_anew = remark("people", *members)
    assert "name that labeller" not in asked_anew
    assert "Some are by ensemble:jury, tests.golden.oracle:judge" in asked_anew
    assert "Those by ensemble:jury and rules count under --policy people." in remark(
        "human", *members[:2]
    )
