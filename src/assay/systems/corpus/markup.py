"""Text processing of wikitext: removals before parsing and repairs after it.

The vocabulary common to all wikis is listed here: HTML elements allowed in wikitext, and extension
tags.
"""

from __future__ import annotations

import html
import re

from assay.systems.corpus.accounting import Account
from assay.systems.corpus.deadends import without_dead_ends
from assay.systems.corpus.mending import MOST_PASSES, leftovers, mended, outer_bars
from assay.systems.corpus.names import NAMES, RULES, name_set
from assay.systems.corpus.templates import COMPUTED

VERBATIM_OPEN = "\ue000"  # marks text that is shown as it stands (nowiki, math, code)
VERBATIM_CLOSE = "\ue001"

_TAG = re.compile(
    rf"</?(?:{'|'.join(sorted(name_set(NAMES['elements']), key=len, reverse=True))})\b[^<>]*>", re.I
)
_OPEN_COMMENT = re.compile(r"<!--[^\n]*")
_REF = re.compile(
    r"<ref\b(?:[^<>/]|/(?!>))*/>|<ref\b[^<>]*>[^<]*(?:<(?!/?ref\b)[^<]*)*</ref\s*>", re.I
)
_OPEN_REF = re.compile(
    r"<ref\b[^<>]*>[ \t]*(?:\{\{[^{}\n]*(?:\{\{[^{}\n]*\}\}[^{}\n]*)*\}\}|\[http[^\]\n<]*\])?", re.I
)
_DROPPED = name_set(NAMES["elements_dropped"])
_VERBATIM = name_set(NAMES["elements_verbatim"])
_EXTENSION = re.compile(
    rf"<(/?)({'|'.join(sorted(_DROPPED | _VERBATIM | {'gallery'}))})\b[^<>]*>", re.I
)
_MARKS = re.compile(f"[{VERBATIM_OPEN}{VERBATIM_CLOSE}{COMPUTED}]")
_VERBATIM_MARK = re.compile(f"{VERBATIM_OPEN}(\\d+){VERBATIM_CLOSE}")
_DOUBLED = re.compile(r"\{{2,}|\}{2,}|\[{2,}|\]{2,}")  # they would open or close markup
_MAGIC = re.compile(r"__[A-Z]{3,}__")
_BARE_URL_LINK = re.compile(r"\[(?:https?:|ftp:)?//[^\s\]]*[ \t]*([^\]\n]*)\]", re.I)
_ENDED_LINE = re.compile(r"^[^\n]*\]", re.M)  # past its last bracket no link ends
_QUOTES = re.compile(r"'{2,}")
_QUOTED_LINE = re.compile(r"^.*?''.*$", re.M)
_BULLETS = re.compile(r"^[ \t]*(?:[-#:;*][ \t]+)*-[ \t]+", re.M)
_LONE_BULLET = re.compile(r"^[ \t]*[-#*:;]+[ \t]*$", re.M)
_SPACES = re.compile(r"[^\S\n]+")
_LINE_ENDS = re.compile(r" *\n *")
_MANY_LINES = re.compile(r"\n{3,}")
_COMPUTED_BRACKETS = re.compile(
    rf"(?:,?[ \t]+)?\((?:[^()\n\d]{{0,40}}(?:equal|equivalent|approx\w*|about|worth|around|aged?)"
    r"[^()\n\d]{0,20}|[^\w()\n]*)"
    rf"{COMPUTED}[^()\n]{{0,60}}\)"
)
_CUT_TAG = re.compile(r"</?(?:ref|br|div|span|small|nowiki)\b", re.I)
_BEFORE_STOP = re.compile(r"(?<=[\w)\"”’]) +(?=[,.;:](?:\s|$))")
_INVISIBLE = re.compile(
    "[\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff\u00ad\ue000-\uf8ff]"
)
_BREAKS = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]")


class Verbatim:
    """Verbatim texts, hidden from the parser and put back at the end."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def take(self, text: str) -> str:
        """A placeholder for ``text``."""
        self._texts.append(text)
        return f"{VERBATIM_OPEN}{len(self._texts) - 1}{VERBATIM_CLOSE}"

    def restore(self, text: str) -> str:
        """``text`` with every placeholder replaced; foreign ones vanish."""
        if VERBATIM_OPEN not in text:
            return text
        return _VERBATIM_MARK.sub(self._text, text)

    def _text(self, found: re.Match[str]) -> str:
        number = int(found.group(1)) if len(found.group(1)) < 9 else len(self._texts)
        text = self._texts[number] if number < len(self._texts) else ""
        return _DOUBLED.sub(lambda two: " ".join(two.group()), text)


def before_parsing(wikitext: str, verbatim: Verbatim) -> str:
    """``wikitext`` without comments, references and dropped extensions, with galleries as lists and
    verbatim text replaced by placeholders."""
    text = _CONTROL.sub("", _BREAKS.sub("\n", wikitext))  # at a NUL the parser stops reading
    text = _MARKS.sub("", text)
    if "<" in text:
        text = _extensions(_uncommented(text), verbatim)
    if "<" in text:
        text = _OPEN_REF.sub("", _REF.sub("", text))
    if "''" in text:
        text = _QUOTED_LINE.sub(_unquoted, text)
    return without_dead_ends(mended(text))


def _unquoted(line: re.Match[str]) -> str:
    """A line without the quotes for italics and bold, read as in MediaWiki: both end with the line;
    of four quotes, or more than five, the surplus ones are apostrophes; if both italics and bold
    stay open, three quotes are an apostrophe and italics (``''Alien'''s``)."""
    text = line.group()
    lengths = [len(run) for run in _QUOTES.findall(text)]
    bold = sum(length in (3, 4) or length >= 5 for length in lengths)
    italic = sum(length == 2 or length >= 5 for length in lengths)
    spare = bold % 2 == 1 and italic % 2 == 1

    def said(run: re.Match[str]) -> str:
        nonlocal spare
        length = len(run.group())
        if length == 3 and spare and run.start() and not text[run.start() - 1].isspace():
            spare = False
            return "'"
        return "'" if length == 4 else "'" * max(length - 5, 0)

    return _QUOTES.sub(said, text)


def _uncommented(text: str) -> str:
    """``text`` without comments; an unclosed one ends with its line."""
    parts: list[str] = []
    at = 0
    while (start := text.find("<!--", at)) >= 0:
        parts.append(text[at:start])
        end = text.find("-->", start + 4)
        if end < 0:
            return "".join(parts) + _OPEN_COMMENT.sub("", text[start:])
        at = end + 3
    return "".join(parts) + text[at:]


def _extensions(text: str, verbatim: Verbatim) -> str:
    """Process extension tags in one pass: hide verbatim text, turn galleries into lists, drop the
    others. Of an unmatched start or end tag only the tag itself is dropped."""
    marks = list(_EXTENSION.finditer(text))
    if not marks:
        return text
    ends: dict[str, list[re.Match[str]]] = {}
    for mark in reversed(marks):  # the next end of each kind lies on top
        if mark.group(1):
            ends.setdefault(mark.group(2).lower(), []).append(mark)
    parts: list[str] = []
    at = 0
    for mark in marks:
        name = mark.group(2).lower()
        if mark.start() < at:
            continue
        said, after = "", mark.end()
        if not mark.group(1):
            waiting = ends.get(name, [])
            while waiting and waiting[-1].start() < mark.end():
                waiting.pop()
            if waiting and not mark.group().endswith("/>"):
                end = waiting.pop()
                said = _said(name, text[mark.end() : end.start()], verbatim)
                after = end.end()
        parts += [text[at : mark.start()], said]
        at = after
    return "".join(parts) + text[at:]


def _said(name: str, inside: str, verbatim: Verbatim) -> str:
    """The text that replaces an extension tag."""
    if name in _DROPPED:
        return ""
    if name == "gallery":
        return _gallery(inside)
    if name in ("pre", "syntaxhighlight", "source"):
        return verbatim.take(f"\n{inside}\n")
    return verbatim.take(inside)


def after_parsing(text: str, verbatim: Verbatim, account: Account) -> str:
    """The last pass: remove any markup that the parser left, and normalise white space.

    The result holds no ``{{``, ``}}``, ``[[``, ``]]``, ``|-``, known HTML element or named
    entity, whatever the wikitext was.
    """
    if "{" in text or "}" in text or "[[" in text or "]]" in text:
        text = leftovers(text, account)
    if COMPUTED in text:
        text = _COMPUTED_BRACKETS.sub("", text).replace(COMPUTED, "…")
    text = verbatim.restore(text)
    text = _no_markup(text)
    text = _INVISIBLE.sub("", _CONTROL.sub("", text))
    text = _SPACES.sub(" ", text)
    text = _LINE_ENDS.sub("\n", text)
    text = _BULLETS.sub("- ", text)
    text = _LONE_BULLET.sub("", text)
    if "(" in text:
        text = RULES["empty_brackets"].sub("", text)
    text = _BEFORE_STOP.sub("", text)
    text = _SPACES.sub(" ", text)
    text = _no_markup(text)  # what was taken out may have brought two halves together
    return _MANY_LINES.sub("\n\n", _LINE_ENDS.sub("\n", text)).strip()


def plain(text: str) -> str:
    """Normalise only entities, controls and white space, for text that is not wikitext."""
    text = _INVISIBLE.sub("", _CONTROL.sub("", _BREAKS.sub("\n", text)))
    return _MANY_LINES.sub("\n\n", _LINE_ENDS.sub("\n", _SPACES.sub(" ", text))).strip()


def caption(options: list[str]) -> str:
    """The caption among the options of a file link: the last one that is not a setting."""
    for option in reversed(options):
        word = option.strip()
        if word and not RULES["file_option"].fullmatch(word):
            return word
    return ""


def _gallery(inside: str) -> str:
    """The captions of a gallery as a list."""
    lines = []
    for line in inside.split("\n"):
        _, _, rest = line.partition("|")
        words = caption(outer_bars(rest))
        if words:
            lines.append(f"* {words}")
    return "\n" + "\n".join(lines) + "\n"


def _bare_links(line: re.Match[str]) -> str:
    return _BARE_URL_LINK.sub(r"\1", line.group())


def _no_markup(text: str) -> str:
    """``text`` without any remaining markup."""
    for _ in range(MOST_PASSES):
        before = text
        if "&" in text:
            text = html.unescape(text)
        if "<" in text:
            text = _CUT_TAG.sub("", _TAG.sub("", _uncommented(text)))
        if "''" in text:
            text = _QUOTES.sub("", text)
        if "__" in text:
            text = _MAGIC.sub("", text)
        if "[http" in text or "[//" in text:
            text = _ENDED_LINE.sub(_bare_links, text)
        for mark in ("{{", "}}", "[[", "]]", "{|", "|}", "<!--"):
            if mark in text:
                text = text.replace(mark, " " if mark in ("{|", "|}") else "")
        if "|-" in text:
            text = text.replace("|-", "| -")
        if text == before:
            return text
    # Nested absurdly deep (a malicious page): drop everything that opens markup.
    return re.sub(r"[<>{}\[\]&|']+", " ", text)
