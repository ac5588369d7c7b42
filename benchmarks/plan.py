"""What a plan buys: labels until the order is settled, looking after each announced batch.

Run: ``python benchmarks/plan.py SHARED [--repeat 40]``. P@10 over the passages of LLMJudge
(SHARED/data/llmjudge: labels by people, a real judge's grades), of the 24 runs of the tests, whose
lists share little, and of 37 that mix a few rankers, whose lists share much. Batches of which the
first goes by leverage and each later one by the pairs that are open, against uniform draws of as
many labels, with the judge and by people alone. After each look pairs are decided at a level of
1 − .05/looks. A pair can be decided where its scores differ and a uniform draw decides it after two
thirds of the looks in at least half of the repetitions; counted is the first look at which 90 % of
these pairs are decided at once, or one batch past the last look where none is (said how often).
A last line says what the best draw there could be would need: one made in knowledge of all labels.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.statistics.trust_data import DEPTH, GOOD, Passages, _grades, passages

from assay.api.by_items import batch_weights
from assay.measures.arrays import Bools, Floats
from assay.statistics import corrected
from assay.statistics.corrected import Estimates
from assay.statistics.corrected.leaderboard import rank_sets_of

ALPHA, SHARE, RANK_DRAWS = 0.05, 0.9, 2000

Way = Callable[[Passages, Sequence[int], float, int], Iterator[Estimates]]
"""Of passages, sizes of batches, level and seed: what is estimated at each look."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shared", type=Path)
    parser.add_argument("--repeat", type=int, default=40)
    parser.add_argument("--looks", type=int, default=12)
    options = parser.parse_args()
    ways: dict[str, Way] = {"people only": _people_only, "uniform": _uniform, "planned": _planned}
    with threadpool_limits(1):
        for name, data in (
            ("lists share little", passages(options.shared)),
            ("lists share much", _of_rankers(options.shared)),
        ):
            _report(name, data, ways, options.looks, options.repeat)


def _report(name: str, data: Passages, ways: dict[str, Way], looks: int, repeat: int) -> None:
    truth = data.weights @ data.labels
    pair = np.triu_indices(len(truth), 1)
    right = np.sign(np.round(truth[:, None] - truth, 9))[pair]
    batch = round(0.07 * len(data.labels))
    sizes, level = [batch] * looks, 1.0 - ALPHA / looks
    said = {
        way: np.array([
            [_signed(one, level, seed)[pair] for one in estimate(data, sizes, level, seed)]
            for seed in range(repeat)
        ])
        for way, estimate in ways.items()
    }  # fmt: skip
    can = ((said["uniform"][:, 2 * looks // 3 - 1] != 0).mean(axis=0) >= 0.5) & (right != 0)
    print(f"{name}: {len(truth)} runs, {len(data.labels):,} passages, {looks} looks of {batch};"
          f" {can.sum()} of {len(right)} pairs can be decided")  # fmt: skip
    needed = {}
    for way, one in said.items():
        share = (one[:, :, can] != 0).mean(axis=2)
        enough = share >= SHARE
        look = np.where(enough.any(axis=1), enough.argmax(axis=1) + 1, looks + 1)
        needed[way] = batch * look
        wrong = int(((one != 0) & (one != right)).any(axis=(1, 2)).sum())
        shares = " ".join(f"{value:.2f}" for value in share.mean(axis=0))
        print(f"  {way:<12} {needed[way].mean():>6,.0f} labels, and not by then in"
              f" {int((~enough.any(axis=1)).sum())}; decided by look {shares};"
              f" wrong anywhere in {wrong} of {repeat}")  # fmt: skip
    for way in ("uniform", "people only"):
        low, high = _ratio_interval(needed["planned"], needed[way])
        ratio = needed["planned"].mean() / needed[way].mean()
        print(f"  planned / {way}: {ratio:.2f} (95 % bootstrap {low:.2f}–{high:.2f})", flush=True)
    grade = data.grades[GOOD].astype(int)
    m = np.array([data.labels[grade == each].mean() for each in range(grade.max() + 1)])[grade]
    for what, spread in (("grades", m * (1 - m)), ("labels", (data.labels - m) ** 2)):
        best = _best(data, np.maximum(spread, 1e-4), batch * looks, level)
        print(f"  best draw / uniform, where all {what} are known: {best:.2f}", flush=True)


def _best(data: Passages, spread: Floats, most: int, level: float) -> float:
    """The labels that 90 % of the pairs that can be decided take by the best single draw, over
    those of a uniform one: probabilities for which critical · se is no more than the true
    difference of each pair, the hardest tenth left out, Σπ least. In ``spread`` is the variance of
    each label around what is expected: that of its grade, or its own square, which nobody can know.

    With a multiplier for each pair, π ∝ √Σ_p λ_p (w_r − w_s)² spread (Neyman for several aims).
    """
    w, count = data.weights, data.weights.shape[1]
    first, second = np.triu_indices(len(w), 1)
    truth = w @ data.labels
    apart = np.round(np.abs(truth[first] - truth[second]), 9)
    parts = (w[first] - w[second]) ** 2 * spread
    share = 2 / 3 * most / count
    critical = rank_sets_of(
        truth, (w * spread * (1 - share) / share) @ w.T, 1e6, level=level, draws=RANK_DRAWS
    ).critical
    needs = np.divide(
        critical**2 * parts.sum(axis=1), apart**2, out=np.full(len(apart), np.inf), where=apart > 0
    )  # odds (1 − π)/π at which a uniform draw decides a pair: 1/needs
    can = np.flatnonzero((1 - share) / share * needs <= 1)
    kept = can[np.argsort(needs[can])][: int(np.ceil(SHARE * len(can)))]
    uniform = count / (1 + 1 / needs[kept[-1]])
    wanted = parts[kept] * (critical / apart[kept, None]) ** 2
    multiplier = np.full(len(kept), uniform**2 / wanted.sum() / len(kept))
    for _ in range(4000):
        pi = np.clip(np.sqrt(multiplier @ wanted), 1e-4, 1)
        multiplier *= np.clip((wanted * (1 / pi - 1)).sum(axis=1), 0.2, 5) ** 0.3
    return float(pi.sum()) / uniform


def _ratio_interval(first: Floats, second: Floats) -> tuple[float, float]:
    """The percentile bootstrap of the ratio of two means over the same repetitions."""
    picks = np.random.default_rng(0).integers(0, len(first), (5000, len(first)))
    ratios = first[picks].mean(axis=1) / second[picks].mean(axis=1)
    low, high = np.quantile(ratios, [0.025, 0.975])
    return float(low), float(high)


def _signed(found: Estimates, level: float, seed: int) -> Floats:
    """R × R: 1 or −1 where it is decided which of two runs is better, else 0."""
    sure = corrected.rank_sets(found, level=level, draws=RANK_DRAWS, seed=seed).decided
    return np.where(sure, np.sign(found.value[:, None] - found.value), 0.0)


def _uniform(
    data: Passages, sizes: Sequence[int], level: float, seed: int, *, judge: bool = True
) -> Iterator[Estimates]:
    """One draw that grows from look to look: the coins stay, the probability rises."""
    count = len(data.labels)
    coins = np.random.default_rng(seed).random(count)
    for size in np.cumsum(sizes):
        pi = np.full(count, size / count)
        yield _estimated(data, pi, coins < pi, np.zeros(count, np.bool_), level, judge=judge)


def _people_only(
    data: Passages, sizes: Sequence[int], level: float, seed: int
) -> Iterator[Estimates]:
    yield from _uniform(data, sizes, level, seed, judge=False)


def _planned(data: Passages, sizes: Sequence[int], level: float, seed: int) -> Iterator[Estimates]:
    """As ``assay draw`` makes batches; once all is decided, the rest is drawn for the scores."""
    known = np.zeros(len(data.labels), np.bool_)
    batches: list[Estimates] = []
    made = corrected.draw(data.weights, sizes[0], seed=seed)
    for number in range(1, len(sizes) + 1):
        batches.append(_estimated(data, made.pi, made.drawn, known, level))
        known |= made.drawn
        counts = batch_weights(len(known), sizes[:number])
        so_far = corrected.combine(batches, counts, level=level)
        yield so_far
        if number < len(sizes):
            made = _next(data, so_far, known, sizes[number], level, seed)


def _next(
    data: Passages, so_far: Estimates, known: Bools, size: int, level: float, seed: int
) -> corrected.Draw:
    try:
        return corrected.next_batch(
            data.weights, so_far, _unsure(data, known), known, size, level=level,
            draws=RANK_DRAWS, seed=seed,
        )  # fmt: skip
    except ValueError:  # all is decided
        weights = np.where(known, 0.0, data.weights)
        return corrected.draw(weights, size, seed=10_000 + 1_000 * int(known.sum()) + seed)


def _estimated(
    data: Passages, pi: Floats, drawn: Bools, known: Bools, level: float, *, judge: bool = True
) -> Estimates:
    return corrected.items(
        np.where(known, 0.0, data.weights), np.where(drawn, data.labels, np.nan),
        data.grades[GOOD] if judge else np.zeros(len(pi)), pi, drawn, data.topic,
        offset=data.weights[:, known] @ data.labels[known], level=level,
    )  # fmt: skip


def _unsure(data: Passages, known: Bools) -> Floats:
    """√(m(1 − m)), m the known labels' mean of each grade, with 5 more at the mean of all."""
    said, grade = data.labels[known], data.grades[GOOD].astype(int)
    held = np.bincount(grade[known], minlength=4) + 5.0
    m = (np.bincount(grade[known], weights=said, minlength=4) + 5.0 * said.mean()) / held
    return np.sqrt(m * (1.0 - m))[grade]


def _of_rankers(shared: Path, runs: int = 37, rankers: int = 5) -> Passages:
    """Runs that mix people's grade, another judge's, and a few rankers, with a little noise."""
    folder = shared / "data" / "llmjudge"
    people = _grades(folder / "llmjudge_test_qrel_idx.txt")
    judge = _grades(folder / "scores" / f"{GOOD}.txt")
    other = _grades(folder / "scores" / "TREMA-4prompts.txt")
    generator = np.random.default_rng(20)
    mixes = generator.dirichlet(np.full(rankers, 0.5), runs)
    of_people, of_other = generator.random((2, runs, 1))
    chosen: dict[tuple[str, str], list[int]] = {}
    for topic, docs in sorted(people.items()):
        names = sorted(docs)
        score = (
            of_people * [docs[doc] for doc in names]
            + of_other * [other[topic][doc] for doc in names]
            + mixes @ generator.normal(0, 1.5, (rankers, len(names)))
            + generator.normal(0, 0.5, (runs, len(names)))
        )
        for run, best in enumerate(np.argsort(-score, axis=1)[:, :DEPTH]):
            for place in best:
                chosen.setdefault((topic, names[place]), []).append(run)
    items = sorted(chosen)
    weights = np.zeros((runs, len(items)))
    for at, item in enumerate(items):
        weights[chosen[item], at] = 1 / (DEPTH * len(people))
    return Passages(
        np.empty(0), {}, weights,
        np.array([float(people[topic][doc] >= 2) for topic, doc in items]),
        {GOOD: np.array([float(judge[topic][doc]) for topic, doc in items])},
        np.unique([topic for topic, _ in items], return_inverse=True)[1],
    )  # fmt: skip


if __name__ == "__main__":
    main()
