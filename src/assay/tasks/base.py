"""Labelling tasks: what is judged, what a verdict looks like, and how both are checked.

A task is plain data and a few pure functions. How a verdict is obtained (schema-constrained
decoding, yes/no margins, rules, a person) is up to the labeller.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict

from assay.tasks.schemas import Schema, closed_schema


class Unit(BaseModel):
    """Base class of task inputs: what a label is about. A unit has content only, no ids of runs or
    topics, so that the same content is asked about once, whoever submitted it."""

    # Validators are built on first use, as a command needs few of the tasks.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Verdict(BaseModel):
    """Base class of task outputs. A model's reply is constrained to its JSON schema."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)


U = TypeVar("U", bound=Unit)
V = TypeVar("V", bound=Verdict)


@dataclass(frozen=True, slots=True)
class YesNo:
    """The answer to one yes/no question."""

    yes: bool
    reason: str = ""


class AskYesNo(Protocol):
    """Asks one of the yes/no questions by which a task is decided."""

    def __call__(self, probe: str, /, *, reason: bool = True, **context: Any) -> YesNo:
        """Ask the question in the template block ``probe``, with further template variables."""


@dataclass(frozen=True)
class Task(Generic[U, V]):
    """A labelling task.

    ``version`` changes whenever the meaning of the labels does. ``check`` returns what is wrong
    with a verdict that fits the schema but not the unit, or None; a model is shown it in the repair
    turn. ``person_check`` replaces it for people where they may say less. ``decide`` builds the
    verdict from yes/no questions. ``plain`` reads a reply without JSON if the protocol has a rule
    for that, or returns None. ``narrow`` changes the schema of the verdict to that for a unit, such
    that every reply that fits passes ``check`` (:mod:`assay.tasks.schemas`).

    ``orders`` has, for fields whose values are ordered words, these words from the strictest on.
    ``joins``: several verdicts can be joined by voting; free texts cannot. ``compared`` is the
    attribute of the verdict by which labellers are compared, if it is not a field. ``judged`` are
    the unit's fields that are judged, if not only the last one. ``sides`` are two fields of the
    unit that are compared and the two values by which a verdict names them; swapping both leaves
    the meaning unchanged.

    ``by_people``: only people label. ``usual_labeller`` labels if nobody is named for this task
    itself. ``usual_tokens`` is the usual length of replies, for estimates; 0 leaves that to the
    labeller.
    """

    name: str
    title: str
    unit: type[U]
    verdict: type[V]
    version: str = "1"
    check: Callable[[U, V], str | None] = lambda _unit, _verdict: None
    person_check: Callable[[U, V], str | None] | None = None
    decide: Callable[[U, AskYesNo], V] | None = None
    plain: Callable[[U, str], V | None] | None = None
    max_tokens: int = 400
    usual_tokens: int = 0
    orders: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    joins: bool = True
    by_people: bool = False
    compared: str = ""
    narrow: Callable[[U, Schema], None] | None = None
    judged: tuple[str, ...] = ()
    usual_labeller: str = ""
    sides: tuple[tuple[str, str], tuple[str, str]] | None = None

    @property
    def template(self) -> str:
        """Base name of the prompt files: ``TEMPLATE.j2`` has the chat prompt in the blocks
        ``system`` and ``user``, ``TEMPLATE.probes.j2`` the yes/no questions, if there are any."""
        return self.name.replace(".", "_")

    @property
    def judged_fields(self) -> tuple[str, ...]:
        """The unit's fields that are judged; the others are what they are judged against."""
        return self.judged or (list(self.unit.model_fields)[-1],)

    def schema(self) -> Schema:
        """JSON schema of the verdict, closed to further properties, as strict servers require. It
        is part of the keys of labels, which do not depend on how replies are narrowed."""
        return closed_schema(self.verdict)

    def schema_of(self, unit: U) -> Schema:
        """JSON schema to which replies about ``unit`` are constrained."""
        schema = self.schema()
        if self.narrow is not None:
            self.narrow(unit, schema)
        return schema


AnyTask = Task[Any, Any]
UnitContent = Mapping[str, Any]
"""The content of a unit. It suffices for looking labels up, and is faster to make than a unit."""


def canonical(value: Any) -> bytes:
    """JSON with sorted keys: equal values give equal bytes on every machine."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def content_hash(value: Mapping[str, Any] | bytes) -> str:
    """First 128 bits of SHA-256 over the canonical JSON, as 32 hexadecimal digits."""
    data = value if isinstance(value, bytes) else canonical(value)
    return hashlib.sha256(data).hexdigest()[:32]


def unit_hash(task: str, content: UnitContent) -> str:
    """Identity of a unit: the task's name and its content."""
    return unit_digests(task, [content])[0].hex()


def unit_digests(task: str, contents: Iterable[UnitContent]) -> list[bytes]:
    """:func:`unit_hash` of many units, as 16 bytes each."""
    sha, dumps, sort = hashlib.sha256, orjson.dumps, orjson.OPT_SORT_KEYS
    return [sha(dumps([task, one], option=sort)).digest()[:16] for one in contents]
