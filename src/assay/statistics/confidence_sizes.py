"""How many questions a comparison by HMR or a similar measure needs, simulated from a pilot.

HMR is not a mean over questions, so the number cannot be computed from the variance of scores. The
questions of a pilot stand for the population: many times, n of them are drawn with replacement, and
the difference of two runs is computed. Its distribution around its mean is taken for that of two
equally good runs, and, shifted by minD, for that of runs that differ by minD. That both have the
same spread is an assumption, like that of Sakai's designs about the variance of scores.

Sources: Efron & Tibshirani, An Introduction to the Bootstrap (1993), chapter 25 (power by
resampling a pilot); Sakai, Topic set size design (2016), for the two requirements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations, product
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Bools, Floats
from assay.measures.bootstrap import tail_share
from assay.measures.settings import probability, whole_number
from assay.statistics.confidence import MeasuredDraws
from assay.statistics.samplesize import smallest

MOST_QUESTIONS = 10**6
"""The most questions that are simulated."""

_CELLS_AT_ONCE = 4_000_000


@dataclass(frozen=True)
class Pilot:
    """The answers of m ≥ 2 runs to the same n ≥ 2 questions. ``p``: confidences from 0 to 1, n × m.
    ``c``: correctness, n × m."""

    p: Floats = field(repr=False)
    c: Bools = field(repr=False)

    @classmethod
    def of(cls, p: npt.ArrayLike, c: npt.ArrayLike) -> Pilot:
        """Check the data. Raises ValueError if they are incomplete, too small or out of range."""
        confidences = np.asarray(p, dtype=np.float64)
        correct = np.asarray(c, dtype=np.float64)
        if confidences.ndim != 2 or confidences.shape != correct.shape:
            raise ValueError("confidences and correctness must be questions × runs, both alike")
        if min(confidences.shape) < 2:
            raise ValueError("a pilot needs at least 2 questions and 2 runs")
        if not ((confidences >= 0) & (confidences <= 1)).all():
            raise ValueError("a confidence is not from 0 to 1")
        if not ((correct == 0) | (correct == 1)).all():
            raise ValueError("a correctness is neither 0 nor 1")
        return cls(confidences, correct == 1)


class Forecast(NamedTuple):
    """What a number of questions would achieve, over all pairs of runs of the pilots.

    ``power``: the mean power for each difference. ``least_power``: that of the pair with the least.
    ``width``: the mean width of the interval of a difference. ``run_width``: that of the interval
    of a single run's value, over all runs.
    """

    power: Floats
    least_power: Floats
    width: float
    run_width: float


@dataclass(frozen=True)
class SimulatedRow:
    """The number of questions that a requirement needs.

    ``design``: ``paired``: a test detects a difference of ``mind``; ``interval``: the interval of a
    difference is ``mind`` wide; ``interval-run``: the interval of a single run is. ``alpha``: the
    level of the test, or 1 − the level of the interval. ``beta``: the risk of missing the
    difference; ``None`` for an interval. ``mind``: the smallest difference to detect, or the width.
    ``topics``: the number of questions; ``None`` if more than :data:`MOST_QUESTIONS`. ``worst``:
    that for the pair of runs that needs most; ``None`` likewise, or for an interval.
    """

    design: Literal["paired", "interval", "interval-run"]
    alpha: float
    beta: float | None
    mind: float
    topics: int | None
    worst: int | None


class Simulation:
    """Draws from pilots. For the same number of questions, they are always the same.

    ``pilots``: experiments; only runs of the same one are paired. ``measure``: a name among
    :data:`assay.measures.confidence.MEASURES`. ``draws``: the number of samples of questions.
    ``seed``: of the draws. Raises ValueError if there is no pilot, the measure is unknown, or a
    setting is out of range.
    """

    def __init__(
        self, pilots: Sequence[Pilot], measure: str, *, draws: int = 2000, seed: int = 0
    ) -> None:
        if not pilots:
            raise ValueError("there is no pilot to simulate from")
        whole_number(draws, "draws", 100)
        whole_number(seed, "seed", 0)
        self._pilots = [(pilot, MeasuredDraws(pilot.p, pilot.c, measure)) for pilot in pilots]
        self._draws, self._seed = draws, seed
        self._values: dict[int, list[Floats]] = {}

    def _drawn(self, questions: int) -> list[Floats]:
        """The values of each pilot: draws × runs."""
        if questions not in self._values:
            generator = np.random.default_rng([self._seed, questions])
            by_pilot = []
            for pilot, measured in self._pilots:
                n = len(pilot.p)
                rows = max(1, _CELLS_AT_ONCE // n)
                drawn = (
                    generator.multinomial(
                        questions, np.full(n, 1 / n), min(rows, self._draws - start)
                    ).astype(np.float64)
                    for start in range(0, self._draws, rows)
                )
                values = [measured.values(counts, questions) for counts in drawn]
                by_pilot.append(np.concatenate(values))
            self._values[questions] = by_pilot
        return self._values[questions]

    def forecast(self, questions: int, alpha: float, differences: Sequence[float]) -> Forecast:
        """What ``questions`` questions would achieve at level ``alpha``. Draws that leave the
        measure undefined detect nothing, and do not count for the width. Raises ValueError if a
        setting is out of range."""
        probability(alpha, "alpha")
        whole_number(questions, "questions", 2)
        share = tail_share(1 - alpha, questions)
        ends = [share, 1 - share]
        powers, widths, run_widths = [], [], []
        for values in self._drawn(questions):
            defined = (values[~np.isnan(values[:, run]), run] for run in range(values.shape[1]))
            run_widths += [np.diff(np.quantile(run, ends))[0] for run in defined if len(run)]
            for first, second in combinations(range(values.shape[1]), 2):
                difference = values[:, first] - values[:, second]
                known = difference[~np.isnan(difference)]
                if not len(known):
                    powers.append(np.zeros(len(differences)))
                    continue
                widths.append(np.diff(np.quantile(known, ends))[0])
                centred = known - known.mean()
                critical = np.quantile(np.abs(centred), 1 - alpha, method="higher")
                detected = [
                    (np.abs(centred + mind) > critical).sum()
                    + (np.abs(centred - mind) > critical).sum()
                    for mind in differences
                ]
                powers.append(np.array(detected) / (2 * len(difference)))
        by_pair = np.stack(powers)
        return Forecast(
            by_pair.mean(axis=0),
            by_pair.min(axis=0),
            float(np.mean(widths)) if widths else np.nan,
            float(np.mean(run_widths)) if run_widths else np.nan,
        )


def simulated_sizes(
    simulation: Simulation,
    *,
    alphas: Sequence[float] = (0.05,),
    betas: Sequence[float] = (0.2,),
    differences: Sequence[float] = (0.05, 0.1, 0.2),
    widths: Sequence[float] | None = None,
) -> list[SimulatedRow]:
    """The numbers of questions for every combination of the settings.

    ``alphas``: levels. ``betas``: risks of missing the difference. ``differences``: minD, the
    smallest differences to detect. ``widths``: widths of intervals, by default ``differences``.
    Raises ValueError if a setting is out of range.
    """
    for value in (*differences, *(widths or ())):
        if not 0 < value < np.inf:
            raise ValueError(f"a difference or a width must be greater than 0, got {value}")
    rows: list[SimulatedRow] = []
    for alpha in alphas:
        for beta, mind in product(betas, differences):
            probability(beta, "beta")
            rows.append(_paired(simulation, alpha, beta, mind))
        for width in differences if widths is None else widths:
            rows += _intervals(simulation, alpha, width)
    return rows


def _paired(simulation: Simulation, alpha: float, beta: float, mind: float) -> SimulatedRow:
    forecast = partial(simulation.forecast, alpha=alpha, differences=[mind])
    topics = _fewest(lambda questions: forecast(questions).power[0] >= 1 - beta)
    worst = _fewest(lambda questions: forecast(questions).least_power[0] >= 1 - beta)
    return SimulatedRow("paired", alpha, beta, mind, topics, worst)


def _intervals(simulation: Simulation, alpha: float, width: float) -> Iterator[SimulatedRow]:
    forecast = partial(simulation.forecast, alpha=alpha, differences=())
    of_two = _fewest(lambda questions: forecast(questions).width <= width)
    yield SimulatedRow("interval", alpha, None, width, of_two, None)
    of_one = _fewest(lambda questions: forecast(questions).run_width <= width)
    yield SimulatedRow("interval-run", alpha, None, width, of_one, None)


def _fewest(enough: Callable[[int], bool]) -> int | None:
    """The smallest sufficient number of questions to within 1 %: simulation is no more precise."""
    return smallest(enough, 8, MOST_QUESTIONS, tolerance=0.01)
