"""Golden ratings: B1 to B8 of the specification of TREC RAG 2026, and what must always hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize, root
from scipy.special import expit

from assay.measures.bootstrap import ends_of, percentile_interval
from assay.statistics.battle_counts import components, tally
from assay.statistics.battles import (
    error_interval,
    rate,
    ratings,
    resampled_ratings,
    win_rates,
)
from assay.statistics.corrected.leaderboard import rank_sets_of
from assay.statistics.pair_models import BradleyTerry, Davidson, RaoKupper, fit
from assay.statistics.pairing import (
    all_battles,
    battles_per_topic,
    drawn,
    next_battles,
    shown,
    swapped,
)

A, TIE, B, NAN = 1, 0.5, 0, np.nan
B1 = [(0, 1, A)] * 3 + [(1, 0, A)]
B2 = [*B1, *[(0, 1, TIE)] * 4]
B3 = [*B1, *[(1, 2, A)] * 3, (2, 1, A), *[(0, 2, A)] * 2, *[(2, 0, TIE)] * 2]
B4 = [(0, 1, A), (0, 1, TIE), (0, 2, A), (1, 2, A)]


def table(rows, runs, topics=1):
    a, b, outcome, topic = zip(*((*row, 0)[:4] for row in rows), strict=True)
    return tally(a, b, outcome, topic, runs=runs, topics=topics)


def rated(rows, runs, topics=1, model=BradleyTerry(), **more):  # noqa: B008 (it has no state)
    return rate(table(rows, runs, topics), model, **{"resamples": 50, **more})


def test_b1_is_the_log_odds_of_the_wins_with_the_sandwich_of_arena_rank():
    found = rated(B1, 2)
    assert found.rating == pytest.approx([1095.4243, 904.5757], abs=5e-5)
    assert found.rating[0] - found.rating[1] == pytest.approx(400 * np.log10(3))
    ends = error_interval(found.rating[0], found.errors[0], 0.95)
    assert ends == pytest.approx((898.853, 1291.996), abs=5e-4)
    assert found.rate == pytest.approx([0.75, 0.25])
    assert found.intervals == (None, None)  # of one topic


def test_b2_ties_are_half_wins_and_davidson_sees_through_them():
    assert rated(B2, 2).rating == pytest.approx([1044.3697, 955.6303], abs=5e-5)
    found = rated(B2, 2, model=Davidson())
    assert found.rating == pytest.approx([1095.4243, 904.5757], abs=5e-5)
    assert found.tie == pytest.approx(2.309401, abs=5e-7)


def test_b3_three_runs():
    found = rated(B3, 3)
    assert found.rating == pytest.approx([1131.3841, 1000, 868.6159], abs=5e-5)
    ends = [error_interval(*one, 0.95) for one in zip(found.rating, found.errors, strict=True)]
    assert ends[0] == pytest.approx((974.759, 1288.009), abs=5e-4)
    assert ends[1] == pytest.approx((838.121, 1161.879), abs=5e-4)
    found = rated(B3, 3, model=Davidson())
    assert found.rating == pytest.approx([1165.423, 1000, 834.577], abs=5e-4)
    assert found.tie == pytest.approx(0.488265, abs=5e-7)


def test_b4_without_a_finite_maximum_nothing_is_rated_but_with_a_prior():
    found = rated(B4, 3)
    assert np.isnan(found.rating).all()
    assert "not finite" in found.reason
    assert found.parts[0] == found.parts[1] != found.parts[2]
    assert found.rate == pytest.approx([2.5 / 3, 0.5, 0])
    found = rated(B4, 3, prior=1)
    assert found.rating == pytest.approx([1170.7728, 1036.8313, 779.6052], abs=5e-5)


def test_b5_two_parts_are_refused():
    found = rated([(0, 1, A), (2, 3, A)], 4)
    assert np.isnan(found.rating).all()
    assert len(set(found.parts)) == 4


def test_b6_resamples_of_two_topics():
    rows = [(0, 1, A, 0)] * 2 + [(0, 1, A, 1), (1, 0, A, 1)]
    found = rated(rows, 2, 2, prior=1)
    assert found.rating == pytest.approx([1082.419, 917.581], abs=5e-4)
    assert found.intervals[0].low == pytest.approx(1000)
    assert found.intervals[0].high == pytest.approx(1223.496, abs=5e-4)
    assert found.intervals[1].low == pytest.approx(776.504, abs=5e-4)
    # Without the prior the resample with the first topic twice has no finite ratings.
    found = rated(rows, 2, 2, resamples=400)
    assert 60 < found.intervals[0].undefined < 140


def plain_ratings(rows, runs, ties):
    """Wins expected are wins seen, and ties are where they have a chance of their own; NaN where
    some run cannot be reached from another by wins and ties."""
    better = {(a, b) for a, b, o, _ in rows if o != B} | {(b, a) for a, b, o, _ in rows if o != A}
    reached = np.eye(runs, dtype=bool)
    for _ in range(runs):
        for a, b in better:
            reached[a] |= reached[b]
    if not reached.all():
        return np.full(runs, np.nan)

    def surplus(strengths):
        *r, s = strengths
        found = np.zeros(runs + 1)
        for a, b, outcome, _ in rows:
            win, lose = np.exp((r[a] - r[b]) / 2), np.exp((r[b] - r[a]) / 2)
            tie = np.exp(s) if ties else 0.0
            more = outcome - (win + tie / 2) / (win + tie + lose)
            found[[a, b, runs]] += more, -more, (outcome == TIE) - tie / (win + tie + lose)
        found[0] = sum(r)  # the surpluses sum to 0, so that one says nothing
        return found if ties else [*found[:runs], s]

    return 1000 + 400 / np.log(10) * root(surplus, np.zeros(runs + 1), tol=1e-12).x[:runs]


@pytest.mark.parametrize("model", [BradleyTerry(), Davidson()])
def test_intervals_and_ranks_are_of_topics_drawn_anew(model):
    rows = [(0, 1, A, 0), (1, 0, A, 0), (1, 2, TIE, 0), (2, 0, A, 1), (0, 1, A, 1), (1, 2, A, 1)]
    rows += [(0, 2, A, 2), (0, 1, TIE, 2), (2, 1, A, 2), (0, 2, A, 3), (1, 2, A, 3)]
    found = rated(rows, 3, 4, model, level=0.8, seed=6)
    memory, rates = {}, []
    draws = np.sort(np.random.default_rng(6).integers(0, 4, size=(50, 4)))
    for drawn_topics in map(tuple, draws):
        sample = [row for topic in drawn_topics for row in rows if row[3] == topic]
        if drawn_topics not in memory:
            memory[drawn_topics] = plain_ratings(sample, 3, model.fitted)
        own = [
            [o if a == run else 1 - o for a, b, o, _ in sample if run in (a, b)] for run in range(3)
        ]
        rates.append([np.mean(one) for one in own])
    ratings_drawn = np.array([memory[tuple(one)] for one in draws])
    unrated = int(np.isnan(ratings_drawn[:, 0]).sum())
    assert 0 < unrated < 40
    for run in range(3):
        rating, rate_of = found.intervals[run], found.rate_intervals[run]
        expected = ends_of(percentile_interval(ratings_drawn[:, run], 0.8, 4))
        assert (rating.low, rating.high) == pytest.approx(expected)
        assert rating.undefined == unrated
        expected = ends_of(percentile_interval(np.array(rates)[:, run], 0.8, 4))
        assert (rate_of.low, rate_of.high) == pytest.approx(expected)
    spread = np.cov(ratings_drawn[~np.isnan(ratings_drawn[:, 0])].T)
    together = rank_sets_of(found.rating, spread, 3, level=0.8, seed=6)
    assert found.ranks.critical == pytest.approx(together.critical, rel=1e-6)
    assert found.ranks.best.tolist() == together.best.tolist()


def test_a_topic_without_a_battle_is_not_drawn():
    """Two topics of which one says nothing are one, of which there is no interval."""
    rows = [(0, 1, A, 1), (1, 0, A, 1), (1, 0, A, 1)]
    found = rated(rows, 2, 3)
    assert found.intervals == found.rate_intervals == (None, None)
    assert found.ranks is None
    rows += [(0, 1, A, 3), (0, 1, TIE, 3)]
    wide, narrow = rated(rows, 2, 5), rated([(*row[:3], row[3] // 2) for row in rows], 2, 2)
    assert wide.intervals == narrow.intervals
    assert wide.rate_intervals == narrow.rate_intervals


def test_tables_without_a_gap_are_not_copied():
    """Without topics each battle is one, and they are large."""
    every = table([(0, 1, A, 0), (0, 1, B, 1)], 2, 2)
    same, half = every.of_topics(np.array([True, True])), every.of_topics([True, False])
    assert np.shares_memory(every.counts, same.counts)
    assert half.counts.tolist() == every.counts[:1].tolist()


@pytest.mark.parametrize("how", ["half", "opponents"])
def test_what_has_no_verdict_is_lost_at_worst_and_won_at_best(how):
    rows = [(0, 1, B, 0), (0, 1, TIE, 0), (0, 2, NAN, 0), (1, 2, NAN, 1), (0, 1, NAN, 2)]
    rows += [(0, 2, A, 2), (2, 3, NAN, 3)]

    def completed(run, outcome, sample):
        """A run's win rate where its open battles have this outcome for it."""
        mine = [(b, o) if a == run else (a, 1 - o) for a, b, o, _ in sample if run in (a, b)]
        mine = [(other, outcome if np.isnan(o) else o) for other, o in mine]
        if how == "half":
            return np.mean([o for _, o in mine]) if mine else np.nan
        by_opponent = {other: [o == A for one, o in mine if one == other] for other, _ in mine}
        return np.mean([np.mean(won) for won in by_opponent.values()]) if mine else np.nan

    found = rated(rows, 4, 4, win_rate=how, level=0.8, resamples=60, seed=2)
    draws = np.random.default_rng(2).integers(0, 4, size=(60, 4))
    samples = [[row for topic in drawn for row in rows if row[3] == topic] for drawn in draws]
    for run in range(4):
        assert found.rate[run] == pytest.approx(completed(run, 0, rows))
        assert found.rate_ceiling[run] == pytest.approx(completed(run, 1, rows))
        worst, best = (np.array([completed(run, end, one) for one in samples]) for end in (0, 1))
        ends = percentile_interval(worst, 0.8, 4).low, percentile_interval(best, 0.8, 4).high
        interval = found.rate_intervals[run]
        assert (interval.low, interval.high) == pytest.approx(ends)
        assert interval.undefined == np.isnan(worst).sum()
    judged = rated([row for row in rows if not np.isnan(row[2])], 4, 4)
    assert found.rating == pytest.approx(judged.rating, nan_ok=True)


@pytest.mark.parametrize("model", [BradleyTerry(), Davidson(), RaoKupper()])
def test_with_a_prior_no_resample_is_left_out(model):
    """Of battles that are all tied, or none at all, it makes ratings of 1000."""
    rows = [(0, 1, A, 0), (0, 1, TIE, 1), (1, 2, TIE, 1)]
    found = rated(rows, 3, 3, model, prior=1.0, resamples=200)
    assert [one.undefined for one in found.intervals] == [0, 0, 0]
    drawn = resampled_ratings(table(rows, 3, 3), np.array([[0, 3, 0], [0, 0, 3]]), model, 1.0)
    assert drawn == pytest.approx(np.full((2, 3), 1000.0))


@pytest.mark.parametrize("model", [BradleyTerry(), Davidson(), RaoKupper()])
def test_draws_of_topics_have_ratings_at_once_as_one_by_one(model):
    """Of a draw without finite ratings there are none, whatever stands beside it."""
    rng = np.random.default_rng(8)
    rows = [(*rng.choice(3, 2, replace=False), rng.choice([A, TIE, B]), n % 6) for n in range(30)]
    weights = rng.multinomial(6, np.full(6, 1 / 6), 40).astype(float)
    weights[::5] = np.eye(6)[rng.integers(0, 6, 8)]
    counts = table(rows, 4, 6)
    found = resampled_ratings(counts, weights, model)
    alone = np.concatenate([resampled_ratings(counts, one[None], model) for one in weights])
    assert found == pytest.approx(alone, abs=1e-4, nan_ok=True)
    rated = np.isfinite(found[:, :3]).all(axis=1)
    assert rated.any()
    assert not rated.all()


def test_b7_the_order_is_a_bit_of_a_hash():
    assert [swapped("sys-a", "sys-b", topic) for topic in ("q1", "q5", "q7", "rag2026-0")] == [
        False, False, True, False,
    ]  # fmt: skip
    assert shown("sys-a", "sys-b", "q7") == shown("sys-b", "sys-a", "q7") == ("sys-b", "sys-a")


def test_b8_battles_per_topic():
    asked = [(76, 2), (102, 2), (5, 1), (7, 1.5)]
    assert [battles_per_topic(*one) for one in asked] == [76, 102, 3, 6]


def test_a_run_without_a_battle_has_no_rating_and_keeps_others_from_none():
    found = rate(table(B1, 3), resamples=10)
    assert found.rating[:2] == pytest.approx([1095.4243, 904.5757], abs=5e-5)
    assert np.isnan(found.rating[2])
    assert found.parts[2] == -1


def test_ties_alone_leave_the_tie_parameter_open():
    rows = [(0, 1, TIE)] * 3
    assert rated(rows, 2).rating == pytest.approx([1000, 1000])
    for model in (Davidson(), RaoKupper()):
        assert "tie" in rated(rows, 2, model=model).reason
    assert rated(rows, 2, model=RaoKupper(1.5)).rating == pytest.approx([1000, 1000])


@pytest.mark.parametrize("model", [Davidson(), RaoKupper()])
@pytest.mark.parametrize(
    ("rows", "finite"),
    [
        ([(0, 1, A), (0, 1, TIE)], False),  # distance and ties grow together
        ([(0, 1, A), (0, 1, TIE), (1, 0, A)], True),
        ([(0, 1, A), (1, 2, TIE), (2, 0, TIE)], False),  # a circle of one win and two ties
        ([(0, 1, A), (1, 2, A), (2, 0, TIE)], True),
    ],
)
def test_a_fitted_tie_parameter_is_finite_where_some_circle_has_more_wins_than_ties(
    model, rows, finite
):
    found = rated(rows, 3 if (1, 2) in [row[:2] for row in rows] else 2, model=model)
    assert np.isfinite(found.rating).all() == finite
    assert (found.reason is None) == finite
    fixed = rated(rows, len(found.rating), model=RaoKupper(1.5))
    assert np.isfinite(fixed.rating).all()
    assert np.isfinite(rated(rows, len(found.rating), model=model, prior=1.0).rating).all()


def test_win_rate_over_opponents_gives_nothing_for_ties():
    counts = table([(0, 1, A), (0, 1, TIE), (2, 0, A)], 3)
    half, opponents = (
        win_rates(counts, counts.total[None], how)[0] for how in ("half", "opponents")
    )
    assert half == pytest.approx([1.5 / 3, 0.25, 1])
    assert opponents == pytest.approx([0.25, 0, 1])


def _loss(model, parameters, rows):
    """Minus the log-likelihood, written down again."""
    *r, s = parameters
    loss = 0.0
    for a, b, outcome in rows:
        i, j = np.exp(r[a]), np.exp(r[b])
        if model == "davidson":
            nu = np.exp(s)
            whole = i + j + nu * np.sqrt(i * j)
            p = {A: i / whole, TIE: nu * np.sqrt(i * j) / whole, B: j / whole}[outcome]
        else:
            theta = 1 + np.exp(s)
            win, lose = i / (i + theta * j), j / (j + theta * i)
            p = {A: win, TIE: 1 - win - lose, B: lose}[outcome]
        loss -= np.log(p)
    return loss + 1e-9 * np.square(r).sum()  # keeps the mean at 0


@pytest.mark.parametrize("model", [Davidson(), RaoKupper(), RaoKupper(1.3)])
def test_models_with_ties_are_at_the_maximum_that_another_optimiser_finds(model):
    name, rows = "davidson" if isinstance(model, Davidson) else "rao-kupper", [*B3, (1, 2, TIE)]

    def loss(x, of):
        return _loss(name, x if model.fitted else [*x[:3], np.log(0.3)], of)

    size = 4 if model.fitted else 3
    found = minimize(lambda x: loss(x, rows), np.zeros(size), tol=1e-12).x
    mine = rated(rows, 3, model=model)
    assert mine.rating == pytest.approx(ratings(found[:3] - found[:3].mean()), abs=0.02)
    tie = np.exp(found[3]) + (name == "rao-kupper") if model.fitted else 1.3
    assert mine.tie == pytest.approx(tie, abs=1e-4)
    # The sandwich, with derivatives by small steps; the inner tie parameter is log ν or log θ.
    places = (mine.rating - 1000) * np.log(10) / 400
    inner = [*places, *([np.log(mine.tie)] if model.fitted else [])]

    def inside(x, of):
        if name == "rao-kupper" and model.fitted:
            x = [*x[:3], np.log(np.expm1(x[3]))]
        return loss(x, of)

    def slope(x, of):
        return np.array([(inside(x + e, of) - inside(x - e, of)) / 2e-3 for e in steps])

    steps = 1e-3 * np.eye(size)
    bend = np.array([(slope(inner + e, rows) - slope(inner - e, rows)) / 2e-3 for e in steps])
    bend[:3, :3] += 1e-5 * len(rows) * np.eye(3)
    outer = sum(np.outer(one, one) for one in (slope(np.array(inner), [row]) for row in rows))
    spread = np.linalg.inv(bend) @ outer @ np.linalg.inv(bend)
    errors = 400 / np.log(10) * np.sqrt(np.diag(spread)[:3])
    assert mine.errors == pytest.approx(errors, rel=1e-3)


battles = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4), st.sampled_from([A, TIE, B])).filter(
        lambda one: one[0] != one[1]
    ),
    min_size=1,
    max_size=40,
)


@given(battles)
def test_wins_expected_are_wins_seen_and_the_side_does_not_matter(rows):
    counts = table(rows, 5)
    turned = table([(b, a, 1 - outcome) for a, b, outcome in rows], 5)
    assert (counts.counts == turned.counts).all()
    found = rate(counts, prior=0.5, resamples=1)
    r = (found.rating - 1000) * np.log(10) / 400
    for run in range(5):
        if not counts.fought[run]:
            continue
        won = sum(o if a == run else 1 - o for a, b, o in rows if run in (a, b))
        p = [
            1 / (1 + np.exp(r[b if a == run else a] - r[run])) for a, b, _ in rows if run in (a, b)
        ]
        pull = 0.5 * (0.5 - 1 / (1 + np.exp(-r[run])))
        assert won - sum(p) + pull == pytest.approx(0, abs=1e-6)


@given(battles)
def test_runs_are_rated_exactly_where_every_run_can_be_reached(rows):
    counts = table(rows, 5)
    found = rate(counts, resamples=1)
    better = {(a, b) for a, b, o in rows if o != B} | {(b, a) for a, b, o in rows if o != A}
    active = np.flatnonzero(counts.fought).tolist()
    reached = {one: {one} for one in active}
    for _ in active:
        for a, b in better:
            reached[a] |= reached[b]
    connected = all(set(active) == one for one in reached.values())
    assert (found.reason is None) == connected
    assert np.isfinite(found.rating[active]).all() == connected
    assert len(set(components(counts)[active])) == 1 or not connected


def test_many_fits_at_once_are_the_single_fits():
    rows = table([(0, 1, A, 0), (1, 2, A, 0), (2, 0, A, 0), (0, 1, TIE, 1), (2, 1, A, 1)], 3, 2)
    models = (BradleyTerry(), Davidson(), RaoKupper(1.05))
    for model in models:
        whole = fit(rows.counts, rows.first, rows.second, 3, model, 0.4)
        for topic in range(2):
            one = fit(rows.counts[topic : topic + 1], rows.first, rows.second, 3, model, 0.4)
            assert whole.strength[topic] == pytest.approx(one.strength[0], abs=1e-9)


def test_samples_leave_no_run_out_and_do_not_hang_on_the_order_of_names():
    runs = list("hgfedcba")
    for n in (4, 8, 9):
        found = drawn({"t": runs}, per_topic=n)
        assert len(found) == len(set(found)) == n
        assert {run for _, *pair in found for run in pair} == set(runs)
        assert found == drawn({"t": sorted(runs)}, per_topic=n)
    ring = drawn({"t": runs}, per_topic=8)
    assert all(sum(run in pair for _, *pair in ring) == 2 for run in runs)
    assert len(drawn({"t": runs, "u": runs[:5]}, per_run=1)) == 4 + 3
    assert drawn({"t": runs}, per_topic=99) == all_battles({"t": runs})
    pairs = drawn({topic: ["b", "a"] for topic in "stuv"}, topics_per_pair=2)
    assert len(pairs) == len(set(pairs)) == 2
    with pytest.raises(ValueError, match="one of"):
        drawn({"t": runs}, per_topic=2, per_run=1)


def test_the_next_battle_is_of_runs_that_are_close_and_little_known():
    rows = (
        [(0, 1, A)] * 8
        + [(1, 0, A)] * 8
        + [(0, 2, A)] * 9
        + [(1, 2, A)] * 9
        + [(2, 0, A), (2, 1, A)]
    )
    counts = table(rows, 4)
    every = next_battles(counts, 6, possible=lambda i, j: [7])
    first, second, *_ = every
    assert first[2] == 3  # that never fought
    assert first[0] == 7
    assert second != first  # the topic is used up for that pair
    # Each takes most from the volume of what is not known.
    strength = (rate(counts, prior=1.0, resamples=1).rating - 1000) * np.log(10) / 400
    strength = np.nan_to_num(strength)
    known = np.diag(expit(strength) * expit(-strength))

    def told(i, j):
        apart = np.eye(4)[i] - np.eye(4)[j]
        p = expit(strength[i] - strength[j])
        return p * (1 - p) * np.outer(apart, apart)

    for a, b, _ in rows:
        known += told(a, b)
    left = {(i, j) for i in range(4) for j in range(i + 1, 4)}
    for _, i, j in every:
        volumes = {pair: np.linalg.slogdet(known + told(*pair))[1] for pair in left}
        assert volumes[i, j] == pytest.approx(max(volumes.values()))
        known += told(i, j)
        left.remove((i, j))
    assert next_battles(counts, 3, possible=lambda i, j: []) == []
