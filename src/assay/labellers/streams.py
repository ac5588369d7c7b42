"""Chat completions that come in pieces (server-sent events), put together again.

The format is that of OpenAI-compatible servers: each event holds a piece of the reply, the last
ones why it ends and what it took, and ``[DONE]`` closes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

Heard = Callable[[str], None]
"""Told all that there is of a reply's text, each time that more of it has come."""


class Stream:
    """A reply that comes in pieces: :meth:`feed` takes bytes as they arrive."""

    def __init__(self, heard: Heard = lambda _text: None) -> None:
        self._heard = heard
        self._left = b""
        self._text = self._refusal = ""
        self._finish: str | None = None
        self._about: dict[str, Any] = {}
        self._broken = False

    def feed(self, piece: bytes) -> None:
        """Take what has arrived; whoever listens is told where the text has grown."""
        before = len(self._text)
        *lines, self._left = (self._left + piece).split(b"\n")
        for line in lines:
            self._line(line)
        if len(self._text) > before:
            self._heard(self._text)

    def whole(self) -> Mapping[str, Any] | None:
        """The reply as it would have come in one piece; None where it broke off."""
        # The last line need not have an end.
        self._line(self._left)
        self._left = b""
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
            return  # comments keep a connection alive, and events have names that tell nothing
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


def _text(given: object) -> str:
    if isinstance(given, list):
        return "".join(str(part.get("text", "")) for part in given if isinstance(part, dict))
    return given if isinstance(given, str) else ""


def is_stream(headers: Mapping[str, str]) -> bool:
    """Whether a reply with these headers (names in lower case) comes in pieces."""
    return headers.get("content-type", "").partition(";")[0].strip() == "text/event-stream"


def joined(body: bytes) -> Mapping[str, Any] | None:
    """The reply of a whole stream; None where it broke off."""
    stream = Stream()
    stream.feed(body)
    return stream.whole()
