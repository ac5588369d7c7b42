"""Broken wikitext: repairs before parsing, and rendering of what the parser could not read."""

from __future__ import annotations

import re

from assay.systems.corpus.accounting import Account
from assay.systems.corpus.names import namespace
from assay.systems.corpus.templates import Call, template_name
from assay.systems.corpus.unwrapping import is_layout, said

MOST_PASSES = 40
_INNER_TEMPLATE = re.compile(r"\{\{[^{}]*\}\}")
_OPEN_BOX = re.compile(r"^\{\{[ \t]*infobox\b", re.I | re.M)
_MOST_BOXES = 20
_ONE_LINE_TABLE = re.compile(r"\{\|[^\n]*?(?<!\|)\|-[^\n]*?\|\}")
_TABLE_MARK = re.compile(r"[ \t]*(\|-|\|\}|\|\+|(?<![|!\[{\w'\"])[|!](?![|!}+-])(?= ))")
_INNER_LINK = re.compile(r"\[\[([^\[\]]*)\]\]")
_FIELD_LINE = re.compile(r"^[ \t]*\|[ \t]*([\w .-]{1,40}?)[ \t]*=[ \t]*(\S.*)$", re.M)
_EMPTY_FIELD = re.compile(r"^[ \t]*\|[ \t]*[\w .-]{1,40}[ \t]*=[ \t]*$", re.M)
_TABLE_LINE = re.compile(r"^[ \t:]*(?:\{\||\|\}|\|-|\|\+)[^\n]*$", re.M)
_CELL_LINE = re.compile(r"^[ \t]*[|!](?![ \t]?---)[ \t]*(?:[\w-]+[ \t]*=[^|\n]*\|(?!\|))?", re.M)


def mended(text: str) -> str:
    """``text`` with lost line breaks in tables restored, and unclosed infoboxes ended after their
    last field."""
    if "{|" in text:
        text = _ONE_LINE_TABLE.sub(_with_lines, text)
    return _with_closed_boxes(text)


def _with_lines(table: re.Match[str]) -> str:
    """A table with the line breaks restored that its marks imply."""
    return "\n" + _TABLE_MARK.sub(r"\n\1", table.group()) + "\n"


def _with_closed_boxes(text: str) -> str:
    """``text`` with unclosed infoboxes ended after their last field."""
    if text.count("{{") <= text.count("}}"):
        return text
    for box in list(_OPEN_BOX.finditer(text))[::-1][:_MOST_BOXES]:
        depth, end = 0, box.start()
        for line in text[box.start() :].splitlines(keepends=True):
            if depth == 1 and line.strip() and not line.lstrip().startswith(("|", "}", "*", "<")):
                text = f"{text[:end]}}}}}\n{text[end:]}"
                break
            depth += line.count("{{") - line.count("}}")
            end += len(line)
            if depth < 1:
                break
        else:
            text = f"{text}\n}}}}"
    return text


def leftovers(text: str, account: Account) -> str:
    """Render templates, links and tables that the parser could not read, innermost first."""

    def inner(found: re.Match[str]) -> str:
        name, *parameters = outer_bars(found.group()[2:-2])
        named: dict[str, str] = {}
        args: list[str] = []
        for each in parameters:
            key, sign, value = each.partition("=")
            if sign:
                named[key.strip()] = value.strip()
            else:
                args.append(each.strip())
        return said(Call(template_name(name), args, named), account)

    for _ in range(MOST_PASSES):
        if "{{" not in text or "}}" not in text:
            break
        fewer = _INNER_TEMPLATE.sub(inner, text)
        if fewer == text:
            break
        text = fewer
    if "{{" in text or "}}" in text:
        # An unclosed template: only its fields can be saved.
        text = _EMPTY_FIELD.sub("", _FIELD_LINE.sub(_field, text))
        text = re.sub(r"\{\{(?:[^\n|{}]{0,60}(?:\||(?=\n)))?", "", text)
    for _ in range(MOST_PASSES):
        if "[[" not in text:
            break
        fewer = _INNER_LINK.sub(_link_text, text)
        if fewer == text:
            break
        text = fewer
    if "{|" in text or "|}" in text or "\n|-" in text:
        text = _TABLE_LINE.sub("", text)
        text = _CELL_LINE.sub("", text).replace("||", " | ").replace("!!", " | ")
    return text


def _field(found: re.Match[str]) -> str:
    if is_layout(found.group(1), found.group(2).strip()):
        return ""
    name = found.group(1).replace("_", " ").strip()
    return f"{name[:1].upper()}{name[1:]}: {found.group(2)}"


def _link_text(found: re.Match[str]) -> str:
    inside = found.group(1)
    target, _, label = inside.partition("|")
    if namespace(target):
        return ""
    return label.rpartition("|")[2] or target.lstrip(":")


def outer_bars(text: str) -> list[str]:
    """``text`` split at bars outside links and templates."""
    parts, depth, start = [], 0, 0
    for at, char in enumerate(text):
        if char in "[{":
            depth += 1
        elif char in "]}":
            depth -= 1
        elif char == "|" and depth <= 0:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]
