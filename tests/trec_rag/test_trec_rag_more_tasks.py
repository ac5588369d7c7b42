"""The TREC RAG tasks: grades by counting, checks of verdicts, prompts, votes, yes/no questions."""

from __future__ import annotations

import pytest

from assay.model.trec_rag import Assigned, Support
from assay.tasks.base import YesNo
from assay.tasks.registry import REGISTRY
from assay.tasks.rendering import Renderer
from assay.tasks.trec_rag import (
    ASSIGNMENT,
    SUB_NARRATIVES_ANSWERED,
    SUPPORT,
    AspectsAnswered,
    AspectsUnit,
    Assignment,
    AssignmentUnit,
    SupportUnit,
    SupportVerdict,
    counted_grade,
    windows,
)
from assay.tasks.trec_rag_narratives import SUB_NARRATIVES, Aspects, RefineUnit
from assay.tasks.trec_rag_nuggets import (
    CREATE,
    IMPORTANCE,
    MAPPING,
    CreateUnit,
    ImportanceLabels,
    MappingUnit,
    NuggetMapping,
    NuggetsVerdict,
)
from assay.tasks.voting import Rule, join, refusal


# The scale of the 2025 paper (Figure 5): 2 for one sub-narrative, 3 for two or three, 4 for more.
@pytest.mark.parametrize(
    ("answered", "related", "lowered", "grade"),
    [
        (0, False, 0, 0), (0, True, 0, 1), (1, True, 0, 2), (2, True, 0, 3), (3, True, 0, 3),
        (4, True, 0, 4), (9, True, 0, 4), (4, True, 1, 3), (4, True, 2, 2), (1, True, 2, 0),
        (0, True, 2, 0),
    ],
)  # fmt: skip
def test_grades_by_counting(answered: int, related: bool, lowered: int, grade: int):
    assert counted_grade(answered, related=related, lowered=lowered) == grade


def test_off_topic_text_lowers_the_grade():
    said = {"related": "YES", "off_topic": "Much", "answered": ["yes", "YES", "no", True]}
    verdict = AspectsAnswered.model_validate(said)
    assert verdict.grade == 1
    unit = AspectsUnit(narrative="n", sub_narratives=("a", "b"), passage="p")
    assert "must hold 2 entries" in SUB_NARRATIVES_ANSWERED.check(unit, verdict)


def test_document_b_of_table_2_is_perfectly_relevant():
    """The paper's Document B answers four sub-narratives: label 4; Document A answers one: 2."""
    b = AspectsAnswered(related=True, answered=(True, True, True, True, False))
    a = AspectsAnswered(related=True, answered=(False, False, False, True, False))
    assert (a.grade, b.grade) == (2, 4)


@pytest.mark.parametrize("task", [t for t in REGISTRY.values() if t.name.startswith("trec_rag.")])
def test_every_task_has_a_prompt_and_a_closed_schema(task):
    schema = task.schema()
    assert schema["additionalProperties"] is False
    fields = {name: field.annotation for name, field in task.unit.model_fields.items()}
    values = {
        name: "evil >>> text" if kind is str else 3 if kind is int else ("one", "two")
        for name, kind in fields.items()
    }
    if "lists" in values:
        values["lists"] = (("one",), ("two",))
    messages = Renderer().chat(task, task.unit.model_validate(values))
    assert len(messages) == 2
    assert "data" in messages[0]["content"]
    texts = [one for one in values.values() if isinstance(one, str)]
    assert all(text in messages[1]["content"] for text in texts)


def test_checks_of_lists():
    create = CreateUnit(narrative="n", most=2, nuggets=(), documents=("d",))
    assert CREATE.check(create, NuggetsVerdict(nuggets=("a", "b"))) is None
    assert "at most 2" in CREATE.check(create, NuggetsVerdict(nuggets=("a", "b", "c")))
    assert NuggetsVerdict(nuggets=("a", "A ")).nuggets == ("a",)
    assert "empty" in CREATE.check(create, NuggetsVerdict(nuggets=("a", " ")))
    unit = MappingUnit(narrative="n", sub_narratives=("s",), nuggets=("a", "b"))
    row = {"nugget": 1, "sub_narrative": 1}

    def wrong(*rows: dict) -> str | None:
        return MAPPING.check(unit, NuggetMapping.model_validate({"mapping": rows}))

    assert wrong(row, {"nugget": 2, "sub_narrative": 0, "new": "other"}) is None
    assert "'new' is empty" in wrong(row, {"nugget": 2, "sub_narrative": 0})
    assert "no sub-narrative 2" in wrong(row, {"nugget": 2, "sub_narrative": 2})
    assert "exactly once" in wrong(row)
    refine = RefineUnit(narrative="n", draft=("vital: a",))
    eleven = [{"text": f"t{n}", "importance": "okay"} for n in range(11)]
    found = Aspects.model_validate({"sub_narratives": eleven})
    assert "1 to 10" in SUB_NARRATIVES.check(refine, found)


def test_windows():
    assert windows(["a", "b", "c"], 2) == [("a", "b"), ("c",)]
    with pytest.raises(ValueError, match="at least one"):
        windows(["a"], 0)


def test_lists_of_labels_are_voted_on_place_by_place():
    def votes(*lists: tuple[str, ...]) -> list[tuple[Assignment, float]]:
        return [(Assignment.model_validate({"labels": one}), 1.0) for one in lists]

    three = votes(
        ("support", "not_support"), ("support", "partial_support"), ("not_support", "support")
    )
    joined = join(ASSIGNMENT, three, Rule.MAJORITY)
    assert joined.labels == (Assigned.SUPPORT, Assigned.NONE)  # of three alike the strictest
    assert join(ASSIGNMENT, three, Rule.MEDIAN).labels == (Assigned.SUPPORT, Assigned.PARTIAL)
    assert join(ASSIGNMENT, three, Rule.STRICTEST).labels == (Assigned.NONE, Assigned.NONE)
    said = [(ImportanceLabels.model_validate({"labels": [one]}), 1.0) for one in ("okay", "vital")]
    assert join(IMPORTANCE, said, Rule.MAJORITY).labels[0] == "vital"


def test_texts_cannot_be_voted_on():
    assert "cannot be voted on" in refusal(CREATE, Rule.MAJORITY)
    assert refusal(SUPPORT, Rule.MEDIAN) is None


def asking(**answers: bool):
    asked = []

    def ask(probe: str, /, *, reason: bool = True, **context: object) -> YesNo:
        asked.append((probe, context))
        return YesNo(answers.get(probe, False))

    return ask, asked


def test_yes_and_no_make_support_assignments_and_grades():
    unit = SupportUnit(passage="p", sentence="s")
    assert SUPPORT.decide(unit, asking(full=True)[0]).support is Support.FULL
    assert SUPPORT.decide(unit, asking(partial=True)[0]).support is Support.PARTIAL
    assert SUPPORT.decide(unit, asking()[0]).support is Support.NONE
    nuggets = AssignmentUnit(question="q", nuggets=("a", "b"), answer="x")
    ask, asked = asking(touched=True)
    assert ASSIGNMENT.decide(nuggets, ask).labels == (Assigned.PARTIAL, Assigned.PARTIAL)
    assert [context["nugget"] for _, context in asked] == ["a", "a", "b", "b"]
    aspects = AspectsUnit(narrative="n", sub_narratives=("a", "b"), passage="p")
    assert SUB_NARRATIVES_ANSWERED.decide(aspects, asking(answered=True)[0]).grade == 3
    assert SUB_NARRATIVES_ANSWERED.decide(aspects, asking(related=True)[0]).grade == 1
    assert SUB_NARRATIVES_ANSWERED.decide(aspects, asking()[0]).grade == 0


@pytest.mark.parametrize("said", ["Full", "PARTIAL", " none. "])
def test_support_is_read_in_any_case(said: str):
    assert SupportVerdict.model_validate({"support": said}).support in Support
