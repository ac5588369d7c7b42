"""Passages with what is and is not said in them, written for the judge (``written/*.txt.xz``).

A block begins with ``=== kind | subject``; then a mark, a space and a text a line::

    P the passage, of as many lines as come before the next mark
    + a claim that it supports          - one that it contradicts
    0 one that it says nothing of       ~ one of which it supports a part
    ? a question that it answers        ! one that it does not answer
    = the right answer | in other words > an answer that is right   < one that is not

``= > <`` belong to the question above them. Below ``== twins`` come the block's claims and
questions again, changed by as little as makes them the opposite, and below ``?1`` answers to its
first question, below ``?2`` to its second. For true claims tend to be in other words than their
passage and false ones in its own: without twins a network could tell them apart and read nothing.
"""

from __future__ import annotations

import hashlib
import lzma
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

from rows import Row

HELD = 8
"""Of so many blocks one is never trained on."""
_MARKED = re.compile(r"([P+\-0~?=><!]) (\S.*)")
_ANSWERS_TO = re.compile(r"\?(\d)")
_TWINS = "== twins"
_CLAIMS = {"+": 1.0, "~": 0.5, "-": 0.0, "0": 0.0}
_QUESTIONS = {"?": 1.0, "!": 0.0}
_ANSWERS = {">": 1.0, "<": 0.0}


@dataclass
class Block:
    """A passage and what was written about it, by mark; ``twins`` of claims and questions, and of
    answers by the number of their question."""

    id: str
    passage: list[str] = field(default_factory=list)
    marked: list[tuple[str, str]] = field(default_factory=list)
    twins: list[tuple[str, str]] = field(default_factory=list)
    answers: dict[int, list[tuple[str, str]]] = field(default_factory=dict)

    @property
    def split(self) -> str:
        """``held`` or ``train``, by the passage alone."""
        digest = hashlib.sha256("\n".join(self.passage).encode()).digest()
        return "train" if digest[0] % HELD else "held"

    def rows(self) -> Iterator[Row]:
        """Pairs of the three abilities; claims and questions of blocks that have twins alone."""
        passage, split, asked = "\n".join(self.passage), self.split, 0
        for number, (mark, text) in enumerate((*self.marked, *self.twins)):
            name = f"{self.id} {number}"
            if mark in _CLAIMS and self.twins:
                yield Row(name, "E", "written claim", split, text, passage, _CLAIMS[mark])
            elif mark in _QUESTIONS and self.twins:
                yield Row(name, "A", "written question", split, text, passage, _QUESTIONS[mark])
            if mark == "?" and number < len(self.marked):
                asked += 1
                yield from self._answers(number, text, self.answers.get(asked, []))

    def _answers(self, at: int, question: str, twins: list[tuple[str, str]]) -> Iterator[Row]:
        """Right answers stand in for the gold one, too."""
        own = list(takewhile(lambda one: one[0] in "=><", self.marked[at + 1 :]))
        gold = tuple(part.strip() for mark, text in own if mark == "=" for part in text.split("|"))
        own += twins
        right = [text for mark, text in own if mark == ">"]
        for number, (mark, text) in enumerate(own):
            others = [one for one in right if one != text]
            instead = [gold, (others[number % len(others)],)] if others else [gold]
            for which, golds in enumerate(instead if mark in _ANSWERS else ()):
                yield Row(
                    f"{self.id} {at} {number} {which}", "C", "written answer", self.split, text, "",
                    _ANSWERS[mark], question, golds,
                )  # fmt: skip


def blocks(path: Path) -> list[Block]:
    """Raises ValueError naming all lines that are of no use."""
    found: list[Block] = []
    to: list[tuple[str, str]] | None = None  # where claims, questions and answers go
    faults: list[str] = []
    whole = lzma.decompress(path.read_bytes()).decode()
    for number, text in enumerate(whole.splitlines(), 1):
        line = text.rstrip()
        marked, asked = _MARKED.fullmatch(line), _ANSWERS_TO.fullmatch(line)
        if line.startswith("=== "):
            found.append(Block(f"{path.name.partition('.')[0]} {len(found) + 1}"))
            to = None
        elif not found:
            faults += [f"{path}:{number}: {line[:60]}"] if line else []
        elif marked and marked[1] == "P" and not found[-1].passage:
            found[-1].passage.append(marked[2])
            to = found[-1].marked
        elif line == _TWINS and to is found[-1].marked:
            to = found[-1].twins
        elif asked and to is not None and to is not found[-1].marked:
            to = found[-1].answers.setdefault(int(asked[1]), [])
        elif marked and to is not None and _has_place(marked[1], to, found[-1]):
            to.append((marked[1], marked[2]))
        elif to is found[-1].marked and not to:
            found[-1].passage.append(line)
        elif line:
            faults.append(f"{path}:{number}: {line[:60]}")
    if faults:
        raise ValueError("neither a mark nor of a passage:\n" + "\n".join(faults))
    return found


def _has_place(mark: str, among: list[tuple[str, str]], block: Block) -> bool:
    """Whether what is marked so can stand there: of twins claims and questions are apart from
    answers."""
    if among is block.marked:
        return mark != "P"
    return mark in _ANSWERS if among is not block.twins else mark in "+-~?!"


def written(folder: Path) -> list[Row]:
    """All pairs of a folder; ``split`` is ``train`` or ``held``."""
    return list(_rows(sorted(folder.glob("*.txt.xz"))))


def _rows(paths: Iterable[Path]) -> Iterator[Row]:
    for path in paths:
        for block in blocks(path):
            yield from block.rows()
