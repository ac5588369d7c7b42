"""The page of progress: what is worked out behind it, and what more labels would do."""

from __future__ import annotations

import json
import sqlite3

import pytest

from assay.api.opened import Opened
from assay.ledger import Ledger, NewLabel
from assay.model.labels import Status
from assay.web import prospects
from assay.web.desk import Desk
from assay.web.forms import controls, verdict_of
from assay.web.prospects import Prospects, look_ahead
from assay.web.runs import ScoredFolder, ranges_in
from assay.web.values import ago
from tests.web.conftest import ANSWERS, PASSAGES, QUESTIONS, write_folder
from tests.web.test_browser import until
from tests.web.test_forms import filled

QUICK = """() => { const every = window.setInterval;
    window.setInterval = (work, time) => every(work, time === 10000 ? 400 : time); }"""


@pytest.fixture
def folder(tmp_path):
    return write_folder(tmp_path / "f")


def widths(ranges):
    return {run: high - low for run, (low, high) in ranges.items()}


def looked(folder, **more):
    opened = Opened.open(folder)
    with Desk.open(opened) as desk:
        desk.sync()
        scored = ScoredFolder.of(opened)
        desk.state.set_ranges(scored.ranges())
    measure, ranges = scored.open_ranges()
    return look_ahead(opened, scored, **more), measure, widths(ranges)


def give_all(folder, at):
    """Every label that is open, of an end of each scale."""
    opened = Opened.open(folder)
    with Desk.open(opened) as desk:
        desk.sync()
        ann = desk.state.person("ANN")
        for task in ("r2c2.answer", "r2c2.dialogue_act", "r2c2.entailment"):
            for screen in desk.next(ann, task, count=50):
                unit = desk.tasks[task].unit.model_validate_json(desk.row(screen["unit"]).content)
                high = at == -1
                verdict = {
                    one["field"]: filled(one, high) for one in controls(desk.tasks[task], unit)
                }
                desk.give(ann, screen["unit"], {"verdict": verdict, "mode": "blind"})
    return ScoredFolder.of(opened)


@pytest.mark.parametrize("end", [0, -1])
def test_what_labels_do_was_foreseen(folder, end, monkeypatch):
    found, measure, now = looked(folder)
    assert found.labels == 9
    assert found.outcomes == 5
    assert not found.why
    monkeypatch.setattr(prospects, "_outcomes", lambda _: iter([lambda scale: scale[end]]))
    one, _, _ = looked(folder)
    then = widths(ranges_in(give_all(folder, end).scores, measure))
    assert then != now or end == 0
    for run, width in now.items():
        least, greatest = found.widths[run]
        assert 0 <= least <= then.get(run, 0.0) <= greatest <= width
        assert one.widths[run] == (then.get(run, 0.0), then.get(run, 0.0))


def test_what_is_tried_leaves_nothing(folder):
    looked(folder)
    before = (folder / "labels.sqlite").read_bytes()
    names = sorted(one.name for one in folder.rglob("*"))
    looked(folder)
    assert (folder / "labels.sqlite").read_bytes() == before
    assert sorted(one.name for one in folder.rglob("*")) == names
    with Opened.open(folder).ledger() as ledger:
        assert ledger.size() == 0


def test_it_ends_after_an_outcome_where_it_takes_long(folder, monkeypatch):
    assert looked(folder, stopped=lambda: True)[0].outcomes == 1
    monkeypatch.setattr(prospects, "_SECONDS", 0.0)
    found, _, _ = looked(folder)
    assert not found.outcomes
    assert "takes" in found.why


def test_labels_that_do_not_count_narrow_nothing(tmp_path):
    found, _, now = looked(write_folder(tmp_path / "f", more='policy = "machine"'))
    assert found.widths == {run: (width, width) for run, width in now.items()}


def test_it_says_why_it_cannot_be_worked_out(folder, monkeypatch):
    monkeypatch.setattr(prospects, "_MOST_BYTES", 1)
    assert "larger than" in looked(folder)[0].why
    monkeypatch.undo()

    def full(*_):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(Ledger, "copy", full)
    found, _, _ = looked(folder)
    assert found == Prospects(why="database or disk is full")


def test_ages_are_told():
    said = [ago(one) for one in (0.4, 59.6, 119, 1000, 9000, 3e5)]
    assert said == ["just now", "60 seconds ago", "2 minutes ago", "17 minutes ago",
                    "2 hours ago", "3 days ago"]  # fmt: skip


def test_what_is_opened_focused_and_scrolled_survives_each_poll(serve, visit, folder):
    answers = {f"RUN-{n}": "<1>\nAnna Berg;90\n1;PR;1;Built.\n</1>\n" for n in range(30)}
    for name, text in answers.items():
        (folder / "ac" / f"{name}.txt").write_text(text, encoding="utf-8")
    server = serve(folder, "--invite", "KIM")
    page = visit(server.link, script=f"({QUICK})()", viewport={"width": 700, "height": 400})
    page.goto(f"{server.base}/live")
    boxes = page.locator("#live details")
    boxes.nth(0).locator("summary").click()
    boxes.nth(1).locator("summary").click()
    page.locator("#ranges").focus()
    page.evaluate("() => window.scrollBy(0, -100)")
    top = page.evaluate("window.scrollY")
    page.evaluate("() => { document.querySelector('#live h2').dataset.old = '1'; }")
    for _ in range(2):  # the second is of an element that came with a first
        polls = len(page.evaluate("performance.getEntriesByType('resource')"))
        until(page, f"performance.getEntriesByType('resource').length > {polls + 1}")
    until(page, "!document.querySelector('#live h2').dataset.old")
    assert [boxes.nth(n).evaluate("(one) => one.open") for n in (0, 1)] == [False, True]
    assert page.evaluate("document.activeElement.id") == "ranges"
    assert page.evaluate("window.scrollY") == top
    kim = visit(server.invited("KIM"))
    kim.goto(f"{server.base}/label/r2c2.entailment")
    for key in ("1", "Enter"):
        kim.keyboard.press(key)
    until(page, "document.querySelector('#by-person').innerText.includes('KIM')")
    assert page.evaluate("document.activeElement.id") == "ranges"
    assert boxes.nth(1).evaluate("(one) => one.open")
    page.click("text=Stop updating")
    assert page.locator("[hx-get]").count() == 0


def test_progress_tells_what_more_labels_would_do(serve, visit, folder):
    server = serve(folder)
    page = visit(server.link, script=f"({QUICK})()")
    page.goto(f"{server.base}/live")
    until(page, "document.querySelector('#live').innerText.includes('Width after 9 more')")
    told = page.inner_text("#live")
    assert "with 5 outcomes" in told
    assert "Calculated" in told
    cells = page.locator("#ranges tbody td").all_inner_texts()
    assert cells[2::3] == ["0.741", "0.000–0.483"]  # one of the runs gains nothing by these
    with sqlite3.connect(folder / "labels.sqlite") as db:
        assert db.execute("SELECT COUNT(*) FROM labels").fetchone()[0] == 0


def test_where_no_label_is_missing_it_says_what_drawn_labels_would_do(tmp_path):
    more = "<3>\nOf stone;70\n1;PR;1;It is made of stone.\n</3>\n"
    folder = write_folder(
        tmp_path / "three",
        questions=f"{QUESTIONS}3\tWhat is it made of?\tSimple\tstone\n",
        passages=f"{PASSAGES}3;1;d4;The bridge is made of stone.\n",
        answers={name: f"{text}{more}" for name, text in ANSWERS.items()},
    )
    opened = Opened.open(folder)
    with Desk.open(opened) as desk:
        for at in range(2):  # answers come once their nuggets are labelled
            desk.sync()
            rows = [one for one in desk.state.units("WHERE wanted") if one.task != "r2c2.relevance"]
            for row in rows:
                task, content = desk.tasks[row.task], json.loads(row.content)
                unit = task.unit.model_validate(content)
                given = {one["field"]: filled(one, high=True) for one in controls(task, unit)}
                if row.task == "r2c2.dialogue_act":
                    given = {"act": "answer"}
                verdict, _ = verdict_of(task, unit, given)
                machine = desk.asked.machine_of(row.task)
                label = NewLabel(
                    key=f"{at} {row.hash}", task=row.task, version=task.version, unit=row.hash,
                    content=content, labeller=machine, status=Status.OK, verdict=verdict,
                )  # fmt: skip
                desk.ledger.add([label])
    scored = ScoredFolder.of(opened)
    assert not scored.missing
    found = look_ahead(opened, scored)
    assert not found.why
    assert found.plan
    assert found.plan.width is None  # nothing that was drawn is labelled
    assert {one.labels for one in found.plan.offers} == {5}  # there are no more
    assert [one.width for one in found.plan.offers if one.design == "leverage"] == [0.0]
