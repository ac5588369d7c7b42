"""Select the parts of a passage that the encoder reads: windows, a group of sentences, sentences.

A passage longer than the encoder's window is read in overlapping windows. The sentences nearest to
the first text are also read together as one group, and one by one, so that the evidence is not lost
in a long passage.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import fsum
from typing import Protocol

from assay.labellers.judge.texts import sentences, words

WINDOW = 288
"""Most tokens of both texts with special tokens, as in training."""
OVERLAP = 64
"""Tokens that neighbouring windows share."""
FIRST_TOKENS = 160
MAX_WINDOWS = 24
"""Most windows; of a passage over some 5,000 tokens, those nearest to the first text are read."""
SINGLES = 3
GROUP = 3

Tokens = list[int]


class ExcerptKind(StrEnum):
    """The kind of a part of a passage."""

    WINDOW = "window"
    GROUP = "group"
    SENTENCE = "sentence"


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A part of a passage: its tokens, and for sentences its text."""

    kind: ExcerptKind
    tokens: Tokens
    text: str = ""


class Tokenise(Protocol):
    """Tokenises texts, without special tokens."""

    def __call__(self, texts: Sequence[str]) -> list[Tokens]: ...


def parts_of(passage: str, first: str, room: int, tokenise: Tokenise) -> list[Excerpt]:
    """The parts of ``passage`` to read with the text ``first``, each of at most ``room`` tokens.
    Windows come first; there is at least one, which is empty for an empty passage. A group follows
    if there are several windows. A single sentence has only the window."""
    found = sentences(passage)
    numbers, tokens = _joined(tokenise(found))
    chosen = nearest(found, first, max(SINGLES, GROUP))
    starts = _window_starts(len(tokens), room)
    if len(starts) > MAX_WINDOWS:
        near = set(nearest(found, first, GROUP * MAX_WINDOWS))

        def nearness(start: int) -> tuple[int, int]:
            inside = {numbers[at] for at in range(start, min(start + room, len(tokens)))}
            return (-len(inside & near), start)

        starts = sorted(sorted(starts, key=nearness)[:MAX_WINDOWS])
    windows = [Excerpt(ExcerptKind.WINDOW, tokens[start : start + room]) for start in starts]
    if len(found) < 2:
        return windows
    own: dict[int, Tokens] = {number: [] for number in chosen}
    for number, token in zip(numbers, tokens, strict=True):
        if number in own:
            own[number].append(token)
    singles = [
        Excerpt(ExcerptKind.SENTENCE, own[n][:room], found[n]) for n in sorted(chosen[:SINGLES])
    ]
    group: list[Excerpt] = []
    if len(windows) > 1 and len(found) > GROUP:
        together = [token for n in sorted(chosen[:GROUP]) for token in own[n]]
        group.append(Excerpt(ExcerptKind.GROUP, together[:room]))
    return [*windows, *group, *singles]


def _joined(parts: Sequence[Tokens]) -> tuple[list[int], Tokens]:
    """All tokens in a row, and the index of the part of each."""
    numbers = [number for number, tokens in enumerate(parts) for _ in tokens]
    return numbers, [token for tokens in parts for token in tokens]


def _window_starts(length: int, room: int) -> list[int]:
    starts = [0]
    while starts[-1] + room < length:
        starts.append(starts[-1] + room - OVERLAP)
    return starts


def nearest(found: Sequence[str], first: str, count: int) -> list[int]:
    """Indexes of the ``count`` sentences that share most of the rarer words of ``first``."""
    wanted = words(first)
    has = [words(sentence) & wanted for sentence in found]
    spread = Counter(word for own in has for word in own)

    def weight(position: int) -> tuple[float, int]:
        # An exact sum, as sets have no order and a rounded sum depends on it.
        return (-fsum(1 / (1 + spread[word]) for word in has[position]), position)

    return sorted(range(len(found)), key=weight)[:count]
