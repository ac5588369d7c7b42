"""The in-process language model: llama.cpp through xllamacpp, with any GGUF file.

What a chat template puts around the messages becomes control tokens; what the messages hold
never does: a text that spells a control token (``<|im_end|>``) is cut inside that spelling and its
halves are tokenised apart, so that the model reads the letters.
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
"""How many log-probabilities of the first reply token are looked at."""

MIN_MASS = 0.01
"""Where yes and no together are less probable than this, the reply is neither."""


class EngineFailure(Exception):
    """The model cannot answer this prompt usably; the message says why."""


@dataclass(frozen=True, slots=True)
class Margin:
    """``margin`` is log P(yes) − log P(no) of the first reply token, in nats; ``mass`` is
    P(yes) + P(no); ``tokens_in`` counts the prompt."""

    margin: float
    mass: float
    tokens_in: int


@dataclass(frozen=True, slots=True)
class Completion:
    """Text that the model wrote, and the tokens it read and wrote."""

    text: str
    tokens_in: int
    tokens_out: int


def yes_no_margin(top: Iterable[tuple[str, float]]) -> tuple[float, float]:
    """Margin and mass from the most probable first tokens, as (text, natural log-probability).

    All spellings of a word count together: ``yes``, ``Yes``, ``YES``, `` Yes`` … A word that is
    not among them is taken to be as probable as the least of them, its upper bound. Raises
    EngineFailure where the two have less than MIN_MASS in all.
    """
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
    """Turns messages into what the engine takes: token numbers for control tokens of the chat
    template and strings, free of control tokens, for everything else."""

    def __init__(self, header: GgufHeader, source: str = "the model file") -> None:
        if not header.chat_template:
            raise SettingsError(f"{source} holds no chat template: use an instruction-tuned model.")
        self.header = header
        try:
            # Only read here, which runs nothing of it; what renders it is a process of its own.
            ImmutableSandboxedEnvironment().parse(header.chat_template)
        except (TemplateError, RecursionError) as error:
            raise SettingsError(f"The chat template of {source} cannot be read: {error}") from error
        self._what = f"The chat template of {source}"
        self._render = ConfinedFunction("assay.labellers.chat_template:render_chat")
        # The longest first: a token may begin with another.
        self._special = sorted(header.special, key=len, reverse=True)
        self._frames: dict[tuple[str, ...], list[int | list[int | str]]] = {}

    def __call__(self, messages: Messages, prefill: str = "") -> list[int | str]:
        """The prompt of ``messages``, followed by the beginning of a reply, ``prefill``."""
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
        """What the template writes around the messages: their positions between its pieces."""
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
        """Split the template's own text into control tokens and strings."""
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
        """Cut ``text`` so that no piece holds the spelling of a special token."""
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
    """A loaded model. One prompt at a time; not for use from several threads at once."""

    def __init__(self, path: Path, *, context: int = 4096, threads: int | None = None) -> None:
        """Load the model at ``path`` with room for ``context`` tokens.

        Raises PrerequisiteError where xllamacpp is missing, and SettingsError where the file is
        no model that it can load.
        """
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
                f"The model {path} cannot be loaded by llama.cpp ({error}). Check that the file is "
                "whole, and that there is memory for it."
            ) from error

    def close(self) -> None:
        """Free the model. Safe to call twice."""
        self._server = None
        self._folder.close()

    def margin(self, messages: Messages) -> Margin:
        """How far the model leans to yes. Raises EngineFailure where it cannot be said."""
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
        heard: TextCallback | None = None,
    ) -> Completion:
        """Let the model write on after ``prefill``: the most probable token each time, or one drawn
        with ``seed`` where ``temperature`` is above 0.

        With ``schema`` the text is JSON of that shape. ``text`` does not repeat ``prefill``.
        ``heard`` is told of it while it is written.
        Raises EngineFailure where the prompt is too long.
        """
        extra: dict[str, Any] = {"stop": list(stop), "temperature": temperature, "seed": seed}
        if schema is not None:
            # Without this a small model may write blanks until the tokens run out.
            extra["json_schema"] = {**schema, "x-guidance": {"whitespace_flexible": False}}
        reply = self._complete(self._prompter(messages, prefill), max_tokens, extra, heard)
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
        heard: TextCallback | None = None,
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
            if heard is None
            else _in_pieces(self._server, body, heard)
        )
        fault = reply.get("error")
        if fault:
            if isinstance(fault, dict) and fault.get("type") == "exceed_context_size_error":
                raise EngineFailure(
                    f"the prompt has {fault.get('n_prompt_tokens')} tokens and the model's context "
                    f"is {self.context}: nothing is cut off in silence"
                )
            why = fault.get("message") if isinstance(fault, dict) else fault
            raise EngineFailure(f"llama.cpp refused the prompt: {why}")
        return reply


def _in_pieces(server: Any, body: Mapping[str, Any], heard: TextCallback) -> Mapping[str, Any]:
    """A completion as it would have come in one piece, told of while it is written."""
    text = ""
    last: Mapping[str, Any] = {}

    def more(piece: Mapping[str, Any]) -> bool:
        nonlocal text, last
        last = piece
        if not piece.get("error"):
            text += str(piece["choices"][0]["text"])
            heard(text)
        return False  # go on

    server.handle_completions({**body, "stream": True}, more)
    return last if last.get("error") else {**last, "choices": [{"text": text}]}


def usable_cores() -> int:
    """CPU cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def backend() -> Any:
    """The module of llama.cpp. Raises PrerequisiteError where it is missing."""
    return import_extra("xllamacpp", "Embedded language models need llama.cpp", "language-models")


def _parameters(llama: Any, path: Path, context: int, threads: int, folder: Path) -> Any:
    """Settings of the in-process server: silent, one slot, and closed to everyone else.

    xllamacpp opens a socket beside the in-process calls that are used here. It is a Unix socket
    in a folder that only this user can enter, or, where there are none, a loopback port with a
    random key.
    """
    parameters = llama.CommonParams()
    parameters.model.path = str(path)
    parameters.n_ctx = context
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = threads
    parameters.cpuparams_batch.n_threads = threads
    # Waiting threads sleep: spinning ones slow down everything where cores are shared.
    parameters.cpuparams.poll = 0
    parameters.cpuparams_batch.poll = 0
    # No copies of earlier prompts: the slot's own prefix is what is used, and copying costs more
    # (measured: 1.26 s a question with them, .92 s without), beside up to 8 GB of memory.
    parameters.cache_ram_mib = 0
    parameters.verbosity = -1
    parameters.use_jinja = False
    parameters.ui = False
    parameters.endpoint_slots = False
    parameters.api_keys = [os.urandom(24).hex()]
    if os.name == "posix":
        parameters.hostnames = [str(folder / "s.sock")]
    return parameters
