"""Remove sentences that contain the words of a claim or question but assert nothing.

A small encoder takes a passage for support if it contains the words of the claim, even if they are
jumbled, denied, asked, supposed, or part of what the passage says about itself; an author of
passages can exploit that. Such sentences are removed before the passage is read; if nothing is
left, it does not support the claim. Except for those that a neighbouring sentence takes back, they
are read a second time for a certain yes, as the network may know better. The rules are for English.
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
"""A sentence with at least this fraction of the claim's content words is examined."""
SHORTEST = 4
"""Least words of a claim for which word order is meaningful."""
JUMBLED = ((0.3, 0.8), (0.15, 1.0), (0.5, 0.55))
"""Words are jumbled if at most these fractions of neighbours are still neighbours, and of content
words are still in order. All but the first pair apply to claims of ``LONG_ENOUGH`` words."""
REORDERED = 0.5
"""If a sentence has exactly the claim's words, they are jumbled up to this fraction of neighbours.
A mere change of order of phrases keeps more of them."""
LONG_ENOUGH = 7
LONGEST = 500
"""Most words of a claim or question that are searched for, as each candidate place in the passage
is compared with all of them."""
BETWEEN = 0.6
"""Most other words per word of the claim in a stretch that still counts as just the claim's
words."""
REPEATED = 0.9
"""A sentence repeats the claim from this fraction of neighbours on; its context must then assert
it."""
SHORT_BESIDE, LONGEST_BESIDE = 12, 30
"""Most words of a neighbouring sentence that may be about the claim."""
LONGEST_TAIL = 15
"""Most words after a claim in its sentence that may be about it."""
NEAR = 9
"""Words before a claim that are searched for its denial."""

_PHRASES = Phrases.of("assay.labellers.judge", "assertions.toml")
_RULES = _PHRASES.rules
_TELLING = _PHRASES.words["telling"]
_CLAUSE_END, _SENTENCE_END = re.compile(r"[.;!?]\s"), re.compile(r"[.!?]\s")
_WORD = re.compile(r"\w+")
_PIECE = re.compile(r"(?<=[.!?])(?<!\b\w\.)\s+(?=[^\WA-Z])")
_CLAUSE = re.compile(r"[,;](?!\s*[\"“'‘])|\b(?:but|because|although|while)\b")
_WH = re.compile(r"\b(?:who|whom|whose|what|when|where|which|why|how)\b", re.IGNORECASE)


class _Sought(NamedTuple):
    """A claim or question to search for: its words in order and as a set, the content words among
    them, and the pairs of neighbours (``beside``). ``open``: it asks a wh-question."""

    words: tuple[str, ...]
    own: frozenset[str]
    content: frozenset[str]
    beside: frozenset[tuple[str, str]]
    ability: Ability
    open: bool


class _Place(NamedTuple):
    """The place of the claim's words in a sentence. Content words are between ``start`` and
    ``end``; with adjacent other words of the claim, the stretch is from ``first`` to ``last``.
    ``covered`` is the fraction of the claim's neighbours that are neighbours there, ``ordered`` of
    its content words that are in order, ``share`` of its words that occur."""

    start: int
    end: int
    first: int
    last: int
    covered: float
    ordered: float
    share: float


class _Says(IntEnum):
    """Whether a sentence with the words of a claim asserts it."""

    YES = 0
    PERHAPS = 1
    NO = 2


def asserted(ability: Ability, first: str, passage: str, *, doubtful: bool = False) -> str:
    """Remove sentences from ``passage`` that contain the words of ``first`` but do not assert it.
    These are sentences that a neighbouring one takes back and, unless ``doubtful``, sentences that
    are not known to assert it. Returns the same object if there are none."""
    claim = first.partition(": ")[2]
    present = set(stems(passage))
    own = sentences(claim)[:MOST_PARTS]
    each = [_sought(ability, one) for one in dict.fromkeys((claim, *own))]
    each = [one for one in each if one.content and _held(one, present)]
    if not each:
        return passage
    # Finer than sentences, as inserted ones need not begin with a capital.
    parts = [_PIECE.split(one) for one in sentences(passage)]
    pieces = [piece for part in parts for piece in part]
    around = ["", *pieces, ""]
    bound = _Says.PERHAPS if doubtful else _Says.YES
    empty = [
        any(_says(sought, words, *around[at : at + 3]) > bound for sought in each)
        for at, words in enumerate(map(stems, pieces))
    ]
    if not any(empty):
        return passage
    is_empty = iter(empty)
    remaining = [" ".join(piece for piece in part if not next(is_empty)) for part in parts]
    return "\n".join(filter(None, remaining))


@lru_cache(maxsize=4096)
def _sought(ability: Ability, text: str) -> _Sought:
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


def _held(sought: _Sought, words: set[str]) -> bool:
    return len(sought.content & words) >= HELD * len(sought.content)


def _says(sought: _Sought, words: Sequence[str], before: str, sentence: str, after: str) -> _Says:
    """Whether ``sentence``, with the stems ``words``, asserts what is sought."""
    if not _held(sought, set(words)):
        return _Says.YES
    if sought.ability is Ability.A:
        return _Says.NO if _answers_nothing(sought, words, sentence) else _Says.YES
    place = _place(sought, words)
    if _jumbled(sought, words, place):
        return _Says.PERHAPS
    if place.ordered < HELD or place.covered < 0.5:
        return _Says.YES
    if _taken_back(sought, after) or (len(before.split()) <= NEAR and _announced(before)):
        return _Says.NO
    if place.covered >= REPEATED and _unsaid(sought, before, after):
        return _Says.NO
    return _Says.YES if _framed(sought, sentence, words, place, after) else _Says.PERHAPS


def _place(sought: _Sought, words: Sequence[str]) -> _Place:
    """The shortest stretch of ``words`` with all the claim's content words that occur, extended by
    adjacent words of the claim."""
    wanted = sought.content & set(words)
    last: OrderedDict[str, int] = OrderedDict()  # last position of each, the earliest first
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
    while start and words[start - 1] in sought.own:
        start -= 1
    while end < len(words) and words[end] in sought.own:
        end += 1
    stretch = words[start:end]
    beside = set(pairwise(stretch))
    covered = len(sought.beside & beside) / (len(sought.beside) or 1)
    own = [word for word in sought.words if word in wanted]
    theirs = [word for word in stretch if word in wanted]
    ordered = _common(own, theirs) / (len([w for w in sought.words if w in sought.content]) or 1)
    share = len(sought.own & set(stretch)) / len(sought.own)
    return _Place(*best, start, end, covered, ordered, share)


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Length of the longest common subsequence of words."""
    # Whole rows of the usual table as bits of a number (Crochemore et al. 2001): each unset bit is
    # one more word.
    every = (1 << len(other)) - 1
    places: dict[str, int] = {}
    for at, word in enumerate(other):
        places[word] = places.get(word, 0) | 1 << at
    row = every
    for word in one:
        here = row & places.get(word, 0)
        row = (row + here | row - here) & every
    return len(other) - row.bit_count()


def _jumbled(sought: _Sought, words: Sequence[str], place: _Place) -> bool:
    """Whether the claim's words are together but jumbled."""
    if len(sought.own) < SHORTEST or place.share < HELD:
        return False
    stretch = words[place.first : place.last]
    if sorted(stretch) == sorted(sought.words) and place.covered <= REORDERED:
        return True
    foreign = [word for word in stretch if word not in sought.own]
    # Function words that the claim lacks may form a sentence with the others.
    if len(foreign) > BETWEEN * len(sought.words) or len(COMMON.intersection(foreign)) > 1:
        return False
    # "Feed syrup to hives" asserts that hives are fed syrup, with as little of the order.
    tried = JUMBLED[: 1 if len(sought.words) < LONG_ENOUGH else 2 if foreign else 3]
    return any(place.covered <= covered and place.ordered <= ordered for covered, ordered in tried)


def _answers_nothing(sought: _Sought, words: Sequence[str], sentence: str) -> bool:
    """Whether a sentence adds nothing to the question except praise of the text itself."""
    if _asks(sentence):
        return True
    if not sought.open and not _RULES["answers"].search(sentence):
        return False
    return not set(words) - sought.own - COMMON - _TELLING


def _asks(sentence: str) -> bool:
    return sentence.rstrip("\"'”’) ").endswith("?")


def _framed(sought: _Sought, sentence: str, words: Sequence[str], place: _Place, then: str) -> bool:
    """Whether the claim is known to be asserted within its sentence, whose other words may take it
    back, ask it, suppose it, or praise the passage for it."""
    if _asks(sentence):
        return False
    spans = [hit.span() for hit in _WORD.finditer(sentence)]
    before, rest = sentence[: spans[place.start][0]], sentence[spans[place.end - 1][1] :]
    after = sentence[spans[place.last - 1][1] :]
    repeated = place.covered >= REPEATED
    around = _around(sought, sentence, words, spans, place)
    if repeated:
        before = around[0]
    # A clause that ends before the claim is not about it.
    clause = without_affirming(_CLAUSE.split(before)[-1])
    lead = [word for word in _words(clause)[-NEAR:] if word not in sought.own]
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
    sought: _Sought,
    sentence: str,
    words: Sequence[str],
    spans: Sequence[tuple[int, int]],
    place: _Place,
) -> tuple[str, str]:
    """The text before and after a claim that a sentence repeats. At its edges, only as many
    function words as the claim itself has belong to it."""
    whole = _whole(sought, words)
    if whole is not None:
        return sentence[: spans[whole][0]], sentence[spans[whole + len(sought.words) - 1][1] :]
    content = [at for at, word in enumerate(sought.words) if word in sought.content]
    first = max(place.first, place.start - content[0])
    last = min(place.last, place.end + len(sought.words) - 1 - content[-1])
    return sentence[: spans[first][0]], sentence[spans[last - 1][1] :]


def _whole(sought: _Sought, words: Sequence[str]) -> int | None:
    """The index at which all words of the claim occur in one piece, or None. (The shortest stretch
    is too short if the claim repeats words.)"""
    line, own = f" {' '.join(words)} ", f" {' '.join(sought.words)} "
    place = line.find(own)
    return line.count(" ", 0, place) if place >= 0 else None


def _announced(before: str) -> bool:
    """Whether a short sentence asks whether the next one is true, or rates it."""
    if _asks(before):
        return _RULES["quiz"].search(before) is not None
    return (
        _RULES["grades"].search(before) is not None or _RULES["checked"].search(before) is not None
    )


def _taken_back(sought: _Sought, after: str) -> bool:
    """Whether the next sentence is short and denies the previous one."""
    words = _words(after)
    if not words or len(words) > NEAR or _asks(after) or set(stems(after)) & sought.content:
        return False
    said = " ".join(words)
    return _denies(words) and (len(words) <= 3 or _RULES["taken_back"].match(said) is not None)


def _unsaid(sought: _Sought, before: str, after: str) -> bool:
    """Whether the sentence before or after a repeated claim says that it is only reported, sought
    or supposed, takes it back, or praises the text for it."""
    if len(before.split()) <= SHORT_BESIDE and found("announces", before):
        return True
    if not after or len(after.split()) > LONGEST_BESIDE:
        return False
    if len(sought.content & set(stems(after))) > len(sought.content) / 3:
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
    """Whether the words after a claim say that it is untrue; *was not* about something else does
    not count."""
    plain = [at for at, word in enumerate(words) if _RULES["plain"].fullmatch(word)]
    if plain and not any(map(_RULES["untrue"].fullmatch, words)):
        return any(
            _RULES["true"].fullmatch(word) for at in plain for word in words[at + 1 : at + 4]
        )
    return _denies(words)


def _denies(words: Sequence[str]) -> bool:
    """Whether ``words`` deny the claim next to them: they call it untrue, or an odd number of them
    negates (*no doubt* affirms). *Not only* does not deny."""
    untrue = [at for at, word in enumerate(words) if _RULES["untrue"].fullmatch(word)]
    negating = [
        at
        for at, word in enumerate(words)
        if _RULES["negating"].fullmatch(word) and words[at + 1 : at + 2] not in (["only"], ["just"])
    ]
    if untrue:
        return not any(0 < untrue[0] - at <= 2 for at in negating)
    return len(negating) % 2 == 1
