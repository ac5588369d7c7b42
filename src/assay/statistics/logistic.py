"""Logistic regression by Newton's method. With a ridge, even separable data have a solution.

Source: McCullagh & Nelder 1989, chapter 4; le Cessie & van Houwelingen 1992 for the ridge.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Floats

_STEPS = 100
_CONVERGED = 1e-10
_PERFECT = 1e-6  # with a fit this good, the coefficients would grow for ever


def fit_logistic(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    ridge: float = 1.0,
    counts: npt.ArrayLike | None = None,
) -> Floats:
    """The coefficients of a logistic regression without an intercept.

    ``x``: observations × predictors. ``y``: 1 or 0 (or a share) for each observation. ``ridge``:
    half of it times the squared coefficients is added to the loss; 1 is what other packages call
    C = 1, and 0 the plain maximum-likelihood fit. ``counts``: how often each observation counts.
    Raises ValueError if the shapes do not fit, a number is not finite or out of range, or there is
    no solution (separable data without a ridge).
    """
    rows, target = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    n = np.ones(len(target)) if counts is None else np.asarray(counts, dtype=np.float64)
    if rows.ndim != 2 or target.shape != (len(rows),) or n.shape != target.shape or not len(target):
        raise ValueError("give a matrix, and one value for each of its rows")
    if not (np.isfinite(rows).all() and np.isfinite(target).all() and np.isfinite(n).all()):
        raise ValueError("a number is not finite")
    if ((target < 0) | (target > 1)).any() or (n < 0).any() or ridge < 0:
        raise ValueError("y must be from 0 to 1, counts and ridge not negative")
    beta = np.zeros(rows.shape[1])
    loss = _loss(beta, rows, target, n, ridge)
    for _ in range(_STEPS):
        # Clipped because exp overflows above 709.
        p = 1.0 / (1.0 + np.exp(-np.clip(rows @ beta, -500, 500)))
        if ridge == 0 and np.abs(p - target).max() < _PERFECT:
            break
        gradient = rows.T @ (n * (p - target)) + ridge * beta
        if np.abs(gradient).max() < _CONVERGED * max(1.0, float(n.sum())):
            return beta
        hessian = (rows * (n * p * (1 - p))[:, None]).T @ rows + ridge * np.eye(rows.shape[1])
        try:
            step = np.linalg.solve(hessian, gradient)
        except np.linalg.LinAlgError:
            raise ValueError("the predictors do not determine the coefficients") from None
        size = 1.0
        while size > 1e-8:  # halve the step until the loss falls
            tried = beta - size * step
            tried_loss = _loss(tried, rows, target, n, ridge)
            if tried_loss <= loss:
                break
            size /= 2
        change = float(np.abs(size * step).max())
        beta, loss = tried, tried_loss
        if change < _CONVERGED:
            return beta
    raise ValueError("there is no solution: the data are separable; use a ridge")


def _loss(beta: Floats, x: Floats, y: Floats, n: Floats, ridge: float) -> float:
    z = x @ beta
    return float((n * (np.logaddexp(0.0, z) - y * z)).sum() + ridge / 2 * (beta @ beta))
