"""Item analysis of a bank: how well each question distinguishes runs.

A question that every run answers, or none, does not distinguish runs. One that is answered by the
same passages as another asks the same thing twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from assay.measures.ranges import Range
from assay.page.parts import Part, Table
from assay.protocols.exam.scored import ScoredRuns
from assay.statistics.items import discrimination, likeness

_MOST = 300


@dataclass(frozen=True, slots=True)
class ItemAnalysis:
    """The analysis of a question: how many of the ``runs`` answer it among their first passages,
    from certainly to possibly; its ``discrimination``, the correlation over runs of answering it
    with the cover of the query's other questions (-1 to 1; None if either does not vary, or grades
    are missing); and its ``overlap``, the largest Jaccard similarity between the passages that
    answer it and those that answer ``like``, another question of the query (None if neither is
    answered)."""

    query: str
    question: str
    text: str
    runs: int
    answered: Range
    discrimination: float | None
    overlap: float | None
    like: str


def item_analysis(found: ScoredRuns) -> Iterator[ItemAnalysis]:
    """The questions of the bank, in its order."""
    every = found.scorer.by_run(found.inputs.runs, found.settings.least)
    for query, least, most, passages in every:
        questions = found.bank.questions(query)
        surely, possibly = least.sum(axis=0), most.sum(axis=0)
        certain = bool((least == most).all())
        similar = likeness(passages)
        for column, question in enumerate(questions):
            nearest = similar[column]
            best = None if np.isnan(nearest).all() else int(np.nanargmax(nearest))
            yield ItemAnalysis(
                query,
                question.id,
                question.title,
                len(least),
                Range(float(surely[column]), float(possibly[column])),
                discrimination(least, column) if certain else None,
                None if best is None else float(nearest[best]),
                "" if best is None else questions[best].id,
            )


def items_part(found: ScoredRuns) -> Part:
    """The analysis as a section of the report."""
    rows = []
    for one in item_analysis(found):
        verdict = ""
        if one.answered.ceiling == 0:
            verdict = "no run answers it"
        elif one.answered.floor == one.runs:
            verdict = "every run answers it"
        rows.append(
            (one.query, one.question, one.text, one.answered, verdict, one.discrimination,
             one.overlap, one.like)
        )  # fmt: skip
    note = (
        f"The table says how many of {len(found.inputs.runs)} runs answer each question. "
        "Discrimination is the correlation, over runs, between answering the question and covering "
        "the query's other questions. Overlap is the share of passages that answer both the "
        "question and the one most like it, among those that answer either."
    )
    columns = (
        "query", "question_id", "question", "runs that answer it", "uninformative: why",
        "discrimination", "overlap", "most like",
    )  # fmt: skip
    table = Table("Questions", columns, rows, texts=frozenset({"question"}), most=_MOST)
    return Part("What each question tells about the runs", note, (table,))
