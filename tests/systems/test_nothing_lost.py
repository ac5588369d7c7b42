"""No text of a page vanishes unsaid: templates that nobody knows, debris, the account of a build."""
# ruff: noqa: E501 (a construct and its text stand on one line)

import json

import pytest
from benchmarks.plain_reading import surviving

from assay.systems.corpus.accounting import Account
from assay.systems.corpus.documents import Document, Source, SourceSettings
from assay.systems.corpus.explain import explain
from assay.systems.corpus.wikitext import CleanSettings, clean

SQUAD = """{{Fs start}}
{{Fs player|no=1|nat=ENG|pos=GK|name=[[Dana Seal]]|other=[[Captain (sport)|captain]]}}
{{Fs player|no=2|nat=FRA|pos=DF|name=[[Lou Dix]]|bgcolor=#FF0000}}
{{Fs end}}"""


@pytest.mark.parametrize(
    ("wikitext", "text"),
    [
        (SQUAD, "1, ENG, GK, Dana Seal, captain\n2, FRA, DF, Lou Dix"),
        ("{{Columns-list|colwidth=30em|\n* [[Ann Bell]] as Mary\n* Tom Cole\n}}", "- Ann Bell as Mary\n- Tom Cole"),
        ("{{div col|2}}\n* x\n{{div col end}}", "- x"),
        ("{|\n! Who !! When !! What\n|-\n| {{SortKeyName|Jo|Doe}} || {{dts|1999|5|3}} || {{currency|12|USD}}\n|}",
         "| Who | When | What |\n| --- | --- | --- |\n| Jo Doe | May 3, 1999 | US$12 |"),
        ("{{val|5.3|0.2|e=6|u=km}} and {{currency|7|CHF}}", "5.3 ± 0.2 × 10^6 km and CHF 7"),
        ("{{ListPlayer|1|[[Mara Neu]]|1986|pic=Mara Neu.jpg|w=100px}}", "1, Mara Neu, 1986"),
        ("né le {{date-|17 juillet 1879}}, {{date|3|mai|1880}}", "né le 17 juillet 1879, 3 mai 1880"),
        ("{{coord|51|30|N|0|7|W|display=title}}, {{coord|47.5|-0.5}}", "51°30′N 0°7′W, 47.5°, -0.5°"),
        ("{{multiple image|width=220|image1=A.jpg|caption1=The [[first]]|image2=B.jpg|caption2=Two}}", "The first\nTwo"),
        ("* {{cite book|last=Doe|first=J.|title=The Book|url=http://x.y|access-date=3 May 2019|year=1999}}",
         "- Doe, J., The Book, 1999"),
        ("a<ref>{{cite book|title=T}}</ref>{{sfn|Doe|1999|p=3}}", "a"),
        ("{{Oddly worn|date=May 2019|reason=it is old}}{{Portail|Cinéma}}{{Hauptartikel|Film}}x", "x"),
        ("{{thing|#FFAA00|FFAA00|left|300px|A b.svg|https://x.y/z|shown}}", "shown"),
        ("{{Productions|A film}} {{Reference|B}} {{Clearwater|C}} {{Official residence|D}}", "A film B C D"),
        ("[[a|{{odd|one|[[two]]}}]]", "one, two"),
        ("{{#if:x|y|z}}{{DISPLAYTITLE:T}}t", "t"),
        # what the parser could not read says its parameters all the same
        ("{{open {{odd|the [[bar]]|x=a word}} left", "open the bar, a word left"),
    ],
)  # fmt: skip
def test_templates_that_nobody_knows_say_what_can_be_read(wikitext, text):
    assert clean(wikitext) == text


def test_layout_goes_in_infoboxes_and_what_only_looks_like_it_stays():
    page = """{{Infobox club
| clubname = Foo F.C.
| image = Foo.svg
| image_size = 108px
| image_caption = The [[crest]]
| pattern_la1 = _foo1011h
| leftarm1 = FFFFFF
| body1 = 000000
| coa res = 108px
| colour = #ff0000
| headerstyle = background:#ccc
| width = 250
| height = 1.83 m
| body_style = 4-door sedan
| class = Nimitz
| architectural_style = [[Gothic]]
| cover_artist = A. Painter
| picture_format = 4:3
| eye_color = green
}}"""
    assert clean(page) == (
        "Clubname: Foo F.C.\nImage caption: The crest\nHeight: 1.83 m\nBody style: 4-door sedan\n"
        "Class: Nimitz\nArchitectural style: Gothic\nCover artist: A. Painter\n"
        "Picture format: 4:3\nEye color: green"
    )
    assert "crest" not in clean(page, settings=CleanSettings(captions=False))


@pytest.mark.parametrize(
    ("wikitext", "text"),
    [
        ("Foo (see {{nobody}}) and ({{lang-fr|}}; ) bar", "Foo and bar"),
        ("$1 million (equal to ${{Inflation|US|1|1950}} million in {{Inflation-year|US}}) then", "$1 million then"),
        ("He ({{age|1950|3|2}}) paid ¥{{#expr:2+3}} (in 1990 about ¥{{#expr:2+3}})", "He paid ¥… (in 1990 about ¥…)"),
        ("<canvas id=c></canvas>a <audio src='b.ogg' controls>b</audio> <video><track></video>", "a b"),
        ('{| class="wikitable" |- ! Name !! Year |- | Foo Bar || 1999 |- | Baz || 2000 |}',
         "| Name | Year |\n| --- | --- |\n| Foo Bar | 1999 |\n| Baz | 2000 |"),
        ("{{Infobox film\n| name = Foo\n| starring = {{ubl|[[A B]]|C}}\n| released = {{Film date|1982}}\n\n'''Foo''' is {{convert|5|mi}}.",
         "Name: Foo\nStarring: A B, C\nReleased: 1982\n\nFoo is 5 mi."),
        ("{{Infobox film\n| name = Foo\n* two", "Name: Foo, two"),
    ],
)  # fmt: skip
def test_no_debris_is_left(wikitext, text):
    assert clean(wikitext) == text


def test_the_account_says_what_became_of_every_template():
    account = Account()
    page = "{{lang|fr|mot}} {{odd|a word|id=9}} {{odd|}} {{sfn|Some Author}} {{Infobox x\n|a=b\n|image=A picture.jpg\n}} {{navi}}"
    clean(page, "", None, account)
    assert [(*row,) for row in account.rows] == [
        ("infobox x", "rendered", 1, 2),
        ("sfn", "dropped", 1, 2),
        ("lang", "rendered", 1, 1),
        ("navi", "dropped", 1, 0),
        ("odd", "dropped", 1, 0),
        ("odd", "unwrapped", 1, 0),
    ]


def test_words_of_the_film_pages_survive(shared_data):
    """Against a reading that shares no code with Assay (benchmarks/corpus.py prints it all)."""
    shares = []
    for page in Source(shared_data / "data" / "films", SourceSettings()).items():
        if isinstance(page, Document):
            found = surviving(page.text, clean(page.text, "", CleanSettings(categories=False)))
            there, left = found["all"]
            shares.append(left / there)
    assert len(shares) == 102
    assert sum(shares) / len(shares) >= 0.99
    assert min(shares) >= 0.95


def test_the_plain_reading_sees_what_is_lost():
    page = "{{Fs player|name=[[Dana Seal]]}}\n* one two\n{|\n| cell\n|}\n{{Infobox x\n|name=Box\n}}\nprose"
    assert surviving(page, "prose cell one") == {
        "list items": (2, 1), "cells": (1, 1), "infobox values": (1, 0), "prose": (3, 1), "all": (7, 3)
    }  # fmt: skip


def test_explain_shows_every_line_beside_its_text():
    page = "'''Foo''' {{sfn|Some Author}}is\n{{odd|a [[b|c]]}}\n\n{{navbox x|list=gone}}\nend."
    found = explain(page)
    assert ["".join(text for text, _ in line.source) for line in found.lines] == page.split("\n")
    assert [line.text for line in found.lines] == ["Foo is", "a c", "", "", "end."]
    assert found.lines[0].source[1] == ("sfn|Some Author", True)
    assert (
        "".join(line.text for line in found.lines).split()
        == "".join(clean(page).split("\n")).split()
    )


def test_a_build_ends_with_the_account_and_keeps_it(assay, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.wikitext").write_text("{{odd|[[A b]]}} {{sfn|Author Name}}\x1b[31m")
    (tmp_path / "in" / "b.wikitext").write_text("{{odd|c}} <ref>{{sfn|Other}}</ref>")
    done = assay("corpus", "build", tmp_path / "in", tmp_path / "out")
    assert [line.split() for line in done.stdout.splitlines() if line.strip()][-2:] == [
        ["sfn", "dropped", "1", "2"],
        ["odd", "unwrapped", "2", "0"],
    ]
    manifest = json.loads((tmp_path / "out" / "corpus.json").read_text())
    assert manifest["templates"] == [
        {"name": "sfn", "fate": "dropped", "times": 1, "lost": 2},
        {"name": "odd", "fate": "unwrapped", "times": 2, "lost": 0},
    ]
    shown = assay("corpus", "explain", tmp_path / "in" / "a.wikitext")
    assert "[-odd-]" in shown.stdout
    assert "[-sfn|Author Name-]" in shown.stdout
    assert "\x1b" not in shown.stdout
    told = json.loads(assay("corpus", "explain", tmp_path / "in", "b", "--json").stdout)
    assert told["lines"][0]["text"] == "c"
    missing = assay("corpus", "explain", tmp_path / "in", "z")
    assert missing.returncode == 2
    assert "no page 'z'" in missing.stderr


def test_nothing_is_lost_behind_a_character_that_no_text_has():
    assert clean("Before \x00 [[a|b]]\x01 {{lang|fr|c}} after.") == "Before b c after."


def test_explain_says_that_a_page_is_no_wikitext(assay, tmp_path):
    (tmp_path / "a.md").write_text("# A page\n")
    done = assay("corpus", "explain", tmp_path, "a")
    assert done.returncode != 0
    assert "'a' in " in done.stderr
    assert "is not a page of wikitext" in done.stderr
