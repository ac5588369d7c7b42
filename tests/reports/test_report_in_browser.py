"""The report in headless Chromium: nothing overflows, nothing fails, and its controls work."""

from __future__ import annotations

import pytest

from assay.protocols.evaluation import Evaluation
from assay.protocols.folder import Folder
from assay.protocols.registry import find_protocol
from tests.reports import report_cases as cases
from tests.trec_rag.cases import make
from tests.web.conftest import browser  # noqa: F401 (a fixture)
from tests.web.test_browser import AXE

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


@pytest.fixture(scope="module")
def chromium(films_html, answers_html, browser):  # noqa: F811
    """The browser, opened when all is judged (see `browser`)."""
    return browser


def opened(chromium, html, width, drive=DRIVE):
    """What the probe found in the report at a width, all requests, and the browser's console."""
    requests, console = [], []
    page = chromium.new_page(viewport={"width": width, "height": 900})

    def answer(route):
        requests.append(route.request.url.removeprefix(SITE))
        route.fulfill(body=html, content_type="text/html; charset=utf-8")

    page.route("**", answer)
    page.on("console", lambda message: console.append(message.text))
    page.on("pageerror", lambda error: console.append(str(error)))
    page.goto(f"{SITE}/report.html#q-0002")
    found = page.evaluate(PROBE.replace("DRIVE", drive))
    page.close()
    return found, requests, console


@pytest.mark.parametrize("width", [360, 1280])
def test_the_report_fits_and_works(chromium, films_html, width):
    found, requests, console = opened(chromium, films_html, width)
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
def test_unusual_reports_fit_a_phone(chromium, make):
    found, requests, console = opened(chromium, cases.html(make()), 360)
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
        result = evaluation.score(ledger)
    return cases.html(result)


@pytest.mark.parametrize("width", [360, 1280])
def test_a_click_on_a_sentence_shows_the_cited_passage(chromium, answers_html, width):
    found, requests, console = opened(chromium, answers_html, width, DRIVE_ANSWERS)
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


@pytest.mark.parametrize(("scheme", "width"), [("light", 390), ("dark", 1200)])
def test_no_rule_of_accessibility_is_broken(chromium, films_html, tmp_path, scheme, width):
    path = tmp_path / "report.html"
    path.write_text(films_html, encoding="utf-8")
    size = {"width": width, "height": 800}
    page = chromium.new_page(bypass_csp=True, color_scheme=scheme, viewport=size)
    page.goto(path.as_uri())
    page.evaluate("() => document.querySelectorAll('details').forEach((o) => { o.open = true; })")
    page.add_script_tag(content=AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run().then((one) => one.violations)")
    page.close()
    said = [(one["id"], [node["html"][:120] for node in one["nodes"]][:5]) for one in found]
    assert said == []
