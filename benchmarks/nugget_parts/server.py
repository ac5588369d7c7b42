"""A chat-completions server for ``benchmarks/nuggets.py``: the same answers, whoever asks.

Facts are sentences ``the archive holds fact N of case C``. Of all facts in a prompt the first 30
by number are the nuggets; even ones are vital; an answer with ``item I`` supports fact N by
``(I + N) % 3``; a sentence ``claim S`` is supported by ``S % 3``. ``GET /stats`` gives calls and
prompt tokens by kind since the last ``/stats`` (a token is four characters of message text).

Usage: server.py; prints its port, and ends when its standard input is closed.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections import Counter
from typing import Any

import orjson

FACT = re.compile(r"the archive holds fact (\d+) of case (\d+)")
ITEM = re.compile(r"\bitem (\d+)\b")
CLAIM = re.compile(r"\bclaim (\d+)\b")
ASSIGNED = ("support", "partial_support", "not_support")
SUPPORT = ("full", "partial", "none")
MOST = 30


def kind_of(system: str) -> str:
    """What is asked, by the words of either tool's system message."""
    if "NuggetizeLLM" in system or '{"nuggets"' in system:
        return "creation"
    if "NuggetizeScoreLLM" in system or '"vital", "okay"' in system:
        return "importance"
    if "NuggetizeAssignerLLM" in system or "partial_support" in system:
        return "assignment"
    return "support"


def answer(kind: str, system: str, user: str) -> str:
    """The reply, in the format that the tool asks for."""
    ours = "Reply with a JSON object" in system
    facts = [(int(number), int(case)) for number, case in FACT.findall(user)]
    name = "labels"
    found: list[str]
    if kind == "creation":
        kept = sorted(dict.fromkeys(facts))[:MOST]
        found = [f"the archive holds fact {number} of case {case}" for number, case in kept]
        name = "nuggets"
    elif kind == "importance":
        found = ["okay" if number % 2 else "vital" for number, _ in facts]
    elif kind == "assignment":
        item = int(ITEM.findall(user)[-1])
        found = [ASSIGNED[(item + number) % 3] for number, _ in facts]
    else:
        claim = int(CLAIM.findall(user)[-1])
        return json.dumps({"reason": "", "support": SUPPORT[claim % 3]})
    return json.dumps({name: found} if ours else found)


class Connection(asyncio.Protocol):
    """One connection: requests one after the other."""

    def __init__(self, calls: Counter[str], tokens: Counter[str]) -> None:
        self._calls, self._tokens = calls, tokens
        self._buffer = b""
        self._transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, found, rest = self._buffer.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: *(\d+)", head)
        size = int(length[1]) if length else 0
        if not found or len(rest) < size:
            return
        self._buffer = rest[size:]
        if head.startswith(b"GET"):
            self._send({"calls": self._calls, "tokens": self._tokens})
            self._calls.clear()
            self._tokens.clear()
            return
        texts = [str(one["content"]) for one in orjson.loads(rest[:size])["messages"]]
        tokens, kind = sum(map(len, texts)) // 4, kind_of(texts[0])
        self._calls[kind] += 1
        self._tokens[kind] += tokens
        content = answer(kind, texts[0], texts[-1])
        message = {"role": "assistant", "content": content}
        self._send(
            {
                "id": "x",
                "object": "chat.completion",
                "created": 0,
                "model": "benchmark",
                "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
                "usage": {"prompt_tokens": tokens, "completion_tokens": 1, "total_tokens": tokens},
            }
        )

    def _send(self, document: dict[str, Any]) -> None:
        body = orjson.dumps(document)
        self._transport.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
            % (len(body), body)
        )


async def main() -> None:
    """Serve until standard input ends."""
    calls: Counter[str] = Counter()
    tokens: Counter[str] = Counter()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: Connection(calls, tokens), "127.0.0.1", 0, backlog=1024
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
