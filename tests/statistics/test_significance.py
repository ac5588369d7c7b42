"""Significance tests: a worked example, scipy, plain loops, and properties."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from assay.measures.bootstrap import topic_counts
from assay.statistics import letters, tukey
from assay.statistics import significance as sig
from assay.statistics.comparison import compare_runs
from assay.statistics.samplesize import residual_variance

SCORES = [[0.5, 0.6, 0.4], [0.7, 0.8, 0.5], [0.2, 0.4, 0.3], [0.9, 0.85, 0.6], [0.3, 0.35, 0.1]]
WORKED = {(0, 1): 0.677469, (0, 2): 0.249228, (1, 2): 0.014660}
grades = st.integers(0, 8).map(lambda eighth: eighth / 8)
pairs = st.lists(st.tuples(grades, grades), min_size=2, max_size=9)


def t_and_p(x, y) -> tuple[float, float]:
    """t and p of one pair of runs; NaN if all differences are equal."""
    first, second = np.asarray(x, float), np.asarray(y, float)
    t, p = sig.t_columns((first - second)[:, None], sig.pair_sizes(first, second)[:, None])
    return float(t[0]), float(p[0])


def test_randomised_tukey_over_all_7776_permutations() -> None:
    found = tukey.randomised_tukey(SCORES, seed=1)
    assert found.exact
    assert found.permutations == 7776
    for (a, b), p in WORKED.items():
        assert found.p[a, b] == found.p[b, a] == pytest.approx(p, abs=5e-7)
    assert (found.p.diagonal() == 1).all()


def test_random_permutations_approximate_the_exact_test() -> None:
    found = tukey.randomised_tukey(SCORES, permutations=50_000, seed=1, exact_limit=0)
    assert not found.exact
    for pair, p in WORKED.items():
        assert found.p[pair] == pytest.approx(p, abs=5 * math.sqrt(p * (1 - p) / 50_000))


def test_tukey_is_the_same_for_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = np.random.default_rng(4).random((12, 6))
    monkeypatch.setattr(tukey, "_CELLS_AT_ONCE", 1000)
    by_threads = [
        tukey.randomised_tukey(matrix, permutations=700, seed=9, workers=workers).p
        for workers in (1, 2, 5, None)
    ]
    assert all((p == by_threads[0]).all() for p in by_threads)
    assert (tukey.randomised_tukey(matrix, permutations=700, seed=8).p != by_threads[0]).any()
    assert by_threads[0].min() >= 1 / 701


NEAR_TIES = [
    ([0.80626, 0.83485, 0.91799, 0.72986], [0.80625, 0.83485, 0.918, 0.72987]),
    ([0.8886, 0.5617, 0.8158, 0.9103], [0.8887, 0.5618, 0.8157, 0.9103]),
]


def test_ties_that_rounding_hides_are_counted() -> None:
    for x, y in NEAR_TIES:  # all permutations have sums of −1, 0 or 1 in the last digit
        assert sig.randomisation_test(x, y, seed=1) == 1
        assert tukey.randomised_tukey(np.column_stack([x, y]), seed=1).p[0, 1] == 1


@given(
    st.integers(4, 7),
    st.sampled_from([0, 1, 10_000]),
    st.lists(st.tuples(st.integers(0, 10_000_000), st.integers(-3, 3)), min_size=2, max_size=7),
)
def test_p_of_nearly_equal_runs_equals_that_of_exact_arithmetic(
    decimals: int, shift: int, topics: list[tuple[int, int]]
) -> None:
    """Scores that differ in the last digit, compared with enumeration in integers."""
    unit = 10**decimals
    x = [shift * unit + value % unit for value, _ in topics]
    y = [one + change for one, (_, change) in zip(x, topics, strict=True)]
    differences = [a - b for a, b in zip(x, y, strict=True)]
    sums = [sum(map(int.__mul__, signs, differences)) for signs in product((1, -1), repeat=len(x))]
    expected = sum(abs(one) >= abs(sum(differences)) for one in sums) / len(sums)
    first, second = ([float(Fraction(one, unit)) for one in scores] for scores in (x, y))
    matrix = np.column_stack([first, second])
    assert sig.randomisation_test(first, second, seed=1) == expected
    assert tukey.randomised_tukey(matrix, seed=1).p[0, 1] == expected
    random = tukey.randomised_tukey(matrix, permutations=200, exact_limit=0, seed=1).p[0, 1]
    whole = tukey.randomised_tukey(np.column_stack([x, y]), permutations=200, exact_limit=0, seed=1)
    assert random == whole.p[0, 1]
    t, _ = t_and_p(first, second)
    assert math.isnan(t) == (len(set(differences)) == 1)


@pytest.mark.parametrize("shift", [-10_000, 100, 10_000])
def test_a_shift_of_all_scores_changes_no_p(shift: float) -> None:
    shifted = np.array(SCORES) + shift
    for limit in (0, 10_000):  # random and exact
        plain = tukey.randomised_tukey(SCORES, seed=1, exact_limit=limit)
        assert (tukey.randomised_tukey(shifted, seed=1, exact_limit=limit).p == plain.p).all()
    for a, b in WORKED:
        x, y = (np.array(SCORES)[:, place] for place in (a, b))
        expected = sig.randomisation_test(x, y, seed=1)
        assert sig.randomisation_test(x + shift, y + shift, seed=1) == expected


@given(st.lists(st.tuples(grades, grades), min_size=2, max_size=7))
def test_tukey_of_two_runs_is_the_paired_randomisation_test(
    scores: list[tuple[float, float]],
) -> None:
    x, y = np.array(scores).T
    pair = sig.randomisation_test(x, y, seed=0)
    assert tukey.randomised_tukey(scores, seed=0).p[0, 1] == pytest.approx(pair, abs=1e-12)
    differences = x - y
    sums = [abs(np.dot(signs, differences)) for signs in product((1, -1), repeat=len(x))]
    expected = np.mean(np.array(sums) >= abs(differences.sum()) - 1e-9)
    assert pair == pytest.approx(expected, abs=1e-12)


def test_the_exact_randomisation_test_is_the_limit_of_the_random_one() -> None:
    generator = np.random.default_rng(7)
    x, y = generator.random((2, 12))
    exact = sig.randomisation_test(x, y, seed=0)
    random = sig.randomisation_test(x, y, permutations=40_000, seed=0, exact_limit=0)
    assert random == pytest.approx(exact, abs=0.015)
    theirs = stats.permutation_test(
        (x, y), lambda a, b: np.mean(a - b), permutation_type="samples", n_resamples=np.inf
    )
    assert exact == pytest.approx(theirs.pvalue, abs=1e-12)


@given(pairs)
def test_the_t_test_equals_scipys(scores: list[tuple[float, float]]) -> None:
    x, y = np.array(scores).T
    t, p = t_and_p(x, y)
    if len(set(x - y)) == 1:
        assert math.isnan(t)
        assert math.isnan(p)
        return
    theirs = stats.ttest_rel(x, y)
    assert t == pytest.approx(theirs.statistic, abs=1e-9)
    assert p == pytest.approx(theirs.pvalue, abs=1e-12)


def test_equal_or_shifted_runs_have_no_t() -> None:
    x = np.array([0.1, 0.7, 0.3])
    for shift in (0, 0.1):
        assert np.isnan(t_and_p(x + shift, x)).all()
    assert sig.randomisation_test(x, x, seed=1) == 1
    interval = sig.bootstrap_difference(x + 0.25, x, seed=1)
    assert interval.low == pytest.approx(0.25)
    assert interval.high == pytest.approx(0.25)


def test_holm_by_hand() -> None:
    assert sig.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert sig.holm([0.01, None, 0.5]) == [pytest.approx(0.02), None, 0.5]
    assert sig.holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_keeps_the_order_and_never_lowers(p_values: list[float]) -> None:
    adjusted = sig.holm(p_values)
    for p, q in zip(p_values, adjusted, strict=True):
        assert q is not None
        assert p <= q <= min(1.0, p * len(p_values))  # never above Bonferroni's
    for (p, q), (r, s) in combinations(zip(p_values, adjusted, strict=True), 2):
        if p < r:
            assert q <= s  # type: ignore[operator]


@given(
    st.integers(1, 9).flatmap(
        lambda m: st.tuples(
            st.lists(st.integers(0, 4), min_size=m, max_size=m),
            st.lists(st.booleans(), min_size=m * m, max_size=m * m),
        )
    )
)
def test_runs_share_a_letter_if_and_only_if_they_do_not_differ(
    case: tuple[list[int], list[bool]],
) -> None:
    means, cells = case
    m = len(means)
    different = np.triu(np.array(cells).reshape(m, m), 1)
    different |= different.T
    shown = letters.compact_letters(means, different)
    for a in range(m):
        assert shown[a]
        for b in range(m):
            assert bool(set(shown[a]) & set(shown[b])) == (not different[a, b])
    groups = {
        letter: {i for i in range(m) if letter in shown[i]}
        for letter in {letter for row in shown for letter in row}
    }
    assert not any(a < b for a, b in product(groups.values(), repeat=2))  # none is superfluous
    top = letters.top_group(means, different)
    assert means[top[0]] == max(means)
    assert "a" in shown[top[0]]


def test_letters_of_many_groups() -> None:
    means = np.arange(30.0)
    found = letters.compact_letters(means, ~np.eye(30, dtype=bool))
    assert [found[29], found[4], found[3], found[0]] == [("a",), ("z",), ("aa",), ("ad",)]
    assert letters.letters_text([("a", "b"), ("b",)]) == ["ab", "b"]
    assert letters.letters_text([("a", "b"), ("ab",), ("z", "aa")]) == ["a,b", "ab", "z,aa"]


def test_a_whole_comparison_of_the_worked_example() -> None:
    found = compare_runs(SCORES, ["one", "two", "three"], seed=1)
    assert list(found.means) == ["two", "one", "three"]
    assert found.letters == {"two": "a", "one": "ab", "three": "b"}
    assert found.top == ("two", "one")
    assert found.exact
    assert found.variance.value == pytest.approx(0.00616667, abs=5e-9)
    best = found.pairs[1]
    assert (best.run_a, best.run_b) == ("two", "three")
    assert best.p is None
    assert best.p_adjusted == pytest.approx(0.014660, abs=5e-7)
    assert best.effect == pytest.approx(best.difference / math.sqrt(found.variance.value))
    matrix = np.array(SCORES)
    interval = sig.bootstrap_difference(matrix[:, 1], matrix[:, 2], seed=1)
    assert (best.low, best.high) == pytest.approx((interval.low, interval.high), abs=1e-12)
    apart = matrix[:, 1] - matrix[:, 2]
    assert best.paired_effect == pytest.approx(apart.mean() / apart.std(ddof=1))


def test_if_lower_is_better_the_run_with_the_lowest_mean_is_first() -> None:
    more = compare_runs(SCORES, ["one", "two", "three"], seed=1)
    less = compare_runs(SCORES, ["one", "two", "three"], seed=1, lower_is_better=True)
    assert list(less.means) == list(more.means)[::-1]
    assert less.letters == {"three": "a", "one": "ab", "two": "b"}
    assert less.top == ("three", "one")
    for pair, turned in zip(less.pairs, more.pairs[::-1], strict=True):
        assert (pair.run_a, pair.run_b) == (turned.run_b, turned.run_a)
        assert pair.difference == pytest.approx(-turned.difference)
        assert pair.p_adjusted == turned.p_adjusted


@pytest.mark.parametrize("test", ["t", "randomisation", "bootstrap"])
def test_pairwise_tests_are_corrected_by_holm(test: str) -> None:
    matrix = np.random.default_rng(6).random((9, 4)) + np.arange(4) / 5
    found = compare_runs(matrix, list("abcd"), test=test, seed=2)  # type: ignore[arg-type]
    assert [pair.p_adjusted for pair in found.pairs] == sig.holm([pair.p for pair in found.pairs])
    for pair in found.pairs:
        x, y = matrix[:, ord(pair.run_a) - 97], matrix[:, ord(pair.run_b) - 97]
        alone = {
            "t": t_and_p(x, y)[1],
            "randomisation": sig.randomisation_test(x, y, seed=2),
            "bootstrap": sig.bootstrap_p(
                (x - y)[:, None], sig.pair_sizes(x, y)[:, None], 10_000, seed=2
            )[0],
        }[test]
        assert pair.p == pytest.approx(alone, abs=1e-12)
        assert (pair.difference >= 0) == (found.means[pair.run_a] >= found.means[pair.run_b])
        shared = set(found.letters[pair.run_a]) & set(found.letters[pair.run_b])
        assert bool(shared) == (pair.p_adjusted >= 0.05)  # type: ignore[operator]


def test_the_bootstrap_test_equals_the_plain_one() -> None:
    matrix = np.random.default_rng(6).random((9, 3))
    differences = matrix[:, :2] - matrix[:, 2:]
    sizes = sig.pair_sizes(matrix[:, :2], matrix[:, 2:])
    found = sig.bootstrap_p(differences, sizes, 400, seed=5)
    counts = np.concatenate(list(topic_counts(9, 400, 5))).astype(int)
    for column, p in zip(differences.T, found, strict=True):
        observed = abs(stats.ttest_1samp(column, 0).statistic)
        centred = column - column.mean()
        drawn = [abs(stats.ttest_1samp(np.repeat(centred, n), 0).statistic) for n in counts]
        assert p == pytest.approx((np.sum(np.array(drawn) >= observed) + 1) / 401, abs=1e-12)
    same = np.full((4, 1), 0.3)
    assert np.isnan(sig.bootstrap_p(same, same, 10, seed=1)).all()


def _exact_t(values: list[int]) -> tuple[Fraction, bool]:
    """t² / (n − 1), and whether it is infinite; 0 if the sum is 0."""
    total, squares = sum(values), sum(value * value for value in values)
    if not total:
        return Fraction(0), False
    spread = len(values) * squares - total * total
    return (Fraction(total * total, spread), False) if spread else (Fraction(0), True)


def _counts_as_extreme(differences: list[int], drawn: list[int]) -> bool:
    """Whether a resample (of indices) has at least the t of the data, in integer arithmetic."""
    n, total = len(differences), sum(differences)
    observed, _ = _exact_t(differences)
    found, infinite = _exact_t([n * differences[place] - total for place in drawn])
    return infinite or found >= observed


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(-4, 4)), min_size=2, max_size=8),
    st.sampled_from([0, 1000]),
)
def test_the_bootstrap_test_equals_that_of_exact_arithmetic_in_any_unit(
    topics: list[tuple[int, int]], shift: int
) -> None:
    y = [shift + value for value, _ in topics]
    x = [value + change for value, (_, change) in zip(y, topics, strict=True)]
    differences = [change for _, change in topics]
    n = len(topics)
    drawn = np.concatenate(list(topic_counts(n, 300, 3))).astype(int)
    count = sum(
        _counts_as_extreme(differences, np.repeat(np.arange(n), counts).tolist())
        for counts in drawn
    )
    for unit in (Fraction(1), Fraction(1, 10), Fraction(1, 1000), Fraction(7), Fraction(10**30)):
        first, second = (np.array([float(one * unit) for one in scores]) for scores in (x, y))
        sizes = sig.pair_sizes(first, second)[:, None]
        p = sig.bootstrap_p((first - second)[:, None], sizes, 300, seed=3)[0]
        if len(set(differences)) == 1:
            assert np.isnan(p)
        else:
            assert p == (count + 1) / 301


@pytest.mark.parametrize(
    "differences", [[2, 1, 2, 3], [1, -1], [3, 3, 1], [4, 3, 3, 4, 1], [0, 0, 2, -1, 4]]
)
def test_the_bootstrap_test_approximates_that_of_all_resamples(differences: list[int]) -> None:
    n = len(differences)
    extreme = [
        _counts_as_extreme(differences, list(drawn)) for drawn in product(range(n), repeat=n)
    ]
    share = np.mean(extreme)
    x, y = (np.array(differences)[:, None] + 7) / 10, np.full((n, 1), 0.7)
    p = sig.bootstrap_p(x - y, sig.pair_sizes(x, y), 20_000, seed=1)[0]
    assert p == pytest.approx(share, abs=5 * math.sqrt(share * (1 - share) / 20_000) + 1e-4)


@pytest.mark.parametrize("unit", [1e-200, 1e-310])
def test_tiny_scores_give_the_same_p_values(unit: float) -> None:
    x, y = np.array([1, 3, 5, 2]), np.array([2, 1, 1, 1])
    assert t_and_p(x * unit, y * unit) == pytest.approx(t_and_p(x, y))
    pair = np.stack([x, y], axis=1)
    for test in ("t", "bootstrap"):
        known, found = (
            compare_runs(scores, "xy", test=test, seed=1).pairs[0]  # type: ignore[arg-type]
            for scores in (pair, pair * unit)
        )
        assert found.p == pytest.approx(known.p)
        assert found.effect == pytest.approx(known.effect)
        assert found.paired_effect == pytest.approx(known.paired_effect)


def test_with_too_many_groups_only_the_letters_are_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(letters, "_MOST_GROUPS", 1)
    found = compare_runs(SCORES, ["one", "two", "three"], seed=1)
    assert found.letters is None
    assert found.top == ("two", "one")
    assert [pair.different for pair in found.pairs] == [False, True, False]


def test_runs_without_a_p_do_not_count_as_different() -> None:
    base = np.array([0.1, 0.5, 0.3])
    found = compare_runs(
        np.stack([base, base, base + 0.125], axis=1), list("abc"), test="t", seed=1
    )
    assert found.letters == {"c": "a", "a": "a", "b": "a"}
    assert found.top == ("c", "a", "b")
    assert all(pair.p is None and pair.p_adjusted is None for pair in found.pairs)
    assert all(pair.effect is None and pair.paired_effect is None for pair in found.pairs)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tukey.randomised_tukey([[1, 2]], seed=1), "1 topics × 2 runs are too few"),
        (lambda: tukey.randomised_tukey([1, 2], seed=1), "1 dimensions"),
        (lambda: tukey.randomised_tukey([[1, 2], [3, None]], seed=1), "position 2, 2"),
        (lambda: tukey.randomised_tukey([[1, 2], [3]], seed=1), "differ in length"),
        (lambda: tukey.randomised_tukey(SCORES, seed=1, permutations=0), "permutations"),
        (lambda: sig.randomisation_test([1], [1], seed=1), "at least 2"),
        (lambda: sig.bootstrap_difference([1, 2], [1, 3], seed=1, level=2), "level"),
        (lambda: sig.bootstrap_difference([1, 2], [1, 3], seed=1, resamples=10.5), "resamples"),  # type: ignore[arg-type]
        (lambda: sig.randomisation_test([1e308, 1], [-1e308, 2], seed=1), "1e[+]308 at position 1"),
        (lambda: tukey.randomised_tukey([[1, 2], [3, -2e100]], seed=1), "position 2, 2"),
        (lambda: residual_variance(np.ma.masked_equal(SCORES, 0.6)), "masked in places"),
        (lambda: compare_runs(SCORES, [1, "1", 2], seed=1), "different run names"),  # type: ignore[list-item]
        (lambda: sig.holm([0.1, 1.2]), "p-value 2"),
        (lambda: sig.holm([0.1, "a"]), "p-value 2 is a, not a number"),  # type: ignore[list-item]
        (lambda: tukey.randomised_tukey(SCORES, seed=1.5), "seed must be a whole"),  # type: ignore[arg-type]
        (lambda: sig.randomisation_test([1, 2], [1, 3], seed=-1), "seed must be a whole"),
        (lambda: letters.compact_letters([1, 2], [[False, True], [False, False]]), "symmetric"),
        (lambda: letters.compact_letters([1, 2], [[False]]), "do not fit"),
        (lambda: compare_runs(SCORES, ["a", "a", "b"], seed=1), "different run names"),
        (lambda: compare_runs(SCORES, "abc", test="z", seed=1), "test must be"),  # type: ignore[arg-type]
        (lambda: compare_runs(SCORES, "abc", alpha=0, seed=1), "alpha"),
    ],
)
def test_bad_input_says_what_is_wrong(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]
