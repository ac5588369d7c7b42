"""From tasks to controls: every task has its screen, and what a screen gives is a verdict."""

from __future__ import annotations

import pytest

from assay.tasks.registry import REGISTRY
from assay.tasks.rendering import Renderer
from assay.tasks.trec_rag_nuggets import MAPPING, MappingUnit
from assay.web.forms import controls, texts, verdict_of, words_of
from assay.web.guidelines import instructions

LABELLED = [name for name in REGISTRY if name.partition(".")[0] not in {"retrieval", "answering"}]
"""Tasks that evaluations ask; the others make runs."""


def example(model):
    """A unit of a task: lists have two entries."""
    values = {}
    for name, field in model.model_fields.items():
        kind = str(field.annotation)
        if "tuple[tuple" in kind:
            values[name] = (("a one", "a two"), ("b one",))
        elif "tuple" in kind:
            values[name] = (f"{name} one", f"{name} two")
        elif field.annotation is int:
            values[name] = 5
        else:
            values[name] = f"the {name}"
    return model(**values)


def filled(control, high):
    """What a person gives who picks the first or the last of every choice."""
    pick = control.get("options", [{}])[-1 if high else 0].get("value")
    match control["kind"]:
        case "choice":
            return pick
        case "items" if control["shape"] == "list":
            return [pick for _ in control["items"]]
        case "items":
            return {str(n): {control["inner"]: pick} for n, _ in enumerate(control["items"], 1)}
        case "rows":
            entry = {one["field"]: filled(one, high) for one in control["columns"]}
            return {str(n): entry for n, _ in enumerate(control["items"], 1)}
        case "texts":
            return [f"text {n}" for n in range(5)]
        case "records":
            return [{one["field"]: filled(one, high) for one in control["columns"]}]
        case "order":
            return list(range(1, len(control["items"]) + 1))
        case "number":
            return 1
    return "a text"


@pytest.mark.parametrize("high", [False, True])
@pytest.mark.parametrize("name", LABELLED)
def test_every_task_has_controls_that_make_verdicts(name, high):
    task = REGISTRY[name]
    unit = example(task.unit)
    form = controls(task, unit)
    assert {one["field"] for one in form} == set(task.verdict.model_fields) - {"reason"}
    verdict, wrong = verdict_of(task, unit, {one["field"]: filled(one, high) for one in form})
    assert wrong is None
    assert verdict is not None
    assert any(one["judged"] for one in texts(task, unit))


def test_scales_run_from_low_to_high():
    def values(name, at=0):
        task = REGISTRY[name]
        return [one["value"] for one in controls(task, example(task.unit))[at]["options"]]

    assert values("r2c2.entailment") == ["NO", "YES"]
    assert values("trec_rag.support") == ["none", "partial", "full"]
    assert values("trec_rag.relevance_at_once") == [0, 1, 2, 3, 4]
    assert values("trec_rag.assignment") == ["not_support", "partial_support", "support"]


def test_numbers_of_the_units_lists_are_shown_as_their_entries():
    unit = MappingUnit(narrative="n", sub_narratives=("how", "why"), nuggets=("x",))
    column = controls(MAPPING, unit)[0]["columns"][0]
    assert [(one["value"], one["label"]) for one in column["options"]] == [
        (0, "None of them"), (1, "how"), (2, "why"),
    ]  # fmt: skip


def test_what_does_not_fit_is_said_in_words():
    task = REGISTRY["r2c2.answer"]
    unit = task.unit(question="q", answer="a", nuggets=("n",))
    assert verdict_of(task, unit, {}) == (None, "Correct: field required.")
    given = {"correct": "YES", "nuggets": {"7": {"helped": "YES"}}}
    _, wrong = verdict_of(task, unit, given)
    assert wrong is not None
    assert "'nuggets' may hold the numbers 1 to 1" in wrong


def test_a_nugget_is_not_split_without_end():
    task = REGISTRY["trec_rag.nugget_edit"]
    unit = task.unit(narrative="n", nugget="It is old.")
    assert controls(task, unit)[0]["most"] == 100
    given = [{"text": f"It is {n} years old."} for n in range(101)]
    assert verdict_of(task, unit, {"becomes": given[1:]})[1] is None
    assert verdict_of(task, unit, {"becomes": given}) == (
        None, "'becomes' must hold at most 100 entries; it holds 101.",
    )  # fmt: skip


def test_words_of_the_query_without_those_that_stand_everywhere():
    task = REGISTRY["trec_rag.relevance"]
    unit = task.unit(question="Who built the Old bridge? 橋", passage="p")
    assert words_of(task, unit) == ["built", "old", "bridge", "橋"]
    unit = task.unit(question="हिन्दी, สะพานเก่า!", passage="p")
    assert words_of(task, unit) == ["हिन्दी", "สะพานเก่า"]
    task = REGISTRY["r2c2.entailment"]
    unit = task.unit(passage="p", nugget="The bridge is old.")
    assert words_of(task, unit) == ["bridge", "old"]


@pytest.mark.parametrize("name", LABELLED)
def test_every_task_tells_people_what_it_tells_a_machine(name):
    said = instructions(Renderer().source(REGISTRY[name]))
    assert len(said) > 50
    assert not [word for word in ("JSON", "bracket", "{", "block") if word in said]
