"""Reading of question banks: JSON Lines of the Autograder workbench, tables for hand-written banks.

JSON Lines (plain or gzip): one object per line, ``{query_id, query_text, test_collection?, items
[{question_id, question_text, query_id?, facet_id?, facet_text?, gold_answers?}]}``. Older files
have ``questions`` for ``items``, banks of nuggets ``{nugget_id, nugget_text}``. Flat files have one
question per line: ``{qid, question}``, where ``qid`` is the query's id unless there is a
``query_id`` too. Assay adds ``choices``, ``weight``, ``active`` and ``origin`` to a question if not
the default. A table (TSV) has a header with ``query_id`` and ``question_text``, and may have
``query_text``, ``question_id``, ``gold_answers`` (separated by ``|``), ``facet_id``,
``facet_text``, ``weight``, ``active`` and ``origin``. TQA's own JSON (lessons with
``nonDiagramQuestions``) is read too.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import orjson

from assay.formats.jsonl import first_character, one_text, read_json, read_values
from assay.formats.parsed import FaultList
from assay.formats.text import SourceText, reads_file
from assay.model.exam import Bank, BankForm, BankQuestion, QueryBank
from assay.model.wording import quoted

TABLE = ("query_id", "question_text")
"""The columns that a table must have."""

COLUMNS = (*TABLE, "query_text", "question_id", "gold_answers", "facet_id", "facet_text", "weight",
           "active", "origin")  # fmt: skip
"""All columns of a table."""

LISTS = ("items", "questions")
"""Possible names for the list of a query's questions."""

TEXTS = ("question_text", "question", "nugget_text", "nugget")
"""Possible names for the text of a question."""

_OF_WORDS = re.compile(r"(?:^|/)[0-9a-f]{12,}$")
"""The end of an id that is a hash of the text, so that equal texts have equal ids."""

_SHAPE = "Write {query_id, query_text, items}, or {qid, question} on each line."


@reads_file
def read_bank(source: SourceText, faults: FaultList) -> Bank:
    """Read a bank in any of the three forms. Several lines about one query are combined."""
    start = first_character(source)
    form: BankForm = "tqa" if start == "[" else "lines" if start == "{" else "table"
    reader = _BankReader(faults, form)
    if form == "tqa":
        reader.collection = "tqa"
        for query, text, questions in _tqa_questions(source, faults):
            reader.query(query, text)
            for question in questions:
                reader.add(0, query, question)
    elif form == "table":
        for number, cells in _table(source, faults):
            reader.rows.append(cells)
            reader.line(number, row_of_cells(cells))
    else:
        for number, row in read_values(source, faults):
            if isinstance(row, dict):
                reader.rows.append(row)
            reader.line(number, row)
    return reader.done()


def question_id(query: str, facet: str | None, text: str) -> str:
    """An id for a question without one: the query, the subtopic and a hash of the text."""
    digest = hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:12]
    return "/".join(part for part in (query, facet, digest) if part)


def query_of(row: Mapping[str, Any]) -> str | None:
    """The query that a record is about."""
    return _id(row, "query_id") or _id(row, "qid")


def items_of(row: Mapping[str, Any]) -> list[Any] | None:
    """The questions of a record: its list, or the record itself if it is a single question."""
    for name in LISTS:
        if isinstance(row.get(name), list):
            return list(row[name])
    return [row] if one_text(row, *TEXTS) is not None else None


def has_text(item: Any) -> bool:
    """Whether an item is a question with a non-blank text."""
    return isinstance(item, dict) and bool((one_text(item, *TEXTS) or "").strip())


def read_question(row: Mapping[str, Any], item: Mapping[str, Any]) -> BankQuestion:
    """Parse an item of a record as a question. Raises ValueError, with the reason and the cure as
    arguments, if it is not valid."""
    text = (one_text(item, *TEXTS) or "").strip()
    gold = item.get("gold_answers") or ()
    if isinstance(gold, str) or not all(isinstance(one, str) for one in gold):
        raise ValueError("'gold_answers' is not a list of strings.", 'Write ["…"].')
    weight = item.get("weight", 1.0)
    if (
        isinstance(weight, bool)
        or not isinstance(weight, int | float)
        or not 0 <= weight < math.inf
    ):
        raise ValueError(f"'weight' is not a number from 0 up: {weight!r}.", "Leave it out for 1.")
    choices = item.get("choices") or {}
    if not isinstance(choices, dict):
        raise ValueError("'choices' is not an object.", 'Write {"a": "…"}.')
    query = query_of(row) or ""
    facet = _text(item, "facet_id") or _text(row, "facet_id")
    identity = _id(item, "question_id") or _id(item, "nugget_id")
    if identity is None and item is row and "query_id" in row:
        identity = _id(row, "qid")
    return BankQuestion(
        id=identity or question_id(query, facet, text),
        text=text,
        gold=tuple(dict.fromkeys(one.strip() for one in gold if one.strip())),
        choices={str(key): str(value) for key, value in choices.items()},
        facet=facet,
        facet_text=_text(item, "facet_text") or _text(row, "facet_text"),
        weight=float(weight),
        active=item.get("active", True) is not False,
        origin=_text(item, "origin"),
        nugget=one_text(item, *TEXTS[:2]) is None,
    )


def row_of_cells(cells: Mapping[str, str]) -> dict[str, Any]:
    """A row of a table as the record of a flat file."""
    row: dict[str, Any] = {name: cell for name, cell in cells.items() if cell}
    row |= {name: cells.get(name, "") for name in TABLE}
    if "gold_answers" in row:
        row["gold_answers"] = row["gold_answers"].split("|")
    if "weight" in row:
        with suppress(ValueError):  # the reader of the record reports what is not a number
            row["weight"] = float(row["weight"])
    if "active" in row:
        row["active"] = row["active"].casefold() not in ("no", "false", "0")
    return row


class _BankReader:
    def __init__(self, faults: FaultList, form: BankForm) -> None:
        self.faults = faults
        self.form = form
        self.collection: str | None = None
        self.rows: list[Mapping[str, Any]] = []
        self._texts: dict[str, str | None] = {}
        self._questions: dict[str, dict[str, tuple[int, BankQuestion]]] = {}

    def query(self, query: str, text: str | None) -> None:
        self._texts[query] = self._texts.get(query) or text
        self._questions.setdefault(query, {})

    def add(self, number: int, query: str, question: BankQuestion) -> None:
        first, other = self._questions[query].setdefault(question.id, (number, question))
        if other is question:
            return
        why = f"The question {quoted(question.id)} is listed twice (first on line {first})."
        if other.text == question.text and _OF_WORDS.search(question.id):
            self.faults.warning(number, why, "The first was read: they ask the same.", query)
        else:
            self.faults.error(number, why, "Give each question of a query its own id.", query)

    def line(self, number: int, row: Any) -> None:
        query = query_of(row) if isinstance(row, dict) else None
        if query is None:
            self.faults.error(number, "There is no 'query_id'.", _SHAPE)
            return
        items = items_of(row)
        if items is None:
            self.faults.error(number, "There is no list of questions ('items').", "Add it.", query)
            return
        self.collection = _text(row, "test_collection") or self.collection
        self.query(query, _text(row, "query_text") or _text(row, "query"))
        for place, item in enumerate(items, 1):
            where = "" if item is row else f"Item {place}: "
            try:
                self._item(number, query, row, item, where)
            except ValueError as error:
                why, cure = error.args
                self.faults.error(number, where + why, cure, query)

    def _item(self, number: int, query: str, row: Mapping[str, Any], item: Any, where: str) -> None:
        if not isinstance(item, dict):
            raise ValueError("this is not an object.", "Write {question_id, question_text}.")
        if one_text(item, *TEXTS) is None:
            raise ValueError("there is no 'question_text'.", "Add it.")
        named = _id(item, "query_id")
        if named not in (None, query):
            raise ValueError(f"it belongs to query {quoted(str(named))}.", "Move it to that query.")
        if not has_text(item):
            self.faults.warning(number, f"{where}The question is blank.", "It is left out.", query)
        else:
            self.add(number, query, read_question(row, item))

    def done(self) -> Bank:
        if not self._texts and not self.faults.faulty:
            self.faults.error(0, "There are no questions.", "Is this the right file?")
        for query, found in self._questions.items():
            if not found:
                self.faults.warning(0, "A query has no questions.", "It will not be scored.", query)
        banks = {
            query: QueryBank(query, text, tuple(one for _, one in self._questions[query].values()))
            for query, text in self._texts.items()
        }
        return Bank(banks, self.collection, self.form, tuple(self.rows))


def _id(row: Mapping[str, Any], name: str) -> str | None:
    value = row.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value.strip() else None


def _text(row: Mapping[str, Any], name: str) -> str | None:
    value = row.get(name)
    return value.strip() or None if isinstance(value, str) else None


def _table(source: SourceText, faults: FaultList) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a table as dictionaries by column, with line numbers."""
    header: list[str] | None = None
    for number, line in source.numbered():
        if not line.strip():
            continue
        cells = [cell.strip() for cell in line.split("\t")]
        if header is None:
            header = [cell.casefold() for cell in cells]
            missing = [name for name in TABLE if name not in header]
            unknown = [name for name in header if name not in COLUMNS]
            if missing or unknown:
                wrong = f"lacks {', '.join(missing)}" if missing else f"names {unknown[0]!r}"
                faults.error(
                    number,
                    f"This is neither a bank in JSON Lines nor a table: the header {wrong}.",
                    f"Columns, separated by tabs: {', '.join(COLUMNS)}; the first two are needed.",
                )
                return
        elif len(cells) > len(header):
            faults.error(
                number, f"{len(cells)} columns, the header has {len(header)}.", "Remove tabs."
            )
        else:
            cells += [""] * (len(header) - len(cells))
            yield number, dict(zip(header, cells, strict=True))


def _tqa_questions(
    source: SourceText, faults: FaultList
) -> Iterator[tuple[str, str, list[BankQuestion]]]:
    """The id, name and questions of each lesson; faulty ones are reported. The answer key of a
    question is the text of its right option."""
    try:
        lessons, _ = read_json("\n".join(source.lines))
    except orjson.JSONDecodeError as error:
        faults.error(0, f"This is not JSON ({error}).", "Give TQA's own file, or a bank.")
        return
    for lesson in lessons:
        try:
            query, name = lesson["globalID"], lesson["lessonName"]
            questions = lesson["questions"]["nonDiagramQuestions"].items()
            found = [(str(key), _tqa_question(str(key), one)) for key, one in questions]
        except (KeyError, TypeError, AttributeError):
            where = lesson.get("globalID") if isinstance(lesson, dict) else None
            faults.error(
                0,
                "A lesson lacks globalID, lessonName, or nonDiagramQuestions as TQA has them.",
                "Give TQA's own file.",
                where if isinstance(where, str) else None,
            )
            continue
        for key, question in found:
            if question is None:
                faults.warning(
                    0,
                    f"The right answer of {quoted(key)} is not one of its options.",
                    "The question was left out.",
                    query,
                )
        yield query, name, [question for _, question in found if question is not None]


def _tqa_question(key: str, row: Mapping[str, Any]) -> BankQuestion | None:
    choices = {
        str(letter): str(choice["processedText"]) for letter, choice in row["answerChoices"].items()
    }
    correct = choices.get(str(row["correctAnswer"]["processedText"]))
    if correct is None:
        return None
    text = str(row["beingAsked"]["processedText"])
    return BankQuestion(key, text, gold=(correct,), choices=choices)
