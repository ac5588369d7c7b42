"""The labels of an evaluation by unit, and which of them counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from typing import Any

from assay.judging.again import PROMPT, SETTINGS
from assay.labellers.base import Labeller, Request, request_key
from assay.ledger import Ledger
from assay.ledger.lines import BriefBlock
from assay.ledger.policy import Policy, choose, other_labellers
from assay.ledger.reading import Some
from assay.model.labels import Label, LabellerId, Status
from assay.protocols.alike import Alike
from assay.tasks.base import AnyTask, unit_hash
from assay.tasks.shared import Source, sources


@dataclass
class Book:
    """The labels of an evaluation, looked up by unit.

    ``labellers`` are the evaluation's own by task name; None where one could not be made (its
    labels are then taken as missing). ``tasks`` are those of the protocol. With ``brief`` the
    labels lack what only reports show (:meth:`assay.ledger.Ledger.verdicts`). Labels under tasks
    that tell the verdict of one of these (tasks.shared) count as labels of it; ``asked_as`` names
    tasks that are asked under such a one, so that a label that failed there is a failed label here;
    for those in ``strict`` only people's labels count that were given under another task. With
    ``window`` labels are brief and read when they are asked for, or ahead of that by :meth:`read`,
    which forgets what was read before: a ledger of any size can be gone through. ``blocks`` are
    brief labels that were read from the ledger already, of all tasks that can count; without them,
    and without ``window``, the book reads the ledger.
    """

    ledger: Ledger
    policy: Policy
    labellers: Mapping[str, Labeller | None]
    tasks: tuple[AnyTask, ...]
    brief: bool = False
    asked_as: frozenset[str] = frozenset()
    window: bool = False
    strict: frozenset[str] = frozenset()
    blocks: InitVar[Iterable[BriefBlock] | None] = None
    _only: dict[str, Label] = field(default_factory=dict, init=False)  # units with one label
    _several: dict[str, list[Label]] = field(default_factory=dict, init=False)
    _read: set[str] = field(default_factory=set, init=False)  # with window: units read
    _versions: dict[str, str] = field(default_factory=dict, init=False)
    _sources: dict[str, list[Source]] = field(default_factory=dict, init=False)
    _look: set[str] = field(default_factory=set, init=False)
    _alike: Alike = field(default_factory=Alike, init=False)
    other_versions: int = field(default=0, init=False)

    def __post_init__(self, blocks: Iterable[BriefBlock] | None) -> None:
        own = {task.name: task.version for task in self.tasks}
        labelled = self.ledger.tasks()
        for task in self.tasks:
            found = [one for one in sources(task) if one.task.name in labelled]
            if found:
                self._sources[task.name] = found
        others = (one.task for found in self._sources.values() for one in found)
        self._versions = {**{task.name: task.version for task in others}, **own}
        if self.window:
            self.ledger.use_less_memory()
            counts = (self.ledger.of_other_versions(*each) for each in own.items())
            self.other_versions = sum(counts)
        elif blocks is not None:
            for some in self.ledger.from_blocks(blocks, self._versions):
                self._take_some(some)
        else:
            read = self.ledger.verdicts if self.brief else self.ledger.labels
            self._take(read(self._versions))
        if self._sources:
            people = self.ledger.judged_by_people()
            for name, found in self._sources.items():
                if any(one.leaves_open or one.task.name in people for one in found):
                    self._look.add(name)

    def _take_some(self, some: Some) -> None:
        """As :meth:`_take`, all at once where each is the first of its unit, as nearly always."""
        different = set(some.units)
        if (
            len(different) == len(some.units)
            and self._only.keys().isdisjoint(different)
            and self._several.keys().isdisjoint(different)
            and some.kinds <= self._versions.items()
        ):
            self._only.update(zip(some.units, some.labels, strict=True))
        else:
            self._take(some.labels)

    def _take(self, labels: Iterable[Label]) -> None:
        versions, only, several = self._versions, self._only, self._several
        own = {task.name for task in self.tasks}
        for label in labels:
            unit = label.unit
            if label.version != versions[label.task]:
                if not self.window:
                    self.other_versions += label.task in own
            elif unit in several:
                several[unit].append(label)
            elif unit in only:
                several[unit] = [only.pop(unit), label]
            else:
                only[unit] = label

    def read(self, asked: Iterable[tuple[AnyTask, str, Mapping[str, Any]]]) -> None:
        """With ``window``: forget what was read, and read the labels of these units (task, hash,
        content), with those of other tasks that tell their verdicts."""
        self._only.clear()
        self._several.clear()
        self._read.clear()
        self.read_more(asked)

    def read_more(self, asked: Iterable[tuple[AnyTask, str, Mapping[str, Any]]]) -> None:
        """As :meth:`read`, but nothing is forgotten."""
        units = set()
        for task, unit, content in asked:
            units.add(unit)
            for source, other in self._others_of(task, content):
                units.add(unit_hash(source.task.name, other))
        units -= self._read
        self._read |= units
        self._take(one for one in self.ledger.verdicts_of(units) if one.task in self._versions)

    @cached_property
    def configured(self) -> dict[str, LabellerId | None]:
        """Identity of the evaluation's own labeller of each task."""
        # The ledger's own objects where it has them: comparing those costs next to nothing.
        known = list(self.ledger.labellers().values())
        found: dict[str, LabellerId | None] = {}
        for task in self.tasks:
            labeller = self.labellers.get(task.name)
            who = None if labeller is None else labeller.id
            found[task.name] = next((one for one in known if one == who), who)
        return found

    @cached_property
    def _own(self) -> dict[str, LabellerId | None]:
        """``configured`` where the policy lets a machine's label count."""
        return self.configured if self.policy.machine else dict.fromkeys(self.configured)

    def of(self, unit: str) -> list[Label]:
        """All labels of a unit under its own task, oldest first."""
        if self.window and unit not in self._read:
            self._read.add(unit)
            found = self.ledger.verdicts_of([unit])
            self._take(one for one in found if one.task in self._versions)
        only = self._only.get(unit)
        return self._several.get(unit, []) if only is None else [only]

    def labels(self, task: AnyTask, unit: str, content: Mapping[str, Any]) -> list[Label]:
        """All labels of a unit, oldest first, with those that another task's tell. Of one machine
        those under the task itself go before others, usable ones before failed ones."""
        own = self.of(unit)
        if task.name not in self._sources:
            return own
        told = self._told(task, unit, content)
        if not told:
            return own
        sure = [one.labeller for one in own if one.status is Status.OK]
        told = [one for one in told if one.labeller.is_human or one.labeller not in sure]
        sure = [one.labeller for one in told if one.status is Status.OK]
        own = [one for one in own if one.status is Status.OK or one.labeller not in sure]
        return sorted([*own, *told], key=lambda label: label.rowid)

    def _told(self, task: AnyTask, unit: str, content: Mapping[str, Any]) -> list[Label]:
        found = []
        for source, other in self._others_of(task, content):
            for label in self._present(source.task, other):
                if label.status is not Status.OK and task.name not in self.asked_as:
                    continue
                if task.name in self.strict and not label.labeller.is_human:
                    continue
                told = source.told(label, task, unit)
                if told is not None:
                    found.append(told)
        return found

    def _others_of(
        self, task: AnyTask, content: Mapping[str, Any]
    ) -> Iterator[tuple[Source, Mapping[str, Any]]]:
        for source in self._sources.get(task.name, ()):
            yield source, source.content(content)

    def _present(self, task: AnyTask, content: Mapping[str, Any]) -> list[Label]:
        """The labels of a unit of another task; of one machine that was asked in several wordings
        those in the present one, where there are any."""
        labels = self.of(unit_hash(task.name, content))
        machines = [one for one in labels if not one.labeller.is_human]
        if len(machines) < 2:
            return labels
        labeller = self.labellers.get(task.name)
        if labeller is None:
            return labels
        key = request_key(labeller, Request(task, task.unit.model_validate(content)))
        if all(one.key != key for one in machines):
            return labels
        return [one for one in labels if one.key == key or one.labeller != labeller.id]

    def plain(self, task: AnyTask) -> tuple[Mapping[str, Label], LabellerId | None]:
        """Units with one label, and whose label of this task :meth:`choose` would choose where it
        is the only one; that is what a hot loop can look for before it calls ``choose``."""
        if task.name in self._look:
            return {}, None
        return self._only, self._own[task.name]

    def choose(
        self, task: AnyTask, unit: str, content: Mapping[str, Any], before: int | None = None
    ) -> Label | None:
        """The label of a unit that counts, which may be a failed one; the one that counted when the
        label with the number ``before`` was not there yet."""
        only = self._only.get(unit)
        if (
            only is not None
            and before is None
            and only.labeller is self._own[task.name]
            and task.name not in self._look
        ):
            return only  # nearly always
        labels = self.labels(task, unit, content)
        if before is not None:
            labels = [label for label in labels if label.rowid < before]
        if not labels:
            return None
        labeller = self.labellers.get(task.name)

        def exact_key() -> str:
            if labeller is None:
                return ""
            request = Request(task, task.unit.model_validate(content))
            return request_key(labeller, request)

        found = choose(labels, self.policy, self.configured[task.name], exact_key)
        if found is None or task.name not in self._sources:
            return found
        own = any(found.rowid == one.rowid for one in self.of(unit))
        for source, other in self._others_of(task, content):
            said = self.of(unit_hash(source.task.name, other))
            if self._alike.excludes(task, unit, source, said, found, own, self.policy.people):
                return None
        return found

    def superseded(self) -> Counter[tuple[str, str]]:
        """How many units the evaluation's own labeller was asked about again, by task and why."""
        found: Counter[tuple[str, str]] = Counter()
        if self.window:
            for task, version in self._versions.items():
                own = self.configured.get(task)
                wording, settings = (
                    (0, 0) if own is None else self.ledger.asked_again(task, version, own)
                )
                found += Counter({(task, PROMPT): wording, (task, SETTINGS): settings})
            return found
        for labels in self._several.values():
            own = self.configured.get(labels[0].task)
            if own is None:
                continue
            asked = [one for one in labels if one.labeller.name == own.name and not one.sample]
            if len({one.key for one in asked}) < 2:
                continue
            same = {one.key for one in asked if one.labeller == own}
            why = PROMPT if len(same) > 1 else SETTINGS
            found[labels[0].task, why] += 1
        return found

    def machine(
        self, task: AnyTask, unit: str, content: Mapping[str, Any] | None = None
    ) -> Label | None:
        """The newest usable label of the evaluation's own machine for a unit. With the unit's
        ``content`` also what its labels under other tasks tell."""
        configured = self.configured[task.name]
        found = [
            label
            for label in (self.of(unit) if content is None else self.labels(task, unit, content))
            if label.status is Status.OK and label.labeller == configured
        ]
        return found[-1] if found else None

    def every(self) -> Iterator[Label]:
        """All labels of the present task versions, with those of tasks that tell their verdicts."""
        if self.window:
            every = self.ledger.verdicts(self._versions)
            yield from (one for one in every if one.version == self._versions[one.task])
            return
        yield from self._only.values()
        for labels in self._several.values():
            yield from labels

    def remarks(self, *, missing: bool) -> list[str]:
        """What a person should know of the labels: other versions, questions asked again, and,
        with ``missing``, labels by others that would count under another policy."""
        remarks = []
        if self.other_versions:
            remarks.append(
                f"{self.other_versions} labels of other task versions are in the ledger; "
                "they do not count."
            )
        for (task, why), count in sorted(self.superseded().items()):
            remarks.append(
                f"{task}: {count} units were asked again because {why}; the labels under the "
                "present one count."
            )
        remarks.extend(self._alike.remarks())
        others = self._others() if missing else ""
        if others:
            remarks.append(
                "Labels are missing under this policy and labeller, but the ledger holds some by "
                f"{others}. Name that labeller in [labellers], or use --policy only:NAME."
            )
        return remarks

    def _others(self) -> str:
        """Names of labellers whose usable labels are there but do not count."""
        names = set()
        for task, configured in self.configured.items():
            usable = (one for one in self.ledger.labels([task]) if one.status is Status.OK)
            names.update(other_labellers(usable, self.policy, configured).split(", "))
        return ", ".join(sorted(names - {""}))
