"""Models of the outcome of a battle between two runs, fitted by Newton's method.

Every run has a log-strength r; d = r_i − r_j. Outcomes are numbered: 0 the first wins, 1 a tie, 2
the second wins. The log-likelihood of all three models is concave, so the fit is the maximum.

Sources: Bradley & Terry 1952; Davidson 1970; Rao & Kupper 1967.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit, log_expit

from assay.measures.arrays import Floats, Integers
from assay.measures.ranges import ROUNDING

_STEPS = 100
_HALVINGS = 40
_CONVERGED = 1e-10
_NO_TIES = {"Davidson": -40.0, "RaoKupper": 1e-12}
"""The tie parameter if there are no ties, practically at its limit."""
_MOST_TIES = 0.99
"""The most ties, as a share of battles, assumed for the starting value of the tie parameter."""


class Model(Protocol):
    """The probability of each outcome. Arrays of pairs are … × P, arrays of outcomes … × 3 × P; the
    tie parameter ``s`` is … × 1."""

    @property
    def fitted(self) -> bool:
        """Whether the tie parameter is fitted."""

    def start(self, ties: Floats) -> Floats:
        """The tie parameter with which equal runs tie a share ``ties`` of their battles."""

    def outcomes(self, d: Floats, s: Floats) -> tuple[Floats, Floats, Floats]:
        """The log-likelihood of each outcome, and its derivatives in d and s."""

    def curvature(self, d: Floats, s: Floats, counts: Floats) -> tuple[Floats, Floats, Floats]:
        """The negative second derivatives of the log-likelihood of the counts: dd, ds and ss."""

    def tie(self, s: Floats) -> Floats:
        """The tie parameter as the papers define it: ν or θ."""


@dataclass(frozen=True)
class BradleyTerry:
    """P(i beats j) = σ(d); a tie counts as half a win for each."""

    fitted: bool = False

    def start(self, ties: Floats) -> Floats:
        return np.zeros_like(ties)

    def outcomes(self, d: Floats, s: Floats) -> tuple[Floats, Floats, Floats]:
        win, loss, p = log_expit(d), log_expit(-d), expit(d)
        by_d = np.stack([1 - p, 0.5 - p, -p], axis=-2)
        return np.stack([win, (win + loss) / 2, loss], axis=-2), by_d, np.zeros_like(by_d)

    def curvature(self, d: Floats, s: Floats, counts: Floats) -> tuple[Floats, Floats, Floats]:
        dd = counts.sum(axis=-2) * expit(d) * expit(-d)
        return dd, np.zeros_like(dd), np.zeros_like(dd)

    def tie(self, s: Floats) -> Floats:
        return np.full_like(s, np.nan)


@dataclass(frozen=True)
class Davidson:
    """P(i) = π_i/D, P(tie) = ν√(π_i π_j)/D, D = π_i + π_j + ν√(π_i π_j); s = log ν, fitted."""

    fitted: bool = True

    def start(self, ties: Floats) -> Floats:
        share = np.where(ties > 0, np.minimum(ties, _MOST_TIES), 0.5)
        return np.where(ties > 0, np.log(2 * share / (1 - share)), _NO_TIES["Davidson"])

    def _logs(self, d: Floats, s: Floats) -> Floats:
        logs = np.stack(np.broadcast_arrays(d / 2, s, -d / 2), axis=-2)
        return np.asarray(logs - np.logaddexp.reduce(logs, axis=-2, keepdims=True))

    def outcomes(self, d: Floats, s: Floats) -> tuple[Floats, Floats, Floats]:
        logs = self._logs(d, s)
        win, tie, loss = (np.exp(logs[..., one, :]) for one in range(3))
        lead = (win - loss) / 2
        by_d = np.stack([0.5 - lead, -lead, -0.5 - lead], axis=-2)
        return logs, by_d, np.stack([-tie, 1 - tie, -tie], axis=-2)

    def curvature(self, d: Floats, s: Floats, counts: Floats) -> tuple[Floats, Floats, Floats]:
        logs, n = self._logs(d, s), counts.sum(axis=-2)
        win, tie, loss = (np.exp(logs[..., one, :]) for one in range(3))
        lead = (win - loss) / 2
        return n * ((win + loss) / 4 - lead**2), -n * lead * tie, n * tie * (1 - tie)

    def tie(self, s: Floats) -> Floats:
        return np.exp(s)


@dataclass(frozen=True)
class RaoKupper:
    """P(i) = π_i/(π_i + θπ_j), P(tie) = (θ² − 1)π_i π_j/((π_i + θπ_j)(θπ_i + π_j)); s = log θ,
    fitted unless ``theta`` is given."""

    theta: float | None = None

    @property
    def fitted(self) -> bool:
        return self.theta is None

    def start(self, ties: Floats) -> Floats:
        if self.theta is not None:
            return np.full_like(ties, np.log(self.theta))
        share = np.minimum(ties, _MOST_TIES)
        return np.where(ties > 0, np.log((1 + share) / (1 - share)), _NO_TIES["RaoKupper"])

    def outcomes(self, d: Floats, s: Floats) -> tuple[Floats, Floats, Floats]:
        win, loss = log_expit(d - s), log_expit(-d - s)
        not_win, not_loss = 1 - np.exp(win), 1 - np.exp(loss)
        wide = np.expm1(2 * s)
        tie = win + loss + np.log(wide)
        by_s = -not_win - not_loss + 2 * (wide + 1) / wide
        return (
            np.stack([win, tie, loss], axis=-2),
            np.stack([not_win, not_win - not_loss, -not_loss], axis=-2),
            np.stack([-not_win, by_s, -not_loss], axis=-2),
        )

    def curvature(self, d: Floats, s: Floats, counts: Floats) -> tuple[Floats, Floats, Floats]:
        wins, ties, losses = np.moveaxis(counts, -2, 0)
        of_win = (wins + ties) * expit(d - s) * expit(s - d)
        of_loss = (losses + ties) * expit(-d - s) * expit(d + s)
        wide = np.expm1(2 * s)
        both = of_win + of_loss
        return both, of_loss - of_win, both + 4 * ties * (wide + 1) / wide**2

    def tie(self, s: Floats) -> Floats:
        return np.exp(s)


MODELS = ("bradley-terry", "davidson", "rao-kupper")


@dataclass(frozen=True, eq=False)
class Fit:
    """Fits of B data sets.

    ``strength``: log-strengths, B × n, with mean 0 unless there is a prior. ``s``: the tie
    parameter within the model, B × 1. ``tie``: ν or θ, B; NaN if the model has none. ``hessian``:
    the negative Hessian of the log-likelihood in the strengths and s, including the prior, B × (n +
    1) × (n + 1). ``outer``: the sum over battles of the outer products of their gradients, in the
    same shape.
    """

    strength: Floats
    s: Floats
    tie: Floats
    hessian: Floats
    outer: Floats


class _Likelihood:
    """The negative log-likelihood of B data sets, and its derivatives in (r, s)."""

    def __init__(
        self, model: Model, first: Integers, second: Integers, n: int, prior: float
    ) -> None:
        pairs = np.arange(len(first))
        ones = np.ones(len(first))
        shape = (len(first), n)
        self.model, self.first, self.second, self.n, self.prior = model, first, second, n, prior
        self.signs = csr_array((ones, (pairs, first)), shape) - csr_array(
            (ones, (pairs, second)), shape
        )

    def loss(self, r: Floats, s: Floats, counts: Floats) -> Floats:
        logs, *_ = self.model.outcomes(self._d(r), s)
        virtual_ties = (log_expit(r) + log_expit(-r)).sum(axis=1) / 2
        return np.asarray(-(counts * logs).sum(axis=(1, 2)) - self.prior * virtual_ties)

    def gradient(self, r: Floats, s: Floats, counts: Floats) -> Floats:
        _, by_d, by_s = self.model.outcomes(self._d(r), s)
        by_r = -((counts * by_d).sum(axis=1) @ self.signs) - self.prior * (0.5 - expit(r))
        return np.column_stack([by_r, -(counts * by_s).sum(axis=(1, 2))])

    def hessian(self, r: Floats, s: Floats, counts: Floats) -> Floats:
        hessian = self._assembled(*self.model.curvature(self._d(r), s, counts))
        runs = np.arange(self.n)
        hessian[:, runs, runs] += self.prior * expit(r) * expit(-r)
        return hessian

    def outer(self, r: Floats, s: Floats, counts: Floats) -> Floats:
        _, by_d, by_s = self.model.outcomes(self._d(r), s)
        products = (by_d**2, by_d * by_s, by_s**2)
        return self._assembled(*((counts * product).sum(axis=1) for product in products))

    def _assembled(self, dd: Floats, ds: Floats, ss: Floats) -> Floats:
        """The matrix in the strengths and s, from its entries in d and s for each pair."""
        n, runs = self.n, np.arange(self.n)
        matrix = np.zeros((len(dd), n + 1, n + 1))
        matrix[:, self.first, self.second] = matrix[:, self.second, self.first] = -dd
        matrix[:, runs, runs] = dd @ abs(self.signs)
        matrix[:, :n, n] = matrix[:, n, :n] = ds @ self.signs
        matrix[:, n, n] = ss.sum(axis=1)
        return matrix

    def _d(self, r: Floats) -> Floats:
        return np.asarray(r[:, self.first] - r[:, self.second])


def fit(
    counts: Floats,
    first: Integers,
    second: Integers,
    n: int,
    model: Model,
    prior: float = 0.0,
    near: Fit | None = None,
) -> Fit:
    """Fit ``model`` to B data sets at once.

    Each must have a finite maximum, which the caller ensures: without a prior, every run must be
    reachable from every other along wins and ties, and a fitted tie parameter needs a battle that
    is not tied.

    ``counts``: how often each pair had each outcome, B × 3 × P. ``first``, ``second``: the numbers
    of the two runs of each pair; each pair occurs once. ``n``: the number of runs. ``prior``: the
    number of virtual ties (half a win for each side) of each run with one of strength 0. ``near``:
    the fit of a similar data set, from which to start. Raises ArithmeticError if the fit does not
    converge.
    """
    likelihood = _Likelihood(model, first, second, n, prior)
    total = counts.sum(axis=(1, 2))
    ties = counts[:, 1].sum(axis=1) / np.maximum(total, 1)
    r, s = np.zeros((len(counts), n)), model.start(ties)[:, None]
    # If all battles are tied, the tie parameter is infinite; with a prior, the strengths do not
    # depend on it, so it is not fitted.
    free = (ties > 0) & (ties < 1) if model.fitted else np.zeros(len(counts), dtype=np.bool_)
    if near is not None:
        r, s = np.repeat(near.strength, len(counts), axis=0), np.where(free[:, None], near.s, s)
    loss = likelihood.loss(r, s, counts)
    for _ in range(_STEPS):
        gradient = likelihood.gradient(r, s, counts)
        gradient[~free, n] = 0.0
        if (np.abs(gradient).max(axis=1) <= _CONVERGED * np.maximum(total, 1)).all():
            tie, outer = model.tie(s[:, 0]), likelihood.outer(r, s, counts)
            return Fit(r, s, tie, likelihood.hessian(r, s, counts), outer)
        hessian = likelihood.hessian(r, s, counts)
        hessian[~free, n, :n] = hessian[~free, :n, n] = 0.0
        hessian[~free, n, n] = 1.0
        if not prior:  # only differences matter, so keep the mean constant
            hessian[:, :n, :n] += 1.0 / n
        step = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        size = np.ones((len(counts), 1))
        slack = ROUNDING * np.abs(loss)
        for _ in range(_HALVINGS):
            tried_r, tried_s = r - size * step[:, :n], s - size * step[:, n:]
            with np.errstate(invalid="ignore", divide="ignore"):
                tried_loss = likelihood.loss(tried_r, tried_s, counts)
            worse = ~(tried_loss <= loss + slack)  # also for NaN, if θ fell below 1
            if not worse.any():
                break
            size[worse] /= 2
        r, s, loss = tried_r, tried_s, tried_loss
    raise ArithmeticError("the ratings do not converge")
