"""How much of what a good answer should say an answer says: nugget recall and coverage.

Source: overview of the TREC 2025 RAG track, section 3.2, after Pradeep et al. (2025), *The great
nugget recall*. s(n) is 1 where the answer supports nugget n, 1/2 where it supports it in part,
else 0; the strict form counts partial support as 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.measures.ranges import IfDefined, Range

__all__ = ["NUGGET_MEASURES", "coverage", "coverage_range", "nugget_ranges", "nugget_scores"]

NUGGET_MEASURES = ("strict_vital", "vital", "strict_all", "all", "weighted")
"""Names of :func:`nugget_scores`, the track's main measure first."""

FULL = 1.0


def nugget_scores(values: Sequence[float], vital: Sequence[bool]) -> dict[str, float | None]:
    """Return the nugget recall measures of one answer.

    ``weighted`` is (Σ s vital + ½ Σ s okay) / (#vital + ½ #okay).

    Args:
        values: s of each nugget (1, 0.5 or 0).
        vital: whether each nugget is vital; the others are okay.

    Returns:
        Values by the names of :data:`NUGGET_MEASURES`. None where undefined: there is no nugget
        that the measure counts.

    Raises:
        ValueError: the lengths differ, or a value is not 0, 0.5 or 1.
    """
    if len(values) != len(vital):
        raise ValueError(f"{len(values)} values for {len(vital)} nuggets")
    if any(value not in (0.0, 0.5, 1.0) for value in values):
        raise ValueError("a nugget's value is 0, 0.5 or 1")
    mine = [value for value, is_vital in zip(values, vital, strict=True) if is_vital]
    weights = [1.0 if is_vital else 0.5 for is_vital in vital]
    return {
        "strict_vital": _mean(_strict(mine)),
        "vital": _mean(mine),
        "strict_all": _mean(_strict(values)),
        "all": _mean(values),
        "weighted": _mean(values, weights),
    }


def nugget_ranges(
    values: Sequence[float | None], vital: Sequence[bool | None]
) -> dict[str, Range | None]:
    """Return between which ends the measures lie where labels are missing.

    A missing assignment is 0 in the floor and 1 in the ceiling. With nuggets whose importance is
    missing a measure is a mean whose weights are free: it is least where, of these nuggets, just
    those below some value weigh most, and greatest where those above do, so that trying every such
    value finds the ends. They are exact.

    Args:
        values: as in :func:`nugget_scores`, None where the assignment is missing.
        vital: the same, None where the importance is missing.

    Returns:
        By the names of :data:`NUGGET_MEASURES`; None where no label would define the measure,
        :class:`IfDefined` where no nugget is surely vital, but one may be.

    Raises:
        ValueError: as :func:`nugget_scores`.
    """

    def completed(*, worst: bool) -> list[dict[str, float | None]]:
        known = [(0.0 if worst else 1.0) if value is None else value for value in values]
        levels = (0.0, 0.5, 1.0, 1.5) if None in vital else (0.0,)
        return [
            nugget_scores(
                known,
                [
                    (value < level) == worst if is_vital is None else is_vital
                    for value, is_vital in zip(known, vital, strict=True)
                ],
            )
            for level in levels
        ]

    if len(values) != len(vital):
        raise ValueError(f"{len(values)} values for {len(vital)} nuggets")
    floors, ceilings = completed(worst=True), completed(worst=False)
    found: dict[str, Range | None] = {}
    for name in NUGGET_MEASURES:
        ends = [one[name] for one in (*floors, *ceilings)]
        known = [end for end in ends if end is not None]
        kind = Range if len(known) == len(ends) else IfDefined
        found[name] = kind(min(known), max(known)) if known else None
    return found


def coverage(
    values: Sequence[float],
    groups: Sequence[str | None],
    every: Iterable[str] = (),
) -> float | None:
    """Return the share of sub-narratives that an answer covers: those with at least one nugget
    that it fully supports.

    Args:
        values: s of each nugget.
        groups: the sub-narrative that each nugget is mapped to, None for none.
        every: all sub-narratives of the narrative; those that nuggets are mapped to are added.

    Returns:
        None where there is no sub-narrative.

    Raises:
        ValueError: the lengths differ.
    """
    if len(values) != len(groups):
        raise ValueError(f"{len(values)} values for {len(groups)} nuggets")
    covered = dict.fromkeys(every, False)
    for value, group in zip(values, groups, strict=True):
        if group is not None:
            covered[group] = covered.get(group, False) or value == FULL
    return sum(covered.values()) / len(covered) if covered else None


def coverage_range(
    values: Sequence[float | None],
    groups: Sequence[str | None],
    every: Iterable[str] = (),
) -> Range | None:
    """Return the ends of :func:`coverage` where a missing assignment (None) is 0 or 1; exact."""
    names = tuple(every)
    floor, ceiling = (
        coverage([missing if value is None else value for value in values], groups, names)
        for missing in (0.0, FULL)
    )
    return None if floor is None or ceiling is None else Range(floor, ceiling)


def _strict(values: Sequence[float]) -> list[float]:
    return [float(value == FULL) for value in values]


def _mean(values: Sequence[float], weights: Sequence[float] | None = None) -> float | None:
    """The (weighted) mean; None of no values."""
    if not values:
        return None
    weighing = weights or [1.0] * len(values)
    return sum(w * v for w, v in zip(weighing, values, strict=True)) / sum(weighing)
