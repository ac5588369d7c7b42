"""Train the judge on the CPU; goes on from the last checkpoint where it was stopped.

    python training/train.py --data FILE --start FILE --out FOLDER --steps N --cool N

The order of pairs, the learning rate and the weights at the start depend on the seed alone. Another
number of threads changes the last digits of sums, and so the weights a little.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
import torch
from encoder import Judge, batch, shipped, started
from torch.nn import functional

STEP = 48
"""Pairs a step."""
MICRO = 2304
"""Padded tokens at most that go through the network at once."""


class Data:
    """The pairs of ``train.npz``."""

    def __init__(self, path: Path) -> None:
        with np.load(path) as found:
            self.ids, self.bounds = found["ids"], found["bounds"]
            self.first, self.ability, self.level = found["first"], found["ability"], found["level"]

    def __len__(self) -> int:
        return len(self.first)

    def pair(self, row: int) -> tuple[list[int], list[int]]:
        whole = self.ids[self.bounds[row] : self.bounds[row + 1]].tolist()
        return whole[: self.first[row]], whole[self.first[row] :]

    def micro_batches(self, rows: np.ndarray) -> list[np.ndarray]:
        """``rows`` by length, in parts of at most ``MICRO`` padded tokens."""
        lengths = self.bounds[rows + 1] - self.bounds[rows] + 3
        order = rows[np.argsort(lengths, kind="stable")]
        parts: list[list[int]] = [[]]
        for row in order:
            length = self.bounds[row + 1] - self.bounds[row] + 3
            if parts[-1] and (len(parts[-1]) + 1) * length > MICRO:
                parts.append([])
            parts[-1].append(row)
        return [np.array(part) for part in parts]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="an .npz file of prepare.py")
    parser.add_argument(
        "--start",
        type=Path,
        required=True,
        help="model.safetensors, judge.pt of a training, or an exported judge.onnx",
    )
    parser.add_argument("--out", type=Path, required=True, help="folder of checkpoints")
    parser.add_argument("--steps", type=int, required=True, help=f"steps of {STEP} pairs in all")
    parser.add_argument(
        "--cool", type=int, required=True, help="step at which the rate starts to fall"
    )
    parser.add_argument("--warm", type=int, default=90, help="steps over which the rate rises")
    parser.add_argument("--rate", type=float, default=8e-5, help="highest learning rate")
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--every", type=float, default=240, help="seconds between checkpoints")
    parser.add_argument("--stop-after", type=int, help="steps, to measure the speed")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    options.out.mkdir(parents=True, exist_ok=True)
    steps = options.steps
    data = Data(options.data)
    order = shuffled(len(data), steps * STEP, options.seed)
    judge = begun(options.start)
    for table in (judge.words, judge.places):
        table.weight.requires_grad = False  # saves a tenth of the time, and 36 MB of optimiser
    optimiser = make_optimiser(judge, options.rate)
    checkpoint = options.out / "checkpoint.pt"
    done, spent = 0, 0.0
    if checkpoint.exists():
        state = torch.load(checkpoint, weights_only=True)
        judge.load_state_dict(state["judge"])
        optimiser.load_state_dict(state["optimiser"])
        done, spent = state["step"], state["seconds"]
        print(f"going on from step {done} of {steps}", flush=True)
    start = saved = told = time.monotonic()
    losses: list[float] = []
    tokens = 0
    stop: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: stop.append(number))
    for step in range(done, min(steps, options.stop_after or steps)):
        for group in optimiser.param_groups:
            group["lr"] = options.rate * schedule(step, options.warm, options.cool, steps)
        rows = order[step * STEP : (step + 1) * STEP]
        loss, count = one_step(judge, data, rows)
        torch.nn.utils.clip_grad_norm_(judge.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        losses.append(loss)
        tokens += count
        now = time.monotonic()
        if now - told > 20 or step + 1 == steps:
            pace = tokens / (now - start)
            left = (steps - step - 1) * (now - start) / (step + 1 - done) / 60
            print(
                f"step {step + 1}/{steps} loss {np.mean(losses[-50:]):.4f} {pace:.0f} tokens/s, "
                f"{left:.0f} min left",
                flush=True,
            )
            told = now
        if now - saved > options.every or step + 1 == steps or stop:
            save(checkpoint, judge, optimiser, step + 1, spent + now - start)
            saved = now
        if stop:
            print(f"stopped after step {step + 1}", flush=True)
            return 128 + stop[0]  # there is no judge yet for who would go on with it
    if not options.stop_after:
        torch.save(judge.state_dict(), options.out / "judge.pt")
        about = {
            "seed": options.seed, "rate": options.rate, "steps": steps, "cool": options.cool,
            "pairs": steps * STEP, "seconds": round(spent + time.monotonic() - start),
            "torch": torch.__version__,
        }  # fmt: skip
        (options.out / "trained.json").write_text(json.dumps(about, indent=1))
    return 0


def shuffled(size: int, count: int, seed: int) -> np.ndarray:
    """At least ``count`` of ``size`` rows, each pass in an order of its own."""
    passes = range(math.ceil(count / size))
    return np.concatenate(
        [np.random.default_rng([seed, number]).permutation(size) for number in passes]
    )


def make_optimiser(judge: Judge, rate: float) -> torch.optim.Optimizer:
    trained = [(n, p) for n, p in judge.named_parameters() if p.requires_grad]
    decay = [p for n, p in trained if p.ndim > 1]
    plain = [p for n, p in trained if p.ndim <= 1]
    groups = [{"params": decay, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=rate, fused=True)


def begun(path: Path) -> Judge:
    """The published encoder with a new head, or the judge of a training or of a package."""
    if path.suffix == ".safetensors":
        return started(path)
    if path.suffix == ".onnx":
        return shipped(path)
    judge = Judge()
    judge.load_state_dict(torch.load(path, weights_only=True))
    return judge


def schedule(step: int, warm: int, cool: int, steps: int) -> float:
    """Up over the first ``warm`` steps, level until ``cool``, then down to 0 at ``steps``. As
    nothing before ``cool`` depends on the end, a training can be made longer or shorter while it
    runs, and repeated from the start all the same."""
    return min((step + 1) / warm, 1.0, (steps - step) / (steps - cool))


def one_step(judge: Judge, data: Data, rows: np.ndarray) -> tuple[float, int]:
    """Gradients of the mean loss over ``rows``; the loss and the tokens read."""
    total, tokens = 0.0, 0
    for part in data.micro_batches(rows):
        ids, kinds, mask = batch([data.pair(row) for row in part])
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = judge(ids, kinds, mask)
        chosen = logits[torch.arange(len(part)), torch.from_numpy(data.ability[part])].float()
        level = torch.from_numpy(data.level[part])
        loss = functional.cross_entropy(chosen, level, label_smoothing=0.02, reduction="sum")
        (loss / len(rows)).backward()
        total += float(loss.detach())
        tokens += int(mask.sum())
    return total / len(rows), tokens


def save(
    path: Path, judge: Judge, optimiser: torch.optim.Optimizer, step: int, seconds: float
) -> None:
    fresh = path.with_suffix(".new")
    state = {
        "judge": judge.state_dict(), "optimiser": optimiser.state_dict(), "step": step,
        "seconds": seconds,
    }  # fmt: skip
    torch.save(state, fresh)
    fresh.replace(path)


if __name__ == "__main__":
    sys.exit(main())
