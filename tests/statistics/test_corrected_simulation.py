"""Coverage of the intervals, simulated by draws from collections that people labelled in full.

Each cell is 300 seeded draws; a cell's coverage is the mean over its runs. Nominal is .95.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from assay.measures import confidence as measures
from assay.measures.arrays import Floats
from assay.statistics import corrected
from assay.statistics.corrected.calibration import grades
from assay.statistics.corrected.modesty import hmr_of_draws
from tests.statistics import trust_data
from tests.statistics.trust_data import GOOD, POOR, Answers, Passages

DRAWS = 300
NOMINAL, SLACK = 0.95, 0.02
LEAST = 0.88
"""The least coverage of any run. (With .95, 300 draws give less than .91 once in 1,000 runs.)"""
OF_HMR = {20: 0.99, 60: 0.99, 100: 0.97}
"""Coverage of HMR by drawn questions in the specification, where a judge errs seldom: two whole
disagreements that nobody has seen count, so that it is above nominal (and .47 without them)."""


@pytest.fixture(autouse=True)
def _one_thread():
    """Limit BLAS to one thread, which is faster for products this small."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def passages(shared_data: Path) -> Passages:
    return trust_data.passages(shared_data)


@pytest.fixture(scope="module")
def answers(shared_data: Path) -> Answers:
    return trust_data.answers(shared_data)


class Cell:
    """The results of the draws of one setting."""

    def __init__(self, truth: Floats) -> None:
        self.truth = truth
        self.inside: list[Floats] = []
        self.apart: list[Floats] = []
        self.values: list[Floats] = []
        self.widths: list[float] = []
        self.human: list[float] = []

    def add(self, found: corrected.Estimates) -> None:
        self.inside.append((found.low <= self.truth) & (self.truth <= found.high))
        pair = np.triu_indices(len(self.truth), 1)
        apart, truth = corrected.differences(found), self.truth[:, None] - self.truth[None, :]
        self.apart.append(((apart.low <= truth) & (truth <= apart.high))[pair])
        self.values.append(found.value)
        self.widths.append(float((found.high - found.low).mean()))
        self.human.append(float((found.human_only_high - found.human_only_low).mean()))

    def check(self, *, seldom: bool = False) -> None:
        """Check that coverage is nominal, or at least that if the judge errs ``seldom``."""
        assert len(self.inside) >= DRAWS
        by_run, by_pair = np.mean(self.inside, axis=0), np.mean(self.apart, axis=0)
        for found in (by_run.mean(), by_pair.mean()):
            assert NOMINAL - SLACK <= found <= (1.0 if seldom else NOMINAL + SLACK)
        assert by_run.min() >= LEAST
        # A regression on few topics has a bias that is small compared with its spread.
        off = np.abs(np.mean(self.values, axis=0) - self.truth)
        assert (off < 0.35 * np.std(self.values, axis=0)).all()


@pytest.mark.parametrize("judge", [GOOD, POOR])
@pytest.mark.parametrize("n", [5, 8, 12])
def test_ndcg_from_whole_topics(passages: Passages, judge: str, n: int) -> None:
    cell = Cell(passages.people.mean(axis=1))
    for seed in range(DRAWS):
        drawn = corrected.draw_topics(passages.people.shape[1], n, seed)
        cell.add(corrected.topics(passages.people, passages.judges[judge], drawn))
    cell.check()
    if judge == GOOD:
        assert np.mean(cell.widths) < 0.97 * np.mean(cell.human)
    else:  # a bad judge does little harm
        assert np.mean(cell.widths) < 1.05 * np.mean(cell.human)


@pytest.mark.parametrize("n", [5, 12])
def test_whole_topics_with_a_judge_that_seldom_errs(n: int) -> None:
    """Shares of six questions that are answered, as in EXAM-Cover: on most topics people and judge
    say the same."""
    rng = np.random.default_rng(3)
    judge = rng.random((12, 97, 6)) < np.linspace(0.7, 0.99, 12)[:, None, None]
    people = judge ^ (rng.random(judge.shape) < 0.02)
    cell = Cell(people.mean(axis=(1, 2)))
    for seed in range(DRAWS):
        drawn = corrected.draw_topics(97, n, seed)
        cell.add(corrected.topics(people.mean(axis=2), judge.mean(axis=2), drawn))
    cell.check(seldom=True)


@pytest.mark.parametrize(
    ("judge", "n", "design"), [(GOOD, 120, "leverage"), (POOR, 250, "uniform")]
)
def test_precision_from_single_items(
    passages: Passages, judge: str, n: int, design: corrected.draws.Design
) -> None:
    cell = Cell(passages.weights @ passages.labels)
    grades = passages.grades[judge]
    for seed in range(DRAWS):
        draw = corrected.draw(passages.weights, n, design=design, seed=seed)
        people = np.where(draw.drawn, passages.labels, np.nan)
        cell.add(
            corrected.items(passages.weights, people, grades, draw.pi, draw.drawn, passages.topic)
        )
    cell.check()
    assert np.mean(cell.widths) < np.mean(cell.human)


def test_rank_sets_and_tau_bounds_are_jointly_valid(passages: Passages) -> None:
    truth, judge = passages.weights @ passages.labels, passages.weights @ passages.grades[GOOD]
    best, worst = 1 + (truth[:, None] < truth).sum(axis=1), (truth[:, None] <= truth).sum(axis=1)
    tau = corrected.tau_bounds(np.ones((len(truth), len(truth)), bool), truth, judge)[0]
    inside, between, decided = 0, 0, 0.0
    for seed in range(DRAWS):
        draw = corrected.draw(passages.weights, 400, design="pairs", seed=seed)
        people = np.where(draw.drawn, passages.labels, np.nan)
        given = passages.grades[GOOD], draw.pi, draw.drawn, passages.topic
        found = corrected.items(passages.weights, people, *given)
        ranks = corrected.rank_sets(found, draws=1000, seed=seed)
        inside += bool(((ranks.best <= best) & (worst <= ranks.worst)).all())
        low, high = corrected.tau_bounds(ranks.decided, found.value, judge)
        between += bool(low <= tau <= high)
        decided += float(np.triu(ranks.decided).sum())
    assert inside / DRAWS >= NOMINAL - SLACK
    assert between / DRAWS >= NOMINAL - SLACK
    assert decided / DRAWS > 20


@pytest.mark.parametrize(
    ("n", "design", "draws"), [(60, "leverage", DRAWS), (250, "pairs", 3 * DRAWS)]
)
def test_accuracy_from_single_answers(
    answers: Answers, n: int, design: corrected.draws.Design, draws: int
) -> None:
    """A judge with few errors: many draws of 60 have none, and the interval holds all the same. Of
    250 answers two or three are errors in some runs: there the lowest run is nearest to the least,
    and more draws tell it from that."""
    cell = Cell(answers.weights @ answers.labels)
    for seed in range(draws):
        draw = corrected.draw(answers.weights, n, design=design, seed=seed)
        people = np.where(draw.drawn, answers.labels, np.nan)
        cell.add(
            corrected.items(
                answers.weights, people, answers.judge, draw.pi, draw.drawn, answers.question
            )
        )
    cell.check(seldom=n == 60)
    assert np.mean(cell.widths) < 0.5 * np.mean(cell.human)


@pytest.mark.parametrize("share", [0.95, 0.98])
@pytest.mark.parametrize("errs", [0.03, 0.5])
def test_labels_that_are_nearly_all_equal(share: float, errs: float) -> None:
    """Often all 60 drawn labels are 1, which does not mean that all others are."""
    generator = np.random.default_rng(9)
    labels = (generator.random(1500) < share).astype(float)
    judge = np.where(generator.random(1500) < errs, 1 - labels, labels)
    weights = (generator.random((10, 1500)) < 0.2) / 300.0
    cell = Cell(weights @ labels)
    alone = []
    for seed in range(DRAWS):
        draw = corrected.draw(weights, 60, seed=1000 + seed)
        people = np.where(draw.drawn, labels, np.nan)
        found = corrected.items(weights, people, judge, draw.pi, draw.drawn, np.arange(1500) % 50)
        cell.add(found)
        low, high = found.human_only_low, found.human_only_high
        alone.append((low <= cell.truth) & (cell.truth <= high))
    by_run = np.mean(cell.inside, axis=0)
    assert by_run.mean() >= NOMINAL - SLACK
    assert by_run.min() >= LEAST
    assert np.mean(alone) >= NOMINAL - SLACK
    correct, verdicts = labels[:300], judge[:300]
    p = generator.integers(0, 11, 300) / 10
    by_measure = _share_inside(p, correct, np.tile(verdicts, (DRAWS, 1)), 60, 0)
    assert (by_measure >= NOMINAL - SLACK).all()


@pytest.mark.parametrize("n", [20, 60, 100])
def test_hmr_of_systems_at_an_exam(shared_data: Path, n: int) -> None:
    """The judge's errors change every 10 draws, as coverage depends on which answers it misses."""
    systems = [
        system for system in trust_data.exams(shared_data).values() if len(system.correct) >= 250
    ]
    assert len(systems) == 12
    generator = np.random.default_rng(n)
    by_system = []
    for place, system in enumerate(systems):
        right = system.correct == 1
        errs = generator.random((DRAWS // 10, len(right))) < np.where(right, 0.02, 0.05)
        judges = np.repeat(np.where(errs, ~right, right), 10, axis=0)
        by_system.append(_share_inside(system.confidence, system.correct, judges, n, place))
    by_measure = np.mean(by_system, axis=0)
    assert (by_measure >= NOMINAL - SLACK).all()
    assert by_measure[0] == pytest.approx(OF_HMR[n], abs=SLACK)
    assert np.min(by_system) >= LEAST


def test_hmr_with_a_real_judge(answers: Answers) -> None:
    """Confidences are simulated; marks and the judge's errors are those of an annotator."""
    generator = np.random.default_rng(6)
    by_system = []
    for place, chosen in enumerate(answers.chosen):
        c, judge = answers.labels[chosen], answers.judge[chosen]
        p = np.clip(np.round(0.5 + 0.3 * c + generator.normal(0, 0.25, len(c)), 1), 0, 1)
        by_system.append(_share_inside(p, c, np.tile(judge, (DRAWS, 1)), 60, place))
    assert (np.mean(by_system, axis=0) >= NOMINAL - SLACK).all()
    assert np.min(by_system) >= LEAST


def _share_inside(p: Floats, c: Floats, judges: Floats, n: int, place: int) -> Floats:
    """The share of draws in which each measure's interval covers the value; one judge per draw."""
    plain = (measures.hmr, measures.reward_over, measures.reward_under, measures.accuracy)
    truth = np.array([measure(p, c) for measure in plain])
    assert len(judges) == DRAWS
    drawn = np.stack([corrected.draw_topics(len(c), n, 1000 * place + at) for at in range(DRAWS)])
    found = hmr_of_draws(p, c, np.stack([*map(grades, judges)]), drawn)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that few drawn answers are wrong
        one = corrected.hmr(p, c, judges[-1], drawn[-1])
    assert np.array([one.value, one.low, one.high]) == pytest.approx(
        np.array([found.value[-1], found.low[-1], found.high[-1]]), abs=1e-12
    )
    inside = (found.low - 1e-12 <= truth) & (truth <= found.high + 1e-12)
    return np.asarray(inside.mean(axis=0))
