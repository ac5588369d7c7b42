"""Coefficients of agreement from counts of labels, of the data themselves or of resamples.

A coefficient needs to know how often each label was given, and how many items got which two
different labels. Both are sums over topics, so a resample costs a product of matrices and no table
of labels × labels: the work grows with the number of labels, and of pairs of labels that occur.
Undefined is NaN here; the public functions of :mod:`assay.statistics.agreement` turn it into
``None``.

Sources: Cohen 1960 and 1968 (κ and its weights); Krippendorff, Computing Krippendorff's
Alpha-Reliability (2011).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from assay.measures.arrays import Bools, Floats, Integers
from assay.statistics.tables import Cells, check_size, tally

Weights = Literal["unweighted", "linear", "quadratic"]
"""How much two labels disagree in κ: by 1 if they differ, by their distance, or by its square."""

Metric = Literal["nominal", "ordinal", "interval"]
"""How much two labels disagree in α: by 1 if they differ, by the number of labels given between
them, squared, or by the square of their distance."""


def kappas(
    rows: Floats,
    columns: Floats,
    apart: Floats,
    cells: Cells,
    values: Floats,
    weights: Weights = "unweighted",
) -> Floats:
    """κ = 1 − observed / expected disagreement of B resamples; NaN if none is expected.

    Distances are those of the label values, so a label that no one gave changes nothing.

    ``rows``: B × k, how often the first labeller gave each label. ``columns``: B × k, how often the
    second did. ``apart``: B × L, how many items got each two different labels. ``cells``: which L
    pairs of labels those are, the first labeller's and the second's. ``values``: the k label
    values, ascending. ``weights``: how much two labels disagree. Raises ValueError if
    ``weights`` is not known.
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
        # Σ r_i c_j (v_i − v_j)² is n Σ (r_i + c_i) x_i² − 2 Σ r_i x_i Σ c_j x_j for x = v − any
        # middle. At the mean the last term is 0, but the mean is rounded.
        apart_from = values - (rows @ values / n)[:, None]
        squares = ((rows + columns) * np.square(apart_from)).sum(axis=1)
        sums = (rows * apart_from).sum(axis=1) * (columns * apart_from).sum(axis=1)
        observed, expected = apart @ np.square(distance), n * squares - 2 * sums
    else:
        raise ValueError(f"weights must be unweighted, linear or quadratic, got {weights!r}")
    return 1.0 - _ratio(n * observed, expected, (chance > 0) & (expected > 0))


def alphas(totals: Floats, apart: Floats, cells: Cells, values: Floats, metric: Metric) -> Floats:
    """Krippendorff's α of B resamples; NaN if no disagreement is expected.

    α = 1 − (n − 1) Σ o_ck δ²_ck / Σ n_c n_k δ²_ck over the n pairable labels, n_c of them c.

    ``totals``: B × k, the n_c. ``apart``: B × L, the coincidences o_ck of each two different
    labels, counted one way round. ``cells``: which L pairs of labels those are. ``values``: the k
    label values, ascending. ``metric``: how much two labels disagree. Raises ValueError if
    ``metric`` is not known.
    """
    values = _scaled(values)
    n = totals.sum(axis=1)
    chance = np.square(n) - np.square(totals).sum(axis=1)  # exactly 0 if there is one label only
    if metric == "nominal":
        observed, expected = apart.sum(axis=1), chance
    elif metric in ("interval", "ordinal"):
        if metric == "interval":
            places, middle = values[None], totals @ values / np.maximum(n, 1)
        else:
            # Σ_{g=c..k} n_g − (n_c + n_k) / 2 is the distance of the middles of c's and k's ranks.
            places, middle = totals.cumsum(axis=1) - totals / 2, n / 2
        gaps = places[:, cells[0]] - places[:, cells[1]]
        # Σ n_c n_k (x_c − x_k)² is 2 n Σ n_c x_c² − 2 (Σ n_c x_c)² for x from any middle, as above.
        apart_from = places - middle[:, None]
        squares = (totals * np.square(apart_from)).sum(axis=1)
        sums = np.square((totals * apart_from).sum(axis=1))
        observed, expected = (apart * np.square(gaps)).sum(axis=1), 2 * (n * squares - sums)
    else:
        raise ValueError(f"metric must be nominal, ordinal or interval, got {metric!r}")
    return 1.0 - _ratio((n - 1) * 2 * observed, expected, (chance > 0) & (expected > 0))


def _scaled(values: Floats) -> Floats:
    """Divide by a power of two near the largest: that rounds nothing, and no square of a distance
    becomes 0 because the labels are tiny."""
    scaled: Floats = np.ldexp(values, -np.frexp(np.abs(values).max(initial=0.0))[1])
    return scaled


def _split(below: Floats, under: Floats, n: Floats) -> Floats:
    """n times how many of n items chance would give labels on both sides of a threshold.

    ``below`` and ``under`` are how often the one and the other labeller gave a label below it.
    """
    return below * (n - under) + under * (n - below)


def _ratio(above: Floats, below: Floats, where: Bools) -> Floats:
    ratio: Floats = np.divide(above, below, out=np.full(below.shape, np.nan), where=where)
    return ratio


class LabelPairs:
    """The two labels of every item, ready for any number of resamples of topics.

    ``first``: the place of each item's first label among the values. ``second``: that of its
    second. ``topic``: the number of each item's topic, from 0. ``topics``: how many topics there
    are; each has an item. ``values``: the k label values, ascending. Raises ValueError if there
    are too many different labels for as many topics.
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
        """How many numbers a resample takes at a time."""
        self._n = np.bincount(topic, minlength=topics).astype(np.float64)
        self._apart = tally(topic[differ], which, topics, len(pairs))
        # Of every topic and label: how many labels of the first, of the second and of both are
        # lower.
        self._below, self._under, self._both = (
            _lower(tally(topic, labels, topics, k))
            for labels in (first, second, np.maximum(first, second))
        )

    def coefficients(self, weights: Floats) -> dict[str, Floats]:
        """The coefficients of every resample by name, those of binarised labels aside.

        The names: ``agreement``, ``kappa``, ``kappa_linear``, ``kappa_quadratic``,
        ``alpha_nominal``, ``alpha_ordinal``, ``alpha_interval``. ``weights``: resamples × topics,
        how often each topic is drawn.
        """
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
        """Unweighted κ of every resample after binarisation at each of some labels.

        ``weights``: resamples × topics, how often each topic is drawn. ``places``: the places,
        among the values, of the labels that count as 1 with all higher ones; the others count as 0.
        Returns one row a resample, one column a threshold.
        """
        n = (weights @ self._n)[:, None]
        below, under, both = (
            weights @ lower[:, places] for lower in (self._below, self._under, self._both)
        )
        expected = _split(below, under, n)
        return 1.0 - _ratio(n * (below + under - 2 * both), expected, expected > 0)


def _lower(counts: Floats) -> Floats:
    """How many labels of each topic are lower than each label."""
    lower: Floats = counts.cumsum(axis=1) - counts
    return lower
