"""Small text work on wikitext: what is taken out before parsing and what is mended after it.

The words of the markup language that every wiki knows are listed here: HTML elements that may
stand in wikitext, extension tags, and the names of the file and category namespaces.
"""

from __future__ import annotations

import html
import re

from assay.systems.corpus.deadends import without_dead_ends
from assay.systems.corpus.words import listed, name_set

KEPT_OPEN = "\ue000"  # marks text that is shown as it stands (nowiki, math, code)
KEPT_CLOSE = "\ue001"

_ELEMENTS = listed(
    """
    abbr b bdi bdo big blockquote body br caption center cite code col colgroup data dd del
    dfn div dl dt em embed font form h1 h2 h3 h4 h5 h6 head hr html i iframe img input ins
    kbd li link mark meta noscript object ol p pre q rb rp rt rtc ruby s samp script section
    small span strike strong style sub sup table tbody td tfoot th thead time title tr tt u
    ul var wbr gallery nowiki math ref references poem includeonly noinclude onlyinclude
    syntaxhighlight source timeline score imagemap mapframe maplink graph templatestyles
    templatedata hiero indicator languages ce chem inputbox categorytree charinsert
    dynamicpagelist rss section translate tvar youtube tabber tabview infobox verbatim aside
    mainpage-leftcolumn-start mainpage-endcolumn mainpage-rightcolumn-start
    """
)
_TAG = re.compile(
    rf"</?(?:{'|'.join(sorted(set(_ELEMENTS), key=len, reverse=True))})\b[^<>]*>", re.I
)
_OPEN_COMMENT = re.compile(r"<!--[^\n]*")
_REF = re.compile(
    r"<ref\b(?:[^<>/]|/(?!>))*/>|<ref\b[^<>]*>[^<]*(?:<(?!/?ref\b)[^<]*)*</ref\s*>", re.I
)
_OPEN_REF = re.compile(
    r"<ref\b[^<>]*>[ \t]*(?:\{\{[^{}\n]*(?:\{\{[^{}\n]*\}\}[^{}\n]*)*\}\}|\[http[^\]\n<]*\])?", re.I
)
_DROPPED = name_set(
    """
    templatestyles templatedata timeline score imagemap mapframe maplink graph hiero references
    indicator inputbox categorytree dynamicpagelist rss style script youtube
    """
)
_VERBATIM = name_set("nowiki math ce chem pre syntaxhighlight source code")
_EXTENSION = re.compile(
    rf"<(/?)({'|'.join(sorted(_DROPPED | _VERBATIM | {'gallery'}))})\b[^<>]*>", re.I
)
_KEPT = re.compile(f"{KEPT_OPEN}(\\d+){KEPT_CLOSE}")
_DOUBLED = re.compile(r"\{{2,}|\}{2,}|\[{2,}|\]{2,}")  # they would open or close markup
_MAGIC = re.compile(r"__[A-Z]{3,}__")
_INNER_TEMPLATE = re.compile(r"\{\{[^{}]*\}\}")
_INNER_LINK = re.compile(r"\[\[([^\[\]]*)\]\]")
_FIELD_LINE = re.compile(r"^[ \t]*\|[ \t]*([\w .-]{1,40}?)[ \t]*=[ \t]*(\S.*)$", re.M)
PRESENTATION = re.compile(
    r"(?:image|img|logo|photo|cover|poster|icon|flag|map|seal|signature|sound|video)?[ _-]?"
    r"(?:image|img|size|upright|alt|width|height|align|border|colou?r|bgcolou?r|style|class|"
    r"background|italic title|image ?\w*|landscape|maptype|mapsize|zoom|hide|collapsed|"
    r"nocat|name_format|embed|child|subbox|headerstyle|labelstyle|list_style|bodyclass)\d*$|"
    r"(?:image|logo|photo|cover|signature|poster).*|.*_?(?:colou?r|style|class)$",
    re.I,
)
"""Fields of infoboxes that say how it looks, or what picture stands in it."""

_EMPTY_FIELD = re.compile(r"^[ \t]*\|[ \t]*[\w .-]{1,40}[ \t]*=[ \t]*$", re.M)
_TABLE_LINE = re.compile(r"^[ \t:]*(?:\{\||\|\}|\|-|\|\+)[^\n]*$", re.M)
_CELL_LINE = re.compile(r"^[ \t]*[|!](?![ \t]?---)[ \t]*(?:[\w-]+[ \t]*=[^|\n]*\|(?!\|))?", re.M)
_BARE_URL_LINK = re.compile(r"\[(?:https?:|ftp:)?//[^\s\]]*[ \t]*([^\]\n]*)\]", re.I)
_ENDED_LINE = re.compile(r"^[^\n]*\]", re.M)  # past its last bracket no link ends
_QUOTES = re.compile(r"'{2,}")
_QUOTED_LINE = re.compile(r"^.*?''.*$", re.M)
_BULLETS = re.compile(r"^[ \t]*(?:[-#:;*][ \t]+)*-[ \t]+", re.M)
_LONE_BULLET = re.compile(r"^[ \t]*[-#*:;]+[ \t]*$", re.M)
_SPACES = re.compile(r"[^\S\n]+")
_LINE_ENDS = re.compile(r" *\n *")
_MANY_LINES = re.compile(r"\n{3,}")
_EMPTY_BRACKETS = re.compile(r"\([\s,;:–—-]*\)|\[\s*\]")
_CUT_TAG = re.compile(r"</?(?:ref|br|div|span|small|nowiki)\b", re.I)
_BEFORE_STOP = re.compile(r"(?<=[\w)\"”’]) +(?=[,.;:](?:\s|$))")
_INVISIBLE = re.compile(
    "[\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff\u00ad\ue000-\uf8ff]"
)
_BREAKS = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]")
_MOST_PASSES = 40

FILE_SPACES = name_set(
    """
    file image media datei bild fichier archivo imagen ficheiro imagem immagine bestand
    afbeelding plik grafika файл изображение ファイル 画像 파일 그림 文件 图像 檔案 圖像
    fil tiedosto kuva soubor obrázek fájl kép dosya resim ملف صورة پرونده קובץ תמונה चित्र
    ছবি படிமம் ไฟล์ ภาพ
    tập tin hình berkas gambar fișier imagine файл зображення αρχείο εικόνα
    """
)
CATEGORY_SPACES = name_set(
    """
    category kategorie catégorie categoría categoria categorie kategoria категория カテゴリ 분류
    分类 分類 kategori luokka kategória kategorija تصنيف رده קטגוריה श्रेणी বিষয়শ্রেণী பகுப்பு
    หมวดหมู่ категорія κατηγορία
    """
) | {"thể loại"}
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[a-z]{2,12})?|simple|arz|zh-min-nan")


class Kept:
    """Texts that no parser may look into, put back at the end."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def take(self, text: str) -> str:
        """A mark that stands for ``text``."""
        self._texts.append(text)
        return f"{KEPT_OPEN}{len(self._texts) - 1}{KEPT_CLOSE}"

    def restore(self, text: str) -> str:
        """``text`` with every mark replaced; marks that were not made here vanish."""
        if KEPT_OPEN not in text:
            return text
        return _KEPT.sub(self._text, text)

    def _text(self, found: re.Match[str]) -> str:
        number = int(found.group(1)) if len(found.group(1)) < 9 else len(self._texts)
        text = self._texts[number] if number < len(self._texts) else ""
        return _DOUBLED.sub(lambda two: " ".join(two.group()), text)


def before_parsing(wikitext: str, kept: Kept) -> str:
    """``wikitext`` without comments, references and dropped extensions, with galleries as lists
    and verbatim text taken out."""
    text = _BREAKS.sub("\n", wikitext)
    text = text.replace(KEPT_OPEN, "").replace(KEPT_CLOSE, "")
    if "<" in text:
        text = _extensions(_uncommented(text), kept)
    if "<" in text:
        text = _OPEN_REF.sub("", _REF.sub("", text))
    if "''" in text:
        text = _QUOTED_LINE.sub(_unquoted, text)
    return without_dead_ends(text)


def _unquoted(line: re.Match[str]) -> str:
    """A line without the quotes that make italics and bold, as MediaWiki reads them: both end
    with the line, whatever is left open; of four quotes, and of more than five, those too many
    are apostrophes; where italics and bold are both left open, three are one and italics
    (``''Alien'''s``)."""
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
    """``text`` without comments; one that is never closed ends with its line."""
    parts: list[str] = []
    at = 0
    while (start := text.find("<!--", at)) >= 0:
        parts.append(text[at:start])
        end = text.find("-->", start + 4)
        if end < 0:
            return "".join(parts) + _OPEN_COMMENT.sub("", text[start:])
        at = end + 3
    return "".join(parts) + text[at:]


def _extensions(text: str, kept: Kept) -> str:
    """``text`` with extension tags dealt with, in one go whatever is not closed: verbatim text
    taken out, galleries as lists, the others dropped. Of a tag without its end only the tag goes,
    as of an end without its tag."""
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
                said = _said(name, text[mark.end() : end.start()], kept)
                after = end.end()
        parts += [text[at : mark.start()], said]
        at = after
    return "".join(parts) + text[at:]


def _said(name: str, inside: str, kept: Kept) -> str:
    """What an extension tag leaves in the text."""
    if name in _DROPPED:
        return ""
    if name == "gallery":
        return _gallery(inside)
    if name in ("pre", "syntaxhighlight", "source"):
        return kept.take(f"\n{inside}\n")
    return kept.take(inside)


def after_parsing(text: str, kept: Kept) -> str:
    """The last pass: whatever markup the parser left is taken out, white space made regular.

    The result holds no ``{{``, ``}}``, ``[[``, ``]]``, ``|-``, known HTML element or named
    entity, whatever the wikitext was.
    """
    if "{" in text or "}" in text or "[[" in text or "]]" in text:
        text = _leftovers(text)
    text = kept.restore(text)
    text = _no_markup(text)
    text = _INVISIBLE.sub("", _CONTROL.sub("", text))
    text = _SPACES.sub(" ", text)
    text = _LINE_ENDS.sub("\n", text)
    text = _BULLETS.sub("- ", text)
    text = _LONE_BULLET.sub("", text)
    text = _EMPTY_BRACKETS.sub("", text)
    text = _BEFORE_STOP.sub("", text)
    text = _SPACES.sub(" ", text)
    text = _no_markup(text)  # what was taken out may have brought two halves together
    return _MANY_LINES.sub("\n\n", _LINE_ENDS.sub("\n", text)).strip()


def plain(text: str) -> str:
    """Text that is not wikitext, with entities, controls and white space made regular only."""
    text = _INVISIBLE.sub("", _CONTROL.sub("", _BREAKS.sub("\n", text)))
    return _MANY_LINES.sub("\n\n", _LINE_ENDS.sub("\n", _SPACES.sub(" ", text))).strip()


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


def caption(options: list[str]) -> str:
    """The caption among the options of a file link: the last that is no setting."""
    for option in reversed(options):
        word = option.strip()
        if word and not _FILE_OPTION.fullmatch(word):
            return word
    return ""


_FILE_OPTION = re.compile(
    r"(?:thumb|thumbnail|frame|framed|frameless|border|right|left|center|centre|none|baseline|"
    r"sub|super|top|text-top|middle|bottom|text-bottom|upright|miniatur|mini|vignette|droite|"
    r"gauche|(?:\d+|\d*x\d+)\s*px|(?:thumb|upright|link|alt|lang|page|class|start|end|thumbtime)"
    r"\s*=.*)",
    re.I | re.S,
)


def _gallery(inside: str) -> str:
    """The captions of a gallery as a list."""
    lines = []
    for line in inside.split("\n"):
        _, _, rest = line.partition("|")
        words = caption(_outer_bars(rest))
        if words:
            lines.append(f"* {words}")
    return "\n" + "\n".join(lines) + "\n"


def _outer_bars(text: str) -> list[str]:
    """``text`` split at the bars that stand in no link or template."""
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


def _leftovers(text: str) -> str:
    """Templates, links and tables that the parser could not read, innermost first."""
    for _ in range(_MOST_PASSES):
        if "{{" not in text or "}}" not in text:
            break
        fewer = _INNER_TEMPLATE.sub("", text)
        if fewer == text:
            break
        text = fewer
    if "{{" in text or "}}" in text:
        # A template that is never closed: its fields are what can be saved of it.
        text = _EMPTY_FIELD.sub("", _FIELD_LINE.sub(_field, text))
        text = re.sub(r"\{\{[^\n|{}]*\|?", "", text)
    for _ in range(_MOST_PASSES):
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
    if PRESENTATION.match(found.group(1)):
        return ""
    name = found.group(1).replace("_", " ").strip()
    return f"{name[:1].upper()}{name[1:]}: {found.group(2)}"


def _link_text(found: re.Match[str]) -> str:
    inside = found.group(1)
    target, _, label = inside.partition("|")
    if namespace(target):
        return ""
    return label.rpartition("|")[2] or target.lstrip(":")


def _bare_links(line: re.Match[str]) -> str:
    return _BARE_URL_LINK.sub(r"\1", line.group())


def _no_markup(text: str) -> str:
    """``text`` in which nothing that would be markup is left."""
    for _ in range(_MOST_PASSES):
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
    # Nested beyond all reason (a page made to hurt): nothing of it is kept that opens markup.
    return re.sub(r"[<>{}\[\]&|']+", " ", text)
