"""Questions that require several answers: an answer is right where it gives all of them."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.api.opened import Opened
from assay.formats.r2c2_questions import read_questions
from assay.model.labels import Label, LabellerId, Status
from assay.protocols.answers.acts import correctness_of
from assay.protocols.counted_labels import CountedLabels
from assay.tasks.r2c2 import EVERY_ANSWER, Act, EveryAnswerUnit
from assay.web.desk import Desk
from assay.web.forms import controls

CONFIG = """
[evaluation]
protocol = "r2c2"
[inputs]
questions = "questions.tsv"
pr_runs = ["pr/*.txt"]
ac_runs = ["ac/*.txt"]
[labellers]
default = "LABELLER"
"""
QUESTIONS = """\
1\tWhich two cities did she live in?\tSet\tParis | City of Light && Rome | Roma
2\tWho wrote it?\tSimple\tJane Austen
"""
ANSWERS = {
    "ALL": ("Rome and the City of Light", "Jane Austen"),
    "HALF": ("Paris and Oslo", "Jane Austen"),
    "NONE": ("Oslo", "Emily Brontë"),
    "SILENT": ("I don't know.", "Jane Austen"),
}


def folder(path: Path, labeller: str = "rules", questions: str = QUESTIONS) -> Path:
    for name in ("pr", "ac"):
        (path / name).mkdir(parents=True)
    (path / "assay.toml").write_text(CONFIG.replace("LABELLER", labeller))
    (path / "questions.tsv").write_text(questions)
    (path / "pr" / "PR.txt").write_text(
        "1;1;d1;She lived in Paris.\n2;1;d2;Jane Austen wrote it.\n"
    )
    for run, (first, second) in ANSWERS.items():
        text = f"<1>\n{first};80\n</1>\n<2>\n{second};60\n</2>\n"
        (path / "ac" / f"{run}.txt").write_text(text)
    return path


def scores(path: Path) -> dict[tuple[str, str], str]:
    with (path / "out" / "scores.csv").open() as file:
        return {(row["run"], row["measure"]): row["value"] for row in csv.DictReader(file)}


@pytest.mark.parametrize("labeller", ["rules", "embedded"])
def test_an_answer_is_right_where_it_gives_all_that_is_required(tmp_path, assay, labeller):
    path = folder(tmp_path / "two", labeller)
    done = assay("evaluate", path)
    assert done.returncode == 0, done.stdout + done.stderr
    found = scores(path)
    for run, accuracy, recall in (
        ("ALL", 1, 1),
        ("HALF", 0.5, 0.75),
        ("NONE", 0, 0),
        ("SILENT", 0.5, 0.5),
    ):
        assert float(found[run, "Accuracy"]) == accuracy
        assert float(found[run, "AnswerRecall"]) == recall
    html = (path / "out" / "report.html").read_text()
    assert "Required answers" in html
    assert "Paris | City of Light" in html


def test_with_one_answer_required_nothing_changes(tmp_path, assay):
    one = QUESTIONS.replace("Paris | City of Light && Rome | Roma", "Rome")
    path = folder(tmp_path / "one", questions=one)
    assert assay("evaluate", path).returncode == 0
    assert not any(measure == "AnswerRecall" for _, measure in scores(path))
    assert "every_answer" not in (path / "out" / "manifest.json").read_text()


def test_a_label_that_is_missing_leaves_a_range(tmp_path, assay):
    path = folder(tmp_path / "two")
    assert assay("judge", path).returncode == 0
    # Nobody was asked about ALL's new answer.
    run = path / "ac" / "ALL.txt"
    run.write_text(run.read_text().replace("Rome and the City of Light", "Rome, and Paris too"))
    done = assay("score", path, "--json")
    rows = {(row["run"], row["measure"]): row for row in json.loads(done.stdout)["scores"]}
    assert done.returncode == 1
    for measure in ("Accuracy", "AnswerRecall"):
        row = rows["ALL", measure]
        assert (row["floor"], row["ceiling"]) == (0.5, 1.0)


async def no_acts(task: str, unit: Mapping[str, Any]) -> Mapping[str, Any]:
    """Says which required answers are given, by words, and nothing of what an answer does."""
    if task == "r2c2.entailment":
        return {"entailed": True}
    if task == "r2c2.dialogue_act":
        return {"nonsense": True}
    words = unit["answer"].casefold()
    if task == "r2c2.answer":
        return {"correct": unit["gold"][0].casefold() in words, "nuggets": []}
    given = [any(w.strip().casefold() in words for w in one.split("|")) for one in unit["required"]]
    required = [{"number": at, "given": one} for at, one in enumerate(given, 1)]
    return {"required": required, "nuggets": []}


def test_without_its_act_it_is_open_whether_an_answer_gives_any(tmp_path, assay):
    """Should it be a refusal, it gives none of what is required."""
    function = "tests.r2c2.test_several_answers:no_acts"
    path = folder(tmp_path / "two", f'{function}"\n"r2c2.dialogue_act" = "{function}')
    assay("judge", path)
    done = assay("score", path, "--json")
    rows = {(row["run"], row["measure"]): row for row in json.loads(done.stdout)["scores"]}
    half, none = rows["HALF", "AnswerRecall"], rows["NONE", "AnswerRecall"]
    assert (half["floor"], half["ceiling"]) == (0.0, 0.75)
    assert (none["floor"], none["ceiling"]) == (0.0, 0.0)


def _labelled(verdict: dict[str, Any], kind: str) -> Label:
    who = LabellerId(f"{kind}:x", kind, {})
    return Label("", "", "t", "1", "u", who, Status.OK, verdict)


@pytest.mark.parametrize(
    ("act", "of_act", "of_answer", "recall"),
    [
        ("answer", "rules", "rules", (0.5, 0.5)),
        ("dont_know", "rules", "human", (0.5, 0.5)),  # a person's word goes before a machine's
        ("dont_know", "human", "human", (0.0, 0.0)),
        ("dont_know", "rules", "rules", (0.0, 0.0)),
    ],
)
def test_whose_word_counts_is_the_same_for_recall_as_for_correctness(
    act, of_act, of_answer, recall
):
    given = [{"number": 1, "given": True}, {"number": 2, "given": False}]
    answer = _labelled({"required": given, "correct": False}, of_answer)
    label = _labelled({"act": act}, of_act)
    rows = [CountedLabels(None, np.array([-1]), {0: one}) for one in (label, answer)]
    found = correctness_of([Act(act)], *rows, np.array([False]))
    assert (*found.correct, *found.recall[0], *found.recall[1]) == (0.0, *recall)


def test_a_label_that_contradicts_itself_is_not_taken_in(tmp_path, assay):
    path = folder(tmp_path / "two")
    assert assay("judge", path).returncode == 0
    exported = tmp_path / "labels.jsonl"
    assert assay("labels", "export", path, "-o", exported).returncode == 0
    rows = map(json.loads, exported.read_text().splitlines())
    half = next(one for one in rows if "required" in one["unit"])
    verdict = {**half["verdict"], "correct": not half["verdict"]["correct"]}
    line = {name: half[name] for name in ("task", "version", "unit")}
    exported.write_text(json.dumps({**line, "verdict": verdict}) + "\n")
    done = assay("labels", "import", path, exported, "--by", "human:EVE")
    assert done.returncode != 0
    assert "labels.jsonl:1" in done.stdout + done.stderr
    assert "contradicts" in done.stdout + done.stderr
    verdict["correct"] = half["verdict"]["correct"]
    exported.write_text(json.dumps({**line, "verdict": verdict}) + "\n")
    assert assay("labels", "import", path, exported, "--by", "human:EVE").returncode == 0


def test_a_person_says_of_each_required_answer_whether_it_is_given(tmp_path, assay):
    path = folder(tmp_path / "two")
    assert assay("judge", path).returncode == 0
    with Desk.open(Opened.open(path)) as desk:
        desk.sync()
        person = desk.state.person("KIM")
        units = desk.next(person, "r2c2.every_answer", "open", count=20)
        texts = {one["unit"]: json.loads(desk.state.unit(one["unit"]).content) for one in units}
        half = next(key for key, text in texts.items() if text["answer"] == "Paris and Oslo")
        given = [{"number": 1, "given": "YES"}, {"number": 2, "given": "YES"}]
        verdict = {"reason": "", "required": given, "nuggets": []}
        desk.give(person, half, {"verdict": verdict, "before": None, "mode": "blind", "seconds": 3})
    assert assay("score", path).returncode == 0
    assert float(scores(path)["HALF", "Accuracy"]) == 1


def test_the_screen_names_the_required_answers_though_there_are_as_many_nuggets():
    unit = EveryAnswerUnit(
        question="Which two?", answer="A, B", required=("A", "B"), nuggets=("x", "y")
    )
    found = {one["field"]: one for one in controls(EVERY_ANSWER, unit)}
    assert found["required"]["items"] == ["A", "B"]
    assert found["nuggets"]["items"] == ["x", "y"]
    assert set(found) == {"required", "nuggets"}


@pytest.mark.parametrize(
    ("gold", "fault"),
    [
        ("Paris && ", "nothing on one side of &&"),
        ("Paris && Rome | Paris", "required twice"),
        ("Rome | ROME && Paris | rome", "required twice"),
    ],
)
def test_faults_of_required_answers_are_told(tmp_path, gold, fault):
    path = tmp_path / "questions.tsv"
    path.write_text(f"1\tWhich two?\tSet\t{gold}\n2\tWho?\tSimple\tA & B\n")
    parsed = read_questions(path)
    assert [one.line for one in parsed.errors] == [1]
    assert fault in str(parsed.errors[0])
