"""Words and patterns around claims that are not asserted, from ``unasserted.toml``."""

from __future__ import annotations

from assay.model.phrases import Phrases

_APOSTROPHES = str.maketrans("’‘", "''")
_RULES = Phrases.of("assay.labellers", "unasserted.toml").rules


def found(rule: str, text: str) -> bool:
    """Whether ``text``, which need not be folded, matches ``rule``."""
    # In praise, "beyond doubt" and the like are what is looked for; elsewhere they affirm.
    searched = _folded(text) if rule == "commends" else without_affirming(text)
    return _RULES[rule].search(searched) is not None


def without_affirming(text: str) -> str:
    """Folded ``text`` without phrases that look like denial or doubt but affirm."""
    return _RULES["affirms"].sub(" ", _folded(text))


def _folded(text: str) -> str:
    return text.casefold().translate(_APOSTROPHES)
