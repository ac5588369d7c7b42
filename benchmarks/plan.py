"""What designs of draws settle: labels needed until so many pairs of runs have their order.

Run: ``python benchmarks/plan.py SHARED [--repeat 30]``. P@10 of 24 runs over the passages of
LLMJudge (SHARED/data/llmjudge: labels by people, a real judge's grades). For each design the share
of the pairs that truly differ whose order is settled, by the number of labels, and the labels that
settle half, 70 % and 90 % of them; and how often a settled order is wrong anywhere on the
leaderboard, which may be in 5 % of the draws. Two and three batches are drawn each for the pairs
that are still open; all are looked at once, at the end. ``plan_looks.py`` looks after each batch.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.statistics.trust_data import GOOD, Passages, passages

from assay.api.by_items import batch_weights
from assay.measures.confidence import Floats
from assay.statistics import corrected
from assay.statistics.corrected import Estimates

SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
TARGETS = (0.5, 0.7, 0.9)
ALPHA = 0.05


class Seen(NamedTuple):
    """Of the pairs that truly differ the share that is settled, and whether one wrongly so."""

    settled: float
    wrong: bool


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shared", type=Path)
    parser.add_argument("--repeat", type=int, default=30)
    parser.add_argument("--runs", type=int, default=24, help="every so many-th of the 24 runs")
    options = parser.parse_args()
    data = passages(options.shared)
    data = _of_runs(data, np.linspace(0, len(data.weights) - 1, options.runs).round().astype(int))
    items = data.weights.shape[1]
    print(
        f"{len(data.weights)} runs, {items:,} passages, judge {GOOD}, {options.repeat} repetitions"
    )
    designs: dict[str, Callable[[Passages, int], list[Seen]]] = {
        "people only, uniform": lambda data, seed: _at_once(data, "uniform", seed, judge=False),
        "uniform": lambda data, seed: _at_once(data, "uniform", seed),
        "leverage": lambda data, seed: _at_once(data, "leverage", seed),
        "pairs": lambda data, seed: _at_once(data, "pairs", seed),
        "two batches": lambda data, seed: _in_batches(data, (0.4, 0.6), seed),
        "three batches": lambda data, seed: _in_batches(data, (0.3, 0.3, 0.4), seed),
    }
    print("settled at     " + "".join(f"{round(share * items):>7,}" for share in SHARES)
          + "".join(f"{target:>9.0%}" for target in TARGETS) + "  wrong")  # fmt: skip
    for name, simulate in designs.items():
        rows = [simulate(data, seed) for seed in range(options.repeat)]
        means = np.mean([[one.settled for one in row] for row in rows], axis=0)
        wrong = np.mean([one.wrong for row in rows for one in row])
        needed = [_needed(means, target) * items for target in TARGETS]
        print(f"{name:<15.15}" + "".join(f"{value:>7.2f}" for value in means)
              + "".join(f"{'–' if np.isnan(one) else f'{one:,.0f}':>9}" for one in needed)
              + f"{wrong:>7.1%}", flush=True)  # fmt: skip


def _of_runs(data: Passages, runs: np.ndarray) -> Passages:
    """The same with some of the runs, ordered by their scores before, and their passages alone."""
    order = np.argsort(data.weights @ data.labels)[runs]
    used = data.weights[order].any(axis=0)
    return data._replace(
        weights=data.weights[order][:, used], labels=data.labels[used], topic=data.topic[used],
        grades={name: values[used] for name, values in data.grades.items()},
    )  # fmt: skip


def _needed(means: Floats, target: float) -> float:
    """The share of labels at which so many pairs are settled, between those that were tried."""
    if means[-1] < target:
        return float("nan")
    return float(np.interp(target, np.concatenate([[0.0], means]), [0.0, *SHARES]))


def _seen(data: Passages, found: Estimates, level: float) -> Seen:
    truth = data.weights @ data.labels
    first, second = np.triu_indices(len(truth), 1)
    differ = np.abs(truth[first] - truth[second]) > 1e-9
    decided = corrected.rank_sets(found, level=level, draws=2000).decided
    settled = (decided | decided.T)[first, second]
    said = np.sign(found.value[first] - found.value[second])
    wrong = settled & (said != np.sign(truth[first] - truth[second]))
    return Seen(float(settled[differ].mean()), bool(wrong[differ].any()))


def _estimate(
    data: Passages, weights: Floats, pi: Floats, drawn: np.ndarray, offset: Floats, *, judge: bool
) -> Estimates:
    grades = data.grades[GOOD] if judge else np.zeros(len(pi))
    people = np.where(drawn, data.labels, np.nan)
    return corrected.items(weights, people, grades, pi, drawn, data.topic, offset=offset)


def _at_once(
    data: Passages, design: corrected.draws.Design, seed: int, *, judge: bool = True
) -> list[Seen]:
    found = []
    none = np.zeros(len(data.weights))
    for place, share in enumerate(SHARES):
        n = round(share * data.weights.shape[1])
        draw = corrected.draw(data.weights, n, design=design, seed=1000 * place + seed)
        one = _estimate(data, data.weights, draw.pi, draw.drawn, none, judge=judge)
        found.append(_seen(data, one, 1 - ALPHA))
    return found


def _in_batches(data: Passages, parts: tuple[float, ...], seed: int) -> list[Seen]:
    """The first batch by leverage, each later one for what is open; looked at at the end."""
    return [_batches(data, parts, share, 1000 * place + seed) for place, share in enumerate(SHARES)]


def _batches(data: Passages, parts: tuple[float, ...], share: float, seed: int) -> Seen:
    items = data.weights.shape[1]
    known = np.zeros(items, dtype=np.bool_)
    batches: list[Estimates] = []
    sizes: list[int] = []
    for part in parts:
        n = round(share * items * part)
        weights = np.where(known, 0.0, data.weights)
        if not batches:
            draw = corrected.draw(weights, n, seed=seed)
        else:
            now = corrected.combine(batches, batch_weights(items, sizes))
            unsure = _uncertainty(data, known)
            n = min(n, int((weights.any(axis=0)).sum()))
            try:
                draw = corrected.next_batch(data.weights, now, unsure, known, n, seed=seed)
            except ValueError:  # all is settled
                break
        offset = data.weights[:, known] @ data.labels[known]
        batches.append(_estimate(data, weights, draw.pi, draw.drawn, offset, judge=True))
        sizes.append(n)
        known |= draw.drawn
    return _seen(data, corrected.combine(batches, batch_weights(items, sizes)), 1 - ALPHA)


def _uncertainty(data: Passages, known: np.ndarray) -> Floats:
    grades, place = np.unique(data.grades[GOOD], return_inverse=True)
    count = np.bincount(place[known], minlength=len(grades)) + 5.0
    said = data.labels[known]
    means = np.bincount(place[known], weights=said, minlength=len(grades)) + 5.0 * said.mean()
    m = (means / count)[place]
    return np.sqrt(m * (1 - m))


if __name__ == "__main__":
    main()
