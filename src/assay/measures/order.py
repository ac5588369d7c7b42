"""The rank order of a run's documents: by score, with a rule for equal scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Floats, Integers

Ties = Literal["trec", "trec64", "file"]
"""What decides between equal scores.

``trec``: scores are compared in 32 bits, and equal ones ordered by document id (its bytes),
descending: pytrec_eval, and trec_eval before its pull request 38. ``trec64``: the same in 64 bits:
trec_eval since then. ``file``: 64 bits, and equal scores keep the order given: NTCIREVAL.
"""

TIES: tuple[Ties, ...] = get_args(Ties)


def _compared(scores: Floats, ties: Ties) -> npt.NDArray[np.float32] | Floats:
    """The scores in the precision in which they are compared: 32 bits for ``trec``."""
    if ties != "trec":
        return scores
    with np.errstate(over="ignore"):
        return scores.astype(np.float32)


def sort_keys(lists: Integers, scores: Floats) -> npt.NDArray[np.uint64]:
    """One number per document that sorts by list, then by 32-bit score, best first."""
    bits = (_compared(scores, "trec") + np.float32(0)).view(np.uint32)  # -0 becomes 0
    negative = bits >> np.uint32(31)
    # Read as integers, floats sort correctly if all bits of negative ones, and the sign bit of
    # others, are flipped.
    rising = bits ^ (negative * np.uint32(0x7FFFFFFF) | np.uint32(0x80000000))
    return (lists.astype(np.uint64) << np.uint64(32)) | (~rising).astype(np.uint64)


def rank_order(
    lists: Integers,
    scores: Floats,
    descending: Callable[[Integers], Integers],
    ties: Ties = "trec",
) -> Integers | None:
    """The order that sorts documents by list, and best first within a list.

    ``lists``: the number of each document's list. ``scores``: its score, a finite number.
    ``descending``: a function from row numbers to the positions *in them* that sort their document
    ids in descending order; it is called only for documents with equal scores. ``ties``: what
    decides between equal scores. Returns row numbers in order; ``None`` if the rows are in order
    already.
    """
    if len(lists) < 2:
        return None
    keys = _compared(scores, ties)
    order: Integers | None = None
    same = lists[1:] == lists[:-1]
    if ((lists[1:] < lists[:-1]) | (same & (keys[1:] > keys[:-1]))).any():
        order = np.lexsort((-keys, lists))
        lists, keys = lists[order], keys[order]
        same = lists[1:] == lists[:-1]
    if ties == "file":
        return order
    tied = same & (keys[1:] == keys[:-1])
    if not tied.any():
        return order
    if order is None:
        order = np.arange(len(lists))
    member = np.zeros(len(lists), dtype=bool)
    member[1:] = tied
    member[:-1] |= tied
    places = np.flatnonzero(member)
    groups = np.concatenate([[0], np.cumsum(~tied)])[places]
    rows = order[places]
    by_id = descending(rows)
    # Sorted by id first, then stably by group, which keeps the order of ids within a group.
    order[places] = rows[by_id[np.argsort(groups[by_id], kind="stable")]]
    return order
