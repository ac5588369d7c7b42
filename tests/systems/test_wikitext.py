"""Wikitext to clean text: the real film pages first, then every construct by itself."""
# ruff: noqa: E501 (a construct and its text stand on one line)

import re
import time
import xml.etree.ElementTree as ElementTree
from html.entities import html5

import mwparserfromhell
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assay.systems.corpus.wikitext import CleanSettings, clean, is_disambiguation, is_redirect

# What no passage may hold: the list, other signs of markup, and any named entity.
MARKUP = re.compile(
    r"\{\{|\}\}|\[\[|\]\]|<ref|&nbsp;|\|-|\{\||\|\}|</?[a-zA-Z][^<>]*>|<!--|&[a-zA-Z]+;|'''|"
    r"__[A-Z]{3,}__"
)


@pytest.fixture(scope="module")
def pages(shared_data):
    """title -> wikitext of the 102 film pages and the redirects."""
    found = {}
    for path in sorted((shared_data / "data" / "films").glob("*.xml")):
        for page in ElementTree.parse(path).getroot().iter():
            if page.tag.rpartition("}")[2] != "page":
                continue
            names = {child.tag.rpartition("}")[2]: child for child in page}
            text = next(
                child.text or ""
                for child in names["revision"]
                if child.tag.rpartition("}")[2] == "text"
            )
            found[names["title"].text] = text
    assert len(found) >= 102
    return found


def without_notes(text):
    """Wikitext without comments and references: what they hold is not shown in the page."""
    return re.sub(
        r"<!--.*?-->|<ref\b[^<>]*/>|<ref\b.*?</ref>|\{\{sfn[^{}]*\}\}", "", text, flags=re.S
    )


@pytest.fixture(scope="module")
def texts(pages):
    return {title: clean(text, title) for title, text in pages.items() if not is_redirect(text)}


@pytest.fixture(scope="module")
def boxes(pages, texts):
    """The templates of each page, read with the parser alone."""
    return {
        title: mwparserfromhell.parse(without_notes(pages[title])).filter_templates()
        for title in texts
    }


def test_no_markup_is_left_in_any_film_page(texts):
    assert len(texts) == 102
    for title, text in texts.items():
        found = MARKUP.search(text)
        assert not found, (title, text[max(0, found.start() - 60) : found.end() + 60])


NAMED = "name starring director producer writer screenplay story music cinematography editing"


def test_every_name_in_the_infoboxes_survives(boxes, texts):
    """The links of the people fields are words of the text."""
    checked = 0
    for title, text in texts.items():
        flat = " ".join(text.split())
        for box in boxes[title]:
            if not str(box.name).strip().lower().startswith("infobox film"):
                continue
            for field in NAMED.split():
                if not box.has(field):
                    continue
                for link in box.get(field).value.filter_wikilinks():
                    shown = re.sub(r"<br[^<>]*>", ", ", str(link.text or link.title))
                    name = mwparserfromhell.parse(shown).strip_code()
                    if name.lower().startswith(("file:", "image:")):
                        continue
                    checked += 1
                    assert " ".join(name.split()) in flat, (title, field, name)
    assert checked > 900


def test_years_of_the_infoboxes_survive(boxes, texts):
    checked = 0
    for title, text in texts.items():
        for box in boxes[title]:
            if str(box.name).strip().lower() == "infobox film" and box.has("released"):
                for year in re.findall(r"\b(?:18|19|20)\d\d\b", str(box.get("released").value)):
                    if f"|{year}" in str(box.get("released").value):
                        checked += 1
                        assert year in text, title
    assert checked > 80


def test_every_cell_of_the_tables_survives(pages, texts):
    """Plain cells of all tables, read by lines without any parser."""
    cell = re.compile(r"^\|\s*([A-Za-z][A-Za-z '.-]{2,40})\s*$")
    checked = 0
    for title, text in texts.items():
        source = without_notes(pages[title])
        for table in re.findall(r"^\{\|.*?^\|\}", source, re.S | re.M):
            for line in table.split("\n"):
                found = cell.match(line)
                if found:
                    checked += 1
                    assert found.group(1).strip() in text, (title, found.group(1))
    assert checked > 150


def test_a_page_reads_well(texts):
    text = texts["48 Hrs."]
    assert text.startswith("Name: 48 Hrs.\n")
    assert "Starring: Nick Nolte, Eddie Murphy\n" in text
    assert "Released: December 8, 1982\n" in text
    assert "Budget: $12 million\n" in text
    assert "\nCast\n- Nick Nolte as Jack Cates\n- Eddie Murphy as Reggie Hammond\n" in text
    assert "1. Main Titles (James Horner, 5:13)" in text
    assert text.rpartition("\n")[2].startswith("Categories: 1982 films; ")


def test_a_real_table_becomes_markdown(texts):
    text = texts["The Castle of Cagliostro"]
    assert "| Fujiko Mine | Eiko Masuyama | Edie Mirman | Dorothy Melendrez |" in text
    assert "ルパン三世 カリオストロの城" in text


@pytest.mark.parametrize(
    ("wikitext", "text"),
    [
        ("'''Bold''' and ''italic''", "Bold and italic"),
        ("[[Film|a film]], [[Star Wars]], [[:Category:Films]]", "a film, Star Wars, Category:Films"),
        ("[[Rush (film)|]] and [[Lupin_III]]", "Rush and Lupin III"),
        ("[https://x.org the site] and [https://x.org]", "the site and"),
        ("https://x.org/a stays", "https://x.org/a stays"),
        ("a<!-- no -->b<!-- never closed\nc", "ab\nc"),
        ("one<ref>{{cite web|title=T}}</ref>, two<ref name=x />.", "one, two."),
        ("one<ref>{{cite web|title=T}} two", "one two"),
        ("one<ref name='n'>open, two<ref>shut</ref> three", "oneopen, two three"),
        ("a&nbsp;b &amp; c &eacute; &#8212; &amp;nbsp;", "a b & c é —"),
        ("x<br>y<br/>z", "x\ny\nz"),
        ("<nowiki>''not italic''</nowiki> <nowiki/>x", "not italic x"),
        ("<math>\\frac{{a}}{b}</math>", "\\frac{ {a} }{b}"),
        ("<div style='x'>in <span>side</span>", "in side"),
        ("{{Film date|1982|12|8|New York|1982|12|10}}", "December 8, 1982 (New York)\nDecember 10, 1982"),
        ("{{nihongo|Totoro|となりのトトロ|Tonari no Totoro}}", "Totoro (となりのトトロ, Tonari no Totoro)"),
        ("{{lang|fr|Amélie}} {{lang-ja|千}} {{nowrap|Tim {{small|Burton}}}}", "Amélie 千 Tim Burton"),
        ("{{US$|10 million}}, {{INRConvert|12|m}}, {{convert|5|mi|km}}", "US$10 million, ₹12 million, 5 mi"),
        ("{{won}} {{nom}} {{yes|Done}}", "Won Nominated Done"),
        ("{{strange|{{nested|{{deep}}}}}}left", "left"),
        ("{{unclosed|a=b\nleft", "a=b\nleft"),
        ("{{{1|default}}} {{{2}}}", "default"),
        ("* one\n** two\n# three\n; term\n: meaning", "- one\n- two\n- three\nterm\nmeaning"),
        ("== Empty ==\n\n== Full ==\ntext", "Full\ntext"),
        ("== Plot ==\n=== One ===\n* x", "Plot\n\nOne\n- x"),
        ("<gallery>\nFile:A.jpg|A [[Film|poster]]\nB.png\n</gallery>", "- A poster"),
        ("[[File:A.jpg|thumb|200px|right|The ''caption'']]text", "The caption\ntext"),
        ("__NOTOC__ {{DEFAULTSORT:X}}text", "text"),
        ("[[fr:Film]][[zh-min-nan:X]]text", "text"),
        ("a < b and c > d", "a < b and c > d"),
        ("映画は[[日本]]で公開された。", "映画は日本で公開された。"),
        ("فيلم [[مصر|مصري]]", "فيلم مصري"),
        ("", ""),
        ("{{", ""),
        ("[[open and ]] shut ]]", "open and  shut".replace("  ", " ")),
    ],
)  # fmt: skip
def test_constructs(wikitext, text):
    assert clean(wikitext) == text


def test_infobox_of_another_wiki():
    """Fandom's wikis call their boxes by what they are about: the shape tells."""
    page = "{{Movie\n|image=[[File:x.png]]\n|title=A New Hope\n|director=[[George Lucas]]\n*x\n|year=1977\n}}T"
    assert clean(page) == "Title: A New Hope\nDirector: George Lucas, x\nYear: 1977\n\nT"


def test_unclosed_infobox_keeps_its_fields():
    assert clean("{{Infobox person\n| name = A B\n| image = A B.jpg\n| spouse = C") == (
        "Name: A B\nSpouse: C"
    )
    page = "{{Infobox film\n| name = Rush\n| starring = [[Chris Hemsworth]]\n| image =\n\n'''Rush''' is"
    text = clean(page)
    assert "Name: Rush" in text
    assert "Starring: Chris Hemsworth" in text
    assert not MARKUP.search(text)


def test_table_with_spans_caption_and_nested_parts():
    page = """{| class="wikitable" style="x"
|+ Awards
! rowspan="2" | Year !! colspan="2" | Film
|-
! Title !! Result
|- style="y"
| rowspan=2 | 1976 || ''[[Rocky]]'' || {{won}}
|-
| a {{!}} b<br>c
| <ref>x</ref>{{nom}}
|}"""
    assert clean(page) == (
        "Awards\n"
        "| Year | Film | |\n"
        "| --- | --- | --- |\n"
        "| Year | Title | Result |\n"
        "| 1976 | Rocky | Won |\n"
        "| 1976 | a \\| b, c | Nominated |"
    )


def test_attributes_of_a_cell_that_a_template_fills():
    table = (
        '{|\n! A !! B !! C\n|-\n| x || rowspan=2 {{nom}} || colspan="1" style="a" {{won}}\n|-\n'
        "| y || z\n|}"
    )
    assert clean(table) == (
        "| A | B | C |\n| --- | --- | --- |\n| x | Nominated | Won |\n| y | Nominated | z |"
    )


@pytest.mark.parametrize(
    ("wikitext", "text"),
    [
        ("''Alien'''s cast, '''bold''' and ''it''", "Alien's cast, bold and it"),
        ("'''''both''''' and L'''amour'''", "both and Lamour"),
        ("L'''amour et ''lui", "L'amour et lui"),
        ("''''quoted''''", "'quoted'"),
        # Never closed: what follows is read as ever.
        ("''A\n{{Infobox film\n| name = '''B\n| starring = C''\n}}", "A\n\nName: B\nStarring: C"),
        (
            "{|\n| {{N/A|''P''<br />''(Q)}}\n| r\n|-\n| s || t\n|}",
            "| P, (Q) | r |\n| --- | --- |\n| s | t |",
        ),
    ],
)
def test_quotes_end_with_their_line(wikitext, text):
    assert clean(wikitext) == text


def test_html_table():
    page = "<table><caption>C</caption><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>"
    assert clean(page) == "C\n| A | B |\n| --- | --- |\n| 1 | 2 |"


def test_table_that_is_never_closed():
    text = clean("{| class=x\n! A\n! B\n|-\n| one\n| two\n\nafter")
    assert {"A", "B", "one", "two", "after"} <= set(text.replace("|", " ").split())
    assert not MARKUP.search(text)


def test_settings():
    page = "x [[Category:Films|*]] [[File:A.jpg|thumb|Said]]"
    assert clean(page).endswith("Categories: Films")
    assert clean(page, settings=CleanSettings(categories=False, captions=False)) == "x"


NEVER_CLOSED = [
    *("<!--", "<!--\n", "<math>", "<gallery>", "<score>", "<ref>a ", "{{", "[[", "{|\n|"),
    *("<b>x ", "<b x ", "<span class='a'>x\n", "<b><i>x</b>", '<b a="', "{{a|<b>", "{{a|b=c\n"),
    *("[[a|<i>", "[http://x ", "[//x y\n", "[[a|[http://x ", "\n|}{|x", "<b><i>x</b></i>"),
    *("\n{|\n|<b>", "<ref name=a>[http://x "),
]


@pytest.mark.parametrize("piece", NEVER_CLOSED)
def test_what_is_never_closed_takes_no_time_to_speak_of(piece):
    """A page made to hurt: time that grows with the square of its length would be minutes."""
    started = time.process_time()
    assert not MARKUP.search(clean(piece * 4000))
    assert time.process_time() - started < 3


@pytest.mark.parametrize("name", ["Infobox x", "unknown", "ubl"])
def test_nested_templates_are_rendered_once_a_level(name):
    page = f"{{{{Infobox x|a={{{{{name}|" * 12 + "v" + "}}}}" * 12
    started = time.process_time()
    assert "v" in clean(page)
    assert time.process_time() - started < 5


def test_a_table_that_its_surroundings_hide_is_parsed_by_itself():
    page = "{{a|\n{| class=x\n! A !! B\n|-\n| {{won}} || [[c|d]]\n|}\n"
    assert "| A | B |\n| --- | --- |\n| Won | d |" in clean(page)


def test_many_dead_ends_read_as_few_do():
    """More than the parser is left with come out as the parser would have them."""
    for piece in (
        "<b>bold ",
        "<i>",
        "[http://x.y word ",
        "<b class='x ",
        "a < b [c] ",
        "<nothing>",
    ):
        few, many = clean(f"{piece}end " * 3), clean(f"{piece}end " * 300)
        assert many == " ".join([few.rpartition("end")[0].split("end")[0] + "end"] * 300), piece
    ended = "<b>one</b> [http://x.y two] [[three|four]] {{lang|ja|five}} "
    assert clean(ended + "<i>x " * 300).startswith("one two four five x x")


def test_redirects_and_disambiguations():
    assert is_redirect("#REDIRECT [[X]]")
    assert is_redirect(" #redirect: [[X]]")
    assert is_redirect("#転送 [[X]]")
    assert not is_redirect("# REDIRECT is a word")
    assert is_disambiguation("X may be:\n{{disambiguation}}")
    assert is_disambiguation("{{Hndis|Name}}")
    assert not is_disambiguation("{{Other uses|X (disambiguation)}} text")


PIECES = st.sampled_from(
    [
        "{{",
        "}}",
        "[[",
        "]]",
        "|",
        "=",
        "\n",
        "*",
        "#",
        ":",
        ";",
        "'",
        "''",
        "'''",
        "{|",
        "|}",
        "|-",
        "!",
        "!!",
        "||",
        "|+",
        "<ref>",
        "</ref>",
        "<ref/>",
        "<nowiki>",
        "</nowiki>",
        "<!--",
        "-->",
        "<br>",
        "<b>",
        "</div>",
        "&nbsp;",
        "&amp;nbsp;",
        "&lt;br&gt;",
        "&#123;",
        "[",
        "]",
        "[http://x.y",
        "http://",
        "==",
        "===",
        "Infobox",
        "film",
        "name=",
        "starring=",
        "File:",
        "Category:",
        "thumb|",
        "__TOC__",
        "<math>",
        "</math>",
        "<gallery>",
        "</gallery>",
        "\ue000",
        "0\ue001",
        "<",
        ">",
        "&",
        "{{{",
        "}}}",
        "<table>",
        "<td>",
        "#REDIRECT",
        "日本",
        "é",
        "a",
        "b",
        "Infobox film\n|name=",
        " ",
    ]
)


# Angle brackets around a word that names no element are text, as in MediaWiki: "vector<film>". So
# is a word that names no entity: "&Infobox;".
NO_ELEMENT = re.compile(
    r"</?(?!(?:b|br|div|gallery|i|math|nowiki|ref|small|span|table|td|th|tr|u)\b)[a-zA-Z][^<>]*>"
)
ENTITY = re.compile("&([a-zA-Z]+;)")


def without_what_names_nothing(text):
    text = ENTITY.sub(lambda found: found[0] if found[1] in html5 else "", text)
    while (less := NO_ELEMENT.sub("", text)) != text:  # what stood around one may look like another
        text = less
    return text


@settings(max_examples=100)
@given(st.lists(PIECES, max_size=40).map("".join))
@example("<film>")
@example("&Infobox;")
@example("{{" * 100 + "x" + "}}" * 100)
@example("[[" * 50 + "x" + "]]" * 50)
@example("<b>" * 300 + "x")
@example("{|\n|-\n|" * 30)
@example("<<b>b>x<<ref>ref>")
@example("<Infobox<a>>")
@example("&amp;" + "amp;" * 50 + "lt;b&gt;")
def test_nothing_leaves_markup(wikitext):
    text = clean(wikitext)
    assert not MARKUP.search(without_what_names_nothing(text)), text
    assert text == text.strip()
    assert clean(wikitext) == text
