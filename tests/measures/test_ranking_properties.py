"""Properties of ranking measures for any list."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from assay.measures import parse_measure
from assay.measures.ranking.cumulated import NDCG, Q
from assay.measures.ranking.relevance import AP, APNorm

EPSILON = 1e-12
G_MAX = 4.0

NAMES = """
nDCG@5 nDCG nDCG(gain=exp)@5 nDCG-JK@5 nDCG-JK(b=3) Q@5 Q Q(gain=exp)@5 Q(beta=10)@5
AP AP@5 AP(norm=min)@5 AP(rel=2) AP(rel=2)@5 ERR@5 ERR(gain=exp) nERR@5 nERR iRBU@5 iRBU(gain=exp)
niRBU@5 niRBU RBP RBP(p=0.5)@5 P@5 P(rel=2)@5 Rprec RR RR(rel=2)@5 Recall Recall@5 Success@5
Judged@5
"""
MEASURES = [parse_measure(name) for name in NAMES.split()]
OF_RELEVANCE = [measure for measure in MEASURES if measure.name != "Judged"]
BEST_IS_1 = {"nDCG", "nDCG-JK", "Q", "nERR", "niRBU", "Rprec", "RR", "Success"}
NORMALISED = [
    measure
    for measure in MEASURES
    if measure.name in BEST_IS_1 or str(measure) in {"AP", "AP(rel=2)", "AP(norm=min)@5"}
]
Topic = tuple[list[float | None], list[float]]


@st.composite
def topics(draw: st.DrawFn) -> Topic:
    """Draw the grades of a ranked list and the grades of all judged documents of its topic."""
    shown: list[float | None] = draw(
        st.lists(st.none() | st.integers(0, 4).map(float), max_size=12)
    )
    unseen = draw(st.lists(st.integers(0, 4).map(float), max_size=6))
    judged = [grade for grade in shown if grade is not None] + unseen
    return shown, draw(st.permutations(judged))


@given(topics())
def test_scores_are_between_0_and_1(topic: Topic) -> None:
    for measure in MEASURES:
        score = measure.score(*topic, G_MAX)
        assert isinstance(score, float), measure
        assert 0 <= score <= 1 + EPSILON, measure


def _swapped(
    shown: list[float | None], upper: int, lower: int
) -> tuple[list[float | None], list[float | None]]:
    """Two versions of the list: with the worse and with the better of two documents first."""
    better, worse = list(shown), list(shown)
    low, high = sorted([shown[upper], shown[lower]], key=lambda grade: grade or 0)
    better[upper], better[lower] = high, low
    worse[upper], worse[lower] = low, high
    return worse, better


@given(topics(), st.data())
def test_moving_the_better_of_two_neighbours_up_never_hurts(
    topic: Topic, data: st.DataObject
) -> None:
    shown, ideal = topic
    assume(len(shown) > 1)
    upper = data.draw(st.integers(0, len(shown) - 2))
    worse, better = _swapped(shown, upper, upper + 1)
    for measure in OF_RELEVANCE:
        before = measure.score(worse, ideal, G_MAX)
        assert measure.score(better, ideal, G_MAX) >= before - EPSILON, measure


@given(topics(), st.data())
def test_moving_a_better_document_up_hurts_no_measure_except_q(
    topic: Topic, data: st.DataObject
) -> None:
    shown, ideal = topic
    assume(len(shown) > 1)
    upper = data.draw(st.integers(0, len(shown) - 2))
    lower = data.draw(st.integers(upper + 1, len(shown) - 1))
    worse, better = _swapped(shown, upper, lower)
    for measure in OF_RELEVANCE:
        if measure.name != "Q":
            before = measure.score(worse, ideal, G_MAX)
            assert measure.score(better, ideal, G_MAX) >= before - EPSILON, measure


def test_q_can_fall_when_a_document_overtakes_better_ones() -> None:
    """A property of Q: a relevant document at a late rank adds the gain cumulated up to there."""
    worse, better = [0.0, 0.0, 3.0, 3.0, 1.0], [0.0, 1.0, 3.0, 3.0, 0.0]
    late = (4 / 10 + 8 / 11 + 10 / 12) / 3
    early = (2 / 8 + 6 / 10 + 10 / 11) / 3
    assert Q().score(worse, worse, 3.0) == pytest.approx(late, abs=EPSILON)
    assert Q().score(better, worse, 3.0) == pytest.approx(early, abs=EPSILON)
    assert early < late


@given(st.lists(st.integers(0, 4).map(float), max_size=12))
def test_the_ideal_list_scores_1(judged: list[float]) -> None:
    best = sorted(judged, reverse=True)
    for measure in NORMALISED:
        something = bool(best) and best[0] >= getattr(measure, "rel", 1)
        score = measure.score(best, judged, G_MAX)
        assert score == pytest.approx(float(something), abs=EPSILON), measure


@given(topics(), st.lists(st.integers(0, 4).map(float), max_size=5))
def test_documents_below_the_cutoff_do_not_count(topic: Topic, tail: list[float]) -> None:
    shown, ideal = topic
    assume(len(shown) >= 5)
    for measure in MEASURES:
        if measure.k == 5:
            expected = measure.score(shown, ideal, G_MAX)
            assert measure.score([*shown, *tail], ideal, G_MAX) == expected, measure


@given(topics(), st.integers(1, 5))
def test_unjudged_documents_at_the_end_change_nothing(topic: Topic, n: int) -> None:
    shown, ideal = topic
    for measure in OF_RELEVANCE:
        expected = measure.score(shown, ideal, G_MAX)
        assert measure.score([*shown, *[None] * n], ideal, G_MAX) == expected, measure


@given(topic=topics(), k=st.none() | st.integers(1, 12))
def test_q_without_the_gain_part_is_average_precision(topic: Topic, k: int | None) -> None:
    average_precision = AP(norm=APNorm.MIN, k=k).score(*topic, G_MAX)
    assert Q(beta=0, k=k).score(*topic, G_MAX) == pytest.approx(average_precision, abs=EPSILON)
    assert AP(k=k).score(*topic, G_MAX) <= average_precision + EPSILON


@given(topic=topics(), factor=st.integers(1, 5))
def test_linear_ndcg_does_not_depend_on_the_scale(topic: Topic, factor: int) -> None:
    shown, ideal = topic
    scaled = [None if grade is None else grade * factor for grade in shown]
    expected = NDCG(k=5).score(shown, ideal, G_MAX)
    scaled_score = NDCG(k=5).score(scaled, [grade * factor for grade in ideal], G_MAX)
    assert scaled_score == pytest.approx(expected, abs=EPSILON)
