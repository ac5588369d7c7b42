"""What the parser would begin over and over is made plain text before it is parsed.

mwparserfromhell reads a tag or a link on to where it might end; where it never does, it goes back
and reads the same again as text. Some of these are on many pages and cost nothing; a page with
thousands takes time that grows with the square of their number.
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
    """``text`` with tags, links, tables and templates that never end written as entities, where
    they are more than a few: the parser takes them for text, and so does the reader."""
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
    """What is begun and has not ended, the innermost last; ``lost`` is where that lies which what
    is around it ended before it did."""

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
    """Where a tag begins that has no ``>``, or no end tag before that of a tag around it."""
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
    """Where an external link in brackets begins that does not end on its line."""
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
    """Where a template, a table or an internal link begins that does not end before what is
    around it."""
    begun = _Begun()
    for mark in _PAIR.finditer(text):
        pair = mark.group(mark.lastgroup or 0)
        if pair in _BEGUN:
            begun.end(_BEGUN[pair])
        else:
            begun.begin(pair, mark.end() - len(pair))
    return begun.all_lost()
