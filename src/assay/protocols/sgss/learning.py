"""Weights learned from preferences, and whether they are better than the defaults.

A choice made on some pairs looks better on these than it is. So every choice (the weights, which
criteria) is made anew in each fold of a cross-validation by query, from the other folds alone. It
is compared there with what needs no choice: the default weights, and each criterion alone.

Source: Sakai et al. 2026, sections 4.2 and 4.3, equations 13 and 14; Varma & Simon, Bias in error
estimation when using cross-validation for model selection, BMC Bioinformatics 7 (2006).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass

import numpy as np

from assay.measures.arrays import Floats
from assay.measures.summaries import Weights
from assay.model.errors import SettingsError
from assay.protocols.sgss.inputs import CRITERIA, SgssInputs, SgssSettings
from assay.protocols.sgss.labels import JudgedSummary
from assay.protocols.sgss.preferences import (
    PreferredPair,
    agreement_rate,
    assumed,
    is_there,
    over_queries,
    pairs,
)
from assay.protocols.sgss.scoring import features
from assay.statistics.logistic import fit_logistic

Ends = tuple[float, float]

ALL = "learned"
SELECTED = "learned, selected"
DEFAULT = "default"
LEARNED = (ALL, SELECTED)


@dataclass(frozen=True, slots=True)
class SelectionStep:
    """A model in the selection: its criteria, and its MAR in cross-validation."""

    criteria: tuple[str, ...]
    mar: float


@dataclass(frozen=True, slots=True)
class ModelRates:
    """How a way of weighting agrees with preferences. ``mar`` is its MAR on the training pairs,
    each from a query that had no part in any choice, with the interval over queries.
    ``against_default`` is the interval of its difference from the default weights. All are None if
    there is only one query. ``test_mar`` is the MAR on the test pairs, None without any."""

    model: str
    mar: float | None
    interval: Ends | None
    against_default: Ends | None
    test_mar: float | None
    test_interval: Ends | None


@dataclass(frozen=True)
class Learned:
    """Weights from preferences. ``steps`` are the models that were considered, ``left_out`` counts
    the training pairs with a missing label or summary, ``mar_train`` is the MAR on the training
    pairs, ``assumed`` counts those that are an original and its degraded version, and ``compared``
    are the ways of weighting on queries on which they were not chosen."""

    weights: Weights
    criteria: tuple[str, ...]
    steps: tuple[SelectionStep, ...]
    pairs: int
    assumed: int
    labels: int
    left_out: int
    mar_train: float
    test_pairs: int
    compared: tuple[ModelRates, ...]

    @property
    def own(self) -> ModelRates:
        """These weights among those compared."""
        return [one for one in self.compared if one.model in LEARNED][-1]

    def document(self, settings: SgssSettings) -> dict[str, object]:
        """The contents of the file of weights."""
        return {
            "weights": asdict(self.weights),
            "criteria": list(self.criteria),
            "selection": [{"criteria": list(s.criteria), "cv_mar": s.mar} for s in self.steps],
            "training": {
                "pairs": self.pairs,
                "assumed": self.assumed,
                "labels": self.labels,
                "left_out": self.left_out,
                "mar": self.mar_train,
            },
            "compared": [asdict(one) for one in self.compared],
            "test_pairs": self.test_pairs,
            "settings": {
                "ridge": settings.ridge,
                "folds": settings.folds,
                "seed": settings.seed,
                "test_share": settings.test_share,
            },
        }


@dataclass(frozen=True)
class Differences:
    """Pairs with the difference, left minus right, of the terms that the weights multiply."""

    x: Floats
    pairs: Sequence[PreferredPair]

    def only(self, places: Sequence[int]) -> Differences:
        """The pairs at some indexes."""
        return Differences(self.x[list(places)], [self.pairs[place] for place in places])

    def rates(self, weights: Floats) -> list[float]:
        """AR of each pair."""
        differences = (self.x @ weights).tolist()
        return [agreement_rate(p, d) for p, d in zip(self.pairs, differences, strict=True)]

    def mar(self, weights: Floats) -> float:
        """The mean AR."""
        return float(np.mean(self.rates(weights)))

    def fitted(self, columns: Sequence[int], ridge: float) -> Floats:
        """The weights from logistic regression, 0 for criteria that are left out."""
        beta = np.zeros(len(CRITERIA))
        try:
            beta[list(columns)] = fit_logistic(
                self.x[:, list(columns)],
                [pair.left_better / pair.labels for pair in self.pairs],
                ridge=ridge,
                counts=[pair.labels for pair in self.pairs],
            )
        except ValueError as error:
            raise SettingsError(f"The weights cannot be learned: {error}.") from error
        return beta

    def folds(self, settings: SgssSettings) -> Iterator[tuple[list[int], list[int]]]:
        """Indexes inside and outside of each fold by query; none if there is only one query."""
        queries = sorted({pair.query for pair in self.pairs})
        random.Random(settings.seed).shuffle(queries)  # noqa: S311 (folds, not secrets)
        count = min(settings.folds, len(queries))
        fold_of = {query: place % count for place, query in enumerate(queries)}
        for fold in range(count) if count > 1 else ():
            places = range(len(self.pairs))
            outside = [i for i in places if fold_of[self.pairs[i].query] == fold]
            yield [i for i in places if fold_of[self.pairs[i].query] != fold], outside


def learn(
    inputs: SgssInputs,
    settings: SgssSettings,
    judged: Mapping[str, Mapping[str, JudgedSummary]],
    *,
    select: bool = True,
    degraded: bool = False,
) -> Learned:
    """Learn weights by logistic regression, without intercept, of the preferences of the training
    part on the differences of the terms that the weights multiply.

    With ``select``, criteria are dropped as long as the MAR in cross-validation (by query) does not
    fall. With ``degraded``, an original and its degraded version are a training pair too, unless a
    test pair has their query. Raises SettingsError if there is nothing to learn from.
    """
    every = pairs(inputs.preferences, settings)
    testing = [pair for pair in every if pair.part == "test"]
    wanted = [pair for pair in every if pair.part == "train"]
    if degraded:
        kept_out = {pair.query for pair in testing}
        wanted += [
            pair for pair in assumed(inputs, judged) if pair.sure and pair.query not in kept_out
        ]
    training = _known(wanted, inputs, settings, judged)
    test = _known(testing, inputs, settings, judged)
    if not training.pairs:
        raise SettingsError(
            f"There is nothing to learn from: {len(wanted)} training pairs, none of them with "
            "all labels. Preferences come from [inputs] preferences, labels from 'assay judge'."
        )
    columns, steps = selected(training, settings, select=select)
    beta = training.fitted(columns, settings.ridge)
    return Learned(
        _bounded(beta),
        tuple(CRITERIA[one] for one in columns),
        steps,
        len(training.pairs),
        sum(pair.part == "assumed" for pair in training.pairs),
        sum(pair.labels for pair in training.pairs),
        len(wanted) - len(training.pairs),
        training.mar(beta),
        len(test.pairs),
        tuple(compared_ways(training, test, settings, select=select)),
    )


def _known(
    wanted: Sequence[PreferredPair],
    inputs: SgssInputs,
    settings: SgssSettings,
    judged: Mapping[str, Mapping[str, JudgedSummary]],
) -> Differences:
    """The pairs that have all summaries and labels."""
    rows: list[Floats] = []
    usable: list[PreferredPair] = []
    for pair in wanted:
        here = judged.get(pair.query, {})
        if not is_there(pair, here):
            continue
        left, right = (features(here[run], inputs, settings) for run in (pair.left, pair.right))
        if left is not None and right is not None:
            rows.append(left - right)
            usable.append(pair)
    return Differences(np.array(rows).reshape(len(usable), len(CRITERIA)), usable)


def selected(
    training: Differences, settings: SgssSettings, *, select: bool
) -> tuple[tuple[int, ...], tuple[SelectionStep, ...]]:
    """The indexes of the criteria that are kept, and the models that were considered."""
    every = tuple(range(len(CRITERIA)))
    steps = [_step(training, every, settings)]
    columns = [every]
    while select and len(columns[-1]) > 1:
        tried = [tuple(one for one in columns[-1] if one != dropped) for dropped in columns[-1]]
        looked = [(_step(training, one, settings), one) for one in tried]
        best, chosen = max(looked, key=lambda item: item[0].mar)
        steps.append(best)
        columns.append(chosen)
    top = max(step.mar for step in steps)
    # Of models that agree equally well, take the one with the fewest criteria.
    place = max(i for i, step in enumerate(steps) if step.mar >= top - 1e-12)
    return columns[place], tuple(steps)


def _step(training: Differences, columns: Sequence[int], settings: SgssSettings) -> SelectionStep:
    """The cross-validated MAR of a model; for a single query, its MAR on the training pairs."""
    names = tuple(CRITERIA[one] for one in columns)
    rates = [
        rate
        for inside, outside in training.folds(settings)
        for rate in training.only(outside).rates(
            training.only(inside).fitted(columns, settings.ridge)
        )
    ]
    if not rates:
        return SelectionStep(names, training.mar(training.fitted(columns, settings.ridge)))
    return SelectionStep(names, sum(rates) / len(rates))


def compared_ways(
    training: Differences, test: Differences, settings: SgssSettings, *, select: bool
) -> Iterator[ModelRates]:
    """Each way of weighting, on folds on which it was not chosen and on the test pairs."""
    ways = {ALL: False, SELECTED: True} if select else {ALL: False}
    fixed = {DEFAULT: np.array(astuple(Weights()))}
    fixed |= {
        f"{name} alone": row for name, row in zip(CRITERIA, np.eye(len(CRITERIA)), strict=True)
    }
    order: list[int] = []
    rates: dict[str, list[float]] = {name: [] for name in (*ways, *fixed)}
    for inside, outside in training.folds(settings):
        order += outside
        held_out = training.only(outside)
        for name, selects in ways.items():
            rates[name] += held_out.rates(_chosen(training.only(inside), settings, select=selects))
        for name, weights in fixed.items():
            rates[name] += held_out.rates(weights)
    queries = [training.pairs[place].query for place in order]
    for name in rates:
        if name in fixed:
            weights = fixed[name]
        else:
            weights = _chosen(training, settings, select=ways[name])
        on_test = test.rates(weights)
        lead = np.array(rates[name]) - np.array(rates[DEFAULT])
        yield ModelRates(
            name,
            float(np.mean(rates[name])) if order else None,
            over_queries(rates[name], queries, settings),
            None if name == DEFAULT else over_queries(lead.tolist(), queries, settings),
            float(np.mean(on_test)) if on_test else None,
            over_queries(on_test, [pair.query for pair in test.pairs], settings),
        )


def _chosen(training: Differences, settings: SgssSettings, *, select: bool) -> Floats:
    columns, _ = selected(training, settings, select=select)
    return training.fitted(columns, settings.ridge)


def _bounded(beta: Floats) -> Weights:
    """The coefficients, scaled so that no line adds more than 1 (footnote 5). Ranks stay the
    same."""
    raw = dict(zip(CRITERIA, beta.tolist(), strict=True))
    most = max(raw["OS"] + raw["OF"] + raw["OR"], raw["HR"], raw["SRel"] + raw["SF"])
    scale = most if most > 0 else 1.0
    return Weights(**{name: value / scale for name, value in raw.items()})
