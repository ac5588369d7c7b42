"""What a page of wikitext holds for its reader, read without Assay's code and without a parser.

Innermost first, every link is replaced by its label and every template by the values of its
parameters; what is left is looked at line by line. That knows nothing of what single templates
mean: it counts as text whatever could be text. Left out is what no reader of the page sees as
text: references, comments, categories, file names, colours, sizes, addresses, identifiers;
and what stands around the page: navigation, maintenance, links to other sites and wikis.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Mapping

KINDS = ("list items", "cells", "infobox values", "prose")

_HIDDEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<ref\b[^<>]*/>|<ref\b.*?</ref\s*>|"
    r"<(math|ce|chem|score|timeline|imagemap|mapframe|maplink|graph|templatedata|syntaxhighlight|"
    r"source|pre|code|nowiki|inputbox|hiero|style|script|references)\b[^<>]*(?<!/)>.*?</\1\s*>",
    re.I | re.S,
)
_GALLERY = re.compile(r"<gallery\b[^<>]*>(.*?)</gallery\s*>", re.I | re.S)
_TAG = re.compile(r"</?[a-z][^<>]*>", re.I)
_INNERMOST = re.compile(
    r"\{\{((?:(?!\{\{|\}\}|\[\[|\]\]).)*)\}\}|\[\[((?:(?!\{\{|\[\[|\]\]).)*)\]\]", re.S
)
_ADDRESS = re.compile(r"\[(?:https?:)?//[^\s\]]+\s*([^\]\n]*)\]|(?:https?:)?//[^\s|<>{}\]]+", re.I)
_ADDITION = re.compile(
    r"(?:harv\w*|sfn\w*|snf|refn?|efn\w*|note ?list\w*|note label|ref label|reflist|rp|"
    r"navbox\w*|.* navbox|.* sidebar|portal.*|commons.*|wiki\w+|wookiee\w+|sister.*|"
    r"authority.*|use .*|engvar\w?|short desc.*|display ?title.*|default ?sort.*|good article|"
    r"featured.*|pp-.*|about|for|other .*|redirect.*|distinguish|see also|main|main article|"
    r"further|hatnote|dead ?link|deadurl|webarchive|imdb.*|tcmdb.*|allmovie.*|allrovi.*|"
    r"amg .*|rotten.*|metacritic.*|mojo.*|afi .*|official.*|.* needed|.* inline|cn|fact|"
    r"unreferenced|multiple issues|expand .*|empty .*|missing .*|update.*|.*-stub|stub|clear|"
    r"toc.*|anchor|isbn|issn|oclc|doi|flagicon|youtube.*|ann|bcdb.*|bmdb.*|screenonline.*|"
    r"tv\.com.*|google books|curlie|facebook|moby game|hkmdb.*|imcdb.*|internet archive.*|"
    r"in our time|discogs.*|musicbrainz.*|inflation.*|age\b.*|#.*|to usd|lsj|coord.*|ipa.*|"
    r"in lang|.. icon|better.*|single source|refbegin|refend|deletable.*|prone to spam|"
    r"notability|plot|cleanup.*|one source|certification table (?:top|bottom)|hs|hid|"
    r"sort dash|ntsh|dtsh)$"
)
_NOT_READ = re.compile(
    r"(?:image|img|logo|photo(?!gr)|cover(?!.*artist)|poster|icon|flag|map|sound|audio|video|file|"
    r"picture)(?!.*capt).*|.*(?:size|style|width|height|colou?r|align|class|url|link|date-format|"
    r"alt)\d*|link.*|cols?|gap|upright|border|state|lang.*|child|embed|module|ref|id|accessdate|"
    r"access-date|archive.*|name_format|italic title|nocat|format|sortable|sep|df|mf|rtl|collapsed",
    re.I,
)
_NO_TEXT = re.compile(
    r"\s*(?:\S+\.(?:jpe?g|png|gif|svg|tiff?|webp|og[gav]|webm|mp3|wav|pdf)|#?[0-9a-f]{6}|"
    r"[\dx.]+\s*(?:px|em|rem|ex|pt)|(?:[\w-]+\s*:[^;]*;\s*)+|(?-i:[a-z]{2}(?:-[a-z]+)?)|yes|true|none|"
    r"left|right|center|auto|\d{1,2})?\s*",
    re.I,
)
_FILE = re.compile(r"\s*:?(?:file|image|media)\s*:", re.I)
_FILE_OPTION = re.compile(
    r"\s*(?:thumb\w*|frame\w*|border|left|right|center|centre|none|upright|baseline|middle|"
    r"[\dx]+\s*px|(?:upright|link|alt|lang|page|class)\s*=.*)\s*",
    re.I | re.S,
)
_NOT_HERE = re.compile(r"\s*(?:category|[a-z]{2,3}|simple|zh-[a-z-]+)\s*:(?!\s)", re.I)
_CELL_STYLE = re.compile(r"^(?:\s*[\w-]+\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s|]+))+\s*(?:\||$)")
_WORD = re.compile(r"[^\W\d_]{2,}|(?<!\d)\d{4}(?!\d)")
_OPEN, _SHUT = "\ue010", "\ue011"  # around the value of an infobox


def words(text: str) -> Counter[str]:
    """The words of a text that are compared: of two letters or more, and years."""
    return Counter(_WORD.findall(text.casefold()))


def plain_reading(wikitext: str) -> dict[str, Counter[str]]:
    """The words of a page by where they stand: an entry for each of ``KINDS``."""
    text = re.sub(f"[{_OPEN}{_SHUT}]", "", wikitext)
    text = _GALLERY.sub(_captions, _HIDDEN.sub(" ", text))
    text = _ADDRESS.sub(r"\1", re.sub(r"<br\b[^<>]*>", "\n", text, flags=re.I))
    text = (
        html.unescape(_TAG.sub("", text))
        .replace("{{!}}", "\n|")
        .replace("'''", "")
        .replace("''", "")
    )
    text = re.sub(r"\{\{\{[^{}|]*\|?([^{}]*)\}\}\}", r"\1", text)
    for _ in range(60):
        fewer = _INNERMOST.sub(_said, text)
        if fewer == text:
            break
        text = fewer
    return _by_line(text)


def surviving(wikitext: str, cleaned: str) -> dict[str, tuple[int, int]]:
    """For each of ``KINDS``, and for ``all`` of them: how many of the page's words there are, and
    how many of these are in ``cleaned`` (each as often as it is there)."""
    there = words(cleaned)
    read = plain_reading(wikitext)
    whole = sum(read.values(), start=Counter())
    kinds: Mapping[str, Counter[str]] = {**read, "all": whole}
    return {
        kind: (found.total(), sum(min(count, there[word]) for word, count in found.items()))
        for kind, found in kinds.items()
    }


def _captions(gallery: re.Match[str]) -> str:
    lines = (line.partition("|")[2] for line in gallery[1].split("\n"))
    return "\n".join(f"* {line}" for line in lines if line)


def _said(found: re.Match[str]) -> str:
    return _template(found[1]) if found[1] is not None else _link(found[2])


def _link(inside: str) -> str:
    target, *labels = inside.split("|")
    if _FILE.match(target):
        captions = [label for label in labels if not _FILE_OPTION.fullmatch(label)]
        return f"\n{captions[-1]}\n" if captions else ""
    if _NOT_HERE.match(target):
        return ""
    return (labels[-1] if labels and labels[-1].strip() else target).replace("_", " ")


def _template(inside: str) -> str:
    name, *parameters = inside.split("|")
    plain = " ".join(name.replace("_", " ").split()).casefold()
    if _ADDITION.match(plain):
        return ""
    keyed = [part for part in parameters if re.match(r"\s*[\w .-]+?\s*=", part)]
    box = "infobox" in plain or (
        len(keyed) >= 3 and sum(part.endswith("\n") for part in keyed) * 2 > len(keyed)
    )
    said = []
    for part in parameters:
        key, sign, value = part.partition("=")
        if not sign or not re.fullmatch(r"\s*[\w .-]+", key):
            key, value = "", part
        if not _NOT_READ.fullmatch(key.strip()) and not _NO_TEXT.fullmatch(value):
            said.append(f"{_OPEN}{value}{_SHUT}" if box else value)
    several = any("\n" in value.strip() for value in said)
    return ("\n" if box or several else " ").join(said)


def _by_line(text: str) -> dict[str, Counter[str]]:
    found = {kind: Counter[str]() for kind in KINDS}
    tables = boxes = 0
    for line in text.split("\n"):
        start = line.lstrip(" \t:")
        if start.startswith("{|"):
            tables += 1
            continue
        if start.startswith("|}"):
            tables = max(0, tables - 1)
            continue
        in_box = boxes > 0 or _OPEN in line
        boxes += line.count(_OPEN) - line.count(_SHUT)
        if tables and start.startswith(("|-", "|+")):
            line = line if start[1] == "+" else ""
        if re.match(r"\s*={2,}.*={2,}\s*$", line) or re.match(r"\s*__[A-Z]+__", line):
            continue
        if in_box:
            kind = "infobox values"
        elif tables:
            kind = "cells"
            cells = re.split(r"\|\||!!|^\s*[|!]", line)
            line = " ".join(_CELL_STYLE.sub("", cell) for cell in cells)
        else:
            kind = "list items" if line.lstrip().startswith(("*", "#", ":", ";")) else "prose"
        found[kind] += words(line)
    return found
