"""Diagnose what each nugget of a topic does for a leaderboard, from files of assignments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.api.items_examined import EFFECT_COLUMNS, PROPOSAL_COLUMNS, SAME, Examination, Examined
from assay.api.label_scores import read_labelled_answers
from assay.api.reading import Note, used
from assay.formats.score_tables import read_scores
from assay.formats.trec_rag_nuggets import read_assignments
from assay.measures.ranges import Range
from assay.model.trec_rag import ASSIGNMENT_VALUE
from assay.model.wording import counted
from assay.protocols.label_sheets import NuggetTable, nugget_tables
from assay.statistics.items import (
    ItemBoard,
    TopicItems,
    discrimination,
    likeness,
    official_scores,
)

COLUMNS = (
    "topic", "nugget", "importance", "answers", "stated_floor", "stated_ceiling", "discrimination",
    "overlap", "most_like", *EFFECT_COLUMNS, *PROPOSAL_COLUMNS,
)  # fmt: skip

_FEW = 3
"""Of fewer answers that state either, an overlap says nothing."""


@dataclass(frozen=True, kw_only=True)
class NuggetDiagnosis(Examined):
    """A nugget, or (without a text) a topic that lacks one, with the number of ``answers`` that
    state it in full or in part, from certainly to possibly. ``proposal`` is drop, merge, add or
    nothing."""

    COLUMNS = COLUMNS

    topic: str
    nugget: str = ""
    importance: str | None = None
    answers: int
    stated: Range | None = None


def examine_nuggets(
    files: Sequence[Path], official: Path | None, score: str | None, note: Note
) -> Examination[NuggetDiagnosis]:
    """Examine the nuggets assigned to answers. The leaderboard is by the mean over topics of the
    mean value of nuggets (``all``), where a missing answer counts 0. ``official`` is a table of
    other scores of the runs. Raises FormatError with all faults."""
    tables = nugget_tables(read_labelled_answers(files, read_assignments, note))
    runs = list(dict.fromkeys(run for table in tables for run in table.runs))
    known = {} if official is None else used(read_scores(official, score), note).run_scores()
    topics: dict[str, TopicItems] = {}
    mine: dict[str, NuggetTable] = {}
    for table in tables:
        if table.topic in mine:
            note(
                f"Topic {table.topic}: answers were assessed by different nuggets; those of the "
                "first are used."
            )
            continue
        mine[table.topic] = table
        values = np.zeros((len(runs), len(table.nuggets)))
        for run, row in zip(table.runs, table.values, strict=True):
            values[runs.index(run)] = row
        topics[table.topic] = TopicItems(values, np.ones(len(runs), bool))
    worths = len(set(ASSIGNMENT_VALUE.values()))
    board = ItemBoard(topics, official_scores(runs, known), worths)
    found = [one for topic, table in mine.items() for one in _of_topic(topic, table, topics, board)]
    proposals = NuggetDiagnosis.first_settled([*found, *_lacking(topics, board)])
    return Examination("nuggets", found, proposals, board.tau)


def _lacking(topics: dict[str, TopicItems], board: ItemBoard) -> Iterator[NuggetDiagnosis]:
    """Topics that need another nugget because runs are tied."""
    for topic, one in topics.items():
        if tied := board.tied(topic):
            yield NuggetDiagnosis(
                topic=topic,
                answers=len(one.values),
                decides=tied,
                tau_without=None,
                proposal="add",
                settles=board.settles(topic, None, goes=False),
                why=f"{counted(tied, 'pair')} of runs tied",
            )


def _of_topic(
    topic: str, table: NuggetTable, topics: dict[str, TopicItems], board: ItemBoard
) -> Iterator[NuggetDiagnosis]:
    values = topics[topic].values
    stated, unknown = np.nan_to_num(values) > 0, np.isnan(values)
    similar = likeness(stated)
    for column, nugget in enumerate(table.nuggets):
        nearest = similar[column]
        best = None if np.isnan(nearest).all() else int(np.nanargmax(nearest))
        overlap = None
        if best is not None and (stated[:, column] | stated[:, best]).sum() >= _FEW:
            overlap = float(nearest[best])
        surely, possibly = int(stated[:, column].sum()), int((stated | unknown)[:, column].sum())
        like = "" if overlap is None or best is None else table.nuggets[best].text
        proposal, why = "", ""
        if possibly == 0:
            proposal, why = "drop", "no answer states it, so it does not distinguish runs"
        elif surely == len(values) and (values[:, column] == values[0, column]).all():
            proposal, why = "drop", "every answer states it, so it does not distinguish runs"
        elif best is not None and best < column and overlap is not None and overlap >= SAME:
            proposal, why = "merge", f"the same answers state “{like}” (overlap {overlap:.2f})"
        yield NuggetDiagnosis(
            topic=topic,
            nugget=nugget.text,
            importance=None if nugget.importance is None else str(nugget.importance),
            answers=len(values),
            stated=Range(surely, possibly),
            discrimination=None if unknown.any() else discrimination(values, column),
            overlap=overlap,
            most_like=like,
            decides=board.decides(topic, column),
            tau_without=board.tau_without(topic, column),
            proposal=proposal,
            settles=board.settles(topic, column, goes=True) if proposal else None,
            why=why,
        )
