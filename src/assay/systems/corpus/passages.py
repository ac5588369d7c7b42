"""Cutting documents into overlapping passages by number of words.

A passage is a contiguous part of its document's text, character for character.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from assay.model.errors import SettingsError
from assay.model.words import word_spans

_SENTENCE = re.compile(
    r"[.!?…։؟।॥။។]['\"”’»)\]]*\s+(?=[^\s\d])|[。！？]['”’」』）]*(?=.)|\n\s*(?=\S)"
)
_HEADING = re.compile(
    r"(?:^|\n)\n*(?=#{1,6} \S)|\n\n(?=(?![-|#])[^\n]{1,80}(?<![.!?:;,。])\n(?![\n|]))"
)


class CutPassage(NamedTuple):
    """A passage. ``number`` counts from 0 within the document, ``start`` is its character offset in
    the document's text, and ``overlap`` the number of its ``words`` shared with the previous
    passage."""

    id: str
    doc: str
    title: str
    number: int
    text: str
    words: int
    overlap: int
    start: int

    @property
    def overlap_ratio(self) -> float:
        """The share of this passage's words that the previous passage holds too."""
        return self.overlap / self.words if self.words else 0.0


class Cut(StrEnum):
    """Where passages may end: after any word, after a sentence or line, or before a heading (a
    short line by itself, or a Markdown heading)."""

    WORDS = "words"
    SENTENCES = "sentences"
    HEADINGS = "headings"


class WordWindow(NamedTuple):
    """The words of a passage, and how many it shares with the previous one. Both are upper limits
    if passages end with sentences or before headings."""

    words: int = 400
    overlap: int = 60
    by: Cut = Cut.WORDS

    @classmethod
    def of(cls, words: int, overlap: float, by: Cut = Cut.WORDS) -> WordWindow:
        """A window from the length in words and the overlap as a share of it. Raises SettingsError
        for lengths below 1 and shares outside [0, 1)."""
        if words < 1:
            raise SettingsError("A passage has at least one word: use --words 1 or more.")
        if not 0 <= overlap < 1:
            raise SettingsError("The overlap is a share of a passage: at least 0 and below 1.")
        return cls(words, min(round(words * overlap), words - 1), by)


def cut(text: str, window: WordWindow) -> Iterator[tuple[int, str, int, int]]:
    """The passages of ``text`` as (start, text, words, overlap).

    Each window starts ``window.words - window.overlap`` words after the previous one. The last one
    may be shorter, but has at least one new word. If passages end with sentences or before
    headings, windows are shortened accordingly and overlap by whole sentences, or not at all at a
    heading; anything longer than a window is cut by words.
    """
    spans = word_spans(text)
    marks = _marks(text, spans, window.by)
    first = last = 0
    while last < len(spans):
        before, last = last, min(first + window.words, len(spans))
        ends = marks[bisect_right(marks, before) : bisect_right(marks, last)]
        if ends and (last < len(spans) or window.by is Cut.HEADINGS):
            last = ends[0 if window.by is Cut.HEADINGS else -1]
        if window.by is Cut.SENTENCES and not ends and last < len(spans) and first < before:
            first, last = before, before  # with the overlap no whole sentence has room
            continue
        start, end = spans[first][0], spans[last - 1][1]
        yield start, text[start:end], last - first, before - first
        first = last - window.overlap
        if ends:  # whole sentences again; nothing of the section before
            ends_inside = marks[bisect_left(marks, first) : bisect_left(marks, last)]
            first = ends_inside[0] if ends_inside and window.by is Cut.SENTENCES else last


def _marks(text: str, spans: list[tuple[int, int]], by: Cut) -> list[int]:
    """The numbers of the words, except the first, that begin a sentence or a heading."""
    if by is Cut.WORDS:
        return []
    pattern = _HEADING if by is Cut.HEADINGS else _SENTENCE
    starts = [start for start, _ in spans]
    found = (bisect_left(starts, mark.end()) for mark in pattern.finditer(text))
    return sorted({word for word in found if 0 < word < len(spans)})


def passages(doc: str, title: str, text: str, window: WordWindow) -> Iterator[CutPassage]:
    """The passages of a document, with the ids ``DOC#0``, ``DOC#1`` …"""
    for number, (start, part, words, overlap) in enumerate(cut(text, window)):
        yield CutPassage(f"{doc}#{number}", doc, title, number, part, words, overlap, start)
