"""What several people's labels of the same units come to, and how reliable each person is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Bools, Floats
from assay.measures.settings import whole_number
from assay.model.wording import counted

NO_LABEL = -1
"""Stands where a person said nothing of a unit."""

_LEAST_SHARED = 10
_CLOSE = 1e-8


@dataclass(frozen=True, eq=False)
class Consensus:
    """What labels come to under the model of Dawid and Skene.

    ``posterior``: I × K, how likely each category is the unit's true one. ``prior``: K shares of
    the categories. ``confusion``: P × K × K, how likely each person says the last category where
    the middle one is true. ``accuracy``: P, how likely each person says the true category, Σ_k
    prior_k confusion_pkk. ``likelihood``: the logarithm of what was maximised, after each
    iteration; it never falls. ``converged``: whether it came to rest. ``shared``: how many units
    have labels by two people or more. ``people``: how many people share units with others. Two
    alone do not tell who of them errs: the model then follows its start.
    """

    posterior: Floats
    prior: Floats
    confusion: Floats
    accuracy: Floats
    likelihood: Floats
    converged: bool
    shared: int
    people: int

    @property
    def labels(self) -> npt.NDArray[np.int64]:
        """I most likely categories; the first of equally likely ones."""
        # Rounding errors part what is equally likely.
        found: npt.NDArray[np.int64] = np.argmax(np.round(self.posterior, 9), axis=1)
        return found


def dawid_skene(
    labels: npt.ArrayLike,
    categories: int,
    *,
    smoothing: float = 0.5,
    iterations: int = 1000,
) -> Consensus:
    """Estimate units' true categories and people's errors from one another, by EM.

    A unit's true category is drawn from the prior; each person then says category l where k is true
    with the chance π_kl of that person, whatever others say. It starts from the shares of votes.

    Source: Dawid & Skene 1979, Maximum likelihood estimation of observer error-rates using the EM
    algorithm.

    ``labels``: I × P whole numbers from 0 to ``categories`` − 1, :data:`NO_LABEL` for none.
    ``categories``: K. ``smoothing``: pseudo-labels in each cell of each person's K × K table, and
    in each category: with 0 a person of few labels seems never to err. ``iterations``: at most.
    Raises ValueError if the labels are no such matrix, a unit has none, fewer than 10 units have
    labels by two people, or a setting is out of range.
    """
    whole_number(categories, "categories", 2)
    whole_number(iterations, "iterations")
    if not 0 <= smoothing < np.inf:
        raise ValueError(f"smoothing must be from 0, got {smoothing}")
    said = _checked(labels, categories)
    given = said != NO_LABEL
    several = given.sum(axis=1) > 1
    shared, sharing = int(several.sum()), int(given[several].any(axis=0).sum())
    if shared < _LEAST_SHARED:
        raise ValueError(
            f"labels by two people or more are there of {counted(shared, 'unit')}, and "
            f"{_LEAST_SHARED} are the least"
        )
    # units × people × categories: 1 if the person said it.
    votes = (said[:, :, None] == np.arange(categories)).astype(np.float64)
    posterior = votes.sum(axis=1) / given.sum(axis=1, keepdims=True)
    reached = []
    converged = False
    for _ in range(iterations):
        prior = posterior.sum(axis=0) + smoothing
        prior /= prior.sum()
        confusion = np.einsum("ik,ipl->pkl", posterior, votes) + smoothing
        rows = confusion.sum(axis=2, keepdims=True)
        even = np.full_like(confusion, 1.0 / categories)  # a category that was never true
        confusion = np.divide(confusion, rows, out=even, where=rows > 0)
        with np.errstate(divide="ignore"):
            log_prior, log_confusion = np.log(prior), np.log(confusion)
        # 0 · −∞: what nobody says of a unit has no weight there.
        finite = np.maximum(log_confusion, -1e6)
        joint = np.maximum(log_prior, -1e6) + np.einsum("ipl,pkl->ik", votes, finite)
        top = joint.max(axis=1, keepdims=True)
        total = top[:, 0] + np.log(np.exp(joint - top).sum(axis=1))
        penalty = smoothing * (np.maximum(log_prior, -1e6).sum() + finite.sum())
        reached.append(float(total.sum() + (penalty if smoothing else 0.0)))
        before, posterior = posterior, np.exp(joint - total[:, None])
        if np.abs(posterior - before).max() < _CLOSE:
            converged = True
            break
    accuracy = np.einsum("k,pkk->p", prior, confusion)
    return Consensus(
        posterior, prior, confusion, accuracy, np.array(reached), converged, shared, sharing
    )


def _checked(labels: npt.ArrayLike, categories: int) -> npt.NDArray[np.int64]:
    array = np.asarray(labels)
    if array.ndim != 2 or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(
            f"give whole numbers, units × people, got {array.dtype} of shape {array.shape}"
        )
    beyond: Bools = (array != NO_LABEL) & ((array < 0) | (array >= categories))
    if beyond.any():
        unit, person = np.argwhere(beyond)[0]
        raise ValueError(
            f"label {array[unit, person]} of unit {unit + 1} by person {person + 1} is not from 0 "
            f"to {categories - 1}, nor {NO_LABEL} for none"
        )
    without = np.flatnonzero((array == NO_LABEL).all(axis=1))
    if len(without):
        raise ValueError(
            f"unit {without[0] + 1} has no label ({len(without)} in all): leave it out"
        )
    return array.astype(np.int64)
