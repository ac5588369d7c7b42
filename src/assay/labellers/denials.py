"""Find answers that name the gold answer without giving it.

They deny it ("It is not Paris"), doubt it ("I doubt it was Paris"), leave it open ("either Rome or
Paris", a list of seven cities), or name it only to speak of somebody else ("the brother of Paris").
A judge that looks for the gold answer finds it in all of them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache

from assay.labellers.refusals import (
    LONGEST,
    UNSPACED,
    folded,
    gold_declines,
    is_title,
    refusal_in,
    same_words,
    without_gaps,
)
from assay.labellers.undecided import called_mistake, dismissed, plainly_given, unsettled
from assay.model.phrases import VOWELS, Phrases

VERSION = 14
"""Version of these rules, of those on refusals, and of the languages that the embedded judge does
not read. It is part of the identity of labellers that use them, and must change whenever the same
answer may get another verdict."""

NEAR = 80
"""Characters before and after a name that are searched for its denial."""
LONGEST_ITEM = 4
"""Most words of a name in a choice or a list, unless it is a gold answer or a title."""
LONGEST_TITLE = 12
"""Most words of a title in a choice or a list."""
LONGEST_PLAIN = 25
"""In answers of at most this many words, all words around a gold answer are taken to be about
it."""
NOT_PLAIN = "It names the gold answer and does not plainly give it."
LISTED = 4
"""A list of at least this many items gives no answer if only one of them is the gold answer."""

_DIGIT = "0-9〇零一二三四五六七八九十百千万萬億亿"
_GROUP = r"(?<!\d{4})[ '\u202f]\d{3}(?!\d)"
_YEAR = (
    r"(?=\d{4}(?!\d))"
    r"(?:(?<=\d\.\d\.)|(?<=\d\.\d\d\.)|(?<=[^\W\d_] \d,)|(?<=[^\W\d_] \d\d,))"
)
_NUMBER_BEFORE = rf"(?<![{_DIGIT}])(?:(?<!\d[.,])|{_YEAR})(?<!(?<!\w)[-−–])"
_NUMBER_AFTER = rf"(?![{_DIGIT}]|[.,]\d|{_GROUP})"
"""Context of a complete number: 5 is not one in 12.5, 0,5, −5, 5 000 or 十五, but 1789 is one in
14.07.1789, July 14,1789 and "in 1789 100 men"."""
_RULES = Phrases.of("assay.labellers", "denials.toml").rules


def fault_in(question: str, answer: str, gold: Sequence[str]) -> str | None:
    """A sentence that says why ``answer`` is wrong although it may name a gold answer, or None. It
    declines, denies every gold answer that it names, or leaves open which of several it means. An
    answer that is a gold answer word for word has no fault, nor has declining if the gold answer
    itself declines."""
    answer, gold = without_gaps(answer), [without_gaps(one) for one in gold]
    if any(same_words(answer, one) for one in gold):
        return None
    refusal = refusal_in(answer)
    if refusal is not None:
        return None if gold_declines(gold) else f"It declines to answer: “{refusal.words.strip()}”."
    query, reply = folded(question), folded(answer)
    wanted = [one for one in map(_core, gold) if one]
    if len(answer) <= LONGEST and _stuffed(query, answer, gold):
        return "It names more than the gold answer has."
    places = _whole(place for one in wanted for place in _places(reply, one))
    if not places:
        return None
    if not _RULES["negated_question"].search(query) and all(
        _denied(reply, *place) for place in places
    ):
        return "It denies or doubts the gold answer."
    if (
        not _RULES["negated_question"].search(query)
        and len(answer.split()) <= LONGEST_PLAIN
        and all(called_mistake(reply[:start], query) for start, _ in places)
    ):
        return NOT_PLAIN
    if not _RULES["any_kin"].search(query) and all(_of_kin(reply, *place) for place in places):
        return "It names the gold answer only to speak of somebody else."
    if len(answer) <= LONGEST and (
        _left_open(query, answer, wanted)
        or (not _RULES["asks_for_several"].search(query) and unsettled(answer, reply, query, gold))
    ):
        return "It names several answers and settles on none."
    return None


def named_only(question: str, answer: str, gold: Sequence[str]) -> str | None:
    """Why ``answer`` may be wrong although :func:`fault_in` finds no fault, or None. It is short
    and names a gold answer among words about answers and opinions that do not plainly give it. A
    judge that can read it should be certain before it counts as correct."""
    query, reply = folded(question), folded(answer)
    if len(answer.split()) > LONGEST_PLAIN or _RULES["negated_question"].search(query):
        return None
    if any(same_words(answer, one) for one in gold) or refusal_in(answer) is not None:
        return None
    places = _whole(place for one in map(_core, gold) if one for place in _places(reply, one))
    if not places or any(plainly_given(reply[:start], reply[end:], query) for start, end in places):
        return None
    return NOT_PLAIN


def fault_of_one(question: str, answer: str, wordings: Sequence[str]) -> str | None:
    """Like :func:`fault_in` for one of several required answers: naming others too is no fault."""
    return fault_in(f"Name all: {question}", answer, wordings)


def same_set(text: str, gold: str) -> bool:
    """Whether two lists have the same entries, in any order."""
    one_items, other_items = (sorted(map(_core, _items(folded(one)))) for one in (text, gold))
    return len(one_items) > 1 and one_items == other_items


def declines_rightly(answer: str, gold: Sequence[str]) -> bool:
    """Whether ``answer`` declines, and declining is correct according to the gold answers."""
    return gold_declines(gold) and refusal_in(answer) is not None


def names(text: str, gold: str) -> bool:
    """Whether ``text`` contains ``gold``."""
    return bool(_places(folded(text), _core(gold)))


def _core(gold: str) -> str:
    """A gold answer as it is searched for: folded, without surrounding marks and leading
    article."""
    text = folded(gold).strip(" .,;:!?\"'()[]")
    text = re.sub(r"^(?:the|a|an)\s+", "", text)
    return "" if text in ("yes", "no", "not", "none", "never") else text


def _places(reply: str, gold: str) -> list[tuple[int, int]]:
    """Start and end of every occurrence of ``gold`` in ``reply``, as whole words in spaced
    scripts."""
    if not gold:
        return []
    reply, gold = plain(reply), plain(gold)
    if re.fullmatch(r"[\w\s.,:'-]*\w[.']*", gold):  # otherwise marks are part of it: C++, 5 %
        words = re.split(r"([\W_]+)", gold.rstrip(".'"))
        parts = words[::2]
    else:
        words, parts = [], gold.split()
    if any(one not in reply for one in parts):
        return []  # the usual case, a hundred times faster than compiling the pattern
    sign = "[-−–]" if re.match(r"[-−–]\d", gold) else ""
    body = sign + "".join(
        re.escape(one) if at % 2 == 0 else _between(*words[at - 1 : at + 2])
        for at, one in enumerate(words)
        if at > 1 or not sign
    ) or r"\s+".join(map(re.escape, parts))
    before = "" if re.match(f"[{UNSPACED}]", gold) else rf"(?<![^\W{UNSPACED}])(?<![{VOWELS}])"
    after = "" if re.search(f"[{UNSPACED}]$", gold) else rf"(?![^\W{UNSPACED}]|\+\+|#)"
    after += rf"(?![{VOWELS}])"
    if re.match(f"[{_DIGIT}]", gold):
        before += _NUMBER_BEFORE
    if re.search(f"[{_DIGIT}]$", gold):
        after += _NUMBER_AFTER
    return [hit.span() for hit in re.finditer(before + body + after, reply)]


def _between(word: str, joint: str, following: str) -> str:
    """A pattern for the ``joint`` between two words of a gold answer."""
    unspaced = re.search(f"[{UNSPACED}]$", word) and re.match(f"[{UNSPACED}]", following)
    return r"[\W_]{0,3}" if joint in ("'", "-") or unspaced else r"[\W_]{1,3}"


def plain(text: str) -> str:
    """``text`` without accents, with the same length (パ and バ stay, as they are not ハ)."""
    if text.isascii() or all(one == _unaccented(one) for one in set(text)):
        return text
    return "".join(map(_unaccented, text))


@cache
def _unaccented(char: str) -> str:
    base = unicodedata.normalize("NFD", char)
    voiced = base[1:] in ("\u3099", "\u309a")
    return base[0] if all(map(unicodedata.combining, base[1:])) and not voiced else char


def _whole(places: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The places that are not within another one (a gold answer may contain another)."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(set(places), key=lambda one: (one[0], -one[1])):
        if not found or end > found[-1][1]:
            found.append((start, end))
    return found


def _denied(reply: str, start: int, end: int) -> bool:
    """Whether ``reply`` denies the name from ``start`` to ``end``."""
    before, after = reply[max(0, start - NEAR) : start], reply[end : end + NEAR]
    rumour = _RULES["rumour"]
    rest = f"{reply[: max(0, start - NEAR)]}{rumour.sub('', before)} {after}"
    if rumour.search(before) and re.search(r"\bbut\b|\b(?:is|was)\b|[;:]", rest):
        return True
    if dismissed(before, after):
        return True
    return any(_RULES[name].search(before) for name in ("before", "doubt", "cjk_before")) or any(
        _RULES[name].search(after) for name in ("after", "cjk_after")
    )


def _of_kin(reply: str, start: int, end: int) -> bool:
    """Whether ``reply`` is about a relative of the name from ``start`` to ``end``."""
    before, after = reply[max(0, start - NEAR) : start], reply[end : end + NEAR]
    return _RULES["of_kin"].search(before) is not None or _RULES["kins"].match(after) is not None


def _left_open(query: str, answer: str, gold: Sequence[str]) -> bool:
    """Whether ``answer`` is a choice or a list in which one item is a gold answer."""
    if any(len(_items(one)) > 1 for one in gold):
        return False  # the gold answer is a choice or a list itself
    reply = folded(answer).strip(" .!?")
    either = _RULES["either"].search(reply)
    if either is not None:
        before, clause = reply[: either.start()], re.split(r"[.;(\n]", reply[either.end() :])[0]
        choices = [one for one in _RULES["or"].split(clause) if one.strip()]
        right = [_is_any(one, gold) for one in choices]
        if any(right) and not all(right) and not _is_any(before, gold):
            return True
    text = _RULES["opening"].sub("", reply, count=1)
    choices = _named_in(text, answer, _RULES["or"], gold)
    right = [_is_any(one, gold) for one in choices]
    if any(right) and not all(right):
        return True
    numbered = len(_RULES["numbered"].findall(text)) > 1
    between = _RULES["numbered"] if numbered else _RULES["joint"]
    joined = (
        _named_in(text, answer, between, gold) if numbered or _RULES["and"].search(text) else []
    )
    items = joined or [one.strip(" .\"'()") for one in _items(text)]
    listed = len(items) >= LISTED and all(_is_short(one, answer, gold) for one in items)
    if _RULES["asks_for_several"].search(query) or not (joined or listed):
        return False
    named = [one for one in items if _is_any(one, gold)]
    return len(named) == 1 and _core(named[0]) in gold


def _stuffed(query: str, answer: str, gold: Sequence[str]) -> bool:
    """Whether ``answer`` is a list with all entries of a gold answer and others besides."""
    several = [_items(folded(one)) for one in gold]
    # "Vienna, Austria" is a single place.
    lists = [
        each
        for one, each in zip(gold, several, strict=True)
        if len(each) > 2
        or _RULES["and"].search(one)
        or (len(each) > 1 and _RULES["asks_for_several"].search(query))
    ]
    text = _RULES["opening"].sub("", folded(answer).strip(" .!?"), count=1)
    items = [one.strip(" .\"'()") for one in _items(text)]
    if not lists or len(items) <= max(map(len, lists)):
        return False
    words = all(one.islower() for one in gold)  # colours, not names
    if not all(_is_name(one, answer, gold, words=words) for one in items):
        return False
    entries = [[_core(one) for one in each] for each in lists]
    whole = any(all(_is_any(text, [one]) for one in each) for each in entries)
    every = [one for each in entries for one in each]
    return whole and any(not _is_any(one, every) for one in items)


def _named_in(text: str, answer: str, between: re.Pattern[str], gold: Sequence[str]) -> list[str]:
    """The parts of ``text`` between its joints if there are several and all are names, or none."""
    parts = [_RULES["opening"].sub("", one) for one in between.split(text) if one.strip()]
    return parts if len(parts) > 1 and all(_is_name(one, answer, gold) for one in parts) else []


def _is_any(text: str, gold: Sequence[str]) -> bool:
    return any(_places(text, one) for one in gold)


def _is_short(item: str, answer: str, gold: Sequence[str]) -> bool:
    """Whether ``item`` may be a name: it has few words, or is a gold answer or a title."""
    if len(item.split()) <= LONGEST_ITEM or _core(item) in gold:
        return True
    return len(item.split()) <= LONGEST_TITLE and is_title(_as_written(item, answer))


def _is_name(choice: str, answer: str, gold: Sequence[str], *, words: bool = False) -> bool:
    """Whether ``choice`` is short and begins in ``answer`` with a capital or a digit, or is in a
    script without capitals; with ``words``, case does not matter. "I don't know, maybe Paris" has
    one name."""
    plain = re.sub(r"^(?:the|a|an)\s+", "", choice.strip(" ,.\"'()"))
    written = _as_written(plain, answer)
    if not written or (written[0].islower() and not words) or refusal_in(plain) is not None:
        return False
    return _is_short(plain, answer, gold)


def _as_written(text: str, answer: str) -> str:
    """The folded ``text`` as it is written in ``answer``."""
    whole = unicodedata.normalize("NFKC", answer)
    place = whole.casefold().find(text)
    return whole[place : place + len(text)] if place >= 0 else ""


def _items(text: str) -> list[str]:
    return [one for one in _RULES["joint"].split(text) if one.strip()]
