"""A page's source beside its text, to show which words were kept and where they went."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import NamedTuple

from assay.systems.corpus.accounting import Account, Became
from assay.systems.corpus.wikitext import CleanSettings, clean

_WORD = re.compile(r"\w+")


class Beside(NamedTuple):
    """A line of the source in pieces, each with whether it was ``dropped``, and the part of the
    text that holds its words."""

    source: list[tuple[str, bool]]
    text: str


class Explained(NamedTuple):
    """The lines of a page, and what happened to its templates."""

    lines: list[Beside]
    templates: list[Became]


def explain(wikitext: str, title: str = "", settings: CleanSettings | None = None) -> Explained:
    """Every line of ``wikitext`` beside the text that :func:`clean` makes of it.

    Words are matched in order. Source words without a match, markup included, count as dropped.
    """
    account = Account()
    text = clean(wikitext, title, settings, account)
    ours, theirs = _words(wikitext), _words(text)
    match = SequenceMatcher(
        None,
        [wikitext[a:b].casefold() for a, b in ours],
        [text[a:b].casefold() for a, b in theirs],
    )
    met = {a + n: b + n for a, b, size in match.get_matching_blocks() for n in range(size)}
    return Explained(list(_lines(wikitext, text, ours, theirs, met)), account.rows)


def _words(text: str) -> list[tuple[int, int]]:
    return [found.span() for found in _WORD.finditer(text)]


def _lines(
    wikitext: str,
    text: str,
    ours: list[tuple[int, int]],
    theirs: list[tuple[int, int]],
    met: dict[int, int],
) -> Iterator[Beside]:
    """Put each part of the text beside the source line of its first matched word."""
    word, start, said = 0, 0, 0
    lines = wikitext.split("\n")
    for number, line in enumerate(lines):
        end = start + len(line)
        pieces: list[tuple[str, bool]] = []
        at, last = start, None
        while word < len(ours) and ours[word][1] <= end:
            first, after = ours[word]
            if word in met:
                last = met[word]
            else:
                pieces += [(wikitext[at:first], False), (wikitext[first:after], True)]
                at = after
            word += 1
        pieces.append((wikitext[at:end], False))
        until = said if last is None else theirs[last][1]
        if number == len(lines) - 1:
            until = len(text)
        elif last is not None:  # with what stands behind the word: a bracket, a full stop
            until += len(re.match(r"[^\w\s]*", text[until:])[0])  # type: ignore[index]
        yield Beside(_joined(pieces), text[said:until].strip())
        said = until
        start = end + 1


def _joined(pieces: list[tuple[str, bool]]) -> list[tuple[str, bool]]:
    """Join neighbouring dropped pieces that have only punctuation between them."""
    found: list[tuple[str, bool]] = []
    for text, dropped in pieces:
        if not text:
            continue
        if dropped and len(found) > 1 and found[-2][1] and not _WORD.search(found[-1][0]):
            between, _ = found.pop()
            before, _ = found.pop()
            found.append((before + between + text, True))
        elif dropped and found and found[-1][1]:
            found[-1] = (found[-1][0] + text, True)
        else:
            found.append((text, dropped))
    return found
