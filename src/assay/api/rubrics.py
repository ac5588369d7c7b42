"""Scoring of answers graded by weighted rubrics, and conversion of nuggets to rubrics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from assay.api.label_scores import LabelScores, read_labelled_answers
from assay.api.reading import Note, used
from assay.formats.rubrics import read_graded_answers, write_rubrics
from assay.formats.trec_rag_nuggets import read_nuggets
from assay.measures.ranges import Range
from assay.measures.rubrics import RUBRIC_MEASURES, rubric_score, unmet
from assay.measures.rubrics import FailedCriteria as FailedCriteria
from assay.model.rubrics import MANDATORY, GradedAnswer, GradedCriterion, Met, rubric_of_nuggets
from assay.model.wording import counted, joined
from assay.protocols.sheets import Sheet, Topics, Values

VALUES = {Met.YES: 1.0, Met.PARTLY: 0.5, Met.NO: 0.0}


SHOWN = ("failed", "mandatory unmet", "failings")
"""Counts shown beside scores, if there are any."""


class Rubric(NamedTuple):
    """How graded answers are scored: how ``failed`` criteria count, whether topic scores are
    ``clipped`` at 0, and whether each axis gets its own score."""

    failed: FailedCriteria = "out"
    clipped: bool = False
    axes: bool = False


def rubric_scores(files: Sequence[Path], rubric: Rubric, topics: Topics, note: Note) -> LabelScores:
    """Score graded answers. Raises FormatError with the faults of all files."""
    answers = read_labelled_answers(files, read_graded_answers, note)
    for line in _remarks(answers, rubric):
        note(line)
    counts = _counts(answers)
    more = {"counts": counts, "axes": list(_axes(answers)), "settings": rubric._asdict()}
    return LabelScores(_sheet(answers, rubric), topics, counts, more, SHOWN)


def _sheet(answers: Sequence[GradedAnswer], rubric: Rubric) -> Sheet:
    axes = sorted({one.criterion.axis for each in answers for one in each.criteria} - {""})
    names = [*RUBRIC_MEASURES]
    if rubric.axes:
        names += [f"{measure}:{axis}" for axis in axes for measure in RUBRIC_MEASURES]
    topics = tuple(dict.fromkeys(one.topic for one in answers))
    nothing: Values = {name: dict.fromkeys(topics) for name in names}
    table: dict[str, Values] = {}
    for answer in answers:
        mine = table.setdefault(answer.run, {name: {} for name in names})
        for name in names:
            measure, _, axis = name.partition(":")
            chosen = [one for one in answer.criteria if not axis or one.criterion.axis == axis]
            mine[name][answer.topic] = _score(chosen, measure, rubric)
            if any(one.criterion.weight > 0 for one in chosen):
                nothing[name][answer.topic] = Range.certain(0.0)  # an answer that says nothing
    return Sheet(topics, tuple(names), table, nothing)


def _score(criteria: Sequence[GradedCriterion], measure: str, rubric: Rubric) -> Range | None:
    found = rubric_score(
        [one.criterion.weight for one in criteria],
        [_value(one) for one in criteria],
        binary=measure == "binary",
        failed=rubric.failed,
    )
    if found is None or not rubric.clipped:
        return found
    return Range(max(found.floor, 0.0), max(found.ceiling, 0.0))


def _value(one: GradedCriterion) -> float | None:
    return None if one.verdict is None else VALUES[one.verdict]


def _counts(answers: Sequence[GradedAnswer]) -> dict[str, dict[str, int]]:
    """By run, the number of criteria, failed criteria, unmet mandatory ones, and failings."""
    found: dict[str, dict[str, int]] = {}
    for answer in answers:
        mine = found.setdefault(
            answer.run, {"criteria": 0, "failed": 0, "mandatory unmet": 0, "failings": 0}
        )
        for one in answer.criteria:
            short = unmet(one.criterion.weight, _value(one))
            mine["criteria"] += 1
            mine["failed"] += one.verdict is None
            mine["mandatory unmet"] += short and one.criterion.tier == MANDATORY
            mine["failings"] += short and one.criterion.weight < 0
    return found


def _axes(answers: Sequence[GradedAnswer]) -> Iterator[dict[str, Any]]:
    """By run and axis, the number of unmet criteria among those with a verdict, and the total cost
    of failings."""
    found: dict[tuple[str, str], list[GradedCriterion]] = defaultdict(list)
    for answer in answers:
        for one in answer.criteria:
            found[answer.run, one.criterion.axis].append(one)
    for (run, axis), criteria in sorted(found.items()):
        judged = [one for one in criteria if one.verdict is not None]
        short = sum(unmet(one.criterion.weight, _value(one)) for one in judged)
        yield {
            "run": run,
            "axis": axis,
            "criteria": len(judged),
            "unmet": short,
            "rate": short / len(judged) if judged else None,
            "penalties": sum(
                min(one.criterion.weight, 0.0) * VALUES[one.verdict]
                for one in judged
                if one.verdict is not None
            ),
        }


def _remarks(answers: Sequence[GradedAnswer], rubric: Rubric) -> Iterator[str]:
    criteria = [one for answer in answers for one in answer.criteria]
    failed = sum(one.verdict is None for one in criteria)
    if failed:
        so = {
            "out": "left out of the scores",
            "zero": "counted as not satisfied",
            "range": "scores are ranges from the worst to the best possible value",
        }[rubric.failed]
        every = counted(len(criteria), "criterion", "criteria")
        yield f"Judging failed of {failed:,} of {every}: {so}."
    if rubric.clipped:
        yield "Scores of topics below 0 are clipped to 0."
    rubrics: dict[str, set[tuple[tuple[str, float], ...]]] = defaultdict(set)
    for answer in answers:
        rubrics[answer.topic].add(
            tuple(sorted((one.criterion.text, one.criterion.weight) for one in answer.criteria))
        )
    differ = [topic for topic, found in rubrics.items() if len(found) > 1]
    if differ:
        topics = counted(len(differ), "topic")
        yield f"Runs were assessed by different rubrics in {topics}: {joined(differ, 10)}."


def rubrics_of_nuggets(file: Path, note: Note) -> bytes:
    """Convert a file of nuggets to rubrics, as RAGDoll reads them. Raises FormatError."""
    lists = used(read_nuggets(file), note)
    empty = [topic for topic, one in lists.items() if not rubric_of_nuggets(one.nuggets)]
    if empty:
        note(f"No vital nugget, so no criterion: {joined(empty, 10)}.")
    return write_rubrics(
        {topic: (one.query, rubric_of_nuggets(one.nuggets)) for topic, one in lists.items()}
    )
