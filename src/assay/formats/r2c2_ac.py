"""R2C2 answer (AC) runs, unmarked and marked: reading, and writing of marks without other changes.

There is one block per question, ``<0001>`` … ``</0001>``, with ``AnswerString;ConfidenceScore`` and
then up to ten lines ``NuggetNum;PRrunName;PassageRank;Nugget``. A marked run has a letter B, R or N
before each NuggetNum. Source: R2C2 paper, section 3.5, and the task's slides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from assay.formats.naming import KnownIds, check_run_name, clean, normal_id, run_name
from assay.formats.parsed import FaultList, Spot
from assay.formats.r2c2_nuggets import (
    NuggetReader,
    looks_like_record,
    read_answer,
)
from assay.formats.text import SourceText, read_text, reads_file
from assay.model.errors import AssayError, Fault, FormatError
from assay.model.rag import Answer, AnswerRun, Answers, Mark, PassageRun, Question, SharedAnswers
from assay.model.wording import joined, quoted

_TAG = re.compile("<([^<>;]*)>")
_BROKEN_TAG = re.compile(r"<(/?)\s*([^<>;\s]+)")
_MARKS = frozenset(Mark)
_CLOSING_TAG = re.compile(r"<(\s*/[^<>;]*)>$")
_OWN_LINE = "Put the tag on its own line."


@dataclass(frozen=True, slots=True)
class AnswerRunFile:
    """An AC run with what is needed to write its file again with other marks: its ``path``, and
    ``digest``, the SHA-256 of its decompressed bytes."""

    run: AnswerRun
    path: Path = field(repr=False)
    digest: bytes = field(repr=False)

    @property
    def marks(self) -> dict[str, dict[int, Mark]]:
        """The marks in the file: writing these gives the same bytes."""
        return {
            question: {one.num: one.mark for one in answer.nuggets if one.mark is not None}
            for question, answer in self.run.answers.items()
        }


def write_marked(file: AnswerRunFile, marks: Mapping[str, Mapping[int, Mark]]) -> bytes:
    """The file's bytes with other ``marks``, by question id and NuggetNum, and no other change.

    A nugget without a mark loses any letter that it had. The bytes are not compressed, even if the
    file is. Raises :class:`AssayError` for a mark of a nugget that the run does not have, and
    :class:`FormatError` if the file has changed.
    """
    text = read_text(file.path)  # read again: the texts of a hundred runs would fill the memory
    if sha256(text.data).digest() != file.digest:
        why = "The file changed after it was read."
        raise FormatError([Fault(str(file.path), 0, None, why, "Run the command again.")])
    wanted = {normal_id(question): dict(found) for question, found in marks.items()}
    lines = text.data.split(text.separator)
    for question, answer in file.run.answers.items():
        found = wanted.get(question, {})
        for nugget in answer.nuggets:
            at = nugget.line - 1
            lines[at] = _with_mark(lines[at], found.pop(nugget.num, None))
    unknown = [f"{question} nugget {num}" for question, left in wanted.items() for num in left]
    if unknown:
        raise AssayError(
            f"The run {file.run.name} has no such nugget to mark: {joined(sorted(unknown))}."
        )
    return text.separator.join(lines)


def _with_mark(line: bytes, mark: Mark | None) -> bytes:
    """A nugget record with its mark replaced or removed."""
    head, semicolon, rest = line.partition(b";")
    text = head.decode(errors="surrogateescape")
    before, bare, after = text.partition(clean(text))
    bare = bare[1:] if bare[:1] in _MARKS else bare
    marked = f"{before}{mark or ''}{bare}{after}"
    return marked.encode(errors="surrogateescape") + semicolon + rest


def without_closing_tag(text: str, question: str) -> str:
    """``text`` without closing tags of ``question`` at its end, as these would end the block."""
    text = clean(text)
    while (found := _closing_tag(text, normal_id(question))) is not None:
        text = clean(text[: found.start()])
    return text


def _closing_tag(text: str, question: str) -> re.Match[str] | None:
    """The closing tag of ``question`` that ``text`` ends with."""
    found = _CLOSING_TAG.search(text)
    return found if found and normal_id(_inner(found.group(1))[1]) == question else None


@reads_file
def read_ac_run(
    source: SourceText,
    faults: FaultList,
    *,
    questions: Iterable[Question] | None = None,
    pr_runs: Mapping[str, PassageRun] | None = None,
    shared: SharedAnswers | None = None,
) -> AnswerRunFile:
    """Read an AC run, marked or not, named after its file.

    With ``questions``, block ids are checked and questions without a block are reported; with
    ``pr_runs``, every PassageKey must exist in one of them for its question. Blocks without a valid
    confidence are left out of the value, and so are nuggets without a valid number, rank or mark.
    ``shared`` is what several runs have in common.
    """
    name = run_name(source.path)
    check_run_name(name, faults)
    known = None if questions is None else KnownIds(one.id for one in questions)
    nuggets = NuggetReader(faults, pr_runs, source.plain)
    reader = _AnswerReader(faults, known, nuggets, Answers(shared))
    for line in source.numbered():
        reader.line(*line)
    answers = reader.done()
    run = AnswerRun(name, answers, marked=nuggets.marked > 0)
    return AnswerRunFile(run, source.path, sha256(source.data).digest())


_Line = tuple[int, str]
"""The number of a line, and its text or the rest of it after a tag."""


def _inner(tag: str) -> tuple[bool, str]:
    """Whether the text between < and > is a closing tag, and its id."""
    text = clean(tag)
    return text.startswith("/"), clean(text.removeprefix("/"))


@dataclass(slots=True)
class _Block:
    question: str
    opened: int
    counts: bool
    lines: list[_Line] = field(default_factory=list)


@dataclass(slots=True)
class _AnswerReader:
    """Reader of one AC run, with the open block and the answers of closed ones."""

    faults: FaultList
    known: KnownIds | None
    nuggets: NuggetReader
    answers: Answers
    opened: dict[str, int] = field(default_factory=dict)
    block: _Block | None = None
    outside: int = 0

    def line(self, number: int, line: str) -> None:
        text = clean(line)
        if not text:
            return
        if self.block is not None and not text.startswith("<"):
            self._inside(number, line, text, self.block)
            return
        tag, broken = _TAG.fullmatch(text), _BROKEN_TAG.fullmatch(text)
        if tag:
            closing, inner = _inner(tag.group(1))
            at = self.faults.at(number, normal_id(inner))
            tight = f"<{'/' if closing else ''}{inner}>"
            if inner and text != tight:
                at.warning(f"The tag {quoted(text)} has spaces inside.", f"Write {quoted(tight)}.")
            self._tag(at, closing)
        elif broken:
            at = self.faults.at(number, normal_id(broken.group(2)))
            at.error(f"The tag {quoted(text)} is not complete.", "End it with “>”.")
            self._tag(at, bool(broken.group(1)))
        elif self.block is None:
            self._outside(number, line, text)
        else:
            self._inside(number, line, text, self.block)

    def _tag(self, at: Spot, closing: bool) -> None:
        """Open or close the block of the topic of ``at``."""
        shown = quoted(at.topic or "")[1:-1]
        if not at.topic:
            at.error("The tag holds no question id.", "Write e.g. <0001>.")
            if closing:
                self._close()
        elif not closing:
            if self.block is not None:
                self._unclosed(f"before <{at.topic}> on line {at.line}")
            self._open(at)
        elif self.block is None:
            at.error(
                f"The tag </{shown}> closes no open block.",
                f"Write <{shown}> at the block's start.",
            )
        else:
            if self.block.question != at.topic:
                own = quoted(self.block.question)[1:-1]
                self.faults.at(at.line, self.block.question).error(
                    f"The tag </{shown}> closes the block <{own}> of line {self.block.opened}.",
                    f"Write </{own}>.",
                )
            self._close()

    def _open(self, at: Spot) -> None:
        one, number = at.topic or "", at.line
        first = self.opened.setdefault(one, number)
        if first != number:
            at.error(
                f"A second block for the question; the first is on line {first}.",
                "Keep one of them; the first was read.",
            )
        elif self.known is not None:
            self.known.check(at)
        self.block = _Block(one, number, counts=first == number)

    def _unclosed(self, where: str) -> None:
        assert self.block is not None  # noqa: S101 - only called with an open block
        one = self.block.question
        self.faults.at(self.block.opened, one).error(
            f"The block is not closed {where}.",
            f"Write </{quoted(one)[1:-1]}> on a line after its last nugget.",
        )
        self._close()

    def _outside(self, number: int, line: str, text: str) -> None:
        leading = _TAG.match(text)
        closing, inner = _inner(leading.group(1)) if leading else (True, "")
        at = self.faults.at(number, normal_id(inner))
        if leading and inner and not closing:
            at.error(f"Text follows the tag {quoted(leading.group())} on its line.", _OWN_LINE)
            self._open(at)
            self.line(number, line.partition(leading.group())[2])
            return
        if self.outside != number - 1 or not self.outside:
            cure = "Every answer and nugget belongs between <QuestionID> and </QuestionID>."
            if re.match(r"[^;]+;\d+;[^;]+;", text):
                cure += " A PR run is checked with --format r2c2-pr."
            self.faults.error(number, f"Text outside a block: {quoted(text)}.", cure)
        self.outside = number

    def _inside(self, number: int, line: str, text: str, block: _Block) -> None:
        ending = _closing_tag(text, block.question)
        if ending is None:
            block.lines.append((number, line))
            return
        why = f"The tag {quoted(ending.group())} follows other text on its line."
        self.faults.error(number, why, _OWN_LINE, block.question)
        before = line[: line.rindex("<")]
        if before.strip():
            block.lines.append((number, before))
        self._close()

    def _close(self) -> None:
        block, self.block = self.block, None
        if block is None:
            return
        one = block.question
        if not block.lines:
            cure = "Write AnswerString;ConfidenceScore, or leave the block out."
            self.faults.error(block.opened, "The block is empty.", cure, one)
            return
        answer_line, records = self._split(block)
        answer = None
        if answer_line is not None:
            number, line = answer_line
            answer = read_answer(line, self.faults.at(number, one))
        plain = self.nuggets.plain(one, records)
        found = () if plain is not None else self.nuggets.block(one, records)
        if answer is None or not block.counts:
            return
        if plain is not None:
            self.answers.add_plain(one, *answer, plain)
        else:
            text, confidence, number = answer
            self.answers.add(Answer(one, text, confidence, tuple(found), number))

    def _split(self, block: _Block) -> tuple[_Line | None, list[_Line]]:
        """The block's answer line and nugget records, with a fault if they are out of order."""
        first, *rest = block.lines
        if not looks_like_record(first[1], self.nuggets.pr_runs):
            return first, rest
        others = (one for one in rest if not looks_like_record(one[1], self.nuggets.pr_runs))
        later = next(others, None)
        if later is None or ";" not in later[1]:
            why = "A nugget record is in the place of the answer: the answer line is missing."
        else:
            why = f"A nugget record comes before the answer on line {later[0]}."
        cure = "Begin the block with AnswerString;ConfidenceScore."
        self.faults.error(first[0], why, cure, block.question)
        return later, [line for line in block.lines if line is not later]

    def done(self) -> Answers:
        """Close the last block at the end of the file and report what the run as a whole lacks."""
        if self.block is not None:
            self._unclosed("at the end of the file")
        self.nuggets.done()
        self.answers.finish()
        if not self.opened:
            self.faults.error(
                0, "The file holds no answer block.", "Write <QuestionID> … </QuestionID> blocks."
            )
        elif self.known is not None:
            self.known.check_all(
                self.opened,
                self.faults,
                "block",
                "Add them: a question without a block counts as incorrect, and its confidence is "
                "unknown.",
            )
        return self.answers
