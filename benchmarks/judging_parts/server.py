"""A chat-completions server that costs next to nothing, as a process of its own.

Replies are a function of the prompt alone: a text that holds ``item N`` has grade ``N % 4`` and a
nugget that holds ``fact M`` has, for that text, the label number ``(N + M) % 3``. Whoever asks gets
the format that its prompt asks for, so that every tool should end with the same labels. ``GET
/stats`` says how many calls and prompt tokens there were since the last ``/stats`` (a token is four
characters of message text, for every tool alike).

Usage: server.py LATENCY_SECONDS [ADDRESS]; prints its port, and ends when its standard input is
closed.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from typing import Any

import orjson

ITEM = re.compile(r"\bitem (\d+)\b")
FACT = re.compile(r"\bfact (\d+)\b")
LABELS = ("support", "partial_support", "not_support")


def answer(system: str, user: str) -> str:
    """The reply to a prompt, in the format of the tool that wrote it."""
    found = ITEM.search(user)
    item = int(found[1]) if found else 0
    facts = [int(number) for number in FACT.findall(user)]
    if facts:
        labels = [LABELS[(item + fact) % 3] for fact in facts]
        # A list for nuggetizer, which is told of one; an object for Assay.
        return json.dumps({"labels": labels} if '"labels"' in system else labels)
    if '"grade"' in system:
        return json.dumps({"reason": "It is what the server says.", "grade": item % 4})
    return json.dumps({"M": item % 4, "T": 1, "O": item % 4})


class Counts:
    """What was asked since the last question for it."""

    calls = 0
    tokens = 0
    busy = 0
    most = 0


class Connection(asyncio.Protocol):
    """One connection: requests one after the other."""

    def __init__(self, latency: float, counts: Counts) -> None:
        self._latency = latency
        self._counts = counts
        self._buffer = b""
        self._transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, found, rest = self._buffer.partition(b"\r\n\r\n")
        if not found:
            return
        length = re.search(rb"(?i)content-length: *(\d+)", head)
        size = int(length[1]) if length else 0
        if len(rest) < size:
            return
        self._buffer = rest[size:]
        if head.startswith(b"GET"):
            counts = self._counts
            self._send({"calls": counts.calls, "tokens": counts.tokens, "most": counts.most,
                        "cpu": time.process_time()})  # fmt: skip
            counts.calls = counts.tokens = counts.most = 0
            return
        self._ask(orjson.loads(rest[:size]))

    def _ask(self, body: dict[str, Any]) -> None:
        counts = self._counts
        texts = [str(message["content"]) for message in body["messages"]]
        tokens = sum(map(len, texts)) // 4
        counts.calls += 1
        counts.tokens += tokens
        counts.busy += 1
        counts.most = max(counts.most, counts.busy)
        reply = {
            "id": "x",
            "object": "chat.completion",
            "created": 0,
            "model": "benchmark",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {"role": "assistant", "content": answer(texts[0], texts[-1])},
                }
            ],
            "usage": {"prompt_tokens": tokens, "completion_tokens": 20, "total_tokens": tokens},
        }
        if self._latency:
            asyncio.get_running_loop().call_later(self._latency, self._reply, reply)
        else:
            self._reply(reply)

    def _reply(self, reply: dict[str, Any]) -> None:
        self._counts.busy -= 1
        self._send(reply)

    def _send(self, document: dict[str, Any]) -> None:
        body = orjson.dumps(document)
        self._transport.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
            % (len(body), body)
        )


async def main(latency: float, address: str = "127.0.0.1") -> None:
    """Serve until standard input ends."""
    counts = Counts()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(latency, counts), address, 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1]), *sys.argv[2:]))
