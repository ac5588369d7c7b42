"""Fields of verdicts that several tasks share: yes or no, grades, and words of a fixed list.

Each accepts the usual spellings of models and people, including full-width letters and digits, but
nothing that would have to be guessed.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from assay.tasks.schemas import whole


def yes_no(value: object) -> object:
    """Accept booleans and YES/NO in any case."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        word = folded(value)
        if word in ("yes", "true"):
            return True
        if word in ("no", "false"):
            return False
    raise ValueError("must be YES or NO")


YesNoField = Annotated[
    bool,
    BeforeValidator(yes_no),
    WithJsonSchema({"type": "string", "enum": ["YES", "NO"]}),
]


def whole_grade(highest: int) -> Any:
    """The type of a whole grade from 0 to ``highest``: the number, or its digit."""
    digits = re.compile(f"[0-{highest}]")
    every = ", ".join(map(str, range(highest)))

    def check(value: object) -> object:
        if isinstance(value, str) and digits.fullmatch(_plain(value)):
            return int(_plain(value))
        if isinstance(value, bool) or value not in range(highest + 1):
            raise ValueError(f"must be {every} or {highest}")
        return value

    return Annotated[int, BeforeValidator(check), WithJsonSchema(whole(0, highest))]


def folded(value: object) -> object:
    """Normalise a label: letter case, and how its words are joined, do not matter."""
    if type(value) is str:
        return re.sub(r"[\s-]+", "_", _plain(value).strip(".\"'").casefold())
    return value


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).strip()


def each_folded(value: object) -> object:
    """:func:`folded` for every label in a list."""
    return [folded(one) for one in value] if isinstance(value, list | tuple) else value
