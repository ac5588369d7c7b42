"""The OpenAI-compatible labeller against a real server with scripted faults."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal

import pytest

from assay.labellers import endpoints as module
from assay.labellers.base import Request, request_key
from assay.labellers.endpoints import retry_after
from assay.labellers.openai import OpenAILabeller, OpenAISettings
from assay.labellers.pace import Limits
from assay.labellers.prices import Price
from assay.model.errors import LabellerUnreachable
from assay.model.labels import Status
from assay.tasks.base import Verdict
from assay.tasks.r2c2 import ENTAILMENT, EntailmentUnit
from assay.tasks.rendering import Renderer
from assay.tasks.retrieval import DECOMPOSITION, DecompositionUnit
from tests.engine.server import completion, serve

YES = json.dumps({"reason": "it says so", "entailed": "YES"})
REQUEST = Request(ENTAILMENT, EntailmentUnit(passage="The film is from 1976.", nugget="1976"))


def ask(url: str, request: Request = REQUEST, **settings):
    async def one():
        made = OpenAISettings("m", (url,), **{"timeout": 1.0, **settings})
        async with OpenAILabeller(made, Renderer()) as labeller:
            return await labeller.label(request)

    return asyncio.run(one())


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    real = asyncio.sleep
    waits: list[float] = []

    async def short(seconds, *rest):
        waits.append(seconds)
        await real(0)

    monkeypatch.setattr(module, "_sleep", short)
    return waits


def test_the_reply_is_constrained_by_the_schema_and_kept_with_its_cost():
    with serve(lambda body, n: completion(YES)) as server:
        outcome = ask(server.url, price=Price(2.0, 8.0), keys={server.url: "sk-secret"})
    body = server.requests[0]
    schema = body["response_format"]["json_schema"]
    assert schema["strict"] is True
    assert schema["schema"]["properties"]["entailed"]["enum"] == ["YES", "NO"]
    assert body["temperature"] == 0
    assert server.headers[0]["Authorization"] == "Bearer sk-secret"
    assert outcome.status is Status.OK
    assert outcome.verdict.entailed is True
    assert (outcome.tokens_in, outcome.tokens_out) == (100, 10)
    assert outcome.cost == pytest.approx((100 * 2 + 10 * 8) / 1e6)


def test_without_schema_it_takes_json_mode_then_plain_text():
    def script(body, n):
        if "response_format" in body:
            kind = body["response_format"]["type"]
            return 400, {"error": {"message": f"response_format {kind} is not supported"}}
        return completion(f"Sure! {YES}")

    with serve(script) as server:
        outcome = ask(server.url)
    assert outcome.status is Status.OK
    kinds = [body.get("response_format", {}).get("type") for body in server.requests]
    assert kinds == ["json_schema", "json_object", None]


def test_a_server_without_lengths_of_lists_is_asked_without_them():
    def script(body, n):
        if "minItems" in json.dumps(body["response_format"]):
            return 400, {"error": {"message": "Invalid schema: 'minItems' is not supported."}}
        return completion('{"queries": ["a query"]}')

    with serve(script) as server:
        outcome = ask(server.url, Request(DECOMPOSITION, DecompositionUnit(question="q")))
    assert outcome.status is Status.OK
    first, second = (body["response_format"]["json_schema"] for body in server.requests)
    assert first["schema"]["properties"]["queries"]["maxItems"] == 5
    assert second["schema"]["properties"]["queries"] == {
        "items": {"type": "string"},
        "type": "array",
    }


def test_parameters_that_a_model_does_not_take_are_left_out():
    def script(body, n):
        if "max_tokens" in body:
            return 400, {"error": {"message": "Use 'max_completion_tokens' instead."}}
        return completion(YES)

    with serve(script) as server:
        assert ask(server.url).status is Status.OK
    assert "temperature" not in server.requests[1]


def test_one_repair_turn_says_what_was_wrong():
    replies = iter(['{"reason": "r", "entailed": "PERHAPS"}', YES])
    with serve(lambda body, n: completion(next(replies))) as server:
        outcome = ask(server.url)
    assert outcome.status is Status.OK
    assert outcome.detail["calls"] == 2
    assert outcome.tokens_in == 200
    assert "YES or NO" in server.requests[1]["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (completion("I would say yes."), "no JSON object"),
        (completion(YES[:20], finish_reason="length"), "cut off"),
        ({"choices": []}, "no choices"),
        (completion(None), "no JSON object"),
        (completion("<think>hm" + YES), "no JSON object"),
    ],
)
def test_a_reply_that_stays_unusable_is_a_recorded_failure(reply, why):
    with serve(lambda body, n: reply) as server:
        outcome = ask(server.url)
    assert outcome.status is Status.FAILED
    assert outcome.verdict is None
    assert why in outcome.error
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "reply",
    [
        completion(None, message={"refusal": "I cannot help with that"}),
        completion(None, finish_reason="content_filter"),
    ],
)
def test_a_refusal_is_a_failure_at_once(reply):
    with serve(lambda body, n: reply) as server:
        outcome = ask(server.url)
    assert outcome.status is Status.FAILED
    assert len(server.requests) == 1


def test_a_context_length_error_is_a_failure_and_changes_no_mode():
    message = "This model's maximum context length is 10 tokens; response_format schema"
    with serve(lambda body, n: (400, {"error": {"message": message}})) as server:
        outcome = ask(server.url)
    assert outcome.status is Status.FAILED
    assert "context length" in outcome.error
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "fault",
    [
        (429, {"error": "slow down"}, {"Retry-After": "1"}),
        (500, {"error": "oops"}),
        (503, "not json"),
        None,
        3.0,
        (200, "{not json"),
    ],
)
def test_requests_are_repeated_after_transient_faults(fault, no_waiting):
    with serve(lambda body, n: fault if n < 3 else completion(YES)) as server:
        outcome = ask(server.url, timeout=0.2)
    assert outcome.status is Status.OK
    assert len(server.requests) == 3
    if isinstance(fault, tuple) and len(fault) == 3:
        assert max(no_waiting) == 1


@pytest.mark.parametrize(("status", "cure"), [(401, "API key"), (403, "API key"), (404, "/v1")])
def test_a_wrong_key_or_address_ends_at_once_without_showing_the_key(status, cure):
    with serve(lambda body, n: (status, {"error": {"message": "bad key sk-secret"}})) as server:
        with pytest.raises(LabellerUnreachable, match=cure) as caught:
            ask(server.url, keys={server.url: "sk-secret"})
    assert "sk-secret" not in str(caught.value)
    assert len(server.requests) == 1


def test_a_server_that_is_not_there(no_waiting):
    with pytest.raises(LabellerUnreachable, match="does not answer"):
        ask("http://127.0.0.1:9/v1")


def test_retry_after_as_a_date():
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert retry_after({"retry-after": "Thu, 01 Jan 2026 00:00:30 GMT"}, now) == 30
    assert retry_after({"retry-after": "soon"}, now) is None
    assert retry_after({}, now) is None


def test_the_key_depends_on_question_and_labeller_and_not_on_the_address():
    def key(model="m", url="http://a/v1", nugget="1976", task=ENTAILMENT, **more):
        labeller = OpenAILabeller(OpenAISettings(model, (url,), **more), Renderer())
        return request_key(labeller, Request(task, EntailmentUnit(passage="p", nugget=nugget)))

    class Graded(Verdict):
        reason: str
        entailed: Literal["yes", "no"]

    assert key() == key(url="http://b/v1", keys={"http://b/v1": "x"}, limits=Limits(3))
    other_schema = key(task=replace(ENTAILMENT, verdict=Graded))
    keys = {key(), key(model="n"), key(nugget="1977"), key(temperature=0.5), other_schema}
    assert len(keys) == 5


def test_a_reply_that_does_not_end_is_a_failure_and_is_not_asked_for_again():
    with serve(lambda body, n: completion("x" * 3_000_000)) as server:
        outcome = ask(server.url, max_reply=2_000_000)
    assert outcome.status is Status.FAILED
    assert "larger than 2 MB (max_reply_mb in [judging])" in outcome.error
    assert outcome.cost is None, "the server wrote it, and may charge for it"
    assert len(server.requests) == 1


def test_an_implausible_token_count_is_ignored():
    def script(body, n):
        return {**completion(YES), "usage": {"prompt_tokens": 2**63, "completion_tokens": 1}}

    with serve(script) as server:
        outcome = ask(server.url)
    assert outcome.status is Status.OK
    assert outcome.tokens_in is None
