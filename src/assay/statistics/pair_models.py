"""Models of what comes of a battle between two runs, and their fit by Newton's method.

Every run has a log-strength r; d = r_i − r_j. Outcomes are numbered 0 the first wins, 1 tie, 2 the
second wins. All three models have a concave log-likelihood, so that the fit is the maximum.

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
_SETTLED = 1e-10
_NO_TIES = {"Davidson": -40.0, "RaoKupper": 1e-12}
"""The tie parameter where there are no ties: as good as its limit."""
_MOST_TIES = 0.99
"""The share of ties from which the tie parameter starts where nearly all battles are tied."""


class Model(Protocol):
    """How likely each outcome is. Arrays of pairs are … × P, those of outcomes … × 3 × P; ``s``,
    the tie parameter, is … × 1."""

    @property
    def fitted(self) -> bool:
        """Whether the tie parameter is fitted."""

    def start(self, ties: Floats) -> Floats:
        """The tie parameter of equal runs of which a share ``ties`` of battles is tied."""

    def outcomes(self, d: Floats, s: Floats) -> tuple[Floats, Floats, Floats]:
        """Log-likelihood of each outcome, and its derivatives by d and s."""

    def bend(self, d: Floats, s: Floats, counts: Floats) -> tuple[Floats, Floats, Floats]:
        """Minus the second derivatives of the counts' log-likelihood by dd, ds and ss."""

    def tie(self, s: Floats) -> Floats:
        """The tie parameter as papers write it: ν or θ."""


@dataclass(frozen=True)
class BradleyTerry:
    """P(i beats j) = σ(d); a tie is half a win of each."""

    fitted: bool = False

    def start(self, ties: Floats) -> Floats:
        return np.zeros_like(ties)

    def outcomes(self, d: Floats, s: Floats) -> tuple[Floats, Floats, Floats]:
        win, loss, p = log_expit(d), log_expit(-d), expit(d)
        by_d = np.stack([1 - p, 0.5 - p, -p], axis=-2)
        return np.stack([win, (win + loss) / 2, loss], axis=-2), by_d, np.zeros_like(by_d)

    def bend(self, d: Floats, s: Floats, counts: Floats) -> tuple[Floats, Floats, Floats]:
        dd = counts.sum(axis=-2) * expit(d) * expit(-d)
        return dd, np.zeros_like(dd), np.zeros_like(dd)

    def tie(self, s: Floats) -> Floats:
        return np.full_like(s, np.nan)


@dataclass(frozen=True)
class Davidson:
    """P(i) = π_i/D, P(tie) = ν√(π_i π_j)/D, D = π_i + π_j + ν√(π_i π_j); s = log ν, fitted."""

    fitted: bool = True

    def start(self, ties: Floats) -> Floats:
        some = np.where(ties > 0, np.minimum(ties, _MOST_TIES), 0.5)
        return np.where(ties > 0, np.log(2 * some / (1 - some)), _NO_TIES["Davidson"])

    def _logs(self, d: Floats, s: Floats) -> Floats:
        logs = np.stack(np.broadcast_arrays(d / 2, s, -d / 2), axis=-2)
        return np.asarray(logs - np.logaddexp.reduce(logs, axis=-2, keepdims=True))

    def outcomes(self, d: Floats, s: Floats) -> tuple[Floats, Floats, Floats]:
        logs = self._logs(d, s)
        win, tie, loss = (np.exp(logs[..., one, :]) for one in range(3))
        lead = (win - loss) / 2
        by_d = np.stack([0.5 - lead, -lead, -0.5 - lead], axis=-2)
        return logs, by_d, np.stack([-tie, 1 - tie, -tie], axis=-2)

    def bend(self, d: Floats, s: Floats, counts: Floats) -> tuple[Floats, Floats, Floats]:
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
        some = np.minimum(ties, _MOST_TIES)
        return np.where(ties > 0, np.log((1 + some) / (1 - some)), _NO_TIES["RaoKupper"])

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

    def bend(self, d: Floats, s: Floats, counts: Floats) -> tuple[Floats, Floats, Floats]:
        wins, ties, losses = (counts[..., one, :] for one in range(3))
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

    ``strength``: B × n log-strengths, of mean 0 without a prior. ``s``: B × 1, the tie parameter
    inside the model. ``tie``: B, ν or θ; NaN for a model that has none. ``hessian``: B × (n + 1) ×
    (n + 1), minus the log-likelihood's second derivatives by the strengths and s, the prior's with
    it. ``outer``: of the same shape, the sum over battles of their first derivatives' products.
    """

    strength: Floats
    s: Floats
    tie: Floats
    hessian: Floats
    outer: Floats


class _Likelihood:
    """Minus the log-likelihood of B data sets, and its derivatives by (r, s)."""

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
        drawn = (log_expit(r) + log_expit(-r)).sum(axis=1) / 2
        return np.asarray(-(counts * logs).sum(axis=(1, 2)) - self.prior * drawn)

    def slope(self, r: Floats, s: Floats, counts: Floats) -> Floats:
        _, by_d, by_s = self.model.outcomes(self._d(r), s)
        by_r = -((counts * by_d).sum(axis=1) @ self.signs) - self.prior * (0.5 - expit(r))
        return np.column_stack([by_r, -(counts * by_s).sum(axis=(1, 2))])

    def bend(self, r: Floats, s: Floats, counts: Floats) -> Floats:
        whole = self._assembled(*self.model.bend(self._d(r), s, counts))
        places = np.arange(self.n)
        whole[:, places, places] += self.prior * expit(r) * expit(-r)
        return whole

    def outer(self, r: Floats, s: Floats, counts: Floats) -> Floats:
        _, by_d, by_s = self.model.outcomes(self._d(r), s)
        products = (by_d**2, by_d * by_s, by_s**2)
        return self._assembled(*((counts * one).sum(axis=1) for one in products))

    def _assembled(self, dd: Floats, ds: Floats, ss: Floats) -> Floats:
        """What is known by the pairs' d and s, by strengths and s."""
        n, places = self.n, np.arange(self.n)
        whole = np.zeros((len(dd), n + 1, n + 1))
        whole[:, self.first, self.second] = whole[:, self.second, self.first] = -dd
        whole[:, places, places] = dd @ abs(self.signs)
        whole[:, :n, n] = whole[:, n, :n] = ds @ self.signs
        whole[:, n, n] = ss.sum(axis=1)
        return whole

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

    Each must have a finite maximum, which the caller sees to: without a prior every run can be
    reached from every other by wins and ties, and a fitted tie parameter needs a decided battle.

    ``counts``: B × 3 × P, how often each outcome came of each pair. ``first``: P numbers of runs.
    ``second``: those that they fought, no pair twice in either order. ``n``: how many runs there
    are. ``model``: the model. ``prior``: as how many drawn battles (half a win each) against
    strength 0 each run starts. ``near``: the fit of a data set like these, to start from. Raises
    ArithmeticError if the fit does not settle.
    """
    whole = _Likelihood(model, first, second, n, prior)
    total = counts.sum(axis=(1, 2))
    ties = counts[:, 1].sum(axis=1) / np.maximum(total, 1)
    r, s = np.zeros((len(counts), n)), model.start(ties)[:, None]
    # Where all battles are tied the tie parameter has no end, and the prior's strengths do not
    # hang on it.
    free = (ties > 0) & (ties < 1) if model.fitted else np.zeros(len(counts), dtype=np.bool_)
    if near is not None:
        r, s = np.repeat(near.strength, len(counts), axis=0), np.where(free[:, None], near.s, s)
    loss = whole.loss(r, s, counts)
    for _ in range(_STEPS):
        slope = whole.slope(r, s, counts)
        slope[~free, n] = 0.0
        if (np.abs(slope).max(axis=1) <= _SETTLED * np.maximum(total, 1)).all():
            tie, outer = model.tie(s[:, 0]), whole.outer(r, s, counts)
            return Fit(r, s, tie, whole.bend(r, s, counts), outer)
        bend = whole.bend(r, s, counts)
        bend[~free, n, :n] = bend[~free, :n, n] = 0.0
        bend[~free, n, n] = 1.0
        if not prior:  # the likelihood knows differences alone: keep the mean where it is
            bend[:, :n, :n] += 1.0 / n
        step = np.linalg.solve(bend, slope[:, :, None])[:, :, 0]
        size = np.ones((len(counts), 1))
        slack = ROUNDING * np.abs(loss)
        for _ in range(_HALVINGS):
            tried_r, tried_s = r - size * step[:, :n], s - size * step[:, n:]
            with np.errstate(invalid="ignore", divide="ignore"):
                tried = whole.loss(tried_r, tried_s, counts)
            worse = ~(tried <= loss + slack)  # NaN if θ fell below 1
            if not worse.any():
                break
            size[worse] /= 2
        r, s, loss = tried_r, tried_s, tried
    raise ArithmeticError("the ratings do not settle")
