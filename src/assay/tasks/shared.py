"""Tasks that ask the same about the same pair on different scales, and what one implies for the
other.

Does the passage entail the claim (R2C2, yes or no)? How far does the passage support the sentence
(TREC RAG and SGSS: full, partial, none)? Full support is entailment: everything claimed is stated
by the passage or follows from it. So a support label always implies whether there is entailment,
and a yes to entailment implies full support, while a no leaves open whether support is partial or
none.

Protocols that ask the very same question share a task and need nothing here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from assay.model.labels import Label, Status
from assay.tasks.base import AnyTask, UnitContent
from assay.tasks.r2c2 import ENTAILMENT
from assay.tasks.trec_rag import SUPPORT

Plain = Mapping[str, Any]


@dataclass(frozen=True)
class Source:
    """Another task whose labels imply a task's verdict. ``content`` maps the task's unit to the
    other task's, and ``verdict`` maps the other task's verdict to the task's. It is None if the
    other verdict leaves open what this task asks, as ``leaves_open`` explains; ``excludes`` then
    says whether it rules out a verdict of this task."""

    task: AnyTask
    content: Callable[[UnitContent], UnitContent]
    verdict: Callable[[Plain], Plain | None]
    leaves_open: str = ""
    excludes: Callable[[Plain, Plain], bool] = lambda _said, _own: False

    def derive(self, label: Label, task: AnyTask, unit: str) -> Label | None:
        """A label of this source as a label of ``task``, with its own uid, labeller and reason.
        None if it leaves the verdict open."""
        if label.status is not Status.OK or label.verdict is None:
            return label._replace(task=task.name, version=task.version, unit=unit)
        verdict = self.verdict(label.verdict)
        if verdict is None:
            return None
        detail = label.detail
        if "votes" in detail:  # the members' votes are compared with the joint verdict
            votes = [
                {**vote, "verdict": vote["verdict"] and self.verdict(vote["verdict"])}
                for vote in detail["votes"]
            ]
            detail = {**detail, "votes": votes}
        return label._replace(
            task=task.name, version=task.version, unit=unit, verdict=verdict, detail=detail
        )


SOURCES: Mapping[str, tuple[Source, ...]] = {
    ENTAILMENT.name: (
        Source(
            SUPPORT,
            lambda content: {"passage": content["passage"], "sentence": content["nugget"]},
            lambda support: {"entailed": support["support"] == "full"},
        ),
    ),
    SUPPORT.name: (
        Source(
            ENTAILMENT,
            lambda content: {"passage": content["passage"], "nugget": content["sentence"]},
            lambda entailment: {"support": "full"} if entailment["entailed"] else None,
            "NO does not distinguish partial support from none",
            lambda entailment, own: not entailment["entailed"] and own["support"] == "full",
        ),
    ),
}
"""Task → the tasks whose labels imply its verdict."""


def sources(task: AnyTask) -> tuple[Source, ...]:
    """The tasks whose labels imply ``task``'s verdict."""
    return SOURCES.get(task.name, ())
