"""Ranges of ranking measures, compared with every completion of the missing grades."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.measures import ranking_ranges
from assay.measures.batch import score_lists
from assay.measures.names import parse_measure
from assay.measures.ranking_ranges import KnownGrades, score_ranges

REACHED = ("AP", "AP@2", "AP(norm=min)@2", "Rprec", "Rprec(rel=2)", "RR", "P@2", "Recall@2",
           "Success@1")  # fmt: skip
SAFE = ("nDCG", "nDCG@2", "Q", "ERR", "nERR@3", "RBP")
MEASURES = [parse_measure(name) for name in (*REACHED, *SAFE)]
TOP = 2
CLOSE = 1e-9

ends = st.tuples(st.integers(0, TOP), st.integers(0, TOP)).map(sorted)
"""The bounds of a document's grade."""


@st.composite
def evaluations(draw):
    """Bounds of the grades of some topics' documents, and runs that rank them. Higher document
    numbers are documents outside the pool."""
    pools = draw(st.lists(st.lists(ends, max_size=4), min_size=1, max_size=3))
    pool = st.sampled_from(range(6))
    lists = st.lists(pool, unique=True, max_size=5)
    runs = draw(st.lists(st.tuples(*[lists] * len(pools)), min_size=1, max_size=3))
    return pools, runs


def known(pools, runs):
    every = [
        (run * len(pools) + topic, rank, *pools[topic][document])
        for run, lists in enumerate(runs)
        for topic, shown in enumerate(lists)
        for rank, document in enumerate(shown, 1)
        if document < len(pools[topic])
    ]
    judged = [(topic, *one) for topic, pool in enumerate(pools) for one in pool]
    at, ranks, worst, best = np.array(every, np.int64).reshape(-1, 4).T
    topics, least, most = np.array(judged, np.int64).reshape(-1, 3).T
    shown = np.array([len(shown) for lists in runs for shown in lists])
    return KnownGrades(
        at, ranks, worst.astype(float), best.astype(float), shown,
        topics, least.astype(float), most.astype(float), len(pools),
    )  # fmt: skip


def every_score(measure, pool, shown):
    """The scores for all grades that the documents may have."""
    every = list(product(*(range(low, high + 1) for low, high in pool)))
    lists = [[one[at] if at < len(pool) else None for at in shown] for one in every]
    return score_lists(measure, lists, every, TOP).tolist()


@settings(max_examples=40)
@given(evaluations())
def test_the_scores_of_all_completions_are_within_the_ends(evaluation):
    pools, runs = evaluation
    found = score_ranges(MEASURES, known(pools, runs), [float(TOP)])
    for measure in MEASURES:
        floors, ceilings = found[measure]
        for run, lists in enumerate(runs):
            for topic, shown in enumerate(lists):
                seen = every_score(measure, pools[topic], shown)
                floor, ceiling = floors[run, topic], ceilings[run, topic]
                assert floor <= min(seen) + CLOSE, measure
                assert ceiling >= max(seen) - CLOSE, measure
                if str(measure) in REACHED:
                    assert (floor, ceiling) == pytest.approx((min(seen), max(seen))), measure


@settings(max_examples=20)
@given(evaluations(), st.integers(1, 40))
def test_lists_scored_together_have_the_same_ends_as_alone_for_any_block_size(evaluation, room):
    pools, runs = evaluation
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking_ranges, "_AT_ONCE", room)
        found = score_ranges(MEASURES, known(pools, runs), [1.0, float(TOP)])
    for run, lists in enumerate(runs):
        for topic, shown in enumerate(lists):
            alone = known([pools[topic]], [(shown,)])
            for measure, own in score_ranges(MEASURES, alone, [1.0, float(TOP)]).items():
                assert [one[run, topic] for one in found[measure]] == [one[0, 0] for one in own]


def test_a_document_that_may_be_unjudged_is_unjudged_in_the_floor():
    some = known([[(0, 1)]], [([0, 5],)])._replace(worst=np.array([np.nan]))
    (ends,) = score_ranges([parse_measure("Judged")], some, [1.0]).values()
    assert [one.item() for one in ends] == [0.0, 0.5]


def test_long_lists_with_unknown_grades():
    """Any of a hundred documents may be relevant: only one not shown (worst), or all (best)."""
    pool, shown = [(0, 1)] * 100, list(range(60))
    found = score_ranges(MEASURES[:1], known([pool], [(shown,)] * 2), [1.0])[MEASURES[0]]
    assert [one.tolist() for one in found] == [[[0.0]] * 2, [[1.0]] * 2]
