"""Graded passages in the format of the Autograder workbench: JSON Lines, usually gzipped.

A line is ``[query_id, [passage, …]]``; a passage ``{paragraph_id, text, paragraph_data {judgments,
rankings}, exam_grades [{self_ratings [{question_id, self_rating}], correctAnswered,
wrongAnswered, answers [[question_id, text]], llm, prompt_info {prompt_class}}], grades [{…}]}``.
``exam_grades`` are grades by question, one entry for each way of grading; ``grades`` are those of
direct graders. Self-ratings are grades from 0 to 5; without them, a correct answer has grade 1, a
wrong one 0. A question without either has no grade (the model's reply was unusable). Records are
written again with all fields in the same order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import orjson

from assay.formats.jsonl import read_values
from assay.formats.parsed import FaultList
from assay.formats.text import SourceText, reads_file
from assay.formats.trec import Qrels
from assay.model.exam import (
    Bank,
    BankQuestion,
    GradedPassage,
    Judgment,
    QueryBank,
    Ranking,
    Run,
    RunPlace,
)
from assay.model.exam_grades import NO_GRADE, TOP_GRADE, Grades
from assay.model.wording import quoted

UNGRADED = "(no question has a grade)"

LAST_RANK = 1_000_000
"""Highest valid rank: no run shows more passages than that for a query."""


class GradingWay(NamedTuple):
    """A way of grading: the model, the class of the prompt, and whether it rates passages (0–5) or
    checks answers (0/1)."""

    llm: str
    prompt: str
    rated: bool

    def __str__(self) -> str:
        return f"{self.prompt} by {self.llm} ({'ratings' if self.rated else 'right or wrong'})"


@dataclass(frozen=True, eq=False)
class GradedQuery:
    """The graded pool of one query. ``grades`` has a row for each of ``passages``; ``answers`` are
    the extracted answers, if any, by (passage, question); ``nuggets`` are those questions that are
    known to be nuggets."""

    query: str
    passages: tuple[GradedPassage, ...]
    grades: Grades
    answers: Mapping[tuple[str, str], str] = field(default_factory=dict)
    nuggets: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class GradedFile:
    """A whole file. ``way`` is how the grades were given, or None if there are none."""

    queries: Mapping[str, GradedQuery]
    way: GradingWay | None

    def runs(self) -> dict[str, Run]:
        """The runs whose rankings are in the file, by name.

        If a run ranks passages for several subtopics, the best rank of a passage counts. Ranks are
        taken to count from 0 if a list has rank 0. A passage without a rank was not shown.
        """
        found: dict[str, dict[str, Ranking]] = {}
        for query in self.queries.values():
            lists: dict[tuple[str, str], list[tuple[str, int]]] = {}
            for passage in query.passages:
                for run, subtopic, rank, _ in passage.rankings:
                    if rank is not None:
                        lists.setdefault((run, subtopic), []).append((passage.id, rank))
            best: dict[str, dict[str, int]] = {}
            for (run, _), places in lists.items():
                shift = int(min(rank for _, rank in places) == 0)
                own = best.setdefault(run, {})
                for name, rank in places:
                    own[name] = min(rank + shift, own.get(name, rank + shift))
            for run, own in best.items():
                ordered = sorted(own.items(), key=lambda item: (item[1], item[0]))
                found.setdefault(run, {})[query.query] = Ranking.at_ranks(ordered)
        return dict(sorted(found.items()))

    def judgments(self) -> Qrels | None:
        """The judgments in the file, or None; of several for a passage, the highest counts."""
        found: dict[str, dict[str, int]] = {}
        for query in self.queries.values():
            for passage in query.passages:
                if passage.judgments:
                    best = max(one.relevance for one in passage.judgments)
                    found.setdefault(query.query, {})[passage.id] = best
        return Qrels(found) if found else None

    def bank(self) -> Bank:
        """A bank of the graded questions, without their texts, for files without a bank. A query
        without grades has a single, ungraded question."""
        return Bank(
            {
                name: QueryBank(
                    name,
                    None,
                    tuple(BankQuestion(one, "") for one in query.grades.questions or (UNGRADED,)),
                )
                for name, query in self.queries.items()
                if query.passages
            }
        )


@reads_file
def read_graded(
    source: SourceText,
    faults: FaultList,
    *,
    llm: str | None = None,
    prompt: str | None = None,
    answers: bool = True,
) -> GradedFile | None:
    """Read a file of graded passages.

    ``llm`` and ``prompt`` choose among the ways of grading; if more than one is left, that is a
    fault, which lists them. Without ``answers`` the extracted answers are not kept.
    """
    rows: list[tuple[int, str, list[dict[str, Any]]]] = []
    for number, row in read_values(source, faults, "Write [query_id, [passage, …]]."):
        found = _line(number, row, faults)
        if found is not None:
            rows.append((number, *found))
    ways = _ways(rows)
    fitting = [
        way
        for way in ways
        if (llm is None or way.llm == llm) and (prompt is None or way.prompt == prompt)
    ]
    if len(fitting) > 1 or (ways and not fitting):
        listed = "; ".join(f"{way}: {n} passages" for way, n in ways.items())
        faults.error(
            0,
            f"The grades were given in {len(ways)} ways: {listed}."
            if len(fitting) > 1
            else f"No grades match; the file has {listed}.",
            "Choose by the model (llm) and the prompt's class (prompt_class).",
        )
        return None
    way = fitting[0] if fitting else None
    queries: dict[str, GradedQuery] = {}
    for number, query, passages in rows:
        if query in queries:
            faults.error(number, f"The query {quoted(query)} has two lines.", "Join them.", query)
            continue
        queries[query] = _query(number, query, passages, way, faults, keep_answers=answers)
    if not rows and not faults.faulty:
        faults.error(0, "There are no graded passages.", "Is this the right file?")
    return GradedFile(queries, way)


def _line(number: int, row: Any, faults: FaultList) -> tuple[str, list[dict[str, Any]]] | None:
    match row:
        case [str() as query, list() as passages]:
            pass
        case _:
            faults.error(
                number, "This is no [query_id, [passage, …]].", "Write one query per line."
            )
            return None
    of_query = []
    for place, passage in enumerate(passages, 1):
        if not isinstance(passage, dict) or not isinstance(passage.get("paragraph_id"), str):
            faults.error(number, f"Passage {place} has no 'paragraph_id'.", "Add it.", query)
        else:
            of_query.append(passage)
    return query, of_query


def _entry_way(entry: Any) -> GradingWay | None:
    if not isinstance(entry, dict):
        return None
    info = entry.get("prompt_info")
    prompt = info.get("prompt_class") if isinstance(info, dict) else None
    rated = bool(entry.get("self_ratings"))
    if not (rated or entry.get("correctAnswered") or entry.get("wrongAnswered")):
        return None  # the reply was unusable
    return GradingWay(str(entry.get("llm") or ""), str(prompt or ""), rated)


def _ways(rows: Iterable[tuple[int, str, list[dict[str, Any]]]]) -> dict[GradingWay, int]:
    passages = (passage for _, _, some in rows for passage in some)
    ways = (_entry_way(entry) for one in passages for entry in one.get("exam_grades") or ())
    return dict(Counter(way for way in ways if way is not None).most_common())


def _query(
    number: int,
    query: str,
    passages: list[dict[str, Any]],
    way: GradingWay | None,
    faults: FaultList,
    *,
    keep_answers: bool,
) -> GradedQuery:
    seen: set[str] = set()
    made: list[GradedPassage] = []
    columns: dict[str, int] = {}
    cells: list[tuple[int, int, int]] = []
    answers: dict[tuple[str, str], str] = {}
    unranked: list[tuple[str, str]] = []
    for passage in passages:
        identity = passage["paragraph_id"]

        def wrong(why: str, cure: str, identity: str = identity) -> None:
            faults.error(number, f"Passage {quoted(identity)}: {why}", cure, query)

        if identity in seen:
            wrong("it is listed twice.", "Keep one.")
            continue
        seen.add(identity)
        row = len(made)
        try:
            made.append(_passage(identity, passage))
            unranked += [(identity, one.run) for one in made[-1].rankings if one.rank is None]
            for entry in passage.get("exam_grades") or ():
                if way is None or _entry_way(entry) != way:
                    continue
                for question, grade in _grades(entry):
                    cells.append((row, columns.setdefault(question, len(columns)), grade))
                if keep_answers:
                    for question, answer in entry.get("answers") or ():
                        answers[identity, str(question)] = str(answer)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            wrong(f"it cannot be read ({error}).", "See the format's documentation.")
            if len(made) > row:
                made.pop()
    if unranked:
        faults.warning(
            number,
            f"{len(unranked)} places in runs have no rank, the first is that of passage "
            f"{quoted(unranked[0][0])} in run {quoted(unranked[0][1])}.",
            "In those places the passage covers nothing.",
            query,
        )
    values = np.full((len(made), len(columns)), NO_GRADE, dtype=np.int8)
    if cells:
        at, column, grade = np.array([c for c in cells if c[0] < len(made)], dtype=np.intp).T
        values[at, column] = grade
    grades = Grades(tuple(one.id for one in made), tuple(columns), values)
    return GradedQuery(query, tuple(made), grades, answers)


def _grades(entry: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    rated = entry.get("self_ratings")
    if rated:
        for one in rated:
            grade = one["self_rating"]
            if grade is None:
                continue
            name = one.get("question_id") or one.get("nugget_id")
            if isinstance(grade, bool) or not isinstance(grade, int) or not 0 <= grade <= TOP_GRADE:
                raise ValueError(f"the self-rating {grade!r} is not from 0 to {TOP_GRADE}")
            if not isinstance(name, str):
                raise ValueError("a self-rating has no question_id")
            yield name, grade
        return
    for name in entry.get("wrongAnswered") or ():
        yield str(name), 0
    for name in entry.get("correctAnswered") or ():
        yield str(name), 1


def _passage(identity: str, row: Mapping[str, Any]) -> GradedPassage:
    data = row.get("paragraph_data") or {}
    judgments = tuple(
        Judgment(str(one["query"]), int(one["relevance"]), str(one.get("titleQuery") or ""))
        for one in data.get("judgments") or ()
    )
    rankings = tuple(
        RunPlace(one["method"], one["queryId"], _rank(one.get("rank")), one.get("score"))
        for one in data.get("rankings") or ()
    )
    return GradedPassage(identity, str(row.get("text") or ""), judgments, rankings, row)


def _rank(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LAST_RANK:
        raise ValueError(f"the rank {value!r} is not a whole number from 0 to {LAST_RANK}")
    return value


def graded_lines(
    queries: Iterable[GradedQuery], *, llm: str = "", prompt: str = "", rated: bool | None = None
) -> Iterator[bytes]:
    """Graded passages as lines in the format of the workbench.

    A passage that was read keeps its record with all fields in their order; missing rankings and
    judgments are added. Unless ``rated`` is None, the grades of ``queries`` are added as a further
    way of grading, with the model ``llm`` and the prompt class ``prompt``; pairs without a grade
    are left out.
    """
    for query in queries:
        rows = [_record(query.query, passage) for passage in query.passages]
        if rated is not None:
            every = _new_entries(query, GradingWay(llm, prompt, rated))
            for record, made in zip(rows, every, strict=True):
                record["exam_grades"] = [*(record.get("exam_grades") or ()), *made]
        yield orjson.dumps([query.query, rows], option=orjson.OPT_APPEND_NEWLINE)


def _record(query: str, passage: GradedPassage) -> dict[str, Any]:
    """A passage's own record, or a new one, with missing judgments and rankings added."""
    record = dict(passage.record) or {
        "paragraph_id": passage.id,
        "text": passage.text,
        "paragraph": None,
        "paragraph_data": {"judgments": [], "rankings": []},
        "exam_grades": [],
        "grades": [],
    }
    own = _passage(passage.id, record)
    known = {(one.query, one.relevance) for one in own.judgments}
    ranked = {one[:3] for one in own.rankings}
    judgments = [
        {
            "paragraphId": passage.id,
            "query": one.query,
            "relevance": one.relevance,
            "titleQuery": one.title or query,
        }
        for one in passage.judgments
        if (one.query, one.relevance) not in known
    ]
    rankings = [
        {
            "method": one.run,
            "paragraphId": passage.id,
            "queryId": one.query,
            "rank": one.rank,
            "score": one.score,
        }
        for one in passage.rankings
        if one[:3] not in ranked
    ]
    if judgments or rankings:
        data = record.get("paragraph_data") or {}
        record["paragraph_data"] = data | {
            "judgments": [*(data.get("judgments") or ()), *judgments],
            "rankings": [*(data.get("rankings") or ()), *rankings],
        }
    return record


def _new_entries(query: GradedQuery, way: GradingWay) -> Iterator[list[dict[str, Any]]]:
    """For each passage a list with its grades as a new entry, empty if its record has the same."""
    questions, answers, nuggets = query.grades.questions, query.answers, query.nuggets
    for passage, row in zip(query.passages, query.grades.values.tolist(), strict=True):
        graded = zip(questions, row, strict=True)
        by_question = {question: grade for question, grade in graded if grade != NO_GRADE}
        entries = passage.record.get("exam_grades") or ()
        same = (_entry_way(e) == way and dict(_grades(e)) == by_question for e in entries)
        if not by_question or any(same):
            yield []
            continue
        right = [question for question, grade in by_question.items() if grade > 0]
        yield [
            {
                "correctAnswered": right,
                "wrongAnswered": [one for one, grade in by_question.items() if grade <= 0],
                "answers": [
                    [question, answers.get((passage.id, question), str(grade))]
                    for question, grade in by_question.items()
                ],
                "llm": way.llm,
                "llm_options": {},
                "exam_ratio": len(right) / len(by_question),
                "prompt_info": {"prompt_class": way.prompt, "is_self_rated": way.rated},
                "self_ratings": [
                    _rating(question, grade, question in nuggets)
                    for question, grade in by_question.items()
                ]
                if way.rated
                else None,
                "prompt_type": "nugget" if nuggets.issuperset(by_question) else "question",
            }
        ]


def _rating(question: str, grade: int, nugget: bool) -> dict[str, Any]:
    named = {"question_id": None, "nugget_id": question} if nugget else {"question_id": question}
    return {**named, "self_rating": grade}
