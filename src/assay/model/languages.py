"""Which language a text is likely in: by its script, and by little words where many share one.

It is good enough to tell a person that topics and index do not go together, and a browser which
voice reads a text out; it is used for no more.
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
"""Languages by ISO 639-1 code."""

_BY_SCRIPT = re.compile(
    "|".join(f"(?P<{code}>[{marks}])" for code, marks in _TABLES["scripts"].items())
)
COMMON = _TABLES["words"]
"""Little words of languages that share a script, by code."""

_COMMON = {code: frozenset(words.split()) for code, words in COMMON.items()}
_CYRILLIC = frozenset(("bg", "ru", "sr", "uk"))
_WORD = re.compile(r"[^\W\d_]+|'n")
_READ = 2000  # characters: enough to tell


def likely_language(text: str) -> str:
    """The ISO 639-1 code of the language that ``text`` is likely in; empty where that cannot be
    told, as of a name alone."""
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
    if script == "ru" and (told := _by_letters(part, ("uk", "sr"))):
        return told
    first, second = sorted(counts, key=lambda code: -counts[code])[:2]
    if counts[first] < 2 or counts[first] == counts[second]:
        return ""
    return first


def languages(texts: Iterable[str]) -> dict[str, float]:
    """The share of each language among those ``texts`` of which it can be told."""
    found = Counter(filter(None, map(likely_language, texts)))
    return {code: count / found.total() for code, count in found.most_common()}


_EASILY_CONFUSED = (
    frozenset(("zh", "ja")),
    frozenset(("ar", "fa", "ur")),
    frozenset(("hi", "mr")),
    frozenset(("da", "no")),
)
"""Languages that short texts are easily taken for one another in."""


def told_apart(one: str, other: str) -> bool:
    """Whether two languages are two, and a short text can be told to be in the one."""
    return one != other and not any({one, other} <= group for group in _EASILY_CONFUSED)


def _by_letters(text: str, codes: Iterable[str]) -> str:
    """The language among ``codes`` that has letters of its own in ``text``."""
    counts = {
        code: sum(text.count(letter) for letter in _TABLES["letters"][code]) for code in codes
    }
    best = max(counts, key=lambda code: counts[code])
    return best if counts[best] > 1 else ""
