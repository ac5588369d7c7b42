"""What a folder asks people: its units in order, the random draw, and the labels so far."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, product

import orjson

from assay.api.opened import Opened
from assay.labellers.base import Request
from assay.ledger import Ledger
from assay.ledger.policy import Policy
from assay.model.errors import SettingsError
from assay.model.labels import POST_EDIT, Label, LabellerId, Status, is_independent, mode_of
from assay.model.wording import and_list
from assay.protocols.config import COMMANDS, UiSection
from assay.tasks.base import AnyTask, Unit
from assay.web import forms
from assay.web.guidelines import guideline
from assay.web.sides import Sides
from assay.web.state import GivenLabel
from assay.web.values import certainty_of, comparable, moment_of


@dataclass
class Asked:
    """What an opened folder asks, read with a ledger. ``titles`` and ``guidelines`` are texts by
    task. ``rests`` names, for each task whose units labels open, the tasks of the steps before it,
    whose labels its units may tell, and ``tells`` the task whose labels they surely tell. Raises
    SettingsError where a guideline lies elsewhere, nothing is asked under a task that ``[ui]``
    names, or ``[ui.words]`` names nothing."""

    opened: Opened
    ledger: Ledger
    tasks: Mapping[str, AnyTask] = field(init=False)
    titles: Mapping[str, str] = field(init=False)
    guidelines: Mapping[str, str] = field(init=False)
    rests: Mapping[str, Sequence[str]] = field(init=False)
    tells: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        parts = self.opened.parts.values()
        steps = [step for one in parts for step in one.steps]
        by_hand = [task for one in parts for task in one.tasks if task.by_people]
        every = {one.name: one for one in (*(step.task for step in steps), *by_hand)}
        chosen = {one: _tasks_named(one, every) for one in self._ui.tasks}
        if strange := [one for one, found in chosen.items() if not found]:
            raise SettingsError(
                f"[ui] tasks: people are asked nothing under {and_list(strange)} here. There are: "
                f"{', '.join(every)}."
            )
        names = set(chain.from_iterable(chosen.values())) or every
        self.tasks = {name: task for name, task in every.items() if name in names}
        self.rests = {
            step.task.name: list(
                dict.fromkeys(one.task.name for one in part.steps[:at] if one.task != step.task)
            )
            for part in parts
            for at, step in enumerate(part.steps)
            if step.waits
        }
        self.tells = {
            step.task.name: step.assumed.of.name
            for step in steps
            if step.waits
            and step.assumed is not None
            and step.assumed.of != step.task
            and step.assumed.of.name in self.tasks
        }
        words = self._ui.words
        known = {*COMMANDS, "reason", *every}
        unknown = words.keys() - known.union(*map(forms.names, every.values()))
        if unknown:
            raise SettingsError(
                f"[ui.words] has {and_list(sorted(unknown))}, and nothing is called so. Name a "
                f"task ({', '.join(every)}), a field or value of one, as sheets of labels have "
                f"them, 'reason' or a command ({', '.join(COMMANDS)})."
            )
        self.titles = {name: words.get(name, one.title) for name, one in self.tasks.items()}
        self.guidelines = {name: guideline(self.opened, one) for name, one in self.tasks.items()}

    @cached_property
    def _policies(self) -> dict[str, list[Policy]]:
        """Those of the protocols that ask a task."""
        found: dict[str, list[Policy]] = {}
        for part in self.opened.parts.values():
            for name in {one.name for one in (*part.tasks, *(step.task for step in part.steps))}:
                found.setdefault(name, []).append(part.policy)
        return found

    def leaves_out(self, task: str, person: str) -> bool:
        """Whether the policies of all protocols that ask a task leave a person out."""
        policies = self._policies.get(task, ())
        return bool(policies) and not any(one.hears(f"human:{person}") for one in policies)

    @property
    def _ui(self) -> UiSection:
        return self.opened.folder.config.ui

    def units(self) -> Iterator[tuple[str, str, str, int, str, int]]:
        """Task, hash, topic, place, content and passes of every unit currently asked about."""
        for request in self.opened.people_requests(self.ledger):
            if request.task.name not in self.tasks:
                continue
            unit, content = request.unit_hash, request.content
            said = (str(content[one]) for one in forms.QUERY_FIELDS if one in content)
            topic = request.topic or next(said, "")
            place, passes = self._place(topic, unit), self._passes(unit)
            text = orjson.dumps(content).decode()
            yield request.task.name, unit, topic, place, text, passes

    def _place(self, topic: str, unit: str) -> int:
        """The place of a unit: topics are in random order, and so are the units of a topic."""
        return (_chance(self._ui.seed, "topic", topic) << 31) | _chance(self._ui.seed, "unit", unit)

    def _passes(self, unit: str) -> int:
        twice = _chance(self._ui.seed, "overlap", unit) < self._ui.overlap * (1 << 31)
        return self._ui.passes if twice else 1

    def drawn(self) -> Iterator[tuple[str, str]]:
        """The tasks of the newest draw, each with a topic or a unit's hash that was drawn."""
        for draw in self.ledger.draws()[-1:]:
            yield from product(draw.tasks, draw.chosen)

    def machines(
        self, each: Callable[[Iterable[Label]], Iterable[Label]]
    ) -> dict[str, tuple[str, float | None]]:
        """The labels of units by the folder's own labellers: status, and certainty (log odds) if
        known."""
        found: dict[str, tuple[str, float | None]] = {}
        own: dict[str, LabellerId | None] = {}
        for part in self.opened.parts.values():
            book = part.book(self.ledger).by_unit
            own |= {} if book is None else book.configured
        for label in each(self.ledger.labels(list(self.tasks))):
            if label.labeller == own.get(label.task):
                # The newest comes last, and stands.
                found[label.unit] = (label.status.value, certainty_of(label))
        return found

    def counts(self, label: Label) -> bool:
        """Whether a label is usable and for a present version of a task. Labels of an audit never
        count, so that nobody is shown them."""
        task = self.tasks.get(label.task)
        if label.labeller.is_audited:
            return False
        return task is not None and label.version == task.version and label.status is Status.OK

    def given(self, label: Label) -> GivenLabel:
        """A person's label as the workbench notes it."""
        who = label.labeller.name.removeprefix("human:")
        verdict = comparable(label.verdict or {})
        at = moment_of(label.created)
        mode = mode_of(label) or ("" if is_independent(label) else POST_EDIT)
        return GivenLabel(label.unit, who, label.uid, label.rowid, verdict, mode, at)

    def as_given(self, task: AnyTask, unit: Unit, topic: str) -> Mapping[str, str]:
        """Values that the folder's inputs give for fields that a verdict leaves open."""
        asked = Request(task, unit, topic=topic)
        parts = self.opened.parts.values()
        return {k: v for one in parts for k, v in one.protocol.prefilled(one.inputs, asked).items()}

    def sides(self, person: str, task: AnyTask, unit: str) -> Sides:
        """The order in which a person sees the two sides of a unit, always the same."""
        turned = task.sides is not None and _chance(self._ui.seed, "side", person, unit) % 2 == 1
        return Sides(task, turned)

    def machine_of(self, task: str) -> LabellerId | None:
        """The folder's own labeller of a task."""
        for part in self.opened.parts.values():
            book = part.book(self.ledger).by_unit
            if book is not None and task in book.configured:
                return book.configured[task]
        return None


def _tasks_named(name: str, tasks: Iterable[str]) -> list[str]:
    """The tasks of this name, with or without the protocol's prefix."""
    return [task for task in tasks if name in (task, task.rpartition(".")[2])]


def _chance(seed: int, *what: str) -> int:
    """A pseudo-random number of 31 bits that depends only on the arguments."""
    digest = hashlib.sha256("\0".join((str(seed), *what)).encode()).digest()
    return int.from_bytes(digest[:4]) >> 1
