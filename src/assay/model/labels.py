"""A label: one labeller's verdict on one unit. Labels are never changed or deleted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple


class Status(StrEnum):
    """``ok``: there is a verdict. ``failed``: the labeller answered, but not usably."""

    OK = "ok"
    FAILED = "failed"


AUDIT = "audit"
"""Prefix of the names of labellers under audit, whose labels enter no score. Also the key in a
label's ``detail`` that says how the audit changed the unit."""


@dataclass(frozen=True, slots=True)
class LabellerId:
    """Identity of a labeller: two labellers are the same if and only if all fields are equal.
    ``name`` is for people (``openai:gpt-4.1``, ``human:KIM``, ``rules``). ``kind`` is ``model``,
    ``rules``, ``human``, ``recorded`` or ``ensemble``. ``params`` holds what changes the answers
    (temperature, file hash, thresholds …), never a secret."""

    name: str
    kind: str
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def exact_name(self) -> str:
        """The name with a hash of kind and params: ``embedded:judge#3fa1c2``."""
        settings = json.dumps([self.kind, self.params], sort_keys=True).encode()
        return f"{self.name}#{hashlib.sha256(settings).hexdigest()[:6]}"

    @property
    def is_human(self) -> bool:
        return self.kind == "human"

    @property
    def is_free(self) -> bool:
        """Whether asking costs nothing (a file of labels, or rules), so that several processes or
        shards may ask the same."""
        return self.kind in ("rules", "recorded")

    @property
    def is_audited(self) -> bool:
        """Whether it is a labeller under audit, whose labels enter no score."""
        return self.name.removeprefix("ensemble:").startswith(f"{AUDIT}:")


class Label(NamedTuple):
    """A row of the ledger. (A named tuple is fast to create, and scoring creates many.)

    ``key`` is the hash of the question and who was asked (task version, rendered content, labeller,
    sample number); ``unit`` is the hash of the unit. ``verdict`` is the task's verdict as plain
    JSON, or None if ``status`` is failed. ``detail`` keeps further facts (margin and threshold of
    an embedded model, the raw reply of a failure). ``tokens_in``, ``tokens_out`` and ``cost`` (US
    dollars) are None if unknown. ``overrules`` is the uid of the label that a person corrected.
    ``created`` is UTC in ISO 8601.
    """

    uid: str
    key: str
    task: str
    version: str
    unit: str
    labeller: LabellerId
    status: Status
    verdict: Mapping[str, Any] | None
    reason: str | None = None
    error: str | None = None
    sample: int = 0
    overrules: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    seconds: float | None = None
    created: str = ""
    detail: Mapping[str, Any] = MappingProxyType({})
    rowid: int = 0


class Rationale(NamedTuple):
    """The reason given for a label, and whether the label is an edit of somebody else's (None if
    unknown)."""

    reason: str = ""
    edited: bool | None = None


NO_RATIONALE = Rationale()

WORKBENCH = "workbench"
"""Key in a label's ``detail`` for how a person gave it in the workbench."""

TURNED = "turned"
"""Key under :data:`WORKBENCH`: whether the person saw the two sides of a unit swapped."""

ADJUDICATION = "adjudication"
"""Mode of a label that settles a disagreement between people."""
SEEN = "seen"
"""Mode of a label in a blind campaign by somebody who had looked at others' labels of the unit."""
POST_EDIT = "post-edit"
"""Mode of a label that began as somebody else's."""
INDEPENDENT = frozenset({"", "blind"})
"""Modes of labels that were given without sight of anybody else's."""


def mode_of(label: Label) -> str:
    """How a label was given in the workbench; empty if it was not given there."""
    detail = label.detail.get(WORKBENCH)
    return str(detail.get("mode", "")) if isinstance(detail, Mapping) else ""


def is_turned(label: Label) -> bool | None:
    """Whether the person saw the two sides of the unit swapped; None if unknown."""
    detail = label.detail.get(WORKBENCH)
    turned = detail.get(TURNED) if isinstance(detail, Mapping) else None
    return turned if isinstance(turned, bool) else None


def seconds_of(label: Label) -> float | None:
    """How long it took to give the label, or None if unknown."""
    detail = label.detail.get(WORKBENCH)
    timed = detail.get("seconds") if isinstance(detail, Mapping) else None
    return label.seconds if not isinstance(timed, int | float) else float(timed)


def is_independent(label: Label) -> bool:
    """Whether this is a person's own judgment, fit to be the truth that a machine is measured by. A
    label is not independent if the person changed another label, in a file or a marked run."""
    mode = mode_of(label)
    return label.labeller.is_human and mode in INDEPENDENT and bool(mode or not label.overrules)


def without_reasons(value: Any) -> Any:
    """The verdict without its reasons, so that it is equal for labellers who agree."""
    if isinstance(value, Mapping):
        return {name: without_reasons(inner) for name, inner in value.items() if name != "reason"}
    return [without_reasons(one) for one in value] if isinstance(value, list | tuple) else value
