"""Streamed chat completions (server-sent events), joined into one reply.

In the format of OpenAI-compatible servers, each event has a piece of the reply, the last ones the
finish reason and the usage, and ``[DONE]`` ends the stream.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

TextCallback = Callable[[str], None]
"""Called with the whole text of a reply so far, each time it has grown."""


class Stream:
    """Parser of a streamed reply: :meth:`feed` takes bytes as they arrive."""

    def __init__(self, on_text: TextCallback = lambda _text: None) -> None:
        self._on_text = on_text
        self._rest = b""  # the beginning of a line that is not complete yet
        self._text = self._refusal = ""
        self._finish: str | None = None
        self._about: dict[str, Any] = {}
        self._broken = False

    def feed(self, piece: bytes) -> None:
        """Parse a piece of the body; calls ``on_text`` if the text has grown."""
        before = len(self._text)
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            self._line(line)
        if len(self._text) > before:
            self._on_text(self._text)

    def whole(self) -> Mapping[str, Any] | None:
        """The reply as if it had not been streamed, or None if it broke off."""
        # The last line may lack its line break.
        self._line(self._rest)
        self._rest = b""
        if "error" in self._about:
            return {"error": self._about["error"]}
        if self._finish is None or self._broken:
            return None
        message: dict[str, Any] = {"role": "assistant", "content": self._text}
        if self._refusal:
            message["refusal"] = self._refusal
        choice = {"index": 0, "message": message, "finish_reason": self._finish}
        return {**self._about, "choices": [choice]}

    def _line(self, line: bytes) -> None:
        name, _, value = line.strip().partition(b":")
        value = value.strip()
        if name != b"data" or value in (b"", b"[DONE]"):
            return  # comments that keep the connection alive, and names of events
        try:
            event = orjson.loads(value)
        except orjson.JSONDecodeError:
            self._broken = True
            return
        if isinstance(event, dict):
            self._event(event)

    def _event(self, event: Mapping[str, Any]) -> None:
        for name in ("model", "usage", "error"):
            if event.get(name):
                self._about[name] = event[name]
        choices = event.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            return
        delta = choice.get("delta")
        if isinstance(delta, dict):
            self._text += _text(delta.get("content"))
            self._refusal += _text(delta.get("refusal"))
        if isinstance(choice.get("finish_reason"), str):
            self._finish = choice["finish_reason"]


def _text(content: object) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def is_stream(headers: Mapping[str, str]) -> bool:
    """Whether a reply with these headers (names in lower case) is streamed."""
    return headers.get("content-type", "").partition(";")[0].strip() == "text/event-stream"


def joined_reply(body: bytes) -> Mapping[str, Any] | None:
    """The reply of a complete stream, or None if it broke off."""
    stream = Stream()
    stream.feed(body)
    return stream.whole()
