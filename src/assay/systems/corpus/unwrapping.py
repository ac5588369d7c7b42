"""Templates that nobody here knows: the text of their parameters, without what is layout.

Wikis have hundreds of thousands of templates. Of one that is not known, a parameter is shown where
its value can be text that a reader sees (words, a link's label, list items, cells); colours,
sizes, patterns, file names, addresses and switches are not.
"""

from __future__ import annotations

import re

from assay.systems.corpus.accounting import Account, Fate
from assay.systems.corpus.templates import Call, dropped, sayer

_PICTURE = (
    r"image|img|logo|photo|cover|poster|icon|flag|map|seal|signature|picture|coa|blank_emblem|"
    r"shield|coat[ _]of[ _]arms|banner|crest|pic|skyline|screenshot|wordmark"
)
_PART = (
    r"header|label|list|data|title|body|above|below|box|cell|row|table|col|column|sub|group|text|"
    r"caption|font|back|head|foot|top|bottom|left|right"
)
_LAYOUT_KEY = re.compile(
    rf"(?:{_PICTURE})[ _-]?\d*[ _-]?(?:file|name|image|size|upright|alt|width|height|align|style|"
    r"class|colou?r|res|link|border|type|position|pos|zoom|frame|lang|bg|dim|svg|scale)?\d*|"
    rf"(?:{_PART})\d*[ _-]?(?:size|upright|alt|align|bg|padding|margin|weight|colou?r)\d*|"
    r"(?:bg|background|border|header|box)[ _-]?colou?r\d*|size|upright|alt|align|border|background|"
    r"bgcolou?r|italic[ _]title|maptype|mapsize|zoom|hide|collapsed|nocat|name_format|embed|child|"
    r"subbox|bodyclass|landscape|(?:pushpin|mapframe|locator)[ _-].*|pattern_\w*|"
    r"(?:left|right)arm\d*|(?:body|shorts|socks)\d+|native[ _]name[ _]lang|sortable|"
    r"col(?:umn)?s|gap|indent|rules|col-?width|break[ _]width|valign|float|perrow|margin|padding|"
    r"spacing|fontsize|frame|nowrap|df|mf|sep",
    re.I,
)
"""Parameters that say how something looks, or what picture stands in it."""

_EITHER_KEY = re.compile(
    rf"(?:{_PART})?\d*[ _-]?(?:style|class|width|height|position|direction|state|lang|min|clear|"
    r"font|module|misc|ribbon)\d*",
    re.I,
)
"""Parameters that may also be a style of building, a ship's class or a man's height."""

LAYOUT_VALUE = re.compile(
    r"[^\n]*\.(?:jpe?g|png|gif|svg|tiff?|webp|og[gav]|webm|mp[34]|wav|flac|pdf|djvu|xcf|midi?)|"
    r"#[0-9a-f]{3,8}|(?=\d*[a-f])[0-9a-f]{6}|0{6}|_\w+|"
    r"(?:\d*\.?\d+|x?\d+|\d+x\d+) ?(?:px|em|rem|ex|pt|vw)|"
    r"(?:background|colou?r|text-|font|width|height|border|padding|margin|line-|white-|vertical-|"
    r"float|display|max-|min-)[a-z-]*\s*:[^\n]*",
    re.I,
)
_NUMBER = re.compile(r"[\d.,:/%+–−-]+")
_IDENTIFIER = re.compile(r"\d{5,}")
_ADDRESS = re.compile(
    r"(?:https?:)?//\S+|www\.\S+|\S*[_/\\]\S*|(?=\S*\d)(?=\S*[a-z])[\w-]{8,}", re.I
)
_SWITCH = re.compile(
    r"yes|no|y|n|true|false|on|off|none|auto|left|right|center|centre|top|bottom|middle|collapsed|"
    r"uncollapsed|expanded|autocollapse|plain|section|article|list|inline|small|x|-|\*|#|"
    r"[a-z]{2}(?:-[a-z]{2,4})?",
)
_INLINE_KEY = re.compile(
    r"(?:archive|access|url|ref|orig)[ _-]?(?:date|url|access|status|type|text)?|accessdate|"
    r"deadurl|(?:\w+[ _-])?(?:link|url|mask)\d*|link\d*|id|group|reason|talk|"
    r"format|via|mode|harv|doi|pmid|pmc|issn|isbn|oclc|lccn|s2cid|jstor|bibcode|arxiv|asin|zbl|mr|"
    r"bot|sortkey|sort|key|anchor|name-list-\w+|display-\w+|doi-\w+|language|sprache|langue|"
    r"consulté le|abruf|zugriff|lire en ligne|idioma|fechaacceso|urlarchivo|fechaarchivo|lingua|"
    r"accesso|дата|ссылка",
    re.I,
)
_OF_UPKEEP = re.compile(
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december|"
    r"janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre|novembre|décembre|"
    r"enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre)"
    r" \d{4}",
    re.I,
)
_UPKEEP_KEYS = frozenset(("date", "reason", "section", "talk", "bot", "fix-attempted"))


def is_layout(key: str, value: str) -> bool:
    """Whether a parameter of an infobox says how it looks, not what there is to read."""
    if LAYOUT_VALUE.fullmatch(value) or _LAYOUT_KEY.fullmatch(key):
        return True
    return _EITHER_KEY.fullmatch(key) is not None and (
        value.isdecimal() or _SWITCH.fullmatch(value) is not None
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
    if _OF_UPKEEP.fullmatch(call.named.get("date", "")) and _UPKEEP_KEYS.issuperset(call.named):
        return []
    named = [
        value
        for key, value in call.named.items()
        if _is_text(value) and not is_layout(key, value) and not _INLINE_KEY.fullmatch(key)
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
    return bool(value) and not (
        _SWITCH.fullmatch(value) or LAYOUT_VALUE.fullmatch(value) or _ADDRESS.fullmatch(value)
    )
