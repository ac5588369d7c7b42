"""Language models that write: in this process, or behind an endpoint."""

from __future__ import annotations

import asyncio
import math
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson
from pydantic import ValidationError

from assay.labellers.base import BaseLabeller, Estimate, Labeller, Outcome, Request
from assay.labellers.gguf import EngineFailure, GgufEngine, yes_no_margin
from assay.labellers.known_models import DEFAULT_MODEL
from assay.labellers.models import Progress as Fetching
from assay.labellers.models import fetch_model, find_model, known_model
from assay.labellers.openai import OpenAISettings
from assay.labellers.prices import tokens
from assay.labellers.spec import LabellerOptions, make_labeller, openai_settings
from assay.labellers.transport import HttpTransport, Transport, TransportError
from assay.model.errors import LabellerUnreachable, SettingsError
from assay.model.labels import LabellerId, Status
from assay.tasks.answering import CERTAINTY, Certainty
from assay.tasks.base import AnyTask, Verdict, canonical
from assay.tasks.rendering import Messages, Renderer

_CONTEXT = 8192


def make_certainty(spec: str, *, folder: Path, options: LabellerOptions | None = None) -> Labeller:
    """The model of ``spec`` as a judge of its own answers by log-probabilities. Raises
    SettingsError for one that gives none."""
    kind, _, rest = spec.strip().partition(":")
    if kind == "openai" and rest:
        return EndpointCertainty(openai_settings(rest, options or LabellerOptions()))
    if kind in ("embedded", "recorded"):
        return make_writer(spec, folder=folder, options=options)
    raise SettingsError(
        f"'{spec}' gives no log-probabilities. Use 'embedded' or 'openai:' for them, or "
        "--confidence verbalised or sampled."
    )


def make_writer(
    spec: str, *, folder: Path, options: LabellerOptions | None = None, temperature: float = 0.0
) -> Labeller:
    """The model that ``spec`` names, for tasks that ask for text: a labeller's SPEC, but that
    ``embedded[:MODEL]`` writes instead of answering yes/no questions."""
    how = options or LabellerOptions(temperature=temperature)
    kind, _, rest = spec.strip().partition(":")
    if kind == "embedded":
        return GgufWriter(rest or None, Renderer(), temperature=temperature, progress=how.fetching)
    return make_labeller(spec, folder=folder, renderer=Renderer(), options=how)


class GgufWriter(BaseLabeller):
    """A GGUF model in this process that writes verdicts as JSON, held to the task's schema.

    A reply that does not fit the unit is answered with what is wrong and asked again once. With a
    ``temperature`` above 0 the sample's number is the seed, so that samples differ and can be had
    again.
    """

    def __init__(
        self,
        model: str | None,
        renderer: Renderer,
        *,
        temperature: float = 0.0,
        progress: Fetching | None = None,
        threads: int | None = None,
    ) -> None:
        self._spec = model or DEFAULT_MODEL
        known = known_model(self._spec)
        self._sha256 = known.sha256 if known else find_model(self._spec).sha256
        self._name = known.name if known else find_model(self._spec).name
        self._renderer = renderer
        self._temperature = temperature
        self._progress = progress
        self._threads = threads
        self._engine: GgufEngine | None = None
        self._worker: ThreadPoolExecutor | None = None

    @property
    def id(self) -> LabellerId:
        params = {
            "model": self._name,
            "sha256": self._sha256,
            "engine": "llama.cpp via xllamacpp",
            "temperature": self._temperature,
        }
        return LabellerId(f"embedded-writer:{self._name}", "model", params)

    @property
    def varies(self) -> bool:
        return self._temperature > 0

    def rendered(self, request: Request) -> bytes:
        return canonical([*self.preview(request), request.task.schema()])

    def preview(self, request: Request) -> Messages:
        return self._renderer.chat(request.task, request.unit)

    def estimate(self, request: Request) -> Estimate:
        read = sum(tokens(message["content"]) for message in self.preview(request))
        return Estimate(1, read, request.task.max_tokens // 3)

    async def label(self, request: Request) -> Outcome:
        if self._worker is None:
            self._worker = ThreadPoolExecutor(1, thread_name_prefix="assay-writer")
        return await asyncio.get_running_loop().run_in_executor(self._worker, self._label, request)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._worker is not None:
            worker, self._worker = self._worker, None
            await asyncio.to_thread(worker.shutdown, wait=True, cancel_futures=True)
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def _label(self, request: Request) -> Outcome:
        if self._engine is None:
            path = fetch_model(self._spec, self._progress).path
            self._engine = GgufEngine(path, context=_CONTEXT, threads=self._threads)
        started = time.perf_counter()
        task = request.task
        if task is CERTAINTY:
            return self._certainty(self._engine, request, started)
        messages = list(self._renderer.chat(task, request.unit))
        read = written = 0
        verdict: Verdict | None = None
        error: str | None = None
        text = ""
        for _ in range(2):
            try:
                reply = self._engine.complete(
                    tuple(messages),
                    task.max_tokens,
                    task.schema(),
                    temperature=self._temperature,
                    seed=request.sample + 1,
                )
            except EngineFailure as failure:
                error = str(failure)
                break
            read, written, text = read + reply.tokens_in, written + reply.tokens_out, reply.text
            verdict, error = _parsed(request, text)
            if error is None:
                break
            messages += [
                {"role": "assistant", "content": text},
                {"role": "user", "content": f"That cannot be used: {error}. Write it again."},
            ]
        detail: dict[str, Any] = {"model": self._name, "sha256": self._sha256}
        if error is not None:
            detail["reply"] = text
        return Outcome(
            status=Status.OK if error is None else Status.FAILED,
            verdict=verdict if error is None else None,
            error=error,
            tokens_in=read,
            tokens_out=written,
            cost=0.0,
            seconds=time.perf_counter() - started,
            detail=detail,
        )

    def _certainty(self, engine: GgufEngine, request: Request, started: float) -> Outcome:
        detail = {"model": self._name, "sha256": self._sha256}
        try:
            found = engine.margin(self.preview(request))
        except EngineFailure as failure:
            return Outcome(Status.FAILED, error=str(failure), cost=0.0, detail=detail)
        return Outcome(
            Status.OK,
            Certainty(probability=probability(found.margin)),
            tokens_in=found.tokens_in,
            tokens_out=1,
            cost=0.0,
            seconds=time.perf_counter() - started,
            detail={**detail, "margin": found.margin, "mass": found.mass},
        )


def probability(margin: float) -> float:
    """P(yes) / (P(yes) + P(no)) from log P(yes) − log P(no)."""
    if margin >= 0:
        return 1 / (1 + math.exp(-margin))
    return math.exp(margin) / (1 + math.exp(margin))


class EndpointCertainty(BaseLabeller):
    """The probability that a chat-completions endpoint gives to *yes* before *no*: one token with
    its log-probabilities. Endpoints that do not give these make every label a failed one.

    A request is tried again where the endpoint is busy; raises LabellerUnreachable where it stays
    silent.
    """

    def __init__(self, settings: OpenAISettings, transport: Transport | None = None) -> None:
        self._settings = settings
        self._transport: Transport = transport or HttpTransport()
        self._renderer = Renderer()

    @property
    def id(self) -> LabellerId:
        params = {
            "model": self._settings.model,
            "endpoint": "openai-chat",
            "logprobs": TOP_LOGPROBS,
        }
        return LabellerId(f"openai:{self._settings.model}", "model", params)

    @property
    def concurrency(self) -> int:
        return 8

    def refusal(self, task: AnyTask) -> str | None:
        return None if task is CERTAINTY else f"This labeller does {CERTAINTY.name} alone."

    def rendered(self, request: Request) -> bytes:
        return canonical(list(self.preview(request)))

    def preview(self, request: Request) -> Messages:
        return self._renderer.chat(request.task, request.unit)

    def estimate(self, request: Request) -> Estimate:
        read = sum(tokens(message["content"]) for message in self.preview(request))
        return Estimate(1, read, 1, cost=None, at_most=None)

    async def label(self, request: Request) -> Outcome:
        settings = self._settings
        headers = {"Content-Type": "application/json"}
        if settings.api_key:
            headers["Authorization"] = f"Bearer {settings.api_key}"
        body = orjson.dumps(
            {
                "model": settings.model,
                "messages": list(self.preview(request)),
                "max_tokens": 1,
                "temperature": 0,
                "logprobs": True,
                "top_logprobs": TOP_LOGPROBS,
            }
        )
        url = f"{settings.base_urls[0].rstrip('/')}/chat/completions"
        started = time.perf_counter()
        why = ""
        for attempt in range(_TRIES):
            if attempt:
                await asyncio.sleep(min(2.0**attempt / 4, 20.0))
            try:
                reply = await self._transport.post(url, headers, body, settings.timeout)
            except TransportError as error:
                why = str(error)
                continue
            if reply.status == 200:
                return _certainty_of(reply.body, time.perf_counter() - started)
            why = f"status {reply.status}"
            if reply.status not in (408, 409, 429) and reply.status < 500:
                break
        raise LabellerUnreachable(f"No answer from {url}: {why}")

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._transport.close()


TOP_LOGPROBS = 20
"""How many log-probabilities of the first token are asked for: the most that endpoints give."""

_TRIES = 6


def _certainty_of(body: bytes, seconds: float) -> Outcome:
    try:
        document = orjson.loads(body)
        usage = document.get("usage") or {}
        first = document["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
        margin, mass = yes_no_margin((row["token"], float(row["logprob"])) for row in first)
    except (orjson.JSONDecodeError, KeyError, IndexError, TypeError, ValueError):
        error = "the reply holds no log-probabilities: this endpoint does not give them"
        return Outcome(Status.FAILED, error=error, seconds=seconds)
    except EngineFailure as failure:
        return Outcome(Status.FAILED, error=str(failure), seconds=seconds)
    return Outcome(
        Status.OK,
        Certainty(probability=probability(margin)),
        tokens_in=usage.get("prompt_tokens"),
        tokens_out=usage.get("completion_tokens"),
        seconds=seconds,
        detail={"margin": margin, "mass": mass},
    )


def _parsed(request: Request, text: str) -> tuple[Verdict | None, str | None]:
    try:
        verdict: Verdict = request.task.verdict.model_validate(orjson.loads(text))
    except orjson.JSONDecodeError:
        return None, "it is no JSON object, or was cut off"
    except ValidationError as fault:
        first = fault.errors()[0]
        return None, f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return verdict, request.task.check(request.unit, verdict)
