"""People beside the machine: what every protocol has of it, whatever policy it is scored under."""

import csv
import io
import json
from pathlib import Path

import pytest

from assay.api.people import people_of
from assay.statistics.agreement import krippendorff_alpha
from tests.golden.stage import ORACLE, Stage, assay, turned

FEW = {"resamples": 100}
EXAMPLES = {
    "slide": ("r2c2.answer", {}),
    "exam": ("exam.self_rating", {"labellers": {"default": ORACLE}}),
    "sgss": ("sgss.statement", {}),
}
"""Example → a task of which people say something else than the machine."""


def labelled(folder: Path, example: str, every: int = 1) -> Stage:
    """An example of which a person labelled every so manyth unit of each task."""
    task, changed = EXAMPLES[example]
    stage = Stage(folder / example, example, settings=FEW, **changed)
    stage.judge()
    rows = [row for row in stage.export() if row["status"] == "ok"][::every]
    for row in rows:
        del row["uid"]  # what corrects a label that was in sight is not set against it
    other = [{**row, "verdict": turned(row)} if row["task"] == task else row for row in rows]
    stage.say(other)
    return stage


def table(text: str, *columns: str) -> dict[tuple[str, ...], list[str]]:
    rows = csv.DictReader(io.StringIO(text))
    return {tuple(map(row.pop, columns)): list(row.values()) for row in rows}


@pytest.mark.parametrize("example", EXAMPLES)
def test_scores_by_each_are_those_under_their_policies(tmp_path: Path, example: str) -> None:
    stage = labelled(tmp_path, example)
    found = {policy: stage.pins(policy) for policy in ("people", "human", "machine")}
    sides = table(found["people"]["settings.csv"], "setting", "run", "measure")
    assert {name for name, *_ in sides} == {"by the machine", "by people"}
    for name, policy in (("by people", "human"), ("by the machine", "machine")):
        alone = table(found[policy]["scores.csv"], "run", "measure")
        mine = {key[1:]: row for key, row in sides.items() if key[0] == name}
        assert mine
        assert mine == {key: row for key, row in alone.items() if key in mine}
    apart = [key for key, row in sides.items() if row != sides["by people", *key[1:]]]
    assert apart
    assert {one["settings.csv"] for one in found.values()} == {found["people"]["settings.csv"]}
    printed = json.loads(found["people"]["printed.json"])
    assert len(printed["settings"]) == len(sides)
    assay("report", stage.folder)
    page = (stage.folder / "out" / "report.html").read_text(encoding="utf-8")
    assert "people and the machine side by side" in page
    assert "People and the machine" in page


def test_alpha_of_grades_goes_by_their_order(tmp_path: Path) -> None:
    stage = labelled(tmp_path, "exam")
    rows = [row for row in stage.export() if row["task"] == "exam.self_rating"]
    said: dict[str, dict[str, int]] = {}
    for row in rows:
        of_labeller = said.setdefault(row["labeller"]["kind"], {})
        of_labeller[row["unit_hash"]] = row["verdict"]["rating"]
        del row["uid"]
    stage.say([row for row in rows if row["labeller"]["kind"] != "human"], "human:LEE")
    found = next(one for one in people_of(stage.folder) if one.task == "exam.self_rating")
    kim, (lee,) = said.pop("human"), said.values()
    grades = [[one[unit] for unit in kim] for one in (kim, lee)]
    assert found.alpha.value == krippendorff_alpha(grades, "ordinal")
    assert found.alpha.value != krippendorff_alpha(grades, "nominal")
    assert found.categories == tuple(map(str, sorted({*grades[0], *grades[1]})))


def test_what_people_leave_open_everywhere_is_not_set_beside(tmp_path: Path) -> None:
    stage = labelled(tmp_path, "sgss", every=40)
    found = stage.pins()
    assert "settings.csv" not in found
    assert "settings" not in json.loads(found["printed.json"])
    assay("report", stage.folder)
    page = (stage.folder / "out" / "report.html").read_text(encoding="utf-8")
    assert "side by side" not in page
    assert "People and the machine" in page


def test_without_people_nothing_is_set_beside(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "sgss", "sgss", settings=FEW)
    stage.judge()
    assert "settings.csv" not in stage.pins()
    assay("report", stage.folder)
    page = (stage.folder / "out" / "report.html").read_text(encoding="utf-8")
    assert "People and the machine" not in page
