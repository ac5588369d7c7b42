"""Edits and versions of question banks, and the differences between versions.

Every edit is a line of ``BANK.history.jsonl`` beside the bank: number, time, person, action, and
the question before and after. A version is a number of edits (0: the original bank), so any
earlier version can be restored.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from assay.formats.exam_bank import bank_file, open_bank, write_bank
from assay.formats.exam_bank_reading import read_bank
from assay.model.errors import SettingsError
from assay.model.exam import Bank, BankQuestion, QueryBank
from assay.protocols.output import write_bytes


@dataclass(frozen=True, slots=True)
class Edit:
    """A recorded change of one question. ``before`` is None if it was added, ``after`` if it was
    removed (undone)."""

    number: int
    at: str
    by: str
    action: str
    query: str
    before: BankQuestion | None
    after: BankQuestion | None


def history_path(bank: Path) -> Path:
    """Path of a bank's edits; ``w.tsv`` and ``w.tsv.gz`` are different banks."""
    return bank.with_name(f"{bank.name.removesuffix('.jsonl')}.history.jsonl")


def read_history(bank: Path) -> tuple[Edit, ...]:
    """The edits of a bank, oldest first. Raises SettingsError if they cannot be read."""
    path = history_path(bank)
    if not path.exists():
        return ()
    edits = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        try:
            row = orjson.loads(line)
            edits.append(
                Edit(
                    row["number"], row["at"], row["by"], row["action"], row["query"],
                    _question(row["before"]), _question(row["after"]),
                )
            )  # fmt: skip
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            raise SettingsError(f"{path}:{number} cannot be read: {error}.") from error
    return tuple(edits)


def _question(row: Mapping[str, Any] | None) -> BankQuestion | None:
    return None if row is None else BankQuestion(**{**row, "gold": tuple(row["gold"])})


def read_version(text: str) -> Bank:
    """Read the bank ``FILE`` in its current state, or ``FILE@N`` in its state after N edits."""
    path, at, number = text.rpartition("@")
    if at and number.isdigit() and not Path(text).exists():
        bank = read_bank(Path(path)).require()
        edits = read_history(Path(path))
        if int(number) > len(edits):
            raise SettingsError(f"{path} has {len(edits)} edits; there is no version {number}.")
        for edit in reversed(edits[int(number) :]):
            bank = _put(bank, edit.query, edit.after, edit.before)
        return bank
    return read_bank(Path(text)).require()


def fingerprint(bank: Bank) -> str:
    """A fingerprint of ten digits that identifies the content."""
    return hashlib.sha256(write_bank(replace(bank, rows=()))).hexdigest()[:10]


def _put(bank: Bank, query: str, old: BankQuestion | None, new: BankQuestion | None) -> Bank:
    """The bank with one question replaced by another."""
    found = bank.queries.get(query) or QueryBank(query, None, ())
    questions = list(found.questions)
    if old is None and new is not None:
        questions.append(new)
    else:
        place = next((i for i, one in enumerate(questions) if old and one.id == old.id), None)
        if place is None:
            raise SettingsError(
                f"The bank has no question '{old and old.id}', which its history changes. It was "
                "edited by hand since, so that version cannot be restored."
            )
        questions[place : place + 1] = [] if new is None else [new]
    joined = replace(found, questions=tuple(questions))
    return replace(bank, queries={**bank.queries, query: joined})


def find(bank: Bank, identity: str, query: str | None = None) -> tuple[str, BankQuestion]:
    """The question with that id, and its query. Raises SettingsError if there is none, or if
    several queries have one."""
    found = [
        (name, question)
        for name, one in bank.queries.items()
        for question in one.questions
        if question.id == identity and query in (None, name)
    ]
    if len(found) == 1:
        return found[0]
    if found:
        raise SettingsError(
            f"{len(found)} queries have a question '{identity}'. Say which one with --query."
        )
    raise SettingsError(f"There is no question '{identity}'. 'assay bank list' shows all.")


def edit(
    path: Path,
    by: str,
    action: str,
    query: str,
    before: BankQuestion | None,
    after: BankQuestion,
) -> Edit:
    """Change one question in a bank file, and record the edit. Raises SettingsError if no person is
    named, the question could not be read back, a new id is taken, nothing would change, or the file
    format cannot hold it."""
    if not (by.strip() and after.text.strip() and 0 <= after.weight < math.inf):
        raise SettingsError(
            "An edit needs the name of who edits, a question needs text, and a weight must be 0 "
            "or more."
        )
    bank = open_bank(path)
    if before is None:
        taken = bank.queries.get(query)
        if taken is not None and any(one.id == after.id for one in taken.questions):
            raise SettingsError(f"The query {query} already has a question '{after.id}'.")
        if taken is not None and taken.questions:  # a bank of nuggets gets one more of them
            after = replace(after, nugget=all(one.nugget for one in taken.questions))
    elif before == after:
        raise SettingsError(f"Nothing changes: the question '{after.id}' is already like that.")
    return _record(path, bank, by, action, [(query, before, after)])[0]


def extend(path: Path, bank: Bank, by: str, new: Iterable[tuple[str, BankQuestion]]) -> None:
    """Add ``new`` questions, each with its query, to ``bank``, write it, and record the edits.
    Raises SettingsError if the file format cannot hold them."""
    _record(path, bank, by, "generate", [(query, None, one) for query, one in new])


def _record(
    path: Path,
    bank: Bank,
    by: str,
    action: str,
    made: Iterable[tuple[str, BankQuestion | None, BankQuestion]],
) -> list[Edit]:
    edits = read_history(path)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    added = []
    for number, (query, before, after) in enumerate(made, len(edits) + 1):
        bank = _put(bank, query, before, after)
        added.append(Edit(number, now, by, action, query, before, after))
    data = bank_file(path, bank)
    # The record first: after a crash in between, an edit is known that has yet to be done again.
    lines = (orjson.dumps(asdict(one)) + b"\n" for one in (*edits, *added))
    write_bytes(history_path(path), b"".join(lines))
    write_bytes(path, data)
    return added


@dataclass(frozen=True, slots=True)
class QuestionChange:
    """How a question differs between two versions: ``added``, ``dropped``, ``reworded``,
    ``key``, ``weight`` or ``active``."""

    query: str
    id: str
    what: str
    before: str
    after: str


def changes(old: Bank, new: Bank) -> Iterator[QuestionChange]:
    """The differences, question by question. An inactive question counts as dropped."""
    for query in dict.fromkeys([*old.queries, *new.queries]):
        before = {one.id: one for one in _all(old, query)}
        after = {one.id: one for one in _all(new, query)}
        for identity in dict.fromkeys([*before, *after]):
            yield from differences(query, before.get(identity), after.get(identity))


def _all(bank: Bank, query: str) -> tuple[BankQuestion, ...]:
    found = bank.queries.get(query)
    return () if found is None else found.questions


def differences(
    query: str, one: BankQuestion | None, other: BankQuestion | None
) -> Iterator[QuestionChange]:
    """How a question differs from its earlier state; None if it does not exist."""
    was = one is not None and one.active
    now = other is not None and other.active
    if one is None or not was:
        if other is not None and now:
            yield QuestionChange(query, other.id, "added", "", other.text)
        return
    if other is None or not now:
        yield QuestionChange(query, one.id, "dropped", one.text, "")
        return
    if one.text != other.text:
        yield QuestionChange(query, one.id, "reworded", one.text, other.text)
    if one.gold != other.gold:
        yield QuestionChange(query, one.id, "key", " | ".join(one.gold), " | ".join(other.gold))
    if one.weight != other.weight:
        yield QuestionChange(query, one.id, "weight", f"{one.weight:g}", f"{other.weight:g}")
