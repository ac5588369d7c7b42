"""Logistic regression by Newton's method, with a ridge so that separable data have a solution.

Source: McCullagh & Nelder 1989, chapter 4; le Cessie & van Houwelingen 1992 for the ridge.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Floats

_STEPS = 100
_SETTLED = 1e-10
_PERFECT = 1e-6  # a fit this good has no end: the coefficients grow for ever


def fit_logistic(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    ridge: float = 1.0,
    counts: npt.ArrayLike | None = None,
) -> Floats:
    """The coefficients of a logistic regression without an intercept.

    ``x``: rows are observations, columns the predictors. ``y``: 1 or 0 (or a share) for each
    observation. ``ridge``: half of it times the squared coefficients is added to the loss; 1 is
    what other packages call C = 1. 0 is the plain maximum-likelihood fit. ``counts``: how many
    times each observation counts. Raises ValueError if shapes do not fit, a number is not finite
    or out of range, or there is no solution (separable data without a ridge).
    """
    rows, said = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    n = np.ones(len(said)) if counts is None else np.asarray(counts, dtype=np.float64)
    if rows.ndim != 2 or said.shape != (len(rows),) or n.shape != said.shape or not len(said):
        raise ValueError("give a matrix, and one value for each of its rows")
    if not (np.isfinite(rows).all() and np.isfinite(said).all() and np.isfinite(n).all()):
        raise ValueError("a number is not finite")
    if ((said < 0) | (said > 1)).any() or (n < 0).any() or ridge < 0:
        raise ValueError("y must be from 0 to 1, counts and ridge not negative")
    beta = np.zeros(rows.shape[1])
    loss = _loss(beta, rows, said, n, ridge)
    for _ in range(_STEPS):
        # (exp of more than 709 is no number.)
        p = 1.0 / (1.0 + np.exp(-np.clip(rows @ beta, -500, 500)))
        if ridge == 0 and np.abs(p - said).max() < _PERFECT:
            break
        gradient = rows.T @ (n * (p - said)) + ridge * beta
        if np.abs(gradient).max() < _SETTLED * max(1.0, float(n.sum())):
            return beta
        bend = (rows * (n * p * (1 - p))[:, None]).T @ rows + ridge * np.eye(rows.shape[1])
        try:
            step = np.linalg.solve(bend, gradient)
        except np.linalg.LinAlgError:
            raise ValueError("the predictors do not determine the coefficients") from None
        size = 1.0
        while size > 1e-8:  # halve the step until the loss falls
            tried = beta - size * step
            better = _loss(tried, rows, said, n, ridge)
            if better <= loss:
                break
            size /= 2
        change = float(np.abs(size * step).max())
        beta, loss = tried, better
        if change < _SETTLED:
            return beta
    raise ValueError("there is no solution: the data are separable; use a ridge")


def _loss(beta: Floats, x: Floats, y: Floats, n: Floats, ridge: float) -> float:
    z = x @ beta
    return float((n * (np.logaddexp(0.0, z) - y * z)).sum() + ridge / 2 * (beta @ beta))
