"""Small made-up input for corrected scores, and a comparison of results."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st

from assay.statistics import corrected
from assay.statistics.corrected import Estimates

seeds = st.integers(0, 2**32 - 1)
populations = st.sampled_from(["these", "like these"])
EXACT = {"rel": 1e-9, "abs": 1e-9}


class Topics(NamedTuple):
    people: np.ndarray
    judge: np.ndarray
    drawn: np.ndarray


def made_topics(seed: int) -> Topics:
    generator = np.random.default_rng(seed)
    runs, n_topics = generator.integers(1, 6), generator.integers(4, 12)
    people = generator.random((runs, n_topics))
    judge = generator.random() * people + generator.random((runs, n_topics))
    drawn = corrected.draw_topics(int(n_topics), int(generator.integers(3, n_topics)), seed)
    return Topics(people, judge, drawn)


class Items(NamedTuple):
    weights: np.ndarray
    people: np.ndarray
    judge: np.ndarray
    pi: np.ndarray
    drawn: np.ndarray
    topic: np.ndarray


def made_items(seed: int) -> Items:
    generator = np.random.default_rng(seed)
    runs, count = int(generator.integers(1, 5)), int(generator.integers(40, 80))
    weights = np.where(generator.random((runs, count)) < 0.7, generator.random((runs, count)), 0)
    weights[:, :16] = 0.1
    labels = generator.choice([0, 0.5, 1], count)
    judge = np.clip(np.round(2 * labels + generator.normal(0, 1, count)), 0, 3)
    draw = corrected.draw(weights, count // 3, uncertainty=generator.random(count), seed=seed)
    while draw.drawn.sum() < 10:
        seed += 1
        draw = corrected.draw(weights, count // 3, seed=seed)
    topic = generator.permutation(np.arange(count) % 9)
    return Items(weights, labels, judge, draw.pi, draw.drawn, topic)


def same(one: Estimates, other: Estimates, order: np.ndarray | None = None) -> bool:
    """Whether two estimates are equal, with the other's runs in this ``order``."""
    for field in dataclasses.fields(one):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if order is not None and field.name == "covariance":
            b = b[np.ix_(order, order)]
        elif order is not None and isinstance(b, np.ndarray):
            b = b[order]
        if isinstance(a, str):
            assert a == b
        else:
            assert a == pytest.approx(b, **EXACT), field.name
    return True
