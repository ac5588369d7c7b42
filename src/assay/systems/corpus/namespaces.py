"""What an internal link leads to: a page, a file, a category, a page in another language."""

from __future__ import annotations

import re

from assay.systems.corpus.template_names import NAMES
from assay.systems.corpus.words import name_set

FILE_SPACES = name_set(NAMES["spaces"]["file"])
CATEGORY_SPACES = name_set(NAMES["spaces"]["category"])
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[a-z]{2,12})?|simple|arz|zh-min-nan")


def namespace(title: str) -> str:
    """``file``, ``category``, ``language`` or ``""`` for the target of an internal link."""
    prefix, colon, rest = title.partition(":")
    if not colon:
        return ""
    word = prefix.strip().casefold().replace("_", " ")
    if word in FILE_SPACES:
        return "file"
    if word in CATEGORY_SPACES:
        return "category"
    if _LANGUAGE.fullmatch(prefix) and rest and not rest.startswith(" "):
        return "language"
    return ""
