"""The Porter stemmer. Source: Porter, An algorithm for suffix stripping, Program 14 (1980)."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["stem"]

# A word as a pattern of consonants (c) and vowels (v); y is a vowel after a consonant.
_VC = re.compile(r"v+c+")

_STEP2 = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"),
    ("abli", "able"), ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"),
    ("ization", "ize"), ("ation", "ate"), ("ator", "ate"), ("alism", "al"), ("iveness", "ive"),
    ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"), ("iviti", "ive"), ("biliti", "ble"),
)  # fmt: skip
_STEP3 = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""),
    ("ness", ""),
)  # fmt: skip
_STEP4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou",
    "ism", "ate", "iti", "ous", "ive", "ize",
)  # fmt: skip


def _shape(word: str) -> str:
    shape = ""
    for place, char in enumerate(word):
        if char in "aeiou" or (char == "y" and place and shape[-1] == "c"):
            shape += "v"
        else:
            shape += "c"
    return shape


def _measure(word: str) -> int:
    """m: how many times vowels are followed by consonants."""
    return len(_VC.findall(_shape(word)))


def _double(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _shape(word)[-1] == "c"


def _short(word: str) -> bool:
    """*o: ends consonant, vowel, consonant, the last not w, x or y."""
    return _shape(word)[-3:] == "cvc" and word[-1] not in "wxy"


def _longest(word: str, endings: tuple[tuple[str, str], ...]) -> tuple[str, str] | None:
    fitting = [pair for pair in endings if word.endswith(pair[0])]
    return max(fitting, key=lambda pair: len(pair[0])) if fitting else None


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Return the stem of a word in lower case. Words of one or two letters, and those with
    anything but a–z, stay as they are."""
    if len(word) <= 2 or not word.isascii() or not word.isalpha():
        return word
    word = _step1(word)
    for endings in (_STEP2, _STEP3):
        found = _longest(word, endings)
        if found is not None and _measure(word[: -len(found[0])]) > 0:
            word = word[: -len(found[0])] + found[1]
    word = _step4(word)
    return _step5(word)


def _step1(word: str) -> str:
    if word.endswith(("sses", "ies")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    if word.endswith("eed"):
        if _measure(word[:-3]) > 0:
            word = word[:-1]
    else:
        for ending in ("ed", "ing"):
            rest = word[: -len(ending)]
            if word.endswith(ending) and "v" in _shape(rest):
                word = _mended(rest)
                break
    if word.endswith("y") and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    return word


def _mended(word: str) -> str:
    """What is left of a word once -ed or -ing is gone, with a lost e or doubling put right."""
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if _double(word) and word[-1] not in "lsz":
        return word[:-1]
    if _measure(word) == 1 and _short(word):
        return word + "e"
    return word


def _step4(word: str) -> str:
    found = _longest(word, tuple((ending, "") for ending in _STEP4))
    if found is None:
        return word
    rest = word[: -len(found[0])]
    if _measure(rest) <= 1 or (found[0] == "ion" and not rest.endswith(("s", "t"))):
        return word
    return rest


def _step5(word: str) -> str:
    if word.endswith("e"):
        m = _measure(word[:-1])
        if m > 1 or (m == 1 and not _short(word[:-1])):
            word = word[:-1]
    if word.endswith("ll") and _measure(word) > 1:
        word = word[:-1]
    return word
