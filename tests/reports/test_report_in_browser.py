"""The report in headless Chromium: nothing overflows, nothing fails, and its controls work."""

from __future__ import annotations

import http.server
import json
import os
import re
import shutil
import subprocess
import threading

import pytest
from playwright.sync_api import sync_playwright

from assay.protocols.evaluation import Evaluation
from assay.protocols.folder import Folder
from assay.protocols.registry import find_protocol
from tests.reports import report_cases as cases
from tests.trec_rag.cases import make
from tests.web.test_browser import AXE

pytestmark = pytest.mark.browser

PROBE = """<!DOCTYPE html><meta charset="utf-8"><link rel="icon" href="data:,">
<iframe id="f" width="WIDTH" height="900" style="border:0" src="/report.html#q-0002"></iframe>
<pre id="out">not done</pre>
<script>
const frame = document.getElementById("f");
frame.addEventListener("load", () => setTimeout(() => {
  const out = {};
  try {
    const doc = frame.contentDocument, root = doc.documentElement;
    const find = (selector) => doc.querySelector(selector);
    const wide = () => Math.max(root.scrollWidth, doc.body.scrollWidth);
    out.width = frame.clientWidth;
    out.closed = wide();
    out.js = root.classList.contains("js");
    DRIVE
  } catch (error) { out.error = String(error); }
  document.getElementById("out").textContent = "RESULT" + JSON.stringify(out) + "END";
}, 300));
</script>"""

DRIVE = """
    out.styled = frame.contentWindow.getComputedStyle(find("main")).maxWidth;
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
    const colour = (one) => frame.contentWindow.getComputedStyle(one).borderLeftColor;
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


@pytest.fixture(scope="session")
def chromium():
    found = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if found is None:
        message = "no Chromium here; install it (apt-get install chromium)"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    return found


def opened(chromium, html, width, tmp_path, drive=DRIVE):
    """What the probe found in the report at a width, all requests, and the browser's console."""
    requests = []
    probe = PROBE.replace("WIDTH", str(width)).replace("DRIVE", drive)
    pages = {"/report.html": html, "/probe.html": probe}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append(self.path)
            body = pages.get(self.path.split("#")[0], "").encode()
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        done = subprocess.run(
            [
                chromium,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--disable-dev-shm-usage",
                "--enable-logging=stderr",
                f"--user-data-dir={tmp_path / 'profile'}",
                f"--window-size={max(width, 600)},1000",
                "--virtual-time-budget=20000",
                "--dump-dom",
                f"http://127.0.0.1:{server.server_address[1]}/probe.html",
            ],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    finally:
        server.shutdown()
        server.server_close()
    match = re.search(r"RESULT(\{.*?\})END", done.stdout)
    assert match, done.stdout[-500:] + done.stderr[-1500:]
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return json.loads(match[1].replace("&amp;", "&")), requests, console


@pytest.mark.parametrize("width", [360, 1280])
def test_the_report_fits_and_works(chromium, films_html, width, tmp_path):
    found, requests, console = opened(chromium, films_html, width, tmp_path)
    assert "error" not in found, found
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
    assert sorted(requests) == ["/probe.html", "/report.html"]
    assert console == []


@pytest.mark.parametrize(
    "make",
    [cases.hostile, lambda: cases.small(8, runs=tuple(f"Run-{i}-of-a-Group" for i in range(24)))],
    ids=["hostile", "24 runs"],
)
def test_unusual_reports_fit_a_phone(chromium, make, tmp_path):
    html = cases.html(make())
    found, requests, console = opened(chromium, html, 360, tmp_path)
    assert found["closed"] <= 360
    assert found["open"] <= 360
    assert sorted(requests) == ["/probe.html", "/report.html"]
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
def test_a_click_on_a_sentence_shows_the_cited_passage(chromium, answers_html, width, tmp_path):
    found, requests, console = opened(chromium, answers_html, width, tmp_path, DRIVE_ANSWERS)
    assert "error" not in found, found
    assert found["marks"] == ["full", "full", "uncited"]
    assert found["colours"][0] == found["colours"][1] != found["colours"][2]
    assert (found["hidden"], found["shown"]) == (False, True)
    assert found["beside"] is (width > 1000)
    assert "Rivers meander because banks erode outside. Sediment settles" in found["passage"]
    assert "full support (tests.trec_rag.judge:judge): level 2" in found["passage"]
    assert found["heat"][0] == ["good", "1.0", "0.0", "0.0", "1.0"]
    assert max(found["closed"], found["open"]) <= width
    assert sorted(requests) == ["/probe.html", "/report.html"]
    assert console == []


@pytest.mark.parametrize("width", [1200, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_rule_of_accessibility_is_broken(chromium, films_html, tmp_path, scheme, width):
    path = tmp_path / "report.html"
    path.write_text(films_html, encoding="utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        size = {"width": width, "height": 800}
        page = browser.new_page(bypass_csp=True, color_scheme=scheme, viewport=size)
        page.goto(path.as_uri())
        page.evaluate(
            "() => document.querySelectorAll('details').forEach((o) => { o.open = true; })"
        )
        page.add_script_tag(content=AXE.read_text(encoding="utf-8"))
        found = page.evaluate("axe.run().then((one) => one.violations)")
        browser.close()
    said = [(one["id"], [node["html"][:120] for node in one["nodes"]][:5]) for one in found]
    assert said == []
