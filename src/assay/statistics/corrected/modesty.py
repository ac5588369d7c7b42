"""HMR, R_O, R_U and accuracy where people marked only some of a run's answers."""

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
    0 wrong; NaN if the question was not drawn. ``judge``: Q verdicts of the judge on any scale,
    all of them. ``drawn``: for each question whether it was drawn, as by :func:`draw_topics`.
    ``level``: of the intervals. ``population``: ``these`` questions, or questions ``like these``.
    Raises ValueError if the shapes do not fit, a confidence is not from 0 to 1, a drawn answer
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
    verdict = grades(verdicts)[None]
    found = hmr_of_draws(p, c, verdict, chosen[None], level=level, population=population)
    return Confidence(found.value[0], found.low[0], found.high[0])


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
    """The same of D draws of n answers each, with rows for the draws; nothing is checked.

    ``p``: Q confidences. ``c``: Q marks, of which those drawn count. ``verdicts``: D × Q numbers of
    the judge's grades. ``drawn``: D × Q.
    """
    sample = _Sample.of(p, c, verdicts, drawn)
    a, b = _means(sample)
    value, gradients = _measures(a, b, float(p.mean()))
    if drawn.all():
        value[:] = [measure(p, c) for measure in _EXACT]
    half = _half_widths(sample, gradients, level, population)
    return Confidence(*np.clip([value, value - half, value + half], 0.0, 1.0))


class _Sample(NamedTuple):
    """Of D draws the places of the n drawn answers; confidences (Q) and the drawn answers' marks;
    expected marks, and on how many labels they rest (D × Q)."""

    places: npt.NDArray[np.intp]
    p: Floats
    c: Floats
    m: Floats
    counts: Floats

    @classmethod
    def of(cls, p: Floats, c: Floats, verdicts: Integers, drawn: Bools) -> _Sample:
        """For each answer the share of right ones among the drawn with the judge's verdict.

        Also on how many labels it rests, pseudo-labels included.
        """
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
        """Of values D × … × Q those of the drawn answers, D × … × n."""
        inside = self.places.reshape(len(self.places), *[1] * (values.ndim - 2), -1)
        return np.take_along_axis(values, inside, axis=-1)


def _means(sample: _Sample) -> tuple[Floats, Floats]:
    """A and b, kept where right and wrong answers exist and confidences allow them."""
    p, m = sample.p, sample.m
    residual = sample.c - sample.seen(m)
    a = m.mean(axis=1) + residual.mean(axis=1)
    b = (m * p).mean(axis=1) + (residual * p[sample.places]).mean(axis=1)
    mean = float(p.mean())
    edge = 0.5 / len(p)
    a = np.clip(a, edge, 1.0 - edge)
    # R_O is from 0 to 1 if a + P − 1 ≤ b ≤ P, R_U where b ≤ a; at both 0 HMR has no gradient.
    least = np.maximum(1e-4 * a, a + mean - 1.0 + 1e-6)
    return a, np.minimum(np.maximum(b, least), np.minimum(a, mean) - 1e-6)


def _measures(a: Floats, b: Floats, mean: float) -> tuple[Floats, Floats]:
    """The four measures, and their gradients by a and b (D × 4 × 2)."""
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
    # Of each answer, what a and b change by for each unit of its label: (1, p).
    reach = gradients @ np.stack([np.ones(count), p])
    of_drawn = sample.seen(reach)
    # An expectation that the answer itself had a part in is too near to it.
    e = (c - sample.seen(m)) / (1.0 - 1.0 / sample.seen(sample.counts))
    q = m * (1.0 - m)
    seen = (e[:, None] * of_drawn).var(axis=2, ddof=1) / n
    around, expected = (e * e).sum(axis=1), sample.seen(q).sum(axis=1)
    modelled = modelled_variance(q, around, expected, n * c.var(axis=1), n)
    squares = reach**2
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
    """How much the drawn answers' own variance weighs, and how many of them there are in effect."""
    effective = np.divide(sums**2, squares, out=np.zeros_like(sums), where=squares > 0) * drawn
    return effective / (effective + _OWN), effective
