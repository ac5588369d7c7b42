"""Regular expressions kept as data in TOML files: the phrases by which refusals and the like are
known.

An entry is an expression or a list of alternatives; line breaks in it are only layout. ``<NAME>``
stands for an entry of ``[parts]``, or for all forms of the verbs of an entry of ``[verbs]``.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable
from importlib import resources
from typing import Any

VOWELS = "".join(
    one
    for one in map(chr, (*range(0x0900, 0x10A0), *range(0x1780, 0x17D4)))
    if unicodedata.category(one) in ("Mn", "Mc")
)
"""Vowel and tone marks of Indian scripts, Thai, Lao, Tibetan, Burmese and Khmer, for a character
class of a pattern. They distinguish words, although ``\\w`` does not match them."""

_DIGITS = re.compile(r"[^\D0-9]")

_NAMED = re.compile(r"<([A-Z]+)>")


class Phrases:
    """A phrase file: its tables, and its parts with all ``<NAME>`` filled in."""

    def __init__(self, text: str) -> None:
        self.tables: dict[str, Any] = tomllib.loads(text)
        self.parts = {
            name: _forms(own.split()) for name, own in self.tables.get("verbs", {}).items()
        }
        for name, part in self.tables.get("parts", {}).items():
            self.parts[name] = self._filled(part)

    @classmethod
    def of(cls, package: str, file: str) -> Phrases:
        """The phrases of a file in ``package``."""
        return cls(phrases_in(package, file))

    @property
    def rules(self) -> dict[str, re.Pattern[str]]:
        """Patterns of the table ``[rules]``, by name."""
        return {name: self.pattern(own) for name, own in self.tables["rules"].items()}

    @property
    def words(self) -> dict[str, frozenset[str]]:
        """Word lists of the table ``[words]``, by name."""
        return {name: frozenset(own.split()) for name, own in self.tables["words"].items()}

    def pattern(self, entry: str | Iterable[str]) -> re.Pattern[str]:
        """Compile an entry."""
        if isinstance(entry, str):
            return re.compile(self._filled(entry))
        return re.compile("|".join(f"(?:{self._filled(one)})" for one in entry))

    def _filled(self, expression: str) -> str:
        return _NAMED.sub(lambda hit: self.parts[hit.group(1)], expression.replace("\n", ""))


def phrases_in(package: str, file: str) -> str:
    """The text of a file in ``package``."""
    return resources.files(package).joinpath(file).read_text("utf-8")


def _forms(verbs: list[str]) -> str:
    """An expression for all forms of regular verbs."""
    stems = sorted({one.removesuffix("e").removesuffix("y") for one in verbs})
    return rf"(?:(?:{'|'.join(stems)})(?:e|y|s|es|ed|d|ies|ied|ying|ing|)\b)"


def in_one_form(text: str) -> str:
    """Normalise ``text``: NFKC, case folded, digits of all scripts as 0 to 9."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return _DIGITS.sub(lambda digit: str(unicodedata.decimal(digit[0])), folded)
