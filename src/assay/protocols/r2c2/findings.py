"""Everything that an R2C2 evaluation's labels say, as scores, files and tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import cache
from typing import Any

from assay.formats.confidence import COLUMNS as CONFIDENCE_COLUMNS
from assay.formats.r2c2 import write_marked
from assay.measures.ranges import Range
from assay.measures.scores import PerTopic, Score
from assay.model.rag import PassageKey
from assay.protocols.confidence_scores import Abstention
from assay.protocols.labels import LabelBook
from assay.protocols.means import mean_scores
from assay.protocols.output import csv_bytes
from assay.protocols.places import Place
from assay.protocols.r2c2.inputs import Inputs, R2C2Settings
from assay.protocols.r2c2.requests import CHECKS, relevance_unit
from assay.protocols.r2c2.results import Found, RunNotes
from assay.protocols.r2c2.scores import (
    Grades,
    Judged,
    Verdicts,
    attempted_scores,
    derive_grades,
    open_grades,
    ranked_passages,
    score_answers,
)
from assay.protocols.r2c2.views import (
    DEFINITIONS,
    answer_board,
    facts,
    gaps,
    lede,
    nothing_missing,
    parts,
    passage_board,
)
from assay.protocols.ranked_scores import score_rankings
from assay.protocols.relevance import RelevanceCheck, check_relevance
from assay.protocols.results import Findings, Unlabelled

RELEVANT = 2
"""The least grade of 0 to 3 that is relevant: an answer, at least in part."""

Table = dict[str, dict[str, Score]]


def findings(inputs: Inputs, settings: R2C2Settings, judged: Judged, book: LabelBook) -> Findings:
    """Scores, files and tables of what was found of answers."""
    grades, rising = derive_grades(inputs, judged), open_grades(inputs, judged)
    ranked, more = ranked_passages(inputs, settings, grades, rising)
    topics = [question.id for question in inputs.questions]
    verdicts = {name: Verdicts.of(list(found.values())) for name, found in judged.items()}
    pr_values = score_rankings(ranked, more)
    scores = {name: score_answers(name, found, settings) for name, found in verdicts.items()}
    pr_scores = {name: mean_scores(name, by, topics, settings) for name, by in pr_values.items()}
    attempted: Table = {}
    for name, found in verdicts.items():
        every = bool((found.answers.given & (found.answers.refused == 0)).all())
        attempted[name] = scores[name] if every else attempted_scores(name, found, settings)
    by_category: dict[str, Table] = {}
    for category, places in _categories(inputs).items():
        if len(places) == len(topics):
            by_category[category] = {**scores, **pr_scores}  # one category: nothing new to compute
            continue
        some = [topics[place] for place in places]
        by_category[category] = {
            **{name: score_answers(name, v.only(places), settings) for name, v in verdicts.items()},
            **{name: mean_scores(name, by, some, settings) for name, by in pr_values.items()},
        }
    check = _checked(inputs, settings, grades, book)
    measures = tuple(ranked.measures)
    detail = Found(
        questions=inputs.questions,
        pr_runs=inputs.pr_runs,
        answers=judged,
        notes={name: RunNotes.of(name, list(found.values())) for name, found in judged.items()},
        grades=grades,
        no_relevant=tuple(
            topic for topic in topics if topic not in rising and not any(grades[topic].values())
        ),
        relevance=check,
    )

    @cache
    def abstention() -> dict[str, Abstention]:
        return {name: Abstention.of(v.answers) for name, v in verdicts.items()}

    every_score: Table = {**scores, **pr_scores}
    missing = sum(notes.unlabelled for notes in detail.notes.values())
    return Findings(
        topics=topics,
        scores=every_score,
        per_topic={**_per_topic(judged), **pr_values},
        boards=(
            answer_board(detail, attempted),
            *([passage_board(detail, settings, measures, pr_scores)] if pr_scores else ()),
        ),
        definitions=DEFINITIONS,
        facts=facts(detail, book.used),
        lede=lede(detail, scores),
        nothing=nothing_missing(detail),
        gaps=gaps(detail),
        files=dict(_files(inputs, detail)),
        ranked=ranked,
        parts=lambda: parts(detail, verdicts, scores, abstention(), settings, book.used),
        document=lambda: {
            "attempted": [asdict(one) for by in attempted.values() for one in by.values()],
            "abstention": {name: _plain(asdict(one)) for name, one in abstention().items()},
            "runs": {name: asdict(notes) for name, notes in detail.notes.items()},
        },
        more_scores={"attempted": attempted},
        by_category=by_category,
        unlabelled=Unlabelled(
            missing + (0 if check is None else check.missing), "answers, nuggets or passages"
        ),
        detail=detail,
    )


def _categories(inputs: Inputs) -> dict[str, list[int]]:
    """The places of the questions of each category."""
    found: dict[str, list[int]] = {}
    for place, question in enumerate(inputs.questions):
        if question.category:
            found.setdefault(question.category, []).append(place)
    return found


def _per_topic(judged: Judged) -> PerTopic:
    """The values of each question, run → measure → question."""
    return {
        name: {
            "Accuracy": {key: one.accuracy for key, one in found.items()},
            "NuggetPrecision": {key: one.precision for key, one in found.items()},
            "Confidence": {
                key: None if one.confidence is None else Range.certain(one.confidence)
                for key, one in found.items()
            },
        }
        for name, found in judged.items()
    }


def _checked(
    inputs: Inputs, settings: R2C2Settings, grades: Grades, book: LabelBook
) -> RelevanceCheck[PassageKey] | None:
    """Passages judged on their own, beside their derived grades (paper, section 4.1)."""
    if not settings.relevance_check:
        return None
    task = CHECKS[settings.relevance_check]
    judged: dict[str, dict[PassageKey, bool | None]] = {}
    for question in inputs.questions:
        judged[question.id] = {}
        for run in inputs.pr_runs.values():
            for passage in run.passages.get(question.id, ()):
                place = Place(passage.key.run, question.id, f"passage {passage.key.rank}")
                verdict = book.verdict(task, relevance_unit(task, question, passage), place)
                said = None if verdict is None else _relevant(verdict)
                judged[question.id][passage.key] = said
    return check_relevance(judged, grades)


def _relevant(verdict: Mapping[str, Any]) -> bool:
    return verdict["grade"] >= RELEVANT if "grade" in verdict else bool(verdict["relevant"])


def _files(inputs: Inputs, found: Found) -> Iterator[tuple[str, bytes]]:
    yield "confidence.csv", csv_bytes(CONFIDENCE_COLUMNS, _confidence_rows(found.answers))
    if found.relevance is not None:
        columns = ("topic", "passage", "doc", "grade", "judged")
        yield "relevance.csv", csv_bytes(columns, _relevance_rows(found, found.relevance))
    for name, file in inputs.ac_files.items():
        yield (
            f"marked/{name}.txt",
            write_marked(file, {q: one.marks for q, one in found.answers[name].items()}),
        )


def _confidence_rows(judged: Judged) -> Iterator[tuple[object, ...]]:
    """Each answer's confidence and correctness (None where a label is missing), as ``assay
    confidence`` and ``assay recalibrate`` read them. What a run leaves out is wrong, without a
    confidence."""
    for run, by_question in judged.items():
        for question, found in by_question.items():
            stated = None if found.answer is None else found.answer.confidence
            yield (run, question, stated, None if found.correct is None else int(found.correct))


def _relevance_rows(
    found: Found, check: RelevanceCheck[PassageKey]
) -> Iterator[tuple[object, ...]]:
    """Every passage with its derived grade and what the check says of it (1, 0 or empty)."""
    for run in found.pr_runs.values():
        for question, passages in run.passages.items():
            for passage in passages:
                said = check.judged[question][passage.key]
                shown = None if said is None else int(said)
                grade = found.grades[question][passage.key]
                yield (question, str(passage.key), passage.doc, grade, shown)


def _plain(value: Any) -> Any:
    """``value`` with each range as an object: value (null where it is none), floor, ceiling."""
    if isinstance(value, Range):
        return {"value": value.value, "floor": value.floor, "ceiling": value.ceiling}
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value
