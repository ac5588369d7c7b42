"""How the judge does the tasks of SGSS and EXAM++'s direct graders: what it asks, and the verdict.

None of its training data has these scales: a clear yes is the highest label, a yes in part the
middle one; that choice is ours. What needs a view of the whole (absolute comprehensiveness,
preferences) it cannot do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay.labellers.judge.levels import Levels
from assay.labellers.judge.model import JudgeQuestion, question_of
from assay.labellers.judge.texts import Ability, claim_text, question_text
from assay.tasks.base import Verdict
from assay.tasks.exam import DIRECT, THOMAS, DirectGrade
from assay.tasks.sgss import (
    COVERAGE,
    HEADING,
    REPRESENTATIVENESS,
    STATEMENT,
    SUFFICIENCY,
    CoverageUnit,
    Extent,
    ExtentVerdict,
    RepresentativenessUnit,
)
from assay.tasks.trec_rag import RelevanceUnit, YesNoRelevance

Pair = tuple[Callable[[Any], list[JudgeQuestion]], Callable[[Any, Sequence[Levels]], Verdict]]


def _answers(topic: str, text: str) -> list[JudgeQuestion]:
    """Does the text answer the topic? The judge was trained on questions, so that a topic that is
    none is put as one."""
    asked = topic if topic.rstrip().endswith("?") else f"what about {topic}?"
    return [question_of(Ability.A, question_text(asked), text)]


def _representativeness(unit: RepresentativenessUnit) -> list[JudgeQuestion]:
    """Do the sections, taken together, bear the overview out?"""
    return [question_of(Ability.E, claim_text(unit.overview), "\n".join(unit.sections))]


def _coverage(unit: CoverageUnit) -> list[JudgeQuestion]:
    """Does the summary say what each line of the section says? (The heading is no claim.)"""
    lines = unit.section.split("\n")
    return [question_of(Ability.E, claim_text(line), unit.summary) for line in lines[1:] or lines]


def _extent(_unit: object, levels: Sequence[Levels]) -> ExtentVerdict:
    """Perfectly where every question is a yes, partially where some is, at least in part."""
    if all(one.yes for one in levels):
        label = Extent.PERFECTLY
    elif any(one.yes or one.partly for one in levels):
        label = Extent.PARTIALLY
    else:
        label = Extent.NO
    return ExtentVerdict(label=label, reason=levels[0].quoted("Nearest"))


def _relevant(unit: RelevanceUnit) -> list[JudgeQuestion]:
    return _answers(unit.question, unit.passage)


def _yes_no(_unit: RelevanceUnit, levels: Sequence[Levels]) -> YesNoRelevance:
    return YesNoRelevance(relevant=levels[0].yes, reason=levels[0].quoted("Nearest"))


def _grade(_unit: RelevanceUnit, levels: Sequence[Levels]) -> DirectGrade:
    grade = 2 if levels[0].yes else 1 if levels[0].partly else 0
    return DirectGrade(grade=grade, reason=levels[0].quoted("Nearest"))


PAIRS: Mapping[str, Pair] = {
    SUFFICIENCY.name: (lambda unit: _answers(unit.query, unit.overview), _extent),
    STATEMENT.name: (lambda unit: _answers(unit.query, unit.statement), _extent),
    HEADING.name: (lambda unit: _answers(unit.heading, unit.statement), _extent),
    REPRESENTATIVENESS.name: (_representativeness, _extent),
    COVERAGE.name: (_coverage, _extent),
    THOMAS.name: (_relevant, _grade),
    **{task.name: (_relevant, _yes_no) for task in DIRECT.values() if task is not THOMAS},
}
"""Task → what is asked of a unit, and the verdict from the levels in the same order."""
