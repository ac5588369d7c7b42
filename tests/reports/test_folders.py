"""Large reports: a folder with a page for each topic; small ones are one file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assay.api.opened import write_page
from assay.page.files import pages_of
from assay.page.parts import Cited, Grid, Marked, MarkedSentence, Part
from assay.page.wording import kinds_of
from assay.reports.general import render_folder, render_report
from tests.reports.report_cases import HOSTILE
from tests.reports.report_page import Page as Read
from tests.reports.test_pages import cards, page

PASSAGE = "Plusieurs réponses citent ce passage." + " Il est long et ne dit pas." * 30


def answers(topic: str, runs: int = 3):
    """What runs say of a topic, all citing one passage."""
    for run in range(runs):
        cited = (Cited("d1", PASSAGE, "full", "judge", f"reason {run}"),)
        yield Marked(f"run {run}", (MarkedSentence(f"{topic} says {run}", "full", cited),))


def large(topics: int = 4, text: str = ""):
    """A page with a section of groups, and one of cards."""
    groups = tuple(
        (f"{n}{text}: topic", lambda n=n: answers(f"{n}{text}")) for n in range(1, topics + 1)
    )
    return page(
        parts=(Part("Narratives", "", groups=groups), Part("Questions", "", (cards(text, 3),))),
        text=text,
    )


def folder(made, most: int = 0) -> tuple[str, dict[str, str]]:
    pages: dict[str, str] = {}
    html = render_folder(
        made, generated_by="assay test", name="report.html", write=pages.__setitem__, most=most
    )
    return html, pages


def sound(html: str, own: str, files: set[str]) -> Read:
    """A page that is well formed, and whose links lead somewhere."""
    found = Read(html)
    assert found.faults == []
    assert len(found.ids) == len(set(found.ids))
    for link in found.links:
        name, _, anchor = link.partition("#")
        if name:
            assert (Path(own).parent / name).as_posix().replace("report/../", "") in files
        else:
            assert anchor in found.ids
    assert "default-src &#39;none&#39;" in html
    return found


def test_a_small_report_is_one_file():
    html, pages = folder(large(), most=1_000_000)
    assert not pages
    assert html.count("<blockquote>") == 4 * 3 + 3
    assert html.count(PASSAGE[:34]) == 12


@pytest.mark.parametrize("text", ["", HOSTILE])
def test_a_large_one_has_a_page_for_each_topic(text):
    html, pages = folder(large(text=text))
    assert list(pages) == [f"part-1-{n}.html" for n in range(1, 5)] + [
        f"part-2-{n}.html" for n in range(1, 4)
    ]
    files = {"report.html", *(f"report/{name}" for name in pages)}
    top = sound(html, "report.html", files)
    assert PASSAGE[:34] not in html
    assert [one for one in top.links if one.startswith("report/")] == [
        f"report/{name}" for name in pages
    ]
    for name, one in pages.items():
        own = sound(one, f"report/{name}", files)
        assert f"../report.html#{'part-1-' if 'part-1' in name else 'q'}" in one
        assert "<script>alert" not in one
        assert {top_id for top_id in top.ids if f"../report.html#{top_id}" in own.links}
    first = pages["part-1-1.html"]
    assert first.count(PASSAGE[:34]) == 1
    assert first.count('data-p="p1"') == 3
    assert 'rel="next"' in first
    assert 'rel="prev"' not in first
    assert folder(large(text=text)) == (html, pages)


def test_pages_of_an_earlier_report_go_and_what_is_not_ours_stays(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    monkeypatch.setattr(render_folder, "__kwdefaults__", {"most": 0})
    write_page(path, large(5))
    assert len(pages_of(path)) == 5 + 3
    (tmp_path / "report" / "mine.html").write_text("mine")
    write_page(path, large(2))
    assert len(pages_of(path)) == 2 + 3
    monkeypatch.setattr(render_folder, "__kwdefaults__", {"most": 10**7})
    write_page(path, large(2))
    assert [one.name for one in (tmp_path / "report").iterdir()] == ["mine.html"]
    (tmp_path / "report" / "mine.html").unlink()
    write_page(path, large(2))
    assert not (tmp_path / "report").exists()


def test_a_section_without_room_in_one_file_says_what_is_left_out():
    html = render_report(large(), generated_by="assay test", max_bytes=6_000)
    assert re.search("the first [1-3] of 4 are shown in full", html)
    assert all(f"{n}: topic" in html for n in range(1, 5))


def test_the_leaderboard_comes_before_warnings_and_one_kind_is_one_line():
    texts = [
        f"rag/run{n}.jsonl:{n} The answer has {400 + n} words; 400 are allowed." for n in (1, 2)
    ]
    html, _ = folder(page(warnings=(*texts, "A word of its own.")))
    text = Read(html).text
    assert "Warnings: 3 of 2 kinds." in re.sub(r"\s+", " ", text)
    assert html.index('id="board-1"') < html.index("2 ×") < html.index("rag/run1.jsonl:1 The")
    assert "… The answer has … words; 400 are allowed." in text


def test_kinds_of_warnings():
    runs = ("plain", "other")
    same = ["plain left out 1 of 9 topics: q1.", "other left out 3 of 9 topics: q1, q2, q3."]
    kinds = kinds_of([*same, "Mind this.", "Mind that."], runs)
    assert [(kind, len(found)) for kind, found in kinds] == [
        ("… left out … of … topics: …", 2), ("Mind this.", 1), ("Mind that.", 1)
    ]  # fmt: skip
    assert kinds_of([]) == []


def test_grids_have_texts():
    rows, columns = ("t1", "t2"), tuple(f"c{n}" for n in range(30))
    about = {"t1": "What is asked first? " * 9, "c0": "The first nugget."}
    cells = [[0.25] * 30, [None] * 30]
    html, _ = folder(page(Grid("wide", rows, columns, cells, about=about, digits=2)))
    assert "heat grid wide" in html
    found = Read(html)
    assert "What is asked first?" in found.text
    assert "The first nugget." in found.text
    assert ".25" in found.text
    assert "0.25" not in found.text
