"""Lists for maintainers of a bank: which questions are answered, unanswered, or misleading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from assay.measures.arrays import Bools
from assay.model.exam import BankQuestion
from assay.model.exam_grades import NO_GRADE
from assay.model.wording import counted
from assay.page.parts import Grid, Item, Part, Table
from assay.protocols.exam.grading import GradeSheet
from assay.protocols.exam.inputs import ExamInputs
from assay.protocols.exam.scored import ScoredRuns

MOST_PASSAGES = 80
"""Most rows in a query's grid."""
MOST_ANSWERS = 12
"""Most answers to a question in the report; ``answers.csv`` has all."""

ANSWER_COLUMNS = ("query", "question_id", "question", "passage", "grade", "judged", "answer")
UNCOVERED_COLUMNS = ("query", "passage", "judged", "label", "text")
MISLED_COLUMNS = ("query", "question_id", "question", "passage", "judged", "grade", "answer")

Row = tuple[str | int | None, ...]


def answer_rows(found: ScoredRuns) -> Iterator[Row]:
    """Every graded pair, by query and question, the best grade first."""
    for sheet in found.pool.sheets.values():
        judged = _judgments(found, sheet.query)
        for question, answers in _answers(sheet, sheet.grades.values != NO_GRADE):
            about = (sheet.query, question.id, question.title)
            for row, grade, answer in answers:
                passage = sheet.passages[row]
                yield (*about, passage, grade, judged.get(passage), answer)


def _answers(
    sheet: GradeSheet, which: Bools
) -> Iterator[tuple[BankQuestion, list[tuple[int, int, str]]]]:
    """Row, grade and answer of the marked pairs, by question, the best grade first."""
    texts, grades = sheet.said, sheet.grades.values.tolist()
    by_question = zip(sheet.questions, _best_first(sheet, which), strict=True)
    for column, (question, rows) in enumerate(by_question):
        yield question, [(row, grades[row][column], texts[row][column]) for row in rows]


def _best_first(sheet: GradeSheet, which: Bools) -> Iterator[list[int]]:
    """For each question, the rows of the marked pairs, the best grade first."""
    for grades, some in zip(sheet.grades.values.T, which.T, strict=True):
        order = np.argsort(-grades, kind="stable")
        yield order[some[order]].tolist()


def _judgments(found: ScoredRuns, query: str) -> Mapping[str, int]:
    qrels = found.inputs.qrels
    return {} if qrels is None else qrels.grades.get(query, {})


def uncovered(found: ScoredRuns) -> list[Row]:
    """Passages judged relevant that certainly answer no question with a grade of τ."""
    rows: list[Row] = []
    for query, labels in found.scorer.label_ranges():
        judgments = _judgments(found, query)
        for passage, label in labels.items():
            judged = judgments.get(passage, 0)
            if judged >= 1 and label.ceiling < found.settings.least:
                text = found.inputs.texts.get(passage, "")
                rows.append((query, passage, judged, int(label.floor), text))
    return sorted(rows, key=lambda row: (str(row[0]), -int(row[2] or 0), str(row[1])))


def misled(found: ScoredRuns) -> list[Row]:
    """Questions answered by passages that were judged not relevant."""
    rows: list[Row] = []
    for sheet in found.pool.sheets.values():
        judged = _judgments(found, sheet.query)
        other = np.array([judged.get(one, 1) <= 0 for one in sheet.passages], np.bool_)
        which = (sheet.grades.values >= found.settings.least) & other[:, None]
        if which.any():
            rows += [
                (sheet.query, question.id, question.title, passage, judged[passage], grade, answer)
                for question, answers in _answers(sheet, which)
                for row, grade, answer in answers
                for passage in [sheet.passages[row]]
            ]
    return rows


def _unknown(found: ScoredRuns) -> str:
    """A note on passages that missing grades keep out of :func:`uncovered` and :func:`misled`."""
    tau, relevant, other = found.settings.least, 0, 0
    for query, labels in found.scorer.label_ranges():
        judgments = _judgments(found, query)
        lacking = (found.pool.sheets[query].grades.values == NO_GRADE).any(axis=1).tolist()
        for (passage, label), lacks in zip(labels.items(), lacking, strict=True):
            judged = judgments.get(passage)
            if judged is not None and judged >= 1:
                relevant += label.floor < tau <= label.ceiling
            elif judged is not None:
                other += lacks
    return "".join(
        f" Unknown, as grades are missing: {counted(count, 'passage')} judged {judged}."
        for count, judged in ((relevant, "relevant"), (other, "not relevant"))
        if count
    )


def supervision_parts(found: ScoredRuns) -> Iterator[Part]:
    """The lists and grids as sections of the report."""
    inputs, pool = found.inputs, found.pool
    if inputs.qrels is not None:
        yield _fit(found)
    top = max([1, *(int(one.grades.values.max(initial=1)) for one in pool.sheets.values())])
    note = (
        "A grid of passages and questions, and the answers to each question, best first. "
        "answers.csv holds all of them."
    )
    texts = {query: inputs.queries.get(query) or "" for query in found.scorer.queries}

    def items(query: str) -> tuple[Item, ...]:
        return _of_query(inputs, pool.sheets[query], top)

    yield Part.by_topic("Grades by query", note, texts, items)


def _fit(found: ScoredRuns) -> Part:
    """Where the bank does not fit the judgments, query by query."""
    lists = (
        ("Judged relevant, but no question is answered", UNCOVERED_COLUMNS, "text",
         uncovered(found)),
        ("Questions answered by passages that were judged not relevant", MISLED_COLUMNS,
         "question", misled(found)),
    )  # fmt: skip
    by_query: dict[str, list[list[Row]]] = {}
    for place, (_, _, _, rows) in enumerate(lists):
        for row in rows:
            by_query.setdefault(str(row[0]), [[] for _ in lists])[place].append(row)
    groups = [
        (
            query,
            tuple(
                Table(title, columns, rows, texts=frozenset({text, "answer"}), most=MOST_PASSAGES)
                for (title, columns, text, _), rows in zip(lists, own, strict=True)
                if rows
            ),
        )
        for query in found.scorer.queries
        if (own := by_query.get(query))
    ]
    counts: list[Row] = [
        (query, *(len(rows) for rows in by_query[query])) for query in found.scorer.queries
        if query in by_query
    ]  # fmt: skip
    unknown = _unknown(found)
    table = Table(
        "Mismatches by query",
        ("query", "relevant passages that answer nothing", "answers of passages not relevant"),
        counts,
        note="Relevant passages that answer nothing may say what the bank does not ask for. If "
        "passages that are not relevant answer a question, it may be too broad, or the judgment "
        "wrong. uncovered.csv and misled.csv list all of them." + unknown,
        empty="None known." if unknown else "Nothing.",
    )
    return Part("Does the bank fit the judgments?", items=(table,), groups=tuple(groups))


def _of_query(inputs: ExamInputs, sheet: GradeSheet, top: int) -> tuple[Item, ...]:
    questions, passages, answers = sheet.questions, sheet.passages, sheet.said
    names = tuple(f"Q{place}" for place in range(1, len(questions) + 1))
    grades = sheet.grades.values
    order = np.argsort(-grades.max(axis=1, initial=NO_GRADE), kind="stable")
    best = order[:MOST_PASSAGES].tolist()
    grid = Grid(
        "Passages and questions",
        tuple(passages[row] for row in best),
        names,
        [
            [None if grade == NO_GRADE else float(grade) for grade in row]
            for row in grades[best].tolist()
        ],
        high=float(top),
        about={
            **{name: q.title for name, q in zip(names, questions, strict=True)},
            **{passages[row]: inputs.texts.get(passages[row], "")[:300] for row in best},
        },
        note=f"The best {len(best)} of {len(passages)} passages.",
    )
    tables: list[Item] = [grid]
    best_first = _best_first(sheet, grades > 0)
    for column, (rows, question) in enumerate(zip(best_first, questions, strict=True)):
        key = f" (key: {' | '.join(question.gold)})" if question.gold else ""
        tables.append(
            Table(
                f"{names[column]}: {question.title}{key}",
                ("grade", "passage", "answer or reason"),
                [(int(grades[row, column]), passages[row], answers[row][column]) for row in rows],
                texts=frozenset({"answer or reason"}),
                most=MOST_ANSWERS,
            )
        )
    return tuple(tables)
