"""Any server that speaks the OpenAI chat-completions format.

A reply is asked for under a JSON schema; where the server cannot do that, in JSON mode; where it
cannot do that either, in plain text. A reply that holds no usable verdict gets one repair turn,
then the failure is recorded with the raw reply.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import IntEnum
from types import TracebackType
from typing import Any, Self

import orjson

from assay.labellers.base import Estimate, Outcome, Request
from assay.labellers.replies import UnusableReply, parse_reply
from assay.labellers.transport import HttpTransport, Reply, Transport, TransportError
from assay.model.errors import LabellerUnreachable
from assay.model.labels import LabellerId, Status
from assay.tasks.base import AnyTask, canonical
from assay.tasks.rendering import Messages, Renderer

DEFAULT_BASE_URL = "https://api.openai.com/v1"
_ATTEMPTS = 7
_LONGEST_WAIT = 60.0  # seconds between two attempts, also where Retry-After asks for more
_KEPT_REPLY = 4000  # characters of an unusable reply that are kept in the ledger
_FORMAT_WORDS = ("response_format", "json_schema", "json_object", "guided", "grammar", "schema")
_LENGTH_WORDS = ("context length", "context_length", "maximum context", "too long", "too many tok")
_sleep = asyncio.sleep  # tests wait less


class _Mode(IntEnum):
    """What the server is asked to constrain the reply to, from most to least."""

    SCHEMA = 0
    JSON = 1
    PLAIN = 2


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens in and out."""

    input: float
    output: float


@dataclass(frozen=True, slots=True)
class OpenAISettings:
    """How an endpoint is called. ``api_key`` is sent and never written anywhere."""

    model: str
    base_url: str = DEFAULT_BASE_URL
    api_key: str | None = field(default=None, repr=False)
    temperature: float | None = 0.0
    concurrency: int = 32
    timeout: float = 120.0
    price: Price | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class _Usage:
    tokens_in: int = 0
    tokens_out: int = 0
    known: bool = True
    calls: int = 0

    def add(self, reply: Mapping[str, Any]) -> None:
        self.calls += 1
        usage = reply.get("usage")
        if isinstance(usage, dict) and isinstance(usage.get("prompt_tokens"), int):
            self.tokens_in += usage["prompt_tokens"]
            self.tokens_out += usage.get("completion_tokens") or 0
        else:
            self.known = False


class OpenAILabeller:
    """A chat-completions endpoint as a labeller; see the module's docstring."""

    def __init__(
        self, settings: OpenAISettings, renderer: Renderer, transport: Transport | None = None
    ) -> None:
        self._settings = settings
        self._renderer = renderer
        self._transport: Transport = transport or HttpTransport(settings.concurrency)
        self._mode = _Mode.SCHEMA
        self._plain_parameters = False

    @property
    def id(self) -> LabellerId:
        params: dict[str, Any] = {"model": self._settings.model, "endpoint": "openai-chat"}
        if self._settings.temperature is not None:
            params["temperature"] = self._settings.temperature
        if self._settings.extra:
            params["extra"] = dict(self._settings.extra)
        return LabellerId(f"openai:{self._settings.model}", "model", params)

    @property
    def concurrency(self) -> int:
        return self._settings.concurrency

    def refusal(self, task: AnyTask) -> str | None:
        return None

    def preview(self, request: Request) -> Messages:
        return self._renderer.chat(request.task, request.unit)

    def rendered(self, request: Request) -> bytes:
        return canonical([dict(message) for message in self.preview(request)])

    def estimate(self, request: Request) -> Estimate:
        characters = sum(len(message["content"]) for message in self.preview(request))
        items = len(getattr(request.unit, "nuggets", ()))
        return Estimate(calls=1, tokens_in=characters // 4 + 8, tokens_out=60 + 40 * items)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._transport.close()

    async def label(self, request: Request) -> Outcome:
        started = time.perf_counter()
        usage = _Usage()
        messages: list[dict[str, str]] = [dict(message) for message in self.preview(request)]
        problem, raw = "", ""
        for turn in range(2):
            reply = await self._call(request.task, messages, repair=turn > 0)
            if isinstance(reply, str):
                return self._outcome(usage, started, error=reply)
            usage.add(reply)
            text, problem = _content(reply)
            if text is None:
                return self._outcome(usage, started, error=problem, raw=raw)
            raw = text
            try:
                verdict = parse_reply(request.task, request.unit, text)
            except UnusableReply as error:
                problem = f"{problem}; {error}" if problem else str(error)
            else:
                return Outcome(
                    status=Status.OK,
                    verdict=verdict,
                    tokens_in=usage.tokens_in if usage.known else None,
                    tokens_out=usage.tokens_out if usage.known else None,
                    cost=self._cost(usage),
                    seconds=time.perf_counter() - started,
                    detail={"calls": usage.calls} if usage.calls > 1 else {},
                )
            messages.append({"role": "assistant", "content": text[:_KEPT_REPLY] or "(empty)"})
            messages.append(
                {
                    "role": "user",
                    "content": f"That reply cannot be used: {problem}. Reply again with the JSON "
                    "object that was asked for, complete, and nothing else.",
                }
            )
        return self._outcome(usage, started, error=f"unusable reply: {problem}", raw=raw)

    def _outcome(self, usage: _Usage, started: float, *, error: str, raw: str = "") -> Outcome:
        return Outcome(
            status=Status.FAILED,
            error=self._redact(error),
            tokens_in=usage.tokens_in if usage.known else None,
            tokens_out=usage.tokens_out if usage.known else None,
            cost=self._cost(usage),
            seconds=time.perf_counter() - started,
            detail={"calls": usage.calls, "raw": raw[:_KEPT_REPLY]} if raw else {},
        )

    def _cost(self, usage: _Usage) -> float | None:
        price = self._settings.price
        if price is None or not usage.known:
            return None
        return (usage.tokens_in * price.input + usage.tokens_out * price.output) / 1e6

    def _body(self, task: AnyTask, messages: list[dict[str, str]], mode: _Mode, more: int) -> bytes:
        body: dict[str, Any] = {"model": self._settings.model, "messages": messages}
        limit = task.max_tokens * more
        if self._plain_parameters:
            body["max_completion_tokens"] = limit
        else:
            body["max_tokens"] = limit
            if self._settings.temperature is not None:
                body["temperature"] = self._settings.temperature
        if mode is _Mode.SCHEMA:
            schema = {"name": "verdict", "strict": True, "schema": task.schema()}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif mode is _Mode.JSON:
            body["response_format"] = {"type": "json_object"}
        body.update(self._settings.extra)
        return orjson.dumps(body)

    async def _call(
        self, task: AnyTask, messages: list[dict[str, str]], *, repair: bool
    ) -> Mapping[str, Any] | str:
        """One turn. Returns the reply, or why the request cannot be answered at all."""
        url = self._settings.base_url.rstrip("/") + "/chat/completions"
        headers = {"Content-Type": "application/json"}
        if self._settings.api_key:
            headers["Authorization"] = f"Bearer {self._settings.api_key}"
        last = ""
        attempt = 0
        while attempt < _ATTEMPTS:
            mode = self._mode
            plain = self._plain_parameters
            body = self._body(task, messages, mode, 2 if repair else 1)
            wait: float | None = None
            try:
                reply = await self._transport.post(url, headers, body, self._settings.timeout)
            except TransportError as error:
                last = str(error)
            else:
                if reply.status == 200:
                    parsed = _json_object(reply.body)
                    if parsed is not None:
                        return parsed
                    last = "HTTP 200 with a body that is no JSON object"
                elif reply.status in (400, 404, 413, 415, 422) and self._adapt(reply, mode, plain):
                    continue  # another mode: not an attempt that failed
                elif reply.status in (400, 413, 422):
                    return f"HTTP {reply.status}: {_message(reply)}"
                elif reply.status in (408, 409, 425, 429) or reply.status >= 500:
                    last = f"HTTP {reply.status}: {_message(reply)}"
                    if reply.status == 429 and "insufficient_quota" in _message(reply):
                        raise self._unreachable(last)
                    wait = retry_after(reply.headers, datetime.now(UTC))
                else:
                    raise self._unreachable(f"HTTP {reply.status}: {_message(reply)}")
            attempt += 1
            if attempt < _ATTEMPTS:
                backoff = min(_LONGEST_WAIT, 0.5 * 2 ** (attempt - 1)) * random.uniform(0.5, 1)  # noqa: S311
                await _sleep(min(_LONGEST_WAIT, max(wait or 0.0, backoff)))
        raise self._unreachable(f"{last} ({_ATTEMPTS} attempts)")

    def _adapt(self, reply: Reply, mode: _Mode, plain: bool) -> bool:
        """After a refusal of the request's form, ask for less. True if there is another try."""
        message = _message(reply).casefold()
        if any(word in message for word in _LENGTH_WORDS):
            return False
        if not plain and ("max_completion_tokens" in message or "temperature" in message):
            self._plain_parameters = True
            return True
        if mode is not _Mode.PLAIN and any(word in message for word in _FORMAT_WORDS):
            # Another request may have adapted meanwhile: then just try what it settled on.
            self._mode = max(self._mode, _Mode(mode + 1))
            return True
        return False

    def _unreachable(self, why: str) -> LabellerUnreachable:
        cure = "Check the address and that the server runs."
        if "HTTP 401" in why or "HTTP 403" in why:
            cure = "Check the API key (OPENAI_API_KEY, or ASSAY_<NAME>_API_KEY)."
        elif "HTTP 404" in why:
            cure = "Check the address (it should end in /v1) and the model's name."
        elif "HTTP 429" in why:
            cure = "The endpoint's rate limit or quota holds; run again later."
        return LabellerUnreachable(
            self._redact(
                f"{self.id.name} at {self._settings.base_url} does not answer: {why}. {cure}"
            )
        )

    def _redact(self, text: str) -> str:
        key = self._settings.api_key
        return text.replace(key, "[key]") if key else text


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds that a Retry-After header asks to wait (a number or a date), or None."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        when = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (when - now).total_seconds()) if when.tzinfo else None


def _json_object(body: bytes) -> Mapping[str, Any] | None:
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def _message(reply: Reply) -> str:
    """What an error reply says, shortened."""
    body = _json_object(reply.body)
    error: Any = (body or {}).get("error", body)
    if isinstance(error, dict):
        code = error.get("code") or error.get("type") or ""
        text = f"{error.get('message') or error.get('detail') or error} {code}".strip()
    else:
        text = str(error) if error else reply.body[:300].decode("utf-8", "replace")
    return " ".join(text.split())[:300]


def _content(reply: Mapping[str, Any]) -> tuple[str | None, str]:
    """The reply's text and what was odd about it; None where there is nothing to parse."""
    choices = reply.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return "", "the reply has no choices"
    message = choices[0].get("message") or {}
    if message.get("refusal"):
        return None, f"the model refused: {str(message['refusal'])[:300]}"
    finish = choices[0].get("finish_reason")
    if finish == "content_filter":
        return None, "the endpoint's content filter withheld the reply"
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(str(p.get("text", "")) for p in content if isinstance(p, dict))
    note = "the reply was cut off at the token limit" if finish == "length" else ""
    return (content if isinstance(content, str) else ""), note
