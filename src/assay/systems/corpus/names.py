"""Names known to the wikitext reader: templates by their treatment (dropped, or made a list, date,
sum of money or text), and namespaces of internal links."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from assay.model.phrases import Phrases, phrases_in


def listed(text: str) -> tuple[str, ...]:
    """The entries of ``text`` in order, separated by semicolons if it has any, else by spaces."""
    parts = text.split(";") if ";" in text else text.split()
    return tuple(" ".join(part.split()) for part in parts if part.strip())


def name_set(text: str) -> frozenset[str]:
    """The entries of ``text`` as a set."""
    return frozenset(listed(text))


NAMES: dict[str, Any] = tomllib.loads(phrases_in("assay.systems.corpus", "names.toml"))
"""The tables of ``names.toml``."""


RULES = Phrases.of("assay.systems.corpus", "patterns.toml").rules
"""The patterns of ``patterns.toml``."""
SYMBOLS: dict[str, str] = NAMES["symbols"]
MONEY: dict[str, str] = NAMES["money"]
UNITS: dict[str, str] = NAMES["units"]
FILE_SPACES = name_set(NAMES["spaces"]["file"])
CATEGORY_SPACES = name_set(NAMES["spaces"]["category"])
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[a-z]{2,12})?|simple|arz|zh-min-nan")


def namespace(title: str) -> str:
    """``file``, ``category``, ``language`` or ``""`` for the target of an internal link."""
    prefix, colon, rest = title.partition(":")
    if not colon:
        return ""
    word = prefix.strip().casefold().replace("_", " ")
    if word in FILE_SPACES:
        return "file"
    if word in CATEGORY_SPACES:
        return "category"
    if _LANGUAGE.fullmatch(prefix) and rest and not rest.startswith(" "):
        return "language"
    return ""
