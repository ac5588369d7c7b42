"""TREC run files and qrels, as trec_eval and NTCIREVAL read them.

Run: ``topic Q0 docid rank score run``; qrels: ``topic 0 docid grade``, or BEIR's three columns
with a header. Columns are separated by tabs or spaces. Source: trec_eval's README; in the qrels
that R2C2 derives, the document id is a PassageKey ``RUN;3``, one token.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from assay.formats.naming import parse_integer
from assay.formats.parsed import FaultList, Spot
from assay.formats.text import SourceText, reads_file
from assay.model.wording import counted, joined, printable, quoted

SECOND_COLUMN = frozenset({"Q0", "q0", "0"})
"""Values of a run's unused second column that cause no warning."""

_RUN_COLUMNS = 6
_WRITE_RUN = "Write topic, Q0, document id, rank, score, run name."
_QRELS_COLUMNS = 4
_OF_BEIR = re.compile(r"\s*query[-_]id\s+corpus[-_]id\s+score\s*", re.IGNORECASE)
_BLANKS = re.compile(r"[ \t\v\f\r]+")
_KEY_WITH_SPACES = re.compile(r"(\S+)[ \t]+(\S+)[ \t]+(\S.*;[0-9]+)[ \t]+(\S+)")


class TrecRun(NamedTuple):
    """A ranked run: for each topic (in file order) the scores and written ranks of documents."""

    name: str
    scores: Mapping[str, Mapping[str, float]]
    ranks: Mapping[str, Mapping[str, int]]

    def ranked(self, topic: str) -> tuple[str, ...]:
        """The topic's documents as trec_eval orders them; empty for a topic the run lacks.

        By descending score, ties by descending document id. Scores are compared as 32-bit floats,
        as in trec_eval. The rank column is ignored.
        """
        scores = self.scores.get(topic, {})
        single = dict(zip(scores, array("f", scores.values()), strict=True))
        return tuple(sorted(scores, key=lambda doc: (single[doc], doc), reverse=True))


class Qrels(NamedTuple):
    """Relevance grades: for each topic (in file order) the grade of every judged document."""

    grades: Mapping[str, Mapping[str, int]]


class SubtopicQrels(NamedTuple):
    """Relevance grades by subtopic. ``subtopics``: topic → subtopic → document id → grade.
    ``grades``: topic → document id → its highest grade over the subtopics, for measures without
    subtopics."""

    subtopics: Mapping[str, Mapping[str, Mapping[str, int]]]
    grades: Mapping[str, Mapping[str, int]]


@reads_file
def read_trec_run(source: SourceText, faults: FaultList) -> TrecRun:
    """Read a run file, or its text; the run is named in the last column.

    Of several lines about one document of a topic, the first is kept.
    """
    scores: dict[str, dict[str, float]] = {}
    ranks: dict[str, dict[str, int]] = {}
    current, listed_there, ranked = None, dict[str, float](), dict[str, int]()
    last_rank, last_score = -math.inf, math.inf
    names: dict[str, int] = {}
    second: dict[str, int] = {}
    unordered: dict[str, int] = {}
    for number, line in source.numbered():
        cells = line.split()
        if len(cells) != _RUN_COLUMNS:
            if not cells:
                continue
            cells = _columns(line, _RUN_COLUMNS)
            if len(cells) != _RUN_COLUMNS or not all(cells):
                faults.error(number, *_run_columns_fault(line, cells))
                continue
        topic, q0, doc, raw_rank, raw_score, run = cells
        names.setdefault(run, number)
        if q0 not in SECOND_COLUMN:
            second.setdefault(q0, number)
        try:
            rank, score = int(raw_rank), float(raw_score)
            # int and float also accept digits of other scripts, and 1_000.
            numbers = raw_rank + raw_score
            good = math.isfinite(score) and numbers.isascii() and "_" not in numbers
        except ValueError:
            good = False
        if not good:
            _bad_number(faults.at(number, topic), raw_rank, raw_score)
            continue
        if topic != current:
            current = topic
            listed_there, ranked = scores.setdefault(topic, {}), ranks.setdefault(topic, {})
            # The topic may have occurred before.
            last_rank = max(ranked.values(), default=-math.inf)
            last_score = min(listed_there.values(), default=math.inf)
        if doc in listed_there:
            if len(names) == 1:  # a file with several runs has its own fault, reported once
                faults.at(number, topic).error(
                    f"The document {quoted(doc)} is listed twice in the topic.",
                    "Keep the better one; the first was read.",
                )
            continue
        if rank <= last_rank or score > last_score:
            unordered.setdefault(topic, number)
        last_rank, last_score = rank, score
        listed_there[doc], ranked[doc] = score, rank
    found = TrecRun(printable(next(iter(names), "")), scores, ranks)
    _report_run(found, names, second, unordered, faults)
    return found


def _report_run(
    run: TrecRun,
    names: Mapping[str, int],
    second: Mapping[str, int],
    unordered: Mapping[str, int],
    faults: FaultList,
) -> None:
    """Report the faults of a run as a whole. ``names`` of runs and odd values of the ``second``
    column come with their first lines, ``unordered`` topics with the first line out of order."""
    if len(names) > 1:
        faults.error(
            sorted(names.values())[1],
            f"The file holds {len(names)} runs: {joined(names, 10)}.",
            "Write one file per run, with one name in the last column.",
        )
    if second:
        faults.warning(
            min(second.values()),
            f"The second column holds {joined(second, 5)}, not Q0.",
            "It is not used; check the order of the columns.",
        )
    if wrong := [topic for topic in unordered if _is_contradicted(run, topic)]:
        faults.warning(
            unordered[wrong[0]],
            f"Ranks and scores disagree in {counted(len(wrong), 'topic')}: {joined(wrong, 10)}.",
            "The scores decide, as in trec_eval; write scores that fall as ranks rise.",
            wrong[0],
        )
    values = {topic: list(docs.values()) for topic, docs in run.scores.items()}
    tied = [topic for topic, some in values.items() if some.count(some[0]) == len(some) > 1]
    warn_of_ties(faults, tied)
    if not run.scores and not faults.faulty:
        faults.error(0, "The file holds no ranked document.", _WRITE_RUN)


def _is_contradicted(run: TrecRun, topic: str) -> bool:
    """Whether two documents share a rank or a lower-ranked one has the higher score."""
    ranks, scores = run.ranks[topic], run.scores[topic]
    ordered = sorted(ranks, key=ranks.__getitem__)
    return any(
        ranks[one] == ranks[two] or scores[one] < scores[two] for one, two in pairwise(ordered)
    )


def _bad_number(at: Spot, raw_rank: str, raw_score: str) -> None:
    if parse_integer(raw_rank) is None:
        at.error(
            f"The rank {quoted(raw_rank)} is not an integer.",
            "Write the document's position: 1, 2, 3 …",
        )
    try:
        score = float(raw_score) if "_" not in raw_score and raw_score.isascii() else None
    except ValueError:
        score = None
    if score is None:
        at.error(
            f"The score {quoted(raw_score)} is not a number.",
            "Write a number such as 12.5 or 1e-3; the order is topic Q0 docid rank score run.",
        )
    elif not math.isfinite(score):
        at.error(
            f"The score {quoted(raw_score)} is not a finite number.",
            "A document without a score cannot be ranked: leave it out or score it.",
        )


def _run_columns_fault(line: str, cells: list[str]) -> tuple[str, str]:
    if len(cells) == _QRELS_COLUMNS:
        hint = "Is this a qrels file (--format qrels)? "
    elif line.count(";") >= 3 and re.match(r"[^;]+;\s*\d+\s*;", line):
        hint = "This looks like an R2C2 PR run (--format r2c2-pr). "
    elif len(cells) == 3 and parse_integer(cells[2]) is not None:
        hint = "This looks like a run as MS MARCO has it, which has no scores. "
    else:
        hint = _no_columns(line, cells)
    return f"The line has {_count(line, cells)}, not {_RUN_COLUMNS}.", hint + _WRITE_RUN


@reads_file
def read_qrels(source: SourceText, faults: FaultList) -> Qrels:
    """Read a qrels file. Grades are integers and may be negative.

    A document judged twice with the same grade is a warning, with two grades an error (the
    first is kept). A PassageKey whose run name holds spaces is put together again.
    """
    grades: dict[str, dict[str, int]] = {}
    iterations: dict[str, int] = {}
    lines: dict[tuple[str, str], int] = {}  # filled only if a document is judged twice
    for number, topic, iteration, doc, grade in _judgments(source, faults):
        if iteration not in {"0", "1", "Q0", "q0"}:
            iterations.setdefault(iteration, number)
        judged = grades.setdefault(topic, {})
        if doc not in judged:
            judged[doc] = grade
            continue
        if not lines:
            for line, *place, _ in _judgments(source, FaultList(source.file)):
                lines.setdefault((place[0], place[2]), line)
        before, first = judged[doc], lines[topic, doc]
        if before != grade:
            faults.at(number, topic).error(
                f"{quoted(doc)} has grade {grade} here and {before} on line {first}.",
                "Keep one of the two; the first was read.",
            )
        else:
            faults.at(number, topic).warning(
                f"{quoted(doc)} was already judged on line {first}, with the same grade.",
                "Remove one of the lines.",
            )
    if iterations:
        faults.warning(
            min(iterations.values()),
            f"The second column holds {joined(iterations, 5)}, not 0.",
            "It is not used; is this a subtopic, or are the columns in another order?",
        )
    if not grades and not faults.faulty:
        faults.error(0, "The file holds no judgment.", "Write topic, 0, document id, grade.")
    return Qrels(grades)


@reads_file
def read_subtopic_qrels(source: SourceText, faults: FaultList) -> SubtopicQrels:
    """Read qrels whose second column is the subtopic, as in TREC's diversity tasks and ndeval.
    ``0`` on all lines means a single subtopic.

    A document may be judged once for each subtopic of its topic.
    """
    subtopics: dict[str, dict[str, dict[str, int]]] = {}
    grades: dict[str, dict[str, int]] = {}
    for number, topic, subtopic, doc, grade in _judgments(source, faults, second="subtopic"):
        judged = subtopics.setdefault(topic, {}).setdefault(subtopic, {})
        if judged.setdefault(doc, grade) != grade:
            faults.at(number, topic).error(
                f"{quoted(doc)} has grade {grade} here and {judged[doc]} above, for the same "
                f"subtopic {quoted(subtopic)}.",
                "Keep one of the two; the first was read.",
            )
        best = grades.setdefault(topic, {})
        best[doc] = max(best.get(doc, grade), grade)
    if not grades and not faults.faulty:
        faults.error(0, "The file holds no judgment.", "Write topic, subtopic, document id, grade.")
    return SubtopicQrels(subtopics, grades)


def _judgments(
    source: SourceText, faults: FaultList, *, second: str = "0"
) -> Iterator[tuple[int, str, str, str, int]]:
    """The judgments of qrels: line number, topic, second column, document id, grade. ``second`` is
    what messages say that the second column should hold."""
    small = {str(grade): grade for grade in range(10)}
    empty, of_beir = True, False
    for number, line in source.numbered():
        cells = line.split()
        if len(cells) != _QRELS_COLUMNS or of_beir:
            if not cells:
                continue
            if empty and heads_beir(line):
                empty, of_beir = False, True
                continue
            cells = _qrels_columns(line, of_beir=of_beir)
            if len(cells) != _QRELS_COLUMNS or not all(cells):
                faults.error(number, *_qrels_columns_fault(line, cells, second))
                continue
        topic, between, doc, raw = cells
        grade = small.get(raw)
        if grade is None and (grade := parse_integer(raw)) is None:
            why = f"The grade {quoted(raw)} is {_no_grade(raw)}."
            faults.at(number, topic).error(why, _grade_cure(raw))
            continue
        empty = False
        yield number, topic, between, doc, grade


@reads_file
def read_topic_list(source: SourceText, faults: FaultList) -> tuple[str, ...]:
    """Read topic ids, one per line; anything after a tab is ignored, and so are blank lines. A
    repeated id is an error."""
    lines: dict[str, int] = {}
    for number, line in source.numbered():
        topic = line.partition("\t")[0].strip()
        if topic and lines.setdefault(topic, number) != number:
            why = f"The topic {quoted(topic)} is already on line {lines[topic]}."
            faults.at(number, topic).error(why, "Remove one of the lines.")
    if not lines:
        faults.error(0, "The file names no topic.", "Write one topic id per line.")
    return tuple(lines)


def _columns(line: str, wanted: int) -> list[str]:
    """The columns of a line that ``str.split`` does not split into ``wanted`` columns.

    Tabs separate if they give the right number, else ASCII white space, so that an id may contain
    a no-break space.
    """
    if line.count("\t") == wanted - 1:
        return [cell.strip() for cell in line.split("\t")]
    return _BLANKS.split(line.strip(" \t\v\f\r"))


def heads_beir(line: str) -> bool:
    """Whether a line is the header of BEIR's qrels, which lack the second column."""
    return _OF_BEIR.fullmatch(line) is not None


def _qrels_columns(line: str, *, of_beir: bool = False) -> list[str]:
    """The columns of a line of qrels that ``str.split`` does not split into four."""
    if of_beir and len(cells := _columns(line, _QRELS_COLUMNS - 1)) == _QRELS_COLUMNS - 1:
        return [cells[0], "0", *cells[1:]]
    cells = _columns(line, _QRELS_COLUMNS)
    key = _KEY_WITH_SPACES.fullmatch(line.strip())
    return list(key.groups()) if len(cells) != _QRELS_COLUMNS and key else cells


def _qrels_columns_fault(line: str, cells: list[str], second: str) -> tuple[str, str]:
    if len(cells) == 3 and parse_integer(cells[2].lstrip("Ll")) is not None:
        hint = f"Put a {second} between topic and document id. "
    elif len(cells) == _RUN_COLUMNS:
        hint = "This looks like a run file (--format trec-run). "
    else:
        hint = _no_columns(line, cells)
    why = f"The line has {_count(line, cells)}, not {_QRELS_COLUMNS}."
    return why, f"{hint}Write topic, {second}, document id, grade."


def _no_columns(line: str, cells: list[str]) -> str:
    """The cure for a line that is JSON or separated by commas; else empty."""
    if line.lstrip()[:1] in ("{", "["):
        return "This is JSON: have it written in columns (ranx: save(…, kind='trec')). "
    if len(cells) == 1 and "," in line:
        return "Separate the columns with spaces or tabs, not with commas. "
    return ""


def _no_grade(raw: str) -> str:
    digits = raw.removeprefix("-")
    return "too large" if digits.isascii() and digits.isdigit() else "not an integer"


def _grade_cure(raw: str) -> str:
    if raw[:1] in {"L", "l"} and parse_integer(raw[1:]) is not None:
        return f"Write {raw[1:]} for {raw}."
    whole, _, rest = raw.partition(".")
    if parse_integer(whole) is not None and rest and not rest.strip("0"):
        return f"Write {whole}."
    return "Write an integer, e.g. 0, 1 or 2."


def _count(line: str, cells: list[str]) -> str:
    if not all(cells) and "\t" in line:
        return "an empty column"
    return f"{len(cells)} column{'s' if len(cells) != 1 else ''}"


def warn_of_ties(faults: FaultList, topics: Sequence[str]) -> None:
    """Warn of ``topics`` of a run in which all documents have the same score."""
    if topics:
        faults.warning(
            0,
            f"All documents of {counted(len(topics), 'topic')} have one score: "
            f"{joined(topics, 10)}.",
            "Ranks do not decide: as in trec_eval the last id comes first (assay measure --ties "
            "file: the first line). Write scores that fall as ranks rise.",
            topics[0],
        )
