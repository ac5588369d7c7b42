"""An engine that says YES to every prompt of an even length, dies once, and tells what it did."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from vllm import AsyncEngineArgs, SamplingParams
from vllm.sampling_params import RequestOutputKind

END = "<|im_end|>"


def tell(**what: Any) -> None:
    with Path(os.environ["ENGINE_LOG"]).open("a") as file:
        file.write(json.dumps(what) + "\n")


class Tokeniser:
    def get_added_vocab(self) -> dict[str, int]:
        return {END: 0}

    def apply_chat_template(
        self, messages: list[dict[str, str]], *, tokenize: bool, add_generation_prompt: bool,
        return_dict: bool,
    ) -> list[int]:  # fmt: skip
        assert tokenize
        assert add_generation_prompt
        assert not return_dict
        assert not any(END in message["content"] for message in messages)
        return [ord(each) for message in messages for each in message["content"]]


class EngineDeadError(Exception):
    pass


class AsyncLLM:
    def __init__(self, arguments: AsyncEngineArgs) -> None:
        self.arguments = arguments
        self.loop = asyncio.get_running_loop()
        self.dead = False
        self.ids: set[str] = set()
        silent = os.environ.get("VLLM_NO_USAGE_STATS") == "1"
        tell(started=arguments.model, prefixes=arguments.enable_prefix_caching, silent=silent)

    @classmethod
    def from_engine_args(cls, engine_args: AsyncEngineArgs) -> AsyncLLM:
        return cls(engine_args)

    async def get_tokenizer(self) -> Tokeniser:
        return Tokeniser()

    async def generate(
        self, prompt: dict[str, Any], sampling_params: SamplingParams, request_id: str
    ) -> AsyncIterator[SimpleNamespace]:
        assert asyncio.get_running_loop() is self.loop
        assert request_id not in self.ids
        self.ids.add(request_id)
        assert sampling_params.output_kind is RequestOutputKind.FINAL_ONLY
        ids = prompt["prompt_token_ids"]
        if len(ids) > self.arguments.max_model_len:
            raise ValueError(f"the prompt has {len(ids)} tokens: longer than the context length")
        dies = Path(os.environ["ENGINE_LOG"]).with_name("dies")
        if dies.exists():
            dies.unlink()
            self.dead = True
        if self.dead:
            raise EngineDeadError("the engine core is dead")
        held = sampling_params.structured_outputs
        assert held is not None
        assert held.json is not None
        fields = held.json["properties"]
        even = len(ids) % 2 == 0
        said: dict[str, Any] = {"reason": "so it is"} if "reason" in fields else {}
        if "entailed" in fields:
            said["entailed"] = "YES" if even else "NO"
        else:
            said |= {"correct": "NO", "nuggets": {}}
            said["nuggets"] = {
                name: {"reason": "", "helped": "NO"} for name in fields["nuggets"]["properties"]
            }
        tell(tokens=len(ids), temperature=sampling_params.temperature)
        text = json.dumps(said)
        written = SimpleNamespace(text=text, token_ids=[*range(9)], finish_reason="stop")
        yield SimpleNamespace(
            outputs=[written], prompt_token_ids=ids, num_cached_tokens=len(ids) // 2
        )

    def shutdown(self) -> None:
        tell(ended=True)
