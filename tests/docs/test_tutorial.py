"""The labels of the tutorial on trust, given in the workbench, come to what the page shows."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from assay.api.opened import Opened
from assay.api.planning import Aim, plan_labels
from assay.api.trust import trust
from assay.web.desk import Desk
from tests.films import FILMS


def evaluated(assay, folder: Path) -> Path:
    shutil.copytree(FILMS, folder, ignore=shutil.ignore_patterns("out", "labels.sqlite*", "build"))
    assert assay("judge", folder).returncode == 0
    done = assay("draw", folder, "--task", "r2c2.answer", "--n", "11", "--seed", "7")
    assert done.returncode == 0, done.stderr
    return folder


def test_labels_given_in_the_workbench_come_to_the_tutorials_numbers(assay, tmp_path):
    said = FILMS / "gold" / "said.jsonl"
    rows = [json.loads(one) for one in said.read_text("utf-8").splitlines()]
    verdicts = {json.dumps(row["unit"], sort_keys=True): row["verdict"] for row in rows}
    by_hand = evaluated(assay, tmp_path / "by-hand")
    brought_in = shutil.copytree(by_hand, tmp_path / "brought-in")
    with Desk.open(Opened.open(by_hand)) as desk:
        desk.sync()
        person = desk.state.person("KIM")
        found = desk.next(person, "r2c2.answer", "drawn", count=100)
        assert len(found) == len(rows) == 60
        for one in found:
            content = json.loads(desk.state.unit(one["unit"]).content)
            verdict = verdicts[json.dumps(content, sort_keys=True)]
            said_of = {"verdict": verdict, "before": None, "mode": "blind", "seconds": 9.04}
            desk.give(person, one["unit"], said_of)
    assert assay("labels", "import", brought_in, said).returncode == 0
    mine, theirs = (list(trust(folder).rows()) for folder in (by_hand, brought_in))
    assert mine == theirs
    assert ("MODEST", "Accuracy") in {row[:2] for row in mine}
    (all_of_it,) = plan_labels(
        Opened.open(by_hand), Aim(n=77)
    ).offers  # at the pace that the workbench timed
    assert (all_of_it.labels, all_of_it.hours) == (76, pytest.approx(76 * 9 / 3600))
    assert {one.hours for one in plan_labels(Opened.open(brought_in), Aim(n=77)).offers} == {None}
