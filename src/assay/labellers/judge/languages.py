"""Recognise texts in languages that the judge cannot read.

Only words in lower case count, as names occur in every language. A text is not English if hardly
any word is English and most are words of another language, have letters that English lacks, or are
not in the network's vocabulary.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache, lru_cache

import orjson

from assay.labellers.judge.packages import vocabulary
from assay.model.phrases import Phrases

_READ = 200
"""Most words that are looked at."""
_UNKNOWN = 4
"""Least unknown words that suffice without a known word of another language; fewer may be terms."""

_TOLD = 6
"""To be named, a language must account for one word in this many, and for more than any other."""

_PHRASES = Phrases.of("assay.labellers.judge", "languages.toml")
_SCRIPTS: dict[str, list[str]] = _PHRASES.tables["scripts"]
_DENSE = frozenset(("Japanese", "Korean", "Chinese"))
"""Languages in whose scripts a character is a syllable or a word."""
_DENSITY = 3
_SURELY_CHINESE = 20
"""A text with more than this many characters and no kana is not Japanese."""
_LETTERS: dict[str, str] = _PHRASES.tables["letters"]
_WORDS = _PHRASES.words
_ENGLISH = _WORDS.pop("English")
_OTHERS = frozenset().union(*_WORDS.values()) - _ENGLISH
_EITHER = frozenset(["a", "in", "an", "was", "no", "on", "as", "is", "so", "do"])
"""English words that are also words of other languages; they count half."""
_LETTER = r"[^\W\d_²³¹¼-¾⁰-₉]"
_WORD = re.compile(rf"{_LETTER}+(?:['’-]{_LETTER}+)*")
_OF_NONE = re.compile(r"\b[A-Za-z]\s*=|\bet (?:al|cetera)\b|\bper cent\b")
"""Formulas and references, as in all languages; foreign phrases that are also English."""
_ELIDED = re.compile(r"(?:[cjldnsmt]|qu)['’][aeiouyhàâéèêëîïôœùûü]", re.IGNORECASE)
_PARTICLES = re.compile(
    r"\b([A-ZÀ-Þ][\w’'-]*)(?:\s(?:de|del|della|di|da|do|dos|das|du|des|la|las|los|le|el|al|van|von|"
    r"der|den|zu|y|e|et))+\s(?=[A-ZÀ-Þ])"
)
"""Particles of names, between two capitalised words."""
_WIDE = re.compile("[０-９Ａ-Ｚａ-ｚ]")
"""Full-width characters, which the network does not know."""
_BESIDE = re.compile(r"[(（\[「『][^()（）\[\]「」『』]*[)）\]」』]")


@lru_cache(maxsize=4096)
def other_language(text: str) -> str | None:
    """The language of ``text`` if it is not English (``another language`` if unclear). None if it
    is English or consists only of names and numbers."""
    text = unicodedata.normalize("NFC", text)
    found = _WORD.findall(text)[:_READ]
    script = _other_script(found, text)
    if script is not None:
        return script
    if 2 * len(_WIDE.findall(text)) > sum(map(str.isalnum, text)):
        return "full-width letters"
    if "¿" in text or "¡" in text:
        return "Spanish"
    return _other_words(text.casefold() if text.isupper() else text)


def _other_script(found: list[str], text: str) -> str | None:
    """The language, or languages, of the script of most letters if that is not Latin. Text in
    brackets is ignored, as it usually repeats a name."""
    letters = _letters(found)
    if letters.total() == letters[""]:
        return None
    outside = _letters(_WORD.findall(_BESIDE.sub(" ", text))[:_READ])
    letters = outside if outside.total() else letters
    size = {one: n * (_DENSITY if one in _DENSE else 1) for one, n in letters.items() if one}
    foreign = sum(size.values())
    if foreign < 2 or (foreign <= letters[""] and not _in_kana(letters, found)):
        return None  # "α" is a symbol
    if letters["Japanese"]:
        return "Japanese"
    most = max(size, key=lambda one: (size[one], one))
    short = most == "Chinese" and letters[most] <= _SURELY_CHINESE
    return "Chinese or Japanese" if short else most


def _letters(words: list[str]) -> Counter[str]:
    return Counter(_script(char) for word in words for char in word)


def _in_kana(letters: Counter[str], found: list[str]) -> bool:
    """Whether kana connect the Latin names of a Japanese sentence."""
    return letters["Japanese"] > 1 and not _ENGLISH.intersection(map(str.casefold, found))


def _other_words(text: str) -> str | None:
    """The language of a text in Latin letters, by its lower-case words and its first word."""
    text = _OF_NONE.sub(" ", text)
    found = _WORD.findall(_PARTICLES.sub(r"\1 ", text))[:_READ]
    folded = [word.casefold() for word in found]
    small = [word for word in found if word[0].islower() and (len(word) > 1 or not word.isascii())]
    elided = sum(_ELIDED.match(word) is not None and word[2].islower() for word in found)
    if len(found) < 2 or not (small or elided):
        return None
    english = sum(1 if word in _EITHER else 2 for word in folded if word in _ENGLISH)
    signs = 2 * elided + (folded[0] in _OTHERS and found[0] not in small)
    unknown = known = 0
    for word in small:
        if word in _OTHERS or not word.isascii():
            signs += 1
        elif re.split("['’-]", word)[0] in _vocabulary():
            known += word not in _ENGLISH
        else:
            unknown += 1
    foreign = signs + unknown
    if foreign < 2 or foreign <= english + known or not (signs or unknown >= _UNKNOWN):
        return None
    return _named([word for word in found if word in small or word == found[0]], elided)


def _named(found: list[str], elided: int) -> str:
    """The language of non-English words, by their words and letters."""
    words = [word.casefold() for word in found]
    letters = {char for word in words for char in word if char.isalpha() and not char.isascii()}
    hits = {name: 0.0 for name, own in _LETTERS.items() if letters.issubset(own)}
    for word in words:
        for signs, own in ((_WORDS, {word}), (_LETTERS, set(word))):
            names = [name for name, of in signs.items() if own.intersection(of)]
            for name in hits.keys() & names:
                hits[name] += 1 / len(names)
    if "French" in hits:
        hits["French"] += elided
    best = max(hits.values(), default=0.0)
    first = [name for name, one in hits.items() if one == best]
    return first[0] if len(first) == 1 and best * _TOLD >= len(words) else "another language"


@cache
def _vocabulary() -> frozenset[str]:
    """Words that are a single token for the network; nearly all are English."""
    words = orjson.loads(vocabulary())["model"]["vocab"]
    return frozenset(word for word in words if len(word) > 1 and word.isalpha())


@lru_cache(maxsize=65536)
def _script(char: str) -> str:
    """The language, or languages, of a letter's script; empty for Latin letters."""
    if char.isascii():
        return ""
    name = unicodedata.name(char, "")
    return next((one for one, starts in _SCRIPTS.items() if name.startswith(tuple(starts))), "")
