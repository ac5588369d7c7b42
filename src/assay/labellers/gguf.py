"""A language model in this process: llama.cpp through xllamacpp, with any GGUF file.

Control tokens come only from the chat template, never from the messages. A text that spells a
control token (``<|im_end|>``) is cut within it, and the two halves are tokenised separately, so
that the model reads the letters.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2.exceptions import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from assay.labellers.gguf_header import GgufHeader, read_header
from assay.labellers.streams import TextCallback
from assay.model.confined import ConfinedFunction, FunctionError
from assay.model.errors import SettingsError
from assay.model.extras import import_extra
from assay.model.locking import TemporaryFolder
from assay.tasks.rendering import Messages

TOP = 100
"""Number of log-probabilities of the first reply token that are requested."""

MIN_MASS = 0.01
"""If yes and no together are less probable than this, the reply is neither."""


class EngineFailure(Exception):
    """The model cannot give a usable answer to this prompt; the message says why."""


@dataclass(frozen=True, slots=True)
class Margin:
    """``margin`` is log P(yes) − log P(no) of the first reply token, in nats; ``mass`` is
    P(yes) + P(no); ``tokens_in`` counts the prompt."""

    margin: float
    mass: float
    tokens_in: int


@dataclass(frozen=True, slots=True)
class Completion:
    """Text that the model wrote, and its token counts."""

    text: str
    tokens_in: int
    tokens_out: int


def yes_no_margin(top: Iterable[tuple[str, float]]) -> tuple[float, float]:
    """Margin and mass from the most probable first tokens, as (text, natural log-probability). All
    spellings of a word count: ``yes``, ``Yes``, ``YES``, `` Yes`` … A word that is not among the
    tokens gets the probability of the least probable one, its upper bound. Raises EngineFailure if
    the two words together have less than MIN_MASS."""
    words: dict[str, list[float]] = {"yes": [], "no": []}
    floor = 0.0
    for text, logprob in top:
        floor = min(floor, logprob)
        spelling = text.strip().casefold()
        if spelling in words:
            words[spelling].append(logprob)
    mass = sum(math.exp(value) for values in words.values() for value in values)
    if mass < MIN_MASS:
        raise EngineFailure(
            f"the model answered neither yes nor no (together they have probability {mass:.2g})"
        )
    yes, no = (_logsumexp(words[word] or [floor]) for word in ("yes", "no"))
    return yes - no, mass


def _logsumexp(values: Sequence[float]) -> float:
    high = max(values)
    return high + math.log(sum(math.exp(value - high) for value in values))


class Prompter:
    """Turns messages into the engine's input: numbers for the chat template's control tokens, and
    strings without control tokens for everything else."""

    def __init__(self, header: GgufHeader, source: str = "the model file") -> None:
        if not header.chat_template:
            raise SettingsError(f"{source} holds no chat template: use an instruction-tuned model.")
        self.header = header
        try:
            # Only parsed here, which executes nothing; a confined process renders it.
            ImmutableSandboxedEnvironment().parse(header.chat_template)
        except (TemplateError, RecursionError) as error:
            raise SettingsError(f"The chat template of {source} cannot be read: {error}") from error
        self._what = f"The chat template of {source}"
        self._render = ConfinedFunction("assay.labellers.chat_template:render_chat")
        # Longest first, as a token may begin with another one.
        self._special = sorted(header.special, key=len, reverse=True)
        self._frames: dict[tuple[str, ...], list[int | list[int | str]]] = {}

    def __call__(self, messages: Messages, prefill: str = "") -> list[int | str]:
        """The prompt for ``messages``, followed by ``prefill``, the beginning of the reply."""
        texts = [message["content"] for message in messages]
        try:
            frame = self._frame(tuple(message["role"] for message in messages))
        except (FunctionError, ValueError) as error:
            raise EngineFailure(f"the model's chat template fails: {error}") from error
        pieces: list[int | str] = []
        for part in frame:
            pieces.extend(self._plain(texts[part]) if isinstance(part, int) else part)
        pieces.extend(self._plain(prefill))
        return pieces

    def _frame(self, roles: tuple[str, ...]) -> list[int | list[int | str]]:
        """The template's own pieces, with the indexes of the messages between them."""
        if roles in self._frames:
            return self._frames[roles]
        marks = [f"\x02{number}\x03" for number in range(len(roles))]
        rendered: str = self._render(
            self._what, self.header.chat_template, roles, marks, self.header.bos, self.header.eos
        )
        if self.header.add_bos and self.header.bos and not rendered.startswith(self.header.bos):
            rendered = self.header.bos + rendered
        frame: list[int | list[int | str]] = []
        rest = rendered
        for number, mark in enumerate(marks):
            before, found, rest = rest.partition(mark)
            if not found:
                raise ValueError(f"it leaves out or moves the message of role {roles[number]!r}")
            frame.extend((list(self._controls(before)), number))
        frame.append(list(self._controls(rest)))
        self._frames[roles] = frame
        return frame

    def _controls(self, text: str) -> Iterator[int | str]:
        """Split the template's text into control tokens and strings."""
        start = 0
        position = 0
        while position < len(text):
            token = next((t for t in self._special if text.startswith(t, position)), None)
            if token is None:
                position += 1
                continue
            if position > start:
                yield text[start:position]
            yield self.header.special[token]
            position += len(token)
            start = position
        if start < len(text):
            yield text[start:]

    def _plain(self, text: str) -> list[int | str]:
        """Cut ``text`` so that no piece contains the spelling of a special token."""
        pieces = [text]
        for token in self._special:
            if token not in text:
                continue
            cut: list[str] = []
            for piece in pieces:
                while (at := piece.find(token)) >= 0:
                    cut.append(piece[: at + 1])
                    piece = piece[at + 1 :]
                cut.append(piece)
            pieces = cut
        return [piece for piece in pieces if piece]


class GgufEngine:
    """A loaded model. It takes one prompt at a time and is not thread-safe."""

    def __init__(self, path: Path, *, context: int = 4096, threads: int | None = None) -> None:
        """Load the model at ``path`` with a context of ``context`` tokens. Raises PrerequisiteError
        if xllamacpp is missing, and SettingsError if it cannot load the file."""
        llama = backend()
        self.context = context
        self._prompter = Prompter(read_header(path), str(path))
        self._folder = TemporaryFolder("llm")
        try:
            self._server = llama.Server(
                _parameters(llama, path, context, threads or usable_cores(), self._folder.path)
            )
        except Exception as error:
            self.close()
            raise SettingsError(
                f"llama.cpp cannot load the model {path} ({error}). Check that the file is "
                "complete, and that there is enough memory for it."
            ) from error

    def close(self) -> None:
        """Free the model. Safe to call twice."""
        self._server = None
        self._folder.close()

    def margin(self, messages: Messages) -> Margin:
        """The margin between yes and no. Raises EngineFailure if there is none."""
        reply = self._complete(self._prompter(messages), 1, {"n_probs": TOP})
        try:
            first = reply["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
        except (KeyError, IndexError, TypeError):
            raise EngineFailure("the model gave an empty reply") from None
        margin, mass = yes_no_margin((item["token"], float(item["logprob"])) for item in first)
        return Margin(margin, mass, int(reply["usage"]["prompt_tokens"]))

    def complete(
        self,
        messages: Messages,
        max_tokens: int,
        schema: Mapping[str, Any] | None = None,
        prefill: str = "",
        stop: Sequence[str] = (),
        *,
        temperature: float = 0.0,
        seed: int = 1,
        on_text: TextCallback | None = None,
    ) -> Completion:
        """Continue after ``prefill``, greedily or, if ``temperature`` is above 0, sampling with
        ``seed``.

        With ``schema``, the text is JSON that follows it. The result does not repeat ``prefill``.
        ``on_text`` receives the text while it is written. Raises EngineFailure if the prompt is too
        long.
        """
        extra: dict[str, Any] = {"stop": list(stop), "temperature": temperature, "seed": seed}
        if schema is not None:
            # Otherwise a small model may write white space until the limit.
            extra["json_schema"] = {**schema, "x-guidance": {"whitespace_flexible": False}}
        reply = self._complete(self._prompter(messages, prefill), max_tokens, extra, on_text)
        usage = reply["usage"]
        return Completion(
            str(reply["choices"][0]["text"]),
            int(usage["prompt_tokens"]),
            int(usage["completion_tokens"]),
        )

    def _complete(
        self,
        prompt: list[int | str],
        max_tokens: int,
        extra: Mapping[str, Any],
        on_text: TextCallback | None = None,
    ) -> Mapping[str, Any]:
        if self._server is None:
            raise EngineFailure("the model has been closed")
        body = {
            "prompt": prompt,
            "n_predict": max_tokens,
            "temperature": 0,
            "cache_prompt": True,
            "seed": 1,
            **extra,
        }
        reply: Mapping[str, Any] = (
            self._server.handle_completions(body)
            if on_text is None
            else _in_pieces(self._server, body, on_text)
        )
        fault = reply.get("error")
        if fault:
            if isinstance(fault, dict) and fault.get("type") == "exceed_context_size_error":
                raise EngineFailure(
                    f"the prompt has {fault.get('n_prompt_tokens')} tokens, but the model's "
                    f"context is {self.context}; Assay does not cut prompts"
                )
            why = fault.get("message") if isinstance(fault, dict) else fault
            raise EngineFailure(f"llama.cpp refused the prompt: {why}")
        return reply


def _in_pieces(server: Any, body: Mapping[str, Any], on_text: TextCallback) -> Mapping[str, Any]:
    """Stream a completion to ``on_text``, and return it as if it had not been streamed."""
    text = ""
    last: Mapping[str, Any] = {}

    def more(piece: Mapping[str, Any]) -> bool:
        nonlocal text, last
        last = piece
        if not piece.get("error"):
            text += str(piece["choices"][0]["text"])
            on_text(text)
        return False  # continue

    server.handle_completions({**body, "stream": True}, more)
    return last if last.get("error") else {**last, "choices": [{"text": text}]}


def usable_cores() -> int:
    """CPU cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def backend() -> Any:
    """The module of llama.cpp. Raises PrerequisiteError if it is missing."""
    return import_extra("xllamacpp", "Embedded language models need llama.cpp", "language-models")


def _parameters(llama: Any, path: Path, context: int, threads: int, folder: Path) -> Any:
    """Settings of the in-process server: silent, one slot, and closed to everyone else. xllamacpp
    also opens a socket, which is not used here: a Unix socket in a folder that only this user can
    enter, or on systems without these, a loopback port with a random key."""
    parameters = llama.CommonParams()
    parameters.model.path = str(path)
    parameters.n_ctx = context
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = threads
    parameters.cpuparams_batch.n_threads = threads
    # Waiting threads sleep; busy waiting slows everything down on shared cores.
    parameters.cpuparams.poll = 0
    parameters.cpuparams_batch.poll = 0
    # No copies of earlier prompts: the prefix in the slot suffices, and copying is slower
    # (measured: 1.26 s per question with copies, .92 s without) and takes up to 8 GB of memory.
    parameters.cache_ram_mib = 0
    parameters.verbosity = -1
    parameters.use_jinja = False
    parameters.ui = False
    parameters.endpoint_slots = False
    parameters.api_keys = [os.urandom(24).hex()]
    if os.name == "posix":
        parameters.hostnames = [str(folder / "s.sock")]
    return parameters
