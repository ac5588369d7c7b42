"""Is an extracted answer the gold answer? The answer-checking rule of EXAM++ (section 4.2.1).

Both are normalised by lower-casing, stop-word removal and stemming; they match where their edit
distance is *less than* 20 % of the longer one's length. Expressions of unanswerability and
ill-formed answers never match.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import Any

from assay.model.phrases import VOWELS, in_one_form

UNANSWERABLE = (
    "unanswerable",
    "no",
    "no answer",
    "not enough information",
    "unknown",
    "it is not possible to tell",
    "it does not say",
    "no relevant information",
)
"""The eight expressions that say that a question cannot be answered from a passage."""

# The function words of English: articles, pronouns, prepositions, conjunctions, auxiliaries.
STOP_WORDS = frozenset(
    """a an the i me my mine myself we us our ours ourselves you your yours yourself yourselves he
    him his himself she her hers herself it its itself they them their theirs themselves this that
    these those who whom whose which what be am is are was were been being have has had having do
    does did doing will would shall should can could may might must of at by for with about against
    between into through during before after above below to from up down in out on off over under
    again further then once here there when where why how all any both each few more most other some
    such only own same so than too very and but if or because as until while just also""".split()  # noqa: SIM905
)

_WORD = re.compile(rf"[\w{VOWELS}]+(?:['’]\w+)*")
_OPTION = r"(?:[a-z]|[ivx]{2,5})"
_LABEL = re.compile(rf"[\[(]\s*{_OPTION}\s*[\])][.:]?|{_OPTION}\s*[.:)\]]+")


def _plain(text: str) -> str:
    return " ".join(in_one_form(text).split())


def unanswerable(answer: str) -> bool:
    """Whether ``answer`` is one of the expressions of unanswerability (whatever its case, quotes
    and closing punctuation), or empty."""
    bare = _plain(answer).strip("\"'“”‘’ .!,;:")
    return not bare or bare in UNANSWERABLE


def ill_formed(answer: str) -> bool:
    """Whether ``answer`` is no answer but the label of an option: ``a.``, ``(iii)``, ``[B]``; or
    holds no letter and no digit. A letter without punctuation may be an answer (vitamin C)."""
    bare = _plain(answer).strip("\"'“”‘’ ")
    return not any(char.isalnum() for char in bare) or bool(_LABEL.fullmatch(bare))


@lru_cache(maxsize=65536)
def normalised(text: str) -> str:
    """``text`` in lower case, without stop words, stemmed (Porter); the words of a text that
    holds nothing but stop words stay."""
    words = [word.replace("’", "'") for word in _WORD.findall(_plain(text))]
    telling = [word for word in words if word not in STOP_WORDS] or words
    return " ".join(_stem(word) for word in telling)


@lru_cache(maxsize=65536)
def _stem(word: str) -> str:
    # Porter's paper leaves words of one or two letters as they are, and speaks of English alone.
    plain = len(word) > 2 and word.isascii() and word.isalpha()
    return str(_stemmer().stemWord(word)) if plain else word


@cache
def _stemmer() -> Any:
    # It brings the stemmers of all languages along, for which nearly no command has a use.
    import snowballstemmer  # noqa: PLC0415 (see above)

    return snowballstemmer.stemmer("porter")


def edit_distance(a: str, b: str, most: int | None = None) -> int:
    """The Levenshtein distance; where it is above ``most``, some number above ``most``."""
    if len(a) < len(b):
        a, b = b, a
    if most is not None and len(a) - len(b) > most:
        return most + 1
    # All rows of a column at once, as the bits of whole numbers that say where the distance grows
    # by 1 from row to row and where it falls (Myers 1999, Hyyrö 2001).
    every, last, distance = (1 << len(a)) - 1, 1 << len(a) >> 1, len(a)
    places = {
        char: int("".join("01"[c == char] for c in reversed(a)), 2) for char in set(a) & set(b)
    }
    grows, falls = every, 0
    # (left: minus how many characters of b are to come; each can take 1 off the distance)
    for left, char in enumerate(b, 1 - len(b)):
        same = places.get(char, 0)
        vertical = same | falls
        diagonal = (((same & grows) + grows) ^ grows) | same
        right, wrong = falls | (every & ~(diagonal | grows)), grows & diagonal
        distance += bool(right & last) - bool(wrong & last)
        if most is not None and distance + left > most:
            return most + 1
        right, wrong = (right << 1 | 1) & every, wrong << 1 & every
        grows, falls = wrong | (every & ~(vertical | right)), right & vertical
    return distance


def matches(answer: str, gold: str) -> bool:
    """Whether two answers are the same by edit distance, once normalised. Strict: a distance of
    exactly 20 % does not match, nor does anything match an empty string."""
    a, b = normalised(answer), normalised(gold)
    longer = max(len(a), len(b))
    if not a or not b:
        return False
    # distance < longer / 5, in whole numbers: distance · 5 < longer
    return edit_distance(a, b, most=(longer - 1) // 5) * 5 < longer


def is_correct(answer: str, gold: Iterable[str], choices: Mapping[str, str] | None = None) -> bool:
    """Grade an extracted answer against its key: True for grade 1, False for grade 0.

    An answer that is unanswerable or ill-formed is wrong whatever the key says, as in the paper.
    ``choices`` are the options by label; one that is given with its label (``b. Pacific``) is the
    option.
    """
    if unanswerable(answer) or ill_formed(answer):
        return False
    for label, option in (choices or {}).items():
        # (1.5 is no option 1 that says 5.)
        marked = rf"^\W*{re.escape(label)}(?!(?<=\d)[.,:]\d)\W+"
        bare = re.sub(marked, "", answer, count=1, flags=re.IGNORECASE)
        if bare != answer and matches(bare, option):
            answer = option
            break
    return any(matches(answer, key) for key in gold)
