"""Labels that still count for a unit whose content has changed because other labels changed.

What is asked about an answer may depend on labels given before: it is judged beside those of its
nuggets that are entailed. If a person changes one of these, the question changes, and what was said
on the former question still stands until it is asked again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from assay.measures.arrays import Bools
from assay.model.labels import Label
from assay.protocols.labels import LabelBook, LookedUp
from assay.tasks.base import AnyTask, UnitContent, unit_hash


def carried(
    book: LabelBook,
    task: AnyTask,
    unit: UnitContent,
    parts: Sequence[tuple[AnyTask, UnitContent]],
    unit_beside: Callable[[Sequence[Label]], UnitContent],
) -> tuple[Label, Sequence[Label]] | None:
    """The label that counted before new labels of ``parts`` (task, unit) changed the unit of
    ``task`` to what it is now, with the labels of the parts as they were then. ``unit_beside``
    makes the unit from labels of the parts. Only a label that counted here already is carried over.
    One given to a former unit later was meant for something else with the same content."""
    histories = [book.history(*part) for part in parts]
    if all(len(labels) < 2 for labels in histories):
        return None
    counted_at = [
        _counted_at(book, part, labels) for part, labels in zip(parts, histories, strict=True)
    ]
    now = unit_hash(task.name, unit)
    former_units: dict[str, tuple[Sequence[Label], UnitContent, int]] = {}
    candidates: list[Label] = []
    for end in sorted({label.rowid for labels in histories for label in labels}, reverse=True):
        then = [label for counted in counted_at if (label := counted(end)) is not None]
        # There was no unit then: a part had no label yet, or people disagreed on it.
        if len(then) < len(parts):
            continue
        former = unit_beside(then)
        identity = unit_hash(task.name, former)
        if identity != now and identity not in former_units:
            label = book.find(task, former, before=end)
            if label is not None and label.verdict is not None:
                former_units[identity] = then, former, end
                candidates.append(label)
    chosen = book.choose(task, sorted(candidates, key=lambda label: label.rowid))
    if chosen is None:
        return None
    beside, former, end = former_units[chosen.unit]
    book.find(task, former, before=end, still=True)  # records whether people disagree on it
    return chosen, beside


def _counted_at(
    book: LabelBook, part: tuple[AnyTask, UnitContent], history: Sequence[Label]
) -> Callable[[int], Label | None]:
    """A function that gives the label of a part that counted when the label with a given number was
    not there yet. That changes only when the part gets a label, so each state is looked up once."""
    rowids = [label.rowid for label in history]

    @cache
    def with_first(count: int) -> Label | None:
        return book.find(*part, before=rowids[count - 1] + 1) if count else None

    return lambda end: with_first(bisect_left(rowids, end))


def may_have_several(book: LabelBook, task: AnyTask, units: LookedUp) -> Bools:
    """Which units of a task may have more than one label; only for these is any carried over."""
    if book.by_unit is None:
        return np.zeros(len(units.first), np.bool_)
    return book.by_unit.may_have_several(task, units.first)
