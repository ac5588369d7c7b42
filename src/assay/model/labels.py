"""A label: one verdict of one labeller on one unit. Never changed, never deleted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple


class Status(StrEnum):
    """``ok``: the verdict can be used. ``failed``: the labeller answered, but not usably."""

    OK = "ok"
    FAILED = "failed"


AUDIT = "audit"
"""What the names of labellers under audit begin with, whose labels enter no score; and where a
label's ``detail`` says what was done to the unit that it is about."""


@dataclass(frozen=True, slots=True)
class LabellerId:
    """Who answers. Two labellers are the same exactly if all fields are equal.

    ``name`` is how people call it (``openai:gpt-4.1``, ``human:KIM``, ``rules``), ``kind`` is
    ``model``, ``rules``, ``human``, ``recorded`` or ``ensemble``; ``params`` holds what changes
    its answers (temperature, file hash, thresholds …), never a secret.
    """

    name: str
    kind: str
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def exact_name(self) -> str:
        """The name with digits that tell its settings from others: ``embedded:judge#3fa1c2``."""
        settings = json.dumps([self.kind, self.params], sort_keys=True).encode()
        return f"{self.name}#{hashlib.sha256(settings).hexdigest()[:6]}"

    @property
    def is_human(self) -> bool:
        return self.kind == "human"

    @property
    def is_free(self) -> bool:
        """Whether asking it costs nothing, so that several processes, and every shard, may ask it
        the same: a file of labels, or rules."""
        return self.kind in ("rules", "recorded")

    @property
    def is_audited(self) -> bool:
        """Whether it is a labeller under audit, whose labels enter no score."""
        return self.name.removeprefix("ensemble:").startswith(f"{AUDIT}:")


class Label(NamedTuple):
    """A row of the ledger. (A named tuple: scoring makes hundreds of thousands.)

    ``key`` is the hash of what was asked of whom (task version, rendered content, labeller,
    sample number); ``unit`` is the hash of what it is about. ``verdict`` is the task's verdict as
    plain JSON, None where ``status`` is failed. ``detail`` keeps what else is known (margin and
    threshold of an embedded model, the raw reply of a failure). ``tokens_in``/``tokens_out`` and
    ``cost`` (US dollars) are None where unknown. ``overrules`` is the uid of the label that a
    person corrected. ``created`` is UTC in ISO 8601.
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


class Why(NamedTuple):
    """What is said beside a label: its reason, and whether it began as another's label that
    somebody edited (None where nothing says so)."""

    reason: str = ""
    edited: bool | None = None


NO_REASON = Why()

WORKBENCH = "workbench"
"""Where a label's ``detail`` says how a person gave it in the workbench."""

TURNED = "turned"
"""Where it says there whether the person saw both sides of a unit the other way round."""

ADJUDICATION = "adjudication"
SEEN = "seen"
"""How a label was given in a campaign where people label blind, by somebody who had looked at what
others said of the unit."""
POST_EDIT = "post-edit"
"""How a label was given that began as another's."""
INDEPENDENT = frozenset({"", "blind"})
"""Ways in which a person's label is the person's own: nobody else's was in sight."""


def mode_of(label: Label) -> str:
    """How a label was given in the workbench; empty where it was not."""
    said = label.detail.get(WORKBENCH)
    return str(said.get("mode", "")) if isinstance(said, Mapping) else ""


def is_turned(label: Label) -> bool | None:
    """Whether a person saw two sides the other way round than the unit has them; None where nothing
    says so."""
    said = label.detail.get(WORKBENCH)
    turned = said.get(TURNED) if isinstance(said, Mapping) else None
    return turned if isinstance(turned, bool) else None


def seconds_of(label: Label) -> float | None:
    """How long it took to give a label, where that is known."""
    said = label.detail.get(WORKBENCH)
    timed = said.get("seconds") if isinstance(said, Mapping) else None
    return label.seconds if not isinstance(timed, int | float) else float(timed)


def is_independent(label: Label) -> bool:
    """Whether a person's label says what the person thinks, and can stand for the truth beside a
    machine's: not where the person changed another label, in a file or a marked run."""
    mode = mode_of(label)
    return label.labeller.is_human and mode in INDEPENDENT and bool(mode or not label.overrules)


def without_reasons(value: Any) -> Any:
    """A verdict without the reasons that it gives: equal for labellers who agree."""
    if isinstance(value, Mapping):
        return {name: without_reasons(one) for name, one in value.items() if name != "reason"}
    return [without_reasons(one) for one in value] if isinstance(value, list | tuple) else value
