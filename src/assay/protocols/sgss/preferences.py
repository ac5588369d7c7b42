"""Agreement with preferences (AR and MAR), and weights learned from them.

Source: Sakai et al. 2026, sections 4.2 and 4.3, equations 13 and 14.
"""

from __future__ import annotations

import math
import random
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

from assay.measures.ranges import Range
from assay.measures.summaries import Weights
from assay.model.errors import SettingsError
from assay.model.summaries import Preference
from assay.protocols.sgss.inputs import CRITERIA, SgssInputs, SgssSettings, is_test
from assay.protocols.sgss.labels import Judged
from assay.protocols.sgss.scoring import features
from assay.statistics.logistic import fit_logistic

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two summaries of a query with all preferences between them. ``left_better`` of ``labels``
    labellers prefer the left one; ``test`` is its part; an ``assumed`` pair is an original and
    its degraded version. Whether the pair counts at all hangs on a missing label where it is not
    ``sure``."""

    query: str
    left: str
    right: str
    left_better: int
    labels: int
    test: bool
    assumed: bool = False
    sure: bool = True


def pairs(preferences: Iterable[Preference], settings: SgssSettings) -> list[Pair]:
    """The pairs that were compared, each once, whichever side a summary stood on."""
    found: dict[tuple[str, str, str], list[bool]] = {}
    tests: dict[tuple[str, str, str], bool] = {}
    for one in preferences:
        left, right = sorted((one.left, one.right))
        key = (one.query, left, right)
        found.setdefault(key, []).append(one.left_better == (one.left == left))
        tests[key] = is_test(one, settings)
    return [
        Pair(*key, left_better=sum(said), labels=len(said), test=tests[key])
        for key, said in found.items()
    ]


def assumed(inputs: SgssInputs, judged: Mapping[str, Mapping[str, Judged]]) -> list[Pair]:
    """Originals with sections, assumed better than their degraded versions; one that lost its first
    section only where that held a relevant statement (section 4.1)."""
    found = []
    for query, by_run in inputs.summaries.items():
        for run, summary in by_run.items():
            if summary.original is None or not by_run[summary.original].sections:
                continue
            sure = True
            if summary.degraded == "NoSection1":
                lost = judged[query][summary.original].labels.parts[0].srel
                sure = any(lost)
                if not sure and None not in lost:
                    continue
            found.append(
                Pair(query, summary.original, run, 1, 1, test=True, assumed=True, sure=sure)
            )
    return found


def agreement_rate(pair: Pair, difference: float) -> float:
    """AR, eq. 14: the share of preferences that agree with the sign of ΔSGSS (eq. 13). A
    difference of 0 agrees with none."""
    if difference > 0:
        return pair.left_better / pair.labels
    if difference < 0:
        return (pair.labels - pair.left_better) / pair.labels
    return 0.0


def rates(
    found: Sequence[Pair], scores: Mapping[str, Mapping[str, Range | None]]
) -> list[tuple[Pair, Range | None, Range | None]]:
    """Each pair with ΔSGSS and AR; None where SGSS is undefined in the evaluation. A missing label
    of both summaries counts as two, so that the ends are safe. Of a summary that is not there
    people saw what nobody can score: ΔSGSS is unknown, and AR all that it can be."""
    rows: list[tuple[Pair, Range | None, Range | None]] = []
    for pair in found:
        here = scores[pair.query]
        if not is_there(pair, here):
            rows.append((pair, None, _rate(pair, Range(-math.inf, math.inf))))
            continue
        left, right = here[pair.left], here[pair.right]
        if left is None or right is None:
            rows.append((pair, None, None))
            continue
        difference = Range(left.floor - right.ceiling, left.ceiling - right.floor)
        rows.append((pair, difference, _rate(pair, difference)))
    return rows


def is_there(pair: Pair, runs: Container[str]) -> bool:
    """Whether both summaries are among those of the query, by run."""
    return pair.left in runs and pair.right in runs


def _rate(pair: Pair, difference: Range) -> Range:
    if not pair.sure:
        # With any rate from 0 to 1 the mean's ends hold those of the mean without the pair.
        return Range(0.0, 1.0)
    within = (0.0,) if difference.floor < 0 < difference.ceiling else ()
    possible = [agreement_rate(pair, one) for one in (*difference, *within)]
    return Range(min(possible), max(possible))


# -- learning -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Step:
    """A model of the selection: its criteria, and its MAR in cross-validation."""

    criteria: tuple[str, ...]
    mar: float


@dataclass(frozen=True)
class Learned:
    """Weights from preferences. ``steps`` are the models that were looked at, ``left_out`` the
    training pairs with a missing label or summary, ``mar_train`` the MAR on the training pairs."""

    weights: Weights
    criteria: tuple[str, ...]
    steps: tuple[Step, ...]
    pairs: int
    labels: int
    left_out: int
    mar_train: float

    def document(self, settings: SgssSettings) -> dict[str, object]:
        """What is saved."""
        return {
            "weights": asdict(self.weights),
            "criteria": list(self.criteria),
            "selection": [{"criteria": list(s.criteria), "cv_mar": s.mar} for s in self.steps],
            "training": {
                "pairs": self.pairs,
                "labels": self.labels,
                "left_out": self.left_out,
                "mar": self.mar_train,
            },
            "settings": {
                "ridge": settings.ridge,
                "folds": settings.folds,
                "seed": settings.seed,
                "test_share": settings.test_share,
            },
        }


def learn(
    inputs: SgssInputs,
    settings: SgssSettings,
    judged: Mapping[str, Mapping[str, Judged]],
    *,
    select: bool = True,
) -> Learned:
    """Logistic regression of the preferences of the training part on the differences of what the
    weights are multiplied with, without an intercept; with ``select`` criteria are dropped as
    long as the MAR in cross-validation (by query) does not fall.

    Raises SettingsError where there is nothing to learn from.
    """
    training = [pair for pair in pairs(inputs.preferences, settings) if not pair.test]
    rows: list[Floats] = []
    kept: list[Pair] = []
    for pair in training:
        if not is_there(pair, judged[pair.query]):
            continue
        left, right = (
            features(judged[pair.query][run], inputs, settings) for run in (pair.left, pair.right)
        )
        if left is not None and right is not None:
            rows.append(left - right)
            kept.append(pair)
    if not kept:
        raise SettingsError(
            f"There is nothing to learn from: {len(training)} training pairs, none of them with "
            "all labels. Preferences come from [inputs] preferences, labels from 'assay judge'."
        )
    x = np.array(rows)
    every = tuple(range(len(CRITERIA)))
    steps = [_step(x, kept, every, settings)]
    columns = [every]
    while select and len(columns[-1]) > 1:
        tried = [tuple(one for one in columns[-1] if one != dropped) for dropped in columns[-1]]
        looked = [(_step(x, kept, one, settings), one) for one in tried]
        best, chosen = max(looked, key=lambda item: item[0].mar)
        steps.append(best)
        columns.append(chosen)
    top = max(step.mar for step in steps)
    # Of models that agree equally well the one with the fewest criteria.
    place = max(i for i, step in enumerate(steps) if step.mar >= top - 1e-12)
    chosen = columns[place]
    beta = np.zeros(len(CRITERIA))
    beta[list(chosen)] = _fit(x[:, list(chosen)], kept, settings.ridge)
    weights = _bounded(beta)
    return Learned(
        weights,
        tuple(CRITERIA[one] for one in chosen),
        tuple(steps),
        len(kept),
        sum(pair.labels for pair in kept),
        len(training) - len(kept),
        _mar(x @ beta, kept),
    )


def _fit(x: Floats, found: Sequence[Pair], ridge: float) -> Floats:
    shares = [pair.left_better / pair.labels for pair in found]
    try:
        return fit_logistic(x, shares, ridge=ridge, counts=[pair.labels for pair in found])
    except ValueError as error:
        raise SettingsError(f"The weights cannot be learned: {error}.") from error


def _mar(differences: Floats, found: Sequence[Pair]) -> float:
    rates = [agreement_rate(p, d) for p, d in zip(found, differences.tolist(), strict=True)]
    return sum(rates) / len(rates)


def _step(x: Floats, found: Sequence[Pair], columns: Sequence[int], settings: SgssSettings) -> Step:
    """Cross-validated MAR of a model; with a single query its MAR on the training pairs."""
    queries = sorted({pair.query for pair in found})
    random.Random(settings.seed).shuffle(queries)  # noqa: S311 (folds, not secrets)
    part = x[:, list(columns)]
    names = tuple(CRITERIA[one] for one in columns)
    folds = min(settings.folds, len(queries))
    if folds < 2:
        return Step(names, _mar(part @ _fit(part, found, settings.ridge), found))
    fold_of = {query: place % folds for place, query in enumerate(queries)}
    held: list[float] = []
    for fold in range(folds):
        inside = [i for i, pair in enumerate(found) if fold_of[pair.query] != fold]
        outside = [i for i, pair in enumerate(found) if fold_of[pair.query] == fold]
        beta = _fit(part[inside], [found[i] for i in inside], settings.ridge)
        differences = (part[outside] @ beta).tolist()
        held += [agreement_rate(found[i], d) for i, d in zip(outside, differences, strict=True)]
    return Step(names, sum(held) / len(held))


def _bounded(beta: Floats) -> Weights:
    """The coefficients, scaled so that no line adds more than 1 (footnote 5): the order of
    summaries by SGSS is the same."""
    raw = dict(zip(CRITERIA, beta.tolist(), strict=True))
    most = max(raw["OS"] + raw["OF"] + raw["OR"], raw["HR"], raw["SRel"] + raw["SF"])
    scale = most if most > 0 else 1.0
    return Weights(**{name: value / scale for name, value in raw.items()})
