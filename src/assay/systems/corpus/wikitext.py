"""Wikitext to clean text: what a reader of the page sees, without markup.

mwparserfromhell parses it (R2C2 paper, section 3.3.3), and regular expressions remove what it
leaves. The paper's second parser, for tables, is GPL; tables are parsed again instead. Beyond the
paper, infobox fields are kept as ``Field: value`` lines and templates that show words (dates, sums
of money, names in two scripts, *won*) become these words, as they hold the answers to questions
about films.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from assay.model.extras import import_extra
from assay.systems.corpus.accounting import Account, Fate, words
from assay.systems.corpus.markup import (
    Verbatim,
    after_parsing,
    before_parsing,
    caption,
)
from assay.systems.corpus.names import RULES, name_set, namespace
from assay.systems.corpus.tables import TableCell, markdown, one_line, span
from assay.systems.corpus.templates import COMPUTED, Call, dropped, sayer, template_name
from assay.systems.corpus.unwrapping import is_layout, said

_DEEPEST = 60  # nested nodes; a page made to hurt nests deeper
_OPEN_TABLE = re.compile(r"\{\|.*?\n\|\}", re.S)
_CELL_ATTRIBUTE = re.compile(
    r"(rowspan|colspan|style|class|align|valign|scope|width|height|bgcolor|data-sort-value)"
    r"\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s\"'|]+)",
    re.I,
)
_CELL_ATTRIBUTES = re.compile(rf"(?:{_CELL_ATTRIBUTE.pattern}\s*)+(?:\|\s*)?", re.I)
_FIELDS_SHOWN_BARE = re.compile(r"(?:module|misc|data|below|embed)\d*$", re.I)


@dataclass(frozen=True, slots=True)
class CleanSettings:
    """``categories``: keep the names of the page's categories as a last line. ``captions``: keep
    the captions of images as lines."""

    categories: bool = True
    captions: bool = True


def is_redirect(wikitext: str) -> bool:
    """Whether the page only redirects to another."""
    return RULES["redirect"].match(wikitext) is not None


def is_disambiguation(wikitext: str) -> bool:
    """Whether the page lists the meanings of a name, by its templates."""
    return RULES["disambiguation"].search(wikitext) is not None


def clean(
    wikitext: str,
    title: str = "",
    settings: CleanSettings | None = None,
    account: Account | None = None,
) -> str:
    """The text of a page: paragraphs, headings, list lines (``- …``), ``Field: value`` lines of
    infoboxes, Markdown tables; at the end ``Categories: …``.

    Holds no ``{{``, ``[[``, ``|-``, HTML element or entity, whatever the input was. A page that the
    parser cannot read is cleaned by regular expressions alone. ``account`` records the templates.
    Raises PrerequisiteError if the parsers are not installed.
    """
    how = settings or CleanSettings()
    verbatim = Verbatim()
    text = before_parsing(wikitext, verbatim)
    account = Account() if account is None else account
    renderer = _Renderer(title, how, account)
    try:
        body = renderer.page(_parse(text))
    except (RecursionError, _ParserError):
        body = text
        renderer.categories.clear()
    if how.categories and renderer.categories:
        body = f"{body}\n\nCategories: {'; '.join(renderer.categories)}"
    return after_parsing(body, verbatim, account)


class _ParserError(Exception):
    """mwparserfromhell gave up."""


_PARSER: Any = None


def _parse(text: str) -> Any:
    global _PARSER
    if _PARSER is None:
        needs = "Reading wikitext needs mwparserfromhell"
        _PARSER = import_extra("mwparserfromhell", needs, "corpus")
    try:
        return _PARSER.parse(text)
    except _PARSER.parser.ParserError as error:
        raise _ParserError(str(error)) from error


class _Renderer:
    """Renders the nodes of one page as text."""

    def __init__(self, title: str, settings: CleanSettings, account: Account) -> None:
        self.title = title
        self.account = account
        self.settings = settings
        self.categories: list[str] = []
        self.depth = 0
        self.in_field = False
        self.in_head = False
        self._write: dict[str, Callable[[Any], str]] = {
            "Text": self._text,
            "Wikilink": self._link,
            "ExternalLink": self._external,
            "Template": self._template,
            "Tag": self._tag,
            "Heading": self._heading,
            "HTMLEntity": self._entity,
            "Argument": self._argument,
            "Comment": lambda _: "",
        }

    def page(self, code: Any) -> str:
        """A whole page, without headings that have nothing under them."""
        parts: list[str] = []
        waiting: list[tuple[int, str]] = []  # level (0: not a heading) and text
        write = self._write
        for node in code.nodes:
            kind = type(node).__name__
            if kind == "Heading":
                level = node.level
                waiting = [item for item in waiting if 0 < item[0] < level]
                waiting.append((level, self._heading(node)))
                continue
            text = write[kind](node)
            if waiting:
                if text and text.strip(" \n-*#:;•·|"):
                    text = text.lstrip("\n") if waiting[-1][0] else text
                    parts.extend([*(each for _, each in waiting), text])
                    waiting = []
                elif text.strip("\n"):
                    waiting.append((0, text.lstrip("\n")))
            else:
                parts.append(text)
        return "".join(parts)

    def inside(self, code: Any) -> str:
        """The nodes of a part of the page. Beyond the depth of any real page, the wikitext is
        returned for the last pass."""
        if code is None:
            return ""
        nodes = code.nodes
        if len(nodes) == 1 and type(nodes[0]).__name__ == "Text":
            return self._text(nodes[0])
        if self.depth >= _DEEPEST:
            return str(code)
        self.depth += 1
        write = self._write
        try:
            return "".join([write[type(node).__name__](node) for node in nodes])
        finally:
            self.depth -= 1

    def _text(self, node: Any) -> str:
        value: str = node.value
        return self._broken_tables(value) if "{|" in value else value

    def _entity(self, node: Any) -> str:
        try:
            return str(node.normalize())
        except (ValueError, OverflowError):
            return ""

    def _argument(self, node: Any) -> str:
        return self.inside(node.default) if node.default is not None else ""

    def _heading(self, node: Any) -> str:
        return f"\n\n{self.inside(node.title).strip()}\n"

    def _link(self, node: Any) -> str:
        title = str(node.title).strip()
        kind = namespace(title) if ":" in title else ""
        if not kind:
            if node.text is None:
                text = self.inside(node.title) if "{" in title else title
                return text.lstrip(":").replace("_", " ")
            label = self.inside(node.text)
            return label or re.sub(r"\s*\(.*\)$|^[^:]*:", "", title)
        if kind == "category":
            self.categories.append(title.partition(":")[2].strip())
            return ""
        if kind == "language":
            return "" if node.text is None else self.inside(node.text)
        if not self.settings.captions or self.in_field or node.text is None:
            return ""
        words = caption(self.inside(node.text).split("|"))
        return f"\n{words}\n" if words else ""

    def _external(self, node: Any) -> str:
        if node.title is not None:
            return self.inside(node.title)
        return "" if node.brackets else str(node.url)

    def _template(self, node: Any) -> str:
        name = template_name(str(node.name))
        if name.startswith(("formatnum:", "lc:", "uc:", "ucfirst:", "lcfirst:", "nowrap:")):
            return name.partition(":")[2]
        if name in ("pagename", "fullpagename", "subjectpagename", "basepagename"):
            return self.title
        if name.startswith("#expr"):
            return COMPUTED
        if name.startswith(("#", "defaultsort:", "displaytitle:")):
            lost = sum(words(str(parameter.value)) for parameter in node.params)
            self.account.note(name.partition(":")[0], Fate.DROPPED, 1, lost)
            return ""
        known = not name.startswith("infobox") and (dropped(name) or sayer(name) is not None)
        if not known and self._is_box(name, node):
            return self._box(name, node)
        return said(self._call(name, node), self.account)

    def _call(self, name: str, node: Any) -> Call:
        args: list[str] = []
        named: dict[str, str] = {}
        for parameter in node.params:
            value = self.inside(parameter.value).strip()
            if not parameter.showkey:
                args.append(value)
                continue
            key = str(parameter.name).strip()
            if key.isdecimal() and 0 < int(key) < 1000 and len(key) < 4:
                args.extend([""] * (int(key) - len(args)))
                args[int(key) - 1] = value
            else:
                named[key] = value
        return Call(name, args, named)

    def _is_box(self, name: str, node: Any) -> bool:
        """Whether this is an infobox: by name, or by three or more named parameters on lines of
        their own."""
        if "infobox" in name:
            return True
        if RULES["cites"].match(name):
            return False
        named = [parameter for parameter in node.params if parameter.showkey]
        if len(named) < 3 or len(named) * 2 < len(node.params):
            return False
        return sum("\n" in str(parameter.value)[-40:] for parameter in named) * 2 > len(named)

    def _box(self, name: str, node: Any) -> str:
        """``Field: value`` lines; lists within a value are joined by commas."""
        lines: list[str] = []
        lost = 0
        before, self.in_field = self.in_field, True
        try:
            for parameter in node.params:
                key = str(parameter.name).strip()
                value = self.inside(parameter.value)
                if is_layout(key, value.strip()) or (
                    "caption" in key and not self.settings.captions
                ):
                    lost += words(value)
                elif not parameter.showkey:
                    value = one_line(value)
                    if value:
                        lines.append(value)
                elif _FIELDS_SHOWN_BARE.match(key) and "\n" in value.strip():
                    lines.append(value.strip())
                else:
                    value = one_line(value)
                    if value:
                        field = " ".join(key.replace("_", " ").split())
                        lines.append(f"{field[:1].upper()}{field[1:]}: {value}")
        finally:
            self.in_field = before
        self.account.note(name, Fate.RENDERED, 1, lost)
        return "\n" + "\n".join(lines) + "\n\n"

    def _tag(self, node: Any) -> str:
        tag = str(node.tag).strip().lower()
        if tag == "table":
            return self._table(node)
        if tag == "br":
            return " " if self.in_head else "\n"
        if tag == "li":
            return f"\n- {self.inside(node.contents)}" if not node.wiki_markup else "- "
        if tag in ("dd", "dt"):
            return self.inside(node.contents) if not node.wiki_markup else ""
        if tag in _NOTHING:
            return ""
        text = self.inside(node.contents)
        return f"\n{text}\n" if tag in _BLOCKS else text

    def _table(self, node: Any) -> str:
        rows: list[list[TableCell]] = []
        words: list[str] = []
        self._rows(node.contents, rows, words)
        table = markdown(rows, " ".join(words))
        return one_line(table, "; ") if self.in_field or self.depth > 8 else f"\n{table}\n"

    def _broken_tables(self, text: str) -> str:
        """Parse separately each table that the parser left as text because of what precedes it."""
        last = text.rfind("\n|}") + len("\n|}")  # past it no table ends, and none is looked for
        return _OPEN_TABLE.sub(self._broken_table, text[:last]) + text[last:]

    def _broken_table(self, found: re.Match[str]) -> str:
        nodes = _parse(found.group()).nodes
        if any(type(node).__name__ == "Text" and "{|" in node.value for node in nodes):
            return found.group()  # the last pass takes the marks out line by line
        return "".join(self._write[type(node).__name__](node) for node in nodes)

    def _rows(self, code: Any, rows: list[list[TableCell]], words: list[str]) -> None:
        if code is None:
            return
        row: list[TableCell] = []  # cells before the first row mark
        rows.append(row)
        for node in code.nodes:
            kind = type(node).__name__
            if kind == "Tag":
                tag = str(node.tag).strip().lower()
                if tag in ("tr", "thead", "tbody", "tfoot"):
                    self._rows(node.contents, rows, words)
                    continue
                if tag in ("td", "th"):
                    cell = self._cell(node, tag)
                    if node.wiki_markup == "|" and cell.text.startswith("+") and not row:
                        words.append(cell.text[1:].strip())
                    else:
                        row.append(cell)
                    continue
                if tag == "caption":
                    words.append(one_line(self.inside(node.contents), " "))
                    continue
            elif kind == "Template" or kind == "Text":
                text = one_line(self._write[kind](node))
                if text:  # a row made by a template, or text between cells
                    rows.append([TableCell(text.replace("| ", "", 1) if text[0] == "|" else text)])
                    row = []
                    rows.append(row)
                continue
            text = one_line(self._write[kind](node))
            if text:
                words.append(text)

    def _cell(self, node: Any, tag: str) -> TableCell:
        attributes = {str(each.name): str(each.value) for each in node.attributes}
        before = self.in_head
        self.in_head = tag == "th"
        try:
            text = one_line(self.inside(node.contents), " " if tag == "th" else ", ")
        finally:
            self.in_head = before
        if "=" in text and (found := _CELL_ATTRIBUTES.match(text)):
            # Of a cell that is a template with a bar of its own, {{won}}, they are in the text.
            attributes.update(_CELL_ATTRIBUTE.findall(found.group()))
            text = text[found.end() :]
        spans = {name.strip().lower(): span(value) for name, value in attributes.items()}
        return TableCell(text, rows=spans.get("rowspan", 1), columns=spans.get("colspan", 1))


_NOTHING = name_set("ref references hr style script templatestyles section")
_BLOCKS = name_set("p div blockquote center ul ol dl pre poem caption tr h1 h2 h3 h4 h5 h6")
