"""Lists for the people who look after a bank: what is answered, what is not, what misleads."""

from __future__ import annotations

from assay.model.exam import Bank
from assay.model.wording import counted
from assay.page.parts import Grid, Item, Part, Table
from assay.protocols.exam.grading import Pool
from assay.protocols.exam.inputs import ExamInputs, ExamSettings
from assay.protocols.exam.scoring import ExamScorer

MOST_QUERIES = 60
"""Queries that the report shows in full."""
MOST_PASSAGES = 80
"""Rows of a query's grid."""
MOST_ANSWERS = 12
"""Answers of a question that the report shows; ``answers.csv`` holds all."""

ANSWER_COLUMNS = ("query", "question_id", "question", "passage", "grade", "judged", "answer")
UNCOVERED_COLUMNS = ("query", "passage", "judged", "label", "text")
MISLED_COLUMNS = ("query", "question_id", "question", "passage", "judged", "grade", "answer")

Row = tuple[str | int | None, ...]


def answers(inputs: ExamInputs, bank: Bank, pool: Pool) -> list[Row]:
    """Every graded pair, by query and question, the best grade first."""
    rows: list[Row] = []
    for query in bank.queries:
        for question in bank.questions(query):
            found = [
                (passage, pool.said[query, passage, question.id])
                for passage in inputs.pool[query]
                if (query, passage, question.id) in pool.said
            ]
            found.sort(key=lambda item: -item[1].grade)
            rows += [
                (query, question.id, question.text or question.id, passage, one.grade,
                 _judged(inputs, query, passage), one.said)
                for passage, one in found
            ]  # fmt: skip
    return rows


def _judged(inputs: ExamInputs, query: str, passage: str) -> int | None:
    if inputs.qrels is None:
        return None
    return inputs.qrels.grades.get(query, {}).get(passage)


def uncovered(inputs: ExamInputs, scorer: ExamScorer, tau: int) -> list[Row]:
    """Passages that were judged relevant and surely answer no question with a grade of τ."""
    rows: list[Row] = []
    for query, labels in scorer.label_ranges().items():
        for passage, label in labels.items():
            judged = _judged(inputs, query, passage)
            if judged is not None and judged >= 1 and label.ceiling < tau:
                text = inputs.texts.get(passage, "")
                rows.append((query, passage, judged, int(label.floor), text))
    return sorted(rows, key=lambda row: (str(row[0]), -int(row[2] or 0), str(row[1])))


def misled(inputs: ExamInputs, bank: Bank, pool: Pool, tau: int) -> list[Row]:
    """Questions that passages answer which were judged not relevant."""
    rows: list[Row] = []
    for query, question, text, passage, grade, judged, said in answers(inputs, bank, pool):
        if judged is not None and int(judged) <= 0 and int(grade or 0) >= tau:
            rows.append((query, question, text, passage, judged, grade, said))
    return rows


def _unknown(
    inputs: ExamInputs, bank: Bank, pool: Pool, scorer: ExamScorer, tau: int
) -> tuple[str, str]:
    """What is to be said of passages that missing grades keep from the lists of
    :func:`uncovered` and :func:`misled`."""
    relevant = other = 0
    for query, labels in scorer.label_ranges().items():
        for passage, label in labels.items():
            judged = _judged(inputs, query, passage)
            if judged is not None and judged >= 1:
                relevant += label.floor < tau <= label.ceiling
            elif judged is not None:
                other += any(
                    (query, passage, question.id) not in pool.said
                    for question in bank.questions(query)
                )
    return _unknown_words(relevant, "relevant"), _unknown_words(other, "not relevant")


def _unknown_words(count: int, judged: str) -> str:
    if not count:
        return ""
    return f" Unknown, as grades are missing: {counted(count, 'passage')} judged {judged}."


def supervision_parts(
    inputs: ExamInputs, bank: Bank, pool: Pool, scorer: ExamScorer, settings: ExamSettings
) -> tuple[Part, ...]:
    """The lists and grids as sections of the report."""
    if settings.grading.startswith("direct:"):
        return ()
    parts = []
    if inputs.qrels is not None:
        parts.append(_fit(inputs, bank, pool, scorer, settings.least))
    groups = []
    for query in scorer.queries[:MOST_QUERIES]:
        title = inputs.queries.get(query) or ""
        groups.append(
            (f"{query}: {title}" if title else query, _of_query(inputs, bank, pool, query))
        )
    more = len(scorer.queries) - len(groups)
    note = (
        "A grid of passages and questions, and the answers to each question, best first. "
        "answers.csv holds all of it."
    )
    if more > 0:
        note += f" The first {len(groups)} of {len(scorer.queries)} queries are shown."
    parts.append(Part("Grades by query", note, groups=tuple(groups)))
    return tuple(parts)


def _fit(inputs: ExamInputs, bank: Bank, pool: Pool, scorer: ExamScorer, tau: int) -> Part:
    """What of the bank does not fit the judgments, query by query."""
    uncovered_unknown, misled_unknown = _unknown(inputs, bank, pool, scorer, tau)
    lists = (
        ("Judged relevant, but no question is answered", UNCOVERED_COLUMNS, "text",
         uncovered(inputs, scorer, tau)),
        ("Questions that passages answer which were judged not relevant", MISLED_COLUMNS,
         "question", misled(inputs, bank, pool, tau)),
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
                for (title, columns, text, _), rows in zip(lists, found, strict=True)
                if rows
            ),
        )
        for query in scorer.queries
        if (found := by_query.get(query))
    ]
    counts: list[Row] = [
        (query, *(len(rows) for rows in by_query[query])) for query in scorer.queries
        if query in by_query
    ]  # fmt: skip
    unknown = f"{uncovered_unknown}{misled_unknown}"
    table = Table(
        "What does not fit, by query",
        ("query", "relevant passages that answer nothing", "answers of passages not relevant"),
        counts,
        note="What do relevant passages say that the bank does not ask for? A question that others "
        "answer may be too broad, or the judgment wrong. uncovered.csv and misled.csv hold all."
        + unknown,
        empty="Nothing that is known." if unknown else "Nothing.",
    )
    return Part("Does the bank fit the judgments?", items=(table,), groups=tuple(groups))


def _of_query(inputs: ExamInputs, bank: Bank, pool: Pool, query: str) -> tuple[Item, ...]:
    questions = bank.questions(query)
    names = tuple(f"Q{place}" for place in range(1, len(questions) + 1))
    passages = inputs.pool[query]
    best = sorted(
        passages,
        key=lambda passage: -max(
            (pool.said[query, passage, q.id].grade for q in questions
             if (query, passage, q.id) in pool.said),
            default=-1,
        ),
    )[:MOST_PASSAGES]  # fmt: skip

    def cell(passage: str, question: str) -> float | None:
        found = pool.said.get((query, passage, question))
        return None if found is None else float(found.grade)

    top = max([1, *(one.grade for one in pool.said.values())])
    grid = Grid(
        "Passages and questions",
        tuple(best),
        names,
        [[cell(passage, question.id) for question in questions] for passage in best],
        high=float(top),
        about={
            **{name: q.text or q.id for name, q in zip(names, questions, strict=True)},
            **{passage: inputs.texts.get(passage, "")[:300] for passage in best},
        },
        note=f"The best {len(best)} of {len(passages)} passages.",
    )
    tables: list[Item] = [grid]
    for name, question in zip(names, questions, strict=True):
        found = [
            (passage, pool.said[query, passage, question.id])
            for passage in passages
            if (query, passage, question.id) in pool.said
        ]
        found.sort(key=lambda item: -item[1].grade)
        rows = [(one.grade, passage, one.said) for passage, one in found if one.grade > 0]
        key = f" (key: {' | '.join(question.gold)})" if question.gold else ""
        tables.append(
            Table(
                f"{name}: {question.text or question.id}{key}",
                ("grade", "passage", "answer or reason"),
                rows,
                texts=frozenset({"answer or reason"}),
                most=MOST_ANSWERS,
            )
        )
    return tuple(tables)
