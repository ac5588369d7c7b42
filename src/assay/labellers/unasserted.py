"""What stands beside a claim that is not asserted: the words and patterns of
``unasserted.toml``."""

from __future__ import annotations

from assay.model.phrases import Phrases

_APOSTROPHES = str.maketrans("’‘", "''")
_RULES = Phrases.of("assay.labellers", "unasserted.toml").rules


def found(rule: str, text: str) -> bool:
    """Whether a pattern of ``rule`` is found in ``text``, which need not be folded."""
    # Praise speaks of what is beyond doubt; elsewhere that affirms.
    said = _folded(text) if rule == "commends" else without_affirming(text)
    return _RULES[rule].search(said) is not None


def without_affirming(text: str) -> str:
    """``text``, folded, without what looks like a denial or doubt and affirms."""
    return _RULES["affirms"].sub(" ", _folded(text))


def _folded(text: str) -> str:
    return text.casefold().translate(_APOSTROPHES)
