"""What the embedded judge asks for SGSS and for direct graders, and the labels that follow."""

import json
from types import SimpleNamespace

import pytest

from assay.labellers.judge.verdicts import WAYS, refusal, unit_questions
from assay.tasks.exam import DIRECT, THOMAS
from assay.tasks.sgss import (
    COMPREHENSIVENESS,
    COVERAGE,
    HEADING,
    PREFERENCE,
    REPRESENTATIVENESS,
    STATEMENT,
    SUFFICIENCY,
    CoverageUnit,
    StatementUnit,
)
from assay.tasks.trec_rag import RelevanceUnit
from tests.conftest import copy_example


def level(word):
    return SimpleNamespace(yes=word == "yes", partly=word != "no", quoted=lambda start: start)


def test_a_section_is_covered_line_by_line_without_its_heading():
    unit = CoverageUnit(section="Heading\nOne.\nTwo.", summary="S")
    questions, wrong = unit_questions(COVERAGE, unit)
    assert wrong is None
    assert [question.first for question in questions] == ["claim: One.", "claim: Two."]
    verdict = WAYS[COVERAGE.name].verdict
    for words, label in (
        (("yes", "yes"), "perfectly"), (("yes", "no"), "partially"),
        (("no", "partly"), "partially"), (("no", "no"), "no"),
    ):  # fmt: skip
        assert verdict(unit, [level(word) for word in words]).label == label


@pytest.mark.parametrize(("query", "asked"), [("tea?", "tea?"), ("tea", "what about tea?")])
def test_a_topic_is_rephrased_as_a_question(query, asked):
    (question,), _ = unit_questions(STATEMENT, StatementUnit(query=query, statement="s"))
    assert question.first == f"question: {asked}"


@pytest.mark.parametrize("task", DIRECT.values(), ids=lambda task: task.name)
def test_direct_graders(task):
    unit = RelevanceUnit(question="q", passage="p")
    found = [WAYS[task.name].verdict(unit, [level(word)]) for word in ("no", "partly", "yes")]
    if task is THOMAS:
        assert [one.grade for one in found] == [0, 1, 2]
    else:
        assert [one.relevant for one in found] == [False, False, True]


def test_tasks_that_need_a_view_of_the_whole_are_refused():
    assert refusal(HEADING) is None
    for task in (COMPREHENSIVENESS, PREFERENCE):
        assert "cannot do" in refusal(task)


def test_labels_on_scales_that_it_was_not_fitted_on_are_called_a_baseline(assay, tmp_path):
    folder = copy_example("sgss", tmp_path / "sgss")
    done = assay("evaluate", folder, "--labeller", "embedded", "--json")
    assert done.returncode == 0, done.stderr
    (told,) = [one for one in json.loads(done.stdout)["warnings"] if "baseline" in one]
    assert set(told.rstrip(".").rpartition(": ")[2].split(", ")) == {
        task.name for task in (SUFFICIENCY, REPRESENTATIVENESS, HEADING, STATEMENT, COVERAGE)
    }  # and not the task of faithfulness, for which there are human labels
    assert "are only a baseline" in (folder / "out" / "report.html").read_text()
