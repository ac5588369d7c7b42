"""Claim measures: golden values, and both ends against all completions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.measures.claims import (
    ANSWER_CELLS,
    REFERENCE_CELLS,
    ClaimLabels,
    answer_scores,
    any_yes,
    average_precision,
    f1,
    reference_scores,
    utilization,
)
from assay.measures.ranges import Range

OPEN = float("nan")


def row(text: str) -> list[float]:
    return [OPEN if one == "?" else float(one) for one in text]


def labels_of(e, c, r=(), u=(), passages: int = 0) -> ClaimLabels:
    """Labels from rows. ``passages``: the number of passages, if there is no claim to show it."""
    width = max(passages, *(len(row) for row in (*e, *r)), 0)
    table = np.array([*r], dtype=float).reshape(len(r), width)
    return ClaimLabels(
        np.array([*e], dtype=float).reshape(len(e), width),
        np.array([*c], dtype=float),
        table,
        np.array([*u], dtype=float),
        any_yes(table.T),
    )


def made(e: str, c: str, r: str, u: str) -> ClaimLabels:
    return labels_of([row(one) for one in e.split()], row(c), [row(one) for one in r.split()],
                     row(u))  # fmt: skip


def scores(labels: ClaimLabels) -> dict[str, Range]:
    found = {**answer_scores(labels), **reference_scores(labels)}
    found["ClaimF1"] = f1(found["ClaimPrecision"], found["ClaimRecall"])
    return found


def test_golden_g1():
    labels = made("100 000 101 010 000", "11000", "100 100 000 001 000", "10110")
    wanted = {
        "Faithfulness": 0.6, "ClaimPrecision": 0.4, "ClaimRecall": 0.6, "ClaimF1": 0.48,
        "ContextRecall": 0.6, "ContextPrecision(claims)": 2 / 3, "GroundedRight": 0.2,
        "SelfKnowledge": 0.2, "NoiseRelevant": 0.2, "NoiseIrrelevant": 0.2, "Hallucination": 0.2,
        "NoClaim": 0, "UsedFound": 0.4, "UsedOwn": 0.2, "FoundUnused": 0.2, "Missed": 0.2,
    }  # fmt: skip
    assert {name: one.value for name, one in scores(labels).items()} == pytest.approx(wanted)
    assert utilization([labels]) == pytest.approx((2 / 3, 2 / 3))


def test_golden_g2_with_unknown_labels():
    labels = made("1?0 000 ?01 0?0 000", "110?0", "1?0 ?00 000 001 000", "1?110")
    wanted = {
        "Faithfulness": (0.4, 0.6), "ClaimPrecision": (0.4, 0.6), "ClaimRecall": (0.6, 0.8),
        "ClaimF1": (0.48, 0.685714), "ContextRecall": (0.4, 0.6), "SelfKnowledge": (0.2, 0.4),
        "Hallucination": (0.4, 0.2), "NoiseRelevant": (0.4, 0.2), "NoiseIrrelevant": (0.2, 0),
        "Missed": (0.4, 0.2), "FoundUnused": (0.2, 0),
    }  # fmt: skip
    found = scores(labels)
    for name, ends in wanted.items():
        assert found[name] == pytest.approx(ends, abs=1e-6), name
    assert utilization([labels]) == pytest.approx((2 / 3, 1))


@pytest.mark.parametrize(
    ("text", "ends"),
    [("101", (0.833333, 0.833333)), ("001", (1 / 3, 1 / 3)), ("10000", (1, 1)), ("000", (0, 0)),
     ("1?1", (0.833333, 1)), ("?01", (1 / 3, 0.833333)), ("?1?", (0.5, 1)), ("?0?", (0, 1)),
     ("", (0, 0))],
)  # fmt: skip
def test_golden_g3_average_precision(text: str, ends: tuple[float, float]):
    assert average_precision(np.array(row(text))) == pytest.approx(ends, abs=1e-6)


def test_golden_g4_precision_and_recall_are_over_their_own_lists():
    labels = labels_of([[1.0]] * 7, [1.0] * 6 + [0.0], [[0.0]] * 3, [1.0, 0.0, 0.0])
    found = scores(labels)
    assert found["ClaimPrecision"].value == pytest.approx(0.857143, abs=1e-6)
    assert found["ClaimRecall"].value == pytest.approx(1 / 3)
    assert found["ClaimF1"].value == pytest.approx(0.48)


def test_golden_g5_and_g9():
    labels = labels_of([[1.0], [1.0], [0.0], [0.0]], [1.0] * 4)
    assert answer_scores(labels, reference=False) == {"Faithfulness": Range(0.5, 0.5)}
    refused = answer_scores(labels_of([], [], [[1.0]], [0.0], passages=1))
    assert [refused[name].value for name in ("Faithfulness", "NoClaim", "Hallucination")] == [
        0,
        1,
        0,
    ]


def test_golden_g10_utilization_is_a_ratio_of_totals():
    def of(found: int, used: int) -> ClaimLabels:
        u = [1.0] * used + [0.0] * (4 - used)
        return labels_of([], [], [[float(n < found)] for n in range(4)], u)

    assert utilization([of(4, 1), of(0, 0), of(1, 1)]) == pytest.approx((0.4, 0.4))
    assert utilization([of(0, 0)]) is None


def _cells(rows: int, columns: int) -> st.SearchStrategy[list[list[float]]]:
    cell = st.sampled_from([0.0, 1.0, OPEN])
    return st.lists(
        st.lists(cell, min_size=columns, max_size=columns), min_size=rows, max_size=rows
    )


@st.composite
def some_labels(draw: st.DrawFn) -> ClaimLabels:
    a, r, p = (draw(st.integers(0, 2)) for _ in range(3))
    e, found = draw(_cells(a, p)), draw(_cells(r, p))
    c, u = draw(_cells(1, a))[0], draw(_cells(1, r))[0]
    return labels_of(e, c, found, u, passages=p)


def completions(labels: ClaimLabels) -> list[ClaimLabels]:
    parts = [labels.e, labels.c, labels.r, labels.u]
    flat = np.concatenate([part.ravel() for part in parts])
    places = np.flatnonzero(np.isnan(flat))
    found = []
    for values in product((0.0, 1.0), repeat=len(places)):
        filled = flat.copy()
        filled[places] = values
        e, c, r, u = (
            one.reshape(part.shape)
            for one, part in zip(np.split(filled, np.cumsum([p.size for p in parts])[:-1]), parts,
                                 strict=True)
        )  # fmt: skip
        found.append(labels_of(e.tolist(), c.tolist(), r.tolist(), u.tolist(),
                                    passages=labels.e.shape[1]))  # fmt: skip
    return found


@given(some_labels())
def test_every_end_is_reached_by_a_completion(labels: ClaimLabels):
    if sum(np.isnan(part).sum() for part in (labels.e, labels.c, labels.r, labels.u)) > 8:
        return
    every = [scores(one) for one in completions(labels)]
    for name, ends in scores(labels).items():
        values = [one[name].value for one in every]
        assert None not in values
        assert (min(ends), max(ends)) == pytest.approx((min(values), max(values))), name
    used = [ends for one in completions(labels) if (ends := utilization([one])) is not None]
    own = utilization([labels])
    if own is None:
        assert not used
    else:
        least = min((one.floor for one in used), default=0.0)
        assert own.floor <= least + 1e-9  # nothing found is 0
        assert own.ceiling == pytest.approx(max((one.ceiling for one in used), default=0.0))


@given(some_labels())
def test_cells_sum_to_one(labels: ClaimLabels):
    whole = completions(labels)[0] if np.isnan(labels.e).sum() < 5 else None
    if whole is None or any(np.isnan(p).any() for p in (whole.c, whole.u)):
        return
    found = scores(whole)
    assert sum(found[name].floor for name in ANSWER_CELLS) == pytest.approx(1)
    if len(whole.u):
        assert sum(found[name].floor for name in REFERENCE_CELLS) == pytest.approx(1)


@given(st.lists(st.sampled_from([0.0, 1.0, OPEN]), max_size=7))
def test_average_precision_against_all_completions(relevant: list[float]):
    places = [n for n, one in enumerate(relevant) if one != one]
    values = []
    for filled in product((0.0, 1.0), repeat=len(places)):
        one = np.array(relevant)
        one[places] = filled
        values.append(average_precision(one).floor)
    assert average_precision(np.array(relevant)) == pytest.approx((min(values), max(values)))
