"""EXAM++'s own files of ``out/``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from assay.formats.exam_bank import workbench_bank
from assay.formats.exam_graded import GradedQuery, graded_lines
from assay.formats.trec_writing import format_qrels
from assay.measures.coverage import standard_error
from assay.measures.scores import Scores
from assay.model.exam import GradedPassage, Judgment, Ranked, Ranking
from assay.model.exam_grades import NO_GRADES
from assay.protocols.exam.grading import GradedPool
from assay.protocols.exam.inputs import ExamInputs, ExamSettings
from assay.protocols.exam.meta import Sweeps
from assay.protocols.exam.scoring import ExamScorer, Values
from assay.protocols.exam.supervision import (
    MISLED_COLUMNS,
    UNCOVERED_COLUMNS,
    answer_lines,
    misled,
    uncovered,
)
from assay.protocols.output import FileData, csv_lines

PACKED = {
    "workbench/question-bank.jsonl.gz": "bank.jsonl",
    "workbench/graded.jsonl.gz": "grades.jsonl",
}
"""What is compressed for the Autograder workbench."""


def own_files(
    inputs: ExamInputs,
    settings: ExamSettings,
    pool: GradedPool,
    scorer: ExamScorer,
    scores: Scores,
    values: Mapping[str, Values],
    swept: Sweeps,
) -> dict[str, FileData]:
    """Name under ``out/`` → data."""
    tau = settings.least
    files: dict[str, FileData] = {
        "qrels_binary.txt": format_qrels(scorer.judged(tau)).encode(),
        "standard_errors.csv": lambda: csv_lines(
            ("run", "measure", "value", "standard_error", "topics"),
            (
                (run, name, score.value,
                 standard_error(values[run][name].certain),
                 score.topics)
                for run, found in scores.items()
                for name, score in found.items()
            ),
        ),
    }  # fmt: skip
    if settings.grading.startswith("direct:"):
        return files
    settled = pool.graded == pool.from_file  # the file's own records say it all
    files |= {
        "bank.jsonl": workbench_bank(inputs.bank),
        "grades.jsonl": lambda: graded_lines(
            _graded(inputs, pool),
            llm=_who(inputs, pool),
            prompt=settings.grading,
            rated=None if settled else settings.grading == "self-rating",
        ),
        "answers.csv": lambda: answer_lines(inputs, pool),
    }
    if swept:
        files["sweep.csv"] = lambda: csv_lines(
            ("run", "tau", "measure", "value", "floor", "ceiling"),
            (
                (run, tau, name, mean.value, *mean)
                for run, by_tau in swept.items()
                for tau, means in by_tau.items()
                for name, mean in means.items()
            ),
        )
    if inputs.qrels is not None:
        files |= {
            "uncovered.csv": lambda: csv_lines(UNCOVERED_COLUMNS, uncovered(inputs, scorer, tau)),
            "misled.csv": lambda: csv_lines(MISLED_COLUMNS, misled(inputs, pool, tau)),
        }
    return files


def _who(inputs: ExamInputs, pool: GradedPool) -> str:
    """What stands as the model in the workbench's format: everybody whose grades are in the pool.
    labels.jsonl says which grade is whose."""
    names = list(pool.by)
    if pool.from_file and inputs.given is not None and inputs.given.way is not None:
        names.insert(0, inputs.given.way.llm or "unknown")
    return " + ".join(names) or "nobody"


def _graded(inputs: ExamInputs, pool: GradedPool) -> Iterator[GradedQuery]:
    """The pool by query, with all that the graded file holds besides, its order first."""
    given = inputs.given.queries if inputs.given is not None else {}
    for query in dict.fromkeys([*given, *pool.sheets]):
        sheet = pool.sheets.get(query)
        grades = NO_GRADES if sheet is None else sheet.grades
        known = {one.id: one for one in given[query].passages} if query in given else {}
        every = tuple(dict.fromkeys([*known, *grades.passages]))
        ranks: dict[str, list[Ranked]] = {}
        for run, rankings in inputs.runs.items() if inputs.runs_given else ():
            shown = rankings.get(query, Ranking())
            # The workbench wants a score of every place; what has none is in the same order.
            scores = shown.scores or [1.0 / rank for rank in shown.ranks]
            for name, rank, score in zip(shown.passages, shown.ranks, scores, strict=True):
                ranks.setdefault(name, []).append(Ranked(run, query, rank, score))
        judged = inputs.qrels.grades.get(query, {}) if inputs.qrels is not None else {}
        passages = tuple(
            GradedPassage(
                name,
                inputs.texts.get(name, ""),
                # Those that the qrels have, and the graded file has not.
                (Judgment(query, judged[name]),)
                if name in judged and not (name in known and known[name].judgments)
                else (),
                ranks.get(name, ()),
                known[name].record if name in known else {},
            )
            for name in every
        )
        said: dict[tuple[str, str], str] = {}
        nuggets: frozenset[str] = frozenset()
        if sheet is not None:
            said = {
                (name, question): text
                for name, texts in zip(sheet.passages, sheet.said, strict=True)
                if any(texts)
                for question, text in zip(grades.questions, texts, strict=True)
                if text
            }
            nuggets = frozenset(one.id for one in sheet.questions if one.nugget)
        yield GradedQuery(query, passages, grades.of(every), said, nuggets)
