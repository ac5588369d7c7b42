"""Labeller for any server with the OpenAI chat-completions format.

Replies are constrained by a JSON schema; if the server does not support that, by JSON mode, or else
not at all. A reply without a usable verdict gets one repair turn; if that fails too, the failure is
recorded with the raw reply.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import orjson

from assay.labellers.base import BaseLabeller, Estimate, Outcome, Request
from assay.labellers.endpoints import Endpoints, RequestRefused
from assay.labellers.forms import Mode, RequestForm
from assay.labellers.http import HttpTransport
from assay.labellers.keys import DEFAULT_BASE_URL
from assay.labellers.pace import Limits
from assay.labellers.prices import Price, tokens_read
from assay.labellers.replies import UnusableReply, parse_reply
from assay.labellers.transport import MAX_REPLY, Transport
from assay.labellers.watch import text_callback
from assay.model.labels import LabellerId, Status
from assay.model.secrets import excerpt
from assay.tasks.base import AnyTask, Verdict, canonical
from assay.tasks.rendering import Messages, Renderer
from assay.tasks.schemas import LIST_LENGTHS, TEXT_KEYWORDS, Schema, without

_MOST_TOKENS = 10**12
_KEPT_REPLY = 4000  # characters of an unusable reply kept in the ledger


@dataclass(frozen=True, slots=True)
class OpenAISettings:
    """How to call a model. ``limits`` apply to each of ``base_urls``; each of ``keys`` is sent only
    to its own address and never written anywhere."""

    model: str
    base_urls: tuple[str, ...] = (DEFAULT_BASE_URL,)
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    temperature: float | None = 0.0
    limits: Limits = field(default_factory=Limits)
    timeout: float = 120.0
    max_reply: int = MAX_REPLY
    price: Price | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Usage:
    """Token counts of all turns of a request, as reported by the server."""

    tokens_in: int = 0
    tokens_out: int = 0
    known: bool = True
    calls: int = 0
    cached: int = 0
    stored: int = 0
    model: str | None = None
    lost: int = 0
    lost_in: int = 0
    lost_out: int = 0

    def lose(self, messages: Sequence[Mapping[str, str]], limit: int) -> None:
        """Note that the reply to ``messages`` was lost. The server may charge for it, up to the
        token limit."""
        self.lost += 1
        self.lost_in += tokens_read(messages)
        self.lost_out += limit

    def add(self, reply: Mapping[str, Any], redact: Callable[[str], str]) -> None:
        """Add the counts of a reply."""
        self.calls += 1
        if isinstance(reply.get("model"), str):
            self.model = redact(reply["model"])
        usage = reply.get("usage")
        counts = usage if isinstance(usage, dict) else {}
        read, written = _count(counts.get("prompt_tokens")), _count(counts.get("completion_tokens"))
        details = counts.get("prompt_tokens_details")
        cached, stored = (
            (_count(details.get(name)) or 0) if isinstance(details, dict) else 0
            for name in ("cached_tokens", "cache_write_tokens")
        )
        if read is None or (written is None and counts.get("completion_tokens") is not None):
            self.known = False
            return
        # Some servers do not include cached tokens in the tokens read.
        fresh = read - cached if cached <= read else read
        self.tokens_in += fresh + cached
        self.tokens_out += written or 0
        self.cached += cached
        self.stored += min(stored, fresh)

    def cost(self, price: Price | None) -> float | None:
        """US dollars, or None if the price or the tokens are unknown."""
        if price is None or self.lost or not self.known:
            return None
        return price.of(self.tokens_in, self.tokens_out, self.cached, self.stored)

    def at_most(self, price: Price | None) -> float | None:
        """The highest possible cost (US dollars) if replies were lost; otherwise, or if that is
        unknown, None."""
        if price is None or not self.lost or not self.known:
            return None
        received = price.of(self.tokens_in, self.tokens_out, self.cached, self.stored)
        return received + price.most(self.lost_in, self.lost_out)

    def detail(self, price: Price | None) -> dict[str, Any]:
        """Further facts for the label's detail: the server's name of the model, the number of calls
        if several, tokens from and to the cache and what that saved, and lost replies."""
        facts = {
            "model": self.model,
            "calls": self.calls if self.calls > 1 else None,
            "cached_tokens": self.cached,
            "cache_write_tokens": self.stored,
            "cache_saved": None if price is None else price.saved(self.cached, self.stored),
            "lost_replies": self.lost,
        }
        return {name: value for name, value in facts.items() if value}


class OpenAILabeller(BaseLabeller):
    """A labeller that asks a chat-completions endpoint; see the module's docstring."""

    kind = "openai"
    endpoint = "openai-chat"
    streams = True  # replies can be streamed

    def __init__(
        self, settings: OpenAISettings, renderer: Renderer, transport: Transport | None = None
    ) -> None:
        self._settings = settings
        self._renderer = renderer
        self._transport: Transport = transport or HttpTransport(most=settings.max_reply)
        self._endpoints = Endpoints(
            f"{self.kind}:{settings.model}",
            settings.base_urls,
            settings.keys,
            settings.limits,
            settings.timeout,
            self._transport,
        )
        self._formats: dict[type[Verdict], orjson.Fragment] = {}
        params: dict[str, Any] = {"model": settings.model, "endpoint": self.endpoint}
        if settings.temperature is not None:
            params["temperature"] = settings.temperature
        if settings.extra:
            params["extra"] = dict(settings.extra)
        self.id = LabellerId(f"{self.kind}:{settings.model}", "model", params)

    @property
    def concurrency(self) -> int:
        # A quarter more than may be in flight (which the pace limits), so that another question is
        # ready while an answer is parsed and stored.
        most = self._settings.limits.concurrency * len(self._settings.base_urls)
        return most + most // 4

    @property
    def price(self) -> Price | None:
        """The price of its tokens, or None if unknown."""
        return self._settings.price

    @property
    def varies(self) -> bool:
        return self._settings.temperature != 0

    def preview(self, request: Request) -> Messages:
        return self._renderer.chat(request.task, request.unit)

    def rendered(self, request: Request) -> bytes:
        return canonical([self.preview(request), self._format(request.task)])

    def estimate(self, request: Request) -> Estimate:
        items = len(getattr(request.unit, "nuggets", ()))
        read = tokens_read(self.preview(request))
        written = request.task.usual_tokens or 60 + 40 * items
        price = self._settings.price
        if price is None:
            return Estimate(1, read, written, None, None)
        # The worst case: both the reply and the repair turn reach their limits.
        limit = request.task.max_tokens
        most = price.most(2 * read + limit, 3 * limit)
        return Estimate(1, read, written, price.of(read, written), most)

    async def __aenter__(self) -> Self:
        self._endpoints.reset()
        return self

    async def close(self) -> None:
        await self._transport.close()

    def body(self, request: Request) -> bytes:
        """The request body of the first turn, for a batch file."""
        messages = [dict(message) for message in self.preview(request)]
        return self._body(request, messages, replace(self._endpoints.form, stream=False), more=1)

    def batch_line(self, key: str, body: bytes) -> Mapping[str, Any]:
        """A line of a batch file."""
        about = {"custom_id": key, "method": "POST", "url": "/v1/chat/completions"}
        return {**about, "body": orjson.Fragment(body)}

    def read(self, request: Request, reply: Mapping[str, Any]) -> Outcome:
        """The outcome of a reply from a batch file, which gets no repair turn."""
        usage = Usage()
        verdict, text, problem = self._parse(request, reply, usage)
        if text is None:
            return self._outcome(usage, None, error=problem)
        error, raw = f"unusable reply: {problem}", "" if verdict else text
        return self._outcome(usage, None, verdict=verdict, error=error, raw=raw)

    def _parse(
        self, request: Request, reply: Mapping[str, Any], usage: Usage
    ) -> tuple[Verdict | None, str | None, str]:
        """The verdict in a reply, its text, and why there is no verdict. The text is None if asking
        again is pointless."""
        usage.add(reply, self._endpoints.redact)
        text, problem = reply_content(reply, self._settings.keys.values())
        if text is None:
            return None, None, problem
        try:
            return parse_reply(request.task, request.unit, text), text, ""
        except UnusableReply as error:
            return None, text, f"{problem}; {error}" if problem else str(error)

    def refused(self, error: str) -> Outcome:
        """The outcome if the server refuses a request of a batch file."""
        return self._outcome(Usage(known=False), None, error=error)

    async def label(self, request: Request) -> Outcome:
        started = time.perf_counter()
        usage = Usage()
        messages: list[dict[str, str]] = [dict(message) for message in self.preview(request)]
        problem, raw = "", ""
        on_text = text_callback(request) if self.streams else None
        for turn in range(2):
            # The repair turn may be twice as long, as the limit may have cut off the first one.
            make = partial(self._body, request, messages, more=1 + turn)
            try:
                # About four characters per token.
                size = sum(len(message["content"]) for message in messages) // 4
                lost = partial(usage.lose, messages, request.task.max_tokens * (1 + turn))
                reply = await self._endpoints.call(make, size, on_text, lost=lost)
            except RequestRefused as refused:
                return self._outcome(usage, started, error=str(refused), raw=raw, suspect=True)
            verdict, text, problem = self._parse(request, reply, usage)
            if verdict is not None:
                return self._outcome(usage, started, verdict=verdict)
            if text is None:
                return self._outcome(usage, started, error=problem, raw=raw)
            raw = text
            messages.append({"role": "assistant", "content": text[:_KEPT_REPLY] or "(empty)"})
            messages.append(
                {
                    "role": "user",
                    "content": f"That reply cannot be used: {problem}. Reply again with the JSON "
                    "object that was asked for, complete, and nothing else.",
                }
            )
        why = f"unusable reply: {problem}"
        return self._outcome(usage, started, error=why, raw=raw, suspect=True)

    def _outcome(
        self,
        usage: Usage,
        started: float | None,
        *,
        verdict: Verdict | None = None,
        error: str = "",
        raw: str = "",
        suspect: bool = False,
    ) -> Outcome:
        # A server or proxy may repeat the key in a raw reply, which is kept for people to read.
        raw_reply = {"raw": self._endpoints.redact(raw)[:_KEPT_REPLY]} if raw else {}
        return Outcome(
            status=Status.FAILED if verdict is None else Status.OK,
            verdict=verdict,
            error=self._endpoints.redact(error) if verdict is None else None,
            tokens_in=usage.tokens_in if usage.known else None,
            tokens_out=usage.tokens_out if usage.known else None,
            cost=usage.cost(self.price),
            seconds=None if started is None else time.perf_counter() - started,
            detail={**usage.detail(self.price), **raw_reply},
            suspect=suspect,
            at_most=usage.at_most(self.price),
        )

    def _body(
        self, request: Request, messages: list[dict[str, str]], form: RequestForm, *, more: int
    ) -> bytes:
        task = request.task
        body: dict[str, Any] = {"model": self._settings.model, "messages": messages}
        limit = task.max_tokens * more
        if form.seed and self._settings.temperature and form.old_parameters:
            # Each sample has its own seed, also so that no cache gives them all the same answer.
            body["seed"] = request.sample + 1
        if form.old_parameters:
            body["max_tokens"] = limit
            if self._settings.temperature is not None:
                body["temperature"] = self._settings.temperature
        else:
            body["max_completion_tokens"] = limit
        if form.mode is Mode.SCHEMA:
            body["response_format"] = self._constraint(request, form)
        elif form.mode is Mode.JSON:
            body["response_format"] = {"type": "json_object"}
        if form.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        # Last, so that the user's settings override everything above.
        body.update(self._settings.extra)
        return orjson.dumps(body)

    def _constraint(self, request: Request, form: RequestForm) -> orjson.Fragment:
        """The ``response_format`` of a request, with the schema for its unit."""
        task = request.task
        if task.narrow is None and form.lengths:
            return self._format(task)
        unknown = TEXT_KEYWORDS if form.lengths else TEXT_KEYWORDS | LIST_LENGTHS
        return _response_format(without(task.schema_of(request.unit), unknown))

    def _format(self, task: AnyTask) -> orjson.Fragment:
        """The ``response_format`` with the verdict's general schema; cached."""
        known = self._formats.get(task.verdict)
        if known is None:
            known = self._formats[task.verdict] = _response_format(task.schema())
        return known


def _response_format(schema: Schema) -> orjson.Fragment:
    named = {"name": "verdict", "strict": True, "schema": schema}
    return orjson.Fragment(orjson.dumps({"type": "json_schema", "json_schema": named}))


def _count(value: object) -> int | None:
    """A token count of the server, or None if it is not a plausible number."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value <= _MOST_TOKENS else None


def reply_content(reply: Mapping[str, Any], keys: Iterable[str] = ()) -> tuple[str | None, str]:
    """The reply's text, or None if there is nothing to parse, and what is wrong with it (without
    keys)."""
    choices = reply.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return "", "the reply has no choices"
    message = choices[0].get("message")
    if not isinstance(message, dict):
        return "", "the reply's choice has no message"
    if message.get("refusal"):
        return None, f"the model refused: {excerpt(str(message['refusal']), keys)}"
    finish = choices[0].get("finish_reason")
    if finish == "content_filter":
        return None, "the endpoint's content filter withheld the reply"
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(str(p.get("text", "")) for p in content if isinstance(p, dict))
    if not isinstance(content, str):
        content = ""
    if finish == "length":
        return content, "the reply was cut off at the token limit"
    return content, "" if content.strip() else "the reply has no content"
