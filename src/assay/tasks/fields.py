"""Verdict fields that several tasks have: yes or no, grades, words of a fixed list.

Each accepts what models and people write for the same thing, full-width letters and digits too, and
nothing that has to be guessed.
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
        said = folded(value)
        if said in ("yes", "true"):
            return True
        if said in ("no", "false"):
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
    """Letter case and the way that the words of a label are joined do not matter."""
    if type(value) is str:
        return re.sub(r"[\s-]+", "_", _plain(value).strip(".\"'").casefold())
    return value


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).strip()


def each_folded(value: object) -> object:
    """The same of every label in a list."""
    return [folded(one) for one in value] if isinstance(value, list | tuple) else value
