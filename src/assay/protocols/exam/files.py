"""EXAM++'s own files of ``out/``."""

from __future__ import annotations

from collections.abc import Mapping

from assay.formats.exam_bank import packed, write_bank
from assay.formats.exam_graded import GradedQuery, graded_lines
from assay.formats.trec import format_qrels
from assay.measures.coverage import NO_GRADE, standard_error
from assay.model.exam import Bank, GradedPassage, Judgment, Ranked
from assay.protocols.exam.grading import Pool
from assay.protocols.exam.inputs import ExamInputs, ExamSettings
from assay.protocols.exam.meta import Sweeps, means
from assay.protocols.exam.scoring import ExamScorer, Values
from assay.protocols.exam.supervision import (
    ANSWER_COLUMNS,
    MISLED_COLUMNS,
    UNCOVERED_COLUMNS,
    answers,
    misled,
    uncovered,
)
from assay.protocols.output import csv_bytes
from assay.protocols.results import Scores


def own_files(
    inputs: ExamInputs,
    settings: ExamSettings,
    bank: Bank,
    pool: Pool,
    scorer: ExamScorer,
    scores: Scores,
    values: Mapping[str, Values],
    swept: Sweeps,
) -> dict[str, bytes]:
    """Name under ``out/`` → bytes."""
    files = {
        "qrels.txt": format_qrels(scorer.judged()).encode(),
        "qrels_binary.txt": format_qrels(scorer.judged(settings.least)).encode(),
        "standard_errors.csv": csv_bytes(
            ("run", "measure", "value", "standard_error", "topics"),
            (
                (run, name, score.value,
                 standard_error([v for v in values[run][name].values() if v is not None]),
                 score.topics)
                for run, found in scores.items()
                for name, score in found.items()
            ),
        ),
    }  # fmt: skip
    if settings.grading.startswith("direct:"):
        return files
    graded = b"".join(
        graded_lines(
            _graded(inputs, pool),
            llm=_who(inputs, pool),
            prompt=settings.grading,
            rated=settings.grading == "self-rating",
        )
    )
    written = write_bank(inputs.bank)
    files |= {
        "bank.jsonl": written,
        "grades.jsonl": graded,
        "workbench/question-bank.jsonl.gz": packed(written),
        "workbench/graded.jsonl.gz": packed(graded),
        "answers.csv": csv_bytes(ANSWER_COLUMNS, answers(inputs, bank, pool)),
    }
    if swept:
        files["sweep.csv"] = csv_bytes(
            ("run", "tau", "measure", "value"),
            (
                (run, tau, name, value)
                for run, by_tau in swept.items()
                for tau, found in by_tau.items()
                for name, value in means(found).items()
            ),
        )
    if inputs.qrels is not None:
        tau = settings.least
        files["uncovered.csv"] = csv_bytes(UNCOVERED_COLUMNS, uncovered(inputs, scorer, tau))
        files["misled.csv"] = csv_bytes(MISLED_COLUMNS, misled(inputs, bank, pool, tau))
    return files


def _who(inputs: ExamInputs, pool: Pool) -> str:
    """What stands as the model in the workbench's format: everybody whose grades are in the pool.
    labels.jsonl says which grade is whose."""
    names = list(pool.by)
    if pool.from_file and inputs.given is not None and inputs.given.way is not None:
        names.insert(0, inputs.given.way.llm or "unknown")
    return " + ".join(names) or "nobody"


def _graded(inputs: ExamInputs, pool: Pool) -> list[GradedQuery]:
    found = []
    for query, grades in pool.grades.items():
        ranks: dict[str, list[Ranked]] = {}
        for run, ranking in inputs.runs.items():
            for rank, passage in enumerate(ranking.get(query, ()), 1):
                ranks.setdefault(passage, []).append(Ranked(run, query, rank, 1.0 / rank))
        judged = inputs.qrels.grades.get(query, {}) if inputs.qrels is not None else {}
        passages = tuple(
            GradedPassage(
                passage,
                inputs.texts.get(passage, ""),
                (Judgment(query, judged[passage], query),) if passage in judged else (),
                tuple(ranks.get(passage, ())),
            )
            for passage in grades.passages
        )
        said = {
            (passage, question): pool.said[query, passage, question].said
            for row, passage in enumerate(grades.passages)
            for column, question in enumerate(grades.questions)
            if grades.values[row, column] != NO_GRADE and pool.said[query, passage, question].said
        }
        found.append(GradedQuery(query, passages, grades, said))
    return found
