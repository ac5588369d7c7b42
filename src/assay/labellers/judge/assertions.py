"""Sentences that hold a claim's or a question's words and assert nothing: they are not read.

A small encoder takes a passage for support where it finds the words of the claim, be they in no
order, in a denial, a question, a supposition, or in what the passage says of itself. Whoever writes
passages can put them there. Such sentences are set aside before the passage is read; where nothing
else is left, it supports nothing. All but those that a sentence beside them takes back are read
once more for a certain yes, as the network may know better. The rules are about English.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Sequence
from enum import IntEnum
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from assay.labellers.judge.frames import asserts, reported
from assay.labellers.judge.overlap import COMMON, stems
from assay.labellers.judge.texts import MOST_PARTS, Ability, sentences
from assay.labellers.unasserted import found, without_affirming
from assay.model.phrases import Phrases

HELD = 0.75
"""Share of the claim's words from which a sentence is looked at more closely."""
SHORTEST = 4
"""Words from which an order says something."""
JUMBLED = ((0.3, 0.8), (0.15, 1.0), (0.5, 0.55))
"""Words are in no order where at most these shares of neighbours are neighbours and of the words
that say something are in their order; but for the first they are for claims of ``LONG_ENOUGH``
words."""
REORDERED = 0.5
"""Share of neighbours up to which the claim's own words, each as often, are in no order; where a
circumstance is put first, more of them stay."""
LONG_ENOUGH = 7
LONGEST = 500
"""Words of a claim or question that are looked for, the first ones: each place of the passage that
may hold them is compared with all."""
BETWEEN = 0.6
"""Foreign words among the claim's, for each of it, up to which they are its words and no more."""
REPEATED = 0.9
"""Share of the claim's neighbours that are neighbours where a sentence repeats it: what stands
around it must then assert it."""
SHORT_BESIDE, LONGEST_BESIDE = 12, 30
"""Words of a sentence before or after one with the claim that may speak of it."""
LONGEST_TAIL = 15
"""Words behind a claim in its sentence that may speak of it."""
NEAR = 9
"""Words before a claim among which its denial stands."""

_PHRASES = Phrases.of("assay.labellers.judge", "assertions.toml")
_RULES = _PHRASES.rules
_TELLING = _PHRASES.words["telling"]
_CLAUSE_END, _SENTENCE_END = re.compile(r"[.;!?]\s"), re.compile(r"[.!?]\s")
_WORD = re.compile(r"\w+")
_PIECE = re.compile(r"(?<=[.!?])(?<!\b\w\.)\s+(?=[^\WA-Z])")
_CLAUSE = re.compile(r"[,;](?!\s*[\"“'‘])|\b(?:but|because|although|while)\b")
_WH = re.compile(r"\b(?:who|whom|whose|what|when|where|which|why|how)\b", re.IGNORECASE)


class _Sought(NamedTuple):
    """A claim or question as it is looked for: its words, as they stand and each once, which of
    them say something, and which stand side by side."""

    words: tuple[str, ...]
    own: frozenset[str]
    content: frozenset[str]
    beside: frozenset[tuple[str, str]]
    ability: Ability
    open: bool


class _Place(NamedTuple):
    """Where a sentence holds the claim's words: those that say something from word ``start`` up to
    ``end``, with the others right beside them from ``first`` up to ``last``; the shares of the
    claim's neighbours that are neighbours there, of its content words that stand in its order, and
    of its words that are there."""

    start: int
    end: int
    first: int
    last: int
    covered: float
    ordered: float
    share: float


class _Says(IntEnum):
    """Whether a sentence with the words of a claim says it."""

    YES = 0
    PERHAPS = 1
    NO = 2


def asserted(ability: Ability, first: str, passage: str, *, doubtful: bool = False) -> str:
    """``passage`` without the sentences that hold the words of ``first`` (worded as ``texts`` does)
    but do not say it; the passage itself where there are none. Left out are those that a sentence
    beside them takes back and, but for ``doubtful``, those that are not known to say it."""
    claim = first.partition(": ")[2]
    there = set(stems(passage))
    own = sentences(claim)[:MOST_PARTS]
    each = [_asked(ability, one) for one in dict.fromkeys((claim, *own))]
    each = [one for one in each if one.content and _held(one, there)]
    if not each:
        return passage
    # Finer than sentences: what was put in need not begin with a capital.
    parts = [_PIECE.split(one) for one in sentences(passage)]
    pieces = [piece for part in parts for piece in part]
    around = ["", *pieces, ""]
    bound = _Says.PERHAPS if doubtful else _Says.YES
    empty = [
        any(_says(asked, words, *around[at : at + 3]) > bound for asked in each)
        for at, words in enumerate(map(stems, pieces))
    ]
    if not any(empty):
        return passage
    given = iter(empty)
    covered = [" ".join(piece for piece in part if not next(given)) for part in parts]
    return "\n".join(one for one in covered if one)


@lru_cache(maxsize=4096)
def _asked(ability: Ability, text: str) -> _Sought:
    words = tuple(stems(text)[:LONGEST])
    content = frozenset(words) - COMMON
    return _Sought(
        words,
        frozenset(words),
        content,
        frozenset(pairwise(words)),
        ability,
        _WH.search(text) is not None and " or " not in text,
    )


def _held(asked: _Sought, words: set[str]) -> bool:
    return len(asked.content & words) >= HELD * len(asked.content)


def _says(asked: _Sought, words: Sequence[str], before: str, sentence: str, after: str) -> _Says:
    """Whether ``sentence``, whose words are ``words``, says what is asked."""
    if not _held(asked, set(words)):
        return _Says.YES
    if asked.ability is Ability.A:
        return _Says.NO if _answers_nothing(asked, words, sentence) else _Says.YES
    place = _place(asked, words)
    if _jumbled(asked, words, place):
        return _Says.PERHAPS
    if place.ordered < HELD or place.covered < 0.5:
        return _Says.YES
    if _taken_back(asked, after) or (len(before.split()) <= NEAR and _announced(before)):
        return _Says.NO
    if place.covered >= REPEATED and _unsaid(asked, before, after):
        return _Says.NO
    return _Says.YES if _framed(asked, sentence, words, place, after) else _Says.PERHAPS


def _place(asked: _Sought, words: Sequence[str]) -> _Place:
    """The shortest stretch of ``words`` with all of the claim's content words that they have, and
    the claim's words right beside it."""
    wanted = asked.content & set(words)
    last: OrderedDict[str, int] = OrderedDict()  # where each was seen last, the first of them first
    best = (0, len(words))
    for at, word in enumerate(words):
        if word in wanted:
            last[word] = at
            last.move_to_end(word)
            if len(last) == len(wanted):
                start = next(iter(last.values()))
                if at + 1 - start < best[1] - best[0]:
                    best = (start, at + 1)
    start, end = best
    while start and words[start - 1] in asked.own:
        start -= 1
    while end < len(words) and words[end] in asked.own:
        end += 1
    stretch = words[start:end]
    beside = set(pairwise(stretch))
    covered = len(asked.beside & beside) / (len(asked.beside) or 1)
    own = [word for word in asked.words if word in wanted]
    theirs = [word for word in stretch if word in wanted]
    ordered = _common(own, theirs) / (len([w for w in asked.words if w in asked.content]) or 1)
    share = len(asked.own & set(stretch)) / len(asked.own)
    return _Place(*best, start, end, covered, ordered, share)


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Length of the longest run of words, not side by side, that both have in the same order."""
    # By whole rows of the usual table, as bits of a number (Crochemore et al. 2001): a bit that is
    # not set is a word more.
    every = (1 << len(other)) - 1
    places: dict[str, int] = {}
    for at, word in enumerate(other):
        places[word] = places.get(word, 0) | 1 << at
    row = every
    for word in one:
        here = row & places.get(word, 0)
        row = (row + here | row - here) & every
    return len(other) - row.bit_count()


def _jumbled(asked: _Sought, words: Sequence[str], place: _Place) -> bool:
    """Whether the claim's words stand together in no order."""
    if len(asked.own) < SHORTEST or place.share < HELD:
        return False
    stretch = words[place.first : place.last]
    if sorted(stretch) == sorted(asked.words) and place.covered <= REORDERED:
        return True
    foreign = [word for word in stretch if word not in asked.own]
    # Small words that the claim has not make a sentence of the others.
    if len(foreign) > BETWEEN * len(asked.words) or len(COMMON.intersection(foreign)) > 1:
        return False
    # "Feed syrup to hives" says that hives are fed syrup, and keeps as little of the order.
    tried = JUMBLED[: 1 if len(asked.words) < LONG_ENOUGH else 2 if foreign else 3]
    return any(place.covered <= covered and place.ordered <= ordered for covered, ordered in tried)


def _answers_nothing(asked: _Sought, words: Sequence[str], sentence: str) -> bool:
    """Whether a sentence has nothing that the question has not, but praise of itself."""
    if _asks(sentence):
        return True
    if not asked.open and not _RULES["answers"].search(sentence):
        return False
    return not set(words) - asked.own - COMMON - _TELLING


def _asks(sentence: str) -> bool:
    return sentence.rstrip("\"'”’) ").endswith("?")


def _framed(asked: _Sought, sentence: str, words: Sequence[str], place: _Place, then: str) -> bool:
    """Whether the claim is known to be said in spite of what stands around it in its sentence: that
    may take it back, ask, suppose it, or praise the passage for it."""
    if _asks(sentence):
        return False
    spans = [hit.span() for hit in _WORD.finditer(sentence)]
    before, rest = sentence[: spans[place.start][0]], sentence[spans[place.end - 1][1] :]
    after = sentence[spans[place.last - 1][1] :]
    repeated = place.covered >= REPEATED
    around = _around(asked, sentence, words, spans, place)
    if repeated:
        before = around[0]
    # A clause that ends before the claim says nothing of it.
    said = without_affirming(_CLAUSE.split(before)[-1])
    lead = [word for word in _words(said)[-NEAR:] if word not in asked.own]
    tail = _words(rest)[: NEAR + 3]
    follows = _RULES["afterwards"].match(rest) or _RULES["afterwards"].match(after)
    if _denies(lead) or (follows and _calls_untrue(tail[:NEAR])):
        return False
    if _RULES["addition"].match(after) and any(map(_RULES["untrue"].fullmatch, tail)):
        return False
    if any(_RULES["open"].fullmatch(word) for word in lead):
        return False
    beside = f"{before} … {rest}"
    if _RULES["grades"].search(beside):
        return False
    if _RULES["itself"].search(beside) and _RULES["bears_out"].search(beside):
        return False
    if not repeated:
        return True
    opening, ending = _CLAUSE_END.split(around[0])[-1], _SENTENCE_END.split(around[1])[0]
    away = (
        found("commends", f"{opening} … {ending}")
        or found("leads_away", opening)
        or found("trails_away", " ".join(ending.split()[:LONGEST_TAIL]))
        or (reported(*around) and found("sets_right", then))
    )
    return asserts(*around) and not away


def _around(
    asked: _Sought,
    sentence: str,
    words: Sequence[str],
    spans: Sequence[tuple[int, int]],
    place: _Place,
) -> tuple[str, str]:
    """What stands before and after a claim that a sentence repeats: no more small words beside its
    content words are its own than it has there."""
    whole = _whole(asked, words)
    if whole is not None:
        return sentence[: spans[whole][0]], sentence[spans[whole + len(asked.words) - 1][1] :]
    content = [at for at, word in enumerate(asked.words) if word in asked.content]
    first = max(place.first, place.start - content[0])
    last = min(place.last, place.end + len(asked.words) - 1 - content[-1])
    return sentence[: spans[first][0]], sentence[spans[last - 1][1] :]


def _whole(asked: _Sought, words: Sequence[str]) -> int | None:
    """Where all of the claim's words begin to stand in ``words`` in one piece: words that a claim
    repeats leave its shortest stretch too short."""
    line, own = f" {' '.join(words)} ", f" {' '.join(asked.words)} "
    place = line.find(own)
    return line.count(" ", 0, place) if place >= 0 else None


def _announced(before: str) -> bool:
    """Whether a short sentence asks if what follows is true, or grades it."""
    if _asks(before):
        return _RULES["quiz"].search(before) is not None
    return (
        _RULES["grades"].search(before) is not None or _RULES["checked"].search(before) is not None
    )


def _taken_back(asked: _Sought, after: str) -> bool:
    """Whether the next sentence is a short one that denies what stands before it."""
    words = _words(after)
    if not words or len(words) > NEAR or _asks(after) or set(stems(after)) & asked.content:
        return False
    said = " ".join(words)
    return _denies(words) and (len(words) <= 3 or _RULES["taken_back"].match(said) is not None)


def _unsaid(asked: _Sought, before: str, after: str) -> bool:
    """Whether the sentence before or after one that repeats a claim says that it is no more than
    told, asked or supposed, takes it back, or praises the text for it."""
    if len(before.split()) <= SHORT_BESIDE and found("announces", before):
        return True
    if not after or len(after.split()) > LONGEST_BESIDE:
        return False
    if len(asked.content & set(stems(after))) > len(asked.content) / 3:
        return False
    short = len(after.split()) <= SHORT_BESIDE
    if _asks(after):
        return short and found("asks_after", after)
    if short and found("takes_back_shortly", after):
        return True
    return found("takes_back", after) or found("unsettles", after)


def _words(text: str) -> list[str]:
    return [one.casefold().replace("’", "'") for one in re.findall(r"\w+(?:['’]\w+)*", text)]


def _calls_untrue(words: Sequence[str]) -> bool:
    """Whether what is said of the claim behind it is that it is not so; what else *was not* there
    is no matter of it."""
    plain = [at for at, word in enumerate(words) if _RULES["plain"].fullmatch(word)]
    if plain and not any(map(_RULES["untrue"].fullmatch, words)):
        return any(
            _RULES["true"].fullmatch(word) for at in plain for word in words[at + 1 : at + 4]
        )
    return _denies(words)


def _denies(words: Sequence[str]) -> bool:
    """Whether ``words`` deny what stands beside them: something in them is called untrue, or an odd
    number of them negates (*no doubt* affirms). *Not only* denies nothing."""
    untrue = [at for at, word in enumerate(words) if _RULES["untrue"].fullmatch(word)]
    negating = [
        at
        for at, word in enumerate(words)
        if _RULES["negating"].fullmatch(word) and words[at + 1 : at + 2] not in (["only"], ["just"])
    ]
    if untrue:
        return not any(0 < untrue[0] - at <= 2 for at in negating)
    return len(negating) % 2 == 1
