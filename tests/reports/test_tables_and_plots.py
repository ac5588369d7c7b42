"""The terminal's tables, the reading of runs, and the plots for papers."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from assay.measures.abstention import Answers
from assay.measures.bootstrap import Interval
from assay.measures.ranges import Range
from assay.measures.scores import Score
from assay.page.parts import (
    Bin,
    Contour,
    Curve,
    Curves,
    LineChart,
    Point,
    Reliability,
    Scatter,
    Series,
)
from assay.page.wording import interval, number, percent, score_interval, span, visible
from assay.protocols.confidence_parts import ConfidentRun, confidence_parts, reading
from assay.protocols.confidence_scores import Abstention
from assay.protocols.pages import page_of
from assay.reports.figures import figure
from assay.reports.statistics_plots import save_confidence_plot
from assay.reports.svg import interval_bar
from assay.reports.terminal import board_tables
from tests.reports import report_cases as cases


def shown(result, width):
    target = io.StringIO()
    console = Console(file=target, width=width, color_system=None)
    for table in board_tables(page_of(result, sections=False)):
        console.print(table)
    return target.getvalue()


@pytest.mark.parametrize("width", [80, 100])
def test_the_tables_fit_and_hold_scores_policy_and_gaps(films, width):
    text = shown(films, width)
    assert max(map(len, text.splitlines())) <= width
    for words in (
        "UNDERCONFIDENT",
        ".877 .82–.97",
        "ORACLE",
        "person’s label",
        "left out by a run",
    ):
        assert words in text


def test_rich_markup_in_names_is_shown_and_not_obeyed():
    text = shown(cases.hostile(), 100)
    flat = "".join(text.split())
    assert "<script>alert(1)</script>" in flat
    assert "\x1b" not in text
    assert "\u202e" not in text
    marked = cases.small(2, runs=("[red]x[/red]", "[/nothing]"))
    assert "[red]x[/red]" in shown(marked, 100)
    assert "[/nothing]" in shown(marked, 100)


def scored(hmr, over, under, wide=0.05):
    return {
        name: cases.certain("A", name, value, value and Interval(value - wide, value + wide))
        for name, value in (("HMR", hmr), ("R_O", over), ("R_U", under))
    }


def read(scores):
    """A run with two right answers and two wrong ones, in a word and a sentence."""
    half, none = np.array([1.0, 0, 1, 0]), np.zeros(4)
    answers = Answers(half, half, none, np.ones(4, dtype=bool), np.zeros(4, dtype=bool))
    return reading(ConfidentRun("A", answers, scores, Abstention.of(answers)))


@pytest.mark.parametrize(
    ("over", "under", "word"),
    [(0.1, 0.9, "Overconfident"), (0.9, 0.1, "Underconfident"), (0.9, 0.9, "Modest"),
     (0.5, 0.5, "Middling")],
)  # fmt: skip
def test_a_run_is_read_by_the_stated_rule(over, under, word):
    hmr = 2 * over * under / (over + under)
    assert read(scored(hmr, over, under))[0] == word
    assert read(scored(None, None, None))[0] == "No score"


@pytest.mark.parametrize(("over", "under"), [(0.3, 0.7), (0.7, 0.3)])
def test_intervals_that_meet_make_no_run_over_or_underconfident(over, under):
    said = {wide: read(scored(0.42, over, under, wide)) for wide in (0.19, 0.21)}
    assert said[0.21][0] == "Middling"
    assert said[0.19][0] == ("Overconfident" if over < under else "Underconfident")
    assert "R_O" in said[0.21][1]
    assert ".09–.51" in said[0.21][1]
    without = {name: replace(one, low=None, high=None) for name, one in scored(1, 1, 1).items()}
    without["R_O"] = replace(without["R_O"], floor=0.1, ceiling=0.1, value=0.1)
    assert read(without)[0] == "Modest"


@pytest.mark.parametrize(
    ("floor", "ceiling", "said"),
    [
        (0.3351, 0.5, ".33–.50"),  # and so not above a value of .337
        (0.41, 0.47, ".41–.47"),
        (0.57, 0.29, ".29–.57"),
        (0.1 + 0.2, 0.7 - 0.1, ".30–.60"),
        (0.4112, 0.4113, ".411–.412"),
        (-0.004, 0.996, "-.01–1.00"),
        (0.5, 0.5, "0.500"),
    ],
)
def test_the_ends_of_a_range_are_rounded_outwards(floor, ceiling, said):
    assert span(floor, ceiling) == said


def test_numbers_are_rounded_in_one_way():
    assert number(0.94736842) == "0.947"
    assert number(None) == number(float("nan")) == number(float("inf")) == "–"
    assert number(-0.0001, 2) == "0.00"
    assert interval(0.6, 1.0) == ".60–1.00"
    assert interval(None, 1.0) == ""
    # Beside a range, which is rounded outwards, an interval that holds it must look as if it did.
    ranged = Score("A", "AP", None, 0.268, 0.881, 9, 1, 0.268, 0.75)
    assert (span(0.268, 0.75), score_interval(ranged)) == (".26–.75", ".26–.89")
    assert score_interval(replace(ranged, value=0.3, ceiling=0.268)) == ".27–.88"
    assert percent(0.5) == "50\u00a0%"


def test_hidden_characters_become_visible_and_others_stay():
    assert visible("a\u202eb\x00\ud800") == "a\\u202eb\\x00\\ud800"
    assert visible("映画\u3000\u00e9\n\t👩\u200d🚀") == "映画\u3000\u00e9\n\t👩\u200d🚀"


def drawn(*figures):
    """The pictures, for readers who know runs by their colours and for those who do not."""
    name = "<b>&\"'"
    return [figure(one, kinds) for one in figures for kinds in ({}, {name: 3, "other": 9})]


def test_drawings_are_well_formed_xml_and_escape_names():
    name = "<b>&\"'"
    for svg in (
        interval_bar(cases.certain("r", name, 0.5, Interval(0.2, 0.7)), name=name, kind=0),
        interval_bar(
            Score.between("r", name, Range(0.4, 0.6), (0.2, 0.7), topics=3), name=name, kind=0
        ),
        interval_bar(None, name=name, kind=None),
        *drawn(
            Reliability(name, (Bin(0.0, 0.5, 3, 1, 0.2, 0.75), Bin(0.5, 1.0, 0, 0, None, None))),
            Reliability(name, tuple(Bin(i / 99, (i + 1) / 99, 0, 1, 0, 0) for i in range(99))),
            Curves(name, name, name, ()),
            Curves(name, name, name, (Curve(name, ((0.5, 0), (1, 1)), (name, name)),)),
            Curves(name, name, name, (Curve(name, ()), Curve("other", ((1, 1),))), focus=name),
            Curves(
                name,
                name,
                name,
                (Curve(name, ((0, 0), (1, 1))), Curve("other", ())),
                named=("other",),
                begin=0.1,
            ),
            Scatter(name, name, name, ()),
            Scatter(name, name, name, tuple(Point(f"{name}{i}", i, -i) for i in range(20))),
            Scatter(
                name,
                name,
                name,
                (Point(name, 0.5, 0.5, (0.1, 0.9), (0.5, 0.6)),),
                corners=(name, name),
                diagonal=True,
                contours=(Contour(((0, 0), (1, 1)), name, (0.5, 0.5)),),
            ),
            LineChart(
                name, (name, "b"), (Series(name, (0.5, None), ((0.4, 0.6), None)),), name, name
            ),
        ),
    ):
        ET.fromstring(svg)
        assert "<b>" not in svg


def test_of_many_curves_the_best_and_the_worst_are_named():
    def curves(runs):
        settings = SimpleNamespace(bins=10, bins_closed="right", resamples=10, level=0.95, seed=0)
        (figures,) = confidence_parts(runs, settings, topics="question")[1].items
        return figures.figures[-1]

    def run(n):
        correct, all_ = (np.arange(40) % 20 >= n).astype(float), np.ones(40, dtype=bool)
        answers = Answers(np.linspace(0, 1, 40), correct, np.zeros(40), all_, ~all_)
        scores = {
            name: cases.certain(f"run{n}", name, 0.5, Interval(0.4, 0.6))
            for name in ("HMR", "R_O", "R_U")
        }
        return ConfidentRun(f"run{n}", answers, scores, Abstention.of(answers))

    runs = [run(n) for n in range(12)]
    assert curves(runs[:8]).named == ()
    many = curves(runs)
    assert sorted(many.named) == sorted(f"run{n}" for n in (0, 1, 2, 9, 10, 11))
    svg = figure(many, {})
    shown = ET.fromstring(svg)
    texts = [one.text for one in shown.iter() if one.get("class", "").startswith("name text-")]
    assert sorted(texts) == sorted(many.named)
    grey = [one.get("data-name") for one in shown.iter() if one.get("class") == "pt"
            and any("other" in each.get("class", "") for each in one)]  # fmt: skip
    assert sorted(grey) == sorted(f"run{n}" for n in range(3, 9))


def test_a_curve_is_told_in_words_by_so_many_of_its_points():
    long = Curve("A", tuple((n / 100, 1 - n / 100) for n in range(101)))
    said = ET.fromstring(figure(Curves("Risk", "x", "y", (long, Curve("B", ())), begin=0.5), {}))
    assert said.get("aria-label") == (
        "Risk of all runs, y against x: A 0.50 at 0.50, 0.46 at 0.54, 0.41 at 0.59, 0.37 at 0.63,"
        " 0.32 at 0.68, 0.28 at 0.72, 0.23 at 0.77, 0.19 at 0.81, 0.14 at 0.86, 0.10 at 0.90,"
        " 0.05 at 0.95, 0.00 at 1.00; B –"
    )
    chart = LineChart("X(l)", ("1", "2", "3"), (Series("A", (0.5, None, 1.0)),))
    assert ET.fromstring(figure(chart, {})).get("aria-label") == "X(l): A 0.50 at 1, 1.00 at 3"


def test_names_that_are_too_long_keep_their_ends():
    curves = tuple(Curve("x" * 60 + f"-v{n}", ((0, 0), (1, n / 2))) for n in range(2))
    svg = figure(Curves("", "", "", curves), {})
    assert svg.count("…") == 2
    assert "-v0</text>" in svg
    assert "-v1</text>" in svg


DATA = {
    "A": ([0.9, 0.8, 0.6, 0.3, 0.1, 1, 0.5, 0], [1, 0, 1, 0, 1, 1, 0, 0]),
    "_hidden $x$ <b> \u202e 映画": ([0.5], [1]),
    "all wrong": ([0.9, 0.1], [0, 0]),
}


def test_the_plot_for_papers_is_deterministic_and_well_formed(tmp_path):
    save_confidence_plot(tmp_path / "all.svg", DATA | {f"r{i}": DATA["A"] for i in range(27)}, 20)
    svg = (tmp_path / "all.svg").read_text("utf-8")
    ET.fromstring(svg)
    assert "first 12 of 30" in svg
    assert "\u202e" not in svg
    assert "<dc:date>" not in svg
    for name, start in (("f.svg", b"<?xml"), ("f.PDF", b"%PDF"), ("f.png", b"\x89PNG")):
        save_confidence_plot(tmp_path / name, {"A": DATA["A"]}, 5)
        first = (tmp_path / name).read_bytes()
        save_confidence_plot(tmp_path / name, {"A": DATA["A"]}, 5)
        assert (tmp_path / name).read_bytes() == first
        assert first.startswith(start)
        assert len(first) > 1000


def test_the_plot_says_what_is_wrong(tmp_path):
    with pytest.raises(ValueError, match=r"\.svg, \.pdf or \.png"):
        save_confidence_plot(tmp_path / "f.gif", DATA)
    with pytest.raises(ValueError, match="run B: confidence 90"):
        save_confidence_plot(tmp_path / "f.svg", {"B": ([90], [1])})
