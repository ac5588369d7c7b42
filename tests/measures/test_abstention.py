"""Abstention precision and recall, and the threshold sweep: by hand, and all completions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.measures.abstention import THRESHOLDS, Answers, abstention, sweep
from assay.measures.confidence import accuracy, hmr
from assay.measures.ranges import Range

NAN = float("nan")


def answers(*rows: tuple[float, float, float, bool, bool]) -> Answers:
    """Answers from rows of confidence, correct, refused, present, to be refused."""
    p, correct, refused, is_given, to_refuse = zip(*rows, strict=True)
    return Answers(
        np.array(p),
        np.array(correct, dtype=float),
        np.array(refused, dtype=float),
        np.array(is_given),
        np.array(to_refuse),
    )


BY_HAND = answers(
    (0.9, 1, 0, True, False),
    (0.6, 0, 0, True, False),
    (0.4, 1, 0, True, False),
    (0.2, 0, 0, True, True),
    (0.1, 0, 1, True, False),  # declines wrongly
    (0.8, 1, 1, True, True),  # declines rightly
)


def test_by_hand() -> None:
    precision, recall = abstention(BY_HAND)
    assert precision == Range.certain(1 / 2)
    assert recall == Range.certain(1 / 2)
    assert BY_HAND.attempted() == [0, 1, 2, 3, 5]
    points = {point.threshold: point for point in sweep(BY_HAND)}
    assert tuple(points) == THRESHOLDS
    as_it_is = points[0.0]
    assert (as_it_is.withheld, as_it_is.precision) == (0, None)
    assert as_it_is.coverage.value == pytest.approx(4 / 6)
    assert as_it_is.accuracy.value == pytest.approx(3 / 6)
    # Attempted: four answers and the right refusal.
    assert as_it_is.attempted_accuracy is not None
    assert as_it_is.attempted_accuracy.value == pytest.approx(3 / 5)
    # Wrong are .6 and .2, right .9, .4 and .8.
    attempted = 2 * (1 - 0.4) * 0.7 / ((1 - 0.4) + 0.7)
    assert as_it_is.attempted_hmr is not None
    assert as_it_is.attempted_hmr.value == pytest.approx(attempted)
    half = points[0.5]
    # .4 (right) becomes wrong, .2 (wrong) is to be refused and becomes right.
    assert half.withheld == 2
    assert half.coverage.value == pytest.approx(2 / 6)
    assert half.accuracy.value == pytest.approx(3 / 6)
    wrong, right = (0.6 + 0.4 + 0.1) / 3, (0.9 + 0.2 + 0.8) / 3
    over, under = 1 - wrong, right
    assert half.hmr.value == pytest.approx(2 * over * under / (over + under))
    assert half.attempted_accuracy is not None
    assert half.attempted_accuracy.value == pytest.approx(3 / 4)
    assert half.precision == Range.certain(1 / 2)
    assert half.recall == Range.certain(1 / 2)
    assert points[0.6].withheld == 2  # .6 is not below .6


def test_undefined_values() -> None:
    plain = answers((0.9, 1, 0, True, False))
    assert abstention(plain) == (None, None)
    (point, *_) = sweep(plain)
    assert (point.precision, point.recall) == (None, None)
    last = sweep(plain)[-1]
    assert (last.withheld, last.attempted_accuracy, last.attempted_hmr) == (1, None, None)
    nothing = answers((0.0, 0, 0, False, True))
    assert abstention(nothing) == (None, Range.certain(0.0))
    assert sweep(Answers(*(np.empty(0) for _ in range(3)), *(np.empty(0, bool),) * 2)) == []


def test_an_answer_that_may_be_a_refusal_may_not_count_as_attempted() -> None:
    table = answers((0.9, 1, 0, True, False), (0.6, NAN, NAN, True, False))
    (point,) = sweep(table, (0.0,))
    assert point.coverage == Range(1 / 2, 1.0)
    assert point.attempted_hmr == Range(0.0, 1.0)
    assert point.attempted_accuracy == Range(1 / 2, 1.0)
    assert abstention(answers((0.6, NAN, NAN, True, False)))[0] == Range(0.0, 0.0)
    assert abstention(answers((0.6, NAN, NAN, True, True)))[0] == Range(1.0, 1.0)


def test_a_question_left_out_is_wrong_with_an_unknown_confidence() -> None:
    left_out = answers((0.9, 1, 0, True, False), (0.0, 0, 0, False, False))
    (point,) = sweep(left_out, (0.0,))
    assert point.accuracy == Range.certain(1 / 2)
    assert point.hmr.floor < point.hmr.ceiling
    assert point.attempted_accuracy == Range.certain(1.0)


def completions(given_answers: Answers) -> list[Answers]:
    """Every completion of the missing labels. A refusal's correctness follows from the question;
    that of other answers is independent."""
    found = []
    unknown_acts = np.flatnonzero(np.isnan(given_answers.refused))
    for acts in product((0.0, 1.0), repeat=len(unknown_acts)):
        refused = given_answers.refused.copy()
        refused[unknown_acts] = acts
        correct = np.where(refused == 1, given_answers.to_refuse, given_answers.correct)
        open_verdicts = np.flatnonzero(np.isnan(correct))
        for verdicts in product((0.0, 1.0), repeat=len(open_verdicts)):
            done = correct.astype(float)
            done[open_verdicts] = verdicts
            found.append(
                Answers(
                    given_answers.p, done, refused, given_answers.present, given_answers.to_refuse
                )
            )
    return found


rows = st.tuples(
    st.integers(0, 100).map(lambda value: value / 100),
    st.sampled_from((0.0, 1.0, NAN)),
    st.sampled_from((0.0, 0.0, 1.0, NAN)),
    st.just(True),
    st.booleans(),
).map(
    # As in real labels: a refusal's correctness is known; that of an unknown act is not.
    lambda row: (
        row[0],
        float(row[4]) if row[2] == 1 else NAN if np.isnan(row[2]) else row[1],
        *row[2:],
    )
)


@settings(max_examples=60)
@given(st.lists(rows, min_size=1, max_size=5), st.sampled_from((0.0, 0.3, 0.7, 1.0)))
def test_every_completion_lies_within_the_range(given_rows, threshold) -> None:
    table = answers(*given_rows)
    precision, recall = abstention(table)
    (point,) = sweep(table, (threshold,))
    for one in completions(table):
        assert_within(abstention(one)[0], precision)
        assert_within(abstention(one)[1], recall)
        (exact,) = sweep(one, (threshold,))
        assert_within(exact.coverage, point.coverage)
        assert_within(exact.accuracy, point.accuracy)
        assert_within(exact.hmr, point.hmr)
        assert_within(exact.attempted_accuracy, point.attempted_accuracy)
        assert_within(exact.attempted_hmr, point.attempted_hmr)
        below = (one.p < threshold) & (one.refused == 0)
        wrong = (one.correct == 0) & (one.refused == 0)
        if not np.isnan(table.refused).any():
            assert_within(exact.precision, point.precision)
            assert_within(exact.recall, point.recall)
            if below.any():
                assert exact.precision is not None
                assert exact.precision.value == pytest.approx(float(wrong[below].mean()))
        final = np.where(one.p < threshold, one.to_refuse, one.correct)
        assert exact.accuracy.value == pytest.approx(accuracy(one.p, final))
        assert exact.hmr.value == pytest.approx(hmr(one.p, final))


def assert_within(exact: Range | None, ends: Range | None) -> None:
    if exact is None:
        return
    assert ends is not None
    assert exact.value is not None
    assert ends.floor - 1e-9 <= exact.value <= ends.ceiling + 1e-9
