"""Diagnosis of a question bank: each question's effect on the leaderboard, and what to fix
first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.api.bank import item_analyses
from assay.api.items_examined import EFFECT_COLUMNS, PROPOSAL_COLUMNS, SAME, Examination, Examined
from assay.api.opened import Opened
from assay.measures.ranges import Range
from assay.model.errors import SettingsError
from assay.model.wording import counted, quoted
from assay.protocols.exam.agreement import official_scores as official_of
from assay.protocols.exam.items import ItemAnalysis
from assay.protocols.exam.scored import ScoredRuns
from assay.protocols.exam.supervision import misled, uncovered
from assay.statistics.items import ItemBoard, TopicItems, official_scores

COLUMNS = (
    "query", "question_id", "question", "runs", "answered_floor", "answered_ceiling",
    "discrimination", "overlap", "most_like", *EFFECT_COLUMNS, "misleads", *PROPOSAL_COLUMNS,
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Diagnosis(Examined):
    """A question, or (without an id) a query that needs one. ``answered`` counts the ``runs`` that
    answer it; ``misleads`` counts the passages judged not relevant that answer it, or is None
    without judgments; ``proposal`` is drop, reword, add or empty."""

    COLUMNS = COLUMNS

    query: str
    question_id: str = ""
    question: str = ""
    runs: int
    answered: Range | None = None
    misleads: int | None = None


def examine(
    folder: Path, query: str | None, *, policy: str | None, labeller: str | None
) -> Examination[Diagnosis]:
    """Examine the bank of an evaluation folder, or one query of it, using existing labels only.
    Raises SettingsError if the folder has no exam questions or the bank no such query, and
    FormatError with all faults."""
    opened = Opened.open(folder, policy=policy, labeller=labeller)
    if "exam" not in opened.parts:
        raise SettingsError("This folder has no question bank: its protocol is not exam.")
    with opened.ledger_if_any() as ledger:  # a file of graded passages needs no ledger
        result = opened.quick().score(ledger).by_protocol["exam"]
        items, found = item_analyses(result), result.findings.detail
    if not items or not isinstance(found, ScoredRuns):
        raise SettingsError("This folder's grading asks no exam questions, so there is no bank.")
    board, columns = _board(found)
    misleading: Counter[tuple[object, object]] | None = None
    lacking: Counter[object] = Counter()
    if found.inputs.qrels is not None:
        rows = misled(found)
        misleading = Counter((row[0], row[1]) for row in rows)
        lacking = Counter(row[0] for row in uncovered(found))
    questions = []
    earlier = set()
    for one in items:
        misleads = None if misleading is None else misleading[one.query, one.question]
        repeats = (
            one.query,
            one.like,
        ) in earlier  # of two questions that ask the same, the first stays
        earlier.add((one.query, one.question))
        proposal, why = _proposed(one, misleads, repeats=repeats)
        decides = tau = settles = None
        column = columns[one.query].get(one.question)
        if column is not None:  # the question is active
            decides = board.decides(one.query, column)
            tau = board.tau_without(one.query, column)
            if proposal:
                settles = board.settles(one.query, column, goes=proposal == "drop")
        questions.append(
            Diagnosis(
                query=one.query,
                question_id=one.question,
                question=one.text,
                runs=one.runs,
                answered=one.answered,
                discrimination=one.discrimination,
                overlap=one.overlap,
                most_like=one.like,
                decides=decides,
                tau_without=tau,
                misleads=misleads,
                proposal=proposal,
                settles=settles,
                why=why,
            )
        )
    more = _lacking(board, columns, len(found.inputs.runs), lacking)
    wanted = Diagnosis.first_settled([*questions, *more])
    if query is not None:
        questions = [one for one in questions if one.query == query]
        wanted = [one for one in wanted if one.query == query]
        if not questions and not wanted:
            raise SettingsError(f"The bank has no query {quoted(query)} with questions.")
    return Examination("questions", questions, wanted, board.tau)


_Columns = Mapping[str, Mapping[str, int]]
"""Position of each active question in its query."""


def _board(found: ScoredRuns) -> tuple[ItemBoard, _Columns]:
    """EXAM-Cover by query and run."""
    inputs, settings = found.inputs, found.settings
    topics: dict[str, TopicItems] = {}
    columns = {}
    for query, least, most, _ in found.scorer.by_run(inputs.runs, settings.least):
        asked = found.scorer.asked(query)
        names = [one.id for one in found.bank.questions(query)]
        asked_names = [name for name, is_asked in zip(names, asked, strict=True) if is_asked]
        columns[query] = {name: place for place, name in enumerate(asked_names)}
        values = np.where(least == most, least, np.nan)[:, asked]
        counts = [settings.silent == "zero" or bool(run.get(query)) for run in inputs.runs.values()]
        topics[query] = TopicItems(values, np.array(counts))
    official = official_scores(list(inputs.runs), official_of(inputs))
    return ItemBoard(topics, official), columns


def _proposed(one: ItemAnalysis, misleads: int | None, *, repeats: bool) -> tuple[str, str]:
    if one.answered.ceiling == 0:
        return "reword", "no run answers it, so it does not distinguish runs"
    if one.answered.floor == one.runs:
        return "drop", "every run answers it, so it does not distinguish runs"
    if repeats and one.overlap is not None and one.overlap >= SAME:
        return "drop", f"{one.like} is answered by the same passages (overlap {one.overlap:.2f})"
    if one.discrimination is not None and one.discrimination < 0:
        return "reword", "the runs that answer it are those that answer fewer of the others"
    if misleads:
        many = counted(misleads, "passage")
        return "reword", f"{many} judged not relevant {'answers' if misleads == 1 else 'answer'} it"
    return "", ""


def _lacking(
    board: ItemBoard, queries: Iterable[str], runs: int, uncovered_by: Mapping[object, int]
) -> Iterator[Diagnosis]:
    """Queries that another question would help: no question is answered by a relevant passage, or
    runs are tied."""
    for query in queries:
        tied, many = board.tied(query), uncovered_by.get(query, 0)
        why = []
        if many:
            why.append(
                f"{counted(many, 'passage')} judged relevant "
                f"{'answers' if many == 1 else 'answer'} no question"
            )
        if tied:
            why.append(f"{counted(tied, 'pair')} of runs tied")
        if why:
            yield Diagnosis(
                query=query, runs=runs, decides=tied, tau_without=None, proposal="add",
                settles=board.settles(query, None, goes=False), why="; ".join(why),
            )  # fmt: skip
