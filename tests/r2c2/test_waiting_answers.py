"""Answers beside nuggets whose labels failed: no machine is asked what could not count, people are,
and what is missing is told."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from assay.api.opened import Opened
from assay.protocols.answers.results import AnswerFindings, LabelState, answer_gaps
from assay.web.asked import Asked
from tests.command import run_here, without_keys

LABELLER = """
from pathlib import Path

FAILS = Path(__file__).parent / "fails.txt"


def decide(task, unit):
    if task == "r2c2.dialogue_act":
        return {"act": "answer"}
    if task == "r2c2.entailment":
        fails = unit["nugget"] in FAILS.read_text().split()
        return {"entailed": "perhaps" if fails else "YES"}
    helped = [{"nugget": n, "helped": True} for n, _ in enumerate(unit["nuggets"], 1)]
    return {"correct": True, "nuggets": helped}
"""


class Bench:
    """An evaluation folder whose labeller fails for the nuggets that stand in a file."""

    def __init__(self, path: Path, runs: dict[str, list[str]]) -> None:
        """``runs``: for each question the nuggets, separated by spaces."""
        self.path = path
        for name in ("pr", "ac"):
            (path / name).mkdir()
        ids = [f"{n:04}" for n in range(1, max(map(len, runs.values())) + 1)]
        (path / "questions.tsv").write_text("".join(f"{one}\tWho was {one}?\n" for one in ids))
        (path / "pr" / "PR.txt").write_text("".join(f"{one};1;d;passage\n" for one in ids))
        for run, answers in runs.items():
            blocks = [
                f"<{one}>\n{run};50\n"
                + "".join(f"{n};PR;1;{text}\n" for n, text in enumerate(nuggets.split(), 1))
                + f"</{one}>\n"
                for one, nuggets in zip(ids, answers, strict=True)
            ]
            (path / "ac" / f"{run}.txt").write_text("".join(blocks))
        (path / "assay.toml").write_text(
            '[evaluation]\nprotocol = "r2c2"\n[inputs]\nquestions = "questions.tsv"\n'
            'pr_runs = "pr/*.txt"\nac_runs = "ac/*.txt"\n[labellers]\n'
            'default = "failing_nuggets:decide"\n[settings]\nresamples = 100\n'
        )
        (path / "failing_nuggets.py").write_text(LABELLER)

    def fails(self, *nuggets: str) -> None:
        (self.path / "fails.txt").write_text(" ".join(nuggets))

    def __call__(self, *arguments: object) -> Any:
        env = {**without_keys(), "PYTHONPATH": str(self.path)}
        return run_here(*arguments[:-1], self.path, arguments[-1], env=env)

    def document(self, *arguments: object) -> Any:
        done = self(*arguments, "--json")
        assert done.returncode in (0, 1), done.stderr
        return json.loads(done.stdout)

    def asked(self) -> list[dict[str, Any]]:
        """The answers that the ledger has labels of."""
        rows: list[dict[str, Any]] = self.document(
            "labels", "list", "--task=r2c2.answer", "--limit=0"
        )
        return rows

    def to_ask(self) -> dict[str, int]:
        ahead = self.document("judge", "--dry-run")["ahead"]
        return {row["task"]: row["to_ask"] for row in ahead}

    def findings(self) -> AnswerFindings:
        opened = Opened.open(self.path)
        with opened.ledger() as ledger:
            found: AnswerFindings = opened.score(ledger).only.findings.detail
        return found


@pytest.fixture(autouse=True)
def _trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The labeller lies in the evaluation folder, where nobody trusts it unasked."""
    monkeypatch.setenv("ASSAY_TRUSTED_MODULES", "failing_nuggets")


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("ASSAY_TRUSTED_MODULES", "failing_nuggets")  # it lies in the folder itself
    monkeypatch.delitem(sys.modules, "failing_nuggets", raising=False)
    bench = Bench(tmp_path, {"A": ["x y"], "B": ["x"], "C": [""]})
    bench.fails("y")
    return bench


def test_what_waits_is_not_asked_and_told(bench: Bench):
    done = bench("judge", "--json")
    assert json.loads(done.stdout)["asked"] == 3 + 2 + 2  # acts, nuggets, and not A's answer
    assert len(bench.asked()) == 2
    assert bench.to_ask() == {"dialogue acts": 0, "bogus nuggets": 0, "answers": 0}

    done = bench("score", "--policy=people")
    assert done.returncode == 1
    said = " ".join(done.stdout.split())
    assert "1 answer waits for labels of nuggets, of which 1 failed (A: 1)." in said
    assert "--retry-failed asks again" in said
    assert "could not be labelled" not in said
    document = bench.document("score")
    assert [one["waiting_answers"] for one in document["runs"].values()] == [1, 0, 0]
    assert [one["failed_answers"] for one in document["runs"].values()] == [0, 0, 0]

    bench.fails()
    assert json.loads(bench("judge", "--json").stdout)["asked"] == 0  # failed ones are left alone
    done = bench("judge", "--retry-failed", "--json")
    assert json.loads(done.stdout)["asked"] == 2  # the nugget, and now the answer
    assert bench("score", "--json").returncode == 0
    assert {one.state for by in bench.findings().answers.values() for one in by.values()} == {
        LabelState.COUNTED
    }


def test_people_are_asked_and_count_beside_what_failed(bench: Bench):
    bench("judge", "--json")
    opened = Opened.open(bench.path)
    with opened.ledger() as ledger:
        units = [
            json.loads(content)
            for task, _, _, _, content, _ in Asked(opened, ledger).units()
            if task == "r2c2.answer"
        ]
    (waiting,) = (one for one in units if one["answer"] == "A")
    assert waiting["nuggets"] == ["x"]
    row = {
        "task": "r2c2.answer", "labeller": "human:KIM", "unit": waiting,
        "verdict": {"correct": True, "nuggets": [{"nugget": 1, "helped": True}]},
    }  # fmt: skip
    file = bench.path / "labels.jsonl"
    file.write_text(json.dumps(row) + "\n")
    assert bench("labels", "import", file).returncode == 0
    found = bench.findings().answers["A"]["0001"]
    assert (found.state, found.correct, found.precision) == (LabelState.COUNTED, True, (0.5, 1.0))
    assert found.marks == {1: "R"}
    assert bench.to_ask()["answers"] == 0


def test_a_person_opens_what_waits_for_the_machine(bench: Bench):
    bench("judge", "--json")
    row = {
        "task": "r2c2.entailment", "labeller": "human:KIM", "verdict": {"entailed": "NO"},
        "unit": {"passage": "passage", "nugget": "y"},
    }  # fmt: skip
    file = bench.path / "labels.jsonl"
    file.write_text(json.dumps(row) + "\n")
    assert bench("labels", "import", file).returncode == 0
    assert bench.to_ask()["answers"] == 1
    assert json.loads(bench("judge", "--json").stdout)["asked"] == 1
    found = bench.findings().answers["A"]["0001"]
    assert (found.correct, found.marks) == (True, {1: "R", 2: "B"})


def test_answers_that_will_wait_are_foretold_by_those_that_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("ASSAY_TRUSTED_MODULES", "failing_nuggets")  # it lies in the folder itself
    monkeypatch.delitem(sys.modules, "failing_nuggets", raising=False)
    bench = Bench(tmp_path, {"A": [f"n{n}" for n in range(60)]})
    bench.fails(*(f"n{n}" for n in range(0, 60, 3)))
    assert bench.to_ask()["answers"] == 60  # nothing failed yet
    assert bench("judge", "--shard=1/2").returncode == 1
    half = bench.to_ask()["answers"]
    bench("judge", "--json")
    assert len(bench.asked()) == 40
    assert abs(half - 40) <= 4


def test_why_labels_failed_is_told_also_where_a_former_labeller_knew(bench: Bench):
    bench.fails()
    assert bench("judge", "--json").returncode == 0
    settings = bench.path / "assay.toml"
    other = settings.read_text().replace("failing_nuggets:decide", "failing_nuggets:again")
    settings.write_text(other)
    with (bench.path / "failing_nuggets.py").open("a") as file:
        file.write("\n\ndef again(task, unit):\n    return decide(task, unit)\n")
    sys.modules.pop("failing_nuggets", None)
    bench.fails("y")
    assert json.loads(bench("judge", "--json").stdout)["failed"] == 1
    warnings = bench.document("score")["warnings"]
    (why,) = (one for one in warnings if one.startswith("Failed labels"))
    assert why.endswith("(1)"), why
    row = {
        "task": "r2c2.entailment", "labeller": "human:KIM", "verdict": {"entailed": "NO"},
        "unit": {"passage": "passage", "nugget": "y"},
    }  # fmt: skip
    file = bench.path / "labels.jsonl"
    file.write_text(json.dumps(row) + "\n")
    assert bench("labels", "import", file).returncode == 0
    assert not any("Failed labels" in one for one in bench.document("score")["warnings"])


def test_what_a_person_left_open_is_told_of_answers_that_lack_no_label(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("ASSAY_TRUSTED_MODULES", "failing_nuggets")  # it lies in the folder itself
    monkeypatch.delitem(sys.modules, "failing_nuggets", raising=False)
    bench = Bench(tmp_path, {"A": ["x", "x y"], "B": ["x", "x"]})
    bench.fails("y")
    labeller = bench.path / "failing_nuggets.py"
    labeller.write_text(LABELLER.replace('"correct": True, "nuggets": helped', '"correct": False'))
    rows = [
        {"task": "r2c2.answer", "labeller": "human:KIM",
         "unit": {"question": f"Who was {question}?", "answer": "A", "gold": [], "nuggets": ["x"]},
         "verdict": {"correct": True, "nuggets": []}}
        for question in ("0001", "0002")
    ]  # fmt: skip
    file = bench.path / "labels.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert bench("labels", "import", file).returncode == 0

    def said() -> tuple[int, str]:
        found = bench.findings()
        gaps = answer_gaps(list(found.notes.values()), found.failed_nuggets, found.helps_open)
        return found.helps_open, " ".join(one.so for one in gaps)

    number, shown = said()  # no nugget has a label yet
    assert (number, "left open" in shown) == (0, False)
    bench("judge", "--json")
    number, shown = said()
    assert number == 1  # the other's nugget y failed
    assert "But 1 answer lacks no label. A person called it right without saying" in shown
