"""Corrected scores: estimates from a few labels by people and many by a judge.

A judge labels everything; people label a part that was drawn at random with known probabilities.
From both, the scores that people would have given are estimated, for all runs at once. The
intervals hold whatever errors the judge makes: a bad judge makes them wide, not wrong. Functions
take arrays, in which NaN means no label, and return frozen dataclasses. Input that could silently
make an interval wrong raises a ``ValueError`` that says what is wrong, where, and what to do.

* what people should label: :func:`draw_topics` (whole topics), :func:`draw` (single items),
  :func:`next_batch` (items that help to decide the order of runs);
* scores: :func:`topics` (any measure, from whole topics), :func:`items` (measures linear in the
  labels), :func:`hmr` (HMR, R_O, R_U, Accuracy);
* the leaderboard: :func:`differences`, :func:`rank_sets`, :func:`tau_bounds`, :func:`combine`,
  :func:`shrink`;
* what future labels would achieve: :func:`items_covariance`, :func:`topics_covariance`,
  :func:`expected`;
* an interval that may be checked after every label: :func:`half_width`;
* a judge whose error rates were measured elsewhere: :func:`rogan_gladen`.

``population`` is what an interval is about. ``"these"``: the score if people had labelled
everything here; if they did, the width is 0. ``"like these"``: the expected score on topics of this
kind; always wider, and needed for "system A is better than B".
"""

from assay.statistics.corrected.batches import combine, half_width
from assay.statistics.corrected.draws import Draw, draw, draw_topics, next_batch
from assay.statistics.corrected.error_rates import rogan_gladen
from assay.statistics.corrected.estimates import Differences, Estimates, differences
from assay.statistics.corrected.inputs import Population
from assay.statistics.corrected.leaderboard import RankSets, rank_sets, shrink, tau_bounds
from assay.statistics.corrected.modesty import Confidence, hmr
from assay.statistics.corrected.planning import (
    Expected,
    expected,
    items_covariance,
    topics_covariance,
)
from assay.statistics.corrected.single_items import items
from assay.statistics.corrected.whole_topics import topics

__all__ = [
    "Confidence",
    "Differences",
    "Draw",
    "Estimates",
    "Expected",
    "Population",
    "RankSets",
    "combine",
    "differences",
    "draw",
    "draw_topics",
    "expected",
    "half_width",
    "hmr",
    "items",
    "items_covariance",
    "next_batch",
    "rank_sets",
    "rogan_gladen",
    "shrink",
    "tau_bounds",
    "topics",
    "topics_covariance",
]
