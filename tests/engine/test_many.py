"""Many questions: they lie in a file, are asked once, and take little memory."""

import subprocess
import sys
from pathlib import Path

from assay.judging import todo
from assay.judging.engine import judge, plan
from assay.labellers.custom import FunctionLabeller
from assay.labellers.ensemble import EnsembleLabeller
from assay.ledger import Ledger
from tests.engine.asking import requests

ROOT = Path(__file__).parents[2]


async def entails(task, unit):
    return {"entailed": unit["nugget"].endswith("7"), "reason": ""}


entails.version = "1"


def few(monkeypatch):
    monkeypatch.setattr(todo, "MANY", 40)
    monkeypatch.setattr(todo, "_BLOCK", 10)


def test_questions_in_a_file_are_those_in_memory(monkeypatch):
    made = FunctionLabeller("f", entails)
    whole = plan(None, made, requests(333) * 2)
    few(monkeypatch)
    parts = plan(None, made, requests(333) * 2)
    assert isinstance(whole.todo, tuple)
    assert not isinstance(parts.todo, tuple)
    assert len(parts.todo) == 333
    assert dict(parts.todo) == dict(whole.todo)
    assert [key for key, _ in parts.todo] == [parts.todo[n][0] for n in range(333)]
    assert list(parts.todo[40:-7]) == list(parts.todo)[40:-7]
    assert all(one.unit_hash == dict(whole.todo)[key].unit_hash for key, one in parts.todo)
    assert (parts.known, parts.estimate()) == (whole.known, whole.estimate())


def test_they_are_asked_once_and_joined(tmp_path, monkeypatch):
    few(monkeypatch)
    one, other = FunctionLabeller("f", entails), FunctionLabeller("g", entails)
    with Ledger.open(tmp_path / "l") as ledger:
        first = judge([("t", plan(ledger, one, requests(100)))], ledger)
        second = judge([("t", plan(ledger, one, requests(250)))], ledger)
        both = judge(
            [("t", plan(ledger, EnsembleLabeller("e", [one, other]), requests(250)))], ledger
        )
        again = plan(ledger, EnsembleLabeller("e", [one, other]), requests(250))
        early = plan(ledger, other, requests(400))
        judge([("t", plan(ledger, other, requests(300)))], ledger)
        late = judge([("t", early)], ledger)
        names = [label.labeller.name for label in ledger.labels()]
    assert (first.asked, second.known, second.asked) == (100, 100, 150)
    assert (both.asked, len(again.todo), again.known) == (250, 0, 250)
    assert (late.known, late.asked) == (300, 100)
    assert {name: names.count(name) for name in set(names)} == {
        "f": 250, "g": 400, "ensemble:e": 250
    }  # fmt: skip


_PLAN = """
import resource, sys
from pathlib import Path
from assay.judging.engine import plan
from assay.labellers.rules import RulesLabeller
from assay.ledger import Ledger
from assay.labellers.base import Request
from assay.tasks.r2c2 import DIALOGUE_ACT as TASK
def requests(count):
    for n in range(count):
        yield Request(TASK, TASK.unit(question=f"Who is it? {'film ' * 40}", answer=f"I am {n}"))
with Ledger.open(Path(sys.argv[1])) as ledger:
    plan(ledger, RulesLabeller(), requests(1000))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    made = plan(ledger, RulesLabeller(), requests(60_000))
    assert sum(1 for _ in made.todo) == 60_000
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_a_plan_of_many_takes_little_memory(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", _PLAN, tmp_path / "l"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 60  # MB; 86 where all are held, 42 however many are not
