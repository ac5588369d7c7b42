"""The labels of an evaluation by unit, and which of them counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from assay.judging.again import PROMPT, SETTINGS
from assay.labellers.base import Labeller, Request, request_key
from assay.ledger import Ledger
from assay.ledger.policy import Policy, choose, other_labellers
from assay.model.labels import Label, LabellerId, Status
from assay.tasks.base import AnyTask


@dataclass
class Book:
    """The labels of an evaluation, looked up by unit.

    ``labellers`` are the evaluation's own by task name; None where one could not be made (its
    labels are then taken as missing). ``tasks`` are those of the protocol. With ``brief`` the
    labels lack what only reports show (:meth:`assay.ledger.Ledger.verdicts`).
    """

    ledger: Ledger
    policy: Policy
    labellers: Mapping[str, Labeller | None]
    tasks: tuple[AnyTask, ...]
    brief: bool = False
    _only: dict[str, Label] = field(default_factory=dict, init=False)  # units with one label
    _several: dict[str, list[Label]] = field(default_factory=dict, init=False)
    other_versions: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        versions = {task.name: task.version for task in self.tasks}
        read = self.ledger.verdicts if self.brief else self.ledger.labels
        for label in read(versions):
            unit = label.unit
            if label.version != versions[label.task]:
                self.other_versions += 1
            elif unit in self._several:
                self._several[unit].append(label)
            elif unit in self._only:
                self._several[unit] = [self._only.pop(unit), label]
            else:
                self._only[unit] = label

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
        """All labels of a unit, oldest first."""
        only = self._only.get(unit)
        return self._several.get(unit, []) if only is None else [only]

    def choose(self, task: AnyTask, unit: str, content: Mapping[str, Any]) -> Label | None:
        """The label of a unit that counts, which may be a failed one."""
        only = self._only.get(unit)
        if only is not None and only.labeller is self._own[task.name]:
            return only  # nearly always
        labels = self.of(unit)
        if not labels:
            return None
        labeller = self.labellers.get(task.name)

        def exact_key() -> str:
            if labeller is None:
                return ""
            request = Request(task, task.unit.model_validate(content))
            return request_key(labeller, request)

        return choose(labels, self.policy, self.configured[task.name], exact_key)

    def superseded(self) -> Counter[tuple[str, str]]:
        """How many units the evaluation's own labeller was asked about again, by task and why."""
        found: Counter[tuple[str, str]] = Counter()
        for labels in self._several.values():
            own = self.configured[labels[0].task]
            if own is None:
                continue
            asked = [one for one in labels if one.labeller.name == own.name and not one.sample]
            if len({one.key for one in asked}) < 2:
                continue
            same = {one.key for one in asked if one.labeller == own}
            why = PROMPT if len(same) > 1 else SETTINGS
            found[labels[0].task, why] += 1
        return found

    def machine(self, task: AnyTask, unit: str) -> Label | None:
        """The newest usable label of the evaluation's own machine for a unit."""
        configured = self.configured[task.name]
        found = [
            label
            for label in self.of(unit)
            if label.status is Status.OK and label.labeller == configured
        ]
        return found[-1] if found else None

    def every(self) -> Iterator[Label]:
        """All labels of the present task versions."""
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
        for (task, why), count in self.superseded().items():
            remarks.append(
                f"{task}: {count} units were asked again because {why}; the labels under the "
                "present one count."
            )
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
