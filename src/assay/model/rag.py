"""Questions, passages, answers and nuggets, as the R2C2 task defines them.

Source: NTCIR-19 R2C2 task paper, sections 3.2-3.5. A *PassageKey* is the pair of a PR run's name
and a passage rank; within a question it names one passage.
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
    """What step 3 and 4 found a nugget to be: the letter of a marked AC run."""

    BOGUS = "B"
    RELEVANT = "R"
    NONRELEVANT = "N"


WORDINGS = " | "
"""Between the wordings of one gold answer."""


@dataclass(frozen=True, slots=True)
class Question:
    """A test question. ``gold`` holds the accepted answers, empty where none were given; where
    several are ``required`` these, each with its wordings, and ``gold`` all of them."""

    id: str
    text: str
    category: str | None = None
    gold: tuple[str, ...] = ()
    line: int = 0
    required: tuple[tuple[str, ...], ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The gold answers as they are shown: one wording after the other, or what is required."""
        return tuple(WORDINGS.join(one) for one in self.required) or self.gold


class PassageKey(NamedTuple):
    """``PRrunName;PassageRank``: names one passage within a question."""

    run: str
    rank: int

    def __str__(self) -> str:
        return f"{self.run};{self.rank}"


class Passage(NamedTuple):
    """One line of a PR run. ``rank`` is 1-20, ``text`` one consecutive part of document ``doc``."""

    question: str
    key: PassageKey
    doc: str
    text: str
    line: int = 0


# What Passage(...) comes to, without a call in between.
_passage: Callable[[Iterable[Any]], Passage] = partial(tuple.__new__, Passage)


@lru_cache(1 << 14)
def _once(value: Any) -> Any:
    """The same value, of which many are alike, as one object."""
    return value


class PackedPassages(Sequence[Passage]):
    """The passages of a run for a question, in rank order. They lie in a scratch and are made when
    they are looked at: a shared task has hundreds of thousands, and an object each would take five
    times as much."""

    __slots__ = ("_at", "_question", "_ranks", "_run", "_scratch", "_size")

    @classmethod
    def of(cls, passages: Sequence[Passage], scratch: Scratch) -> Sequence[Passage]:
        """The passages, packed where that can be done: ranks are bytes, nothing breaks a line."""
        odd = not passages or any(
            not 0 < one.key.rank < 256 or "\n" in one.doc or "\n" in one.text for one in passages
        )
        return tuple(passages) if odd else cls(passages, scratch)

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
        """The rank of each, a byte each."""
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
    """A PR run: for each question id its passages in rank order."""

    name: str
    passages: Mapping[str, Sequence[Passage]]


class Nugget(NamedTuple):
    """A factual claim in one sentence with the passage that it was drawn from.

    ``mark`` is None in an unmarked AC run, and where a label is missing.
    """

    num: int
    key: PassageKey
    text: str
    mark: Mark | None = None
    line: int = 0


_nugget: Callable[[Iterable[Any]], Nugget] = partial(tuple.__new__, Nugget)


class PlainNuggets(NamedTuple):
    """The nuggets of an answer as columns, where none is marked and each stands on a line of its
    own, the ``first`` of these and those behind it."""

    nums: bytes
    keys: Sequence[PassageKey]
    texts: Sequence[str]
    first: int

    @classmethod
    def of(cls, nuggets: Sequence[Nugget]) -> PlainNuggets | None:
        """The nuggets so, where they are such."""
        first = nuggets[0].line if nuggets else 0
        if any(
            one.mark is not None or one.line != line or "\n" in one.text or not 0 < one.num < 256
            for line, one in enumerate(nuggets, first)
        ):
            return None
        nums, keys, texts, _, _ = zip(*nuggets, strict=True) if nuggets else ((),) * 5
        return cls(bytes(nums), keys, texts, first)

    def made(self) -> tuple[Nugget, ...]:
        """One after the other."""
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
    """What several runs hold together: the ``scratch`` in which their answers lie, and which
    questions they answer, where they do so in the same order."""

    def __init__(self) -> None:
        self.scratch = Scratch()
        self._places: dict[str, int] = {}

    def places(self, places: dict[str, int]) -> dict[str, int]:
        """The same places of answers, which may be those of the run before."""
        # In order, which == of dicts does not look at: it is the order of the file.
        if len(places) != len(self._places) or not all(
            map(eq, places.items(), self._places.items())
        ):
            self._places = places
        return self._places


class Answers(Mapping[str, Answer]):
    """The answers of a run by question id, in the order of the file.

    They lie in a scratch and are made when they are looked at: a shared task has hundreds of
    thousands, and objects would take several times as much as their texts.
    """

    def __init__(self, shared: SharedAnswers | None = None) -> None:
        self._shared = shared or SharedAnswers()
        self._at: dict[str, int] = {}
        self._odd: dict[str, Answer] = {}  # those that do not fit
        self._records = Texts(self._shared.scratch)
        self._keys: dict[PassageKey, int] = {}
        self._keys_in_order: list[PassageKey] = []

    def add(self, answer: Answer) -> None:
        """Add an answer to a question that has none yet."""
        nuggets = PlainNuggets.of(answer.nuggets)
        if nuggets is not None and "\n" not in answer.text:
            self.add_plain(answer.question, answer.text, answer.confidence, answer.line, nuggets)
        else:
            # For the order of the file alone: no record is added, and none is read at this place.
            self._at[answer.question] = len(self._records)
            self._odd[answer.question] = answer

    def add_plain(
        self, question: str, text: str, confidence: int, line: int, nuggets: PlainNuggets
    ) -> None:
        """The same without an object for each; no text has several lines."""
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

    def done(self) -> None:
        """All were added."""
        self._at = self._shared.places(self._at)

    def __len__(self) -> int:
        return len(self._at)

    def __iter__(self) -> Iterator[str]:
        return iter(self._at)

    def __contains__(self, question: object) -> bool:
        return question in self._at

    def __getitem__(self, question: str) -> Answer:
        if question in self._odd:
            return self._odd[question]
        data = self._records.data(self._at[question])
        confidence, line, first, number = _ANSWER.unpack_from(data)
        nums = data[_ANSWER.size : _ANSWER.size + number]
        # For each nugget a byte of its number and four of its key.
        text_at = _ANSWER.size + 5 * number
        cited = array("I", data[_ANSWER.size + number : text_at])
        text, *texts = data[text_at:].decode(errors="surrogatepass").split("\n")
        keys = [self._keys_in_order[code] for code in cited]
        return Answer(
            question, text, confidence, PlainNuggets(nums, keys, texts, first).made(), line
        )


@dataclass(frozen=True, slots=True)
class AnswerRun:
    """An AC run: for each question id its answer, in the order of the file."""

    name: str
    answers: Mapping[str, Answer]
    marked: bool = field(default=False)
