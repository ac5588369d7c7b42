"""Verdict fields that several tasks have: yes or no, grades, words of a fixed list.

Each accepts what models write for the same thing, and nothing that has to be guessed.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from assay.tasks.schemas import whole


def yes_no(value: object) -> object:
    """Accept booleans and YES/NO in any case."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        folded = value.strip().strip(".\"'").casefold()
        if folded in ("yes", "true"):
            return True
        if folded in ("no", "false"):
            return False
    raise ValueError("must be YES or NO")


YesNoField = Annotated[
    bool,
    BeforeValidator(yes_no),
    WithJsonSchema({"type": "string", "enum": ["YES", "NO"]}),
]


def whole_grade(highest: int) -> Any:
    """The type of a whole grade from 0 to ``highest``: the number, or its digit."""
    digits = re.compile(rf"\s*[0-{highest}]\s*")
    every = ", ".join(map(str, range(highest)))

    def check(value: object) -> object:
        if isinstance(value, str) and digits.fullmatch(value):
            return int(value)
        if isinstance(value, bool) or value not in range(highest + 1):
            raise ValueError(f"must be {every} or {highest}")
        return value

    return Annotated[int, BeforeValidator(check), WithJsonSchema(whole(0, highest))]


def folded(value: object) -> object:
    """Letter case and the way that the words of a label are joined do not matter."""
    if type(value) is str:
        return re.sub(r"[\s-]+", "_", value.strip().strip(".\"'").casefold())
    return value


def each_folded(value: object) -> object:
    """The same of every label in a list."""
    return [folded(one) for one in value] if isinstance(value, list | tuple) else value
