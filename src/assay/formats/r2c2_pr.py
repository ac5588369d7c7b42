"""R2C2 passage retrieval (PR) runs: ``QuestionID;PassageRank;DocID;PassageText``, up to 20 passages
per question. Only the first three semicolons separate fields.

Source: R2C2 paper, section 3.4, and the task's slides (format of a PR run).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from os import PathLike
from typing import Literal, Protocol, TypeAlias

from assay.formats.naming import (
    KnownIds,
    check_run_name,
    clean,
    normal_id,
    ranged_integer,
    run_name,
)
from assay.formats.parsed import FaultList, Parsed, Spot
from assay.formats.text import SourceText, check_break, reads_file
from assay.model.rag import PackedPassages, Passage, PassageKey, PassageRun, Question
from assay.model.scratch import Scratch
from assay.model.wording import joined, printable, quoted

MAX_RANK = 20
"""Most passages of a question, and the last rank (paper, section 3.4)."""
_RANKS = {str(rank): rank for rank in range(1, MAX_RANK + 1)}

_FIELDS = 4
_ENDINGS = (".gz", ".bz2", ".json", ".wikitext", ".txt")


class DocumentTexts(Protocol):
    """A corpus like a mapping from document id to text."""

    def get(self, key: str, /) -> str | None:
        """The document's text, or None if there is no such document."""
        ...


Corpus: TypeAlias = DocumentTexts | Callable[[str], str | None]


@reads_file
def read_pr_run(
    source: SourceText,
    faults: FaultList,
    *,
    questions: Iterable[Question] | None = None,
    max_passage_chars: int | None = None,
    corpus: Corpus | None = None,
    scratch: Scratch | None = None,
) -> PassageRun:
    """Read a PR run, from a file or its text, named after the file.

    ``questions`` checks question ids, ``max_passage_chars`` the length of each passage (including
    white space), and ``corpus`` that each document exists and contains the passage as one piece
    (apart from white space and NFC/NFD). The passages returned are in order of rank, whatever their
    order in the file. ``scratch`` stores the passages of several runs.
    """
    name = run_name(source.path)
    check_run_name(name, faults)
    known = None if questions is None else KnownIds(one.id for one in questions)
    texts = None if corpus is None else _Texts(corpus)
    reader = _PassageReader(faults, name, known, max_passage_chars, texts, source.plain)
    for number, line in source.numbered():
        if clean(line):
            reader.line(number, line)
    return reader.done(scratch or Scratch())


def read_rankings(
    given: str | PathLike[str] | SourceText,
) -> tuple[str, Parsed[dict[str, list[str]]]]:
    """The name of a PR run (that of its file) and its rankings: for each question the PassageKeys
    by rank, which name passages in the qrels that R2C2 derives from nuggets. Raises FormatError
    if the file cannot be read at all."""
    parsed = read_pr_run(given)
    run = parsed.value
    if run is None:
        return "", Parsed(None, parsed.faults)
    rankings = {
        question: [str(passage.key) for passage in passages]
        for question, passages in run.passages.items()
    }
    return run.name, Parsed(rankings, parsed.faults)


@dataclass(slots=True)
class _Lines:
    """The lines of one question that were read so far."""

    first: int
    last: int
    count: int = 0
    highest: int = 0
    faulty: bool = False
    out_of_order: int = 0
    scattered: int = 0
    passages: dict[int, Passage] = field(default_factory=dict)
    texts: dict[tuple[str, str], int] = field(default_factory=dict)


@dataclass(slots=True)
class _PassageReader:
    """Reader of one PR run."""

    faults: FaultList
    name: str
    known: KnownIds | None
    max_chars: int | None
    corpus: _Texts | None
    all_plain: bool
    seen: dict[str, _Lines] = field(default_factory=dict)
    previous: str | None = None
    previous_good: int = 0

    def line(self, number: int, line: str) -> None:
        cells = line.split(";", _FIELDS - 1)
        if len(cells) < _FIELDS:
            self._too_few(number, line, len(cells))
            return
        one = normal_id(cells[0])
        at = self.faults.at(number, one)
        if not one:
            at.error("The question id is empty.", "Write the id before the first “;”.")
            return
        self.previous_good = number
        lines = self._question(one, at)
        doc, text = clean(cells[2]), clean(cells[3])
        rank = self._rank(cells[1], at, lines)
        if not doc:
            at.error("The DocID is empty.", "Write the source document's id.")
        if text:
            self._text(text, at)
        else:
            at.error("The passage is empty.", "Write the passage, or leave the line out.")
        if rank is None:
            lines.faulty = True
            return
        if doc and text:
            first = lines.texts.setdefault((doc, text), number)
            if first != number:
                at.warning(
                    f"The same passage of the same document as on line {first}.",
                    "Leave one of them out.",
                )
            if self.corpus is not None:
                self.corpus.check(doc, text, at)
        lines.passages[rank] = Passage(one, PassageKey(self.name, rank), doc, text, number)

    def _too_few(self, number: int, line: str, fields: int) -> None:
        words = line.split()
        cure = "Write QuestionID;PassageRank;DocID;PassageText."
        if line.count("\t") >= _FIELDS - 1:
            cure = "Separate the fields with “;”, not with tabs."
        elif len(words) == 6 and words[1].upper() in {"Q0", "0"}:
            cure = "This looks like a TREC run (--format trec-run). " + cure
        elif self.previous_good == number - 1 and number > 1:
            cure = (
                f"If this is the rest of line {number - 1}'s passage, put it there: "
                f"a passage holds no line breaks. {cure}"
            )
            self.previous_good = number  # the next line may continue the passage too
        self.faults.error(
            number,
            f"The line has {fields - 1} semicolon{'s' if fields != 2 else ''}, not three.",
            cure,
        )

    def _question(self, one: str, at: Spot) -> _Lines:
        number = at.line
        lines = self.seen.get(one)
        if lines is None:
            lines = self.seen[one] = _Lines(first=number, last=number)
            if self.known is not None:
                self.known.check(at)
        elif self.previous != one and not lines.scattered:
            lines.scattered = number
            at.warning(
                f"More lines of a question that ended on line {lines.last}.",
                "Keep a question's lines together.",
            )
        lines.last = number
        lines.count += 1
        if lines.count == MAX_RANK + 1:
            at.error(
                f"More than {MAX_RANK} lines for the question.",
                f"Keep the first {MAX_RANK} passages.",
            )
        self.previous = one
        return lines

    def _rank(self, cell: str, at: Spot, lines: _Lines) -> int | None:
        plain = _RANKS.get(cell, 0)
        if plain > lines.highest:  # as nearly always
            lines.highest = plain
            return plain
        raw = clean(cell)
        low = raw.startswith("-") or not raw.strip("0")
        beyond = "Ranks start at 1." if low else f"A question has at most {MAX_RANK} passages."
        rank = ranged_integer(raw, "rank", MAX_RANK, at, beyond)
        if rank is None:
            return None
        before = lines.passages.get(rank)
        if before is not None:
            at.error(
                f"The rank {rank} was already used on line {before.line}.",
                "Ties are not allowed: give every passage its own rank.",
            )
            return None
        if raw != cell or raw != str(rank):
            at.warning(f"The rank {quoted(cell)} has spaces or leading zeros.", f"Write {rank}.")
        if rank < lines.highest and not lines.out_of_order:
            lines.out_of_order = at.line
            at.warning(
                f"Rank {rank} comes after rank {lines.highest}.",
                "Write the passages in rank order; they were sorted here.",
            )
        lines.highest = max(lines.highest, rank)
        return rank

    def _text(self, text: str, at: Spot) -> None:
        if not self.all_plain:
            check_break(text, "passage", at)
        if self.max_chars is not None and len(text) > self.max_chars:
            at.error(
                f"The passage has {len(text)} characters, more than {self.max_chars}.",
                "Shorten it, or split it into two passages.",
            )

    def done(self, scratch: Scratch) -> PassageRun:
        for one, lines in self.seen.items():
            missing = sorted(set(range(1, lines.highest)) - set(lines.passages))
            if missing and not lines.faulty:
                self.faults.warning(
                    lines.first,
                    f"No passage has rank {joined(map(str, missing))} (last rank: "
                    f"{lines.highest}).",
                    "Number the passages 1, 2, 3 without gaps.",
                    one,
                )
        if not self.seen:
            self.faults.error(
                0, "The file holds no passage.", "Write QuestionID;PassageRank;DocID;PassageText."
            )
        elif self.known is not None:
            cure = "If this is not intended, add passages."
            self.known.check_all(self.seen, self.faults, "passages", cure)
        passages = {
            one: PackedPassages.of(
                [lines.passages[rank] for rank in sorted(lines.passages)], scratch
            )
            for one, lines in self.seen.items()
            if lines.passages
        }
        return PassageRun(self.name, passages)


def _fold(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


class _Texts:
    """A corpus that caches the last document's text, which is often cited again."""

    def __init__(self, corpus: Corpus) -> None:
        self._look_up: Callable[[str], str | None] = corpus if callable(corpus) else corpus.get
        self._doc: str | None = None
        self._text: str | None = None
        self._folded: str | None = None

    def check(self, doc: str, text: str, at: Spot) -> None:
        """Report a document that does not exist or does not contain ``text``."""
        if doc != self._doc:
            self._doc, self._text, self._folded = doc, self._look_up(doc), None
        if self._text is None:
            at.error(f"There is no document {quoted(doc)} in the corpus.", self._document_cure(doc))
            return
        if text in self._text:
            return
        if self._folded is None:
            self._folded = _fold(self._text)
        folded = _fold(text)
        if folded in self._folded:
            return
        cure = "Copy one consecutive part of the document, unchanged."
        if folded.casefold() in self._folded.casefold():
            cure = "Only upper and lower case differ. " + cure
        elif _joined(folded, self._folded):
            cure = "The parts around the dots are there: a passage is one part. " + cure
        at.error(f"The passage is not a consecutive part of {quoted(doc)}.", cure)

    def _document_cure(self, doc: str) -> str:
        forms: tuple[Literal["NFC", "NFD"], ...] = ("NFC", "NFD")
        for form in forms:
            other = unicodedata.normalize(form, doc)
            if other != doc and self._look_up(other) is not None:
                return f"The corpus has it in Unicode normal form {form}."
        short = doc
        for ending in _ENDINGS:
            short = short.removesuffix(ending)
        if short != doc and self._look_up(short) is not None:
            return f"Write {printable(short)}, without the ending."
        return "Use the DocID of the corpus."


def _joined(text: str, document: str) -> bool:
    parts = [part.strip() for part in text.replace("…", "...").split("...") if part.strip()]
    return len(parts) > 1 and all(part in document for part in parts)
