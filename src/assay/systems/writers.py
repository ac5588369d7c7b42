"""Language models that write text, in this process or behind an endpoint."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from assay.labellers.base import Estimate, Labeller, Outcome, Request
from assay.labellers.embedded import LocalModelLabeller
from assay.labellers.endpoints import RequestRefused
from assay.labellers.forms import RequestForm
from assay.labellers.gguf import EngineFailure, GgufEngine, yes_no_margin
from assay.labellers.models import DownloadProgress
from assay.labellers.openai import OpenAILabeller, OpenAISettings, Usage, reply_content
from assay.labellers.prices import tokens, tokens_read
from assay.labellers.replies import UnusableReply, verdict_in
from assay.labellers.spec import LabellerOptions, make_labeller, openai_settings
from assay.labellers.streams import TextCallback
from assay.model.errors import SettingsError
from assay.model.labels import LabellerId, Status
from assay.tasks.answering import CERTAINTY, Certainty
from assay.tasks.base import AnyTask, Verdict, canonical
from assay.tasks.rendering import Messages, Renderer

WRITER_HELP = "embedded[:MODEL or GGUF path], openai:MODEL[@BASE_URL], recorded:FILE.jsonl, "
WRITER_HELP += "MODULE:ATTRIBUTE"
"""Help on the SPECs of models that write."""

_CONTEXT = 8192


def make_certainty(spec: str, *, folder: Path, options: LabellerOptions | None = None) -> Labeller:
    """The model ``spec`` as a judge of its own answers by log-probabilities. Raises SettingsError
    if it has none."""
    kind, _, rest = spec.strip().partition(":")
    if kind == "openai" and rest:
        return EndpointCertainty(openai_settings(rest, options or LabellerOptions()))
    if kind in ("embedded", "recorded"):
        return make_writer(spec, folder=folder, options=options)
    raise SettingsError(
        f"'{spec}' gives no log-probabilities. Use 'embedded' or 'openai:', or --confidence "
        "verbalised or sampled."
    )


def make_writer(
    spec: str, *, folder: Path, options: LabellerOptions | None = None, temperature: float = 0.0
) -> Labeller:
    """The model ``spec`` for tasks that ask for text. The SPEC is that of a labeller, except that
    ``embedded[:MODEL]`` writes instead of answering yes/no questions. Raises SettingsError for a
    labeller that cannot write."""
    how = options or LabellerOptions(temperature=temperature)
    kind, _, rest = spec.strip().partition(":")
    if kind in ("rules", "human", "ensemble") or (kind == "openai" and not rest):
        raise SettingsError(f"'{spec}' is not a model that can write. Use one of: {WRITER_HELP}.")
    if kind == "embedded":
        return GgufWriter(rest or None, Renderer(), temperature=temperature, progress=how.fetching)
    return make_labeller(spec, folder=folder, renderer=Renderer(), options=how)


class GgufWriter(LocalModelLabeller):
    """A GGUF model in this process that writes verdicts as JSON, constrained to the task's schema.

    If a reply does not fit the unit, the model is told why and asked once more. With a
    ``temperature`` above 0 the sample's number is the seed, so that samples differ and can be
    reproduced.
    """

    def __init__(
        self,
        model: str | None,
        renderer: Renderer,
        *,
        temperature: float = 0.0,
        progress: DownloadProgress | None = None,
        threads: int | None = None,
    ) -> None:
        super().__init__(model, renderer, context=_CONTEXT, threads=threads, progress=progress)
        self._temperature = temperature

    @property
    def id(self) -> LabellerId:
        params = {
            **self._about,
            "engine": "llama.cpp via xllamacpp",
            "temperature": self._temperature,
        }
        return LabellerId(f"embedded-writer:{self._about['model']}", "model", params)

    @property
    def varies(self) -> bool:
        return self._temperature > 0

    def rendered(self, request: Request) -> bytes:
        return canonical([*self.preview(request), request.task.schema()])

    def preview(self, request: Request) -> Messages:
        return self._renderer.chat(request.task, request.unit)

    def estimate(self, request: Request) -> Estimate:
        read = sum(tokens(message["content"]) for message in self.preview(request))
        return Estimate(1, read, request.task.usual_tokens or request.task.max_tokens // 3)

    def _label(self, request: Request, on_text: TextCallback | None) -> Outcome:
        engine = self._load()
        started = time.perf_counter()
        task = request.task
        if task is CERTAINTY:
            return self._certainty(engine, request, started)
        messages = list(self._renderer.chat(task, request.unit))
        read = written = 0
        verdict: Verdict | None = None
        error: str | None = None
        text = ""
        for _ in range(2):
            try:
                reply = engine.complete(
                    tuple(messages),
                    task.max_tokens,
                    task.schema_of(request.unit),
                    temperature=self._temperature,
                    seed=request.sample + 1,
                    on_text=on_text,
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
        detail: dict[str, Any] = {**self._about}
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
        detail = {**self._about}
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


class EndpointCertainty(OpenAILabeller):
    """The probability that a chat-completions endpoint gives to *yes* as against *no*, from the
    log-probabilities of one token.

    Temporary faults are retried as in judging. Raises SettingsError if the endpoint returns no
    log-probabilities (nothing is recorded then), LabellerUnreachable if it does not answer.
    """

    varies = False

    def __init__(self, settings: OpenAISettings) -> None:
        super().__init__(settings, Renderer())
        self._top = TOP_LOGPROBS
        params = {"model": settings.model, "endpoint": self.endpoint, "logprobs": TOP_LOGPROBS}
        self.id = LabellerId(f"{self.kind}:{settings.model}", "model", params)

    def refusal(self, task: AnyTask) -> str | None:
        return None if task is CERTAINTY else f"This labeller only does {CERTAINTY.name}."

    def rendered(self, request: Request) -> bytes:
        return canonical(list(self.preview(request)))

    def estimate(self, request: Request) -> Estimate:
        read = tokens_read(self.preview(request))
        price = self._settings.price
        if price is None:
            return Estimate(1, read, 1, None, None)
        return Estimate(1, read, 1, price.of(read, 1), price.most(read, 1))

    async def label(self, request: Request) -> Outcome:
        started = time.perf_counter()
        messages = [dict(message) for message in self.preview(request)]
        size = sum(len(message["content"]) for message in messages) // 4
        usage = Usage()
        lost = partial(usage.lose, messages, 1)
        for top in dict.fromkeys((self._top, _FEWER_LOGPROBS)):
            try:
                make = partial(self._question, messages, top)
                reply = await self._endpoints.call(make, size, lost=lost)
            except RequestRefused as refused:
                why = str(refused)
                if "logprob" in why.casefold():
                    continue
                return self._outcome(usage, started, error=why, suspect=True)
            self._top = top
            return self._read(reply, usage, started)
        raise self._without(why)

    def _question(self, messages: list[dict[str, str]], top: int, form: RequestForm) -> bytes:
        body: dict[str, Any] = {
            "model": self._settings.model,
            "messages": messages,
            "logprobs": True,
            "top_logprobs": top,
        }
        if form.old_parameters:
            body |= {"max_tokens": 1, "temperature": 0}
        else:
            body["max_completion_tokens"] = 1
        return orjson.dumps(body | dict(self._settings.extra))

    def _read(self, reply: Mapping[str, Any], usage: Usage, started: float) -> Outcome:
        usage.add(reply, self._endpoints.redact)
        try:
            margin, mass = yes_no_margin(self._first_tokens(reply))
        except EngineFailure as failure:
            return self._outcome(usage, started, error=str(failure))
        verdict = Certainty(probability=probability(margin))
        found = self._outcome(usage, started, verdict=verdict)
        return replace(found, detail={**found.detail, "margin": margin, "mass": mass})

    def _first_tokens(self, reply: Mapping[str, Any]) -> list[tuple[str, float]]:
        """The most probable first tokens. Raises EngineFailure if the model was prevented from
        answering, SettingsError if it answered without log-probabilities."""
        choices = reply.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        try:
            top = (choice or {})["logprobs"]["content"][0]["top_logprobs"]
            found = [(str(row["token"]), float(row["logprob"])) for row in top]
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            found = []
        if found:
            return found
        text, problem = reply_content(reply, self._settings.keys.values())
        if not text:
            raise EngineFailure(problem or "the model gave an empty reply")
        raise self._without("its reply contains none")

    def _without(self, why: str) -> SettingsError:
        name = f"openai:{self._settings.model} at {self._settings.base_urls[0]}"
        return SettingsError(
            f"{name} gives no log-probabilities ({why}). Use --confidence verbalised or sampled, "
            "or a model that gives them; the answers are kept."
        )


TOP_LOGPROBS = 20
"""Log-probabilities to request for the first token: the most that endpoints return."""

_FEWER_LOGPROBS = 5  # the limit of some endpoints


def _parsed(request: Request, text: str) -> tuple[Verdict | None, str | None]:
    try:
        return verdict_in(request.task, request.unit, orjson.loads(text)), None
    except orjson.JSONDecodeError:
        return None, "it is not a JSON object, or is incomplete"
    except UnusableReply as unusable:
        return None, str(unusable)
