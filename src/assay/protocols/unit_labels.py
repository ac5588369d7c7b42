"""The labels of an evaluation by unit, and which of them counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from assay.judging.repeats import PROMPT, SETTINGS
from assay.labellers.base import Labeller, Request, request_key
from assay.ledger.columns import CLOSELY, NONE, Columns, Places
from assay.ledger.policy import Policy, choose, people_differ
from assay.measures.arrays import Bools
from assay.model.labels import Label, LabellerId, Status
from assay.protocols.shared_verdicts import SharedVerdicts
from assay.tasks.base import AnyTask, UnitContent, unit_hash
from assay.tasks.shared import Source, sources

if TYPE_CHECKING:
    from assay.ledger.parquet import AnyLedger


@dataclass
class UnitLabels:
    """The labels of an evaluation, looked up by unit.

    ``labellers`` are the evaluation's own by task name, None if one could not be made (its labels
    are then treated as missing). ``tasks`` are the protocol's. Labels of tasks that imply a verdict
    on one of these (:mod:`assay.tasks.shared`) count as labels of it. ``asked_as`` names tasks that
    are asked under such another task, so that a label that failed there is a failed label here.
    Tasks in ``strict`` accept only people's labels of other tasks. Labels have what scores need;
    :meth:`assay.ledger.Ledger.whole` has the rest.
    """

    ledger: AnyLedger
    policy: Policy
    labellers: Mapping[str, Labeller | None]
    tasks: tuple[AnyTask, ...]
    asked_as: frozenset[str] = frozenset()
    strict: frozenset[str] = frozenset()
    _sources: dict[str, list[Source]] = field(default_factory=dict, init=False)
    shared: SharedVerdicts = field(default_factory=SharedVerdicts, init=False)
    disputed: set[str] = field(default_factory=set, init=False)
    """Units looked up on which people disagree and nobody has settled it."""
    unsettled: set[str] = field(default_factory=set, init=False)
    """Those ``disputed`` units without a label that counts, as the policy requires settling."""

    def __post_init__(self) -> None:
        labelled = self.ledger.tasks()
        for task in self.tasks:
            found = [one for one in sources(task) if one.task.name in labelled]
            if found:
                self._sources[task.name] = found

    @cached_property
    def _versions(self) -> dict[str, str]:
        """The version of every task whose labels can count."""
        others = (one.task for found in self._sources.values() for one in found)
        return {task.name: task.version for task in (*others, *self.tasks)}

    @cached_property
    def columns(self) -> Columns:
        """All labels that can count."""
        return Columns.of_ledger(self.ledger, self._versions)

    @cached_property
    def _counting(self) -> Callable[[Places], Places]:
        """Maps the oldest label of each unit to the place of the label that counts."""
        policy, configured = self.policy, self.configured
        return self.columns.counting(
            lambda label: policy.rank(label, configured.get(label.task)),
            # Whether a person's label is independent depends on the label itself.
            lambda label: label.labeller.is_human and policy.independent,
        )

    def counting_places(self, task: AnyTask, first: Places) -> Places:
        """The places of the labels that count for units of a task, given the places of their oldest
        labels (NONE if there is none). A result is NONE if no label counts, and CLOSELY if
        :meth:`choose` must decide."""
        if task.name in self._sources:  # labels of other tasks may count
            return np.full(len(first), CLOSELY, np.int64)
        places = np.full(len(first), NONE, np.int64)
        exists = first >= 0
        places[exists] = self._counting(first[exists])
        return places

    def may_have_several(self, task: AnyTask, first: Places) -> Bools:
        """Which units of a task may have more than one label, given the places of their oldest
        labels (NONE if there is none)."""
        if task.name in self._sources:  # labels may be derived from other tasks
            return np.ones(len(first), np.bool_)
        found: Bools = first >= 0
        found[found] = self.columns.several(first[found])
        return found

    def fetch_labels(self, places: Places) -> dict[int, Label]:
        """Make those labels now that cannot be made later, by their index in ``places``, and set
        their places to NONE. All others are made on access, when the ledger may be closed."""
        return {}

    def place(self, label: Label | None) -> int:
        """The place of a label that the columns hold as it is, else NONE: a label derived from
        another task is in no column."""
        return NONE if label is None else self.columns.place_of(label)

    @cached_property
    def configured(self) -> dict[str, LabellerId | None]:
        """The identity of the evaluation's own labeller of each task."""
        # The ledger's own objects if it has them, as comparing these costs next to nothing.
        known = list(self.ledger.labellers().values())
        found: dict[str, LabellerId | None] = {}
        for task in self.tasks:
            labeller = self.labellers.get(task.name)
            who = None if labeller is None else labeller.id
            found[task.name] = next((one for one in known if one == who), who)
        return found

    def with_policy(self, policy: Policy) -> UnitLabels:
        """The same labels under another policy, not whole. They are not read again."""
        other = UnitLabels(
            self.ledger, policy, self.labellers, self.tasks, self.asked_as, self.strict
        )
        other.__dict__["columns"] = self.columns
        return other

    @property
    def by_people(self) -> bool:
        """Whether people labelled anything under a task that can count."""
        return not self.ledger.judged_by_people().isdisjoint(self._versions)

    def answered_by_people(self, task: AnyTask) -> bool:
        """Whether people labelled anything under a task, or under one that implies its verdict."""
        others = (one.task.name for one in self._sources.get(task.name, ()))
        return not self.ledger.judged_by_people().isdisjoint((task.name, *others))

    def of(self, unit: str) -> list[Label]:
        """All labels of a unit under its own task, oldest first."""
        return self.columns.of(unit)

    def labels(self, task: AnyTask, content: UnitContent) -> list[Label]:
        """All labels of a unit, oldest first, including those derived from other tasks. Of one
        machine, only the best kind is kept: usable before failed, and then labels under the task
        itself before derived ones."""
        unit = unit_hash(task.name, content)
        own = self.of(unit)
        if task.name not in self._sources:
            return own
        derived = self._derived(task, unit, content)
        if not derived:
            return own
        usable = [one.labeller for one in own if one.status is Status.OK]
        derived = [one for one in derived if one.labeller.is_human or one.labeller not in usable]
        usable = [one.labeller for one in derived if one.status is Status.OK]
        own = [one for one in own if one.status is Status.OK or one.labeller not in usable]
        return sorted([*own, *derived], key=lambda label: label.rowid)

    def _derived(self, task: AnyTask, unit: str, content: UnitContent) -> list[Label]:
        found = []
        for source, other in self._source_units(task, content):
            for label in self._present(source.task, other):
                if label.status is not Status.OK and task.name not in self.asked_as:
                    continue
                if task.name in self.strict and not label.labeller.is_human:
                    continue
                derived = source.derive(label, task, unit)
                if derived is not None:
                    found.append(derived)
        return found

    def _source_units(
        self, task: AnyTask, content: UnitContent
    ) -> Iterator[tuple[Source, UnitContent]]:
        for source in self._sources.get(task.name, ()):
            yield source, source.content(content)

    def _present(self, task: AnyTask, content: UnitContent) -> list[Label]:
        """The labels of a unit of another task. If a machine was asked in several wordings, only
        its labels in the present wording are kept, as far as there are any."""
        labels = self.of(unit_hash(task.name, content))
        labeller = self.labellers.get(task.name)
        own = [one for one in labels if labeller is not None and one.labeller == labeller.id]
        if len(own) < 2:
            return labels
        now = {one.rowid for one in self._asked_now(task, content, own)}
        return [one for one in labels if one.rowid in now or one not in own]

    def _asked_now(
        self,
        task: AnyTask,
        content: UnitContent,
        labels: Sequence[Label],
        who: LabellerId | None = None,
    ) -> Sequence[Label]:
        """The labels of one machine, oldest first, that answer the question as it would be asked
        now by ``who`` or else the task's labeller. If there are none, those that answer the same
        question as its newest usable label."""
        every = self.labellers.values()
        labeller = (
            self.labellers.get(task.name)
            if who is None
            else next((one for one in every if one is not None and one.id == who), None)
        )
        keys = self.ledger.keys(one.rowid for one in labels)
        asked = keys[([one for one in labels if one.status is Status.OK] or labels)[-1].rowid]
        if labeller is not None:
            now = request_key(labeller, Request(task, task.unit.model_validate(content)))
            asked = now if now in keys.values() else asked
        return [one for one in labels if keys[one.rowid] == asked]

    def choose(
        self,
        task: AnyTask,
        content: UnitContent,
        before: int | None = None,
        *,
        still: bool = False,
    ) -> Label | None:
        """The label that counts for a unit, which may be a failed one. With ``before``, only labels
        with lower numbers are considered; ``still`` says that the label found counts to this day,
        so that people's disagreement on it is recorded."""
        labels = self.labels(task, content)
        present = partial(self._asked_now, task, content)
        if before is not None:
            labels = [label for label in labels if label.rowid < before]
        if labels and (before is None or still):
            found = self.among(task, labels[0].unit, labels, present)
        else:
            found = choose(labels, self.policy, self.configured[task.name], present)
        if found is None or task.name not in self._sources:
            return found
        unit = found.unit
        own = any(found.rowid == one.rowid for one in self.of(unit))
        for source, other in self._source_units(task, content):
            source_labels = self.of(unit_hash(source.task.name, other))
            if self.shared.excludes(task, unit, source, source_labels, found, own, self.policy):
                return None
        return found

    def among(
        self,
        task: AnyTask,
        unit: str,
        labels: Sequence[Label],
        present: Callable[[Sequence[Label]], Sequence[Label]],
    ) -> Label | None:
        """The one of ``labels``, oldest first, that counts (:func:`assay.ledger.policy.choose`). If
        people disagree, the ``unit`` is recorded as disputed."""
        own = self.configured[task.name]
        found = choose(labels, self.policy, own, present)
        if people_differ(labels, self.policy, own):
            self.disputed.add(unit)
            if found is None:
                self.unsettled.add(unit)
        return found

    def superseded(self) -> Counter[tuple[str, str]]:
        """How many units the evaluation's own labeller was asked about again, by task and why."""
        found: Counter[tuple[str, str]] = Counter()
        for task in self._versions:
            own = self.configured.get(task)
            for places in () if own is None else self.columns.labelled_again(task, own.name):
                labels = [one for one in self.columns.labels(places) if one.sample == 0]
                keys = self.ledger.keys(one.rowid for one in labels)
                unit = attrgetter("unit")
                for _, of_unit in groupby(sorted(labels, key=unit), unit):
                    asked = [(keys[one.rowid], one.labeller == own) for one in of_unit]
                    if len({key for key, _ in asked}) > 1:
                        by_own = len({key for key, is_own in asked if is_own})
                        found[task, PROMPT if by_own > 1 else SETTINGS] += 1
        return found

    def machine_label(
        self, task: AnyTask, content: UnitContent, who: LabellerId | None = None
    ) -> Label | None:
        """The usable label by a machine (the evaluation's own, or ``who``) that would count for a
        unit without people's labels. It may be derived from another task."""
        by = who or self.configured[task.name]
        labels = [one for one in self.labels(task, content) if one.labeller == by]
        return self._usable_now(task, content, labels, who)

    def machine_labels(self, task: AnyTask, units: Iterable[str]) -> dict[str, Label]:
        """The usable labels of many units by the evaluation's own machine, by unit. Labels derived
        from other tasks are left out."""
        own = self.configured[task.name]
        given = {unit: [one for one in self.of(unit) if one.labeller == own] for unit in units}
        contents = self.ledger.contents(unit for unit, some in given.items() if len(some) > 1)
        found = {
            unit: self._usable_now(task, contents.get(unit, {}), some)
            for unit, some in given.items()
        }
        return {unit: label for unit, label in found.items() if label is not None}

    def _usable_now(
        self,
        task: AnyTask,
        content: UnitContent,
        labels: Sequence[Label],
        who: LabellerId | None = None,
    ) -> Label | None:
        """The first usable one of a machine's labels of a unit that answers the question as it is
        asked now, as :func:`assay.ledger.policy.choose` prefers it."""
        now = labels if len(labels) < 2 else self._asked_now(task, content, labels, who)
        return next((one for one in now if one.status is Status.OK), None)


class WholeUnitLabels(UnitLabels):
    """Labels with everything that a report shows of them. They are read whole, one by one."""

    def of(self, unit: str) -> list[Label]:
        return list(self.ledger.whole(super().of(unit)))

    def place(self, label: Label | None) -> int:
        return NONE  # labels in the columns are not whole

    def fetch_labels(self, places: Places) -> dict[int, Label]:
        now = np.flatnonzero(places >= 0)
        labels = self.ledger.whole(map(self.columns.at, places[now].tolist()))
        found = dict(zip(now.tolist(), labels, strict=True))
        places[now] = NONE
        return found
