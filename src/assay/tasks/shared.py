"""Tasks that ask the same of the same pair on different scales, and what one says of the other.

Does the passage entail the claim (R2C2, yes or no)? How far does the passage support the sentence
(TREC RAG, SGSS: full, partial, none)? Full support is entailment: all that is claimed is stated by
the passage or follows from it. So a support label always tells whether there is entailment, and a
yes to entailment tells that support is full; a no leaves open whether it is partial or none.

Where two protocols ask the very same question they use one task, and nothing is needed here.
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
    """Another task whose labels tell a task's verdict.

    ``content`` gives the other task's unit from the task's own, ``verdict`` the task's verdict from
    the other's. Where that is None the other's verdict leaves open what this task asks, as
    ``leaves_open`` says in words; ``excludes`` is then whether it rules a verdict of the task out.
    """

    task: AnyTask
    content: Callable[[UnitContent], UnitContent]
    verdict: Callable[[Plain], Plain | None]
    leaves_open: str = ""
    excludes: Callable[[Plain, Plain], bool] = lambda _said, _own: False

    def derive(self, label: Label, task: AnyTask, unit: str) -> Label | None:
        """A label of this source as one of ``task``: uid, labeller and reason stay its own. None
        where it leaves the verdict open."""
        if label.status is not Status.OK or label.verdict is None:
            return label._replace(task=task.name, version=task.version, unit=unit)
        verdict = self.verdict(label.verdict)
        if verdict is None:
            return None
        detail = label.detail
        if "votes" in detail:  # an ensemble's, which are compared with the joint verdict
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
            "NO does not tell partial support from none",
            lambda entailment, own: not entailment["entailed"] and own["support"] == "full",
        ),
    ),
}
"""Task → the tasks whose labels tell its verdict."""


def sources(task: AnyTask) -> tuple[Source, ...]:
    """The tasks whose labels tell ``task``'s verdict."""
    return SOURCES.get(task.name, ())
