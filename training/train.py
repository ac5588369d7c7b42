"""Train a network on a pool of pairs, on a GPU where there is one; goes on from the last checkpoint
where it was stopped.

    python training/train.py --pool FILE --start FILE --out FOLDER --pairs N [--teacher FILE.npy]
    python training/train.py --large --pool FILE --start FILE --out FOLDER --pairs N --read FILE.npy
    python training/train.py --pool FILE --start judge.pt --former judge.pt --out FOLDER --pairs N

``--large`` trains the network that teaches; ``--read`` then writes what it says of every pair of
the pool, which ``--teacher`` of the judge's training takes. ``--former`` is a judge that is trained
further and should not lose what it knows: it is asked about every pair as it is drawn, but for
those written for the judge (written.py), which are there for what it does not know. Which pairs are
drawn, the learning rate and the weights at the start depend on the seed alone; sums differ in their
last digits from machine to machine, a training that was stopped drops other values out after it
goes on, and so the weights differ a little.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from pathlib import Path

import large
import numpy as np
import torch
from encoder import CLS, LEVELS, SEP, Judge, started
from torch import Tensor, nn
from torch.nn import functional

DROPOUT = 0.1
SMOOTHING = 0.02
TAUGHT = 0.6
"""What the teacher's word counts beside people's, in the loss of a labelled pair."""
UNLABELLED = 0.25
"""Of the pairs that are drawn beside a teacher, how many nobody labelled."""
WRITTEN = 0.25
"""Of the pairs with labels that are drawn, how many were written for the judge."""
WARM = 12
"""The learning rate rises over one step of so many, and then falls in a line."""
FROZEN = ("words.weight", "places.weight", "near.weight")
EVERY = 240
"""Seconds between checkpoints."""
TOGETHER, STEP = 16, 16
"""On a processor so many pairs are read at once, filled up to a multiple of so many tokens: every
new shape is compiled."""


class Pool:
    """The pairs of a file of pool.py, on ``device``."""

    def __init__(self, path: Path, device: str) -> None:
        with np.load(path) as found:
            self.bounds = found["bounds"].astype(np.int64)
            self.weight, self.level = found["weight"].astype(np.float64), found["level"]
            parts = (self.bounds, found["first"], found["ability"], self.level)
            names = [str(name).startswith("written ") for name in found["kinds"]]
            self.is_written = np.array(names)[found["kind"]]
            self.ids = torch.from_numpy(found["ids"].astype(np.int32)).to(device)
        self.device = device
        self.length = np.diff(self.bounds) + 3
        self._bounds, self._first, self._ability, self._level = (
            torch.from_numpy(part.astype(np.int64)).to(device) for part in parts
        )

    def __len__(self) -> int:
        return len(self.length)

    def micro_batches(self, rows: np.ndarray, most: int) -> list[np.ndarray]:
        """``rows`` by length, in parts of at most ``most`` padded tokens; on a processor in
        ``TOGETHER``."""
        order = rows[np.argsort(self.length[rows], kind="stable")]
        if self.device == "cpu":
            return [order[begin : begin + TOGETHER] for begin in range(0, len(order), TOGETHER)]
        parts, begin = [], 0
        for at, row in enumerate(order):
            if at > begin and (at + 1 - begin) * self.length[row] > most:
                parts.append(order[begin:at])
                begin = at
        return [*parts, order[begin:]]

    def here(self, rows: np.ndarray) -> Tensor:
        return torch.from_numpy(rows).to(self.device, non_blocking=True)

    def batch(self, rows: np.ndarray) -> tuple[Tensor, Tensor, Tensor]:
        """Ids, kinds and mask of ``rows``, padded to the longest, rounded up to ``STEP``."""
        chosen = self.here(rows)
        begin, own = self._bounds[chosen][:, None], self._first[chosen][:, None]
        whole = self._bounds[chosen + 1][:, None] - begin
        longest = -(-int(self.length[rows].max()) // STEP) * STEP
        place = torch.arange(longest, device=self.device)[None]
        at = begin + place - 1 - (place > own).long()
        ids = self.ids[at.clamp(0, len(self.ids) - 1)].long()
        ids = torch.where(place == 0, CLS, ids)
        ids = torch.where((place == own + 1) | (place == whole + 2), SEP, ids)
        mask = (place < whole + 3).long()
        return ids * mask, (place > own + 1).long() * mask, mask

    def logits(self, network: nn.Module, rows: np.ndarray, dropout: float = 0.0) -> Tensor:
        """What ``network`` says of every row's ability, of shape (rows, levels)."""
        with torch.autocast(self.device, dtype=torch.bfloat16):
            found = network(*self.batch(rows), dropout)
        chosen = self.here(rows)
        return found[torch.arange(len(rows), device=self.device), self._ability[chosen]].float()

    def levels(self, rows: np.ndarray) -> Tensor:
        return self._level[self.here(rows)]

    def drawn(self, taught: bool, written: float) -> np.ndarray:
        """Running sums of how often each pair is drawn: of those with labels, ``written`` is the
        share of what was written for the judge, where there is any."""
        weight = self.weight.copy()
        unlabelled = self.level < 0
        if self.is_written.any():
            weight *= np.where(self.is_written, written, 1 - written)
        if taught and unlabelled.any():
            weight[~unlabelled] *= (1 - UNLABELLED) / weight[~unlabelled].sum()
            weight[unlabelled] = UNLABELLED / unlabelled.sum()
        return np.cumsum(weight / weight.sum())


class Teacher:
    """What another network says of pairs: a large one that read the whole pool (``said``, its
    logits), or a former judge, which reads them as they are drawn."""

    def __init__(self, said: Tensor | None = None, former: nn.Module | None = None) -> None:
        self._said, self._former = said, former

    @property
    def is_former(self) -> bool:
        return self._former is not None

    @torch.no_grad()
    def of(self, pool: Pool, rows: np.ndarray) -> Tensor:
        """Logits of ``rows``, of shape (rows, levels)."""
        if self._former is not None:
            return pool.logits(self._former, rows)
        assert self._said is not None
        return self._said[pool.here(rows)]


def loss_of(logits: Tensor, level: Tensor, taught: Tensor | None, alone: Tensor) -> Tensor:
    """The summed loss of pairs: of people's labels (``level`` −1 where there is none), and of what
    the teacher says of them, where there is one; not of those that count ``alone``."""
    known = level >= 0
    own = functional.cross_entropy(
        logits, level.clamp(min=0), label_smoothing=SMOOTHING, reduction="none"
    )
    if taught is None:
        return (own * known).sum()
    other = -(taught.float().softmax(-1) * logits.log_softmax(-1)).sum(-1)
    both = torch.where(known, (1 - TAUGHT) * own + TAUGHT * other, other)
    return torch.where(alone, own, both).sum()


def one_step(
    network: nn.Module,
    pool: Pool,
    rows: np.ndarray,
    taught: Teacher | None,
    options: argparse.Namespace,
) -> Tensor:
    """Gradients of the mean loss over ``rows``, and that loss."""
    total = torch.zeros((), device=pool.device)
    for part in pool.micro_batches(rows, options.micro):
        said = None if taught is None else taught.of(pool, part)
        alone = pool.here(pool.is_written[part] & (taught is not None and taught.is_former))
        logits = pool.logits(network, part, options.dropout)
        loss = loss_of(logits, pool.levels(part), said, alone) / len(rows)
        loss.backward()
        total += loss.detach()
    return total


def schedule(step: int, steps: int) -> float:
    warm = max(1, steps // WARM)
    return min((step + 1) / warm, (steps - step) / (steps - warm))


def make_optimiser(network: nn.Module) -> torch.optim.Optimizer:
    trained = [one for one in network.parameters() if one.requires_grad]
    groups = [
        {"params": [one for one in trained if one.ndim > 1], "weight_decay": 0.01},
        {"params": [one for one in trained if one.ndim <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, fused=True)


def train(
    network: nn.Module, pool: Pool, options: argparse.Namespace, taught: Teacher | None
) -> bool:
    """Whether the training came to its end; SIGTERM stops it after a step."""
    steps, checkpoint = options.pairs // options.batch, options.out / "checkpoint.pt"
    optimiser = make_optimiser(network)
    begin = 0
    if checkpoint.exists():
        state = torch.load(checkpoint, weights_only=True)
        network.load_state_dict(state["network"])
        optimiser.load_state_dict(state["optimiser"])
        begin = state["step"]
        print(f"going on from step {begin} of {steps}", flush=True)
    share = pool.drawn(taught is not None and not taught.is_former, options.written)
    chance = np.random.default_rng(options.seed)
    chance.random(begin * options.batch)  # what was drawn before
    stop: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _frame: stop.append(number))
    network.train()
    start = saved = time.monotonic()
    losses: list[Tensor] = []
    for step in range(begin, steps):
        for group in optimiser.param_groups:
            group["lr"] = options.rate * schedule(step, steps)
        rows = np.searchsorted(share, chance.random(options.batch)).clip(0, len(pool) - 1)
        losses.append(one_step(network, pool, rows, taught, options))
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        done, now = step + 1, time.monotonic()
        if done % 50 == 0 or done == steps:
            mean = float(torch.stack(losses[-50:]).mean())
            print(f"step {done}/{steps} loss {mean:.4f}, {now - start:.0f} s", flush=True)
        if now - saved > EVERY or stop:
            kept = {"network": network.state_dict(), "optimiser": optimiser.state_dict()}
            torch.save({**kept, "step": done}, checkpoint.with_suffix(".new"))
            checkpoint.with_suffix(".new").replace(checkpoint)
            saved = now
        if stop:
            print(f"stopped after step {done}", flush=True)
            return False
    network.eval()
    signal.signal(signal.SIGTERM, before)  # what follows ends at once
    return True


@torch.no_grad()
def read(network: nn.Module, pool: Pool, micro: int) -> np.ndarray:
    """The logits of every pair's ability, of shape (pairs, levels), in half precision."""
    found = torch.zeros(len(pool), LEVELS, device=pool.device, dtype=torch.float16)
    for part in pool.micro_batches(np.arange(len(pool)), 4 * micro):
        found[pool.here(part)] = pool.logits(network, part).half()
    return found.cpu().numpy()


def begun(path: Path) -> Judge:
    """The published encoder with a new head, or the judge of a training."""
    if path.suffix == ".safetensors":
        return started(path)
    judge = Judge()
    judge.load_state_dict(torch.load(path, weights_only=True))
    return judge


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--pool", type=Path, required=True, help="an .npz file of pool.py")
    parser.add_argument(
        "--start", type=Path, required=True, help="model.safetensors, or judge.pt of a training"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder of the network")
    parser.add_argument("--large", action="store_true", help="train the network that teaches")
    parser.add_argument("--pairs", type=int, required=True, help="that are drawn in all")
    parser.add_argument("--batch", type=int, default=1024, help="pairs of a step")
    parser.add_argument("--micro", type=int, default=96_000, help="padded tokens at once")
    parser.add_argument("--rate", type=float, default=3e-4, help="highest learning rate")
    parser.add_argument(
        "--written", type=float, default=WRITTEN,
        help="of the pairs with labels that are drawn, how many were written for the judge",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--teacher", type=Path, help="what the large network said, of --read")
    parser.add_argument("--former", type=Path, help="the judge.pt of a former judge")
    parser.add_argument("--dropout", type=float, default=DROPOUT)
    parser.add_argument("--threads", type=int, help="of a processor")
    parser.add_argument("--read", type=Path, help="where what the network says of the pool goes")
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if options.threads:
        torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    torch.set_float32_matmul_precision("high")
    options.out.mkdir(parents=True, exist_ok=True)
    network: nn.Module = large.started(options.start) if options.large else begun(options.start)
    for name, parameter in network.named_parameters():
        parameter.requires_grad = name not in FROZEN
    network.to(device)
    pool = Pool(options.pool, device)
    taught = None
    if options.teacher:
        said = torch.from_numpy(np.load(options.teacher)).to(device)
        if len(said) != len(pool):
            raise SystemExit(
                f"{options.teacher} is of {len(said)} pairs, and {options.pool} has {len(pool)}"
            )
        taught = Teacher(said=said)
    elif options.former:
        taught = Teacher(former=begun(options.former).eval().to(device))
    start = time.monotonic()
    if not train(network, pool, options, taught):
        return 128 + signal.SIGTERM  # there is no network yet for who would go on with it
    if options.read:
        np.save(options.read, read(network, pool, options.micro))
    torch.save(network.cpu().state_dict(), options.out / "judge.pt")
    about = {name: str(value) for name, value in vars(options).items()}
    about |= {"seconds": str(round(time.monotonic() - start)), "torch": torch.__version__}
    (options.out / "trained.json").write_text(json.dumps(about, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
