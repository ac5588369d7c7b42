"""Unknown templates: the text of their parameters, without layout.

Wikis have hundreds of thousands of templates. Of an unknown one, those parameters are shown whose
value can be visible text (words, a link's label, list items, cells), but not colours, sizes,
patterns, file names, addresses and switches.
"""

from __future__ import annotations

import re

from assay.systems.corpus.accounting import Account, Fate
from assay.systems.corpus.names import RULES
from assay.systems.corpus.templates import Call, dropped, sayer

_NUMBER = re.compile(r"[\d.,:/%+–−-]+")
_IDENTIFIER = re.compile(r"\d{5,}")
_UPKEEP_KEYS = frozenset(("date", "reason", "section", "talk", "bot", "fix-attempted"))


def is_layout(key: str, value: str) -> bool:
    """Whether a parameter of an infobox sets its appearance, not its content."""
    if RULES["layout_value"].fullmatch(value) or RULES["layout_key"].fullmatch(key):
        return True
    return RULES["either_key"].fullmatch(key) is not None and (
        value.isdecimal() or RULES["switch"].fullmatch(value) is not None
    )


def texts(call: Call) -> list[str]:
    """The values of a template's parameters that can be text, unnamed ones first; none for a
    maintenance template (*date=May 2019*).

    Unnamed long numbers beside words, and any beside lines, are taken for identifiers.
    """
    bare = [arg for arg in call.args if _is_text(arg)]
    if any(not _NUMBER.fullmatch(arg) for arg in bare):
        no_text = _NUMBER if any("\n" in arg for arg in bare) else _IDENTIFIER
        bare = [arg for arg in bare if not no_text.fullmatch(arg)]
    if RULES["of_upkeep"].fullmatch(call.named.get("date", "")) and _UPKEEP_KEYS.issuperset(
        call.named
    ):
        return []
    named = [
        value
        for key, value in call.named.items()
        if _is_text(value) and not is_layout(key, value) and not RULES["inline_key"].fullmatch(key)
    ]
    return bare + named


def said(call: Call, account: Account) -> str:
    """The text for a template, recorded in ``account``."""
    say = sayer(call.name)
    if dropped(call.name):
        text, fate = "", Fate.DROPPED
    elif say is not None:
        text, fate = say(call), Fate.RENDERED
    else:
        text = unwrapped(call)
        fate = Fate.UNWRAPPED if text else Fate.DROPPED
    account.compared(call.name, fate, call.values, text)
    return text


def unwrapped(call: Call) -> str:
    """The text of an unknown template: its texts on separate lines if one of them has several
    lines, else one after the other."""
    found = texts(call)
    if any("\n" in text for text in found):
        return "\n".join(["", *found, ""])
    return ", ".join(found)


def _is_text(value: str) -> bool:
    no_text = ("switch", "layout_value", "address")
    return bool(value) and not any(RULES[name].fullmatch(value) for name in no_text)
