"""Corrected HMR, R_O, R_U and accuracy, if people marked only some of a run's answers."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from assay.measures import confidence as measures
from assay.measures.arrays import Bools, Floats, Integers
from assay.statistics.checks import numbers
from assay.statistics.corrected.calibration import grades
from assay.statistics.corrected.estimates import LEAST_DF, half_widths, modelled_variance
from assay.statistics.corrected.inputs import (
    LEAST_LABELS,
    Population,
    check_population,
    judge_labels,
    mask,
    people_labels,
    require_at_least,
)

MEASURES = ("HMR", "R_O", "R_U", "Accuracy")
"""The names of the four values of :class:`Confidence`."""

_PSEUDO = 2.0
"""The number of pseudo-labels, at the mean, by which the share of right answers is shrunk for each
verdict of the judge."""

_OWN = 20.0
"""The number of effective answers with which their own and the modelled variance weigh the same."""

_FEW = 3
"""With fewer wrong (or right) drawn answers than this, the interval of HMR may be too narrow."""


@dataclass(frozen=True, eq=False)
class Confidence:
    """HMR, R_O, R_U and Accuracy of one run, in this order.

    ``value``: 4 numbers from 0 to 1. ``low``, ``high``: their intervals, clipped to 0 to 1.
    """

    value: Floats
    low: Floats
    high: Floats


def hmr(
    confidence: npt.ArrayLike,
    people: npt.ArrayLike,
    judge: npt.ArrayLike,
    drawn: npt.ArrayLike,
    *,
    level: float = 0.95,
    population: Population = "these",
) -> Confidence:
    """Corrected HMR, R_O, R_U and accuracy from questions drawn by simple random sampling.

    With a = mean c, b = mean p·c, and P = mean p, which is known: R_O = 1 − (P − b)/(1 − a),
    R_U = b/a, and HMR is their harmonic mean. a and b are corrected by the difference between
    people's labels of the drawn answers and those expected given the judge. The intervals are from
    the delta method; part of the variance is modelled over all answers, so that it is not 0 if the
    judge was right on all drawn ones.

    The interval of HMR may have too little coverage if fewer than 3 drawn answers are wrong, or
    right (then there is a warning), or if a few unusual confidences dominate. For ``like these``, P
    is taken to be that of the whole population, so that R_O has less coverage if confidences are
    far above correctness (.91 to .93 in simulations). Source: the specification of trust, section 5
    (C); the measures are those of :mod:`assay.measures.confidence`.

    ``confidence``: p, the confidences of Q answers, 0 to 1. ``people``: c, 1 for right and 0 for
    wrong; NaN if the question was not drawn. ``judge``: the judge's verdicts on any scale, none
    missing. ``drawn``: whether each question was drawn, for example by :func:`draw_topics`.
    ``level``: of the intervals. ``population``: ``these`` questions, or questions ``like these``.
    Raises ValueError if the shapes do not fit, a confidence is not from 0 to 1, a drawn answer has
    no label by people, or one that is neither 0 nor 1, a verdict is missing, fewer than 10
    questions were drawn (unless all of ``these`` were), or a setting is out of range.
    """
    check_population(population)
    confidences = numbers(confidence, "confidences")
    if confidences.ndim != 1:
        raise ValueError(f"give the confidences of one run, got {confidences.ndim} dimensions")
    count = len(confidences)
    chosen = mask(drawn, count, "drawn", "question")
    verdicts = judge_labels(judge, "question")
    if verdicts.shape != (count,):
        raise ValueError(f"the judge's verdicts have shape {verdicts.shape}, not ({count},)")
    labels = people_labels(people, chosen, "question")
    if labels.ndim != 1:
        raise ValueError(f"give one person's label for each question, got shape {labels.shape}")
    p, correct = measures.check(confidences, labels)
    n = int(chosen.sum())
    if n == count and population == "these":  # people labelled everything
        exact = np.array([measure(p, correct) for measure in _EXACT])
        return Confidence(exact, exact, exact)
    labelled = "drawn question with a label", "drawn questions with labels"
    require_at_least(LEAST_LABELS, n, *labelled)
    c = correct.astype(np.float64)
    if n < count:
        _warn_of_few(c[chosen])
    verdict = grades(verdicts)[None]
    estimate = hmr_of_draws(p, c, verdict, chosen[None], level=level, population=population)
    return Confidence(estimate.value[0], estimate.low[0], estimate.high[0])


_EXACT = (measures.hmr, measures.reward_over, measures.reward_under, measures.accuracy)


def _warn_of_few(c: Floats) -> None:
    right = int(c.sum())
    for few, what in ((len(c) - right, "wrong"), (right, "right")):
        if few < _FEW:
            warnings.warn(
                f"only {few} of {len(c)} drawn answers are {what}: the interval of HMR may be too"
                " narrow; draw and label more",
                stacklevel=3,
            )


def hmr_of_draws(
    p: Floats,
    c: Floats,
    verdicts: Integers,
    drawn: Bools,
    *,
    level: float = 0.95,
    population: Population = "these",
) -> Confidence:
    """:func:`hmr` of D draws of n answers each, without checks; the result has a row per draw.

    ``p``: Q confidences. ``c``: Q labels by people, of which those drawn are used. ``verdicts``:
    the judge's grades, D × Q, numbered from 0. ``drawn``: D × Q.
    """
    sample = _Sample.of(p, c, verdicts, drawn)
    a, b = _means(sample)
    value, gradients = _measures(a, b, float(p.mean()))
    if drawn.all():
        value[:] = [measure(p, c) for measure in _EXACT]
    half = _half_widths(sample, gradients, level, population)
    return Confidence(*np.clip([value, value - half, value + half], 0.0, 1.0))


class _Sample(NamedTuple):
    """D draws of n of Q answers each.

    ``places``: the indices of the drawn answers, D × n. ``p``: all confidences, Q. ``c``: the
    labels of the drawn answers, D × n. ``m``: the expected labels of all answers, D × Q.
    ``counts``: the number of labels behind each expectation, D × Q.
    """

    places: npt.NDArray[np.intp]
    p: Floats
    c: Floats
    m: Floats
    counts: Floats

    @classmethod
    def of(cls, p: Floats, c: Floats, verdicts: Integers, drawn: Bools) -> _Sample:
        """Compute expected labels: the shrunken share of right answers among the drawn ones with
        the same verdict. Their ``counts`` include pseudo-labels."""
        draws = len(drawn)
        places = np.nonzero(drawn)[1].reshape(draws, -1)
        marks = c[places]
        kinds = int(verdicts.max()) + 1
        verdict = verdicts + kinds * np.arange(draws)[:, None]
        seen = np.take_along_axis(verdict, places, axis=1).ravel()
        counts = np.bincount(seen, minlength=draws * kinds) + _PSEUDO
        sums = np.bincount(seen, weights=marks.ravel(), minlength=draws * kinds)
        m = (sums + np.repeat(_PSEUDO * marks.mean(axis=1), kinds)) / counts
        return cls(places, p, marks, m[verdict], counts[verdict])

    def seen(self, values: Floats) -> Floats:
        """Select the values of the drawn answers: from D × … × Q to D × … × n."""
        inside = self.places.reshape(len(self.places), *[1] * (values.ndim - 2), -1)
        return np.take_along_axis(values, inside, axis=-1)


def _means(sample: _Sample) -> tuple[Floats, Floats]:
    """Estimates of a and b, limited to values possible if some answers are right and some wrong."""
    p, m = sample.p, sample.m
    residual = sample.c - sample.seen(m)
    a = m.mean(axis=1) + residual.mean(axis=1)
    b = (m * p).mean(axis=1) + (residual * p[sample.places]).mean(axis=1)
    mean = float(p.mean())
    edge = 0.5 / len(p)
    a = np.clip(a, edge, 1.0 - edge)
    # R_O is from 0 to 1 if a + P − 1 ≤ b ≤ P, and R_U if b ≤ a. If both are 0, HMR has no gradient.
    least = np.maximum(1e-4 * a, a + mean - 1.0 + 1e-6)
    return a, np.minimum(np.maximum(b, least), np.minimum(a, mean) - 1e-6)


def _measures(a: Floats, b: Floats, mean: float) -> tuple[Floats, Floats]:
    """The four measures (D × 4), and their gradients in a and b (D × 4 × 2)."""
    over, under = 1.0 - (mean - b) / (1.0 - a), b / a
    by_over = np.stack([-(mean - b) / (1.0 - a) ** 2, 1.0 / (1.0 - a)])
    by_under = np.stack([-b / a**2, 1.0 / a])
    both = over + under
    by_hmr = (2.0 * under**2 * by_over + 2.0 * over**2 * by_under) / both**2
    by_a = np.stack([np.ones_like(a), np.zeros_like(a)])
    value = np.stack([2.0 * over * under / both, over, under, a], axis=1)
    return value, np.moveaxis(np.stack([by_hmr, by_over, by_under, by_a]), 2, 0)


def _half_widths(
    sample: _Sample, gradients: Floats, level: float, population: Population
) -> Floats:
    p, c, m = sample.p, sample.c, sample.m
    n, count = c.shape[1], len(p)
    # The effect of each answer's label on each measure: a label changes (a, b) by (1, p).
    influence = gradients @ np.stack([np.ones(count), p])
    of_drawn = sample.seen(influence)
    # An answer's own label contributes to its expectation, so residuals are scaled up.
    e = (c - sample.seen(m)) / (1.0 - 1.0 / sample.seen(sample.counts))
    q = m * (1.0 - m)
    seen = (e[:, None] * of_drawn).var(axis=2, ddof=1) / n
    around, expected = (e * e).sum(axis=1), sample.seen(q).sum(axis=1)
    modelled = modelled_variance(q, around, expected, n * c.var(axis=1), n)
    squares = influence**2
    pooled = (modelled[:, None] * squares).mean(axis=2) / n
    omega = q[:, None] * squares
    share, effective = _shares(omega.sum(axis=2), (omega**2).sum(axis=2), n / count)
    rest = 1.0 - n / count
    first, second = share * rest * seen, (1.0 - share) * rest * pooled
    variance = first + second
    below = first**2 / np.maximum(effective, 0.5) + second**2 / n
    df = np.divide(variance**2, below, out=np.zeros_like(variance), where=below > 0)
    if population == "like these":
        variance = variance + (c[:, None] * of_drawn).var(axis=2, ddof=1) / count
    return half_widths(variance, np.maximum(df, LEAST_DF), level)


def _shares(sums: Floats, squares: Floats, drawn: float) -> tuple[Floats, Floats]:
    """The weight of the drawn answers' own variance, and their effective number."""
    effective = np.divide(sums**2, squares, out=np.zeros_like(sums), where=squares > 0) * drawn
    return effective / (effective + _OWN), effective
