"""Which measures of a folder single labels of a task can correct."""

from __future__ import annotations

from collections.abc import Mapping

from assay.api.by_items import Items, Voices, items_of, linear_of
from assay.api.by_topics import by_machine
from assay.api.opened import Opened
from assay.ledger import Ledger
from assay.model.errors import SettingsError


def linear_in(opened: Opened, ledger: Ledger, task: str = "") -> Mapping[str, Items | str]:
    """The measures that are sums over labels of ``task`` (of any, where none is named) with their
    units, or why these are not to be had."""
    found: dict[str, Items | str] = {}
    for name, part in opened.parts.items():
        prefix = f"{name}: " if len(opened.parts) > 1 else ""
        linear = [one for one in linear_of(part, ledger) if task in ("", one.task.name)]
        if linear:
            scores = by_machine(part, ledger).scores
            voices = Voices(part, ledger)
            for one in linear:
                items = items_of(voices, one, scores)
                found.setdefault(prefix + one.measure, items)
    return found


def items_for(opened: Opened, ledger: Ledger, task: str = "", measure: str = "") -> Items:
    """The units of the measure that hangs on most units of a task, or of the named one. Raises
    SettingsError."""
    every = linear_in(opened, ledger, task)
    found = {name: one for name, one in every.items() if not isinstance(one, str)}
    of = f" under {task}" if task else ""
    if not found:
        why = " ".join(dict.fromkeys(one for one in every.values() if isinstance(one, str)))
        raise SettingsError(
            f"Single labels{of} correct no measure here. "
            + (why or "None is a sum over them: draw whole topics, 'assay draw FOLDER --n N'.")
        )
    if measure and measure not in found:
        raise SettingsError(f"{measure} is no sum over labels{of}. {', '.join(sorted(found))} are.")
    return found[measure] if measure else max(found.values(), key=lambda one: len(one.units))
