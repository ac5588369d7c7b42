"""Guess the language of a text from its script and from common words.

This is good enough to warn that topics and index are in different languages, and to choose the
voice that reads a text aloud. It is used for nothing else.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from importlib.resources import files

_TABLES: Mapping[str, Mapping[str, str]] = tomllib.loads(
    files("assay.model").joinpath("languages.toml").read_text("utf-8")
)
NAMES = _TABLES["names"]
"""Names of languages by ISO 639-1 code."""

_BY_SCRIPT = re.compile(
    "|".join(f"(?P<{code}>[{marks}])" for code, marks in _TABLES["scripts"].items())
)
COMMON = _TABLES["words"]
"""Common words of languages that share a script, by language code."""

_COMMON = {code: frozenset(words.split()) for code, words in COMMON.items()}
_CYRILLIC = frozenset(("bg", "ru", "sr", "uk"))
_WORD = re.compile(r"[^\W\d_]+|'n")
_READ = 2000  # characters that are looked at


def likely_language(text: str) -> str:
    """The ISO 639-1 code of the likely language of ``text``, or "" if unclear (a name, say)."""
    part = text[:_READ]
    scripts = Counter(found.lastgroup or "" for found in _BY_SCRIPT.finditer(part))
    if not scripts:
        return ""
    script = scripts.most_common(1)[0][0]
    if script in ("zh", "ja"):  # Japanese is written with both, Chinese without kana
        return "ja" if scripts["ja"] * 10 >= scripts["zh"] else "zh"
    if script not in ("latin", "ru"):
        return _by_letters(part, ("ur", "fa")) or "ar" if script == "ar" else script
    words = [word.casefold() for word in _WORD.findall(part)]
    codes = _CYRILLIC if script == "ru" else _COMMON.keys() - _CYRILLIC
    counts = {code: sum(word in _COMMON[code] for word in words) for code in sorted(codes)}
    if script == "ru" and (code := _by_letters(part, ("uk", "sr"))):
        return code
    first, second = sorted(counts, key=lambda code: -counts[code])[:2]
    if counts[first] < 2 or counts[first] == counts[second]:
        return ""
    return first


def languages(texts: Iterable[str]) -> dict[str, float]:
    """The share of each language among the ``texts`` whose language is clear."""
    found = Counter(filter(None, map(likely_language, texts)))
    return {code: count / found.total() for code, count in found.most_common()}


_EASILY_CONFUSED = (
    frozenset(("zh", "ja")),
    frozenset(("ar", "fa", "ur")),
    frozenset(("hi", "mr")),
    frozenset(("da", "no")),
)
"""Groups of languages that are easily confused in short texts."""


def distinct(one: str, other: str) -> bool:
    """Whether two languages differ and short texts in them are not easily confused."""
    return one != other and not any({one, other} <= group for group in _EASILY_CONFUSED)


def _by_letters(text: str, codes: Iterable[str]) -> str:
    """The language among ``codes`` whose special letters are most frequent in ``text``, or ""."""
    counts = {
        code: sum(text.count(letter) for letter in _TABLES["letters"][code]) for code in codes
    }
    best = max(counts, key=lambda code: counts[code])
    return best if counts[best] > 1 else ""
