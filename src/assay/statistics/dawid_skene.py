"""The consensus of several people's labels, and the reliability of each person (Dawid & Skene)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Bools, Floats
from assay.measures.settings import whole_number
from assay.model.wording import counted, noun

NO_LABEL = -1
"""Marks a unit that a person did not label."""

_LEAST_SHARED = 10
_CLOSE = 1e-8


@dataclass(frozen=True, eq=False)
class Consensus:
    """The fit of the model of Dawid and Skene to I units, P people and K categories.

    ``posterior``: the probability of each category for each unit, I × K. ``prior``: the shares of
    the K categories. ``confusion``: P × K × K, the probability that a person gives the last
    category if the middle one is true. ``accuracy``: the probability that each person gives the
    true category, Σ_k prior_k confusion_pkk. ``likelihood``: the logarithm of the maximised
    function after each iteration; it never decreases. ``converged``: whether the fit converged.
    ``shared``: the number of units with labels by two or more people. ``people``: the number of
    people who share units with others. With two people, the data do not tell who errs, and the fit
    depends on its start.
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
        """The most likely category of each unit; of equally likely ones, the first."""
        # Rounded so that equal probabilities tie.
        labels: npt.NDArray[np.int64] = np.argmax(np.round(self.posterior, 9), axis=1)
        return labels


def dawid_skene(
    labels: npt.ArrayLike,
    categories: int,
    *,
    smoothing: float = 0.5,
    iterations: int = 1000,
) -> Consensus:
    """Estimate the true categories of units and the error rates of people together, by EM.

    In the model, a unit's true category k is drawn from the prior; each person then gives category
    l with a probability π_kl of their own, independently of others. The fit starts from the shares
    of votes. Source: Dawid & Skene 1979, Maximum likelihood estimation of observer error-rates
    using the EM algorithm.

    ``labels``: I × P whole numbers from 0 to ``categories`` − 1, or :data:`NO_LABEL`.
    ``categories``: K. ``smoothing``: the number of pseudo-labels in each cell of each person's K ×
    K table, and in each category. (With 0, people with few labels would seem never to err.)
    ``iterations``: the most iterations. Raises ValueError if the labels are not such a matrix, a
    unit has none, fewer than 10 units have labels by two people, or a setting is out of range.
    """
    whole_number(categories, "categories", 2)
    whole_number(iterations, "iterations")
    if not 0 <= smoothing < np.inf:
        raise ValueError(f"smoothing must be from 0, got {smoothing}")
    checked = _checked(labels, categories)
    labelled = checked != NO_LABEL
    several = labelled.sum(axis=1) > 1
    shared, sharing = int(several.sum()), int(labelled[several].any(axis=0).sum())
    if shared < _LEAST_SHARED:
        raise ValueError(
            f"{counted(shared, 'unit')} {noun(shared, 'has', 'have')} labels by two or more "
            f"people; at least {_LEAST_SHARED} are needed"
        )
    # Units × people × categories: 1 for the label that the person gave.
    votes = (checked[:, :, None] == np.arange(categories)).astype(np.float64)
    posterior = votes.sum(axis=1) / labelled.sum(axis=1, keepdims=True)
    likelihoods = []
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
        # Avoids 0 · −∞ for categories that nobody gave.
        finite = np.maximum(log_confusion, -1e6)
        joint = np.maximum(log_prior, -1e6) + np.einsum("ipl,pkl->ik", votes, finite)
        top = joint.max(axis=1, keepdims=True)
        total = top[:, 0] + np.log(np.exp(joint - top).sum(axis=1))
        penalty = smoothing * (np.maximum(log_prior, -1e6).sum() + finite.sum())
        likelihoods.append(float(total.sum() + (penalty if smoothing else 0.0)))
        before, posterior = posterior, np.exp(joint - total[:, None])
        if np.abs(posterior - before).max() < _CLOSE:
            converged = True
            break
    accuracy = np.einsum("k,pkk->p", prior, confusion)
    likelihood = np.array(likelihoods)
    return Consensus(posterior, prior, confusion, accuracy, likelihood, converged, shared, sharing)


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
