"""From one unit to the next: while a label is on its way, while the server is away, and back."""

from __future__ import annotations

import json
import sqlite3

import pytest

from assay.api.opened import Opened
from assay.ledger import Ledger
from assay.web.desk import Desk
from tests.chromium import violations
from tests.conftest import copy_example
from tests.web.conftest import goes_on, unit_of, write_folder
from tests.web.test_browser import until
from tests.web.test_server import human_labels

CHECKED = "[data-verdict][aria-checked=true]"
SLOW = """() => { const sent = window.fetch;
    window.fetch = async (path, more) => {
        if (path.includes('/api/label/')) await new Promise((done) => setTimeout(done, 700));
        return sent(path, more);
    }; }"""
AWAY = """() => { window.sent = window.sent || window.fetch;
    window.fetch = (path, more) => path.includes('/api/next/')
        ? Promise.reject(new TypeError('away')) : window.sent(path, more); }"""


@pytest.fixture
def page(serve, visit, tmp_path):
    server = serve(write_folder(tmp_path / "f"))
    page = visit(server.link)
    page.goto(f"{server.base}/label/r2c2.entailment")
    return page


def give(page, key="1"):
    unit = unit_of(page)
    page.keyboard.press(key)
    page.keyboard.press("Enter")
    goes_on(page, unit)


def test_keys_do_nothing_while_a_label_is_on_its_way(page, tmp_path):
    page.evaluate(SLOW)
    unit = unit_of(page)
    for key in ("1", "Enter", "2", "Enter", "s", "n", "[", "Backspace", "Enter"):
        page.keyboard.press(key)
    assert unit_of(page) == unit
    goes_on(page, unit)
    assert page.locator(CHECKED).count() == 0  # nothing is said of what nobody saw
    assert not page.locator("dialog[open]").count()
    assert human_labels(tmp_path / "f") == 1


HUNG = """() => {
    AbortSignal.timeout = () => { const one = new AbortController();
        window.lapse = () => one.abort(new DOMException('', 'TimeoutError')); return one.signal; };
    window.sent = window.fetch;
    window.fetch = (path, more) => !path.includes('/api/label/') ? window.sent(path, more)
        : new Promise((_, fail) => more.signal.addEventListener('abort',
            () => fail(more.signal.reason)));
}"""


def test_a_server_that_hangs_is_told_of_and_the_verdict_stays(page, tmp_path):
    page.evaluate(HUNG)
    unit = unit_of(page)
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    until(page, "document.getElementById('status').textContent.includes('not answered yet')")
    page.evaluate("lapse()")
    until(page, "document.getElementById('status').textContent.includes('cannot be reached')")
    assert unit_of(page) == unit
    assert page.locator(CHECKED).count() == 1
    page.evaluate("() => { window.fetch = window.sent; }")
    page.keyboard.press("Enter")
    goes_on(page, unit)
    assert page.inner_text("#status") == ""
    assert human_labels(tmp_path / "f") == 1


def test_what_was_begun_waits_for_its_unit(page):
    give(page)
    unit = unit_of(page)
    page.keyboard.press("2")
    page.locator("#reason").fill("because")
    page.keyboard.press("Escape")
    page.keyboard.press("[")
    goes_on(page, unit)
    page.keyboard.press("]")
    until(page, f"document.getElementById('bench').dataset.unit === '{unit}'")
    assert page.locator(CHECKED).count() == 1
    assert page.input_value("#reason") == "because"


def test_an_answer_that_cannot_be_had_is_no_empty_queue(page):
    page.evaluate(AWAY)
    for _ in range(3):
        give(page)
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    until(page, "document.getElementById('status').textContent.includes('cannot be reached')")
    assert not page.is_visible("#empty")
    page.evaluate("() => { window.fetch = window.sent; }")
    until(page, "!document.getElementById('empty').hidden")


def test_backspace_goes_further_back_each_time(page):
    units = []
    for _ in range(3):
        units.append(unit_of(page))
        give(page)
    for unit in reversed(units):
        page.keyboard.press("Backspace")
        until(page, f"document.getElementById('bench').dataset.unit === '{unit}'")


def test_backspace_leads_to_the_last_label_in_a_second_round(serve, visit, tmp_path):
    server = serve(write_folder(tmp_path / "f", more="[ui]\npasses = 2"), "--invite", "KIM")
    ann, kim = visit(server.link), visit(server.invited("KIM"))
    for page, key in ((ann, "1"), (kim, "2")):
        page.goto(f"{server.base}/label/r2c2.entailment")
        while unit_of(page):
            give(page, key)
    ann.goto(f"{server.base}/label/r2c2.entailment?queue=disagreements")
    unit = unit_of(ann)
    assert ann.locator(CHECKED).count() == 0  # what she said blind settles nothing by itself
    give(ann, "2")
    ann.keyboard.press("Backspace")
    until(ann, f"document.getElementById('bench').dataset.unit === '{unit}'")
    assert ann.locator(CHECKED).inner_text().startswith("Yes")
    assert ann.locator("#said .other").count() == 2


def test_who_settles_lists_may_begin_with_one_of_them(serve, visit, tmp_path):
    folder = write_folder(tmp_path / "f", more="[ui]\npasses = 2")
    with Desk.open(Opened.open(folder)) as desk:
        desk.sync()
        for task, verdict in (
            ("r2c2.entailment", {"entailed": "YES"}), ("r2c2.dialogue_act", {"act": "answer"}),
            ("r2c2.answer", {"correct": "YES"}),
        ):  # fmt: skip
            for name, helped in (("KIM", "YES"), ("LEE", "NO")):
                who = desk.state.person(name)
                for screen in desk.next(who, task, count=9):
                    nuggets = screen["controls"][-1].get("items", ())
                    rows = {str(n): {"helped": helped} for n, _ in enumerate(nuggets, 1)}
                    said = verdict | ({"nuggets": rows} if task == "r2c2.answer" else {})
                    desk.give(who, screen["unit"], {"verdict": said, "mode": "blind"})
    server = serve(folder)
    page = visit(server.link)
    page.goto(f"{server.base}/label/r2c2.answer?queue=disagreements")
    given = "document.querySelector('#verdict li.item').dataset.value"
    for verdict in page.locator(".other").all():
        said = verdict.locator("p").inner_text().rpartition(" · ")[2]
        verdict.locator("button").click()
        assert page.evaluate(given) == said.upper()
        assert page.locator(CHECKED).first.inner_text().startswith("Yes")
    unit = unit_of(page)
    page.keyboard.press("Enter")
    goes_on(page, unit)
    with Ledger.open(folder / "labels.sqlite") as ledger:
        *_, settled = ledger.labels()
    assert {one["helped"] for one in settled.verdict["nuggets"]} == {said == "yes"}


def test_the_next_unit_is_read_out_and_arrows_choose(page):
    give(page)
    assert page.evaluate("document.activeElement.id") == "bench"
    nugget = page.locator("#judged [data-field]").first.inner_text()
    assert nugget in page.get_attribute("#bench", "aria-label")
    first = page.locator("[role=radio]").first
    first.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("[role=radio]").nth(1).get_attribute("aria-checked") == "true"
    assert first.get_attribute("aria-checked") == "false"


def test_without_a_guideline_people_are_told_what_the_machine_is(page):
    page.locator("#rules").click()
    shown = page.locator("#guide").inner_text()
    assert "Changed names, numbers, dates, roles and negations make it NO." in shown
    assert page.locator("#guide li").count() == 2
    for word in ("JSON", "angle-bracket", "block"):
        assert word not in shown


def test_pictures_of_a_guideline_are_words(serve, visit, tmp_path):
    folder = write_folder(tmp_path / "f")
    (folder / "guidelines").mkdir(exist_ok=True)
    text = "# Rules\n\n![a <b>scale</b>](scale.png)\n"
    (folder / "guidelines" / "r2c2.entailment.md").write_text(text, encoding="utf-8")
    server = serve(folder)
    page = visit(server.link)
    page.goto(f"{server.base}/label/r2c2.entailment")
    page.keyboard.press("g")
    shown = page.locator("#guide").inner_text()
    assert "[a <b>scale</b>: pictures are not shown here]" in shown
    assert not page.locator("#guide img").count()


def test_an_edit_shows_what_is_given_of_the_nugget(serve, visit, tmp_path):
    copy_example("trec-rag", tmp_path / "f")
    nuggets = tmp_path / "f" / "nuggets.jsonl"
    hostile = "<img src=x onerror=alert(1)>"
    said = [json.loads(line) for line in nuggets.read_text(encoding="utf-8").splitlines()]
    given = {}
    for topic in said:
        for one in topic["nuggets"]:
            one["mapped_sub_narrative"] += hostile
            given[one["text"]] = (one["importance"], one["mapped_sub_narrative"])
    nuggets.write_text("\n".join(map(json.dumps, said)), encoding="utf-8")
    server = serve(tmp_path / "f")
    page = visit(server.link, bypass_csp=True)
    for path in ("search?q=aqueducts", "label/trec_rag.nugget_edit"):
        page.goto(f"{server.base}/{path}")
        assert violations(page) == [], path
    seen = set()
    for _ in range(4):
        unit, boxes = unit_of(page), page.locator(".list li")
        for place in range(boxes.count()):
            text = boxes.nth(place).locator("textarea").first.input_value()
            importance, aspect = given[text]
            words = boxes.nth(place).inner_text()
            assert f"(given: {importance})" in words
            assert f"(given: {aspect})" in words
            seen.add(text)
        if not boxes.count():  # what is added has nothing yet
            assert "(given" not in page.locator("#verdict").inner_text()
        page.keyboard.press("Enter")
        page.keyboard.press("Enter")
        goes_on(page, unit)
    assert len(seen) > 1
    page.goto(page.url)
    while not page.locator(".list li").count():  # until a nugget is shown
        page.keyboard.press("s")
        page.keyboard.press("Enter")
        page.wait_for_timeout(50)
    page.locator("[data-act=drop]").click()
    page.keyboard.press("Enter")
    page.locator("#status", has_text="Saved. ").wait_for()
    assert "Missing now" in page.inner_text("#status")  # answers are to be set beside the others


SOON = """() => { const later = window.setTimeout;
    window.setTimeout = (work, time) => later(work, time === 20000 ? 200 : time); }"""


def test_what_others_leave_is_shown_without_loading_the_page_again(serve, visit, tmp_path):
    folder = write_folder(tmp_path / "f")
    server = serve(folder, "--invite", "KIM")
    first, second = visit(server.link), visit(server.invited("KIM"), script=f"({SOON})()")
    first.goto(f"{server.base}/label/r2c2.entailment")
    until(first, "state.ahead.length === 4")
    second.goto(f"{server.base}/label/r2c2.entailment")
    until(second, "document.getElementById('waits').textContent.includes('Other people have')")
    assert "Other people have" in second.inner_text("#spoken")  # it comes after the focus did
    assert "open for you now" in second.locator("#nothing").inner_text()
    with sqlite3.connect(folder / "workbench.sqlite") as db:
        db.execute("UPDATE reserved SET until = 0")
    second.locator("#bench").wait_for()
    assert unit_of(second)
