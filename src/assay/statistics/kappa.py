"""Coefficients of agreement from tables of counts, for one table or a stack of resampled ones.

Everything here takes stacks: *tables* has the shape B × k × k, one confusion table (rows: first
labeller) or coincidence table a resample, over k label values in ascending order. Undefined is NaN
here; the public functions of :mod:`assay.statistics.agreement` turn it into ``None``.

Sources: Cohen 1960 and 1968 (κ and its weights); Krippendorff, Computing Krippendorff's
Alpha-Reliability (2011).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from assay.measures.confidence import Floats, Integers

__all__ = [
    "Metric",
    "Weights",
    "all_coefficients",
    "alpha_of_coincidences",
    "coincidence_tables",
    "kappa_of_tables",
]

Weights = Literal["unweighted", "linear", "quadratic"]
"""How much two labels disagree in κ: by 1 if they differ, by their distance, or by its square."""

Metric = Literal["nominal", "ordinal", "interval"]
"""How much two labels disagree in α: by 1 if they differ, by the number of labels given between
them, squared, or by the square of their distance."""


def kappa_of_tables(tables: Floats, values: Floats, weights: Weights = "unweighted") -> Floats:
    """Return κ = 1 − observed / expected disagreement of every table; NaN where none is expected.

    Distances are those of the label values, so a label that no one gave changes nothing.

    Raises:
        ValueError: *weights* is not known.
    """
    distance = np.abs(values[:, None] - values[None, :])
    if weights == "unweighted":
        distance = (distance > 0).astype(np.float64)
    elif weights == "quadratic":
        distance = np.square(distance)
    elif weights != "linear":
        raise ValueError(f"weights must be unweighted, linear or quadratic, got {weights!r}")
    observed = np.tensordot(tables, distance, axes=2)
    rows, columns = tables.sum(axis=2), tables.sum(axis=1)
    expected = ((rows @ distance) * columns).sum(axis=1)
    return 1.0 - _ratio(observed * rows.sum(axis=1), expected)


def alpha_of_coincidences(coincidences: Floats, values: Floats, metric: Metric) -> Floats:
    """Return Krippendorff's α of every coincidence table; NaN where no disagreement is expected.

    α = 1 − (n − 1) Σ o_ck δ²_ck / Σ n_c n_k δ²_ck over the n pairable labels, n_c of them c.

    Raises:
        ValueError: *metric* is not known.
    """
    totals = coincidences.sum(axis=2)
    n = totals.sum(axis=1)
    if metric == "nominal":
        distance = 1.0 - np.eye(len(values))[None]
    elif metric == "interval":
        distance = np.square(values[:, None] - values[None, :])[None]
    elif metric == "ordinal":
        # Σ_{g=c..k} n_g − (n_c + n_k) / 2 is the distance of the middles of c's and k's ranks.
        middles = np.cumsum(totals, axis=1) - totals / 2.0
        distance = np.square(middles[:, :, None] - middles[:, None, :])
    else:
        raise ValueError(f"metric must be nominal, ordinal or interval, got {metric!r}")
    observed = (coincidences * distance).sum(axis=(1, 2))
    expected = (totals[:, :, None] * totals[:, None, :] * distance).sum(axis=(1, 2))
    return 1.0 - _ratio((n - 1.0) * observed, expected)


def _ratio(above: Floats, below: Floats) -> Floats:
    ratio: Floats = np.divide(above, below, out=np.full(len(below), np.nan), where=below > 0)
    return ratio


def coincidence_tables(counts: Floats, topic: Integers, topics: int) -> Floats:
    """Return the coincidence table of every topic, topics × k × k.

    A unit with m labels adds each of its m(m − 1) ordered pairs with weight 1 / (m − 1); a unit
    with fewer than two labels adds nothing.

    Args:
        counts: units × k, how many labellers gave the unit each label.
        topic: the number of each unit's topic, from 0.
        topics: how many topics there are.
    """
    k = counts.shape[1]
    m = counts.sum(axis=1)
    share = np.divide(1.0, m - 1.0, out=np.zeros(len(m)), where=m > 1)
    order = np.argsort(topic, kind="stable")
    ends = np.searchsorted(topic[order], np.arange(topics + 1))
    tables = np.empty((topics, k, k))
    for number in range(topics):
        units = order[ends[number] : ends[number + 1]]
        weighted = counts[units] * share[units, None]
        tables[number] = weighted.T @ counts[units] - np.diag(weighted.sum(axis=0))
    return tables


def all_coefficients(
    tables: Floats, values: Floats, thresholds: Sequence[float]
) -> dict[str, Floats]:
    """Return every coefficient for two labellers of every table, by name.

    The names: ``agreement``, ``kappa``, ``kappa_linear``, ``kappa_quadratic``, ``alpha_nominal``,
    ``alpha_ordinal``, ``alpha_interval``, and ``kappa@t`` for every threshold t: unweighted κ after
    binarisation at label ≥ t.
    """
    n = tables.sum(axis=(1, 2))
    same = np.trace(tables, axis1=1, axis2=2)
    coincidences = tables + tables.transpose(0, 2, 1)
    found = {
        "agreement": _ratio(same, n),
        "kappa": kappa_of_tables(tables, values),
        "kappa_linear": kappa_of_tables(tables, values, "linear"),
        "kappa_quadratic": kappa_of_tables(tables, values, "quadratic"),
        "alpha_nominal": alpha_of_coincidences(coincidences, values, "nominal"),
        "alpha_ordinal": alpha_of_coincidences(coincidences, values, "ordinal"),
        "alpha_interval": alpha_of_coincidences(coincidences, values, "interval"),
    }
    for threshold in thresholds:
        sides = np.stack([values < threshold, values >= threshold]).astype(np.float64)
        binary = np.einsum("pi,bij,qj->bpq", sides, tables, sides)
        found[f"kappa@{threshold:g}"] = kappa_of_tables(binary, np.array([0.0, 1.0]))
    return found
