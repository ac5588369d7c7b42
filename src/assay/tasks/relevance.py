"""The ways in which relevance of documents is asked for, and what a label of each comes to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from assay.tasks.base import AnyTask
from assay.tasks.trec_rag import (
    RELEVANCE,
    RELEVANCE_AT_ONCE,
    RELEVANCE_YES_NO,
    SUB_NARRATIVES_ANSWERED,
    AspectsAnswered,
)


class Way(NamedTuple):
    """A task, the highest grade of its scale, what its labels are, and whether it needs
    sub-narratives."""

    task: AnyTask
    highest: int
    words: str
    by_aspects: bool = False


WAYS: Mapping[str, Way] = {
    "counted": Way(
        SUB_NARRATIVES_ANSWERED, 4, "labels 0 to 4, by the sub-narratives that a document answers",
        by_aspects=True,
    ),
    "at-once": Way(RELEVANCE_AT_ONCE, 4, "labels 0 to 4", by_aspects=True),
    "0-3": Way(RELEVANCE, 3, "labels 0 to 3"),
    "yes-no": Way(RELEVANCE_YES_NO, 1, "labels yes or no"),
}  # fmt: skip
"""Counting answered sub-narratives, 0 to 4 at once, 0 to 3, yes or no."""


def grade_of(way: str, verdict: Mapping[str, Any]) -> int:
    """The grade that a verdict comes to."""
    if way == "counted":
        return AspectsAnswered.model_validate(verdict).grade
    if way == "yes-no":
        return int(bool(verdict["relevant"]))
    return int(verdict["grade"])
