"""Answers of a RAG application as JSON Lines, and its questions.

``{"id", "question", "answer", "passages": [{"id", "text", "score"}], "references", "answerable",
"run", "metadata", …}``: docs/rag.md describes the whole format.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from assay.formats.jsonl import one_id, read_objects
from assay.formats.naming import normal_id, run_name
from assay.formats.parsed import FaultList, Parsed
from assay.formats.passages import sentences
from assay.formats.text import SourceText, reads_file
from assay.model.records import (
    UNKNOWN,
    AskedQuestion,
    CitedSentence,
    Record,
    Retrieved,
    Turn,
    text_id,
)
from assay.model.wording import quoted

KEYS = (
    "id", "question", "answer", "passages", "references", "reference", "answerable", "run",
    "ranked", "history", "retrieval_query", "reference_passages", "error", "metadata", "session",
    "truncated",
)  # fmt: skip
ASKED_KEYS = ("id", "question", "references", "reference", "answerable", "category")
_MARK = re.compile(r"\s?[\[［【][^\[\]［］【】]{1,200}[\]］】]")
_NUMBERS = re.compile(r"\d{1,6}(?:\s*[,，、]\s*\d{1,6})*")
_MARKS = rf"(?:{_MARK.pattern})+"
_AFTER_STOP = re.compile(rf"([.!?؟۔](?={_MARKS}(?:\s|$))|[。！？।॥])({_MARKS})")
_BREAK = re.compile(r"[\t\r\n]")
_ROLES = ("user", "assistant")


@reads_file
def read_records(source: SourceText, faults: FaultList) -> tuple[Record, ...]:
    """Read answers. A record without ``run`` belongs to the run named after the file."""
    found: dict[tuple[str, str], Record] = {}
    keys: set[str] = set()
    for line, row in read_objects(source, faults):
        keys.update(row)
        one = _RecordRow(line, row, faults)
        record = one.record(run_name(source.path), str(source.path))
        if record is None:
            continue
        first = found.setdefault((record.run, record.id), record)
        if first is not record:
            faults.error(
                line,
                f"Run {quoted(record.run)} already has an answer to it on line {first.line}.",
                "Keep one record for each run and question.",
                record.id,
            )
    if not found and not faults.faulty:
        faults.error(0, "There are no answers.", "Write one JSON object per line.")
    if keys and "passages" not in keys:
        faults.error(
            0,
            "No record has passages: this may be a file of another tool, or of your own.",
            "'assay import hf FILE -o OUT --map KEY=FIELD' makes records of it.",
        )
    return tuple(found.values())


@reads_file
def read_asked(source: SourceText, faults: FaultList) -> tuple[AskedQuestion, ...]:
    """Read questions: lines of ``{"id", "question", "references", "answerable", "category"}``."""
    found: dict[str, AskedQuestion] = {}
    for line, row in read_objects(source, faults):
        one = _RecordRow(line, row, faults)
        one.unknown_keys(ASKED_KEYS)
        name, question = one.id(), one.text("question")
        references, answerable = one.references(), one.flag("answerable", default=True)
        if name is None or question is None:
            continue
        if name in found:
            faults.error(line, "The question is listed twice.", "Keep one line.", name)
        category = one.text("category", required=False)
        found[name] = AskedQuestion(name, question, references, answerable, category)
    return tuple(found.values())


class _Places(NamedTuple):
    """Lookup of cited passages, by id or by position in the list as written, in which a passage may
    occur twice."""

    ids: Mapping[str, int]
    written: Sequence[int]

    def at(self, place: int) -> int:
        """The passage at a position, counted from 0."""
        return self.written[place] if 0 <= place < len(self.written) else UNKNOWN


class _RecordRow:
    """Reader of one object, key by key, which reports what is wrong."""

    def __init__(self, line: int, row: dict[str, Any], faults: FaultList) -> None:
        self._line, self._row, self._faults = line, row, faults
        self._topic = one_id(row, "id")

    def record(self, stem: str, file: str) -> Record | None:
        self.unknown_keys(KEYS)
        name, question = self.id(), self.text("question")
        passages, places = self._passages()
        error = self.text("error", required=False)
        answer, cited = self._answer(places, error)
        run = stem
        if "run" in self._row:
            run = self.name("run") or ""
        references = self.references()
        answerable = self.flag("answerable", default=True)
        ranked, cut = self.flag("ranked", default=True), self.flag("truncated", default=False)
        history, metadata = self._history(), self._metadata()
        session = self.name("session") if self._row.get("session") is not None else None
        query = self.text("retrieval_query", required=False)
        given = self._strings("reference_passages")
        if name is None or question is None or passages is None or cited is None or not run:
            return None
        return Record(
            run, name, question, answer, cited, passages, references, answerable, ranked, cut,
            history, query, given, error, session, metadata, file, self._line,
        )  # fmt: skip

    def error(self, why: str, cure: str) -> None:
        self._faults.error(self._line, why, cure, self._topic)

    def unknown_keys(self, known: tuple[str, ...]) -> None:
        for key in self._row:
            if key not in known:
                near = difflib.get_close_matches(key[:100], known, n=1)
                hint = f"Is {near[0]} meant?" if near else f"Known keys are {', '.join(known)}."
                self._faults.warning(
                    self._line, f"The key {quoted(key)} is not read.", hint, self._topic
                )

    def id(self) -> str | None:
        return self.name("id")

    def name(self, key: str) -> str | None:
        value = one_id(self._row, key)
        if value is None:
            self.error(f"{key} is missing.", f"Write {key} as a string or a whole number.")
        elif _BREAK.search(value):
            self.error(f"{key} holds a tab or a line break.", "Remove them.")
            return None
        return value

    def text(self, key: str, *, required: bool = True) -> str | None:
        value = self._row.get(key)
        if isinstance(value, str) and (value.strip() or not required):
            return value
        if required or value is not None:
            self.error(f"{key} is empty or not a string.", f"Write {key} as a string.")
        return None

    def flag(self, key: str, *, default: bool) -> bool:
        value = self._row.get(key)
        if value is not None and not isinstance(value, bool):
            self.error(f"{key} is neither true nor false.", "Write true or false.")
        return value if isinstance(value, bool) else default

    def references(self) -> tuple[str, ...]:
        found = [*self._strings("references"), *self._strings("reference")]
        return tuple(dict.fromkeys(one for one in found if one.strip()))

    def _strings(self, key: str) -> tuple[str, ...]:
        value = self._row.get(key)
        items = [value] if isinstance(value, str) else value or []
        if not isinstance(items, list) or not all(isinstance(one, str) for one in items):
            self.error(f"{key} is not a list of strings.", f'Write "{key}": ["…"].')
            return ()
        return tuple(items)

    # -- passages ----------------------------------------------------------------------------

    def _passages(self) -> tuple[tuple[Retrieved, ...] | None, _Places]:
        given = self._row.get("passages")
        if not isinstance(given, list):
            self.error(
                "passages is not a list.", 'Write [{"id", "text"}, …], [] if there are none.'
            )
            return None, _Places({}, ())
        found: dict[str, Retrieved] = {}
        first: dict[str, int] = {}
        places: list[int] = []
        for place, one in enumerate(given, 1):
            passage = self._passage(place, one)
            if passage is None:
                places.append(UNKNOWN)
                continue
            before = found.setdefault(passage.id, passage)
            places.append(first.setdefault(passage.id, len(first)))
            if before is passage:
                continue
            if before.text != passage.text:
                self.error(
                    f"Passage {quoted(passage.id)} appears with two texts.",
                    "Give each text its own id.",
                )
            else:
                self._faults.warning(
                    self._line,
                    f"Passage {quoted(passage.id)} is listed twice.",
                    "The first rank counts.",
                    self._topic,
                )
        ids = {normal_id(name): place for name, place in first.items()}
        return tuple(found.values()), _Places(ids, places)

    def _passage(self, place: int, one: Any) -> Retrieved | None:
        if isinstance(one, str):
            one = {"text": one}
        if not isinstance(one, dict) or not isinstance(one.get("text"), str | None):
            self.error(f"Passage {place} is not an object with a text.", 'Write {"id", "text"}.')
            return None
        text, name = one.get("text"), one_id(one, "id")
        if name is None:
            if text is None:
                self.error(f"Passage {place} has neither id nor text.", "Write one of them.")
                return None
            name = text_id(text)
        score = one.get("score")
        number = float(score) if isinstance(score, int | float) else None
        return Retrieved(name, text, number, bool(one.get("truncated")))

    # -- the answer --------------------------------------------------------------------------

    def _answer(
        self, places: _Places, error: str | None
    ) -> tuple[str, tuple[CitedSentence, ...] | None]:
        given = self._row.get("answer")
        if given is None and error is not None:
            return "", ()
        if isinstance(given, str):
            return _without_marks(given, places), tuple(_cited(given, places))
        if not isinstance(given, list):
            cure = 'Write a string, or [{"text", "citations"}, …]; "" if there is none.'
            self.error("answer is neither a string nor a list of sentences.", cure)
            return "", None
        found = []
        for one in given:
            if not isinstance(one, dict) or not isinstance(one.get("text"), str):
                self.error("A sentence has no text.", 'Write {"text", "citations"}.')
                return "", None
            text = _without_marks(one["text"], places)
            found.append(CitedSentence(text, tuple(self._cited(one, places))))
        return " ".join(one.text for one in found), tuple(found)

    def _cited(self, sentence: Any, places: _Places) -> Iterator[int]:
        """The cited passages: numbers are positions from 0 (as in TREC RAG), strings are ids."""
        for one in sentence.get("citations") or ():
            if isinstance(one, int) and not isinstance(one, bool):
                yield places.at(one)
            elif isinstance(one, str):
                yield places.ids.get(normal_id(one), UNKNOWN)
            else:
                self.error("A citation is neither a number nor an id.", "Write 0 or an id.")

    # -- the rest ----------------------------------------------------------------------------

    def _history(self) -> tuple[Turn, ...]:
        given = self._row.get("history") or []
        turns = []
        for one in given if isinstance(given, list) else [None]:
            turn = one if isinstance(one, dict) else {}
            if turn.get("role") not in _ROLES or not isinstance(turn.get("text"), str):
                self.error(
                    "history is not a list of turns.", 'Write [{"role": "user", "text": …}].'
                )
                return ()
            turns.append(Turn(turn["role"], turn["text"]))
        return tuple(turns)

    def _metadata(self) -> dict[str, Any]:
        given = self._row.get("metadata") or {}
        flat = isinstance(given, dict) and all(
            isinstance(one, str | int | float | None) for one in given.values()
        )
        if not flat:
            self.error("metadata is not flat.", "Write strings, numbers, true or false by key.")
            return {}
        return dict(given)


def _cited(text: str, places: _Places) -> Iterator[CitedSentence]:
    """The sentences of a text with the passages that their citation marks name. Marks after a full
    stop belong to the sentence before it."""
    for part in sentences(_AFTER_STOP.sub(r"\2\1", text)):
        words = _without_marks(part, places)
        if words:
            yield CitedSentence(words, tuple(_marks(part, places)))


def _marks(text: str, places: _Places) -> list[int]:
    found: list[int] = []
    for mark in _MARK.finditer(text):
        inside = mark[0].strip()[1:-1].strip()
        if normal_id(inside) in places.ids:
            found.append(places.ids[normal_id(inside)])
        elif _NUMBERS.fullmatch(inside):
            numbers = map(int, re.findall(r"\d+", inside))
            # marks in texts count from 1
            found += [places.at(one - 1) for one in numbers]
    return found


def _without_marks(text: str, places: _Places) -> str:
    def cut(mark: re.Match[str]) -> str:
        inside = mark[0].strip()[1:-1].strip()
        is_mark = normal_id(inside) in places.ids or _NUMBERS.fullmatch(inside)
        return "" if is_mark else mark[0]

    return _MARK.sub(cut, text).strip()


def record_of(row: Mapping[str, Any]) -> Parsed[Record]:
    """Read one record as :func:`read_records` does, with its faults."""
    faults = FaultList("")
    return Parsed(_RecordRow(0, dict(row), faults).record("run", ""), faults.done())
