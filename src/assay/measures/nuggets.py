"""How much of what a good answer should say an answer says: nugget recall and coverage.

Source: overview of the TREC 2025 RAG track, section 3.2, after Pradeep et al. (2025), *The great
nugget recall*. s(n) is 1 where the answer supports nugget n, 1/2 where it supports it in part,
else 0; the strict form counts partial support as 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["NUGGET_MEASURES", "coverage", "nugget_scores"]

NUGGET_MEASURES = ("strict_vital", "vital", "strict_all", "all", "weighted")
"""Names of :func:`nugget_scores`, the track's main measure first."""

FULL = 1.0


def nugget_scores(
    values: Sequence[float | None], vital: Sequence[bool | None]
) -> dict[str, float | None]:
    """Return the nugget recall measures of one answer.

    ``weighted`` is (Σ s vital + ½ Σ s okay) / (#vital + ½ #okay).

    Args:
        values: s of each nugget (1, 0.5 or 0), None where it has no label.
        vital: whether each nugget is vital; the others are okay. None where that is not known.

    Returns:
        Values by the names of :data:`NUGGET_MEASURES`. None where undefined: there is no nugget
        that the measure counts, one of those has no label, or it is not known which it counts.

    Raises:
        ValueError: the lengths differ, or a value is not 0, 0.5 or 1.
    """
    if len(values) != len(vital):
        raise ValueError(f"{len(values)} values for {len(vital)} nuggets")
    if any(value not in (None, 0.0, 0.5, 1.0) for value in values):
        raise ValueError("a nugget's value is 0, 0.5 or 1")
    known = None not in vital
    mine = [value for value, is_vital in zip(values, vital, strict=True) if is_vital and known]
    weights = [1.0 if is_vital else 0.5 for is_vital in vital]
    return {
        "strict_vital": _mean(_strict(mine)),
        "vital": _mean(mine),
        "strict_all": _mean(_strict(values)),
        "all": _mean(values),
        "weighted": _mean(values, weights) if known else None,
    }


def coverage(
    values: Sequence[float | None],
    groups: Sequence[str | None],
    every: Iterable[str] = (),
) -> float | None:
    """Return the share of sub-narratives that an answer covers: those with at least one nugget
    that it fully supports.

    Args:
        values: s of each nugget, None where it has no label.
        groups: the sub-narrative that each nugget is mapped to, None for none.
        every: all sub-narratives of the narrative; those that nuggets are mapped to are added.

    Returns:
        None where there is no sub-narrative, or where the missing label of a nugget could still
        make a sub-narrative covered.

    Raises:
        ValueError: the lengths differ.
    """
    if len(values) != len(groups):
        raise ValueError(f"{len(values)} values for {len(groups)} nuggets")
    found: dict[str, list[float | None]] = {name: [] for name in every}
    for value, group in zip(values, groups, strict=True):
        if group is not None:
            found.setdefault(group, []).append(value)
    covered = {name: FULL in mine for name, mine in found.items()}
    open_ones = any(not covered[name] and None in mine for name, mine in found.items())
    if not found or open_ones:
        return None
    return sum(covered.values()) / len(covered)


def _strict(values: Sequence[float | None]) -> list[float | None]:
    return [None if value is None else float(value == FULL) for value in values]


def _mean(values: Sequence[float | None], weights: Sequence[float] | None = None) -> float | None:
    """The (weighted) mean; None of no values, or where one is missing."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    weighing = weights or [1.0] * len(known)
    return sum(w * v for w, v in zip(weighing, known, strict=True)) / sum(weighing)
