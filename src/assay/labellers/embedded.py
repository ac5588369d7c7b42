"""Labeller with a language model in this process, on the CPU, without network.

It answers the yes/no questions of a task's probe template. The verdict is not what the model
writes, but its margin between yes and no against a threshold fitted on human labels. The reason is
written afterwards, for that verdict.
"""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from importlib import metadata
from typing import Any

from assay.labellers.base import BaseLabeller, Estimate, Outcome, Request
from assay.labellers.gguf import EngineFailure, GgufEngine, backend
from assay.labellers.known_models import DEFAULT_MODEL, MODELS
from assay.labellers.models import DownloadProgress, ModelFile, fetch_model, find_model, known_model
from assay.labellers.prices import tokens
from assay.labellers.streams import TextCallback
from assay.labellers.thresholds import (
    fitted_thresholds,
    read_probes,
    template_hash,
    thresholds_file,
    usable_thresholds,
)
from assay.labellers.watch import text_callback
from assay.model.labels import LabellerId, Status
from assay.tasks.base import AnyTask, Verdict, YesNo, canonical, content_hash
from assay.tasks.rendering import Messages, Renderer

REASON_TOKENS = 20
_KEY_BLOCK = "_threshold"
_BLOCK = re.compile(r"\{%[-+]?\s*block\s+(\w+)")
_SENTENCE_END = re.compile(r"(?<=\w{3}[.!?])(?=\s|$)")  # not after "Dr." or an initial


class LocalModelLabeller(BaseLabeller):
    """Base class of labellers with a GGUF model; subclasses define :meth:`_label`. ``model`` is a
    known name or a path, or None for the default. At the first ``label``, a known model is
    downloaded (with ``progress``) and the model is loaded. Raises SettingsError at once if
    ``model`` is neither known nor a file. ``engine`` is for tests."""

    def __init__(
        self,
        model: str | None,
        renderer: Renderer,
        *,
        context: int,
        threads: int | None,
        progress: DownloadProgress | None,
        engine: Any = None,
    ) -> None:
        self._spec = model or DEFAULT_MODEL
        known = known_model(self._spec)
        self._file: ModelFile | None = None if known else find_model(self._spec)
        self._renderer = renderer
        self._context = context
        self._threads = threads
        self._progress = progress
        self._engine: GgufEngine | None = engine
        self._worker: ThreadPoolExecutor | None = None
        self._stopping = threading.Event()
        source = known or self._require_file()
        self._about: Mapping[str, str] = {"model": source.name, "sha256": source.sha256}

    def _require_file(self) -> ModelFile:
        if self._file is None:
            self._file = fetch_model(self._spec, self._progress)
        return self._file

    def _load(self) -> GgufEngine:
        if self._engine is None:
            backend()  # check before downloading a gigabyte
            path = self._require_file().path
            self._engine = GgufEngine(path, context=self._context, threads=self._threads)
        return self._engine

    async def label(self, request: Request) -> Outcome:
        """Answer in the worker thread. Raises PrerequisiteError if llama.cpp is missing, or the
        model cannot be downloaded."""
        if self._worker is None:
            self._worker = ThreadPoolExecutor(1, thread_name_prefix="assay-llm")
        on_text = text_callback(request)  # here, as the thread has no current task
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._worker, self._label, request, on_text)

    def _label(self, request: Request, on_text: TextCallback | None) -> Outcome:
        """Answer a request; ``on_text`` receives the model's text if somebody watches."""
        raise NotImplementedError

    async def close(self) -> None:
        if self._worker is not None:
            self._stopping.set()  # a cancelled request ends at its next question
            worker, self._worker = self._worker, None
            await asyncio.to_thread(worker.shutdown, wait=True, cancel_futures=True)
            self._stopping.clear()
        if self._engine is not None:
            self._engine.close()
            self._engine = None


FRAME_TOKENS = 20
"""Tokens of the chat format around a question (counted with Qwen2.5's)."""
FOLLOWED = 0.6
"""Assumed share of correct answers, for estimates."""


class EmbeddedLabeller(LocalModelLabeller):
    """Judges with a GGUF model in this process. ``thresholds`` (probe key such as
    ``r2c2.answer/correct`` → margin in nats) replace the fitted ones."""

    def __init__(
        self,
        model: str | None,
        renderer: Renderer,
        *,
        reasons: bool = True,
        thresholds: Mapping[str, float] | None = None,
        context: int = 4096,
        threads: int | None = None,
        progress: DownloadProgress | None = None,
        engine: Any = None,
    ) -> None:
        super().__init__(
            model, renderer, context=context, threads=threads, progress=progress, engine=engine
        )
        self._name, self._sha256 = self._about["model"], self._about["sha256"]
        self._reasons = reasons
        self._given = thresholds

    @cached_property
    def thresholds(self) -> Mapping[str, float]:
        """Probe key → margin above which the answer is yes."""
        if self._given is not None:
            return dict(sorted(self._given.items()))
        found = usable_thresholds(fitted_thresholds(self._sha256))
        if not found and self._file is not None:
            found = usable_thresholds(read_probes(thresholds_file(self._file.path), self._sha256))
        return dict(sorted(found.items()))

    @property
    def id(self) -> LabellerId:
        params = {
            **self._about,
            "engine": "llama.cpp via xllamacpp",
            "thresholds": self.thresholds,
            "reasons": self._reasons,
        }
        return LabellerId(f"embedded:{self._name}", "model", params)

    def refusal(self, task: AnyTask) -> str | None:
        if task.decide is None:
            return (
                "The embedded labeller answers yes/no questions, which cannot decide "
                f"{task.name}. Use an 'openai:' labeller or 'rules'."
            )
        source = self._renderer.probe_source(task)
        keys = [f"{task.name}/{probe}" for probe in probes_of(source)]
        chance = fitted_thresholds(self._sha256) if self._given is None else {}
        # Questions at which it is known to be at chance do not count as missing: their labels fail
        # one by one, as a unit may not need the question.
        missing = [key for key in keys if key not in self.thresholds and key not in chance]
        if missing and self._name in MODELS and not MODELS[self._name].judges:
            return (
                f"{self._name} judges no better than chance and only serves tests. Use "
                f"'embedded:{DEFAULT_MODEL}'."
            )
        if missing:
            file = self._file.path if self._file else self._name
            return (
                f"The model {self._name} has no threshold for {', '.join(missing)}, so its yes "
                "has no meaning. Fit thresholds on human labels with python "
                f"calibration/fit_embedded.py --shared FOLDER --model {file}, or use "
                f"'embedded:{DEFAULT_MODEL}'."
            )
        expected = template_hash(task.template)
        if self._given is None and expected is not None and probe_hash(source) != expected:
            return (
                f"The thresholds of {self._name} were fitted with a different wording from "
                f"{task.template}.probes.j2 in your prompts folder. Remove that file, or use an "
                "'openai:' labeller, whose prompts you can reword."
            )
        return None

    def rendered(self, request: Request) -> bytes:
        return canonical([self._renderer.probe_source(request.task), request.content])

    def preview(self, request: Request) -> Messages:
        """All questions that may be asked, as if every answer were yes."""
        asked: list[Mapping[str, str]] = []

        def ask(probe: str, /, *, reason: bool = True, **context: Any) -> YesNo:
            asked.extend(self._renderer.probe(request.task, request.unit, probe, context))
            return YesNo(True)

        if request.task.decide is not None:
            request.task.decide(request.unit, ask)
        return tuple(asked)

    def estimate(self, request: Request) -> Estimate:
        """Assumes that every question is read once for its margin and once for a reason, and that
        follow-up questions (which nuggets helped) are asked about three answers in five."""
        passes = 2 if self._reasons else 1
        contents = [message["content"] for message in self.preview(request)]
        sizes = [
            # A question is two messages.
            sum(tokens(text) for text in contents[start : start + 2]) + FRAME_TOKENS
            for start in range(0, len(contents), 2)
        ]
        questions = 1 + FOLLOWED * (len(sizes) - 1)
        read = sizes[0] + FOLLOWED * sum(sizes[1:])
        written = questions * (REASON_TOKENS if self._reasons else 1)
        return Estimate(round(questions), round(read * passes), round(written))

    def _label(self, request: Request, on_text: TextCallback | None) -> Outcome:
        asker = _Asker(self, self._load(), request)
        started = time.perf_counter()  # after loading, for which later questions do not wait
        verdict: Verdict | None = None
        error: str | None = None
        decide = request.task.decide
        if decide is None:
            error = self.refusal(request.task)
        else:
            try:
                verdict = decide(request.unit, asker)
            except EngineFailure as failure:
                error = str(failure)
        engine = f"xllamacpp {_version()}"
        return Outcome(
            status=Status.OK if error is None else Status.FAILED,
            verdict=verdict,
            error=error,
            tokens_in=asker.tokens_in,
            tokens_out=asker.tokens_out,
            cost=0.0,
            seconds=time.perf_counter() - started,
            detail={**self._about, "engine": engine, "probes": asker.probes},
        )


@dataclass(slots=True)
class _Asker:
    """Asks the model the yes/no questions of one request (an AskYesNo), and records the results and
    token counts."""

    labeller: EmbeddedLabeller
    engine: GgufEngine
    request: Request
    probes: list[dict[str, Any]] = field(default_factory=list)
    tokens_in: int = 0
    tokens_out: int = 0

    def __call__(self, probe: str, /, *, reason: bool = True, **context: Any) -> YesNo:
        labeller, task, unit = self.labeller, self.request.task, self.request.unit
        if labeller._stopping.is_set():
            raise EngineFailure("interrupted")
        messages = labeller._renderer.probe(task, unit, probe, context)
        key = f"{task.name}/{self._key(probe, context)}"
        threshold = labeller.thresholds.get(key)
        if threshold is None:
            raise EngineFailure(self._no_threshold(key))
        found = self.engine.margin(messages)
        self.tokens_in += found.tokens_in
        self.tokens_out += 1
        yes = found.margin > threshold
        row: dict[str, Any] = {
            "probe": key,
            "margin": round(found.margin, 4),
            "threshold": threshold,
            "mass": round(found.mass, 4),
        }
        if "number" in context:
            row["number"] = context["number"]
        self.probes.append(row)
        return YesNo(yes, self._reason(messages, yes) if reason and labeller._reasons else "")

    def _key(self, probe: str, context: Mapping[str, Any]) -> str:
        """The name of the probe's threshold for this unit."""
        renderer, task, block = self.labeller._renderer, self.request.task, f"{probe}{_KEY_BLOCK}"
        if block not in _BLOCK.findall(renderer.probe_source(task)):
            return probe
        return renderer.probe(task, self.request.unit, block, context)[1]["content"]

    def _no_threshold(self, key: str) -> str:
        """Why this model cannot decide the question ``key``."""
        name = self.labeller._name
        row = fitted_thresholds(self.labeller._sha256).get(key)
        if row is None:
            return f"the model {name} has no threshold for {key}"
        return (
            f"{name} is close to chance at {key} (AUC {row['auc']:.2f} on {row['n_report']} "
            "pairs labelled by people): give gold answers, cite nuggets, or use another labeller"
        )

    def _reason(self, messages: Messages, yes: bool) -> str:
        """A sentence that gives the reason for the verdict."""
        start = f"{'Yes' if yes else 'No'}, because"
        reply = self.engine.complete(messages, REASON_TOKENS, prefill=start, stop=("\n",))
        self.tokens_in += reply.tokens_in
        self.tokens_out += reply.tokens_out
        return clean_reason(reply.text)


def probes_of(source: str) -> list[str]:
    """Names of the thresholds that a probe template needs: those of its blocks. If there is a block
    ``NAME_threshold``, the names in quotation marks in it replace ``NAME``."""
    names = _BLOCK.findall(source)
    needed: list[str] = []
    for name in names:
        if name == "system" or name.endswith(_KEY_BLOCK):
            continue
        if f"{name}{_KEY_BLOCK}" in names:
            block = re.search(
                rf"block\s+{name}{_KEY_BLOCK}\s*[-+]?%\}}(.*?)\{{%[-+]?\s*endblock",
                source,
                re.DOTALL,
            )
            needed.extend(re.findall(r"[\"'](\w+)[\"']", block.group(1)) if block else [name])
        else:
            needed.append(name)
    return needed


def probe_hash(source: str) -> str:
    """Hash of a probe template's wording, regardless of white space."""
    return content_hash("\n".join(source.split()).encode())


def clean_reason(text: str) -> str:
    """The first sentence of ``text`` on one line, capitalised, without control characters."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    line = line.lstrip(" ,.:;-—")
    sentence = next((part for part in _SENTENCE_END.split(line) if len(part) > 12), line).strip()
    if not sentence:
        return ""
    if sentence[-1] not in ".!?":
        sentence = sentence.rstrip(" ,;:-—") + "…"
    return sentence[0].upper() + sentence[1:]


def _version() -> str:
    try:
        return metadata.version("xllamacpp")
    except metadata.PackageNotFoundError:
        return "unknown"
