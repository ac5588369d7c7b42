"""Ranks of scores that are ranges, and the intervals around them."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from assay.measures.ranges import Range
from assay.measures.scores import Score, ranks


def table(**ends):
    return {
        run: {"M": Score.between(run, "M", Range(*pair), topics=3)} for run, pair in ends.items()
    }


def test_runs_whose_ranges_overlap_share_a_rank_and_so_does_what_lies_between():
    found = ranks(table(A=(0.5, 0.9), B=(0.4, 0.45), D=(0.3, 0.6), E=(0.1, 0.2)), "M")
    assert found == {"A": 1, "B": 1, "D": 1, "E": 4}
    assert list(found) == ["A", "B", "D", "E"]


def test_equal_values_share_a_rank_whatever_their_last_digit():
    assert ranks(table(A=(0.1 + 0.2,) * 2, B=(0.3, 0.3), C=(0.2, 0.2)), "M") == {
        "A": 1,
        "B": 1,
        "C": 3,
    }


def test_less_is_better_and_undefined_comes_last():
    scores = table(A=(0.5, 0.4), B=(0.3, 0.1), C=(0.45, 0.45))
    scores["Z"] = {"M": Score.undefined("Z", "M")}
    assert ranks(scores, "M", lower_is_better=True) == {"B": 1, "C": 2, "A": 2, "Z": None}


pairs = st.tuples(st.integers(0, 20), st.integers(0, 20)).map(lambda p: (min(p), max(p)))


@given(st.lists(pairs, min_size=1, max_size=8))
def test_ranks_keep_to_what_is_sure(ends):
    found = ranks(table(**{f"r{n}": one for n, one in enumerate(ends)}), "M")
    for (n, one), (m, other) in combinations(enumerate(ends), 2):
        first, second = found[f"r{n}"], found[f"r{m}"]
        if one[1] >= other[0] and other[1] >= one[0]:
            assert first == second
        if first < second:
            assert one[0] > other[1]
    assert min(found.values()) == 1


def test_an_interval_holds_floor_and_ceiling():
    score = Score.between("r", "M", Range(0.0, 1.0), (0.2, 0.4), topics=3)
    assert (score.low, score.high) == (0.0, 1.0)
