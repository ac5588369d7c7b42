"""HMR, R_O, R_U and accuracy where people marked only some of a run's answers."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from assay.measures import confidence as measures
from assay.measures.arrays import Bools, Floats
from assay.statistics.checks import numbers
from assay.statistics.corrected.calibration import grades
from assay.statistics.corrected.estimates import LEAST_DF, half_widths, rare_spread
from assay.statistics.corrected.given import (
    LEAST_LABELS,
    Population,
    enough,
    judge_labels,
    mask,
    people_labels,
    population_named,
)

MEASURES = ("HMR", "R_O", "R_U", "Accuracy")
"""What the four values of :class:`Confidence` are."""

_PSEUDO = 2.0
"""Labels at the mean that each verdict's share of right answers is shrunk by."""

_OWN = 20.0
"""The drawn answers' own variance weighs as much as the modelled one at so many of them."""

_FEW = 3
"""With fewer wrong (or right) answers among the drawn, the interval of HMR may be too narrow."""


@dataclass(frozen=True, eq=False)
class Confidence:
    """HMR, R_O, R_U and Accuracy of one run, in this order.

    ``value``: 4 numbers from 0 to 1. ``low``: lower ends of their intervals, clipped to 0 to 1.
    ``high``: upper ends.
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

    With a = mean c, b = mean p·c and P = mean p, which is known: R_O = 1 − (P − b)/(1 − a),
    R_U = b/a, HMR their harmonic mean. Corrected are a and b, by what people say of the drawn
    answers less what they are expected to say given the judge; the intervals are of the delta
    method, with a part of the variance modelled for all answers, so that a judge who was right in
    all drawn ones does not make it 0.

    Where fewer than 3 drawn answers are wrong, or right, or a few odd confidences decide, the
    interval of HMR may cover less than it says; of the former there is a warning. ``like these``
    takes P for that of all such questions, so that R_O covers less where confidence is far above
    correctness (.91 to .93 measured).

    Source: the specification of trust, section 5 (C); the measures are those of
    :mod:`assay.measures.confidence`.

    ``confidence``: Q confidences p of the run's answers, 0 to 1. ``people``: Q times c, 1 right or
    0 wrong; NaN where the question was not drawn. ``judge``: Q verdicts of the judge on any scale,
    all of them. ``drawn``: for each question whether it was drawn, as by :func:`draw_topics`.
    ``level``: of the intervals. ``population``: ``these`` questions, or questions ``like these``.
    Raises ValueError where the shapes do not fit, a confidence is not from 0 to 1, a drawn answer
    lacks a person's label or has one that is neither 0 nor 1, the judge lacks one, fewer than 10
    questions were drawn (of ``these``, and not all), or a setting is out of range.
    """
    population_named(population)
    given = numbers(confidence, "confidences")
    if given.ndim != 1:
        raise ValueError(f"give the confidences of one run, got {given.ndim} dimensions")
    count = len(given)
    chosen = mask(drawn, count, "drawn", "question")
    verdicts = judge_labels(judge, "question")
    if verdicts.shape != (count,):
        raise ValueError(f"the judge's verdicts have shape {verdicts.shape}, not ({count},)")
    labels = people_labels(people, chosen, "question")
    if labels.ndim != 1:
        raise ValueError(f"give one person's label for each question, got shape {labels.shape}")
    p, correct = measures.check(given, labels)
    n = int(chosen.sum())
    if n == count and population == "these":  # people said all of it, so that nothing is open
        exact = np.array([measure(p, correct) for measure in _EXACT])
        return Confidence(exact, exact, exact)
    labelled = "drawn question with a label", "drawn questions with labels"
    enough(n, LEAST_LABELS, *labelled)
    c = correct.astype(np.float64)
    if n < count:
        _warn_of_few(c[chosen])
    sample = _Sample(p, c, chosen, *_expected(c, verdicts, chosen))
    a, b = _means(sample)
    value, gradients = _measures(a, b, float(p.mean()))
    half = _half_widths(sample, gradients, level, population)
    if n == count:
        value = np.array([measure(p, correct) for measure in _EXACT])
    low, high = np.clip([value - half, value + half], 0.0, 1.0)
    return Confidence(np.clip(value, 0.0, 1.0), low, high)


_EXACT = (measures.hmr, measures.reward_over, measures.reward_under, measures.accuracy)


class _Sample(NamedTuple):
    """Confidences, marks, which were drawn; expected marks, and on how many labels they rest."""

    p: Floats
    c: Floats
    drawn: Bools
    m: Floats
    counts: Floats


def _warn_of_few(c: Floats) -> None:
    right = int(c.sum())
    for few, what in ((len(c) - right, "wrong"), (right, "right")):
        if few < _FEW:
            warnings.warn(
                f"only {few} of {len(c)} drawn answers are {what}: the interval of HMR may be too"
                " narrow; draw and label more",
                stacklevel=3,
            )


def _expected(c: Floats, verdicts: Floats, drawn: Bools) -> tuple[Floats, Floats]:
    """For each answer the share of right ones among the drawn with the judge's verdict.

    Also on how many labels it rests, pseudo-labels included.
    """
    verdict = grades(verdicts)
    kinds = int(verdict.max()) + 1
    counts = np.bincount(verdict[drawn], minlength=kinds) + _PSEUDO
    sums = np.bincount(verdict[drawn], weights=c[drawn], minlength=kinds)
    m = (sums + _PSEUDO * c[drawn].mean()) / counts
    return np.asarray(m[verdict]), np.asarray(counts[verdict])


def _means(sample: _Sample) -> tuple[float, float]:
    """A and b, kept where right and wrong answers exist and confidences allow them."""
    p, c, drawn, m, _ = sample
    residual = (c - m)[drawn]
    a = float(m.mean() + residual.mean())
    b = float((m * p).mean() + (residual * p[drawn]).mean())
    mean = float(p.mean())
    edge = 0.5 / len(p)
    a = min(max(a, edge), 1.0 - edge)
    # R_O is from 0 to 1 where a + P − 1 ≤ b ≤ P, R_U where b ≤ a; at both 0 HMR has no gradient.
    return a, min(max(b, 1e-4 * a, a + mean - 1.0 + 1e-6), min(a, mean) - 1e-6)


def _measures(a: float, b: float, mean: float) -> tuple[Floats, Floats]:
    """The four measures, and their gradients by a and b (4 × 2)."""
    over, under = 1.0 - (mean - b) / (1.0 - a), b / a
    by_over = np.array([-(mean - b) / (1.0 - a) ** 2, 1.0 / (1.0 - a)])
    by_under = np.array([-b / a**2, 1.0 / a])
    both = over + under
    by_hmr = (2.0 * under**2 * by_over + 2.0 * over**2 * by_under) / both**2
    value = np.array([2.0 * over * under / both, over, under, a])
    return value, np.stack([by_hmr, by_over, by_under, np.array([1.0, 0.0])])


def _half_widths(
    sample: _Sample, gradients: Floats, level: float, population: Population
) -> Floats:
    p, c, drawn, m, counts = sample
    n, count = int(drawn.sum()), len(p)
    # Of each answer, what a and b change by for each unit of its label: (1, p).
    reach = gradients @ np.stack([np.ones(count), p])
    # An expectation that the answer itself had a part in is too near to it.
    e = ((c - m) / (1.0 - 1.0 / counts))[drawn]
    q = m * (1.0 - m)
    seen = (e * reach[:, drawn]).var(axis=1, ddof=1) / n
    # Two disagreements that nobody has seen yet, as in `items`.
    excess = (e @ e + 2.0) / (q[drawn].sum() + 2.0)
    omega = q * reach**2
    modelled = excess * q
    least = rare_spread(c[drawn], np.ones(n), 1.0)
    modelled = modelled + max(0.0, least - float(modelled[drawn].mean()))
    pooled = (modelled * reach**2).mean(axis=1) / n
    squares = (omega**2).sum(axis=1)
    some = squares > 0
    effective = np.divide(omega.sum(axis=1) ** 2, squares, out=np.zeros(4), where=some)
    effective *= n / count
    share = effective / (effective + _OWN)
    rest = 1.0 - n / count
    first, second = share * rest * seen, (1.0 - share) * rest * pooled
    squares = first**2 / np.maximum(effective, 0.5) + second**2 / n
    df = np.divide((first + second) ** 2, squares, out=np.zeros(4), where=squares > 0)
    variance = first + second
    if population == "like these":
        variance = variance + (c * reach)[:, drawn].var(axis=1, ddof=1) / count
    return half_widths(variance, np.maximum(df, LEAST_DF), level)
