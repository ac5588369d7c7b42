"""``vllm:MODEL``: vLLM's engine in this process, on its GPU, without a server.

Prompts, schemas and the parsing of replies are the same as for endpoints; only the transport
differs: it calls the engine (``AsyncLLM``, the public class that vLLM's server uses too).
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson

from assay.labellers.openai import OpenAILabeller, OpenAISettings
from assay.labellers.pace import Limits
from assay.labellers.prices import Price
from assay.labellers.spec import LabellerOptions
from assay.labellers.transport import PostRequest, Reply, TransportError
from assay.model.errors import PrerequisiteError
from assay.tasks.rendering import Renderer

AT_ONCE = 512
"""Requests given to the engine at the same time; it forms its own batches."""

_WHERE = "vllm:within-this-process"
_SPEED_ONLY = frozenset(
    ("tensor_parallel_size", "pipeline_parallel_size", "gpu_memory_utilization", "max_num_seqs")
)
"""Arguments of the engine that change its speed, but not its answers."""


def vllm_settings(model: str, options: LabellerOptions) -> OpenAISettings:
    """Settings for an engine. Its price is 0 unless the settings say otherwise."""
    return OpenAISettings(
        model=model,
        base_urls=(_WHERE,),
        temperature=options.temperature,
        limits=Limits(AT_ONCE),
        timeout=options.timeout,
        price=options.prices.get(model, Price(0.0, 0.0)),
        extra=options.extra,
    )


class VllmLabeller(OpenAILabeller):
    """A model in vLLM's engine; ``engine`` holds arguments of its ``AsyncEngineArgs``. The first
    request starts the engine; it raises PrerequisiteError if vLLM is missing."""

    kind = "vllm"
    endpoint = "vllm"
    streams = False

    def __init__(
        self, settings: OpenAISettings, renderer: Renderer, *, engine: Mapping[str, Any]
    ) -> None:
        super().__init__(settings, renderer, EngineTransport(settings.model, engine))
        params = {name: value for name, value in engine.items() if name not in _SPEED_ONLY}
        if params:
            self.id = replace(self.id, params={**self.id.params, "engine": params})


class EngineTransport:
    """A transport that answers chat-completions requests with an engine."""

    def __init__(self, model: str, arguments: Mapping[str, Any]) -> None:
        self._model = model
        self._arguments = arguments
        self._engine: Any = None
        self._tokeniser: Any = None
        self._starting = asyncio.Lock()
        self._numbers = itertools.count()

    async def post(self, sent: PostRequest) -> Reply:  # not streamed
        async with self._starting:
            if self._engine is None:
                await self._start()
        engine, asked = self._engine, orjson.loads(sent.body)
        try:
            prompt = self._tokeniser.apply_chat_template(
                [one | {"content": self._as_text(one["content"])} for one in asked.pop("messages")],
                tokenize=True,
                add_generation_prompt=True,
                return_dict=False,
                **asked.pop("chat_template_kwargs", {}),
            )
            name = f"assay-{next(self._numbers)}"
            writing = engine.generate({"prompt_token_ids": prompt}, _sampling(asked), name)
            *_, last = [each async for each in writing]  # a single item: the whole reply
            return Reply(200, orjson.dumps(_completion(self._model, last)))
        except (TypeError, ValueError) as error:  # too long, or an unknown parameter
            refusal = {"error": {"message": str(error), "type": type(error).__name__}}
            return Reply(400, orjson.dumps(refusal))
        except Exception as error:
            if self._engine is engine:
                self._end()  # the next attempt starts a new one
            raise TransportError(f"the engine failed: {type(error).__name__}: {error}") from error

    async def _start(self) -> None:
        os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")  # no telemetry
        try:
            from vllm import AsyncEngineArgs  # noqa: PLC0415 (gigabytes, and a GPU)
            from vllm.v1.engine.async_llm import AsyncLLM  # noqa: PLC0415
        except ImportError as error:
            raise PrerequisiteError(
                f"vllm:{self._model} needs vLLM on the machine where it runs: pip install vllm "
                f"({error}). For a vLLM server elsewhere, use openai:MODEL@http://HOST:8000/v1."
            ) from error
        arguments = {"enable_prefix_caching": True, **self._arguments}
        self._engine = AsyncLLM.from_engine_args(AsyncEngineArgs(model=self._model, **arguments))
        tokeniser = self._engine.get_tokenizer()
        self._tokeniser = await tokeniser if inspect.isawaitable(tokeniser) else tokeniser

    def _as_text(self, text: str) -> str:
        """Insert an invisible character into spellings of the model's control tokens, with which a
        passage could end its message and answer for the model."""
        for token in self._tokeniser.get_added_vocab():
            text = text.replace(token, f"{token[:1]}\u200b{token[1:]}")
        return text

    def _end(self) -> None:
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.shutdown()

    async def close(self) -> None:
        self._end()


def _sampling(asked: dict[str, Any]) -> Any:
    """Convert the parameters of a chat completion to the engine's."""
    from vllm import SamplingParams  # noqa: PLC0415 (as above)
    from vllm.sampling_params import (  # noqa: PLC0415
        RequestOutputKind,
        StructuredOutputsParams,
    )

    form = asked.pop("response_format", None)
    asked.pop("model", None)
    structure = None
    if form is not None and form["type"] == "json_schema":
        structure = StructuredOutputsParams(json=form["json_schema"]["schema"])
    elif form is not None:
        structure = StructuredOutputsParams(json_object=True)
    return SamplingParams(
        **asked, structured_outputs=structure, output_kind=RequestOutputKind.FINAL_ONLY
    )


def _completion(model: str, output: Any) -> dict[str, Any]:
    """Convert the engine's output to a chat completion."""
    (written,) = output.outputs
    return {
        "model": model,
        "choices": [
            {
                "index": 0,
                "finish_reason": written.finish_reason,
                "message": {"role": "assistant", "content": written.text},
            }
        ],
        "usage": {
            "prompt_tokens": len(output.prompt_token_ids or ()),
            "completion_tokens": len(written.token_ids),
            "prompt_tokens_details": {"cached_tokens": output.num_cached_tokens or 0},
        },
    }
