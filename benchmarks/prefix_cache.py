"""Prompt tokens that the embedded llama.cpp reads anew, in the engine's order and shuffled.

The requests are those of the films example: every nugget of its AC runs with the passage that it
cites, as ``plan`` orders them (equal passages one after the other), and the same in random order.
Only the yes/no question is asked. llama.cpp itself says which of a prompt's tokens it had in its
cache. The model is a small one: which tokens are cached does not depend on what it thinks of them.

Usage: prefix_cache.py MODEL.gguf [--questions N] [--seed S]
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.labellers.base import Request
from assay.labellers.gguf import GgufEngine
from assay.protocols.evaluation import Evaluation
from assay.protocols.folder import Folder
from assay.protocols.r2c2.protocol import R2C2
from assay.tasks.r2c2 import ENTAILMENT
from assay.tasks.rendering import Renderer

FILMS = Path(__file__).parents[1] / "examples" / "films"


class CountingEngine(GgufEngine):
    """The engine, which counts the prompt tokens that llama.cpp had in its cache."""

    cached = 0

    def _complete(self, *what: Any) -> Mapping[str, Any]:
        reply = super()._complete(*what)
        self.cached += reply["usage"].get("prompt_tokens_details", {}).get("cached_tokens", 0)
        return reply


def entailment_requests() -> list[Request]:
    """Every distinct nugget of the example with its passage, in the engine's order."""
    # Any labeller will do: the order is the plan's.
    folder = Folder.open(FILMS, labeller="openai:any")
    forecast = Evaluation.open(folder, R2C2, None).look_ahead(None)
    return [
        request
        for _, plan in forecast.plans
        for _, request in plan.todo
        if request.task.name == ENTAILMENT.name
    ]


def measure(model: Path, requests: Sequence[Request]) -> tuple[int, int, float]:
    """Prompt tokens in all, those that came from the cache, and seconds; the model is new."""
    renderer = Renderer()
    engine = CountingEngine(model)
    started = time.perf_counter()
    read = 0
    try:
        for request in requests:
            found = engine.margin(renderer.probe(request.task, request.unit, "entailed", {}))
            read += found.tokens_in
    finally:
        engine.close()
    return read, engine.cached, time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("model", type=Path)
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    ordered = entailment_requests()
    asked = ordered[: options.questions]
    shuffled = random.Random(options.seed).sample(asked, len(asked))
    shared = len({str(request.content["passage"]) for request in asked})
    print(f"{len(asked)} of {len(ordered)} questions about {shared} passages, {options.model.name}")
    for name, requests in (("engine's order", asked), ("shuffled", shuffled)):
        read, cached, seconds = measure(options.model, requests)
        print(
            f"{name:15} {read:7,} prompt tokens, {cached:7,} cached ({cached / read:.0%}), "
            f"{read - cached:7,} read anew, {seconds:.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
