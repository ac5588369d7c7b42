"""Pages of plain values: what is drawn of them, whatever protocol they come from."""

from __future__ import annotations

import re

import pytest

from assay.measures.ranges import Range
from assay.measures.scores import Score
from assay.page.cards import Badge, Body, Card, Cards, Chip, Entry, Quotation, RankedPassage, Remark
from assay.page.page import Board, Definition, Gap, LabelledTask, Page
from assay.page.parts import (
    Beside,
    Curve,
    Curves,
    Grid,
    Panels,
    Part,
    Point,
    Scatter,
    Sentences,
    Shade,
    Table,
)
from assay.protocols.evaluation import Evaluation
from assay.protocols.folder import Folder
from assay.protocols.pages import page_of
from assay.protocols.registry import find_protocol
from assay.reports.general import render_report
from tests.reports.report_cases import HOSTILE
from tests.reports.report_page import Page as Read
from tests.trec_rag.cases import make

ORDER = ("best", "middle", "worst")


def scores(text=""):
    found = zip(ORDER, (0.9, 0.5, 0.1), strict=True)
    ends = {run + text: Range.certain(value) for run, value in found}
    return {
        run: {"M": Score.between(run, "M", value, (0.0, 1.0), topics=3)}
        for run, value in ends.items()
    }


def page(*items, text="", **more):
    """A page of a leaderboard of three runs and one section."""
    given = {
        "title": "T", "protocol": "P", "policy": "people", "policy_says": "",
        "scores": scores(text), "boards": (Board("Runs", ("M",)),),
        "parts": (Part("Section", "", items),),
        "definitions": (Definition("M", f"says {text}", "source"),), "settings": {},
        "gaps": (), "nothing": "All is there.",
    }  # fmt: skip
    return Page(**{**given, **more})


def read(made, **options):
    html = render_report(made, generated_by="assay test", **options)
    found = Read(html)
    assert found.faults == []
    assert len(found.ids) == len(set(found.ids))
    return html, found


def cards(text="", count=1, body=True):
    badge = Badge("right", "✓", f"right {text}")
    remark = Remark("correct", f"reason {text}", f"who {text}", True, text, struck=True)
    quotation = Quotation(badge, f"claim {text}", f"passage {text}", text, text, (remark, text))
    entry = Entry(
        f"best{text}", badge, f"answer {text}", 0.5, "half", text, (remark,), (quotation,)
    )
    ranking = ((f"list {text}", (RankedPassage(1, 2, f"found {text}", text, text),)),)
    inside = Body("Gold: ", (f"gold {text}",), (entry,), "Passages", ranking)
    made = (
        Card(f"{place}{text}", f"question {text}", f"kind {text}", ("right",),
             (Chip(1, badge, "90", text),), (lambda: inside) if body else None)
        for place in range(count)
    )  # fmt: skip
    runs = tuple(run + text for run in ORDER)
    return Cards(runs, tuple(made), (("right", f"right {text}"),), "topic", f"The rest: {text}.")


def items(text=""):
    """One of each kind of item that R2C2's report was the first to have."""
    runs = [run + text for run in ORDER]
    scatter = Scatter(f"map {text}", text, text, tuple(Point(run, 0.1, 0.2) for run in runs))
    curves = Curves(text, text, text, tuple(Curve(run, ((0, 0), (1, 1))) for run in runs))
    shade = Shade(Range(0.25, 0.5), f"about {text}", "n = 2")
    return (
        Sentences(((runs[0], "Modest", f"a sentence {text}"),), f"rule {text}"),
        Beside((scatter, curves)),
        Panels(((runs[1], f"summary {text}", (curves,)),)),
        Grid(f"grid {text}", (runs[0],), (f"all {text}\nn = 3",), [[shade]], digits=2),
        Table(f"table {text}", ("M", text), [(1, text)]),
        cards(text),
    )


def test_hostile_values_are_only_ever_text():
    html, found = read(
        page(
            *items(HOSTILE), text=HOSTILE, title=HOSTILE, gaps=(Gap(1, HOSTILE, HOSTILE),),
            lede=(HOSTILE,), facts=((HOSTILE, HOSTILE),), warnings=(HOSTILE,), out=HOSTILE,
            labelled=(LabelledTask(*[HOSTILE] * 5, {HOSTILE: 1}, 0),),
            juries=(Table(HOSTILE, (HOSTILE,), [(HOSTILE,)], folded=True),),
        )
    )  # fmt: skip
    for raw in ("<script>alert", "</style><img", "onerror=alert(2)>", "<!--", "\u202e", "\ud800"):
        assert raw not in html
    assert found.text.count("{{7*7}}") > 30


def test_a_run_has_one_colour_on_the_whole_page():
    """That of its place in the first leaderboard, in whatever order a plot names it."""
    backwards = tuple(Point(run, 0.1, 0.2) for run in reversed(ORDER))
    html, _ = read(page(Scatter("plot", "x", "y", backwards)))
    drawn = dict(re.findall(r'class="mk c(\d)"[^>]*><title>(\w+):', html))
    assert {run: int(kind) for kind, run in drawn.items()} == {"best": 0, "middle": 1, "worst": 2}
    strangers = (Point("stranger", 0.1, 0.2), Point("best", 0.3, 0.4))
    html, _ = read(page(Scatter("plot", "x", "y", strangers)))
    drawn = re.findall(r'class="mk c(\d)"[^>]*><title>(\w+):', html)
    assert sorted(drawn) == [("0", "stranger"), ("1", "best")]


def test_names_from_right_to_left_leave_numbers_beside_them_in_place():
    table = Table("", ("M",), [(1,)], note="Left out (جامعة-القاهرة: 4, Köln: 1 and <b>ע: 2).")
    html, _ = read(page(table))
    assert "(<bdi>جامعة-القاهرة</bdi>: 4, Köln: 1 and &lt;b&gt;<bdi>ע</bdi>: 2)." in html


def test_a_cell_of_a_grid_may_be_a_range():
    _, found = read(page(*items()))
    assert ".25–.50" in found.text
    assert "n = 2" in found.text


def test_a_table_explains_measures_where_it_names_them():
    html, _ = read(page(Table("", ("M", "other"), [(1, 2)])))
    assert '<th scope="col" data-first="descending" title="says "><span class="lab">M' in html


def test_a_row_of_a_table_is_called_by_its_first_short_text():
    texts = Table("", ("n", "passage", "run"), [(1, "long", "R")], texts=("passage",))
    html, _ = read(page(texts, Table("", ("M",), [(2,)])))
    assert re.findall(r'<th scope="row"><bdi>(\w+)<', html) == ["R"]


@pytest.mark.parametrize(("most", "whole"), [(10**6, 5), (0, 0)])
def test_cards_are_whole_as_far_as_there_is_room(most, whole):
    html, found = read(page(cards(count=5)), max_bytes=most)
    assert html.count('<details class="q"') == whole
    assert html.count('<div class="q line"') == 5 - whole
    assert ("the first 0 of 5 topics are shown in full" in found.text) is (not whole)
    _, found = read(page(cards(body=False)))
    assert "the first 0 of 1 topics" in found.text


def test_every_protocol_is_shown_topic_by_topic(tmp_path):
    folder = make(tmp_path / "e")
    evaluation = Evaluation.open(Folder.open(folder), find_protocol("trec-rag"), None)
    with evaluation.folder.open_ledger() as ledger:
        evaluation.judge(ledger)
        result = evaluation.score(ledger)
        page = page_of(result)
    part = next(one for one in page.parts if one.title == "Topic by topic")
    by_title = {grid.title: grid for grid in part.items}
    grid = by_title["Answers: nuggets: strict_vital"]
    per_topic = result.findings.per_topic
    assert grid.rows == tuple(result.findings.topics)
    assert set(grid.columns) == {run for run in per_topic if "strict_vital" in per_topic[run]}
    for topic, row in zip(grid.rows, grid.cells, strict=True):
        assert row == [per_topic[run]["strict_vital"].get(topic) for run in grid.columns]
    assert not page_of(result, sections=False).parts
