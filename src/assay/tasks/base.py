"""What a labelling task is: an input type, a verdict type, a prompt and a version.

A task is plain data plus two pure functions. How the verdict is got (schema-constrained
decoding, yes/no margins, rules, a person) is the labeller's business.
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
    """Base of task inputs: what a label is about. Content only, no ids of runs or topics, so
    that the same content is asked about once whoever submitted it."""

    # Built when first used: a command needs few of the tasks.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Verdict(BaseModel):
    """Base of task outputs. Its JSON schema is what a model's reply is constrained to."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)


U = TypeVar("U", bound=Unit)
V = TypeVar("V", bound=Verdict)


@dataclass(frozen=True, slots=True)
class YesNo:
    """Answer to one yes/no question."""

    yes: bool
    reason: str = ""


class AskYesNo(Protocol):
    """How a task that is decided by yes/no questions asks one of them."""

    def __call__(self, probe: str, /, *, reason: bool = True, **context: Any) -> YesNo:
        """Ask the question of template block ``probe`` with further template variables."""


@dataclass(frozen=True)
class Task(Generic[U, V]):
    """A labelling task.

    ``check`` returns what is wrong with a verdict that fits the schema but not the unit (it is
    shown to the model in the repair turn), or None; ``person_check`` takes its place for a person's
    verdict where people may say less. ``decide`` builds the verdict from yes/no
    questions. ``plain`` reads a reply that holds no JSON, where the protocol has a rule for that,
    or returns None. ``version`` changes whenever the meaning of the labels does. ``orders`` names,
    for verdict fields of words that have an order, those words from the strictest on. ``joins`` is
    whether several verdicts can be voted into one; texts that are written anew cannot. With
    ``by_people`` nobody is asked: labels come from people alone. ``compared`` is the verdict's
    attribute by which labellers are set beside each other, where that is not a field of it.
    ``usual_tokens`` is how long replies are, for estimates; 0 leaves that to the labeller.
    ``narrow`` makes a schema of the verdict (which it changes) that of a unit, so that ``check``
    refuses no reply held to it (tasks.schemas). ``judged`` names the unit's fields that are judged,
    where it is not the last one alone. ``usual_labeller`` labels where nobody is named for the task
    itself. ``sides`` are the two fields of the unit that are set beside each other, and the two
    values by which a verdict names them: where both change places, the same is said.
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
        """What the files of its prompts are called: ``TEMPLATE.j2`` has the chat prompt, in the
        blocks ``system`` and ``user``, ``TEMPLATE.probes.j2`` the yes/no questions, where it can be
        decided so."""
        return self.name.replace(".", "_")

    @property
    def judged_fields(self) -> tuple[str, ...]:
        """The unit's fields that are judged; all others are what they are judged against."""
        return self.judged or (list(self.unit.model_fields)[-1],)

    def schema(self) -> Schema:
        """JSON schema of the verdict, closed to further properties (as strict servers ask). It is
        part of the keys of labels: a question stays the same whatever narrows its replies."""
        return closed_schema(self.verdict)

    def schema_of(self, unit: U) -> Schema:
        """JSON schema that the reply about ``unit`` is held to."""
        schema = self.schema()
        if self.narrow is not None:
            self.narrow(unit, schema)
        return schema


AnyTask = Task[Any, Any]
UnitContent = Mapping[str, Any]
"""What a unit holds. Looking labels up needs no more, and units take a while to make."""


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
    """The same of many, each as 16 bytes."""
    sha, dumps, sort = hashlib.sha256, orjson.dumps, orjson.OPT_SORT_KEYS
    return [sha(dumps([task, one], option=sort)).digest()[:16] for one in contents]
