"""A label goes with its answer when a mark is changed, and with no other run's answer."""

from __future__ import annotations

import random
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.labellers.base import Request
from assay.model.labels import LabellerId
from assay.model.rag import Mark
from assay.protocols.answers.requests import (
    acts_asked,
    answer_content,
    entailment_content,
    nuggets_asked,
    request,
)
from assay.protocols.answers.results import AnswerFindings, AnswerResult, LabelState
from assay.protocols.labels import requests_of
from assay.tasks.r2c2 import ANSWER, DIALOGUE_ACT, ENTAILMENT
from tests.r2c2.worlds import KIM, RUNS, World, label, write_world


def present_unit(result: AnswerResult) -> Request:
    assert result.answer is not None
    texts = tuple(
        one.nugget.text
        for one in result.nuggets
        if one.entailment is not None and (one.entailment.verdict or {}).get("entailed")
    )
    return request(ANSWER, answer_content(result.question, result.answer, texts))


def units_of(result: AnswerFindings, run: str) -> set[str]:
    """What the labels of a run are about now."""
    units = set()
    for one in result.answers[run].values():
        units.add(present_unit(one).unit_hash)
        for nugget in one.nuggets:
            assert nugget.passage is not None
            pair = entailment_content(nugget.nugget, nugget.passage)
            units.add(request(ENTAILMENT, pair).unit_hash)
    return units


def said_of(result: AnswerFindings, run: str) -> list[tuple[object, ...]]:
    return [
        (question, one.correct, one.precision, [nugget.mark for nugget in one.nuggets])
        for question, one in result.answers[run].items()
    ]


@settings(max_examples=8)
@given(st.integers(0, 10**6))
def test_a_persons_label_changes_only_runs_that_hold_its_unit(seed: int):
    draw = random.Random(seed)
    with TemporaryDirectory() as place:
        write_world(Path(place), draw, questions=2)
        world = World(Path(place))
        world.judge(draw, 0.95)
        before = world.score()
        for _ in range(6):
            run = draw.choice(RUNS)
            if draw.random() < 0.5:
                every = requests_of(ENTAILMENT, nuggets_asked(world.inputs.answers()))
                asked = draw.choice(list(every))
            else:
                asked = present_unit(draw.choice(list(before.answers[run].values())))
            world.say(asked, draw)
            after = world.score()
            for other in RUNS:
                if asked.unit_hash not in units_of(before, other):
                    assert said_of(after, other) == said_of(before, other), (run, other)
            if draw.random() < 0.3:
                world.judge(draw)
                after = world.score()
            before = after
        world.ledger.close()


@pytest.fixture
def two(tmp_path: Path) -> World:
    """Runs A and B give the same answer; B has a nugget more. C is of no matter."""
    write_world(tmp_path, random.Random(0), questions=1)
    for run, nuggets in (("A", "1;PR;1;x\n"), ("B", "1;PR;1;x\n2;PR;2;y\n"), ("C", "")):
        (tmp_path / "ac" / f"{run}.txt").write_text(f"<0001>\nsame;50\n{nuggets}</0001>\n")
    return World(tmp_path)


def pair(world: World, run: str, number: int) -> Request:
    nugget = world.score().answers[run]["0001"].nuggets[number - 1]
    assert nugget.passage is not None
    return request(ENTAILMENT, entailment_content(nugget.nugget, nugget.passage))


def person_says(world: World, request: Request, who: LabellerId = KIM, **verdict: object) -> None:
    world.ledger.add([label(request, who, verdict, "by hand")])


def machine_says(world: World, run: str, correct: bool) -> None:
    """It is an answer, and every nugget is entailed, and helped."""
    who = world.labellers[ANSWER.name].id
    acts = world.labellers[DIALOGUE_ACT.name].id
    for asked in requests_of(DIALOGUE_ACT, acts_asked(world.inputs.answers())):
        world.ledger.add([label(asked, acts, {"reason": "", "act": "answer"}, "key")])
    for number in range(1, 3 if run == "B" else 2):
        world.ledger.add([label(pair(world, run, number), who, {"entailed": True}, "key")])
    asked = present_unit(world.score().answers[run]["0001"])
    nuggets = [
        {"nugget": n, "helped": correct} for n in range(1, len(asked.content["nuggets"]) + 1)
    ]
    world.ledger.add([label(asked, who, {"correct": correct, "nuggets": nuggets}, "key")])


def test_a_persons_word_on_one_runs_answer_is_not_taken_for_another_runs(two: World):
    machine_says(two, "A", True)
    machine_says(two, "B", True)
    person_says(two, present_unit(two.score().answers["A"]["0001"]), correct=False)
    answers = two.score().answers
    assert answers["A"]["0001"].correct is False
    assert answers["B"]["0001"].correct is True


def test_a_label_stays_with_its_answer_when_a_person_changes_a_mark(two: World):
    machine_says(two, "B", True)
    person_says(two, present_unit(two.score().answers["B"]["0001"]), correct=False)
    person_says(two, pair(two, "B", 2), entailed=False)
    found = two.score().answers["B"]["0001"]
    assert (found.state, found.correct) == (LabelState.CARRIED, False)
    machine = two.score("machine").answers["B"]["0001"]
    assert (machine.state, machine.correct) == (LabelState.COUNTED, True)


@pytest.mark.parametrize(("policy", "last"), [("majority", "MAX"), ("adjudicated", "LEE")])
def test_people_who_disagreed_for_a_while_leave_nothing_open(two: World, policy: str, last: str):
    machine_says(two, "B", True)
    for name, entailed in (("KIM", False), ("LEE", True), (last, False)):
        who = LabellerId(f"human:{name}", "human", {})
        person_says(two, pair(two, "B", 2), who, entailed=entailed)
        disagree = name == "LEE" and entailed
        warned = any("nothing is settled" in one for one in two.result(policy).warnings)
        assert warned is disagree
    found = two.score(policy).answers["B"]["0001"]
    assert (found.state, found.correct) == (LabelState.CARRIED, True)


def test_what_is_said_later_of_a_former_unit_is_about_the_other_run(two: World):
    machine_says(two, "B", True)
    person_says(two, pair(two, "B", 2), entailed=False)  # B's unit is now A's
    assert two.score().answers["B"]["0001"].correct is True
    person_says(two, pair(two, "B", 2), entailed=True)
    machine_says(two, "A", True)
    person_says(two, present_unit(two.score().answers["A"]["0001"]), correct=False)
    answers = two.score().answers
    assert answers["A"]["0001"].correct is False
    assert answers["B"]["0001"].correct is True


def test_an_answer_is_open_while_it_is_not_known_which_nuggets_are_entailed(two: World):
    machine_says(two, "A", True)  # of the one nugget that both runs have
    acts = two.labellers[DIALOGUE_ACT.name].id
    for asked in requests_of(DIALOGUE_ACT, acts_asked(two.inputs.answers())):
        two.ledger.add([label(asked, acts, {"reason": "", "act": "answer"}, "key")])
    found = two.score()
    # B's second nugget has no label: A's answer label need not be about B's answer.
    assert found.answers["A"]["0001"].correct is True
    assert found.answers["B"]["0001"].correct is None
    assert two.result().findings.scores["B"]["Accuracy"].ends == (0.0, 1.0)


def test_a_mark_stays_with_its_nugget_where_another_says_the_same(tmp_path: Path):
    write_world(tmp_path, random.Random(0), questions=1)
    text = "<0001>\nsame;50\n1;PR;1;x\n2;PR;2;x\n3;PR;4;y\n</0001>\n"
    (tmp_path / "ac" / "A.txt").write_text(text)
    world = World(tmp_path)
    who = world.labellers[ANSWER.name].id
    acts = world.labellers[DIALOGUE_ACT.name].id
    for asked in requests_of(DIALOGUE_ACT, acts_asked(world.inputs.answers())):
        world.ledger.add([label(asked, acts, {"reason": "", "act": "answer"}, "key")])
    for number in (1, 2, 3):
        world.ledger.add([label(pair(world, "A", number), who, {"entailed": True}, "key")])
    helped = [{"nugget": n, "helped": n != 2} for n in (1, 2, 3)]
    asked = present_unit(world.score().answers["A"]["0001"])
    world.ledger.add([label(asked, who, {"correct": True, "nuggets": helped}, "key")])
    marks = [one.mark for one in world.score().answers["A"]["0001"].nuggets]
    assert marks == [Mark.RELEVANT, Mark.NONRELEVANT, Mark.RELEVANT]
    person_says(world, pair(world, "A", 3), entailed=False)
    marks = [one.mark for one in world.score().answers["A"]["0001"].nuggets]
    assert marks == [Mark.RELEVANT, Mark.NONRELEVANT, Mark.BOGUS]
