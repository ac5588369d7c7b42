"""Recalibration: correcting confidences by what was observed on other questions.

Three maps from a stated probability p to another, fitted on (p, correct) pairs:

- *temperature*: σ(logit(p) / T), T > 0 of highest likelihood (Guo et al., ICML 2017);
- *Platt*: σ(a · logit(p) + b) of highest likelihood (Platt 1999);
- *isotonic*: the non-decreasing step function of least squares (Zadrozny and Elkan, KDD 2002).

A map must not be evaluated on the questions it was fitted on: its effect is estimated by
cross-validation, in which each confidence is mapped by a map fitted without that question.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

import numpy as np

from assay.measures.arrays import Bools, Floats
from assay.measures.confidence import confidence_measures
from assay.model.errors import SettingsError
from assay.model.extras import import_extra

CLIP = 0.005
"""Before taking logits, confidences are clipped to [CLIP, 1 − CLIP]: half a percent, the rounding
error of whole percentages."""

FEW = 10
"""The number of right, and of wrong, answers below which there is a warning."""

_TEMPERATURES = (0.01, 100.0)
_NEAR = (0.001, -0.001)
_SEED = 20251210


class Calibration(StrEnum):
    """A method of recalibration."""

    TEMPERATURE = "temperature"
    ISOTONIC = "isotonic"
    PLATT = "platt"


class Map(Protocol):
    """A fitted map."""

    def __call__(self, p: Floats, /) -> Floats:
        """Probabilities in [0, 1] for probabilities in [0, 1]."""

    @property
    def parameters(self) -> dict[str, Any]:
        """The fitted parameters as plain JSON."""


def logit(p: Floats) -> Floats:
    """log(p / (1 − p)), with p kept :data:`CLIP` away from 0 and 1."""
    clipped = np.clip(p, CLIP, 1 - CLIP)
    return np.asarray(np.log(clipped / (1 - clipped)), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Linear:
    """σ(slope · logit(p) + shift); temperature scaling is slope = 1/T, shift = 0."""

    slope: float
    shift: float
    temperature: float | None = None

    def __call__(self, p: Floats, /) -> Floats:
        x = np.clip(self.slope * logit(p) + self.shift, -700, 700)
        return np.asarray(1 / (1 + np.exp(-x)), dtype=np.float64)

    @property
    def parameters(self) -> dict[str, Any]:
        if self.temperature is not None:
            return {"temperature": self.temperature}
        return {"slope": self.slope, "shift": self.shift}


@dataclass(frozen=True, slots=True)
class Steps:
    """Linear between the points (x, y), flat outside them."""

    x: tuple[float, ...]
    y: tuple[float, ...]

    def __call__(self, p: Floats, /) -> Floats:
        return np.asarray(np.interp(p, self.x, self.y), dtype=np.float64)

    @property
    def parameters(self) -> dict[str, Any]:
        return {"x": list(self.x), "y": list(self.y)}


def fit(method: Calibration, p: Floats, correct: Bools) -> Map:
    """The map of ``method`` for probabilities ``p`` of answers that were ``correct`` or not.

    Raises SettingsError if there are no right or no wrong answers to learn from, and
    PrerequisiteError if scikit-learn is missing.
    """
    _require_both(correct)
    if method is Calibration.TEMPERATURE:
        return _temperature(p, correct)
    if method is Calibration.PLATT:
        model = _sklearn("linear_model").LogisticRegression(C=np.inf, max_iter=1000, tol=1e-8)
        model.fit(logit(p)[:, None], correct)
        return Linear(float(model.coef_[0, 0]), float(model.intercept_[0]))
    steps = _sklearn("isotonic").IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
    steps.fit(p, correct.astype(np.float64))
    return Steps(tuple(map(float, steps.X_thresholds_)), tuple(map(float, steps.y_thresholds_)))


def _require_both(correct: Bools) -> None:
    if correct.all() or not correct.any():
        raise SettingsError(
            "Recalibration needs both right and wrong answers to fit on; there are "
            f"{int(correct.sum())} right and {int((~correct).sum())} wrong ones."
        )


def remarks(fitted: Map, p: Floats, correct: Bools) -> list[str]:
    """Warnings to read before trusting a map."""
    found = []
    least = int(min(correct.sum(), (~correct).sum()))
    if least < FEW:
        which = "right" if correct.sum() == least else "wrong"
        found.append(
            f"{least} {which} answers are few to fit on: results on other questions may differ a "
            "lot."
        )
    if len(np.unique(p)) == 1:
        found.append(
            "All confidences are the same, so no map can separate right from wrong answers."
        )
    elif isinstance(fitted, Linear) and fitted.temperature is not None:
        low, high = (bound * (1 + side) for bound, side in zip(_TEMPERATURES, _NEAR, strict=True))
        if not low < fitted.temperature < high:
            end = "0 or 100" if fitted.temperature <= low else "about 50"
            found.append(f"The temperature is at the end of its range: confidences become {end}.")
    elif isinstance(fitted, Linear) and fitted.slope < 0:
        found.append(
            "Answers with higher confidence were right less often: the map reverses their order."
        )
    return found


def _temperature(p: Floats, correct: Bools) -> Linear:
    """Golden-section search over log T, as the likelihood is unimodal in 1/T. If it is flat because
    all confidences are one half, T is 1."""
    values = np.where(correct, logit(p), -logit(p))
    if not values.any():
        return Linear(1.0, 0.0, 1.0)

    def loss(log_t: float) -> float:
        return float(np.logaddexp(0, -values / math.exp(log_t)).sum())

    low, high = (math.log(bound) for bound in _TEMPERATURES)
    ratio = (math.sqrt(5) - 1) / 2
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    loss_a, loss_b = loss(a), loss(b)
    while high - low > 1e-9:
        if loss_a <= loss_b:
            high, b, loss_b = b, a, loss_a
            a = high - ratio * (high - low)
            loss_a = loss(a)
        else:
            low, a, loss_a = a, b, loss_b
            b = low + ratio * (high - low)
            loss_b = loss(b)
    temperature = math.exp((low + high) / 2)
    return Linear(1 / temperature, 0.0, temperature)


def cross_validated(method: Calibration, p: Floats, correct: Bools, *, folds: int = 5) -> Floats:
    """Each confidence, mapped by a map fitted on the other folds. Folds are stratified by right and
    wrong answers, and are the same for the same data.

    Raises SettingsError for fewer than 2 folds, or fewer right or wrong answers than folds.
    """
    _require_both(correct)
    least = int(min(correct.sum(), (~correct).sum()))
    if folds < 2 or least < folds:
        cure = f"Use --folds {least}." if least >= 2 else "Cross-validation needs 2 of each."
        raise SettingsError(
            f"{folds} folds need at least {max(folds, 2)} right and {max(folds, 2)} wrong "
            f"answers; there are {int(correct.sum())} and {int((~correct).sum())}. {cure}"
        )
    chance = np.random.default_rng(_SEED)
    fold = np.empty(len(p), dtype=np.int64)
    for side in (correct, ~correct):
        places = chance.permutation(np.flatnonzero(side))
        fold[places] = np.arange(len(places)) % folds
    mapped = np.empty(len(p), dtype=np.float64)
    for number in range(folds):
        held = fold == number
        mapped[held] = fit(method, p[~held], correct[~held])(p[held])
    return mapped


@dataclass(frozen=True, slots=True)
class Effect:
    """Measures of a run with its own and with mapped confidences. ``what`` is
    ``cross-validated`` or ``applied``."""

    what: str
    n: int
    before: dict[str, float | None]
    after: dict[str, float | None]


MEASURES: Sequence[str] = ("HMR", "R_O", "R_U", "ECE", "Brier", "AUROC")


def effect(what: str, p: Floats, mapped: Floats, correct: Bools, *, bins: int = 10) -> Effect:
    """The measures before and after mapping. Raises ValueError if the arrays' lengths differ."""
    before, after = (confidence_measures(values, correct, bins=bins) for values in (p, mapped))
    return Effect(
        what,
        len(p),
        {name: before[name] for name in MEASURES},
        {name: after[name] for name in MEASURES},
    )


def _sklearn(name: str) -> Any:
    return import_extra(f"sklearn.{name}", "Recalibration needs scikit-learn", "recalibration")
