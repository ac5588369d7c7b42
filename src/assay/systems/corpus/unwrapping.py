"""Templates that nobody here knows: the text of their parameters, without what is layout.

Wikis have hundreds of thousands of templates. Of one that is not known, a parameter is shown where
its value can be text that a reader sees (words, a link's label, list items, cells); colours,
sizes, patterns, file names, addresses and switches are not.
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
    """Whether a parameter of an infobox says how it looks, not what there is to read."""
    if RULES["layout_value"].fullmatch(value) or RULES["layout_key"].fullmatch(key):
        return True
    return RULES["either_key"].fullmatch(key) is not None and (
        value.isdecimal() or RULES["switch"].fullmatch(value) is not None
    )


def texts(call: Call) -> list[str]:
    """The values of a template's parameters that can be text, those without a name first; none of
    a template that asks for the page's upkeep (*date=May 2019*).

    Long numbers without a name beside words are taken for identifiers, and any beside lines.
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
    """What a template says in the text, with ``account`` told of it."""
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
    """What is shown of a template that is not known: several texts on lines of their own where
    one of them has lines, else one after the other."""
    found = texts(call)
    if any("\n" in text for text in found):
        return "\n".join(["", *found, ""])
    return ", ".join(found)


def _is_text(value: str) -> bool:
    no_text = ("switch", "layout_value", "address")
    return bool(value) and not any(RULES[name].fullmatch(value) for name in no_text)
