"""Question banks: the Autograder workbench's JSON Lines, and a plain table for hand-written ones.

JSON Lines (plain or gzip): an object a line, ``{query_id, query_text, test_collection?, items
[{question_id, question_text, query_id?, facet_id?, facet_text?, gold_answers?}]}``. Assay adds
``choices``, ``weight``, ``active`` and ``origin`` to an item where they are not the default.
A table (TSV) has a header with ``query_id`` and ``question_text``, and may have ``query_text``,
``question_id``, ``gold_answers`` (separated by ``|``), ``facet_id``, ``facet_text``, ``weight``.
TQA's own JSON (lessons with ``nonDiagramQuestions``) is read too.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any

import orjson

from assay.formats.jsonl import read_values
from assay.formats.parsed import FaultList, Parsed, quoted
from assay.formats.text import SourceText, read_text
from assay.model.exam import Bank, BankQuestion, QueryBank

_TABLE = ("query_id", "question_text")
_KNOWN = (*_TABLE, "query_text", "question_id", "gold_answers", "facet_id", "facet_text", "weight")


def read_bank(path: str | PathLike[str]) -> Parsed[Bank]:
    """Reads a bank in any of its three forms. Several lines about one query are put together.

    Raises :class:`FormatError` only where the file cannot be read at all.
    """
    source = read_text(path)
    faults = FaultList(source.file, source.faults)
    start = next((line.strip() for line in source.lines if line.strip()), "")
    reader = _Reader(faults)
    if start.startswith("["):
        _tqa(source, reader)
    elif start.startswith("{"):
        for number, row in read_values(source, faults):
            reader.line(number, row)
    else:
        _table(source, reader)
    return reader.done()


def question_id(query: str, facet: str | None, text: str) -> str:
    """An id for a question that has none: the query, the subtopic and a hash of the words."""
    digest = hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:12]
    return "/".join(part for part in (query, facet, digest) if part)


class _Reader:
    def __init__(self, faults: FaultList) -> None:
        self.faults = faults
        self.collection: str | None = None
        self._texts: dict[str, str | None] = {}
        self._questions: dict[str, list[BankQuestion]] = {}
        self._seen: dict[tuple[str, str], int] = {}

    def query(self, query: str, text: str | None) -> None:
        self._texts[query] = self._texts.get(query) or text
        self._questions.setdefault(query, [])

    def add(self, number: int, query: str, question: BankQuestion) -> None:
        first = self._seen.setdefault((query, question.id), number)
        if any(one.id == question.id for one in self._questions[query]):
            self.faults.error(
                number,
                f"The question {quoted(question.id)} is there twice (first on line {first}).",
                "Give each question of a query an id of its own.",
                query,
            )
            return
        self._questions[query].append(question)

    def line(self, number: int, row: Any) -> None:
        if not isinstance(row, dict) or not _id(row.get("query_id")):
            self.faults.error(
                number, "There is no 'query_id'.", "Write {query_id, query_text, items}."
            )
            return
        query = row["query_id"]
        items = row.get("items")
        if not isinstance(items, list):
            self.faults.error(number, "'items' is no list of questions.", "Add it.", query)
            return
        if isinstance(row.get("test_collection"), str) and row["test_collection"]:
            self.collection = row["test_collection"]
        self.query(query, _text(row.get("query_text")))
        facet, facet_text = _text(row.get("facet_id")), _text(row.get("facet_text"))
        for place, item in enumerate(items, 1):
            self._item(number, place, query, facet, facet_text, item)

    def _item(
        self,
        number: int,
        place: int,
        query: str,
        facet: str | None,
        facet_text: str | None,
        item: Any,
    ) -> None:
        def wrong(why: str, cure: str) -> None:
            self.faults.error(number, f"Item {place}: {why}", cure, query)

        if not isinstance(item, dict):
            return wrong("this is no object.", "Write {question_id, question_text}.")
        text = _text(item.get("question_text"))
        if text is None and item.get("nugget_text"):
            return wrong("this is a nugget, not a question.", "Give a bank of questions.")
        if text is None:
            return wrong("there is no 'question_text'.", "Add it.")
        named = item.get("query_id")
        if named not in (None, query):
            return wrong(f"it belongs to query {quoted(str(named))}.", "Move it to that query.")
        gold = item.get("gold_answers") or ()
        if isinstance(gold, str) or not all(isinstance(one, str) for one in gold):
            return wrong("'gold_answers' is no list of strings.", 'Write ["…"].')
        weight = item.get("weight", 1.0)
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not _usable(weight):
            return wrong("'weight' is no number from 0 up.", "Leave it out for 1.")
        choices = item.get("choices") or {}
        if not isinstance(choices, dict):
            return wrong("'choices' is no object.", 'Write {"a": "…"}.')
        facet = _text(item.get("facet_id")) or facet
        self.add(
            number,
            query,
            BankQuestion(
                id=_text(item.get("question_id")) or question_id(query, facet, text),
                text=text,
                gold=tuple(dict.fromkeys(one.strip() for one in gold if one.strip())),
                choices={str(key): str(value) for key, value in choices.items()},
                facet=facet,
                facet_text=_text(item.get("facet_text")) or facet_text,
                weight=float(weight),
                active=item.get("active", True) is not False,
                origin=_text(item.get("origin")),
            ),
        )
        return None

    def done(self) -> Parsed[Bank]:
        if not self._texts and not any(f.severity == "error" for f in self.faults.done()):
            self.faults.error(0, "There are no questions.", "Is this the right file?")
        for query, found in self._questions.items():
            if not found:
                self.faults.warning(0, "A query has no questions.", "It will not be scored.", query)
        banks = {
            query: QueryBank(query, text, tuple(self._questions[query]))
            for query, text in self._texts.items()
        }
        return Parsed(Bank(banks, self.collection), self.faults.done())


def _usable(weight: float) -> bool:
    return math.isfinite(weight) and weight >= 0


def _id(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _text(value: object) -> str | None:
    return value.strip() or None if isinstance(value, str) else None


def _table(source: SourceText, reader: _Reader) -> None:
    header: list[str] | None = None
    for number, line in source.numbered():
        if not line.strip():
            continue
        cells = [cell.strip() for cell in line.split("\t")]
        if header is None:
            header = [cell.casefold() for cell in cells]
            missing = [name for name in _TABLE if name not in header]
            unknown = [name for name in header if name not in _KNOWN]
            if missing or unknown:
                wrong = f"lacks {', '.join(missing)}" if missing else f"names {unknown[0]!r}"
                reader.faults.error(
                    number,
                    f"This is neither a bank in JSON Lines nor a table: the header {wrong}.",
                    f"Columns, separated by tabs: {', '.join(_KNOWN)}; the first two are needed.",
                )
                return
            continue
        if len(cells) > len(header):
            reader.faults.error(
                number, f"{len(cells)} columns, the header has {len(header)}.", "Remove tabs."
            )
            continue
        row = dict(zip(header, cells, strict=False))
        query, text = row.get("query_id", ""), row.get("question_text", "")
        if not query or not text:
            reader.faults.error(number, "The query or the question is empty.", "Fill it in.")
            continue
        try:
            weight = float(row.get("weight") or 1.0)
        except ValueError:
            weight = -1.0
        if not _usable(weight):
            reader.faults.error(
                number, f"{quoted(row['weight'])} is no weight.", "Give a number from 0 up.", query
            )
            continue
        facet = row.get("facet_id") or None
        gold = (one.strip() for one in row.get("gold_answers", "").split("|"))
        reader.query(query, row.get("query_text") or None)
        reader.add(
            number,
            query,
            BankQuestion(
                id=row.get("question_id") or question_id(query, facet, text),
                text=text,
                gold=tuple(dict.fromkeys(one for one in gold if one)),
                facet=facet,
                facet_text=row.get("facet_text") or None,
                weight=weight,
            ),
        )


def _tqa(source: SourceText, reader: _Reader) -> None:
    """TQA: a list of lessons. The key of a question is the text of its right option."""
    reader.collection = "tqa"
    try:
        lessons = json.loads("\n".join(source.lines))
    except ValueError as error:
        reader.faults.error(0, f"This is not JSON ({error}).", "Give TQA's own file, or a bank.")
        return
    for lesson in lessons:
        try:
            query = lesson["globalID"]
            reader.query(query, lesson["lessonName"])
            questions = lesson["questions"]["nonDiagramQuestions"].items()
            found = [(str(key), _tqa_question(str(key), one)) for key, one in questions]
        except (KeyError, TypeError, AttributeError):
            where = lesson.get("globalID") if isinstance(lesson, dict) else None
            reader.faults.error(
                0,
                "A lesson lacks globalID, lessonName, or nonDiagramQuestions as TQA has them.",
                "Give TQA's own file.",
                where if isinstance(where, str) else None,
            )
            continue
        for key, question in found:
            if question is None:
                reader.faults.warning(
                    0,
                    f"The right answer of {quoted(key)} is none of its options.",
                    "The question was left out.",
                    query,
                )
            else:
                reader.add(0, query, question)


def _tqa_question(key: str, row: Mapping[str, Any]) -> BankQuestion | None:
    choices = {
        str(letter): str(choice["processedText"]) for letter, choice in row["answerChoices"].items()
    }
    correct = choices.get(str(row["correctAnswer"]["processedText"]))
    if correct is None:
        return None
    text = str(row["beingAsked"]["processedText"])
    return BankQuestion(key, text, gold=(correct,), choices=choices)


def bank_lines(bank: Bank) -> Iterable[bytes]:
    """The bank as JSON Lines, a query a line, with every key that the workbench expects."""
    for query in bank.queries.values():
        items = []
        for one in query.questions:
            item: dict[str, Any] = {
                "query_id": query.query,
                "facet_id": one.facet,
                "facet_text": one.facet_text,
                "info": None,
                "question_id": one.id,
                "question_text": one.text,
                "gold_answers": list(one.gold) or None,
            }
            if one.choices:
                item["choices"] = dict(one.choices)
            if one.weight != 1.0:
                item["weight"] = one.weight
            if not one.active:
                item["active"] = False
            if one.origin is not None:
                item["origin"] = one.origin
            items.append(item)
        yield orjson.dumps(
            {
                "query_id": query.query,
                "facet_id": None,
                "facet_text": None,
                "test_collection": bank.collection or "",
                "query_text": query.text or "",
                "info": None,
                "items": items,
            },
            option=orjson.OPT_APPEND_NEWLINE,
        )


def write_bank(bank: Bank) -> bytes:
    """The bank as a file of JSON Lines."""
    return b"".join(bank_lines(bank))


def packed(data: bytes) -> bytes:
    """``data`` compressed with gzip; equal data give equal bytes."""
    return gzip.compress(data, mtime=0)
