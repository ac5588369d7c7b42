"""Names of templates by what becomes of them: nothing, a list, a date, a sum of money, a text."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from typing import Any

from assay.systems.corpus.words import name_set

NAMES: dict[str, Any] = tomllib.loads(
    files("assay.systems.corpus").joinpath("names.toml").read_text("utf-8")
)
"""The tables of ``names.toml``."""


def _pattern(name: str) -> str:
    return str(NAMES[name]).replace("\n", "")


DROPPED = re.compile(f"(?:{_pattern('dropped')})$")
CITES = re.compile(_pattern("cites"))
LISTS, FIRST, SECOND, QUOTES, DATES, RELEASES = (
    name_set(NAMES[name]) for name in ("lists", "first", "second", "quotes", "dates", "releases")
)
SYMBOLS: dict[str, str] = NAMES["symbols"]
MONEY: dict[str, str] = NAMES["money"]
UNITS: dict[str, str] = NAMES["units"]
