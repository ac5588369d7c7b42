"""Labels that go with what they were given for when other labels change what that is.

What is asked of an answer may hang on labels given before it: it is judged beside those of its
nuggets that are entailed. Where a person changes one of these the question changes, and what was
said under the former one still stands until somebody is asked again.
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
    """The label of ``task`` that counted before labels of ``parts`` (task, unit) changed its unit
    to what it is now, with the labels of the parts as they were then; ``unit_beside`` makes a unit
    from these.

    Only what counted here already is carried on: a label that was given to a former unit after
    that had ceased to be the unit is about something else that has it.
    """
    histories = [book.history(*part) for part in parts]
    if all(len(labels) < 2 for labels in histories):
        return None
    of_parts = [_counted(book, part, labels) for part, labels in zip(parts, histories, strict=True)]
    now = unit_hash(task.name, unit)
    given: dict[str, tuple[Sequence[Label], UnitContent, int]] = {}
    found: list[Label] = []
    for end in sorted({label.rowid for labels in histories for label in labels}, reverse=True):
        said = [label for counted in of_parts if (label := counted(end)) is not None]
        # Then there was no unit: not all parts had a label yet, or people disagreed on one.
        if len(said) < len(parts):
            continue
        former = unit_beside(said)
        identity = unit_hash(task.name, former)
        if identity != now and identity not in given:
            label = book.find(task, former, before=end)
            if label is not None and label.verdict is not None:
                given[identity] = said, former, end
                found.append(label)
    chosen = book.choose(task, sorted(found, key=lambda label: label.rowid))
    if chosen is None:
        return None
    beside, former, end = given[chosen.unit]
    book.find(task, former, before=end, still=True)
    return chosen, beside


def _counted(
    book: LabelBook, part: tuple[AnyTask, UnitContent], history: Sequence[Label]
) -> Callable[[int], Label | None]:
    """Which label of a part counted when that with a number was not there yet. That changes where
    the part got a label, and is looked up once for each of these times."""
    rowids = [label.rowid for label in history]

    @cache
    def with_first(count: int) -> Label | None:
        return book.find(*part, before=rowids[count - 1] + 1) if count else None

    return lambda end: with_first(bisect_left(rowids, end))


def may_have_several(book: LabelBook, task: AnyTask, units: LookedUp) -> Bools:
    """Which of some units of a task may have more than one label: without one that has, nothing
    was ever carried on."""
    if book.by_unit is None:
        return np.zeros(len(units.first), np.bool_)
    return book.by_unit.may_have_several(task, units.first)
