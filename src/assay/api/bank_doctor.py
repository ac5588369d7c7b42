"""What a question bank does for its leaderboard, question by question, and what to mend first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.api.bank import items_of
from assay.api.opened import Opened
from assay.measures.ranges import Range
from assay.model.errors import SettingsError
from assay.model.wording import counted, quoted
from assay.protocols.exam.inputs import ExamInputs, ExamSettings
from assay.protocols.exam.items import ItemAnalysis
from assay.protocols.exam.meta import official_scores
from assay.protocols.exam.protocol import Scored
from assay.protocols.exam.supervision import misled, uncovered
from assay.statistics.correlation import kendall_tau

COLUMNS = (
    "query", "question_id", "question", "runs", "answered_floor", "answered_ceiling",
    "discrimination", "overlap", "most_like", "decides", "tau_without", "misleads", "proposal",
    "why",
)  # fmt: skip

SAME = 0.9
"""Overlap from which two questions ask the same."""

Booleans = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A question, or (without an id) a query that lacks one.

    ``answered`` is by how many of the ``runs``; ``decides`` the pairs of runs whose order on the
    query is another without the question, None where grades are missing; ``tau_without`` how much
    Kendall's τ-b with the official leaderboard changes when it is left out, None without one;
    ``misleads`` the passages judged not relevant that answer it, None without judgments;
    ``proposal`` is drop, reword, add or nothing.
    """

    query: str
    question_id: str
    question: str
    runs: int
    answered: Range | None
    discrimination: float | None
    overlap: float | None
    most_like: str
    decides: int | None
    tau_without: float | None
    misleads: int | None
    proposal: str
    why: str

    def row(self) -> tuple[object, ...]:
        """The cells under :data:`COLUMNS`."""
        ends = (None, None) if self.answered is None else tuple(map(int, self.answered))
        cells = {**asdict(self), "answered_floor": ends[0], "answered_ceiling": ends[1]}
        return tuple(cells[name] for name in COLUMNS)


@dataclass(frozen=True, slots=True)
class Doctor:
    """All questions in the bank's order, and what is proposed, what settles most first. ``tau`` is
    the whole leaderboard's τ-b with the official one, None where there is none."""

    questions: Sequence[Diagnosis]
    proposals: Sequence[Diagnosis]
    tau: float | None

    def of(self, query: str | None) -> Doctor:
        """What concerns one query (None: all). Raises SettingsError for one that is not there."""
        if query is None:
            return self
        if not any(one.query == query for one in (*self.questions, *self.proposals)):
            raise SettingsError(f"The bank has no query {quoted(query)} with questions.")
        return Doctor(
            [one for one in self.questions if one.query == query],
            [one for one in self.proposals if one.query == query],
            self.tau,
        )

    def rows(self) -> Iterator[tuple[object, ...]]:
        """The cells under :data:`COLUMNS`: every question, then what is to be added."""
        yield from (one.row() for one in self.questions)
        yield from (one.row() for one in self.proposals if not one.question_id)

    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "tau": self.tau,
            "questions": [dict(zip(COLUMNS, one.row(), strict=True)) for one in self.questions],
            "proposals": [dict(zip(COLUMNS, one.row(), strict=True)) for one in self.proposals],
        }


def examine(folder: Path, *, policy: str | None, labeller: str | None) -> Doctor:
    """Look at the bank of an evaluation folder by the labels that it has; asks nobody. Raises
    SettingsError where the folder asks no questions, and FormatError with all faults."""
    opened = Opened.open(folder, policy=policy, labeller=labeller)
    if "exam" not in opened.parts:
        raise SettingsError("This folder has no question bank: its protocol is not exam.")
    part = opened.parts["exam"]
    exists = opened.folder.has_ledger()  # a file of graded passages needs none
    with opened.ledger() if exists else nullcontext() as ledger:
        result = opened.score(ledger).by_protocol["exam"]
        items = items_of(part, result)
        found, inputs, settings = result.findings.detail, part.inputs, part.settings
    if not (
        items
        and isinstance(found, Scored)
        and isinstance(inputs, ExamInputs)
        and isinstance(settings, ExamSettings)
    ):
        raise SettingsError("This folder's grading asks no exam questions: there is no bank.")
    board = _Board(inputs, found, settings)
    misleading: Counter[tuple[object, object]] | None = None
    lacking: Counter[object] = Counter()
    if inputs.qrels is not None:
        rows = misled(inputs, found.pool, settings.least)
        misleading = Counter((row[0], row[1]) for row in rows)
        lacking = Counter(row[0] for row in uncovered(inputs, found.scorer, settings.least))
    questions = []
    earlier = set()
    for one in items:
        misleads = None if misleading is None else misleading[one.query, one.question]
        repeats = (one.query, one.like) in earlier  # of two that ask the same the first one stays
        questions.append(_diagnosed(one, board, misleads, repeats=repeats))
        earlier.add((one.query, one.question))
    wanted = [one for one in questions if one.proposal]
    wanted += _lacking(board, lacking)
    wanted.sort(key=lambda one: -(one.decides or 0))
    return Doctor(questions, wanted, board.tau)


class _Board:
    """EXAM-Cover by query and run, and what it is without a question."""

    def __init__(self, inputs: ExamInputs, found: Scored, settings: ExamSettings) -> None:
        self.runs = tuple(inputs.runs)
        self.queries: dict[str, Booleans] = {}
        """Which questions (columns) that are asked each run answers; of certain queries only."""
        self.columns: dict[str, dict[str, int]] = {}
        covers, counts = [], []
        scorer = found.scorer
        for query, least, most, _ in scorer.by_run(inputs.runs, settings.least):
            asked = scorer.asked(query)
            names = [one.id for one in found.bank.questions(query)]
            kept = [name for name, is_asked in zip(names, asked, strict=True) if is_asked]
            self.columns[query] = {name: place for place, name in enumerate(kept)}
            if (least == most).all():
                self.queries[query] = least[:, asked]
            covers.append(least[:, asked].mean(axis=1) if len(kept) else np.zeros(len(self.runs)))
            counts.append(
                [
                    settings.silent == "zero" or bool(inputs.runs[run].get(query))
                    for run in self.runs
                ]
            )
        self._place = {query: place for place, query in enumerate(self.columns)}
        self._covers, self._counts = np.array(covers), np.array(counts)
        official = official_scores(inputs)
        self._known = [place for place, run in enumerate(self.runs) if run in official]
        self._official = np.array([official[self.runs[place]] for place in self._known])
        self._certain = len(self.queries) == len(self.columns)
        self.tau = self._tau(self._covers, self._counts)

    def _tau(self, covers: npt.NDArray[np.float64], counts: Booleans) -> float | None:
        if len(self._known) < 2 or not self._certain:
            return None
        queries = counts.sum(axis=0)
        means = np.divide((covers * counts).sum(axis=0), queries, where=queries > 0,
                          out=np.zeros(len(queries)))  # fmt: skip
        return kendall_tau(means[self._known], self._official)

    def tau_without(self, query: str, question: str) -> float | None:
        """How much τ-b changes where a question is left out (with its query, if it is alone)."""
        if self.tau is None or question not in self.columns[query]:
            return None
        answered, place = self.queries[query], self._place[query]
        covers, counts = self._covers.copy(), self._counts.copy()
        if answered.shape[1] == 1:
            counts[place] = False
        else:
            covers[place] = np.delete(answered, self.columns[query][question], axis=1).mean(axis=1)
        left = self._tau(covers, counts)
        return None if left is None else left - self.tau

    def decides(self, query: str, question: str) -> int | None:
        """Pairs of runs whose order on the query is another without the question."""
        if query not in self.queries or question not in self.columns[query]:
            return None
        answered = self.queries[query]
        whole = answered.sum(axis=1)
        rest = whole - answered[:, self.columns[query][question]]
        return int(np.triu(_order(whole) != _order(rest)).sum())

    def tied(self, query: str) -> int | None:
        """Pairs of runs that the query does not tell apart."""
        if query not in self.queries:
            return None
        return int(np.triu(_order(self.queries[query].sum(axis=1)) == 0, 1).sum())


def _order(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Of every two runs which is the better one: 1, 0 or -1."""
    return np.asarray(np.sign(counts[:, None] - counts[None, :]))


def _diagnosed(
    one: ItemAnalysis, board: _Board, misleads: int | None, *, repeats: bool
) -> Diagnosis:
    proposal, why = _proposed(one, misleads, repeats=repeats)
    return Diagnosis(
        one.query,
        one.question,
        one.text,
        one.runs,
        one.answered,
        one.discrimination,
        one.overlap,
        one.like,
        board.decides(one.query, one.question),
        board.tau_without(one.query, one.question),
        misleads,
        proposal,
        why,
    )


def _proposed(one: ItemAnalysis, misleads: int | None, *, repeats: bool) -> tuple[str, str]:
    if one.answered.ceiling == 0:
        return "reword", "no run answers it: it tells no run from another"
    if one.answered.floor == one.runs:
        return "drop", "every run answers it: it tells no run from another"
    if repeats and one.overlap is not None and one.overlap >= SAME:
        return "drop", f"{one.like} is answered by the same passages (overlap {one.overlap:.2f})"
    if one.discrimination is not None and one.discrimination < 0:
        return "reword", "the runs that answer it are those that answer fewer of the others"
    if misleads:
        many = counted(misleads, "passage")
        return "reword", f"{many} judged not relevant {'answers' if misleads == 1 else 'answer'} it"
    return "", ""


def _lacking(board: _Board, uncovered_by: Mapping[object, int]) -> Iterator[Diagnosis]:
    """Queries that another question would help: relevant passages answer none, or runs are tied."""
    for query in board.columns:
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
                query, "", "", len(board.runs), None, None, None, "", tied, None, None,
                "add", "; ".join(why),
            )  # fmt: skip
