"""What the embedded judge asks for SGSS and for direct graders, and the labels that follow."""

from types import SimpleNamespace

import pytest

from assay.labellers.judge.summaries import PAIRS
from assay.labellers.judge.verdicts import refusal, unit_questions
from assay.tasks.exam import DIRECT, THOMAS, DirectUnit
from assay.tasks.sgss import (
    COMPREHENSIVENESS,
    COVERAGE,
    HEADING,
    PREFERENCE,
    STATEMENT,
    CoverageUnit,
    StatementUnit,
)


def level(word):
    return SimpleNamespace(yes=word == "yes", partly=word != "no", quoted=lambda start: start)


def test_a_section_is_covered_line_by_line_without_its_heading():
    unit = CoverageUnit(section="Heading\nOne.\nTwo.", summary="S")
    questions, wrong = unit_questions(COVERAGE, unit)
    assert wrong is None
    assert [question.first for question in questions] == ["claim: One.", "claim: Two."]
    verdict = PAIRS[COVERAGE.name][1]
    for words, label in (
        (("yes", "yes"), "perfectly"), (("yes", "no"), "partially"),
        (("no", "partly"), "partially"), (("no", "no"), "no"),
    ):  # fmt: skip
        assert verdict(unit, [level(word) for word in words]).label == label


@pytest.mark.parametrize(("query", "asked"), [("tea?", "tea?"), ("tea", "what about tea?")])
def test_a_topic_is_put_as_a_question(query, asked):
    (question,), _ = unit_questions(STATEMENT, StatementUnit(query=query, statement="s"))
    assert question.first == f"question: {asked}"


@pytest.mark.parametrize("task", DIRECT.values(), ids=lambda task: task.name)
def test_direct_graders(task):
    unit = DirectUnit(question="q", passage="p")
    found = [PAIRS[task.name][1](unit, [level(word)]) for word in ("no", "partly", "yes")]
    if task is THOMAS:
        assert [one.grade for one in found] == [0, 1, 2]
    else:
        assert [one.relevant for one in found] == [False, False, True]


def test_what_needs_a_view_of_the_whole_is_refused():
    assert refusal(HEADING) is None
    for task in (COMPREHENSIVENESS, PREFERENCE):
        assert "cannot do" in refusal(task)
