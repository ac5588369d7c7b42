"""What of vLLM's public interface a labeller uses, with an engine that computes nothing."""

from __future__ import annotations

from typing import Any

from vllm.sampling_params import SamplingParams

__all__ = ["AsyncEngineArgs", "SamplingParams"]


class AsyncEngineArgs:
    def __init__(self, model: str, *, enable_prefix_caching: bool | None = None, **more: Any):
        unknown = set(more) - {"tensor_parallel_size", "max_model_len", "dtype"}
        if unknown:
            raise TypeError(f"unexpected arguments {sorted(unknown)}")
        self.model = model
        self.enable_prefix_caching = enable_prefix_caching
        self.max_model_len = more.get("max_model_len", 100_000)
