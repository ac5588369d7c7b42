"""Labels that count under another task than they were given under, and what stands in their way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from assay.ledger.policy import Policy
from assay.model.labels import Label
from assay.tasks.base import AnyTask
from assay.tasks.shared import Source


@dataclass
class SharedVerdicts:
    """What was seen of labels of tasks that tell each other's verdicts, by (task, other task):
    labels ``told`` by the other; units ``asked`` again, as the other's label leaves the verdict
    open; units ``excluded``, as a person said otherwise there."""

    told: defaultdict[tuple[str, Source], set[int]] = field(
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
        """Whether a person's label among those ``said`` under ``source`` rules out the label
        ``found``; keeps what was seen. ``own`` is whether it was given under ``task`` itself; whose
        labels count is the ``policy``'s."""
        key = (task.name, source)
        if not own and any(found.rowid == one.rowid for one in said):
            self.told[key].add(found.rowid)
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
        """A sentence each."""
        for (task, source), labels in self.told.items():
            yield (
                f"{task}: {len(labels)} labels are what was said under {source.task.name}, which "
                "asks the same."
            )
        for (task, source), units in self.asked.items():
            yield (
                f"{task}: {len(units)} units were asked although {source.task.name} had been: "
                f"{source.leaves_open}."
            )
        for (task, source), units in self.excluded.items():
            yield (
                f"{task}: {len(units)} labels of a machine do not count, as a person said "
                f"otherwise under {source.task.name}; {source.leaves_open}. Have a person label "
                f"these units under {task}."
            )
