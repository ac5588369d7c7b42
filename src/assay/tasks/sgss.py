"""The labelling tasks of SGSS, all on a three-point scale except for the preference.

Source: Sakai et al., Plans for evaluating structured generative search summaries (2026), sections
3.2, 3.4 and 4.1. The scales are the paper's, the wording of the prompts is ours. Faithfulness (do
the cited documents, taken together, entail the text?) is the task ``trec_rag.support``, which asks
the same about a passage and a sentence, so a pair that was judged there is not asked about again.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import BeforeValidator

from assay.tasks.base import AnyTask, Task, Unit, Verdict
from assay.tasks.fields import folded


class Extent(StrEnum):
    """The three points of the scale."""

    PERFECTLY = "perfectly"
    PARTIALLY = "partially"
    NO = "no"


ORDER = ("no", "partially", "perfectly")


def _extent(value: object) -> object:
    """Read ``Perfectly relevant``, ``Not`` and the like as the three points."""
    value = folded(value)
    if isinstance(value, str) and not isinstance(value, Extent):
        word = value.split("_")[0]
        return {"perfect": "perfectly", "partial": "partially", "not": "no"}.get(word, word)
    return value


class ExtentVerdict(Verdict):
    """Perfectly, partially or no."""

    reason: str = ""
    label: Annotated[Extent, BeforeValidator(_extent)]


class SufficiencyUnit(Unit):
    """A query and the overview of a summary."""

    query: str
    overview: str


class RepresentativenessUnit(Unit):
    """The sections of a summary (heading and statements, one per line) and its overview."""

    sections: tuple[str, ...]
    overview: str


class HeadingUnit(Unit):
    """A heading and one statement below it."""

    heading: str
    statement: str


class StatementUnit(Unit):
    """A query and one statement."""

    query: str
    statement: str


class CoverageUnit(Unit):
    """A section of one summary, and another summary of the same query."""

    section: str
    summary: str


class ComprehensivenessUnit(Unit):
    """A query and a whole summary."""

    query: str
    summary: str


class PreferenceUnit(Unit):
    """A query and two summaries side by side."""

    query: str
    left: str
    right: str


class Side(StrEnum):
    """Which of two summaries is better."""

    LEFT = "LEFT"
    RIGHT = "RIGHT"


def _side(value: object) -> object:
    value = folded(value)
    return value.upper() if isinstance(value, str) else value


class PreferenceVerdict(Verdict):
    """The summary that is preferred."""

    reason: str = ""
    preferred: Annotated[Side, BeforeValidator(_side)]


def _task(name: str, title: str, unit: type[Unit]) -> AnyTask:
    made: Task[Any, ExtentVerdict] = Task(
        name=f"sgss.{name}",
        title=title,
        unit=unit,
        verdict=ExtentVerdict,
        max_tokens=150,
        orders={"label": ORDER},
    )
    return made


SUFFICIENCY = _task(
    "sufficiency",
    "OS: does the overview satisfy the information need behind the query?",
    SufficiencyUnit,
)
REPRESENTATIVENESS = _task(
    "representativeness",
    "OR: is the overview a good overview of the sections?",
    RepresentativenessUnit,
)
HEADING = _task("heading", "HR: is the statement relevant to its heading?", HeadingUnit)
STATEMENT = _task(
    "statement", "SRel: is the statement relevant to the need behind the query?", StatementUnit
)
COVERAGE = _task(
    "coverage", "Comp: does the summary cover a section of another summary?", CoverageUnit
)
COMPREHENSIVENESS = _task(
    "comprehensiveness",
    "Absolute comprehensiveness: does the summary cover all that matters?",
    ComprehensivenessUnit,
)
PREFERENCE: AnyTask = Task(
    name="sgss.preference",
    title="Preference: which of two summaries is better, LEFT or RIGHT?",
    unit=PreferenceUnit,
    verdict=PreferenceVerdict,
    judged=("left", "right"),
    sides=(("left", "right"), (Side.LEFT.value, Side.RIGHT.value)),
    max_tokens=200,
)

TASKS: tuple[AnyTask, ...] = (
    SUFFICIENCY, REPRESENTATIVENESS, HEADING, STATEMENT, COVERAGE, COMPREHENSIVENESS, PREFERENCE,
)  # fmt: skip
