"""Ranked passages as run files: R2C2 PR runs with texts, TREC runs with ids."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise

from assay.formats.r2c2_pr import MAX_RANK
from assay.formats.text import LINE_BREAKS
from assay.model.errors import SettingsError
from assay.model.wording import quoted
from assay.model.words import word_spans
from assay.systems.retrieval.rerank import Lists, RankedPassage

_SPACES = re.compile(r"\s+")


Terms = Callable[[str], Sequence[str]]
"""Splits a text into index terms."""


def pr_run(
    lists: Lists, topics: Mapping[str, str], *, max_chars: int | None = None, terms: Terms
) -> bytes:
    """An R2C2 PR run: ``QuestionID;PassageRank;DocID;PassageText``, at most 20 per question.

    White space, including line breaks, becomes one space. With ``max_chars``, a longer passage is
    cut to the part (whole words) with the most distinct terms of the question. Raises SettingsError
    for an id that the format cannot hold.
    """
    lines = []
    for topic, ranked in lists.items():
        _fits(topic, ";")
        wanted = set(terms(topics[topic]))
        for rank, row in enumerate(ranked[:MAX_RANK], start=1):
            _fits(row.passage.doc, ";")
            text = " ".join(_SPACES.sub(" ", LINE_BREAKS.sub(" ", row.passage.text)).split())
            if max_chars is not None:
                text = best_part(text, wanted, max_chars, terms)
            lines.append(f"{topic};{rank};{row.passage.doc};{text}\n")
    return "".join(lines).encode()


def best_part(text: str, wanted: set[str], most: int, terms: Terms) -> str:
    """The stretch of ``text``, at most ``most`` characters and whole words (or characters, in text
    without spaces), with the most terms of ``wanted``; the first of equals. A single longer word is
    cut."""
    if len(text) <= most:
        return text
    spans = word_spans(text) or [(0, 0)]
    found = cache(lambda piece: [term for term in terms(piece) if term in wanted])
    own = [found(text[start:end]) for start, end in spans]
    # Without spaces between them, two adjacent characters can be a term.
    pairs = [
        found(text[before:end]) if over == start else []
        for (before, over), (start, end) in pairwise(spans)
    ]
    best, best_count, first = (0, 0), -1, 0
    inside: Counter[str] = Counter()
    for last, (_, end) in enumerate(spans):
        inside.update(own[last])
        inside.update(pairs[last - 1] if last > first else ())
        while end - spans[first][0] > most and first < last:
            inside.subtract([*own[first], *pairs[first]])
            first += 1
        count = sum(number > 0 for number in inside.values())
        if end - spans[first][0] <= most and count > best_count:
            best, best_count = (first, last), count
    first, last = best
    # Any room left is filled, first with the text that follows.
    while last + 1 < len(spans) and spans[last + 1][1] - spans[first][0] <= most:
        last += 1
    while first and spans[last][1] - spans[first - 1][0] <= most:
        first -= 1
    return text[spans[first][0] : spans[last][1]][:most]


def trec_run(lists: Lists, name: str, *, documents: bool = False) -> bytes:
    """A TREC run: ``topic Q0 id rank score run``, with passage ids, or with ``documents`` the ids
    of documents, each once at the rank of its best passage. Scores fall with the rank.

    Raises SettingsError for an id with white space in it.
    """
    _fits(name, " ")
    lines = []
    for topic, ranked in lists.items():
        _fits(topic, " ")
        rows = _documents(ranked) if documents else [(r.passage.id, r.score) for r in ranked]
        last = float("inf")
        for rank, (one, score) in enumerate(rows, start=1):
            _fits(one, " ")
            # trec_eval breaks ties by id, so each score is a little lower than the last.
            score = min(score, last - max(abs(last), 1e-6) * 1e-6) if rank > 1 else score
            last = score
            lines.append(f"{topic} Q0 {one} {rank} {score:.9g} {name}\n")
    return "".join(lines).encode()


def _documents(ranked: Iterable[RankedPassage]) -> list[tuple[str, float]]:
    found: dict[str, float] = {}
    for row in ranked:
        found.setdefault(row.passage.doc, row.score)
    return list(found.items())


def _fits(one: str, mark: str) -> None:
    bad = mark in one if mark != " " else _SPACES.search(one) is not None
    if bad or not one or one != one.strip() or LINE_BREAKS.search(one) or "\n" in one:
        what = "semicolons" if mark == ";" else "white space"
        raise SettingsError(
            f"The id {quoted(one)} cannot be used in a run of this format, which allows no {what} "
            "there. Change the id of the document or topic at its source."
        )
