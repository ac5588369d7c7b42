"""The report in headless Chromium: nothing overflows, nothing fails, and its controls work."""

from __future__ import annotations

import random
from functools import partial

import pytest
from playwright.sync_api import expect

from assay.measures.ranges import Range
from assay.measures.scores import Score
from assay.page.page import Board
from assay.page.parts import Grid, Part, Point, Scatter
from assay.protocols.evaluation import Evaluation
from assay.protocols.folder import Folder
from assay.protocols.registry import find_protocol
from assay.reports.general import render_folder, render_report
from tests.chromium import violations
from tests.reports import report_cases as cases
from tests.reports.test_folders import PASSAGE, answers
from tests.reports.test_pages import page
from tests.trec_rag.cases import make

pytestmark = pytest.mark.browser

SITE = "http://report.test"
PROBE = """() => {
  const doc = document, root = doc.documentElement, out = {};
  const find = (selector) => doc.querySelector(selector);
  const wide = () => Math.max(root.scrollWidth, doc.body.scrollWidth);
  out.width = root.clientWidth;
  out.closed = wide();
  out.js = root.classList.contains("js");
  DRIVE
  return out;
}"""

DRIVE = """
    out.styled = getComputedStyle(find("main")).maxWidth;
    out.linked = find("#q-0002") ? find("#q-0002").open : null;
    doc.querySelectorAll("details").forEach((item) => { item.open = true; });
    out.open = wide();
    const shown = () => [...doc.querySelectorAll(".q")].filter((q) => q.offsetParent).length;
    out.all = shown();
    const box = find("#f-text");
    box.value = "catwoman meriwether";
    box.dispatchEvent(new Event("input"));
    out.found = shown();
    out.count = find("#f-count").textContent;
    const first = () => find("#board-1 tbody th bdi").textContent.trim();
    out.before = first();
    const heads = [...doc.querySelectorAll("#board-1 thead th")];
    heads.find((head) => head.textContent.startsWith("R_O")).querySelector("button").click();
    out.after = first();"""

DRIVE_ANSWERS = """
    const group = find("details.group");
    group.open = true;
    const answer = find("article.marked");
    out.marks = [...answer.querySelectorAll(".sent")].map((one) => one.classList[1]);
    const colour = (one) => getComputedStyle(one).borderLeftColor;
    out.colours = [...answer.querySelectorAll(".sent")].map(colour);
    const sentence = answer.querySelector("details.sent");
    const passage = sentence.querySelector("blockquote");
    out.hidden = passage.checkVisibility();
    sentence.querySelector("summary").click();
    out.shown = passage.checkVisibility();
    const seen = passage.getBoundingClientRect(), said = sentence.querySelector("summary");
    out.beside = seen.left >= said.getBoundingClientRect().right;
    out.passage = passage.textContent;
    out.heat = [...group.querySelectorAll("table.heat.grid tbody tr")].map((row) =>
      [...row.children].map((one) => one.textContent));
    doc.querySelectorAll("details").forEach((item) => { item.open = true; });
    out.open = wide();"""


def opened(tabs, html, width, drive=DRIVE):
    """What the probe found in the report at a width, all requests, and the browser's console."""
    requests = []
    page = tabs.tab(viewport={"width": width, "height": 900})

    def answer(route):
        requests.append(route.request.url.removeprefix(SITE))
        route.fulfill(body=html, content_type="text/html; charset=utf-8")

    page.route("**", answer)
    page.goto(f"{SITE}/report.html#q-0002")
    found = page.evaluate(PROBE.replace("DRIVE", drive))
    return found, requests, tabs.console


@pytest.mark.parametrize("width", [360, 1280])
def test_the_report_fits_and_works(films_html, tabs, width):
    found, requests, console = opened(tabs, films_html, width)
    assert found["width"] == width
    assert found["closed"] <= width
    assert found["open"] <= width
    assert found["styled"] != "none"
    assert found["js"]
    assert found["linked"]
    assert found["all"] == 14
    assert found["found"] == 1
    assert found["count"] == "1 of 14"
    assert (found["before"], found["after"]) == ("MODEST", "UNDERCONFIDENT")
    assert requests == ["/report.html"]
    assert console == []


@pytest.mark.parametrize(
    "make",
    [cases.hostile, lambda: cases.small(8, runs=tuple(f"Run-{i}-of-a-Group" for i in range(24)))],
    ids=["hostile", "24 runs"],
)
def test_unusual_reports_fit_a_phone(make, tabs):
    found, requests, console = opened(tabs, cases.html(make()), 360)
    assert found["closed"] <= 360
    assert found["open"] <= 360
    assert requests == ["/report.html"]
    assert console == []


@pytest.fixture(scope="module")
def answers_html(tmp_path_factory):
    """A report of answers with citations, nuggets and both kinds of labels (tests/trec_rag)."""
    folder = make(tmp_path_factory.mktemp("trec-rag") / "e")
    evaluation = Evaluation.open(Folder.open(folder), find_protocol("trec-rag"), None)
    with evaluation.folder.open_ledger() as ledger:
        evaluation.judge(ledger)
        return cases.html(evaluation.score(ledger))


@pytest.mark.parametrize("width", [360, 1280])
def test_a_click_on_a_sentence_shows_the_cited_passage(answers_html, tabs, width):
    found, requests, console = opened(tabs, answers_html, width, DRIVE_ANSWERS)
    assert found["marks"] == ["full", "full", "uncited"]
    assert found["colours"][0] == found["colours"][1] != found["colours"][2]
    assert (found["hidden"], found["shown"]) == (False, True)
    assert found["beside"] is (width > 1000)
    assert "Rivers meander because banks erode outside. Sediment settles" in found["passage"]
    assert "full support (tests.trec_rag.judge:judge): level 2" in found["passage"]
    assert found["heat"][0] == ["good", "1.0", "0.0", "0.0", "1.0"]
    assert max(found["closed"], found["open"]) <= width
    assert requests == ["/report.html"]
    assert console == []


OVERLAPS = """() => {
  const boxes = [...document.querySelectorAll("svg.map text.name")].map((one) => one.getBBox())
    .filter((box) => box.width > 0);
  const over = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width &&
    a.y + 2 < b.y + b.height - 2 && b.y + 2 < a.y + a.height - 2;
  const pairs = boxes.flatMap((a, n) => boxes.slice(n + 1).filter((b) => over(a, b)));
  return [boxes.length, pairs.length];
}"""


@pytest.mark.parametrize("spread", [1.0, 0.02], ids=["apart", "crowded"])
def test_no_name_of_a_plot_lies_on_another_and_runs_are_found(tabs, tmp_path, spread):
    rng = random.Random(1)
    runs = [f"group{n % 19}-system_with_a_name_{n}" for n in range(76)]
    points = tuple(Point(run, rng.random() * spread, rng.random() * spread) for run in runs)
    scores = {
        one.name: {"M": Score.between(one.name, "M", Range(one.x, one.x), topics=9)}
        for one in points
    }
    made = page(Scatter("plot", "x", "y", points), scores=scores)
    path = tmp_path / "plot.html"
    path.write_text(render_report(made, generated_by="test"), encoding="utf-8")
    tab = tabs.tab(viewport={"width": 1280, "height": 900})
    tab.goto(path.as_uri())
    named, overlapping = tab.evaluate(OVERLAPS)
    assert named >= (4 if spread == 1.0 else 1)  # all are long
    assert overlapping == 0
    hidden = tab.locator("svg.map text.off").first
    assert not hidden.is_visible()
    run = hidden.evaluate("(one) => one.parentNode.getAttribute('data-name')")
    tab.fill("#find-run", run.upper())
    assert tab.locator(f'svg.map [data-name="{run}"] text').is_visible()
    assert tab.locator("#board-1 tr.found").count() == len([one for one in runs if run in one])
    assert tab.locator("#find-count").inner_text().endswith(("run", "runs"))


@pytest.fixture(scope="module")
def folder_report(tmp_path_factory):
    """A large report as it lies on a disk: 30 runs, a wide grid, long names, pages."""
    path = tmp_path_factory.mktemp("folder") / "report.html"
    topics = tuple(f"topic-{n}" for n in range(12))
    runs = tuple(f"group{n % 7}-listwise_reranking_of_top_100_by_a_model_{n}" for n in range(30))
    scores = {
        run: {name: Score.between(run, name, Range(n / 30, n / 30), (0.1, 0.9), topics=9)
              for name in ("M", *(f"Measure{k}" for k in range(11)))}
        for n, run in enumerate(runs)
    }  # fmt: skip
    board = Board("Runs", tuple(scores[runs[0]]))
    about = dict.fromkeys(topics, "What would somebody like to know of this matter? " * 3)
    cells = [[Range(n / 30, n / 30) for n in range(30)] for _ in topics]
    grid = Grid("Topic by topic", topics, runs, cells, about=about, digits=2)
    groups = tuple((topic, partial(answers, topic, 30)) for topic in topics)
    made = page(
        scores=scores, boards=(board,),
        parts=(Part("Topics", "", (grid,)), Part("Answers", "", groups=groups)),
    )  # fmt: skip
    write = {}
    html = render_folder(made, generated_by="t", name=path.name, write=write.__setitem__, most=0)
    path.write_text(html, encoding="utf-8")
    (path.parent / "report").mkdir()
    for name, text in write.items():
        (path.parent / "report" / name).write_text(text, encoding="utf-8")
    return path


WIDE = "Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)"


@pytest.mark.parametrize("width", [1280, 820, 390])
def test_a_folder_works_without_a_server(folder_report, tabs, width):
    tab = tabs.tab(viewport={"width": width, "height": 900})
    tab.goto(folder_report.as_uri())
    assert tab.evaluate(WIDE) <= width
    tab.click("#part-2-2 a")
    assert tab.url.endswith("report/part-2-2.html")
    assert tab.evaluate(WIDE) <= width
    sentence = tab.locator("details.sent").first
    assert not sentence.locator("blockquote").is_visible()
    sentence.locator("summary").click()
    quoted = sentence.locator("blockquote > [dir=auto]")
    expect(quoted).to_have_text(PASSAGE.strip())  # put there once it is open
    expect(quoted).to_have_attribute("lang", "fr")
    tab.evaluate("() => document.querySelectorAll('details').forEach((o) => { o.open = true; })")
    assert tab.evaluate(WIDE) <= width
    tab.click("nav.ways a[rel=next] >> nth=0")
    assert tab.url.endswith("report/part-2-3.html")
    tab.click("nav.ways a >> nth=0")
    assert tab.url.endswith("report.html#part-2-3")
    assert tabs.console == []


def test_nothing_runs_off_the_paper(folder_report, tabs):
    """An A4 page less its margins is 186 mm wide, 703 of CSS's pixels."""
    tab = tabs.tab(viewport={"width": 703, "height": 900}, fresh=True)
    tab.emulate_media(media="print")
    for path in (folder_report, folder_report.parent / "report" / "part-2-1.html"):
        tab.goto(path.as_uri())
        assert tab.evaluate(WIDE) <= 703
        inside = "[...document.querySelectorAll('td, th')].map((o) => o.getBoundingClientRect())"
        assert tab.evaluate(f"Math.max(0, ...{inside}.map((box) => box.right))") <= 704


NUMBERS = """() => [...document.querySelectorAll(".chip")].map((one) => {
    const line = parseFloat(getComputedStyle(one).lineHeight);
    return one.clientHeight > 1.7 * line || one.scrollWidth > one.clientWidth;
})"""
NAMES = """() => [...document.querySelectorAll(".heat th[scope=row]")]
    .map((one) => one.getBoundingClientRect().width).filter((width) => width)"""


@pytest.mark.parametrize("width", [1280, 390])
def test_numbers_of_many_runs_are_not_broken_nor_their_names(tabs, tmp_path, width):
    path = tmp_path / "report.html"
    runs = [f"TEAM{n:02}-AC-{n % 3}" for n in range(40)]
    path.write_text(cases.html(cases.small(3, runs=runs)), encoding="utf-8")
    tab = tabs.tab(viewport={"width": width, "height": 900})
    tab.goto(path.as_uri())
    assert len(broken := tab.evaluate(NUMBERS)) == 3 * len(runs)
    assert not any(broken)
    assert min(tab.evaluate(NAMES)) > 60
    assert tab.evaluate(WIDE) <= width


PIECES = """() => [...document.querySelectorAll("th[scope=row] bdi")].flatMap((name) =>
  [...name.childNodes].filter((one) => one.nodeType === 3 && one.data.trim()).map((piece) => {
    const range = document.createRange();
    range.selectNodeContents(piece);
    return [piece.data, new Set([...range.getClientRects()].map((one) => one.top)).size];
  }))"""


def test_long_names_of_runs_are_broken_between_words_alone(tabs, tmp_path):
    path = tmp_path / "report.html"
    runs = [f"UniversityOfSomewhere-baseline{n}-with-reranking_and.confidence" for n in range(3)]
    path.write_text(cases.html(cases.small(3, runs=runs)), encoding="utf-8")
    tab = tabs.tab(viewport={"width": 390, "height": 900})
    tab.goto(path.as_uri())
    lines = dict(tab.evaluate(PIECES))
    assert {"Somewhere-", "baseline", "confidence"} <= lines.keys()
    assert set(lines.values()) <= {0, 1}  # 0 where it is folded away
    assert tab.evaluate(WIDE) <= 390


SECOND = """() => [...document.querySelectorAll("table.part tbody tr")]
    .map((one) => one.children[1].getBoundingClientRect()).filter((box) => box.width)
    .map((box) => box.right)"""


def test_a_word_as_wide_as_a_phone_leaves_room_beside_it(tabs, tmp_path):
    path, word = tmp_path / "report.html", "Donaudampfschifffahrtsgesellschaftskapitaensmuetze"
    runs = tuple(f"{word}{one}" for one in "AB")
    path.write_text(cases.html(cases.small(3, runs=runs, text=word)), encoding="utf-8")
    tab = tabs.tab(viewport={"width": 390, "height": 900})
    tab.goto(path.as_uri())
    tab.evaluate("() => document.querySelectorAll('details').forEach((o) => { o.open = true; })")
    assert tab.evaluate(WIDE) <= 390
    beside = tab.evaluate(SECOND)
    assert beside
    assert max(beside) < 390


@pytest.fixture(scope="module")
def fewer_films_html():
    """The films report without questions that bring in no other kind of element or class."""
    return cases.html(cases.films([0, 1, 5, 6, 7, 9, 12, 13]))


@pytest.mark.parametrize(("scheme", "width"), [("light", 390), ("dark", 1200)])
def test_no_rule_of_accessibility_is_broken(fewer_films_html, tabs, tmp_path, scheme, width):
    path = tmp_path / "report.html"
    path.write_text(fewer_films_html, encoding="utf-8")
    size = {"width": width, "height": 800}
    page = tabs.tab(bypass_csp=True, color_scheme=scheme, viewport=size)
    page.goto(path.as_uri())
    page.evaluate("() => document.querySelectorAll('details').forEach((o) => { o.open = true; })")
    assert violations(page) == []
