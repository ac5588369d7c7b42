"""Anthropic's Messages API as a labeller: requests, refusals, caches, batches, keys."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import orjson
import pytest

from assay.labellers import endpoints as module
from assay.labellers.anthropic import AnthropicLabeller, chat_completion, message_request
from assay.labellers.base import Outcome, Request
from assay.labellers.batch import batch_lines, read_replies, reply_outcome
from assay.labellers.keys import ANTHROPIC, key_for
from assay.labellers.openai import OpenAISettings
from assay.labellers.prices import Price
from assay.labellers.spec import LabellerOptions, make_labeller, openai_settings
from assay.model.errors import LabellerUnreachable, SettingsError
from assay.model.labels import Status
from assay.tasks.r2c2 import ENTAILMENT, EntailmentUnit
from assay.tasks.rendering import Renderer
from tests.conftest import ROOT
from tests.engine.server import serve

REQUEST = Request(ENTAILMENT, EntailmentUnit(passage="The film is from 1976.", nugget="1976"))
USAGE = {"input_tokens": 20, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 80,
         "output_tokens": 10}  # fmt: skip


def message(*content: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A reply as in the API reference."""
    return {"id": "msg_1", "type": "message", "role": "assistant", "model": "m-20260101",
            "content": list(content), "stop_reason": "tool_use", "stop_sequence": None,
            "usage": USAGE, **more}  # fmt: skip


VERDICT = {"type": "tool_use", "id": "toolu_1", "name": "verdict",
           "input": {"reason": "it says so", "entailed": "YES"}}  # fmt: skip


def ask(url: str, **settings: Any) -> Outcome:
    async def one() -> Outcome:
        made = OpenAISettings("m", (url,), **{"timeout": 1.0, **settings})
        async with AnthropicLabeller(made, Renderer()) as labeller:
            return await labeller.label(REQUEST)

    return asyncio.run(one())


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    real = asyncio.sleep

    async def short(_: float) -> None:
        await real(0)

    monkeypatch.setattr(module, "_sleep", short)


def test_the_verdict_is_asked_for_as_a_tool_and_instructions_are_cached():
    with serve(lambda body, n: message(VERDICT)) as server:
        outcome = ask(server.url, keys={server.url: "sk-ant-secret"}, price=Price(3.0, 15.0, 0.3))
    (body,), (headers,) = server.requests, server.headers
    assert body["tool_choice"] == {"type": "tool", "name": "verdict"}
    assert body["tools"][0]["input_schema"]["properties"]["entailed"]["enum"] == ["YES", "NO"]
    (system,) = body["system"]
    assert system["cache_control"] == {"type": "ephemeral"}
    assert "system" not in {one["role"] for one in body["messages"]}
    assert body["max_tokens"] == ENTAILMENT.max_tokens
    assert not {"response_format", "seed", "max_completion_tokens"} & body.keys()
    assert headers["x-api-key"] == "sk-ant-secret"
    assert headers["anthropic-version"] == "2023-06-01"
    assert "Authorization" not in headers
    assert outcome.verdict is not None
    assert outcome.verdict.entailed is True
    assert (outcome.tokens_in, outcome.tokens_out) == (100, 10)
    assert outcome.detail["cached_tokens"] == 80
    assert outcome.cost == pytest.approx((20 * 3.0 + 80 * 0.3 + 10 * 15.0) / 1e6)
    assert outcome.detail["model"] == "m-20260101"


def test_a_refusal_is_a_failed_label_with_its_reason():
    refused = message({"type": "text", "text": "I cannot."}, stop_reason="refusal")
    with serve(lambda body, n: refused) as server:
        outcome = ask(server.url)
    assert outcome.status is Status.FAILED
    assert outcome.error == "the model refused: I cannot."


def test_a_cut_reply_gets_a_repair_turn_with_more_room():
    def script(body: dict[str, Any], n: int) -> dict[str, Any]:
        cut = message({"type": "text", "text": '{"reason": "it'}, stop_reason="max_tokens")
        return cut if n == 1 else message(VERDICT)

    with serve(script) as server:
        outcome = ask(server.url)
    assert outcome.status is Status.OK
    second = server.requests[1]
    assert second["max_tokens"] == 2 * ENTAILMENT.max_tokens
    assert [one["role"] for one in second["messages"]] == ["user", "assistant", "user"]


def test_overload_is_waited_out_and_a_wrong_key_ends_the_run():
    def error(status: int, kind: str) -> tuple[int, dict[str, Any]]:
        return status, {"type": "error", "error": {"type": kind, "message": "no"}}

    with serve(
        lambda b, n: error(529, "overloaded_error") if n < 3 else message(VERDICT)
    ) as server:
        assert ask(server.url).status is Status.OK
    with serve(lambda b, n: error(401, "authentication_error")) as server:
        with pytest.raises(LabellerUnreachable, match="Check the API key"):
            ask(server.url)


def test_a_model_without_temperature_or_tools_is_asked_for_less():
    def script(body: dict[str, Any], n: int) -> Any:
        for word in ("temperature", "tools"):
            if word in body:
                said = "temperature is deprecated" if word == "temperature" else "input_schema: no"
                return 400, {"error": {"type": "invalid_request_error", "message": said}}
        return message(
            {"type": "text", "text": json.dumps(VERDICT["input"])}, stop_reason="end_turn"
        )

    with serve(script) as server:
        outcome = ask(server.url)
    assert outcome.status is Status.OK
    assert "temperature" not in server.requests[-1]


def test_batches_go_out_and_come_back(tmp_path: Path):
    labeller = AnthropicLabeller(OpenAISettings("m"), Renderer())
    (line,) = (orjson.loads(one.json) for one in batch_lines(labeller, [("k1", REQUEST)]))
    assert line["custom_id"] == "k1"
    assert line["params"]["system"][0]["cache_control"]
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": "too long"}}
    results = [
        {"custom_id": "k1", "result": {"type": "succeeded", "message": message(VERDICT)}},
        {"custom_id": "k2", "result": {"type": "errored", "error": error}},
        {"custom_id": "k3", "result": {"type": "expired"}},
    ]
    path = tmp_path / "results.jsonl"
    path.write_text("\ufeff" + "".join(json.dumps(one) + "\n" for one in results), encoding="utf-8")
    one, two, three = (reply_outcome(labeller, REQUEST, reply) for reply in read_replies(path))
    assert one is not None
    assert (one.status, one.tokens_in) == (Status.OK, 100)
    assert two is not None
    assert "too long" in str(two.error)
    assert three is None  # it can be asked again


def test_its_key_goes_to_it_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "ASSAY_TRUSTED_HOSTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "ant-key-12")
    monkeypatch.setenv("OPENAI_API_KEY", "oai-key-12")
    home = ANTHROPIC.home
    assert openai_settings("m", LabellerOptions(named=False), ANTHROPIC).keys == {
        home: "ant-key-12"
    }
    with pytest.raises(SettingsError, match="ANTHROPIC_API_KEY"):
        key_for("https://judge.example/v1", "m", named=False, provider=ANTHROPIC)
    with pytest.raises(SettingsError, match="OPENAI_API_KEY"):
        key_for(home, "m", named=False)  # the one of OpenAI does not go there
    made = make_labeller(
        "anthropic:m", folder=tmp_path, renderer=Renderer(), options=LabellerOptions()
    )
    assert (made.id.name, made.id.params["endpoint"]) == ("anthropic:m", "anthropic-messages")


def test_what_is_no_message_stays_as_it_is():
    assert chat_completion({"error": "x"}) == {"error": "x"}
    made = message_request({"model": "m", "messages": [], "max_tokens": 1, "thinking": {"a": 1}})
    assert made["thinking"] == {"a": 1}


RECIPES = re.findall(
    r"^\| ([^|]+?) \| `(openai:[^`]+)` \| `(\w+)` \|",
    (ROOT / "docs" / "labellers.md").read_text(),
    re.MULTILINE,
)


@pytest.mark.parametrize(("name", "spec", "variable"), RECIPES, ids=[one[0] for one in RECIPES])
def test_the_recipe_of_a_server_sends_its_key_to_it(
    name: str, spec: str, variable: str, monkeypatch: pytest.MonkeyPatch
):
    for other in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ASSAY_TRUSTED_HOSTS"):
        monkeypatch.delenv(other, raising=False)
    monkeypatch.setenv(variable, "key-of-it-1")
    host = spec.partition("@")[2].partition("://")[2].partition("/")[0]
    if "-" in host:
        monkeypatch.setenv("ASSAY_TRUSTED_HOSTS", host)
    found = openai_settings(spec.removeprefix("openai:"), LabellerOptions(named=False))
    (url,) = found.base_urls
    assert found.keys == {url: "key-of-it-1"}
    assert not url.endswith("/")


def test_there_are_recipes():
    assert len(RECIPES) >= 8
