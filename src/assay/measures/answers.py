"""Whether an extracted answer is correct: the answer-checking rule of EXAM++ (section 4.2.1).

The answer and the gold answer are lower-cased, stop words are removed and words stemmed. They match
if their edit distance is *less than* 20 % of the length of the longer one. Expressions of
unanswerability and ill-formed answers never match.
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
"""The eight expressions which say that a question cannot be answered from a passage."""

# English function words: articles, pronouns, prepositions, conjunctions, auxiliaries.
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
    """Whether ``answer`` is empty or one of the expressions of unanswerability, ignoring case,
    quotes and closing punctuation."""
    bare = _plain(answer).strip("\"'“”‘’ .!,;:")
    return not bare or bare in UNANSWERABLE


def ill_formed(answer: str) -> bool:
    """Whether ``answer`` is only the label of an option (``a.``, ``(iii)``, ``[B]``), or has no
    letter or digit. A letter without punctuation may be an answer (vitamin C)."""
    bare = _plain(answer).strip("\"'“”‘’ ")
    return not any(char.isalnum() for char in bare) or bool(_LABEL.fullmatch(bare))


@lru_cache(maxsize=65536)
def normalised(text: str) -> str:
    """``text`` in lower case, without stop words, stemmed (Porter). A text of stop words only
    keeps them."""
    words = [word.replace("’", "'") for word in _WORD.findall(_plain(text))]
    content_words = [word for word in words if word not in STOP_WORDS] or words
    return " ".join(_stem(word) for word in content_words)


@lru_cache(maxsize=65536)
def _stem(word: str) -> str:
    # Porter's algorithm is for English, and leaves words of one or two letters unchanged.
    stemmable = len(word) > 2 and word.isascii() and word.isalpha()
    return str(_stemmer().stemWord(word)) if stemmable else word


@cache
def _stemmer() -> Any:
    # Loads the stemmers of all languages, which hardly any command needs.
    import snowballstemmer  # noqa: PLC0415 (see above)

    return snowballstemmer.stemmer("porter")


def edit_distance(a: str, b: str, most: int | None = None) -> int:
    """The Levenshtein distance; if it is above ``most``, some number above ``most``."""
    if len(a) < len(b):
        a, b = b, a
    if most is not None and len(a) - len(b) > most:
        return most + 1
    # The bit-parallel algorithm of Myers (1999) and Hyyrö (2001): a column of the table of
    # distances is held in two integers, whose bits say in which rows the distance grows by 1 over
    # the row above, and in which it falls by 1; row_grows and row_falls say in which rows it does
    # so over the column before.
    mask, last, distance = (1 << len(a)) - 1, 1 << len(a) >> 1, len(a)
    positions = {
        char: int("".join("01"[c == char] for c in reversed(a)), 2) for char in set(a) & set(b)
    }
    grows, falls = mask, 0
    # Each remaining character of b can lower the distance by 1 at most.
    for minus_remaining, char in enumerate(b, 1 - len(b)):
        same = positions.get(char, 0)
        vertical = same | falls
        diagonal = (((same & grows) + grows) ^ grows) | same
        row_grows, row_falls = falls | (mask & ~(diagonal | grows)), grows & diagonal
        distance += bool(row_grows & last) - bool(row_falls & last)
        if most is not None and distance + minus_remaining > most:
            return most + 1
        row_grows, row_falls = (row_grows << 1 | 1) & mask, row_falls << 1 & mask
        grows, falls = row_falls | (mask & ~(vertical | row_grows)), row_grows & vertical
    return distance


def matches(answer: str, gold: str) -> bool:
    """Whether two answers, once normalised, have an edit distance below 20 % of the longer length.
    Nothing matches an empty string."""
    a, b = normalised(answer), normalised(gold)
    longer = max(len(a), len(b))
    if not a or not b:
        return False
    # In integers: distance < longer / 5.
    return edit_distance(a, b, most=(longer - 1) // 5) * 5 < longer


def is_correct(answer: str, gold: Iterable[str], choices: Mapping[str, str] | None = None) -> bool:
    """Whether an extracted answer matches one of the ``gold`` answers.

    An answer that says the question is unanswerable, or is ill-formed, is wrong whatever the gold
    answers are, as in the paper. ``choices``: the options of a multiple-choice question by label;
    an answer that has the label before the option (``b. Pacific``) is taken for the option.
    """
    if unanswerable(answer) or ill_formed(answer):
        return False
    for label, option in (choices or {}).items():
        # 1.5 is a number, not the option 1 with the text 5.
        label_pattern = rf"^\W*{re.escape(label)}(?!(?<=\d)[.,:]\d)\W+"
        bare = re.sub(label_pattern, "", answer, count=1, flags=re.IGNORECASE)
        if bare != answer and matches(bare, option):
            answer = option
            break
    return any(matches(answer, key) for key in gold)
