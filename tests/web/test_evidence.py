"""Evidence: what somebody selects in the texts, with a mouse or by keys alone."""

from __future__ import annotations

import pytest

from tests.chromium import violations
from tests.web.conftest import goes_on, unit_of, write_folder

LONG = "It was built in 1872. Anna Berg drew it! Did 橋 stand? 橋は石でできている。水の上に立つ。"
PASSAGES = f"1;1;d1;{LONG}\n2;1;d3;The bridge was built in 1872 of stone. It stands.\n"
SELECTED = "() => document.getSelection().toString()"
EVIDENCE = "#evidence q"


@pytest.fixture
def open_label(serve, visit, tmp_path):
    def opened(more="", passages=PASSAGES):
        answers = {"ONE": "<1>\nAnna Berg;90\n1;PR;1;Built by Anna Berg.\n</1>\n"}
        folder = write_folder(tmp_path / "f", more=more, passages=passages, answers=answers)
        server = serve(folder)
        page = visit(server.link, viewport={"width": 900, "height": 500})
        page.goto(f"{server.base}/label/r2c2.entailment")
        return page, server

    return opened


def selected(page):
    return page.evaluate(SELECTED)


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def test_evidence_is_marked_by_keys_alone(open_label):
    page, server = open_label()
    unit = unit_of(page)
    press(page, "e")
    assert selected(page) == "It was built in 1872."  # what it is judged against comes first
    assert page.evaluate("marking.on")
    assert page.inner_text("#spoken").endswith("It was built in 1872.")
    assert page.get_attribute("#spoken", "aria-live")
    press(page, "ArrowDown", "Shift+ArrowDown")
    assert selected(page) == "Anna Berg drew it! Did 橋 stand?"
    assert page.inner_text("#spoken") == "2 sentences: Anna Berg drew it! Did 橋 stand?"
    press(page, "Shift+ArrowDown", "Shift+ArrowUp", "Enter", "Enter")
    assert page.locator(EVIDENCE).all_inner_texts() == ["Anna Berg drew it! Did 橋 stand?"]
    assert page.inner_text("#spoken") == "That is already evidence."
    press(page, "ArrowRight", "ArrowRight")
    assert selected(page) == "水の上に立つ。"  # scripts without spaces have sentences, too
    press(page, "Shift+ArrowDown")
    assert selected(page) == "水の上に立つ。"  # there is no more
    press(page, "Enter", "Escape")
    assert selected(page) == ""
    assert not page.evaluate("marking.on")
    assert unit_of(page) == unit
    press(page, "2", "Enter")
    goes_on(page, unit)
    page.goto(f"{server.base}/unit/{unit}")
    assert page.locator("tbody q").all_inner_texts() == [
        "Anna Berg drew it! Did 橋 stand?",
        "水の上に立つ。",
    ]


def test_keys_find_what_a_mouse_does(open_label):
    page, _ = open_label()
    page.locator("#against [data-field]").last.select_text()
    press(page, "Shift")
    press(page, "e", "Shift+ArrowDown", "Shift+ArrowDown", "Shift+ArrowDown", "Shift+ArrowDown")
    press(page, "Enter")
    assert page.locator(EVIDENCE).all_inner_texts() == [LONG]  # once: the places are the same


def test_any_other_key_leaves_and_does_what_it_does(open_label):
    page, _ = open_label()
    press(page, "e", "2")
    assert not page.evaluate("marking.on")
    assert page.locator("[data-verdict][aria-checked=true]").count() == 1
    press(page, "e", "e")
    assert selected(page) == ""
    press(page, "e", "?")
    assert "Mark evidence" in page.locator("#help").inner_text()
    assert "another sentence" in page.locator("#help").inner_text()
    press(page, "Escape", "e")
    page.locator("#judged").click()
    assert not page.evaluate("marking.on")
    assert page.locator(EVIDENCE).count() == 0


def test_the_key_is_the_folders_and_every_sentence_comes_into_sight(open_label):
    many = " ".join(f"Sentence {n} of many stands here." for n in range(200))
    page, _ = open_label('[ui.keys]\nevidence = "m"', f"1;1;d1;{many}\n2;1;d2;x\n")
    press(page, "e")
    assert selected(page) == ""
    press(page, "m", *["ArrowDown"] * 120)
    assert selected(page) == "Sentence 120 of many stands here."
    seen = """() => { const box = document.getSelection().getRangeAt(0).getBoundingClientRect();
        const frame = document.querySelector('#against [data-field]').getBoundingClientRect();
        return box.top >= Math.max(0, frame.top) - 1
            && box.bottom <= Math.min(innerHeight, frame.bottom) + 1; }"""
    assert page.evaluate(seen)


def test_marking_breaks_no_rule_of_accessibility(serve, visit, tmp_path):
    server = serve(write_folder(tmp_path / "f"))
    page = visit(server.link, bypass_csp=True)
    page.goto(f"{server.base}/label/r2c2.entailment")
    page.keyboard.press("e")
    assert violations(page) == []
