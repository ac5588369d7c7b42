"""Scores from few people's labels and many judge labels, right whatever the judge's errors are.

A judge labels everything; people label a part that was drawn at random with known probability. The
score that people would have given is estimated from both, for all runs together: a bad judge makes
the intervals wide, never wrong. Arrays in, frozen dataclasses out; seeds are given; NaN means that
there is no label. All input that could make an interval wrong without anybody seeing it is a
``ValueError`` that says what, where and what to do.

* what people shall label: :func:`draw_topics` (whole topics), :func:`draw` (single items),
  :func:`next_batch` (what decides the order);
* scores: :func:`topics` (any measure, whole topics labelled), :func:`items` (measures linear in the
  labels), :func:`hmr` (HMR, R_O, R_U, Accuracy);
* the leaderboard: :func:`differences`, :func:`rank_sets`, :func:`tau_bounds`, :func:`combine`,
  :func:`shrink`;
* what labels to come will buy: :func:`items_covariance`, :func:`topics_covariance`,
  :func:`expected`;
* looking after every label: :func:`half_width`; a judge checked elsewhere: :func:`rogan_gladen`.

``population`` is what an interval is about. ``"these"``: the score had people labelled everything
here, so that it has width 0 when they did. ``"like these"``: the expected score on topics of this
kind, always wider, and what "system A is better than B" is about.
"""

from assay.statistics.corrected.batches import combine, half_width
from assay.statistics.corrected.carried import rogan_gladen
from assay.statistics.corrected.draws import Draw, draw, draw_topics, next_batch
from assay.statistics.corrected.estimates import Differences, Estimates, differences
from assay.statistics.corrected.given import Population
from assay.statistics.corrected.linear import items
from assay.statistics.corrected.modesty import Confidence, hmr
from assay.statistics.corrected.order import RankSets, rank_sets, shrink, tau_bounds
from assay.statistics.corrected.planned import (
    Expected,
    expected,
    items_covariance,
    topics_covariance,
)
from assay.statistics.corrected.whole import topics

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
