"""Formats for ``assay validate``: R2C2, TREC runs and qrels, queries."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from itertools import islice

from assay.formats.checking import Against, Checked, Format, count_of, counted_by, pr_counts
from assay.formats.parsed import FaultList
from assay.formats.passages import read_queries
from assay.formats.r2c2_ac import read_ac_run
from assay.formats.r2c2_pr import read_pr_run
from assay.formats.r2c2_questions import known_category, read_questions
from assay.formats.text import SourceText
from assay.formats.trec import heads_beir, read_qrels, read_trec_run

_SAMPLE = 50
_LONGEST = 1000


def _check_pr(source: SourceText, against: Against) -> Checked:
    parsed = read_pr_run(
        source,
        questions=against.questions,
        max_passage_chars=against.max_passage_chars,
        corpus=against.corpus,
    )
    run = parsed.value
    return Checked(parsed.faults, pr_counts(run) if run else {}, run.name if run else None)


def _check_ac(source: SourceText, against: Against, *, marked: bool) -> Checked:
    parsed = read_ac_run(source, questions=against.questions, pr_runs=against.pr_runs)
    if parsed.value is None:
        return Checked(parsed.faults)
    run, faults = parsed.value.run, FaultList(source.file)
    counts = count_of("answers", "nuggets", lambda one: one.nuggets)(run.answers)
    if run.marked:
        nuggets = (nugget for answer in run.answers.values() for nugget in answer.nuggets)
        counts["marked"] = sum(nugget.mark is not None for nugget in nuggets)
    elif marked and counts["nuggets"]:
        faults.error(
            0,
            "No nugget is marked: this is an unmarked AC run.",
            "A marked run has B, R or N before every NuggetNum (unmarked: --format r2c2-ac).",
        )
    return Checked(faults.done() + parsed.faults, counts, run.name)


def _mostly(pattern: str) -> Callable[[SourceText], bool]:
    """A recogniser of files in which more than half of the first lines match ``pattern``."""
    compiled = re.compile(pattern)

    def recognises(source: SourceText) -> bool:
        some = (line[:_LONGEST] for _, line in islice(source.numbered(), 2 * _SAMPLE))
        lines = list(islice(filter(str.strip, some), _SAMPLE))
        return 2 * sum(compiled.match(line) is not None for line in lines) > len(lines)

    return recognises


_has_judgments = _mostly(r"\S+\s+(?:0|1|[Qq]0)\s+(?:\S+|\S.*;\d+)\s+-?\d+\s*$")


def _looks_like_qrels(source: SourceText) -> bool:
    return heads_beir(source.first_line) or _has_judgments(source)


def _looks_like_queries(source: SourceText) -> bool:
    """Whether a file holds queries, whose ids, unlike R2C2's, are not numbers."""
    rows = [line.split("\t") for _, line in source.numbered() if line.strip()]
    return bool(rows) and all(
        len(row) in (2, 4)
        and all(map(str.strip, row))
        and not row[0].strip().isdigit()
        and (len(row) == 2 or not known_category(row[2]))
        for row in rows
    )


def _looks_answered(source: SourceText) -> bool:
    lines = [line.strip() for _, line in islice(source.numbered(), 500)]
    return any(re.fullmatch("<[^<>;]+>", line) for line in lines) and any(
        ";" in line for line in lines
    )


def _looks_marked(source: SourceText) -> bool:
    marked = re.compile(r"\s*[BRN]\s*\d+\s*;[^;]*;\s*\d+\s*;")
    return _looks_answered(source) and any(marked.match(line) for _, line in source.numbered())


FORMATS: tuple[Format, ...] = (
    Format(
        "r2c2-questions",
        "R2C2 question file: id, text, category, gold answers, separated by tabs",
        counted_by(read_questions, count_of("questions")),
        _mostly(r"[^\t;<>{]+(?:\t\s*[^\s\t][^\t]*(?:\t[^\t]*){0,2}$|;\s*\S)"),
        of_track="trec-rag-topics",
    ),
    Format(
        "queries",
        "Queries of any test collection: id<TAB>text, or with a subtopic's id and text",
        counted_by(read_queries, lambda found: {"queries": len({one.id for one in found})}),
        _looks_like_queries,
        of_track="trec-rag-topics",
    ),
    Format(
        "r2c2-pr",
        "R2C2 passage run: QuestionID;PassageRank;DocID;PassageText",
        _check_pr,
        _mostly(r"[^;<>]+;\s*-?\d+\s*;[^;]*;"),
    ),
    Format(
        "r2c2-ac",
        "R2C2 answer run: a block with answer, confidence and nuggets for each question",
        partial(_check_ac, marked=False),
        _looks_answered,
    ),
    Format(
        "r2c2-marked",
        "R2C2 answer run with B, R or N before each nugget",
        partial(_check_ac, marked=True),
        _looks_marked,
    ),
    Format(
        "trec-run",
        "TREC run: topic Q0 docid rank score run",
        counted_by(
            read_trec_run,
            lambda run: count_of("topics", "documents")(run.scores),
            lambda run: run.name or None,
        ),
        _mostly(r"\S+\s+\S+\s+\S+\s+-?\d+\s+\S+\s+\S+\s*$"),
        of_track="trec-rag",
    ),
    Format(
        "qrels",
        "Relevance judgments: topic 0 docid grade, or as BEIR has them",
        counted_by(read_qrels, lambda qrels: count_of("topics", "judgments")(qrels.grades)),
        _looks_like_qrels,
    ),
)
"""The formats of R2C2, and TREC runs and qrels."""
