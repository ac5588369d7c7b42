"""Groups of runs that do not differ significantly: the compact letter display and the top group.

Source: Piepho, An algorithm for a letter-based representation of all-pairwise comparisons, JCGS 13
(2004). The groups are the maximal sets of runs without a significant pair, the result of his
insert-and-absorb algorithm.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from assay.statistics.checks import numbers

_MOST_GROUPS = 5_000


class TooManyGroups(ValueError):
    """There would be more letters than anybody could read."""


def compact_letters(means: npt.ArrayLike, different: npt.ArrayLike) -> list[tuple[str, ...]]:
    """The letters of every run: two runs share a letter if and only if they do not differ.

    ``means``: m means, which order the letters: the best run has an ``a``. ``different``: m × m,
    whether two runs differ significantly. Returns the letters of each run, in the same order: ``a``
    to ``z``, then ``aa``, ``ab``, …. Raises TooManyGroups if more than 5,000 groups are needed,
    ValueError if shapes do not fit, or ``different`` is not symmetric or true on its diagonal.
    """
    values, table = _check(means, different)
    order = np.argsort(-values, kind="stable")
    similar = ~table[np.ix_(order, order)]
    neighbours = [sum(1 << int(j) for j in np.flatnonzero(row)) for row in similar]
    groups: list[int] = []  # sets of positions in the order, as bits
    for place, near in enumerate(neighbours):
        # The run forms a new group with the similar members of each group. Groups in which all are
        # similar to it are replaced by these; the others are retained, too.
        new = {group & near | 1 << place for group in groups} or {1 << place}
        largest = _maximal(new)
        groups = [group for group in groups if group & ~near] + largest
        if len(groups) > _MOST_GROUPS:
            raise TooManyGroups(f"the significant pairs need more than {_MOST_GROUPS} letters")
    groups.sort(key=lambda group: [i for i in range(len(order)) if group >> i & 1])
    letters: list[tuple[str, ...]] = [()] * len(order)
    for place, run in enumerate(order):
        letters[run] = tuple(
            _letter(number) for number, group in enumerate(groups) if group >> place & 1
        )
    return letters


def top_group(means: npt.ArrayLike, different: npt.ArrayLike) -> list[int]:
    """The runs that do not differ significantly from the best, best mean first. Raises
    ValueError as in :func:`compact_letters`."""
    values, table = _check(means, different)
    order = np.argsort(-values, kind="stable")
    return [int(run) for run in order if not table[order[0], run]]


def _check(
    means: npt.ArrayLike, different: npt.ArrayLike
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    values = numbers(means, "means")
    table = np.asarray(different, dtype=np.bool_)
    if values.ndim != 1 or not len(values) or table.shape != (len(values), len(values)):
        raise ValueError(f"{values.shape} means do not fit a {table.shape} table of pairs")
    if table.diagonal().any() or (table != table.T).any():
        raise ValueError("the table of different pairs must be symmetric, false on its diagonal")
    return values, table


def _maximal(groups: set[int]) -> list[int]:
    """The sets that are not contained in another one, in a fixed order."""
    maximal: list[int] = []
    for group in sorted(groups, key=lambda bits: (-bits.bit_count(), bits)):
        if not any(group & ~larger == 0 for larger in maximal):
            maximal.append(group)
    return maximal


def _letter(number: int) -> str:
    """a, …, z, aa, ab, …: the names of spreadsheet columns."""
    name = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        name = chr(ord("a") + rest) + name
    return name


def letters_text(letters: Sequence[Sequence[str]]) -> list[str]:
    """The letters of every run as text, such as ``abc``. If some run has a letter such as ``ab``,
    all are separated by commas."""
    longer = any(len(letter) > 1 for own in letters for letter in own)
    return [("," if longer else "").join(own) for own in letters]
