"""In what order a run's documents are read: by score, and what decides between equal scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Floats, Integers

Ties = Literal["trec", "trec64", "file"]
"""``trec``: as pytrec_eval and trec_eval before its pull request 38, which keep scores in 32 bits
and put equal ones in descending order of the document id's bytes. ``trec64``: as trec_eval since
then, the same with scores in 64 bits. ``file``: scores in 64 bits; equal ones stay in the order
given, as in NTCIREVAL."""

TIES: tuple[Ties, ...] = get_args(Ties)


def _compared(scores: Floats, ties: Ties) -> npt.NDArray[np.float32] | Floats:
    """The scores as they are compared: in 32 bits for ``trec``, else as they are."""
    if ties != "trec":
        return scores
    with np.errstate(over="ignore"):
        return scores.astype(np.float32)


def sort_keys(lists: Integers, scores: Floats) -> npt.NDArray[np.uint64]:
    """One number a document that sorts by list and, best first, by its 32-bit score."""
    bits = (_compared(scores, "trec") + np.float32(0)).view(np.uint32)  # -0 becomes 0
    negative = bits >> np.uint32(31)
    # Bits of floats rise with them where all bits of negative ones are turned, and the sign of
    # others.
    rising = bits ^ (negative * np.uint32(0x7FFFFFFF) | np.uint32(0x80000000))
    return (lists.astype(np.uint64) << np.uint64(32)) | (~rising).astype(np.uint64)


def rank_order(
    lists: Integers,
    scores: Floats,
    descending: Callable[[Integers], Integers],
    ties: Ties = "trec",
) -> Integers | None:
    """The order that sorts documents by list and within a list best first.

    ``lists``: the number of each document's list. ``scores``: its score, a finite number.
    ``descending``: given row numbers, the positions *in them* that sort their document ids in
    descending order; asked only for documents with equal scores. ``ties``: what decides between
    equal scores. Returns row numbers in order; ``None`` if the rows are in order already.
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
    # By id first, then stably by group: within one the ids stay in their order.
    order[places] = rows[by_id[np.argsort(groups[by_id], kind="stable")]]
    return order
