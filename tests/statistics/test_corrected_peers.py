"""Whole topics, compared with `glide-py`, which has the same estimator (PPI++) for one run."""

from __future__ import annotations

import numpy as np
import pytest

from assay.statistics import corrected

SAID = {1: 0.5689175850016119, 2: 0.45358134171863684, 3: 0.5100726873468183, 4: 0.5787224513266634}
"""The results of glide-py 0.9.0 for these seeds; it needs Python 3.12."""
CASES = list(SAID)


def case(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A run's scores by people and by a judge of 60 topics, and which were drawn."""
    generator = np.random.default_rng(seed)
    people = generator.random(60)
    judge = 0.5 * people + generator.random(60)
    return people, judge, corrected.draw_topics(60, 12 + 6 * seed, seed)


def glides(seed: int) -> float:
    peer = pytest.importorskip("glide.estimators")
    people, judge, drawn = case(seed)
    found = peer.PPIMeanEstimator().estimate(np.where(drawn, people, np.nan), judge)
    return float(found.confidence_interval.mean)


def test_pinned_values_are_those_of_glide() -> None:
    assert {seed: glides(seed) for seed in CASES} == pytest.approx(SAID, abs=1e-12)


@pytest.mark.parametrize("seed", CASES)
def test_the_score_is_glides_except_for_the_judges_variance(seed: int) -> None:
    """glide-py divides by the judge's variance over all topics, Assay by that over the drawn ones,
    over which the covariance is computed, too."""
    people, judge, drawn = case(seed)
    own = corrected.topics(np.where(drawn, people, np.nan)[None], judge[None], drawn)
    assert 0 < own.judge_weight < 1
    alone = people[drawn].mean()
    spreads = judge[drawn].var(ddof=1) / judge.var(ddof=1)
    assert alone + (own.value[0] - alone) * spreads == pytest.approx(SAID[seed], abs=1e-12)
