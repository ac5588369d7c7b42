"""Input that would silently make an interval wrong is refused, with place and remedy."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from assay.statistics import corrected
from tests.statistics.trust_data import estimates

generator = np.random.default_rng(1)
COUNT = 40
LABELS = generator.integers(0, 2, COUNT).astype(float)
JUDGE = generator.integers(0, 4, COUNT).astype(float)
WEIGHTS = np.full((2, COUNT), 1 / COUNT)
WEIGHTS[0, :5] = WEIGHTS[1, 3:5] = 0
DRAWN = np.arange(COUNT) % 2 == 0
PI = np.full(COUNT, 0.5)
TOPIC = np.arange(COUNT) % 8
SCORES = generator.random((2, COUNT))
CONFIDENCE = generator.random(COUNT)


def put(array: np.ndarray, place: int, value: float) -> np.ndarray:
    """A copy of the array with a value changed at a place of its last axis."""
    changed = np.array(array, dtype=float)
    changed[..., place] = value
    return changed


def of_items(**changed: Any) -> corrected.Estimates:
    given = {"weights": WEIGHTS, "people": LABELS, "judge": JUDGE, "pi": PI, "drawn": DRAWN}
    return corrected.items(**{**given, "topic": TOPIC, **changed})


def of_topics(**changed: Any) -> corrected.Estimates:
    given = {"people": SCORES, "judge": SCORES, "drawn": DRAWN}
    return corrected.topics(**{**given, **changed})


def of_hmr(**changed: Any) -> corrected.Confidence:
    given = {"confidence": CONFIDENCE, "people": LABELS, "judge": JUDGE, "drawn": DRAWN}
    return corrected.hmr(**{**given, **changed})


def of_draw(**changed: Any) -> corrected.Draw:
    return corrected.draw(**{"weights": WEIGHTS, "n": 10, "seed": 1, **changed})


BOARD = estimates([0.5, 0.52], 0.01 * np.eye(2))


def of_next(**changed: Any) -> corrected.Draw:
    given = {"weights": WEIGHTS, "estimates": BOARD, "uncertainty": PI, "known": DRAWN, "n": 5}
    return corrected.next_batch(**{**given, "seed": 1, **changed})


FEW = np.arange(COUNT) < 2
ALL = {"drawn": np.full(COUNT, True), "pi": np.ones(COUNT)}

REFUSED: list[tuple[Callable[..., object], dict[str, Any], str]] = [
    # people's labels
    (of_items, {"people": put(LABELS, 2, np.nan)}, "item 3 was drawn.*label all"),
    (of_topics, {"people": put(SCORES, 4, np.nan)}, "topic 5 was drawn.*or wait"),
    (of_hmr, {"people": put(LABELS, 6, np.nan)}, "question 7 was drawn.*biases"),
    (of_items, {"people": np.full(COUNT, np.nan)}, "item 1, 3, 5, 7, 9 and 15 more were drawn"),
    (of_items, {"people": put(LABELS, 2, 2)}, "label 2 of item 3 is not from 0 to 1"),
    (of_items, {"people": LABELS, "bounds": (0, 0)}, "bounds must be"),
    (of_items, {"people": put(LABELS, 2, np.inf)}, "inf at position 3"),
    (of_items, {"people": LABELS[1:]}, r"shape \(39,\), but there are 40 items"),
    (of_items, {"people": np.stack([LABELS, LABELS])}, "one person's label"),
    (of_hmr, {"people": put(LABELS, 6, 0.5)}, "0.5 of answer 7 is neither 0 nor 1"),
    (of_hmr, {"people": np.stack([LABELS, LABELS])}, "one person's label"),
    (of_topics, {"people": SCORES[:1]}, "runs × topics"),
    # the judge's labels
    (of_items, {"judge": put(JUDGE, 1, np.nan)}, "no label for item 2 .*every item"),
    (of_items, {"judge": put(np.stack([JUDGE, JUDGE]), 1, np.nan)}, r"item 2 \(2 missing"),
    (of_topics, {"judge": put(SCORES, 1, np.nan)}, "no label for topic 2"),
    (of_hmr, {"judge": put(JUDGE, 1, np.nan)}, "no label for question 2"),
    (of_items, {"judge": JUDGE[1:]}, "judge's labels have shape"),
    (of_hmr, {"judge": JUDGE[1:]}, "verdicts have shape"),
    (of_topics, {"judge": SCORES[0]}, "runs × topics"),
    # the draw
    (of_items, {"pi": put(PI, 7, np.nan)}, "item 8 has no probability.*people chose"),
    (of_items, {"pi": put(PI, 7, 0)}, "item 8 counts.*pi is 0.*draw again"),
    (of_items, {"pi": put(PI, 4, 0)}, "item 5 counts for a run or was drawn"),
    (of_items, {"pi": put(PI, 7, 1.5)}, "pi of item 8 is 1.5"),
    (of_items, {"pi": put(PI, 7, -0.5)}, "pi of item 8 is -0.5"),
    (of_items, {"pi": PI[1:]}, "pi has shape"),
    (of_items, {"drawn": DRAWN.astype(int)}, "drawn must be True or False.*int64"),
    (of_topics, {"drawn": [0, 1, 2]}, "drawn must be True or False"),
    (of_hmr, {"drawn": DRAWN[1:]}, "drawn has shape"),
    (of_items, {"drawn": FEW}, "2 drawn items with labels are too few: at least 10"),
    (of_hmr, {"drawn": FEW}, "2 drawn questions .* at least 10"),
    (of_topics, {"drawn": FEW}, "2 drawn topics are too few: at least 3"),
    (of_topics, {"drawn": np.arange(COUNT) == 3}, "1 drawn topic is too few: at least 3"),
    (of_items, {"topic": TOPIC % 2}, "2 topics are too few: at least 3 .*draw and label more"),
    (of_items, {"topic": TOPIC * 0}, "1 topic is too few"),
    (of_items, {"topic": TOPIC % 2, **ALL, "population": "like these"}, "2 topics are too few"),
    # the measure
    (of_items, {"weights": 0 * WEIGHTS}, "all weights are 0"),
    (of_items, {"weights": WEIGHTS[0]}, "runs × items"),
    (of_items, {"weights": put(WEIGHTS, 2, np.nan)}, "nan at position 1, 3"),
    (of_items, {"topic": TOPIC + 0.0}, "topic must be 40 whole numbers.*np.unique"),
    (of_items, {"offset": [0, 0, 0]}, "offset has shape"),
    (of_hmr, {"confidence": put(CONFIDENCE, 3, 1.5)}, "1.5 of answer 4 is not from 0 to 1"),
    (of_hmr, {"confidence": put(CONFIDENCE, 3, np.nan)}, "nan at position 4"),
    (of_hmr, {"confidence": SCORES}, "one run"),
    # settings
    *[
        (of, {"population": "all"}, "'these' or 'like these'")
        for of in (of_items, of_topics, of_hmr)
    ],
    *[(of, {"level": 95}, "level must be between") for of in (of_items, of_topics, of_hmr)],
    # draws
    (of_draw, {"n": 39}, "39 labels, but only 38 items"),
    (of_draw, {"n": 0}, "n must be a whole number"),
    (of_draw, {"mix": 0}, "mix must be above 0"),
    (of_draw, {"mix": 1.1}, "at most 1"),
    (of_draw, {"seed": -1}, "seed must be"),
    (of_draw, {"design": "best"}, "leverage, uniform, pairs"),
    (of_draw, {"uncertainty": put(PI, 3, np.nan)}, "nan at position 4"),
    (of_draw, {"uncertainty": put(PI, 3, -1)}, "uncertainty of item 4 is below 0"),
    (of_draw, {"uncertainty": PI[1:]}, "uncertainty has shape"),
    (corrected.draw_topics, {"n_topics": 5, "n": 6, "seed": 1}, "6 of 5 topics"),
    (of_next, {"n": 21}, "only 19 items"),
    (of_next, {"known": [1, 2]}, "known must be True or False"),
    (of_next, {"weights": WEIGHTS[:1]}, "weights of 1 runs, but estimates of 2"),
    (of_next, {"mix": 0}, "mix must be above 0"),
    (of_next, {"estimates": estimates([0.1, 0.9], 1e-6 * np.eye(2))}, "every pair.*decided"),
    # the leaderboard
    (corrected.rank_sets, {"estimates": BOARD, "level": 1}, "level"),
    (corrected.rank_sets, {"estimates": BOARD, "draws": 0}, "draws"),
    (corrected.differences, {"estimates": BOARD, "level": 0}, "level"),
    (corrected.shrink, {"estimates": BOARD, "judge": [0.5]}, "one score for each"),
    (corrected.shrink, {"estimates": BOARD, "judge": [0.5, np.nan]}, "nan at position 2"),
    (
        corrected.tau_bounds,
        {"decided": np.eye(2), "value_a": [1, 2], "value_b": [1, 2]},
        "2 × 2 booleans",
    ),
    (
        corrected.tau_bounds,
        {"decided": np.eye(1) > 0, "value_a": [1], "value_b": [1]},
        "2 runs or more",
    ),
    (corrected.combine, {"batches": [], "sizes": []}, "each of 0 batches"),
    (corrected.combine, {"batches": [BOARD], "sizes": [1, 2]}, "each of 1 batches"),
    (corrected.combine, {"batches": [BOARD], "sizes": [0]}, "above 0"),
    (
        corrected.combine,
        {"batches": [BOARD, estimates([1, 2, 3], np.eye(3))], "sizes": [1, 1]},
        "batch 2 of 3",
    ),
    (corrected.combine, {"batches": [BOARD], "sizes": [1], "level": 0.9}, "not of level 0.9"),
    (
        corrected.combine,
        {"batches": [dataclasses.replace(BOARD, population="like these")], "sizes": [1]},
        "share these topics",
    ),
    (corrected.half_width, {"variance": -1, "n": 10, "tightest": 1}, "variance must be from 0"),
    (corrected.half_width, {"variance": 1, "n": 10, "tightest": 0}, "tightest must be above 0"),
]


@pytest.mark.parametrize(("call", "given", "message"), REFUSED)
def test_refused(call: Callable[..., object], given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(**given)


@pytest.mark.parametrize("call", [of_items, of_topics, of_hmr, of_draw, of_next])
def test_the_unchanged_arguments_are_accepted(call: Callable[..., object]) -> None:
    call()


def test_an_item_without_weight_may_have_probability_0() -> None:
    assert of_items(pi=put(PI, 3, 0)).labels == 20


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ((60, 100, 28, 50, 26, 50), "near chance.*drawn here"),
        ((60, 50, 45, 50, 40, 50), "positive is 60, more than n, which is 50"),
        ((60, 100, 51, 50, 40, 50), "true_positive is 51"),
        ((60, 100, 45, 50, -1, 50), "true_negative must be a whole number from 0"),
        ((60, 100, 45, 0, 40, 50), "m1 must be a whole number from 1"),
    ],
)
def test_rogan_gladen_refuses(counts: tuple[int, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        corrected.rogan_gladen(*counts)


def test_few_wrong_answers_give_a_warning() -> None:
    right = np.ones(COUNT)
    right[[2, 4, 5]] = 0
    with pytest.warns(UserWarning, match="only 2 of 20 drawn answers are wrong"):
        of_hmr(people=right)
    with pytest.warns(UserWarning, match="only 2 of 20 drawn answers are right"):
        of_hmr(people=1 - right)
