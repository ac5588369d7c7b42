"""EXAM++'s own files of ``out/``."""

from __future__ import annotations

from collections.abc import Iterator

from assay.formats.exam_bank import workbench_bank
from assay.formats.exam_graded import GradedQuery, graded_lines
from assay.formats.trec_writing import format_qrels
from assay.measures.coverage import standard_error
from assay.model.exam import GradedPassage, Judgment, Ranking, RunPlace
from assay.model.exam_grades import NO_GRADES
from assay.protocols.exam.grading import GradedPool
from assay.protocols.exam.inputs import ExamInputs, ExamSettings
from assay.protocols.exam.scored import ScoredRuns
from assay.protocols.exam.supervision import (
    ANSWER_COLUMNS,
    MISLED_COLUMNS,
    UNCOVERED_COLUMNS,
    answer_rows,
    misled,
    uncovered,
)
from assay.protocols.output import FileData, csv_lines

PACKED = {
    "workbench/question-bank.jsonl.gz": "bank.jsonl",
    "workbench/graded.jsonl.gz": "grades.jsonl",
}
"""The files that are compressed for the Autograder workbench."""


def command(settings: ExamSettings) -> str:
    """The command that reproduces EXAM-Cover from the files."""
    topics = "all" if settings.silent == "zero" else "answered"
    return (
        f"assay exam grades.jsonl --bank bank.jsonl --tau {settings.least} -k {settings.k} "
        f"--denominator {settings.denominator} --topics {topics}"
    )


def own_files(found: ScoredRuns) -> dict[str, FileData]:
    """Name under ``out/`` → data."""
    inputs, settings, pool = found.inputs, found.settings, found.pool
    files: dict[str, FileData] = {
        "qrels_binary.txt": format_qrels(found.scorer.judged(settings.least)).encode(),
        "standard_errors.csv": lambda: csv_lines(
            ("run", "measure", "value", "standard_error", "topics"),
            (
                (run, name, score.value,
                 standard_error(found.values[run][name].certain),
                 score.topics)
                for run, own in found.scores.items()
                for name, score in own.items()
            ),
        ),
    }  # fmt: skip
    if settings.is_direct:
        return files
    settled = pool.graded == pool.from_file  # the file's own records are complete
    files |= {
        "bank.jsonl": workbench_bank(inputs.bank),
        "grades.jsonl": lambda: graded_lines(
            _graded(inputs, pool),
            llm=_who(inputs, pool),
            prompt=settings.grading,
            rated=None if settled else settings.grading == "self-rating",
        ),
        "answers.csv": lambda: csv_lines(ANSWER_COLUMNS, answer_rows(found)),
    }
    if found.swept:
        files["sweep.csv"] = lambda: csv_lines(
            ("run", "tau", "measure", "value", "floor", "ceiling"),
            (
                (run, tau, name, mean.value, *mean)
                for run, by_tau in found.swept.items()
                for tau, means in by_tau.items()
                for name, mean in means.items()
            ),
        )
    if inputs.qrels is not None:
        files |= {
            "uncovered.csv": lambda: csv_lines(UNCOVERED_COLUMNS, uncovered(found)),
            "misled.csv": lambda: csv_lines(MISLED_COLUMNS, misled(found)),
        }
    return files


def _who(inputs: ExamInputs, pool: GradedPool) -> str:
    """The model in the workbench's format: everybody whose grades are in the pool. labels.jsonl
    says whose each grade is."""
    names = list(pool.by)
    if pool.from_file and inputs.given is not None and inputs.given.way is not None:
        names.insert(0, inputs.given.way.llm or "unknown")
    return " + ".join(names) or "nobody"


def _graded(inputs: ExamInputs, pool: GradedPool) -> Iterator[GradedQuery]:
    """The pool by query, with everything else in the graded file, whose order comes first."""
    given = inputs.given.queries if inputs.given is not None else {}
    for query in dict.fromkeys([*given, *pool.sheets]):
        sheet = pool.sheets.get(query)
        grades = NO_GRADES if sheet is None else sheet.grades
        known = {one.id: one for one in given[query].passages} if query in given else {}
        every = tuple(dict.fromkeys([*known, *grades.passages]))
        ranks: dict[str, list[RunPlace]] = {}
        for run, rankings in inputs.runs.items() if inputs.runs_given else ():
            shown = rankings.get(query, Ranking())
            # The workbench requires scores; those made up here keep the order.
            scores = shown.scores or [1.0 / rank for rank in shown.ranks]
            for name, rank, score in zip(shown.passages, shown.ranks, scores, strict=True):
                ranks.setdefault(name, []).append(RunPlace(run, query, rank, score))
        judged = inputs.qrels.grades.get(query, {}) if inputs.qrels is not None else {}
        passages = tuple(
            GradedPassage(
                name,
                inputs.texts.get(name, ""),
                # Judgments in the qrels that the graded file lacks.
                (Judgment(query, judged[name]),)
                if name in judged and not (name in known and known[name].judgments)
                else (),
                ranks.get(name, ()),
                known[name].record if name in known else {},
            )
            for name in every
        )
        answers: dict[tuple[str, str], str] = {}
        nuggets: frozenset[str] = frozenset()
        if sheet is not None:
            answers = {
                (name, question): text
                for name, texts in zip(sheet.passages, sheet.said, strict=True)
                if any(texts)
                for question, text in zip(grades.questions, texts, strict=True)
                if text
            }
            nuggets = frozenset(one.id for one in sheet.questions if one.nugget)
        yield GradedQuery(query, passages, grades.of(every), answers, nuggets)
