"""Coefficients of agreement, computed from counts for many resamples at once.

A coefficient follows from how often each label was given, and how many items got each pair of
different labels. Both are sums over topics, so all resamples cost one matrix product, and no table
of labels × labels is needed: only pairs of labels that occur take time and space. Undefined values
are NaN here; the public functions of :mod:`assay.statistics.agreement` turn them into ``None``.

Sources: Cohen 1960 and 1968 (κ and its weights); Krippendorff, Computing Krippendorff's
Alpha-Reliability (2011).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from assay.measures.arrays import Bools, Floats, Integers
from assay.statistics.tables import Cells, check_size, tally

Weights = Literal["unweighted", "linear", "quadratic"]
"""How much two different labels disagree in κ: by 1, by their distance, or by its square."""

Metric = Literal["nominal", "ordinal", "interval"]
"""How much two different labels disagree in α: by 1, by the squared number of labels given between
them, or by their squared distance."""


def kappas(
    rows: Floats,
    columns: Floats,
    apart: Floats,
    cells: Cells,
    values: Floats,
    weights: Weights = "unweighted",
) -> Floats:
    """Cohen's κ of B resamples, 1 − observed / expected disagreement; NaN if none is expected.

    ``rows``, ``columns``: B × k, how often the first and the second labeller gave each label.
    ``apart``: B × L, how many items got each pair of different labels. ``cells``: these L pairs,
    the first labeller's label and the second's. ``values``: the k label values, ascending.
    ``weights``: how much two labels disagree. Raises ValueError if ``weights`` is unknown.
    """
    n = rows.sum(axis=1)
    values = _scaled(values)
    distance = np.abs(values[cells[0]] - values[cells[1]])
    chance = np.square(n) - (rows * columns).sum(axis=1)  # exactly 0 if there is one label only
    if weights == "unweighted":
        observed, expected = apart.sum(axis=1), chance
    elif weights == "linear":
        below, under = rows.cumsum(axis=1)[:, :-1], columns.cumsum(axis=1)[:, :-1]
        observed, expected = apart @ distance, _split(below, under, n[:, None]) @ np.diff(values)
    elif weights == "quadratic":
        # Σ r_i c_j (v_i − v_j)² = n Σ (r_i + c_i) x_i² − 2 Σ r_i x_i Σ c_j x_j with x = v − centre,
        # for any centre. With the mean as centre, the last term is 0 but for rounding.
        centred = values - (rows @ values / n)[:, None]
        squares = ((rows + columns) * np.square(centred)).sum(axis=1)
        sums = (rows * centred).sum(axis=1) * (columns * centred).sum(axis=1)
        observed, expected = apart @ np.square(distance), n * squares - 2 * sums
    else:
        raise ValueError(f"weights must be unweighted, linear or quadratic, got {weights!r}")
    return 1.0 - _ratio(n * observed, expected, (chance > 0) & (expected > 0))


def alphas(totals: Floats, apart: Floats, cells: Cells, values: Floats, metric: Metric) -> Floats:
    """Krippendorff's α of B resamples; NaN if no disagreement is expected.

    α = 1 − (n − 1) Σ o_ck δ²_ck / Σ n_c n_k δ²_ck over the n pairable labels, n_c of them c.

    ``totals``: B × k, the n_c. ``apart``: B × L, the coincidences o_ck of each pair of different
    labels, counted in one order only. ``cells``: these L pairs. ``values``: the k label values,
    ascending. ``metric``: how much two labels disagree. Raises ValueError if ``metric`` is unknown.
    """
    values = _scaled(values)
    n = totals.sum(axis=1)
    chance = np.square(n) - np.square(totals).sum(axis=1)  # exactly 0 if there is one label only
    if metric == "nominal":
        observed, expected = apart.sum(axis=1), chance
    elif metric in ("interval", "ordinal"):
        if metric == "interval":
            positions, centre = values[None], totals @ values / np.maximum(n, 1)
        else:
            # Σ_{g=c..k} n_g − (n_c + n_k) / 2 is the distance between the mid-ranks of c and k.
            positions, centre = totals.cumsum(axis=1) - totals / 2, n / 2
        gaps = positions[:, cells[0]] - positions[:, cells[1]]
        # Σ n_c n_k (x_c − x_k)² = 2 n Σ n_c x_c² − 2 (Σ n_c x_c)², with any centre, as in kappas.
        centred = positions - centre[:, None]
        squares = (totals * np.square(centred)).sum(axis=1)
        sums = np.square((totals * centred).sum(axis=1))
        observed, expected = (apart * np.square(gaps)).sum(axis=1), 2 * (n * squares - sums)
    else:
        raise ValueError(f"metric must be nominal, ordinal or interval, got {metric!r}")
    return 1.0 - _ratio((n - 1) * 2 * observed, expected, (chance > 0) & (expected > 0))


def _scaled(values: Floats) -> Floats:
    """Divide by a power of two near the largest value, so that squares of tiny distances do not
    underflow. This rounds nothing."""
    scaled: Floats = np.ldexp(values, -np.frexp(np.abs(values).max(initial=0.0))[1])
    return scaled


def _split(below: Floats, under: Floats, n: Floats) -> Floats:
    """n times the number of items expected by chance to get labels on both sides of a threshold.
    ``below``, ``under``: how often the first and the second labeller gave a label below it."""
    return below * (n - under) + under * (n - below)


def _ratio(numerator: Floats, denominator: Floats, where: Bools) -> Floats:
    undefined = np.full(denominator.shape, np.nan)
    ratio: Floats = np.divide(numerator, denominator, out=undefined, where=where)
    return ratio


class LabelPairs:
    """The two labels of every item, prepared for resampling topics.

    ``first``, ``second``: for each item, the index of the two labels among the values. ``topic``:
    the number of each item's topic, from 0. ``topics``: the number of topics; each has an item.
    ``values``: the k label values, ascending. Raises ValueError if there are too many different
    labels for this number of topics.
    """

    def __init__(
        self, first: Integers, second: Integers, topic: Integers, topics: int, values: Floats
    ) -> None:
        k = len(values)
        differ = first != second
        pairs, which = np.unique(first[differ] * k + second[differ], return_inverse=True)
        check_size(k, topics * (3 * k + len(pairs)))
        self.values, self.cells = values, (pairs // k, pairs % k)
        self.widest = max(k, len(pairs))
        """The number of array cells that one resample needs."""
        self._n = np.bincount(topic, minlength=topics).astype(np.float64)
        self._apart = tally(topic[differ], which, topics, len(pairs))
        # Topics × labels: how many items got a lower label from the first, the second, and both.
        self._below, self._under, self._both = (
            _lower(tally(topic, labels, topics, k))
            for labels in (first, second, np.maximum(first, second))
        )

    def coefficients(self, weights: Floats) -> dict[str, Floats]:
        """The coefficients of every resample, by name: ``agreement``, ``kappa``, ``kappa_linear``,
        ``kappa_quadratic``, ``alpha_nominal``, ``alpha_ordinal``, ``alpha_interval``. ``weights``:
        resamples × topics, how often each topic is drawn."""
        n = weights @ self._n
        apart = weights @ self._apart
        rows, columns = (
            np.diff(weights @ lower, axis=1, append=n[:, None])
            for lower in (self._below, self._under)
        )
        kappa = (rows, columns, apart, self.cells, self.values)
        alpha = (rows + columns, apart, self.cells, self.values)
        return {
            "agreement": (n - apart.sum(axis=1)) / n,
            "kappa": kappas(*kappa),
            "kappa_linear": kappas(*kappa, "linear"),
            "kappa_quadratic": kappas(*kappa, "quadratic"),
            "alpha_nominal": alphas(*alpha, "nominal"),
            "alpha_ordinal": alphas(*alpha, "ordinal"),
            "alpha_interval": alphas(*alpha, "interval"),
        }

    def binary_kappas(self, weights: Floats, places: Integers) -> Floats:
        """Unweighted κ of binarised labels, resamples × thresholds.

        ``weights``: resamples × topics, how often each topic is drawn. ``places``: the indices of
        the thresholds among the values; a threshold and all higher labels count as 1, others as 0.
        """
        n = (weights @ self._n)[:, None]
        below, under, both = (
            weights @ lower[:, places] for lower in (self._below, self._under, self._both)
        )
        expected = _split(below, under, n)
        return 1.0 - _ratio(n * (below + under - 2 * both), expected, expected > 0)


def _lower(counts: Floats) -> Floats:
    """Topics × labels: how many labels are lower than each label."""
    lower: Floats = counts.cumsum(axis=1) - counts
    return lower
