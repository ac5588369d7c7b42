"""Replies and refusals as each server of docs/labellers.md writes them: what they publish of their
formats, and what their users report of them. None of these servers was called."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest

from assay.labellers import endpoints as module
from assay.labellers.base import Request
from assay.labellers.openai import OpenAILabeller, OpenAISettings
from assay.labellers.spec import LabellerOptions, openai_settings
from assay.model.errors import LabellerUnreachable
from assay.model.labels import Status
from assay.tasks.r2c2 import ENTAILMENT, EntailmentUnit
from assay.tasks.rendering import Renderer
from tests.conftest import ROOT
from tests.engine.server import serve

YES = json.dumps({"reason": "it says so", "entailed": "YES"})
UNIT = EntailmentUnit(passage="The film is from 1976.", nugget="1976")
ABOUT = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1764000000}


def reply(model: str, message: dict[str, Any], usage: dict[str, Any], **more: Any) -> Any:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}
    choice |= more.pop("choice", {})
    return {**ABOUT, "model": model, "choices": [choice], "usage": usage, **more}


def used(read: int, written: int, **more: Any) -> dict[str, Any]:
    return {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": read + written,
        **more,
    }


REPLIES: dict[str, tuple[Any, int]] = {
    # total_tokens counts what was thought, which completion_tokens does not
    "Gemini": (
        reply("gemini-2.5-flash", {"content": YES}, {**used(31, 12), "total_tokens": 220}),
        0,
    ),
    "Azure": (
        reply(
            "gpt-4.1-2025-04-14",
            {"content": YES, "refusal": None, "annotations": []},
            used(
                31,
                12,
                prompt_tokens_details={"audio_tokens": 0, "cached_tokens": 16},
                completion_tokens_details={"reasoning_tokens": 0},
            ),
            system_fingerprint="fp_1",
            prompt_filter_results=[
                {
                    "prompt_index": 0,
                    "content_filter_results": {"hate": {"filtered": False, "severity": "safe"}},
                }
            ],
            choice={
                "logprobs": None,
                "content_filter_results": {"hate": {"filtered": False, "severity": "safe"}},
            },
        ),
        16,
    ),
    "Bedrock": (
        reply(
            "openai.gpt-oss-120b-1:0",
            {"content": f"<reasoning>The passage names 1976.</reasoning>{YES}", "refusal": None},
            used(31, 12),
            service_tier="default",
        ),
        0,
    ),
    "Mistral": (
        reply(
            "magistral-small-latest",
            {
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "1976 …"}]},
                    {"type": "text", "text": YES},
                ],
                "tool_calls": None,
            },
            used(31, 12, num_cached_tokens=0),
        ),
        0,
    ),
    "Ollama": (
        reply(
            "qwen3:8b",
            {"content": YES, "reasoning": "The passage names 1976."},
            used(31, 12),
            system_fingerprint="fp_ollama",
        ),
        0,
    ),
    "vLLM": (
        reply(
            "Qwen/Qwen3-8B",
            {"content": YES, "reasoning_content": "1976 …", "tool_calls": [], "refusal": None},
            used(31, 12, prompt_tokens_details={"cached_tokens": 16}),
            choice={"logprobs": None, "stop_reason": None},
            prompt_logprobs=None,
            kv_transfer_params=None,
        ),
        16,
    ),
    "SGLang": (
        reply(
            "Qwen/Qwen3-8B",
            {"content": YES, "reasoning_content": None, "tool_calls": None},
            used(31, 12, prompt_tokens_details=None, reasoning_tokens=0),
            choice={"logprobs": None, "matched_stop": 151645},
            metadata={"weight_version": "default"},
        ),
        0,
    ),
    "llama.cpp": (
        reply(
            "local",
            {"content": YES},
            used(31, 12, prompt_tokens_details={"cached_tokens": 16}),
            system_fingerprint="b6900-1",
            timings={"cache_n": 16, "prompt_n": 15, "predicted_n": 12, "predicted_ms": 80.1},
        ),
        16,
    ),
}
"""What each says to a question, and how many tokens of it were read from a cache."""


def google(message: str) -> Any:
    found = {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}
    return 400, [{"error": found}]


def mistral(field: str) -> Any:
    detail = [{"type": "extra_forbidden", "loc": ["body", field],
               "msg": "Extra inputs are not permitted", "input": 1}]  # fmt: skip
    return 422, {
        "object": "error",
        "message": {"detail": detail},
        "type": "invalid_request_error",
        "param": None,
        "code": None,
    }


def said(message: str, kind: str = "invalid_request_error", **more: Any) -> Any:
    return 400, {"error": {"message": message, "type": kind, "param": None, "code": None, **more}}


FORMS: list[tuple[str, Any, str]] = [
    ("Gemini", google('Invalid JSON payload received. Unknown name "seed": Cannot find field.'),
     "seed"),
    ("Mistral", mistral("seed"), "seed"),
    ("Azure", said("Unsupported parameter: 'max_tokens' is not supported with this model. Use "
                   "'max_completion_tokens' instead.", code="unsupported_parameter"), "max_tokens"),
    ("vLLM", (400, {"object": "error", "message": "Unsupported: response_format json_schema",
                    "type": "BadRequestError", "param": None, "code": 400}), "response_format"),
    ("Ollama", said("invalid JSON schema in format", "api_error"), "response_format"),
    ("llama.cpp", said("Failed to parse grammar", code=400), "response_format"),
]  # fmt: skip
"""How a server refuses a parameter, and what is left out then."""

HOPELESS: list[tuple[str, Any, str]] = [
    ("Azure", said("The response was filtered due to the prompt triggering Azure OpenAI's content "
                   "management policy.", code="content_filter", status=400), "content management"),
    ("vLLM", said("This model's maximum context length is 512 tokens. However, you requested 900 "
                  "tokens.", "BadRequestError", code=400), "maximum context length"),
    ("SGLang", (400, {"object": "error", "message": "The input (900 tokens) is longer than the "
                      "model's context length (512 tokens).", "type": "BadRequestError",
                      "param": None, "code": 400}), "context length"),
    ("llama.cpp", said("the request exceeds the available context size, try increasing it",
                       "exceed_context_size_error", code=400, n_prompt_tokens=900, n_ctx=512),
     "context size"),
]  # fmt: skip
"""What no other form of the question would change: the label fails, with the reason."""

ENDING: list[tuple[str, Any, str]] = [
    ("Ollama", (404, {"error": {"message": "model 'qwen3:8b' not found", "type": "not_found_error",
                                "param": None, "code": None}}), "qwen3:8b"),
    ("Bedrock", (403, {"Message": "User is not authorized to perform this action"}), "API key"),
    ("Gemini", (403, [{"error": {"code": 403, "message": "Method doesn't allow callers without "
                                 "established identity.", "status": "PERMISSION_DENIED"}}]),
     "established identity"),
]  # fmt: skip
"""What ends a run at once."""


def ask(url: str, **settings: Any) -> Any:
    async def one() -> Any:
        made = OpenAISettings("m", (url,), **{"timeout": 5.0, **settings})
        async with OpenAILabeller(made, Renderer()) as labeller:
            return await labeller.label(Request(ENTAILMENT, UNIT))

    return asyncio.run(one())


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    real = asyncio.sleep
    monkeypatch.setattr(module, "_sleep", lambda seconds, *_: real(0))


@pytest.mark.parametrize("name", REPLIES)
def test_a_reply_becomes_a_label_with_its_tokens(name):
    answer, cached = REPLIES[name]
    with serve(lambda body, number: answer) as server:
        outcome = ask(server.url)
    assert (outcome.status, len(server.requests)) == (Status.OK, 1)
    assert (outcome.verdict.entailed, outcome.verdict.reason) == (True, "it says so")
    assert (outcome.tokens_in, outcome.tokens_out) == (31, 12)
    assert outcome.detail.get("cached_tokens", 0) == cached


@pytest.mark.parametrize(("name", "refusal", "field"), FORMS)
def test_what_a_server_does_not_take_is_left_out(name, refusal, field):
    def script(body, number):
        return refusal if number == 1 else REPLIES[name][0]

    with serve(script) as server:
        outcome = ask(server.url, temperature=0.7)
    assert outcome.status is Status.OK
    first, second = server.requests
    assert second.get(field) != first[field]


@pytest.mark.parametrize(("name", "refusal", "why"), HOPELESS)
def test_what_cannot_be_answered_fails_with_the_servers_reason(name, refusal, why):
    with serve(lambda body, number: refusal) as server:
        outcome = ask(server.url)
    assert (outcome.status, len(server.requests)) == (Status.FAILED, 1)
    assert why in outcome.error


@pytest.mark.parametrize(("name", "refusal", "why"), ENDING)
def test_what_is_wrong_with_all_questions_ends_the_run(name, refusal, why):
    with serve(lambda body, number: refusal) as server, pytest.raises(LabellerUnreachable) as error:
        ask(server.url)
    assert why in str(error.value)
    assert len(server.requests) == 1


def test_every_server_of_the_page_is_tried_and_its_spec_is_one(monkeypatch):
    page = (ROOT / "docs" / "labellers.md").read_text()
    rows = re.findall(r"^\| ([^|]+) \| `openai:([^`]+)` \| `(\w+)` \|$", page, re.MULTILINE)
    assert {name for name, *_ in rows} == {"OpenAI", *REPLIES}
    for name, spec, variable in rows:
        monkeypatch.setenv(variable, f"key-of-{name}")
        made = openai_settings(spec, LabellerOptions(named=True))
        local = made.base_urls[0].startswith("http://localhost")
        assert made.keys == {made.base_urls[0]: f"key-of-{name}"}, (name, local)
        monkeypatch.delenv(variable)
