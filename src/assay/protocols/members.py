"""How the members of an ensemble agree, from the votes in its labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.model.labels import Label
from assay.statistics.agreement import cohen_kappa, krippendorff_alpha
from assay.statistics.kappa import Metric
from assay.tasks.registry import REGISTRY


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an ensemble (or one of its samples) compared with the joint label. ``votes``
    counts its usable votes, ``unusable`` the others. ``agreement`` is the share of its votes that
    equal the joint value, ``kappa`` is Cohen's κ with it; both are None if undefined."""

    labeller: str
    sample: int
    votes: int
    unusable: int
    agreement: float | None
    kappa: float | None


@dataclass(frozen=True, slots=True)
class Jury:
    """The votes of an ensemble on one task. ``value`` names what is compared: a field of the
    verdict, or what the task computes from it. ``units`` counts the values: one for each label, or
    one for each item of a list. ``alpha`` is Krippendorff's over all members, None if undefined;
    ``metric`` is ordinal for grades and ordered words, else nominal."""

    task: str
    ensemble: str
    value: str
    units: int
    unanimous: int
    alpha: float | None
    members: tuple[Member, ...]
    metric: Metric = "nominal"


def juries(labels: Iterable[Label]) -> tuple[Jury, ...]:
    """Make a jury for every task and ensemble among ``labels``; labels of others are skipped."""
    found: dict[tuple[str, str], dict[int, Label]] = {}
    for label in labels:
        if label.labeller.kind == "ensemble":
            found.setdefault((label.task, label.labeller.name), {})[label.rowid] = label
    return tuple(_jury(task, name, list(own.values())) for (task, name), own in found.items())


def compared_values(task: str, verdict: Mapping[str, Any] | None) -> tuple[str, list[Any]] | None:
    """The name and the values by which verdicts are compared: the attribute that the task names,
    else the first field that is neither a reason nor a list, else the items of the first list of
    plain values. None if there are none."""
    known = REGISTRY.get(task)
    if verdict is not None and known is not None and known.compared:
        return known.compared, [getattr(known.verdict.model_validate(verdict), known.compared)]
    fields = [(name, one) for name, one in (verdict or {}).items() if name != "reason"]
    for name, value in fields:
        if not isinstance(value, (list, dict)):
            return name, [value]
    for name, value in fields:
        if isinstance(value, list) and not any(isinstance(one, (list, dict)) for one in value):
            return name, value
    return None


def _jury(task: str, ensemble: str, labels: Sequence[Label]) -> Jury:
    """Compare the members: one row of values for the joint label, and one for each member."""
    joint: list[Any] = []
    votes: dict[tuple[str, int], list[Any]] = {}
    field = ""
    for label in labels:
        values_of = {
            (vote["labeller"], vote["sample"]): compared_values(task, vote["verdict"])
            for vote in label.detail.get("votes", ())
        }
        joint_values = compared_values(task, label.verdict)
        rows = [found for found in (joint_values, *values_of.values()) if found is not None]
        width = max((len(values) for _, values in rows), default=1)
        field = field or next((name for name, _ in rows), "")
        for who, found in values_of.items():
            row = votes.setdefault(who, [None] * len(joint))
            row += found[1] if found is not None else [None] * width
        joint += joint_values[1] if joint_values is not None else [None] * width
        for row in votes.values():
            row += [None] * (len(joint) - len(row))
    codes, metric = coded(task, field, (joint, *votes.values()))
    table = {who: [_coded(one, codes) for one in row] for who, row in votes.items()}
    unanimous = sum(
        None not in column and len(set(column)) == 1 for column in zip(*table.values(), strict=True)
    )
    alpha = None
    if len(table) > 1:
        alpha = krippendorff_alpha(np.array(list(table.values()), float), metric)
    known = [_coded(one, codes) for one in joint]
    members = tuple(_member(*who, row, known) for who, row in table.items())
    return Jury(task, ensemble, field, len(joint), unanimous, alpha, members, metric)


def coded(
    task: str, field: str, rows: Iterable[Sequence[Any]]
) -> tuple[Mapping[Any, float], Metric]:
    """Map each value to a number, and say how the numbers compare: grades stay as they are, and
    ordered words become their places in the task's order."""
    values = list(dict.fromkeys(one for row in rows for one in row if one is not None))
    known = REGISTRY.get(task)
    order = known.orders.get(field, ()) if known is not None else ()
    if values and all(type(one) in (int, float) for one in values):
        return {one: float(one) for one in values}, "ordinal"
    if values and set(values) <= set(order):
        return {word: float(place) for place, word in enumerate(order)}, "ordinal"
    return {one: float(place) for place, one in enumerate(values)}, "nominal"


def _coded(value: Any, codes: Mapping[Any, float]) -> float | None:
    return None if value is None else codes[value]


def _member(
    labeller: str, sample: int, row: Sequence[float | None], joint: Sequence[float | None]
) -> Member:
    pairs = [
        (own, other)
        for own, other in zip(row, joint, strict=True)
        if own is not None and other is not None
    ]
    usable = sum(own is not None for own in row)
    agreement = sum(own == other for own, other in pairs) / len(pairs) if pairs else None
    kappa = cohen_kappa([own for own, _ in pairs], [other for _, other in pairs]) if pairs else None
    return Member(labeller, sample, usable, len(row) - usable, agreement, kappa)
