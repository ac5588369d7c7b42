"""Escaping markup that never ends, which the parser would backtrack over.

mwparserfromhell looks for the end of a tag or link; if there is none, it goes back and reads the
same again as text. A few of these cost nothing, but the time grows with the square of their number,
and some pages have thousands.
"""

from __future__ import annotations

import re
from collections import Counter

from assay.systems.corpus.names import name_set

_FEW = 100  # of a kind that are left to the parser
_TAG = re.compile(r"<(/?)([a-z][a-z0-9-]*)([^<>]*)(>?)", re.I)
_ALONE = name_set("br wbr hr meta link img li dt dd tr td th")  # need no end
_PAIR = re.compile(
    r"^[ \t:]*(?P<open>\{\|)|^[ \t:]*(?P<close>\|\})(?!\})|\{\{|\}\}|\[\[|\]\]", re.M
)
_BEGUN = {"}}": "{{", "]]": "[[", "|}": "{|"}
_BRACKET = re.compile(r"(\[(?=[a-z][a-z+.-]*:|//))|[][\n]", re.I)


def without_dead_ends(text: str) -> str:
    """``text`` with tags, links, tables and templates that never end escaped as entities if there
    are more than a few, so that the parser takes them for text, as a reader does."""
    if text.count("<") > _FEW:
        text = _escaped(text, _open_tags(text))
    if text.count("[") > _FEW:
        text = _escaped(text, _open_links(text))
    if text.count("{{") + text.count("[[") + text.count("{|") > _FEW:
        text = _escaped(text, _open_pairs(text))
    return text


def _escaped(text: str, places: list[int]) -> str:
    """``text`` with the characters at ``places`` (in order) as entities, if there are many."""
    if len(places) <= _FEW:
        return text
    parts: list[str] = []
    at = 0
    for place in places:
        parts += [text[at:place], f"&#{ord(text[place])};"]
        at = place + 1
    return "".join(parts) + text[at:]


class _Begun:
    """Elements that are still open, the innermost last. ``lost`` holds the places of elements that
    were still open when one around them ended."""

    def __init__(self) -> None:
        self.lost: list[int] = []
        self._stack: list[tuple[str, int]] = []
        self._count: Counter[str] = Counter()

    def begin(self, name: str, at: int) -> None:
        self._stack.append((name, at))
        self._count[name] += 1

    def end(self, name: str) -> None:
        while self._count[name]:
            inner, start = self._stack.pop()
            self._count[inner] -= 1
            if inner == name:
                break
            self.lost.append(start)

    def all_lost(self) -> list[int]:
        return sorted([*self.lost, *(start for _, start in self._stack)])


def _open_tags(text: str) -> list[int]:
    """The places of tags that have no ``>``, or no end tag before that of a tag around them."""
    begun = _Begun()
    for mark in _TAG.finditer(text):
        name = mark.group(2).lower()
        if not mark.group(4):
            begun.lost.append(mark.start())
        elif mark.group(1):
            begun.end(name)
        elif name not in _ALONE and not mark.group(3).endswith("/"):
            begun.begin(name, mark.start())
    return begun.all_lost()


def _open_links(text: str) -> list[int]:
    """The places of bracketed external links that do not end on their line."""
    found: list[int] = []
    stack: list[tuple[bool, int]] = []
    for mark in _BRACKET.finditer(text):
        char = mark.group()
        if char == "[":
            stack.append((mark.group(1) is not None, mark.start()))
        elif char == "]":
            if stack:
                stack.pop()
        else:
            found += [start for link, start in stack if link]
            stack.clear()
    return [*found, *(start for link, start in stack if link)]


def _open_pairs(text: str) -> list[int]:
    """The places of templates, tables and internal links that do not end before what is around
    them."""
    begun = _Begun()
    for mark in _PAIR.finditer(text):
        pair = mark.group(mark.lastgroup or 0)
        if pair in _BEGUN:
            begun.end(_BEGUN[pair])
        else:
            begun.begin(pair, mark.end() - len(pair))
    return begun.all_lost()
