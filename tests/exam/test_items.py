"""Item analysis by hand: how many runs answer a question, what it tells, what repeats another."""

from __future__ import annotations

import math
from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from assay.measures.bootstrap import ends_of, percentile_interval, topic_counts
from assay.model.exam import Bank, BankQuestion, QueryBank, Ranking
from assay.model.exam_grades import NO_GRADE, Grades
from assay.protocols.exam.items import item_analysis
from assay.protocols.exam.scoring import ExamOptions, ExamScorer
from assay.statistics.items import ItemBoard, TopicItems

QUESTIONS = ("q1", "q2", "q3", "q4")
#                 q1 q2 q3 q4
MATRIX = {"p1": [5, 5, 0, 0], "p2": [4, 0, 5, 0], "p3": [5, 5, 0, 1]}
RUNS = {"A": ["p1"], "B": ["p2"], "C": ["p3"], "D": ["p1", "p2"]}


def analysed(matrix):
    bank = Bank(
        {"t": QueryBank("t", None, tuple(BankQuestion(one, f"{one}?") for one in QUESTIONS))}
    )
    grades = Grades(tuple(matrix), QUESTIONS, np.array(list(matrix.values()), dtype=np.int8))
    scorer = ExamScorer(bank, {"t": grades}, ExamOptions(tau=4, k=2, measures=()))
    runs = {name: {"t": Ranking.of(passages)} for name, passages in RUNS.items()}
    found = item_analysis(
        SimpleNamespace(
            inputs=SimpleNamespace(runs=runs),
            settings=SimpleNamespace(least=4),
            bank=bank,
            scorer=scorer,
        )
    )
    return {one.question: one for one in found}


def test_counts_discrimination_and_overlap():
    found = analysed(MATRIX)
    assert [found[one].answered.floor for one in QUESTIONS] == [4, 3, 2, 0]
    assert all(found[one].answered.floor == found[one].answered.ceiling for one in QUESTIONS)
    assert found["q1"].discrimination is None  # every run answers it
    assert found["q4"].discrimination is None  # none does
    # q2 over A, B, C, D: 1 0 1 1; the others' cover: q1 + q3 = 1 2 1 2
    own, rest = [1, 0, 1, 1], [1, 2, 1, 2]
    assert math.isclose(found["q2"].discrimination, np.corrcoef(own, rest)[0, 1])
    # p1, p2, p3 answer q1; p1, p3 answer q2; p2 answers q3.
    assert math.isclose(found["q2"].overlap, 2 / 3)
    assert found["q2"].like == "q1"
    assert math.isclose(found["q3"].overlap, 1 / 3)
    assert found["q4"].overlap == 0


def test_grades_that_are_missing_leave_a_range():
    matrix = {**MATRIX, "p2": [4, NO_GRADE, 5, 0]}
    found = analysed(matrix)
    assert (found["q2"].answered.floor, found["q2"].answered.ceiling) == (3, 4)
    assert found["q2"].discrimination is None


def test_what_an_item_may_decide_holds_every_completion_of_the_labels():
    generator = np.random.default_rng(3)
    narrow = 0
    for board_number in range(100):
        values = generator.integers(0, 2, (4, 3)).astype(float)
        holes = np.argwhere(generator.random((4, 3)) < 0.2 * (board_number > 40))[:5]
        values[tuple(holes.T)] = np.nan
        board = ItemBoard({"t": TopicItems(values, np.ones(4, bool))}, np.full(4, np.nan))
        counts = []
        for filling in product((0.0, 1.0), repeat=len(holes)):
            full = values.copy()
            full[tuple(holes.T)] = filling
            whole, rest = full.sum(axis=1), full[:, 1:].sum(axis=1)
            counts.append(
                sum(
                    np.sign(whole[a] - whole[b]) != np.sign(rest[a] - rest[b])
                    for a, b in combinations(range(4), 2)
                )
            )
        floor, ceiling = board.may_decide("t", 0)
        assert floor <= min(counts) <= max(counts) <= ceiling
        narrow += ceiling < 6
        if not len(holes):
            assert floor == ceiling == counts[0] == board.decides("t", 0)
    assert narrow > 10  # the ends say something


def test_where_one_label_is_missing_nothing_is_said_for_certain():
    values = np.array([[1.0, 0.0], [0.0, np.nan], [1.0, 1.0]])
    board = ItemBoard({"t": TopicItems(values, np.ones(3, bool))}, [3.0, 2.0, 1.0])
    assert board.tau is board.tau_without("t", 0) is None
    assert board.decides("t", 0) is board.tied("t") is None
    assert board.may_settle("t") == board.may_settle("t", 0) == 2  # of three that may be tied
    assert board.may_decide("t", 0) == (0, 2)


def test_what_one_more_item_can_settle_is_the_best_that_any_does():
    generator = np.random.default_rng(4)
    for _ in range(20):
        values = generator.integers(0, 2, (6, 2)).astype(float)
        topics = {"t": TopicItems(values, np.ones(6, bool))}
        for worths in ((0, 1), (0, 0.5, 1)):
            board = ItemBoard(topics, np.full(6, np.nan), len(worths))
            for without, kept in ((None, values), (0, values[:, 1:])):
                sums = kept.sum(axis=1)
                tied = [(a, b) for a, b in combinations(range(6), 2) if sums[a] == sums[b]]
                best = max(
                    sum(item[a] != item[b] for a, b in tied) for item in product(worths, repeat=6)
                )
                assert board.may_settle("t", without) == best


def test_tau_and_its_change_have_the_intervals_of_topics_drawn_anew():
    generator = np.random.default_rng(7)
    sizes = {"a": 3, "b": 2, "c": 1, "d": 4}
    values = {t: generator.integers(0, 2, (6, n)).astype(float) for t, n in sizes.items()}
    counts = {t: np.array([t != "b", True, True, True, True, True]) for t in sizes}
    official = np.array([*generator.random(5), np.nan])
    board = ItemBoard({t: TopicItems(values[t], counts[t]) for t in sizes}, official)
    weights = np.concatenate(list(topic_counts(4, 1000, 0)))

    first, second = np.triu_indices(5, 1)
    apart = np.sign(official[first] - official[second])

    def taus(values):
        found = []
        for row in [np.ones(4), *weights]:
            scores = []
            for run in range(5):
                drawn = [t for t, n in zip(sizes, row, strict=True) for _ in range(int(n))]
                mine = [t for t in drawn if counts[t][run] and values[t].shape[1]]
                mine = mine or [t for t in sizes if counts[t][run] and values[t].shape[1]]
                means = [values[t][run].mean() for t in mine]
                scores.append(round(sum(means) / len(means), 9))
            found.append(scores)
        scores = np.array(found)
        order = np.sign(scores[:, first] - scores[:, second])
        with np.errstate(invalid="ignore"):
            tau = order @ apart / np.sqrt((order != 0).sum(axis=1) * (apart != 0).sum())
        for at in range(0, len(scores), 50):
            other = stats.kendalltau(scores[at], official[:5]).statistic
            assert tau[at] == pytest.approx(other, nan_ok=True)
        return tau

    def check(estimate, rows):
        assert math.isclose(estimate.value, rows[0], abs_tol=1e-9)
        ends = ends_of(percentile_interval(rows[1:], 0.95, len(sizes)))
        assert np.allclose([estimate.interval.low, estimate.interval.high], ends)
        assert estimate.interval.undefined == np.isnan(rows[1:]).sum()

    whole = taus(values)
    check(board.tau, whole)
    for topic, column in (("a", 0), ("b", 1), ("d", 3)):
        left = np.delete(values[topic], column, axis=1)
        check(board.tau_without(topic, column), taus({**values, topic: left}) - whole)
    alone = ItemBoard({"a": TopicItems(values["a"], counts["a"])}, official)
    assert alone.tau.interval is None
