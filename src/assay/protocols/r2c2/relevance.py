"""The check of derived grades: passages judged on their own, beside what the nuggets gave them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.model.labels import Label
from assay.model.rag import Passage, PassageKey
from assay.protocols.r2c2.inputs import Inputs
from assay.protocols.r2c2.labels import LabelBook
from assay.protocols.r2c2.requests import CHECKS, relevance_unit
from assay.protocols.r2c2.results import RelevanceCheck
from assay.tasks.base import unit_hash

RELEVANT = 2
"""The least grade of 0 to 3 that is relevant: an answer, at least in part."""


def _relevant(verdict: Mapping[str, Any]) -> bool:
    return verdict["grade"] >= RELEVANT if "grade" in verdict else bool(verdict["relevant"])


def check_relevance(
    book: LabelBook,
    inputs: Inputs,
    grades: Mapping[str, Mapping[PassageKey, int]],
    check: bool | str = True,
) -> RelevanceCheck:
    """Set the labels of the task of ``check`` against the derived grades (paper, section 4.1)."""
    task = CHECKS[check]
    judged: dict[str, dict[PassageKey, bool | None]] = {}
    labels: dict[str, dict[PassageKey, Label]] = {}
    counts = {(derived, said): 0 for derived in (True, False) for said in (True, False)}
    missing = 0
    missed: list[Passage] = []
    for question in inputs.questions:
        judged[question.id], labels[question.id] = {}, {}
        for run in inputs.pr_runs.values():
            for passage in run.passages.get(question.id, ()):
                content = relevance_unit(task, question, passage).model_dump(mode="json")
                label = book.choose(task, unit_hash(task.name, content), content)
                if label is not None:
                    labels[question.id][passage.key] = label
                if label is None or label.verdict is None:
                    judged[question.id][passage.key] = None
                    missing += 1
                    continue
                said = _relevant(label.verdict)
                judged[question.id][passage.key] = said
                derived = grades[question.id][passage.key] >= 1
                counts[derived, said] += 1
                if said and not derived:
                    missed.append(passage)
    both, derived_only = counts[True, True], counts[True, False]
    judged_only, neither = counts[False, True], counts[False, False]
    return RelevanceCheck(
        judged=judged,
        labels=labels,
        both=both,
        derived_only=derived_only,
        judged_only=judged_only,
        neither=neither,
        missing=missing,
        kappa=_kappa(both, derived_only, judged_only, neither),
        missed=tuple(missed),
    )


def _kappa(both: int, first: int, second: int, neither: int) -> float | None:
    """Cohen's kappa of two binary labellings; None where chance agreement is certain."""
    n = both + first + second + neither
    if n == 0:
        return None
    expected = (both + first) * (both + second) + (neither + first) * (neither + second)
    if expected == n * n:
        return None
    return ((both + neither) * n - expected) / (n * n - expected)
