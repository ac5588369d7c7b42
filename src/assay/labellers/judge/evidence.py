"""What of a passage is read: windows that overlap, sentences, and a group of sentences.

A passage longer than the encoder's window is read in windows, and the likeliest sentences as one
text, wherever they stand; beside them the likeliest sentences are read one by one, so that a long
passage does not drown what it says.
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
"""Tokens of both texts with their marks, as in training."""
OVERLAP = 64
"""Tokens that two windows next to each other share."""
FIRST_TOKENS = 160
MAX_WINDOWS = 24
"""Of longer passages (some 5,000 tokens) the windows nearest to the first text are read."""
SINGLES = 3
GROUP = 3

Tokens = list[int]


class ExcerptKind(StrEnum):
    """How a part of a passage was chosen."""

    WINDOW = "window"
    GROUP = "group"
    SENTENCE = "sentence"


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A part of a passage, its text (for sentences) and its tokens."""

    kind: ExcerptKind
    tokens: Tokens
    text: str = ""


class Tokenise(Protocol):
    """Texts to tokens, without marks."""

    def __call__(self, texts: Sequence[str]) -> list[Tokens]: ...


def parts_of(passage: str, first: str, room: int, tokenise: Tokenise) -> list[Excerpt]:
    """What is read of ``passage`` beside the text ``first``, each part at most ``room`` tokens.

    Windows come first, at least one, empty for an empty passage; a group of sentences is read where
    there are several. Where there is one sentence only, the window is all there is.
    """
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
    """All tokens in a row, and which part each is of."""
    numbers = [number for number, tokens in enumerate(parts) for _ in tokens]
    return numbers, [token for tokens in parts for token in tokens]


def _window_starts(length: int, room: int) -> list[int]:
    starts = [0]
    while starts[-1] + room < length:
        starts.append(starts[-1] + room - OVERLAP)
    return starts


def nearest(found: Sequence[str], first: str, count: int) -> list[int]:
    """Positions of the ``count`` sentences that share most of the rarer words of ``first``."""
    wanted = words(first)
    has = [words(sentence) & wanted for sentence in found]
    spread = Counter(word for own in has for word in own)

    def weight(position: int) -> tuple[float, int]:
        # The exact sum: words come in no order, and rounded sums depend on theirs.
        return (-fsum(1 / (1 + spread[word]) for word in has[position]), position)

    return sorted(range(len(found)), key=weight)[:count]
