"""Reciprocal rank fusion: several ranked lists become one."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

T = TypeVar("T", bound=Hashable)

K = 60
"""The constant of Cormack, Clarke and Büttcher (SIGIR 2009)."""


def rrf(
    lists: Sequence[Sequence[T]], *, k: float = K, weights: Sequence[float] | None = None
) -> list[tuple[T, float]]:
    """RRF(d) = Σ_i w_i / (k + rank_i(d)) over the lists that hold d; ranks count from 1.

    Best first; equal scores in the order in which the lists, one after the other, first name
    them. Source: Cormack et al., *Reciprocal rank fusion outperforms Condorcet and individual rank
    learning methods*, SIGIR 2009. Raises ValueError where weights and lists differ in number.
    """
    shares = [1.0] * len(lists) if weights is None else list(weights)
    scores: dict[T, float] = {}
    for ranked, weight in zip(lists, shares, strict=True):
        for rank, item in enumerate(dict.fromkeys(ranked), start=1):
            scores[item] = scores.get(item, 0.0) + weight / (k + rank)
    return sorted(scores.items(), key=lambda pair: -pair[1])
