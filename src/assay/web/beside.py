"""Two runs' answers to a topic side by side: words that differ, and passages with their ranks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from typing import Any

from assay.api.opened import Opened

_WITHOUT_SPACES = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff"
_WORD = re.compile(rf"\s*(?:[{_WITHOUT_SPACES}]|[^\s{_WITHOUT_SPACES}]+)\s*")
"""A word with the space around it, or a character of a script written without spaces."""
_SENTENCE = re.compile(r"[^.!?。！？]*[.!?。！？]*\s*")
_ENDS = re.compile(r"^\W+|\W+$")
_MOST_WORDS = 2000
_MOST_PASSAGES = 50

Marked = Sequence[tuple[str, bool]]
"""A text in parts, each with whether it differs from the other text."""


@dataclass(frozen=True, slots=True)
class ShownPassage:
    """A passage of a run's list: its ``rank``, name and text, whether the other run has it, and at
    which rank (``there``)."""

    rank: int
    name: str
    text: str
    differs: bool
    there: int | None


@dataclass(frozen=True, slots=True)
class HandedIn:
    """A run's submission for a topic: the ``lines`` of its answer, its first ``passages``, and the
    number of ``more``."""

    lines: Sequence[Marked]
    passages: Sequence[ShownPassage]
    more: int


def handed_in(opened: Opened, topic: str, runs: Sequence[str]) -> Mapping[str, HandedIn]:
    """The submissions of one or two runs for a topic."""
    lines: dict[str, Sequence[str]] = {}
    lists: dict[str, list[tuple[str, str]]] = {}
    for part in opened.parts.values():
        for run in runs:
            about = part.protocol.contents(part.inputs, run).get(topic)
            if about is None:
                continue
            lines[run] = lines.get(run) or about.lines
            lists[run] = lists.get(run) or [_named(one) for one in about.passages or ()]
    answers = [lines.get(run, ()) for run in runs]
    marked = both(*answers) if len(runs) > 1 else [[[(one, False)] for one in answers[0]]]
    found = {}
    for at, run in enumerate(runs):
        own, others = lists.get(run, []), lists.get(runs[1 - at], []) if len(runs) > 1 else None
        # Backwards: of what is there twice the first rank stands.
        ranks = {one: rank for rank, one in reversed(list(enumerate(others or (), 1)))}
        passages = [
            ShownPassage(rank, *one, others is not None and one not in ranks, ranks.get(one))
            for rank, one in enumerate(own[:_MOST_PASSAGES], 1)
        ]
        found[run] = HandedIn(marked[at], passages, len(own) - len(passages))
    return found


def _named(passage: Any) -> tuple[str, str]:
    """Id and text of a passage, as far as it has them."""
    if isinstance(passage, str):
        return "", passage
    return str(passage[0]), str(passage[1] or "")


def both(one: Sequence[str], other: Sequence[str]) -> tuple[list[Marked], list[Marked]]:
    """The lines of two texts in parts (words, or sentences if there are too many), with the parts
    marked that the two do not share in the same order."""
    words = [_split(texts, _WORD) for texts in (one, other)]
    if max(map(len, words)) > _MOST_WORDS:  # word by word would take too long
        words = [_split(texts, _SENTENCE) for texts in (one, other)]
    keys = [[_ENDS.sub("", word.casefold()) or word.strip() for _, word in part] for part in words]
    same: tuple[set[int], set[int]] = set(), set()
    # By itself it passes over what is frequent in texts of 200 words or more.
    for block in SequenceMatcher(None, keys[0], keys[1], autojunk=False).get_matching_blocks():
        same[0].update(range(block.a, block.a + block.size))
        same[1].update(range(block.b, block.b + block.size))
    found = []
    for part, shared, count in zip(words, same, (len(one), len(other)), strict=True):
        lines: list[Marked] = [[] for _ in range(count)]
        numbered = [(at, place not in shared, word) for place, (at, word) in enumerate(part)]
        for at, line in groupby(numbered, key=lambda each: each[0]):
            lines[at] = [
                ("".join(word for *_, word in some), differs)
                for differs, some in groupby(line, key=lambda each: each[1])
            ]
        found.append(lines)
    return found[0], found[1]


def _split(texts: Sequence[str], piece: re.Pattern[str]) -> list[tuple[int, str]]:
    """The pieces of each text, with its number."""
    return [
        (at, one)
        for at, text in enumerate(texts)
        for one in list(filter(None, piece.findall(text))) or [text]
    ]
