"""The schema that a reply is held to is made for the unit: it lets through what the task's check
does, and nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from random import Random
from typing import Any, get_origin

import pytest

from assay.labellers.base import Request, request_key
from assay.labellers.openai import OpenAILabeller, OpenAISettings
from assay.labellers.replies import UnusableReply, parse_reply
from assay.tasks.base import AnyTask, Unit
from assay.tasks.r2c2 import ANSWER, AnswerUnit
from assay.tasks.registry import REGISTRY
from assay.tasks.rendering import Renderer
from assay.tasks.retrieval import DECOMPOSITION, DecompositionUnit, in_order
from assay.tasks.schemas import distinct, readable
from assay.tasks.trec_rag_nuggets import CREATE
from tests.engine.json_schemas import fits, reply

TASKS = pytest.mark.parametrize("task", list(REGISTRY.values()), ids=list(REGISTRY))
NARROWED = [task for task in REGISTRY.values() if task.narrow is not None]
DISTINCT = {"trec_rag.nugget_edit": {"becomes"}}
"""Lists in which nothing may come twice, which no schema that servers take can say: a person's."""
TWO = AnswerUnit(question="q", answer="a", nuggets=("one", "two"))


def unit_of(rng: Random, task: AnyTask, most: int) -> Unit:
    """A unit of a task with up to ``most`` items in each of its lists."""

    def field(kind: Any) -> Any:
        if kind is str:
            return rng.choice(["", "a text", '<<<"'])
        if kind is int:
            return rng.randint(1, most + 1)
        assert get_origin(kind) is tuple
        return tuple(field(kind.__args__[0]) for _ in range(rng.randint(0, most)))

    fields = {name: field(one.annotation) for name, one in task.unit.model_fields.items()}
    return task.unit(**fields)


@TASKS
def test_every_reply_held_to_the_schema_passes_the_check(task: AnyTask):
    rng = Random(5)
    for _ in range(100):
        unit = unit_of(rng, task, 4)
        said = reply(rng, task.schema_of(unit), DISTINCT.get(task.name, ()))
        assert isinstance(parse_reply(task, unit, json.dumps(said)), task.verdict), (unit, said)


def _as_asked(given: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Convert a reply in the verdict's own shape to the requested one, with lists by number."""
    said = {}
    for name, value in given.items():
        asked = schema["properties"].get(name)
        if asked is not None and isinstance(value, list) and asked["type"] == "object":
            by = "number" if name == "required" else "nugget"
            value = {str(one[by]): {k: v for k, v in one.items() if k != by} for one in value}
        if asked is not None:
            said[name] = value
    return said


def _needs_no_more(task: AnyTask, unit: Any, given: dict[str, Any]) -> bool:
    """What a check lets pass though it is not asked for: a wrong answer without its nuggets, as one
    that decides by yes and no leaves them; what the baseline system's reader leaves out; what is
    in a list twice."""
    for listed in ("nuggets", "sub_narratives"):
        said = [one if isinstance(one, str) else one.get("text") for one in given.get(listed, ())]
        if None not in said and len(distinct(said)) < len(said):
            return True
    if task.name == "r2c2.answer":
        return given["correct"] == "NO" and not given["nuggets"]
    if task.name == "r2c2.every_answer":
        return "NO" in [one["given"] for one in given["required"]] and not given["nuggets"]
    count = len(getattr(unit, "passages", ()))
    if task.name == "answering.r2c2":
        cited = {one["passage"] for one in given["nuggets"]}
        return not cited <= set(range(1, count + 1))
    if task.name == "answering.from_nuggets":
        return not set(given["facts"]) <= set(range(1, len(unit.nuggets) + 1))
    if task.name == "answering.report":
        sentences = given["sentences"]
        cited = [number for one in sentences for number in one["citations"]]
        return not all(readable(one["text"]) for one in sentences) or not set(cited) <= set(
            range(1, count + 1)
        )
    return False


@pytest.mark.parametrize("task", NARROWED, ids=[task.name for task in NARROWED])
def test_what_passes_the_check_fits_the_schema(task: AnyTask):
    rng, passed = Random(7), 0
    for _ in range(1000):
        unit, given = unit_of(rng, task, 2), reply(rng, task.schema())
        try:
            parse_reply(task, unit, json.dumps(given))
        except UnusableReply:
            continue
        if not _needs_no_more(task, unit, given):
            schema = task.schema_of(unit)
            said = _as_asked(given, schema)
            assert fits(said, schema), (said, schema)
            passed += 1
    assert passed


def test_the_numbers_of_nuggets_are_those_asked_for():
    """The number is the key of an entry: it cannot be wrong or repeated."""
    schema = ANSWER.schema_of(TWO)["properties"]["nuggets"]
    assert schema["required"] == list(schema["properties"]) == ["1", "2"]
    help_ = {"reason": "r", "helped": "YES"}
    told = {"reason": "r", "correct": "YES", "nuggets": {"1": help_, "2": help_}}
    by_number = parse_reply(ANSWER, TWO, json.dumps(told))
    listed = {**told, "nuggets": [{"nugget": 1, **help_}, {"nugget": 2, **help_}]}
    assert by_number == parse_reply(ANSWER, TWO, json.dumps(listed))


@pytest.mark.parametrize(
    ("nuggets", "why"),
    [
        ({"1": {"helped": "YES"}, "9": {"helped": "NO"}}, "exactly once"),
        ({"1": {"nugget": 2, "helped": "YES"}, "2": {"helped": "YES"}}, "by number without"),
        ({"1": "YES", "2": "NO"}, "by number without"),
        ({"first": {"helped": "YES"}, "2": {"helped": "NO"}}, "integer"),
    ],
)
def test_other_numbers_are_unusable(nuggets: object, why: str):
    with pytest.raises(UnusableReply, match=why):
        parse_reply(ANSWER, TWO, json.dumps({"correct": "YES", "nuggets": nuggets}))


def test_what_narrows_a_reply_is_no_part_of_the_question():
    """Labels that were given under a wider schema answer the same question."""
    labeller = OpenAILabeller(OpenAISettings("m"), Renderer())
    wide = replace(ANSWER, narrow=None)
    assert request_key(labeller, Request(ANSWER, TWO)) == request_key(labeller, Request(wide, TWO))


def test_what_comes_again_in_a_list_is_read_once():
    unit = CREATE.unit.model_validate(
        {"narrative": "n", "most": 3, "nuggets": (), "documents": ("d",)}
    )
    told = {"nuggets": ["One.", "two", " one. ", "Two"]}
    assert parse_reply(CREATE, unit, json.dumps(told)).nuggets == ("One.", "two")
    assert in_order([3, 1, 3, 1], 4) == [3, 1, 2, 4]


def test_endpoints_are_not_told_the_lengths_of_texts():
    request = Request(DECOMPOSITION, DecompositionUnit(question="q"))
    body = json.loads(OpenAILabeller(OpenAISettings("m"), Renderer()).body(request))
    queries = body["response_format"]["json_schema"]["schema"]["properties"]["queries"]
    assert queries == {"items": {"type": "string"}, "type": "array", "minItems": 1, "maxItems": 5}
