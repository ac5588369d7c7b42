"""How the members of an ensemble agree, from the votes that its labels hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.model.labels import Label
from assay.statistics.agreement import cohen_kappa, krippendorff_alpha


@dataclass(frozen=True, slots=True)
class Member:
    """A member (or one of its samples) beside the joint label.

    ``votes`` could be used, ``unusable`` could not. ``agreement`` is the share of its votes that
    are the joint value, ``kappa`` Cohen's with it; None where undefined.
    """

    labeller: str
    sample: int
    votes: int
    unusable: int
    agreement: float | None
    kappa: float | None


@dataclass(frozen=True, slots=True)
class Jury:
    """The votes of an ensemble on one task. ``value`` is the verdict's field that is compared;
    ``alpha`` is Krippendorff's (nominal) over all members, None where undefined."""

    task: str
    ensemble: str
    value: str
    units: int
    unanimous: int
    alpha: float | None
    members: tuple[Member, ...]


def juries(labels: Iterable[Label]) -> tuple[Jury, ...]:
    """A jury for every task and ensemble among ``labels``; labels of others are passed over."""
    found: dict[tuple[str, str], dict[int, Label]] = {}
    for label in labels:
        if label.labeller.kind == "ensemble":
            found.setdefault((label.task, label.labeller.name), {})[label.rowid] = label
    return tuple(_jury(task, name, list(own.values())) for (task, name), own in found.items())


def _value(verdict: Mapping[str, Any] | None) -> tuple[str, Any] | None:
    """The verdict's own value: its first field that is neither a reason nor a list."""
    for name, value in (verdict or {}).items():
        if name != "reason" and not isinstance(value, (list, dict)):
            return name, value
    return None


def _jury(task: str, ensemble: str, labels: Sequence[Label]) -> Jury:
    codes: dict[Any, float] = {}

    def code(verdict: Mapping[str, Any] | None) -> float | None:
        found = _value(verdict)
        return None if found is None else codes.setdefault(found[1], float(len(codes)))

    joint = [code(label.verdict) for label in labels]
    votes: dict[tuple[str, int], list[float | None]] = {}
    for place, label in enumerate(labels):
        for vote in label.detail.get("votes", ()):
            row = votes.setdefault((vote["labeller"], vote["sample"]), [None] * len(labels))
            row[place] = code(vote["verdict"])
    columns = list(zip(*votes.values(), strict=True))
    unanimous = sum(None not in column and len(set(column)) == 1 for column in columns)
    named = next((found[0] for label in labels if (found := _value(label.verdict))), "")
    alpha = krippendorff_alpha(np.array(list(votes.values()), float)) if len(votes) > 1 else None
    members = tuple(_member(*who, row, joint) for who, row in votes.items())
    return Jury(task, ensemble, named, len(labels), unanimous, alpha, members)


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
