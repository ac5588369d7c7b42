"""Reciprocal rank fusion of several ranked lists."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

T = TypeVar("T", bound=Hashable)

K = 60
"""The constant of Cormack, Clarke and Büttcher (SIGIR 2009)."""


def rrf(lists: Sequence[Sequence[T]], *, k: float = K) -> list[tuple[T, float]]:
    """RRF(d) = Σ_i 1 / (k + rank_i(d)) over the lists that hold d; ranks count from 1.

    Best first; equal scores in the order in which the lists, one after the other, first name
    them. Source: Cormack et al., *Reciprocal rank fusion outperforms Condorcet and individual rank
    learning methods*, SIGIR 2009.
    """
    scores: dict[T, float] = {}
    for ranked in lists:
        for rank, item in enumerate(dict.fromkeys(ranked), start=1):
            scores[item] = scores.get(item, 0.0) + 1 / (k + rank)
    return sorted(scores.items(), key=lambda pair: -pair[1])
