"""Labels that count under another task than they were given under, and what prevents it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from assay.ledger.policy import Policy
from assay.model.labels import Label
from assay.model.wording import counted
from assay.tasks.base import AnyTask
from assay.tasks.shared import Source


@dataclass
class SharedVerdicts:
    """What was noticed about labels of tasks that imply each other's verdicts, by (task, other
    task): labels ``derived`` from the other task; units ``asked`` again, as the other task's label
    leaves the verdict open; and units ``excluded``, as their label contradicts what a person said
    under the other task."""

    derived: defaultdict[tuple[str, Source], set[int]] = field(
        default_factory=lambda: defaultdict(set)
    )
    asked: defaultdict[tuple[str, Source], set[str]] = field(
        default_factory=lambda: defaultdict(set)
    )
    excluded: defaultdict[tuple[str, Source], set[str]] = field(
        default_factory=lambda: defaultdict(set)
    )

    def excludes(
        self,
        task: AnyTask,
        unit: str,
        source: Source,
        said: Sequence[Label],
        found: Label,
        own: bool,
        policy: Policy,
    ) -> bool:
        """Whether a person's label among ``said``, given under ``source``, rules out the machine's
        label ``found``. Records what was noticed. ``own`` says whether ``found`` was given under
        ``task`` itself; ``policy`` decides whose labels count."""
        key = (task.name, source)
        if not own and any(found.rowid == one.rowid for one in said):
            self.derived[key].add(found.rowid)
        if found.labeller.is_human or found.verdict is None or not source.leaves_open:
            return False
        verdicts = [one.verdict for one in said if policy.rank(one, None) == 2 and one.verdict]
        if verdicts and source.excludes(verdicts[-1], found.verdict):
            self.excluded[key].add(unit)
            return True
        if own and any(one.labeller == found.labeller for one in said):
            self.asked[key].add(unit)
        return False

    def remarks(self) -> Iterator[str]:
        """One sentence for each thing noticed."""
        for (task, source), labels in self.derived.items():
            yield (
                f"{task}: {counted(len(labels), 'label')} given under {source.task.name}, which "
                "asks the same."
            )
        for (task, source), units in self.asked.items():
            yield (
                f"{task}: {counted(len(units), 'unit')} asked about that labels of "
                f"{source.task.name} do not settle: {source.leaves_open}."
            )
        for (task, source), units in self.excluded.items():
            yield (
                f"{task}: {counted(len(units), 'label')} of a machine not counted, as a person "
                f"said otherwise under {source.task.name}; {source.leaves_open}. Have people label "
                f"what this leaves open under {task}."
            )
