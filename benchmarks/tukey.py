"""Randomised Tukey HSD over 100 runs × 100 topics: Assay against a loop of numpy.

The peer is the algorithm as one writes it with numpy: for every permutation, one call shuffles all
topics' scores, each on its own, and the range of the run means is kept.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from assay.statistics.tukey import randomised_tukey


def plain(scores: np.ndarray, permutations: int, seed: int) -> np.ndarray:
    """Return the p-values of all pairs, one permutation at a time."""
    generator = np.random.default_rng(seed)
    means = scores.mean(axis=0)
    differences = np.abs(means[:, None] - means[None, :]) - 1e-12
    count = np.zeros_like(differences)
    for _ in range(permutations):
        count += np.ptp(generator.permuted(scores, axis=1).mean(axis=0)) >= differences
    return (count + 1) / (permutations + 1)


def command(scores: np.ndarray, permutations: int) -> float:
    """Return the seconds that ``assay compare --matrix`` takes as a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scores.csv"
        runs = ",".join(f"run{run}" for run in range(scores.shape[1]))
        rows = (f"{n}," + ",".join(map(repr, row)) for n, row in enumerate(scores.tolist()))
        file.write_text("\n".join([f"topic,{runs}", *rows]) + "\n")
        words = ["compare", "--matrix", str(file), "--permutations", str(permutations), "--csv"]
        started = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "assay.cli.main", *words],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--permutations", type=int, default=10_000)
    given = parser.parse_args()
    generator = np.random.default_rng(0)
    scores = generator.normal(0.4, 0.03, given.runs) + generator.normal(0, 0.15, (given.topics, 1))
    scores = np.clip(scores + generator.normal(0, 0.12, (given.topics, given.runs)), 0, 1)

    started = time.perf_counter()
    ours = randomised_tukey(scores, permutations=given.permutations, seed=1, exact_limit=0).p
    seconds = time.perf_counter() - started
    started = time.perf_counter()
    theirs = plain(scores, given.permutations, seed=1)
    peer = time.perf_counter() - started
    whole = command(scores, given.permutations)

    size = f"{given.runs} runs × {given.topics} topics × {given.permutations:,} permutations"
    off_diagonal = ~np.eye(given.runs, dtype=bool)
    apart = np.abs(ours - theirs)[off_diagonal].max()
    print(size)
    print(f"assay, in memory:  {seconds:7.2f} s")
    print(f"assay compare:     {whole:7.2f} s  (a process of its own, from a CSV)")
    print(f"loop of numpy:     {peer:7.2f} s")
    print(f"ratio: {peer / seconds:.1f} (in memory); p-values differ by at most {apart:.3f}")


if __name__ == "__main__":
    main()
