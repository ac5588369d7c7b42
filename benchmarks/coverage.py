"""How often intervals of corrected scores hold the truth, on labels that people gave in full.

Run: ``python benchmarks/coverage.py SHARED [topics items answers hmr] [--draws 1000]``. A row is a
cell: so many seeded draws from the material of the tests (nDCG@10 and P@10 of LLMJudge, accuracy of
OpenQA, HMR and its parts of twelve systems at an exam and of twelve on OpenQA). Shown are
the coverage of 95 % intervals, mean over runs, lowest and highest run, the same of differences of
two runs, and the mean width beside that of people's labels alone. In 1,000 draws a run's coverage
has a standard error of .007.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.statistics import trust_data
from tests.statistics.trust_data import GOOD, POOR

from assay.measures.arrays import Bools, Floats
from assay.statistics import corrected
from assay.statistics.corrected import Estimates
from assay.statistics.corrected.draws import Design
from assay.statistics.corrected.modesty import MEASURES

DESIGNS: tuple[Design, ...] = ("uniform", "leverage", "pairs")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shared", type=Path)
    parser.add_argument("kinds", nargs="*", default=["topics", "items", "answers", "hmr"])
    parser.add_argument("--draws", type=int, default=1000)
    options = parser.parse_args()
    print(f"{'cell':<44}{'scores':>8}{'lowest':>8}{'highest':>9}{'pairs':>7}{'lowest':>8}"
          f"{'width':>8}{'people':>8}")  # fmt: skip
    ways = {"topics": _topics, "items": _items, "answers": _answers, "hmr": _hmr}
    with threadpool_limits(1):
        for kind in options.kinds:
            for name, inside, apart, width, human in ways[kind](options.shared, options.draws):
                between = f"{apart.mean():>7.3f}{apart.min():>8.3f}" if apart.size else f"{'':>15}"
                print(f"{name:<44}{inside.mean():>8.3f}{inside.min():>8.3f}{inside.max():>9.3f}"
                      f"{between}{width:>8.3f}{human:>8.3f}", flush=True)  # fmt: skip


_Cell = tuple[str, Floats, Floats, float, float]
"""Its name; coverage by run, and by pair; mean width, and by people's labels alone."""


def _cell(name: str, truth: Floats, found: Iterator[Estimates]) -> _Cell:
    pair = np.triu_indices(len(truth), 1)
    inside, between, width, human = [], [], [], []
    for one in found:
        apart, by = corrected.differences(one), truth[:, None] - truth[None, :]
        inside.append(_holds(one.low, truth, one.high))
        between.append(_holds(apart.low, by, apart.high)[pair])
        width.append(one.high - one.low)
        human.append(one.human_only_high - one.human_only_low)
    return (name, np.mean(inside, axis=0), np.mean(between, axis=0),
            float(np.mean(width)), float(np.mean(human)))  # fmt: skip


def _holds(low: Floats, truth: Floats, high: Floats) -> Bools:
    held: Bools = (low - 1e-12 <= truth) & (truth <= high + 1e-12)
    return held


def _topics(shared: Path, draws: int) -> Iterator[_Cell]:
    data = trust_data.passages(shared)
    for judge in (GOOD, POOR):
        for n in (5, 8, 12, 18):
            yield _cell(
                f"nDCG@10, {n} of {data.people.shape[1]} topics, {judge[:12]}",
                data.people.mean(axis=1),
                (
                    corrected.topics(
                        data.people,
                        data.judges[judge],
                        corrected.draw_topics(data.people.shape[1], n, seed),
                    )
                    for seed in range(draws)
                ),
            )


def _items(shared: Path, draws: int) -> Iterator[_Cell]:
    data = trust_data.passages(shared)
    for judge in (GOOD, POOR):
        for n in (60, 120, 250):
            for design in DESIGNS:
                name = f"P@10, {n} passages, {design}, {judge[:12]}"
                said = data.grades[judge], data.topic
                yield _by_items(name, data.weights, data.labels, *said, n, design, draws)


def _answers(shared: Path, draws: int) -> Iterator[_Cell]:
    data = trust_data.answers(shared)
    for n in (60, 150, 250):
        for design in DESIGNS:
            name = f"Accuracy, {n} answers, {design}"
            said = data.judge, data.question
            yield _by_items(name, data.weights, data.labels, *said, n, design, draws)


def _by_items(
    name: str, weights: Floats, labels: Floats, judge: Floats, topic: np.ndarray,
    n: int, design: Design, draws: int,
) -> _Cell:  # fmt: skip
    def found() -> Iterator[Estimates]:
        for seed in range(draws):
            draw = corrected.draw(weights, n, design=design, seed=seed)
            people = np.where(draw.drawn, labels, np.nan)
            yield corrected.items(weights, people, judge, draw.pi, draw.drawn, topic)

    return _cell(name, weights @ labels, found())


def _hmr(shared: Path, draws: int) -> Iterator[_Cell]:
    """The judge of the exam errs anew every 10 draws: 2 % of right answers, 5 % of wrong ones."""
    every = trust_data.exams(shared).values()
    systems = [one for one in every if len(one.correct) >= 250]
    for n in (20, 60, 100):
        generator = np.random.default_rng(n)
        rows = []
        for place, system in enumerate(systems):
            right = system.correct == 1
            errs = generator.random((-(-draws // 10), len(right))) < np.where(right, 0.02, 0.05)
            judges = np.repeat(np.where(errs, ~right, right), 10, axis=0)[:draws]
            rows.append(_of_system(system.confidence, system.correct, judges, n, place))
        yield from _by_measure(f"{n} exam questions", rows)
    data = trust_data.answers(shared)
    generator = np.random.default_rng(6)
    rows = []
    for place, chosen in enumerate(data.chosen):
        c, judge = data.labels[chosen], data.judge[chosen]
        p = np.clip(np.round(0.5 + 0.3 * c + generator.normal(0, 0.25, len(c)), 1), 0, 1)
        rows.append(_of_system(p, c, np.tile(judge, (draws, 1)), 60, place))
    yield from _by_measure("60 answers of OpenQA", rows)


def _of_system(p: Floats, c: Floats, judges: Floats, n: int, place: int) -> Floats:
    """Coverage and mean width of the four measures, 2 × 4."""
    everything = np.ones(len(c), dtype=np.bool_)
    truth = corrected.hmr(p, c, c, everything).value
    inside, width = np.zeros(4), np.zeros(4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that few drawn answers are wrong
        for number, judge in enumerate(judges):
            drawn = corrected.draw_topics(len(c), n, 1_000_000 * place + number)
            found = corrected.hmr(p, c, judge, drawn)
            inside += _holds(found.low, truth, found.high)
            width += found.high - found.low
    return np.stack([inside, width]) / len(judges)


def _by_measure(what: str, rows: list[Floats]) -> Iterator[_Cell]:
    for at, measure in enumerate(MEASURES):
        inside, width = np.array(rows)[:, :, at].T
        yield f"{measure}, {what}", inside, np.empty(0), float(width.mean()), np.nan


if __name__ == "__main__":
    main()
