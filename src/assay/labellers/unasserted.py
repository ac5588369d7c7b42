"""What stands beside a claim that is not asserted: the words and patterns of
``unasserted.toml``."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib import resources

_APOSTROPHES = str.maketrans("’‘", "''")
_NAMED = re.compile(r"<([A-Z]+)>")


def found(rule: str, text: str) -> bool:
    """Whether a pattern of ``rule`` is found in ``text``, which need not be folded."""
    # Praise speaks of what is beyond doubt; elsewhere that affirms.
    said = _folded(text) if rule == "commends" else without_affirming(text)
    return _rules()[rule].search(said) is not None


def without_affirming(text: str) -> str:
    """``text``, folded, without what looks like a denial or doubt and affirms."""
    return _rules()["affirms"].sub(" ", _folded(text))


def _folded(text: str) -> str:
    return text.casefold().translate(_APOSTROPHES)


@cache
def _rules() -> dict[str, re.Pattern[str]]:
    """Every rule as one pattern."""
    document = tomllib.loads(
        resources.files("assay.labellers").joinpath("unasserted.toml").read_text("utf-8")
    )
    parts = {name: _forms(own.split()) for name, own in document["verbs"].items()}

    def filled(text: str) -> str:
        return _NAMED.sub(lambda hit: parts[hit.group(1)], text)

    parts |= {name: filled(own) for name, own in document["parts"].items()}
    return {
        name: re.compile("|".join(f"(?:{filled(one)})" for one in own))
        for name, own in document["rules"].items()
    }


def _forms(verbs: list[str]) -> str:
    """All forms of regular verbs, as an expression."""
    stems = sorted({one.removesuffix("e").removesuffix("y") for one in verbs})
    return rf"(?:(?:{'|'.join(stems)})(?:e|y|s|es|ed|d|ies|ied|ying|ing|)\b)"
