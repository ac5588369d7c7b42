"""Questions, passages, answers and nuggets, as the R2C2 task defines them.

Source: NTCIR-19 R2C2 task paper, sections 3.2-3.5. A shared task has hundreds of thousands of
passages and answers. As objects they would take several times the memory of their texts, so
:class:`PackedPassages` and :class:`Answers` keep them in a scratch file and create them on access.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache, partial
from itertools import count, repeat
from operator import eq
from struct import Struct
from typing import Any, NamedTuple

from assay.model.scratch import Scratch, Texts

_ANSWER = Struct("=BIII")  # confidence, line, line of the first nugget, how many nuggets


class Mark(StrEnum):
    """The result of steps 3 and 4 for a nugget: the letter in a marked AC run."""

    BOGUS = "B"
    RELEVANT = "R"
    NONRELEVANT = "N"


WORDINGS = " | "
"""Separator between the wordings of one gold answer."""


@dataclass(frozen=True, slots=True)
class Question:
    """A test question. ``gold`` holds the accepted answers, if any. If several answers are
    ``required`` together, that field has the wordings of each, and ``gold`` has all wordings."""

    id: str
    text: str
    category: str | None = None
    gold: tuple[str, ...] = ()
    line: int = 0
    required: tuple[tuple[str, ...], ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The gold answers as they are shown: each required answer with its wordings, or
        ``gold``."""
        return tuple(map(WORDINGS.join, self.required)) or self.gold


class PassageKey(NamedTuple):
    """``PRrunName;PassageRank``, which identifies a passage within a question."""

    run: str
    rank: int

    def __str__(self) -> str:
        return f"{self.run};{self.rank}"


class Passage(NamedTuple):
    """One line of a PR run. Its rank is 1-20, ``text`` is a consecutive part of document
    ``doc``."""

    question: str
    key: PassageKey
    doc: str
    text: str
    line: int = 0


# Passage(...) without the overhead of a Python call.
_passage: Callable[[Iterable[Any]], Passage] = partial(tuple.__new__, Passage)


@lru_cache(1 << 14)
def _once(value: Any) -> Any:
    """Return equal values as one object, to save memory."""
    return value


class PackedPassages(Sequence[Passage]):
    """The passages of a run for a question, in rank order, kept in a scratch file."""

    __slots__ = ("_at", "_question", "_ranks", "_run", "_scratch", "_size")

    @classmethod
    def of(cls, passages: Sequence[Passage], scratch: Scratch) -> Sequence[Passage]:
        """The passages, packed if possible: ranks fit into a byte, no text has a line break."""
        unpackable = not passages or any(
            not 0 < one.key.rank < 256 or "\n" in one.doc or "\n" in one.text for one in passages
        )
        return tuple(passages) if unpackable else cls(passages, scratch)

    def __init__(self, passages: Sequence[Passage], scratch: Scratch) -> None:
        self._question = passages[0].question
        self._run = passages[0].key.run
        self._ranks: bytes = _once(bytes([one.key.rank for one in passages]))
        texts = "\n".join([*(one.doc for one in passages), *(one.text for one in passages)])
        lines = array("L", [one.line for one in passages])
        data = lines.tobytes() + texts.encode(errors="surrogatepass")
        self._scratch, self._at, self._size = scratch, scratch.add(data), len(data)

    def __len__(self) -> int:
        return len(self._ranks)

    @property
    def ranks(self) -> bytes:
        """The rank of each passage, one byte each."""
        return self._ranks

    def __getitem__(self, index: Any) -> Any:
        return tuple(self)[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __iter__(self) -> Iterator[Passage]:
        data = self._scratch.read(self._at, self._size)
        lines, number = array("L"), len(self)
        begin = number * lines.itemsize
        lines.frombytes(data[:begin])
        texts = data[begin:].decode(errors="surrogatepass").split("\n")
        keys = map(_once, map(PassageKey, repeat(self._run), self._ranks))
        columns = repeat(self._question), keys, texts[:number], texts[number:], lines
        return map(_passage, zip(*columns, strict=False))


@dataclass(frozen=True, slots=True)
class PassageRun:
    """A PR run: the passages of each question id, in rank order."""

    name: str
    passages: Mapping[str, Sequence[Passage]]


class Nugget(NamedTuple):
    """A factual claim in one sentence, and the passage that it is taken from. ``mark`` is None in
    an unmarked AC run, and if a label is missing."""

    num: int
    key: PassageKey
    text: str
    mark: Mark | None = None
    line: int = 0


_nugget: Callable[[Iterable[Any]], Nugget] = partial(tuple.__new__, Nugget)


class PlainNuggets(NamedTuple):
    """The nuggets of an answer as columns, if all are unmarked and on consecutive lines. ``first``
    is the line of the first nugget."""

    nums: bytes
    keys: Sequence[PassageKey]
    texts: Sequence[str]
    first: int

    @classmethod
    def of(cls, nuggets: Sequence[Nugget]) -> PlainNuggets | None:
        """The nuggets as columns, or None if that is not possible."""
        first = nuggets[0].line if nuggets else 0
        if any(
            one.mark is not None or one.line != line or "\n" in one.text or not 0 < one.num < 256
            for line, one in enumerate(nuggets, first)
        ):
            return None
        nums, keys, texts, _, _ = zip(*nuggets, strict=True) if nuggets else ((),) * 5
        return cls(bytes(nums), keys, texts, first)

    def unpacked(self) -> tuple[Nugget, ...]:
        """The nuggets as objects."""
        columns = self.nums, self.keys, self.texts, repeat(None), count(self.first)
        return tuple(map(_nugget, zip(*columns, strict=False)))


@dataclass(frozen=True, slots=True)
class Answer:
    """One block of an AC run. ``confidence`` is an integer 0-100."""

    question: str
    text: str
    confidence: int
    nuggets: Sequence[Nugget] = ()
    line: int = 0


class SharedAnswers:
    """Storage that several runs share: the scratch file of their answers, and the index of
    questions of runs that answer the same ones in the same order."""

    def __init__(self) -> None:
        self.scratch = Scratch()
        self._places: dict[str, int] = {}

    def places(self, places: dict[str, int]) -> dict[str, int]:
        """An index equal to ``places``: the previous run's object, if it has the same entries."""
        # The order counts too, as it is that of the file; == of dicts ignores it.
        if len(places) != len(self._places) or not all(
            map(eq, places.items(), self._places.items())
        ):
            self._places = places
        return self._places


class Answers(Mapping[str, Answer]):
    """The answers of a run by question id, in file order, kept in a scratch file."""

    def __init__(self, shared: SharedAnswers | None = None) -> None:
        self._shared = shared or SharedAnswers()
        self._at: dict[str, int] = {}
        self._unpacked: dict[str, Answer] = {}  # answers that cannot be packed
        self._records = Texts(self._shared.scratch)
        self._keys: dict[PassageKey, int] = {}
        self._keys_in_order: list[PassageKey] = []

    def add(self, answer: Answer) -> None:
        """Add the answer to a question that has none yet."""
        nuggets = PlainNuggets.of(answer.nuggets)
        if nuggets is not None and "\n" not in answer.text:
            self.add_plain(answer.question, answer.text, answer.confidence, answer.line, nuggets)
        else:
            # Only for the file order: no record is added or read at this index.
            self._at[answer.question] = len(self._records)
            self._unpacked[answer.question] = answer

    def add_plain(
        self, question: str, text: str, confidence: int, line: int, nuggets: PlainNuggets
    ) -> None:
        """Add an answer given by its parts; no text may contain a line break."""
        self._at[question] = len(self._records)
        nums, keys, texts, first = nuggets
        known = self._keys
        for key in keys:
            if key not in known:
                known[key] = len(known)
                self._keys_in_order.append(key)
        self._records.add(
            b"%b%b%b%b"
            % (
                _ANSWER.pack(confidence, line, first, len(nums)),
                nums,
                array("I", map(known.__getitem__, keys)).tobytes(),
                "\n".join((text, *texts)).encode(errors="surrogatepass"),
            )
        )

    def finish(self) -> None:
        """Call once all answers have been added."""
        self._at = self._shared.places(self._at)

    def __len__(self) -> int:
        return len(self._at)

    def __iter__(self) -> Iterator[str]:
        return iter(self._at)

    def __contains__(self, question: object) -> bool:
        return question in self._at

    def __getitem__(self, question: str) -> Answer:
        if question in self._unpacked:
            return self._unpacked[question]
        data = self._records.data(self._at[question])
        confidence, line, first, number = _ANSWER.unpack_from(data)
        nums = data[_ANSWER.size : _ANSWER.size + number]
        # Each nugget has one byte for its number and four for its key.
        text_at = _ANSWER.size + 5 * number
        cited = array("I", data[_ANSWER.size + number : text_at])
        text, *texts = data[text_at:].decode(errors="surrogatepass").split("\n")
        keys = [self._keys_in_order[code] for code in cited]
        return Answer(
            question, text, confidence, PlainNuggets(nums, keys, texts, first).unpacked(), line
        )


@dataclass(frozen=True, slots=True)
class AnswerRun:
    """An AC run: the answer to each question id, in file order."""

    name: str
    answers: Mapping[str, Answer]
    marked: bool = field(default=False)
