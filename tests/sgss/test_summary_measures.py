"""XUX, Comp and SGSS: the paper's two worked figures, and what must hold for all labels."""

import math
from itertools import combinations_with_replacement, product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from assay.measures.summaries import (
    SectionLabels,
    SummaryLabels,
    Weights,
    abandonment,
    comp,
    comp_range,
    contributions,
    experience,
    experience_ends,
    fill_missing,
    final_lines,
    geometric,
    jsd,
    lines_read,
    weight_warnings,
    xux,
    xux_f,
    xux_g,
)

ONLY_RELEVANCE = Weights(OS=1, OF=0, OR=0, HR=1, SRel=1, SF=0)
GOOD, EMPTY = SectionLabels((1.0,), (1.0,), (0.0,)), SectionLabels((0.0,), (0.0,), (0.0,))


def score(summary, weights=ONLY_RELEVANCE, most=None):
    return xux(experience(contributions(summary, weights)), most)


def test_figure_3_bad_content_hurts_more_at_the_top():
    a = SummaryLabels(1.0, 0.0, 0.0, (GOOD, GOOD, EMPTY))
    b = SummaryLabels(1.0, 0.0, 0.0, (EMPTY, GOOD, GOOD))
    assert score(a) == pytest.approx(0.935374, abs=5e-7)
    assert score(b) == pytest.approx(0.616327, abs=5e-7)


def test_figure_4_comprehensiveness():
    assert comp([1.0, 1.0, 0.5]) == pytest.approx(0.983, abs=5e-4)
    assert comp([0.0, 0.5, 1.0]) == pytest.approx(0.792, abs=5e-4)


level = st.sampled_from([0.0, 0.5, 1.0])


@st.composite
def parts(draw):
    n = draw(st.integers(1, 4))
    row = st.lists(level, min_size=n, max_size=n).map(tuple)
    return SectionLabels(draw(row), draw(row), draw(row), heading=draw(st.booleans()))


summaries = st.builds(
    SummaryLabels, level, level, level, st.lists(parts(), max_size=4).map(tuple), st.booleans()
)
share = st.floats(0, 1)


@st.composite
def bounded_weights(draw):
    """Weights under which no line adds more than 1 (footnote 5)."""
    os, of, orep = draw(share), draw(share), draw(share)
    over = max(1.0, os + of + orep)
    srel = draw(share)
    return Weights(os / over, of / over, orep / over, draw(share), srel, (1 - srel) * draw(share))


@given(summaries, bounded_weights())
def test_scores_are_within_0_and_1_where_the_weights_allow(summary, weights):
    x = experience(contributions(summary, weights))
    assert len(x) == summary.lines
    for value in (*x, xux(x), xux_f(x, final_lines(summary)), xux_g(x, geometric(len(x), 0.3))):
        assert -1e-12 <= value <= 1 + 1e-9
    assert not weight_warnings(weights)


@given(summaries, st.floats(0.1, 3), st.integers(1, 12))
def test_xux_is_linear_in_the_weights(summary, factor, most):
    weights = Weights()
    scaled = Weights(*(factor * w for w in (1 / 3, 1 / 3, 1 / 3, 1, 0.5, 0.5)))
    assert score(summary, scaled, most) == pytest.approx(factor * score(summary, weights, most))


@given(st.lists(level, min_size=1, max_size=6), st.data())
def test_good_content_counts_more_the_earlier_it_comes(grades, data):
    """Exchange two neighbouring lines so that the better comes first: X never falls."""
    place = data.draw(st.integers(0, len(grades) - 1))
    assume(place + 1 < len(grades))
    better = grades.copy()
    better[place : place + 2] = sorted(grades[place : place + 2], reverse=True)
    one, other = xux(experience(better)), xux(experience(grades))
    assert one >= other - 1e-12
    if better != grades:
        assert one > other


@given(summaries)
def test_a_better_label_never_lowers_xux(summary):
    weights = Weights()
    best = SummaryLabels(1.0, summary.of, summary.orep, summary.parts, summary.overview_last)
    assert score(best, weights) >= score(summary, weights) - 1e-12


@given(summaries, st.integers(1, 20))
def test_the_uniform_distribution_is_xux(summary, most):
    x = experience(contributions(summary, Weights()))
    n = lines_read(len(x), most)
    assert xux_g(x, [1 / n] * n) == pytest.approx(xux(x, most))


@given(summaries)
def test_final_lines_are_the_overview_and_each_sections_last(summary):
    finals = final_lines(summary)
    assert len(finals) == 1 + len(summary.parts)
    assert finals == sorted(set(finals))
    assert finals[-1] == summary.lines
    assert finals[0] == 1 or summary.overview_last


@given(st.lists(level, min_size=1, max_size=8))
def test_comp_is_1_exactly_when_balanced_and_complete(grades):
    value = comp(grades)
    assert 0 <= value <= 1
    balanced = len(set(grades)) == 1 and grades[0] > 0
    assert (value == 1) is balanced
    assert comp(sorted(grades)) == pytest.approx(value)
    if not any(grades):
        assert value == 0


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=6), st.floats(0.1, 10))
def test_comp_looks_at_the_balance_only(grades, factor):
    assert comp([factor * g for g in grades]) == pytest.approx(comp(grades), abs=1e-9)


def test_jsd_is_a_divergence_in_bits():
    assert jsd([1, 0], [0, 1]) == 1.0
    assert jsd([0.5, 0.5], [0.5, 0.5]) == 0.0
    assert jsd([0.9, 0.1], [0.2, 0.8]) == pytest.approx(jsd([0.2, 0.8], [0.9, 0.1]))


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12), st.integers(1, 12))
def test_observed_abandonment_is_a_distribution_and_loses_nobody(counts, lines):
    assume(any(counts))
    pr = abandonment(counts, lines)
    assert len(pr) == lines
    assert math.fsum(pr) == pytest.approx(1)
    if len(counts) <= lines:
        assert pr[: len(counts)] == pytest.approx([c / sum(counts) for c in counts])


# -- missing labels -------------------------------------------------------------------------------

maybe = st.one_of(st.none(), level)
weight = st.sampled_from([-1.0, -0.3, 0.0, 0.4, 1.0])


@st.composite
def torn_parts(draw):
    n = draw(st.integers(1, 2))
    row = st.lists(maybe, min_size=n, max_size=n).map(tuple)
    return SectionLabels(draw(row), draw(row), draw(row), heading=draw(st.booleans()))


torn = st.builds(
    SummaryLabels, maybe, maybe, maybe, st.lists(torn_parts(), max_size=2).map(tuple), st.booleans()
)


def flat(summary):
    parts = [value for p in summary.parts for row in (p.g, p.srel, p.sf) for value in row]
    return [summary.os, summary.of, summary.orep, *parts]


def completions(summary, points):
    """Every way to fill the missing labels in."""
    unknown = flat(summary).count(None)
    for chosen in product(points, repeat=unknown):
        left = list(chosen)

        def number(value, left=left):
            return left.pop(0) if value is None else value

        yield SummaryLabels(
            *(number(v) for v in (summary.os, summary.of, summary.orep)),
            tuple(
                SectionLabels(*(tuple(map(number, row)) for row in (p.g, p.srel, p.sf)), p.heading)
                for p in summary.parts
            ),
            summary.overview_last,
        )


@settings(max_examples=60)
@given(torn, st.builds(Weights, *[weight] * 7), st.integers(1, 6))
def test_the_ends_of_what_is_linear_are_those_of_every_completion(summary, weights, most):
    assume(flat(summary).count(None) <= 5)
    every = [
        experience(contributions(one, weights)) for one in completions(summary, (0.0, 0.5, 1.0))
    ]
    floor, ceiling = experience_ends(
        fill_missing(summary, 0.0), fill_missing(summary, 1.0), weights
    )
    finals, pr = final_lines(summary), geometric(len(floor), 0.3)
    for of in (
        lambda x: xux(x, most), lambda x: xux_f(x, finals), lambda x: xux_g(x, pr),
        lambda x: x[-1],
    ):  # fmt: skip
        values = [of(x) for x in every]
        assert of(floor) == pytest.approx(min(values), abs=1e-12)
        assert of(ceiling) == pytest.approx(max(values), abs=1e-12)


scales = st.one_of(
    st.just((0.0, 0.5, 1.0)),
    st.lists(st.sampled_from([0.0, 0.1, 0.3, 0.8, 1.0]), min_size=3, max_size=3).map(tuple),
)


@settings(max_examples=60)
@given(st.lists(maybe, min_size=1, max_size=8), scales)
def test_the_ends_of_comp_are_those_of_every_completion(grades, points):
    known = [grade for grade in grades if grade is not None]
    ways = combinations_with_replacement(points, grades.count(None))  # the places are alike
    every = [comp([*known, *rest]) for rest in ways]
    ends = comp_range(grades, points)
    assert ends.floor == pytest.approx(min(every), abs=1e-12)
    assert ends.ceiling == pytest.approx(max(every), abs=1e-12)
    wider = comp_range(grades, points, between=True)
    assert wider.floor == ends.floor
    assert wider.ceiling >= ends.ceiling - 1e-12


@given(st.lists(level, max_size=4), st.lists(share, min_size=1, max_size=4))
def test_grades_between_the_points_are_within_the_wider_ends(known, rest):
    ends = comp_range([*known, *[None] * len(rest)], (0.0, 0.5, 1.0), between=True)
    assert ends.floor - 1e-12 <= comp([*known, *rest]) <= ends.ceiling + 1e-12


def test_very_many_unknown_grades_have_safe_ends():
    ends = comp_range([1.0, 0.0, *[None] * 150], (0.0, 0.5, 1.0))
    assert 0 < ends.floor < comp([1.0, 0.0, *[1.0] * 150]) <= ends.ceiling < 1


def test_wrong_numbers_are_refused():
    for wrong in ([0.5, 0.4], [-0.5, 1.5], [0.25] * 4):
        with pytest.raises(ValueError):
            xux_g([1.0, 1.0], wrong)
    for call in (
        lambda: geometric(3, 0),
        lambda: abandonment([0, 0], 2),
        lambda: lines_read(3, 0),
        lambda: comp([-1.0, 1.0]),
        lambda: comp([]),
        lambda: Weights(OS=math.nan),
    ):
        with pytest.raises(ValueError):
            call()


def test_weights_that_may_pass_1_are_told():
    told = weight_warnings(Weights(OS=1, OF=1, OR=0, HR=2, SRel=1, SF=1, Comp=-1))
    assert len(told) == 4
    assert "w_OS + w_OF + w_OR is 2" in told[0]
