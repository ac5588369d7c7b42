"""Language models for the baseline system: asked through the same engine and ledger as judges."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson
from pydantic import ValidationError

from assay.judging.engine import Progress, Silent, Tally, judge, plan
from assay.labellers.base import BaseLabeller, Estimate, Labeller, Outcome, Request, request_key
from assay.labellers.gguf import EngineFailure, GgufEngine
from assay.labellers.known_models import DEFAULT_MODEL
from assay.labellers.models import Progress as Fetching
from assay.labellers.models import fetch_model, find_model, known_model
from assay.labellers.prices import tokens
from assay.labellers.spec import LabellerOptions, make_labeller
from assay.ledger import Ledger
from assay.model.labels import Label, LabellerId, Status
from assay.tasks.base import Verdict, canonical
from assay.tasks.rendering import Messages, Renderer

_CONTEXT = 8192


@dataclass
class Asker:
    """Puts requests to one labeller; ``tally`` adds up what was asked. What the ledger holds is
    not asked again, so a run that was stopped goes on and nothing is paid twice."""

    ledger: Ledger
    labeller: Labeller
    progress: Progress = field(default_factory=Silent)
    budget: float | None = None
    tally: Tally = field(default_factory=Tally)

    def ask(self, title: str, requests: Sequence[Request]) -> list[Label | None]:
        """The label of each request: None where it is missing, a failed one where the model's
        reply could not be used. Raises SettingsError where the labeller cannot do the task."""
        left = None if self.budget is None else max(self.budget - self.tally.cost, 0.0)
        planned = plan(self.ledger, self.labeller, requests)
        self.tally += judge([(title, planned)], self.ledger, progress=self.progress, budget=left)
        keys = [request_key(self.labeller, request) for request in requests]
        found = self.ledger.by_key(keys)
        return [found.get(key) for key in keys]


def usable(label: Label | None) -> dict[str, Any] | None:
    """The verdict of a label that can be used."""
    if label is None or label.status is not Status.OK or label.verdict is None:
        return None
    return dict(label.verdict)


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


def _parsed(request: Request, text: str) -> tuple[Verdict | None, str | None]:
    try:
        verdict: Verdict = request.task.verdict.model_validate(orjson.loads(text))
    except orjson.JSONDecodeError:
        return None, "it is no JSON object, or was cut off"
    except ValidationError as fault:
        first = fault.errors()[0]
        return None, f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return verdict, request.task.check(request.unit, verdict)
