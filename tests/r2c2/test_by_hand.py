"""Small evaluations whose scores were computed by hand, through the command line."""

from __future__ import annotations

import csv
import json
from math import log2
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from assay.cli.commands import app

Row = dict[str, Any]
Scores = dict[tuple[str, str], Row]


def assay(*arguments: object) -> str:
    done = CliRunner().invoke(app, [str(one) for one in arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code in (0, 1), done.output
    return done.stdout


class Made:
    """An evaluation of one question (or more) whose answers are right; labels are recorded."""

    def __init__(self, folder: Path, settings: str = "", questions: int = 1) -> None:
        self.folder = folder
        self.labels: list[Row] = []
        for name in ("pr", "ac"):
            (folder / name).mkdir()
        ids = range(1, questions + 1)
        text = "".join(f"q{n}\tWho was {n}?\tSimple\tgold\n" for n in ids)
        (folder / "questions.tsv").write_text(text)
        self.toml(settings)

    def toml(self, settings: str) -> None:
        (self.folder / "assay.toml").write_text(
            '[evaluation]\nprotocol = "r2c2"\n[inputs]\nquestions = "questions.tsv"\n'
            'pr_runs = "pr/*.txt"\nac_runs = "ac/*.txt"\n[labellers]\n'
            f'default = "recorded:recorded.jsonl"\n[settings]\nresamples = 100\n{settings}\n'
        )

    def passages(self, run: str, *passages: tuple[str, str]) -> None:
        rows = [f"q1;{rank};{doc};{text}\n" for rank, (doc, text) in enumerate(passages, 1)]
        (self.folder / "pr" / f"{run}.txt").write_text("".join(rows))

    def answer(self, run: str, confidence: int, *nuggets: tuple[str, int, str]) -> None:
        """Nuggets: the passage run and rank that each cites, and its text."""
        rows = [f"{n};{pr};{rank};{text}\n" for n, (pr, rank, text) in enumerate(nuggets, 1)]
        block = f"<q1>\nanswer of {run};{confidence}\n{''.join(rows)}</q1>\n"
        (self.folder / "ac" / f"{run}.txt").write_text(block)

    def entailed(self, passage: str, nugget: str, verdict: bool = True) -> None:
        unit = {"passage": passage, "nugget": nugget}
        said = {"task": "r2c2.entailment", "unit": unit, "verdict": {"entailed": verdict}}
        self.labels.append(said)

    def judged(self, run: str, correct: bool, *nuggets: tuple[str, bool]) -> None:
        """An answer beside its entailed nuggets, of which each helped or not."""
        unit = {"question": "Who was 1?", "answer": f"answer of {run}", "gold": ["gold"]}
        unit |= {"nuggets": [text for text, _ in nuggets]}
        helped = [{"nugget": n, "helped": one} for n, (_, one) in enumerate(nuggets, 1)]
        verdict = {"correct": correct, "nuggets": helped}
        self.labels.append({"task": "r2c2.answer", "unit": unit, "verdict": verdict})

    def judge(self) -> None:
        rows = "".join(json.dumps(one) + "\n" for one in self.labels)
        (self.folder / "recorded.jsonl").write_text(rows)
        assay("judge", self.folder, "--json")

    def say(self, task: str, unit: Row, verdict: Row, by: str = "human:KIM") -> None:
        path = self.folder / "said.jsonl"
        path.write_text(json.dumps({"task": task, "unit": unit, "verdict": verdict}) + "\n")
        assay("labels", "import", self.folder, path, "--by", by)

    def score(self, *more: str) -> Row:
        found: Row = json.loads(assay("score", self.folder, "--json", *more))
        return found

    def marks(self, run: str) -> list[str]:
        text = (self.folder / "out" / "marked" / f"{run}.txt").read_text()
        return [row.partition(";")[0] for row in text.splitlines()[2:-1]]


def by_name(found: Row) -> Scores:
    return {(row["run"], row["measure"]): row for row in found["scores"]}


def qrels(folder: Path) -> dict[str, str]:
    rows = (folder / "out" / "qrels.txt").read_text().splitlines()
    return {row.split()[2]: row.split()[3] for row in rows}


# -- relevance units and ideal lists --------------------------------------------------------------


@pytest.fixture
def two(tmp_path: Path) -> Made:
    """Runs X and Y share a passage (X;2 and Y;1), which X has once more as X;3. Y;2 has the text
    of X;1 and another document."""
    made = Made(tmp_path)
    made.passages("X", ("d1", "one"), ("d2", "two"), ("d2", "two"), ("d3", "three"))
    made.passages("Y", ("d2", "two"), ("d4", "one"))
    nuggets = (("X", 2, "n1"), ("X", 3, "n2"), ("Y", 1, "n3"), ("X", 1, "n4"), ("Y", 2, "n5"))
    made.answer("A", 100, *nuggets)
    made.answer("B", 100, ("X", 2, "n1"))
    for text in ("n1", "n2", "n3"):
        made.entailed("two", text)
    for text in ("n4", "n5"):
        made.entailed("one", text)
    made.judged("A", True, *((f"n{n}", n < 5) for n in range(1, 6)))
    made.judged("B", True, ("n1", True))
    made.judge()
    return made


# DCG of a list of grades from rank 1.
def dcg(*grades: float) -> float:
    return sum(grade / log2(rank + 1) for rank, grade in enumerate(grades, 1))


def test_passages_of_several_runs_are_units_of_their_own(two: Made):
    found = by_name(two.score())
    assert qrels(two.folder) == {
        "X;1": "1",
        "X;2": "2",
        "X;3": "1",
        "X;4": "0",
        "Y;1": "1",
        "Y;2": "0",
    }
    ideal = dcg(2, 1, 1, 1)
    assert found["X", "nDCG@20"]["value"] == pytest.approx(dcg(1, 2, 1, 0) / ideal, abs=1e-12)
    assert found["Y", "nDCG@20"]["value"] == pytest.approx(dcg(1, 0) / ideal, abs=1e-12)


def test_merged_passages_are_one_unit_with_the_grades_of_all(two: Made):
    """The same document and the same text; a repetition keeps its rank and has no grade."""
    two.toml("merge_identical = true")
    found = by_name(two.score())
    assert qrels(two.folder) == {"X;1": "1", "X;2": "4", "X;4": "0", "Y;2": "0"}
    ideal = dcg(4, 1)
    assert found["X", "nDCG@20"]["value"] == pytest.approx(dcg(1, 4, 0, 0) / ideal, abs=1e-12)
    assert found["Y", "nDCG@20"]["value"] == pytest.approx(dcg(4, 0) / ideal, abs=1e-12)


def test_the_own_ideal_is_of_what_the_run_shows(two: Made):
    two.toml('ideal = "own"')
    found = by_name(two.score())
    assert found["X", "nDCG@20"]["value"] == pytest.approx(dcg(1, 2, 1) / dcg(2, 1, 1), abs=1e-12)
    assert found["Y", "nDCG@20"]["value"] == 1.0
    assert found["Y", "Q@20"]["value"] == 1.0
    two.toml('ideal = "own"\nmerge_identical = true')
    found = by_name(two.score())
    assert found["X", "nDCG@20"]["value"] == pytest.approx(dcg(1, 4) / dcg(4, 1), abs=1e-12)
    assert found["Y", "nDCG@20"]["value"] == 1.0


# -- labels that an edit carries on ---------------------------------------------------------------


@pytest.fixture
def edited(tmp_path: Path) -> Made:
    """A right answer with three entailed nuggets, of which the second and third helped."""
    made = Made(tmp_path)
    made.passages("X", ("d1", "one"), ("d2", "two"), ("d3", "three"))
    made.answer("A", 80, ("X", 1, "n1"), ("X", 2, "n2"), ("X", 3, "n3"))
    made.answer("B", 80, ("X", 2, "n2"), ("X", 3, "n3"))
    for passage, nugget in (("one", "n1"), ("two", "n2"), ("three", "n3")):
        made.entailed(passage, nugget)
    made.judged("A", True, ("n1", False), ("n2", True), ("n3", True))
    made.judged("B", True, ("n2", True), ("n3", False))
    made.judge()
    return made


FIRST = {"passage": "one", "nugget": "n1"}


def answer_of(run: str, *nuggets: str) -> Row:
    unit = {"question": "Who was 1?", "answer": f"answer of {run}", "gold": ["gold"]}
    return {**unit, "nuggets": list(nuggets)}


def test_what_was_said_of_an_answer_goes_on_with_it_by_the_nuggets_texts(edited: Made):
    found = edited.score()
    assert edited.marks("A") == ["N1", "R2", "R3"]
    assert found["runs"]["A"]["carried_answers"] == 0
    edited.say("r2c2.entailment", FIRST, {"entailed": False})
    found = edited.score()
    assert found["runs"]["A"]["carried_answers"] == 1
    assert found["missing"] == 0
    assert edited.marks("A") == ["B1", "R2", "R3"]
    assert edited.marks("B") == ["R1", "N2"]
    assert by_name(found)["A", "Accuracy"]["value"] == 1.0
    edited.score("--policy", "machine")
    text = (edited.folder / "out" / "machine" / "marked" / "A.txt").read_text()
    assert "\nN1;" in text


def test_the_newest_of_what_was_said_of_the_former_answers_goes_on(edited: Made):
    edited.say("r2c2.answer", answer_of("A", "n1", "n2", "n3"), {"correct": False, "nuggets": []})
    edited.say("r2c2.entailment", FIRST, {"entailed": False})
    assert by_name(edited.score())["A", "Accuracy"]["value"] == 0.0
    helped = [{"nugget": 1, "helped": True}, {"nugget": 2, "helped": False}]
    later = {"correct": True, "nuggets": helped}
    edited.say("r2c2.answer", answer_of("A", "n2", "n3"), later)
    edited.say("r2c2.entailment", {"passage": "two", "nugget": "n2"}, {"entailed": False})
    found = edited.score()
    assert found["runs"]["A"]["carried_answers"] == 1
    assert by_name(found)["A", "Accuracy"]["value"] == 1.0
    assert edited.marks("A") == ["B1", "B2", "N3"]


def test_that_people_disagree_on_what_is_carried_is_told(edited: Made):
    former = answer_of("A", "n1", "n2", "n3")
    edited.say("r2c2.answer", former, {"correct": True, "nuggets": []}, by="human:LEE")
    edited.say("r2c2.answer", former, {"correct": False, "nuggets": []})
    edited.say("r2c2.entailment", FIRST, {"entailed": False})
    found = edited.score("--policy", "people")  # for all tasks, though people labelled unevenly
    assert found["runs"]["A"]["carried_answers"] == 1
    assert "; people disagree on 1 unit" in found["stands_on"]["r2c2"]
    assert any("People disagree on 1 unit" in one for one in found["warnings"])


def test_a_machines_word_on_the_answer_as_it_is_goes_before_what_is_carried(edited: Made):
    """Also where people judged other answers."""
    edited.say("r2c2.answer", answer_of("B", "n2", "n3"), {"correct": True, "nuggets": []})
    edited.say("r2c2.entailment", FIRST, {"entailed": False})
    edited.judged("A", False, ("n2", False), ("n3", False))
    edited.judge()
    found = edited.score()
    assert found["runs"]["A"]["carried_answers"] == 0
    assert by_name(found)["A", "Accuracy"]["value"] == 0.0
    assert edited.marks("A") == ["B1", "N2", "N3"]


def test_a_persons_word_on_a_former_answer_goes_before_a_machines_on_the_present_one(edited: Made):
    edited.say("r2c2.answer", answer_of("A", "n1", "n2", "n3"), {"correct": False, "nuggets": []})
    edited.say("r2c2.entailment", FIRST, {"entailed": False})
    edited.judged("A", True, ("n2", True), ("n3", True))
    edited.judge()
    found = edited.score()
    assert found["runs"]["A"]["carried_answers"] == 1
    assert by_name(found)["A", "Accuracy"]["value"] == 0.0
    edited.say("r2c2.answer", answer_of("A", "n2", "n3"), {"correct": True, "nuggets": []})
    found = edited.score()
    assert found["runs"]["A"]["carried_answers"] == 0
    assert by_name(found)["A", "Accuracy"]["value"] == 1.0
    assert edited.marks("A") == ["B1", "R2", "R3"]  # the machine's word on the nuggets stands


# -- labels of other tasks ------------------------------------------------------------------------


def said_of_support(made: Made, passage: str, nugget: str, said: str, **more: Any) -> Row:
    unit = {"passage": passage, "sentence": nugget}
    row = {"task": "trec_rag.support", "unit": unit, "labeller": _WHO}
    return {**row, "verdict": {"support": said}, **more}


def bring_in(made: Made, *rows: Row) -> None:
    path = made.folder / "support.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    assay("labels", "import", made.folder, path)


def test_labels_of_support_tell_what_is_entailed_where_nothing_else_does(edited: Made):
    """Full support alone is entailment; a label of the task itself goes before what another tells,
    and a failed one tells nothing."""
    edited.labels = [row for row in edited.labels if row["unit"].get("nugget") not in ("n1", "n2")]
    (edited.folder / "labels.sqlite").unlink()
    edited.judge()
    assert edited.score()["missing"] > 0
    bring_in(
        edited,
        said_of_support(edited, "one", "n1", "partial"),
        said_of_support(edited, "two", "n2", "full"),
        said_of_support(edited, "three", "n3", "none"),  # it was said to be entailed
    )
    edited.judged("A", True, ("n2", True), ("n3", True))
    edited.judge()
    assert edited.score()["missing"] == 0
    assert edited.marks("A") == ["B1", "R2", "R3"]


def test_a_machines_entailment_goes_before_what_its_support_tells_later(edited: Made):
    """Whatever it was asked in: none of its labels need be in the present wording."""
    edited.labels = [row for row in edited.labels if row["unit"].get("nugget") != "n1"]
    (edited.folder / "labels.sqlite").unlink()
    edited.judge()
    own = {"task": "r2c2.entailment", "unit": FIRST, "labeller": _WHO}
    said = {**own, "verdict": {"entailed": True}, "created": AT}
    bring_in(edited, *({**said, "key": f"{number:032x}"} for number in range(2)))
    bring_in(edited, said_of_support(edited, "one", "n1", "none"))
    edited.judge()
    edited.score()
    assert edited.marks("A")[0] == "N1"


def test_a_persons_support_goes_before_a_machines_entailment(edited: Made):
    unit = {"passage": "one", "sentence": "n1"}
    edited.say("trec_rag.support", unit, {"support": "partial"})
    edited.score()
    assert edited.marks("A")[0] == "B1"
    edited.score("--policy", "machine")
    text = (edited.folder / "out" / "machine" / "marked" / "A.txt").read_text()
    assert "\nN1;" in text


def test_labels_of_tasks_that_no_score_rests_on_do_not_matter(edited: Made):
    before = edited.score()
    units = [
        {"question": "Who was 1?", "passage": text, "gold": ["gold"]} for text in ("one", "two")
    ]
    rows = [
        {"task": "r2c2.relevance", "unit": unit, "verdict": {"relevant": True}, "labeller": _WHO}
        for unit in units
    ]
    graded = {"question": "Who was 1?", "passage": "one"}
    rows.append(
        {"task": "trec_rag.relevance", "unit": graded, "verdict": {"grade": 3}, "labeller": _WHO}
    )
    rated = {"passage": "one", "question": "Who was 1?"}
    rows += [
        {"task": "exam.self_rating", "unit": rated, "verdict": {"rating": 5}, "labeller": _WHO},
        {"task": "sgss.sufficiency", "unit": {"query": "q", "overview": "n1"},
         "verdict": {"label": "perfectly"}, "labeller": _WHO},
    ]  # fmt: skip
    bring_in(edited, *rows)
    after = edited.score()
    assert after["scores"] == before["scores"]
    lines = (edited.folder / "out" / "labels.jsonl").read_text().splitlines()
    assert {json.loads(line)["task"] for line in lines} == {
        "r2c2.entailment", "r2c2.answer", "r2c2.dialogue_act",
    }  # fmt: skip


_WHO = {"name": "recorded:recorded.jsonl", "kind": "recorded", "params": {}}
AT = "2026-01-02T03:04:05.000000+00:00"


# -- confidence of answers that are not there -----------------------------------------------------


@pytest.mark.parametrize(
    ("confidence", "right", "floor"),
    [(40, False, (0.4 + 1.0) / 2), (60, True, (0.4 + 1.0) / 2), (90, False, (0.9 + 1.0) / 2)],
    ids=["overconfident", "underconfident", "very overconfident"],
)
def test_an_answer_left_out_may_stand_in_the_bin_of_the_others(
    tmp_path: Path, confidence: int, right: bool, floor: float
):
    """One bin, one answer, one question left out: the mean of both gaps, on the worse side."""
    made = Made(tmp_path, "bins = 1", questions=2)
    made.passages("X", ("d1", "one"))
    made.answer("A", confidence)
    made.judged("A", right)
    made.judge()
    row = by_name(made.score())["A", "MCE"]
    assert (row["value"], row["missing"]) == (None, 1)
    assert row["floor"] == pytest.approx(floor, abs=1e-12)
    with (tmp_path / "out" / "scores.csv").open(newline="") as file:
        rows = {(one["run"], one["measure"]): one for one in csv.DictReader(file)}
    assert float(rows["A", "MCE"]["floor"]) == row["floor"]
