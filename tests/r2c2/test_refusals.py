"""The dialogue act is decided first, and a refusal's correctness follows from it."""

from __future__ import annotations

import json
from math import isnan
from pathlib import Path

import numpy as np
import pytest

from assay.model.labels import Label, LabellerId, Status
from assay.model.rag import Question
from assay.protocols.answers.acts import act_of, correctness_of, is_asked, is_to_refuse
from assay.protocols.counted_labels import CountedLabels
from assay.tasks.r2c2 import Act

MACHINE = LabellerId("openai:m", "model")
PERSON = LabellerId("human:KIM", "human")
PLAIN = Question("1", "Who directed Rocky?", "Simple", ("John G. Avildsen",))
PREMISE = Question("2", "Who won Hitchcock's Oscar for it?", "False Premise", ())
BY_GOLD = Question("3", "Who was Homer?", "Simple", ("It is not known.", "Nobody knows."))
FILM = Question("4", "Which film of 2011 stars Neeson?", "Simple", ("Unknown",))


def label(verdict: dict[str, object] | None, who: LabellerId = MACHINE) -> Label:
    status = Status.FAILED if verdict is None else Status.OK
    return Label("u", "k", "t", "1", "unit", who, status, verdict)


def act(name: str | None, who: LabellerId = MACHINE) -> Label:
    return label(None if name is None else {"act": name}, who)


def comes_to(
    given: Label | None, answer: Label | None, question: Question, text: str, **options: bool
) -> bool | None:
    """Whether an answer is right."""
    rows = [
        CountedLabels(None, np.array([-1]), {} if one is None else {0: one})
        for one in (given, answer)
    ]
    known, to_refuse = [act_of(given, question, text)], np.array([is_to_refuse(question)])
    (correct,) = correctness_of(known, *rows, to_refuse, **options).correct.tolist()
    return None if isnan(correct) else bool(correct)


def said(correct: bool | None, who: LabellerId = MACHINE) -> Label:
    return label(None if correct is None else {"correct": correct}, who)


@pytest.mark.parametrize(
    ("question", "to_refuse"),
    [
        (PLAIN, False),
        (FILM, False),
        (PREMISE, True),
        (BY_GOLD, True),
        (Question("5", "?", "false-premise", ("x",)), True),
        (Question("6", "?", "Unanswerable"), True),
        (Question("7", "?", None), False),
    ],
)
def test_category_or_gold_answers_say_whether_to_refuse(question, to_refuse) -> None:
    assert is_to_refuse(question) is to_refuse


@pytest.mark.parametrize(
    ("question", "given", "answer", "correct"),
    [
        # A refusal is wrong, whatever is said of the answer …
        (PLAIN, act("dont_know"), said(True), False),
        (PLAIN, act("other_refusal"), None, False),
        (PLAIN, act("false_premise"), said(None), False),
        # … unless the question is to be refused.
        (PREMISE, act("false_premise"), None, True),
        (PREMISE, act("dont_know"), said(False), True),
        (BY_GOLD, act("dont_know"), None, True),
        # An answer is as right as is said of it.
        (PLAIN, act("answer"), said(True), True),
        (PLAIN, act("answer"), said(False), False),
        (PREMISE, act("answer"), said(False), False),
        (PLAIN, act("answer"), None, None),
        (PLAIN, act("answer"), said(None), None),
        # Nothing is guessed where the act is not known, but what is the same either way is known.
        (PLAIN, None, said(True), None),
        (PLAIN, act(None), said(True), None),
        (PLAIN, None, said(False), False),
        (PLAIN, None, None, None),
        (PREMISE, None, said(True), True),
        (PREMISE, None, said(False), None),
        # A person's word on the answer goes before a machine's on the act, not before a person's.
        (PLAIN, act("dont_know"), said(True, PERSON), True),
        (PREMISE, act("dont_know"), said(False, PERSON), False),
        (PLAIN, None, said(True, PERSON), True),
        (PLAIN, act("dont_know", PERSON), said(True, PERSON), False),
    ],
)
def test_correctness_follows_from_the_act(question, given, answer, correct) -> None:
    assert comes_to(given, answer, question, "I do not know.") is correct


def test_where_acts_are_asked_of_nobody_the_word_on_the_answer_counts() -> None:
    def right(given: Label | None, answer: Label | None, question: Question = PLAIN) -> bool | None:
        return comes_to(given, answer, question, "Perhaps.", expected=False)

    assert right(None, said(True)) is True
    assert right(None, said(False), PREMISE) is False
    assert right(None, None) is None
    assert right(act("dont_know"), said(True)) is False  # a known refusal is never right
    assert right(act(None), said(True)) is None  # asked, and failed


def test_what_is_a_gold_answer_word_for_word_is_no_refusal() -> None:
    given = act("dont_know")
    assert act_of(given, FILM, "Unknown.") is Act.ANSWER
    assert act_of(given, FILM, "I don't know") is Act.DONT_KNOW
    assert act_of(given, BY_GOLD, "Nobody knows") is Act.DONT_KNOW


def test_a_refusal_is_not_asked_about_unless_its_nuggets_may_have_helped() -> None:
    assert is_asked(Act.ANSWER, PLAIN, 0)
    assert is_asked(None, PLAIN, 0)
    assert not is_asked(Act.DONT_KNOW, PLAIN, 3)
    assert not is_asked(Act.FALSE_PREMISE, PREMISE, 0)
    assert is_asked(Act.FALSE_PREMISE, PREMISE, 1)


# --- through the command line --------------------------------------------------------------------

BLOCKS = """<0002>
Keine Ahnung.;5
1;WASEDA-PR-1;4;Anthony Mackie starred in The Manchurian Candidate
</0002>
<0003>
There is no such film.;80
</0003>
<0004>
Unknown;70
</0004>
"""


def test_refusals_are_scored_by_rule_and_never_paid_for(slide: Path, assay) -> None:
    with (slide / "questions.tsv").open("a") as file:
        file.write("0002\tWho directed Rocky?\tSimple\tJohn G. Avildsen\n")
        file.write("0003\tWho directed Rocky in 1903?\tFalse Premise\n")
        file.write("0004\tWhich film of 2011 stars Liam Neeson?\tSimple\tUnknown\n")
    pr = slide / "pr" / "WASEDA-PR-1.txt"
    rows = pr.read_text().splitlines()
    pr.write_text("\n".join([*rows, rows[3].replace("0001;", "0002;", 1)]) + "\n")
    with (slide / "ac" / "SLIDE.txt").open("a") as file:
        file.write(BLOCKS)
    recorded = slide / "recorded.jsonl"
    everything = recorded.read_text().splitlines()
    film = {"question": "Which film of 2011 stars Liam Neeson?", "answer": "Unknown"}
    row = {
        "task": "r2c2.answer",
        "unit": {**film, "gold": ["Unknown"], "nuggets": []},
        "verdict": {"correct": "YES"},
    }
    recorded.write_text("\n".join([*everything, json.dumps(row)]) + "\n")

    done = assay("evaluate", slide, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    # The film's title is an answer; a right refusal counts among the attempted ones.
    assert document["runs"]["SLIDE"]["refusals"] == {"dont_know": 1, "false_premise": 1}
    scores = {one["measure"]: one for one in document["scores"] if one["run"] == "SLIDE"}
    attempted = {one["measure"]: one for one in document["attempted"]}
    assert scores["Accuracy"]["value"] == 0.75
    assert (attempted["Accuracy"]["value"], attempted["Accuracy"]["topics"]) == (1, 3)
    found = document["abstention"]["SLIDE"]
    assert (found["refused"], found["rightly"], found["unknown"], found["to_refuse"]) == (
        2,
        1,
        0,
        1,
    )
    assert found["precision"] == {"value": 0.5, "floor": 0.5, "ceiling": 0.5}
    assert found["recall"] == {"value": 1, "floor": 1, "ceiling": 1}
    sweep = {point["threshold"]: point for point in found["sweep"]}
    assert len(sweep) == 11
    assert sweep[0.0]["accuracy"]["value"] == 0.75
    assert (sweep[0.8]["withheld"], sweep[0.8]["accuracy"]["value"]) == (1, 0.5)  # the film
    assert sweep[0.8]["precision"]["value"] == 0
    assert sweep[1.0]["coverage"]["value"] == 0
    report = (slide / "out" / "report.html").read_text()
    assert "abstention precision" in report
    assert "declining below a confidence" in report
    marked = (slide / "out" / "marked" / "SLIDE.txt").read_text()
    assert "\nN1;WASEDA-PR-1;4;Anthony Mackie starred" in marked
    labels = [json.loads(one) for one in (slide / "out" / "labels.jsonl").read_text().splitlines()]
    judged = {one["unit"]["answer"] for one in labels if one["task"] == "r2c2.answer"}
    assert judged == {"Anthony Mackie", "Unknown"}


def test_one_labeller_alone_need_not_be_the_one_of_the_acts(slide: Path, assay) -> None:
    assert assay("evaluate", slide).returncode == 0
    document = json.loads(
        assay("score", slide, "--policy", "only:recorded:recorded.jsonl", "--json").stdout
    )
    scores = {one["measure"]: one for one in document["scores"] if one["run"] == "SLIDE"}
    assert (scores["Accuracy"]["value"], scores["Accuracy"]["missing"]) == (1.0, 0)


def test_without_a_label_of_the_act_nothing_is_certain(slide: Path, assay) -> None:
    with (slide / "assay.toml").open("a") as file:
        file.write('dialogue_act = "recorded:recorded.jsonl"\n')  # it holds none
    done = assay("evaluate", slide, "--json")
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    scores = {one["measure"]: one for one in document["scores"] if one["run"] == "SLIDE"}
    assert scores["Accuracy"]["value"] is None
    assert scores["Accuracy"]["missing"] == 1
    assert document["abstention"]["SLIDE"]["unknown"] == 1
    assert document["abstention"]["SLIDE"]["sweep"][0]["coverage"] == {
        "value": None, "floor": 0, "ceiling": 1
    }  # fmt: skip
    assert document["runs"]["SLIDE"]["missing_answers"] == 1
