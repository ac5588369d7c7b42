"""Formats for ``assay validate``: TREC RAG."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from assay.formats.battles import BATTLE_KEYS, read_battles
from assay.formats.cells import finite_number
from assay.formats.checking import Against, Checked, Format, count_of, counted_by, first_has
from assay.formats.jsonl import first_character, first_object
from assay.formats.parsed import FaultList
from assay.formats.question_banks import read_question_banks
from assay.formats.rubrics import read_graded_answers
from assay.formats.text import SourceText
from assay.formats.trec import TrecRun, read_trec_run
from assay.formats.trec_rag_answers import read_answers
from assay.formats.trec_rag_nuggets import read_assignments, read_nuggets
from assay.formats.trec_rag_passages import (
    LABELS,
    read_candidates,
    read_judgment_run,
    read_segments,
)
from assay.formats.trec_rag_rules import RULES, Rules, rules_of_topics
from assay.formats.trec_rag_support import read_support
from assay.formats.trec_rag_topics import read_sub_narratives, read_topics
from assay.model.wording import counted, joined, quoted

_LABELS = frozenset(map(str, LABELS))
_OFFICIAL = re.compile(r"(?:(?:rag)?20\d\d-)?(?:0|[1-9]\d*)|[0-9a-f]{24}")
"""Ids of the track's topics: 2024 (``2024-35227``), 2025 (``14``), 2026 (``rag2026-4``; 24 digits
for development)."""


def _check_run(source: SourceText, against: Against) -> Checked:
    """Check a run of answers (JSON Lines) or of documents (R task, six columns)."""
    if first_character(source) not in ("{", "[", '"'):
        return _check_retrieval(source, against)
    parsed = read_answers(source, topics=against.topics, year=against.year)
    run = parsed.value
    if run is None:
        return Checked(parsed.faults)
    counts = count_of("answers", "sentences", lambda one: one.sentences)(run.answers)
    return Checked(parsed.faults, counts, run.name)


def _check_retrieval(source: SourceText, against: Against) -> Checked:
    parsed = read_trec_run(source)
    run = parsed.value
    if run is None:
        return Checked(parsed.faults)
    faults = FaultList(source.file, parsed.faults)
    rules = RULES[against.year] if against.year else rules_of_topics(run.scores)
    most = (rules or RULES["2025"]).max_depth
    deep = [topic for topic, docs in run.scores.items() if most is not None and len(docs) > most]
    if deep:
        faults.error(
            0,
            f"More than {most} documents in {len(deep)} topics: {joined(deep, 10)}.",
            f"List at most {most} per topic.",
            deep[0],
        )
    gaps = [
        topic
        for topic, ranks in run.ranks.items()
        if list(ranks.values()) != list(range(1, len(ranks) + 1))
    ]
    if gaps:
        faults.warning(
            0,
            f"Ranks are not 1, 2, 3 … in the file's order in {len(gaps)} topics: "
            f"{joined(gaps, 10)}.",
            "The scores decide; 2026 asks for ranks without gaps.",
            gaps[0],
        )
    _check_documents(run, rules, faults)
    _check_topics(run.scores, against, faults)
    silent = [topic for topic in against.topics or () if topic not in run.scores]
    if silent:
        faults.warning(
            0,
            f"{len(silent)} of {len(against.topics or ())} topics have no documents: "
            f"{joined(silent, 10)}.",
            "A run is scored 0 on topics that it leaves out.",
        )
    return Checked(faults.done(), count_of("topics", "documents")(run.scores), run.name or None)


def _check_documents(run: TrecRun, rules: Rules | None, faults: FaultList) -> None:
    """Report documents whose ids do not match the year's collection."""
    if rules is None or rules.doc_id is None:
        return
    known = rules.doc_id.fullmatch
    odd = {doc: topic for topic, docs in run.scores.items() for doc in docs if not known(doc)}
    if odd:
        report = faults.error if rules.strict_ids else faults.warning
        report(
            0,
            f"Not in the form of {rules.year}'s ids: {counted(len(odd), 'document')} "
            f"({joined(map(quoted, odd), 3)}).",
            f"They look like {rules.example}.",
            next(iter(odd.values())),
        )


def _check_judgments(source: SourceText, against: Against) -> Checked:
    parsed = read_judgment_run(source)
    run, faults = parsed.value, FaultList(source.file)
    guesses = run.guesses if run else {}
    _check_topics(guesses, against, faults)
    counts = count_of("topics", "labels")(guesses)
    return Checked(parsed.faults + faults.done(), counts, run.name if run else None)


def _check_topics(topics: Iterable[str], against: Against, faults: FaultList) -> None:
    """Report topics that are not in the topic file, if there is one."""
    official = against.topics
    unknown = [] if official is None else [topic for topic in topics if topic not in official]
    if unknown:
        faults.error(
            0,
            f"Not in the topic file: {counted(len(unknown), 'topic')} ({joined(unknown, 10)}).",
            "Use the ids of official topics.",
        )


def _items(record: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    given = record.get(name)
    return [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []


def _looks_like_judgment_run(source: SourceText) -> bool:
    """Whether six columns hold labels and confidences: unlike labels, ranks do not repeat within a
    topic, or are all equal."""
    rows = [cells for _, line in source.numbered() if (cells := line.split())]
    if not rows or any(len(cells) != 6 or cells[3] not in _LABELS for cells in rows):
        return False
    sure = [finite_number(cells[4]) for cells in rows]
    labels = {cells[3] for cells in rows}
    repeated = len({(cells[0], cells[3]) for cells in rows}) < len(rows) and len(labels) > 1
    return repeated and all(one is not None and 0 <= one <= 1 for one in sure)


def _looks_like_topics(source: SourceText) -> bool:
    """Whether every line of a file has an id of the track's topics and a text, and nothing else."""
    if first_character(source) in ("{", "["):
        keys = set(first_object(source) or ())
        return {"id", "title"} <= keys or ({"_id", "text"} <= keys and "title" not in keys)
    rows = [line.split("\t") for _, line in source.numbered() if line.strip()]
    return bool(rows) and all(len(row) == 2 and _OFFICIAL.fullmatch(row[0].strip()) for row in rows)


FORMATS: tuple[Format, ...] = (
    Format(
        "trec-rag-topics",
        "TREC RAG topics: id<TAB>text, or JSON Lines with id and title (or as BEIR's queries)",
        counted_by(read_topics, count_of("topics")),
        _looks_like_topics,
    ),
    Format(
        "trec-rag-rj",
        "TREC RAG relevance judgment run: topic Q0 docid label confidence run",
        _check_judgments,
        _looks_like_judgment_run,
    ),
    Format(
        "trec-rag",
        "TREC RAG run of any year: answers with citations, or ranked documents",
        _check_run,
        first_has(lambda first: "answer" in first or "responses" in first),
    ),
    Format(
        "segments",
        "Segments: JSON Lines with docid, title and segment",
        counted_by(read_segments, count_of("segments")),
        first_has(lambda record: "segment" in record and "docid" in record),
    ),
    Format(
        "candidates",
        "Reference ranked lists: JSON Lines with query and candidates",
        counted_by(read_candidates, count_of("topics", "candidates")),
        first_has(lambda record: "candidates" in record),
    ),
    Format(
        "sub-narratives",
        "Sub-narratives: JSON Lines with id and sub_narratives",
        counted_by(read_sub_narratives, count_of("topics", "sub-narratives")),
        first_has(lambda record: "sub_narratives" in record),
    ),
    Format(
        "nuggets",
        "Nuggets: JSON Lines with qid and nuggets",
        counted_by(read_nuggets, count_of("topics", "nuggets", lambda one: one.nuggets)),
        first_has(lambda record: "nuggets" in record),
    ),
    Format(
        "question-nuggets",
        "Nugget banks of questions with gold answers: RAGTIME, Auto-Judge",
        counted_by(read_question_banks, count_of("topics", "questions", lambda one: one.questions)),
        lambda source: b'"nugget_bank"' in source.data,
    ),
    Format(
        "rubrics",
        "Weighted rubrics, or answers graded by them: RAGDoll, ResearchRubrics",
        counted_by(
            partial(read_graded_answers, graded=False),
            count_of("answers or topics", "criteria", lambda one: one.criteria),
        ),
        first_has(lambda record: bool(_items(record, "criteria") or _items(record, "rubrics"))),
    ),
    Format(
        "battles",
        "Judgments of battles: RAGDoll, arena-rank, CrowdRAG-25",
        counted_by(read_battles, count_of("battles")),
        first_has(lambda record: bool(BATTLE_KEYS & record.keys())),
    ),
    Format(
        "assignments",
        "Nugget assignments: JSON Lines with qid, run_id and assigned nuggets",
        counted_by(read_assignments, count_of("answers", "assignments", lambda one: one.nuggets)),
        first_has(lambda record: any("assignment" in one for one in _items(record, "nuggets"))),
    ),
    Format(
        "support",
        "Support labels: JSON Lines with sentences and labelled citations",
        counted_by(read_support, count_of("answers", "sentences", lambda one: one.sentences)),
        first_has(lambda record: "sentences" in record),
    ),
)
"""The formats of the TREC RAG track."""
