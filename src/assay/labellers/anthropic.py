"""Anthropic's Messages API, adapted to the chat-completions format.

Requests are converted to the Messages API and replies back to chat completions, so that retries,
pace, repair and prices are those of every endpoint. The instructions, which many questions share,
have a cache marker. The verdict is the input of a tool that the model has to use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson

from assay.labellers.http import HttpTransport
from assay.labellers.openai import OpenAILabeller, OpenAISettings
from assay.labellers.replies import json_object
from assay.labellers.transport import PostRequest, Reply, Transport
from assay.tasks.rendering import Renderer

VERSION = "2023-06-01"
_TOOL = "verdict"
_OURS = frozenset(
    {"model", "messages", "max_tokens", "max_completion_tokens", "temperature", "response_format",
     "seed"}
)  # fmt: skip
_FINISHED = {"max_tokens": "length", "model_context_window_exceeded": "length"}


class AnthropicTransport:
    """A transport of chat completions on top of one that reaches the Messages API."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    async def post(self, sent: PostRequest) -> Reply:
        key = sent.headers.get("Authorization", "").removeprefix("Bearer ")
        own = {"Content-Type": "application/json", "anthropic-version": VERSION}
        if key:
            own["x-api-key"] = key
        target = sent.url.removesuffix("/chat/completions") + "/messages"
        body = orjson.dumps(message_request(orjson.loads(sent.body)))
        reply = await self._inner.post(PostRequest(target, own, body, sent.timeout))  # not streamed
        # The body of an error is passed on: error_message reads its format.
        found = json_object(reply.body) if reply.status == 200 else None
        return reply if found is None else replace(reply, body=orjson.dumps(chat_completion(found)))

    async def close(self) -> None:
        await self._inner.close()


class AnthropicLabeller(OpenAILabeller):
    """A labeller that asks a model through the Messages API."""

    kind = "anthropic"
    endpoint = "anthropic-messages"
    streams = False

    def __init__(
        self, settings: OpenAISettings, renderer: Renderer, transport: Transport | None = None
    ) -> None:
        inner = transport or HttpTransport(most=settings.max_reply)
        super().__init__(settings, renderer, AnthropicTransport(inner))

    def batch_line(self, key: str, body: bytes) -> Mapping[str, Any]:
        """A request of a Message Batch."""
        return {"custom_id": key, "params": message_request(orjson.loads(body))}


def message_request(chat: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a chat-completions request to the Messages API. Unknown parameters are passed on; the
    seed, which this API lacks, is left out."""
    system = [one["content"] for one in chat["messages"] if one["role"] == "system"]
    made: dict[str, Any] = {
        "model": chat["model"],
        "max_tokens": chat.get("max_tokens", chat.get("max_completion_tokens")),
        "messages": [dict(one) for one in chat["messages"] if one["role"] != "system"],
    }
    if system:
        marker = {"cache_control": {"type": "ephemeral"}}
        made["system"] = [{"type": "text", "text": "\n\n".join(system), **marker}]
    if chat.get("temperature") is not None:
        made["temperature"] = chat["temperature"]
    form = chat.get("response_format") or {}
    if form.get("type") == "json_schema":
        made["tools"] = [
            {"name": _TOOL, "description": "Give the verdict.",
             "input_schema": form["json_schema"]["schema"]}
        ]  # fmt: skip
        made["tool_choice"] = {"type": "tool", "name": _TOOL}
    return made | {name: value for name, value in chat.items() if name not in _OURS}


def chat_completion(message: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a message to a chat completion; any other reply is returned unchanged."""
    content = message.get("content")
    if not isinstance(content, list):
        return dict(message)
    parts = [one for one in content if isinstance(one, dict)]
    used = [one.get("input") for one in parts if one.get("type") == "tool_use"]
    texts = [str(one.get("text", "")) for one in parts if one.get("type") == "text"]
    text = orjson.dumps(used[-1]).decode() if used else "".join(texts)
    stopped = str(message.get("stop_reason"))
    made: dict[str, Any] = {"role": "assistant", "content": text}
    if stopped == "refusal":
        made["refusal"] = "".join(texts) or "the model stopped with a refusal"
    return {
        "model": message.get("model"),
        "choices": [{"index": 0, "message": made, "finish_reason": _FINISHED.get(stopped, "stop")}],
        "usage": _usage(message.get("usage")),
    }


def _usage(reported: object) -> dict[str, Any]:
    """Token counts as in chat completions, where prompt tokens include cached ones."""
    usage = reported if isinstance(reported, dict) else {}
    fresh, cached, written = (
        usage.get(name) or 0
        for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    )
    if not isinstance(usage.get("input_tokens"), int):
        return {}
    return {
        "prompt_tokens": fresh + cached + written,
        "completion_tokens": usage.get("output_tokens"),
        "prompt_tokens_details": {"cached_tokens": cached, "cache_write_tokens": written},
    }
