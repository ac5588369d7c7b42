"""What who listens to the workbench is told: names, what has the focus, and what is spoken."""

from __future__ import annotations

import pytest

from tests.web.conftest import goes_on, unit_of, write_folder
from tests.web.test_browser import until
from tests.web.test_whole_protocols import exam, trec_rag

pytestmark = pytest.mark.browser
SPOKEN = "document.getElementById('spoken').textContent"
FOCUSED = "document.activeElement.id"


@pytest.fixture
def opened(serve, visit, tmp_path):
    """A page of a task of a folder that has no labels yet."""

    def open_task(task, write=None, more=""):
        folder = tmp_path / "f"
        if write is None:
            write_folder(folder, more=more)
        else:
            folder.mkdir()
            inputs = write(folder)
            (folder / "nothing.jsonl").write_text("", encoding="utf-8")
            (folder / "assay.toml").write_text(
                f'[evaluation]\n{inputs}\n[labellers]\ndefault = "recorded:nothing.jsonl"\n',
                encoding="utf-8",
            )
        server = serve(folder)
        page = visit(server.link)
        page.goto(f"{server.base}/label/{task}")
        return page

    return open_task


def heard(page):
    """The accessible names of what is shown, by role, as a browser gives them to a screen
    reader."""
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    found: dict[str, list[str]] = {}
    for one in nodes:
        if not one["ignored"] and "name" in one:
            found.setdefault(one["role"]["value"], []).append(one["name"]["value"])
    return found


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def test_a_unit_is_told_when_it_comes_with_its_texts_and_keys(opened):
    page = opened("r2c2.entailment")
    assert page.evaluate(FOCUSED) == "bench"
    (name,) = heard(page)["application"]  # where screen readers leave the keys to the page
    assert name.startswith(f"Nugget: {page.inner_text('#judged p')} Passage: ")
    assert name.endswith("Entailed: 1 No, 2 Yes.")
    until(page, f"{SPOKEN} === {name!r}")  # not all read what has the focus while a page loads
    unit = unit_of(page)
    press(page, "1", "2")
    assert page.evaluate(SPOKEN) == "Entailed: Yes."
    press(page, "Enter")
    goes_on(page, unit)
    assert page.evaluate(FOCUSED) == "bench"  # as before: a new name alone is heard by nobody
    assert page.evaluate(SPOKEN).startswith(f"Nugget: {page.inner_text('#judged p')}")
    press(page, "Backspace")
    until(page, f"document.getElementById('bench').dataset.unit === '{unit}'")
    assert "You said: yes." in page.evaluate(SPOKEN)


def test_the_same_is_spoken_again(opened):
    page = opened("r2c2.entailment")
    press(page, "1")
    page.evaluate("() => { window.said = document.getElementById('spoken').firstChild; }")
    press(page, "1")
    assert page.evaluate("window.said !== document.getElementById('spoken').firstChild")


def test_long_texts_are_cut_and_whole_where_tab_leads(serve, visit, tmp_path):
    long = " ".join(f"Sentence {n} stands here." for n in range(80))
    answers = {"ONE": f"<1>\nAnna;90\n1;PR;1;{long}\n</1>\n"}
    server = serve(write_folder(tmp_path / "f", answers=answers, passages=f"1;1;d1;{long}\n"))
    page = visit(server.link)
    page.goto(f"{server.base}/label/r2c2.entailment")
    name = page.get_attribute("#bench", "aria-label")
    assert "… Press Tab to hear all of it. Passage: press Tab to go there." in name
    press(page, "Tab")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == f"Nugget: {long}"
    press(page, "Tab")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == f"Passage: {long}"


def test_a_question_beside_is_told_with_the_passage(opened):
    page = opened("exam.self_rating", exam)
    name = page.get_attribute("#bench", "aria-label")
    assert page.inner_text("#against [data-field]") in name
    assert name.endswith("Rating: 0, 1, 2, 3, 4, 5.")
    assert f"Edit {page.inner_text('#against [data-field]')}" in heard(page)["link"]


def test_out_of_a_field_lists_and_dialogs_the_focus_comes_back(opened):
    page = opened("trec_rag.sub_narratives_draft", trec_rag)
    assert "a list, press Tab to go there, + to add an entry." in page.get_attribute(
        "#bench", "aria-label"
    )
    press(page, "+")
    assert "Entry 1 of 1" in heard(page)["textbox"]
    assert "Importance entry 1" in heard(page)["combobox"]
    press(page, "Alt+d")
    assert page.evaluate(FOCUSED) == "bench"
    assert page.evaluate(SPOKEN) == "The list is empty."
    press(page, "+")
    page.keyboard.type("Who paid?")
    press(page, "Escape")
    assert page.evaluate(FOCUSED) == "bench"
    press(page, "n")
    assert page.evaluate(FOCUSED) == "ask-text"
    assert "A note on this unit" in heard(page)["dialog"]
    press(page, "Escape")
    assert page.evaluate(FOCUSED) == "bench"


def test_what_was_written_is_no_list_that_stands_as_it_was(opened):
    page = opened("trec_rag.sub_narratives_draft", trec_rag)
    unit = unit_of(page)
    press(page, "+")
    page.keyboard.type("Who paid?")
    press(page, "Tab", "End", "Control+Enter")
    goes_on(page, unit)  # at once


def test_keys_and_guidelines_are_read_out(opened):
    page = opened("r2c2.entailment")
    press(page, "?")
    assert "Backspace" in " ".join(heard(page)["cell"])
    until(page, "document.querySelector('#help [aria-live]').textContent.includes('Backspace')")
    press(page, "Escape")
    assert page.evaluate(FOCUSED) == "bench"
    press(page, "g")
    until(page, "document.querySelector('#guide [aria-live]').textContent.includes('nugget')")


def test_an_empty_queue_is_told_and_its_keys_do_nothing(opened):
    page = opened("r2c2.entailment")
    for _ in range(4):
        unit = unit_of(page)
        press(page, "s", "Enter")
        goes_on(page, unit)
    until(page, f"{FOCUSED} === 'empty'")
    assert "Nothing is left in this queue" in heard(page)["group"]
    said = page.evaluate(SPOKEN)
    press(page, "f", "n", "e", "?", "g", "s", "1", "Enter")
    assert page.locator("dialog[open]").count() == 0
    assert page.evaluate(SPOKEN) == said
    press(page, "[")
    page.locator("#bench").wait_for()


def test_keys_of_one_character_are_switched_off_and_stay_off(opened):
    page = opened("r2c2.entailment")
    switch = page.locator("[data-command=single]")
    press(page, "1")
    switch.click()
    assert "do nothing" in page.inner_text("#status")
    assert page.locator("[aria-checked=true]").inner_text() == "No"  # what was begun stays
    page.reload()
    name = page.get_attribute("#bench", "aria-label")
    assert name.endswith("Entailed: No, Yes.")
    press(page, "2", "s", "?")
    assert page.locator("[aria-checked=true], dialog[open], [aria-keyshortcuts]").count() == 0
    unit = unit_of(page)
    press(page, "Tab", "Tab", "Tab", " ", "ArrowRight", "Tab")  # a scale is one stop
    assert page.evaluate(FOCUSED) == "reason"
    press(page, "Escape", "Enter")
    goes_on(page, unit)
    switch.click()
    press(page, "2")
    assert page.locator("[aria-checked=true]").inner_text().startswith("Yes")


def test_enter_takes_evidence_away_and_submits_nothing(opened):
    page = opened("r2c2.entailment")
    unit = unit_of(page)
    press(page, "e", "Enter", "Escape", "1")
    page.locator("#evidence button").focus()
    press(page, "Enter")
    assert page.locator("#evidence li").count() == 0
    assert unit_of(page) == unit
    assert page.evaluate(FOCUSED) == "bench"


def test_one_voice_reads_what_is_told_of_a_unit(serve, visit, tmp_path):
    answers = {"ONE": "<1>\nアンナ;90\n1;PR;1;この橋はアンナが建てた。\n</1>\n"}
    server = serve(write_folder(tmp_path / "f", answers=answers))
    page = visit(server.link)
    page.goto(f"{server.base}/label/r2c2.entailment")
    until(page, f"{SPOKEN}.includes('アンナ')")
    assert page.evaluate("document.querySelector('#spoken span').lang") == "ja"
    assert page.evaluate("document.getElementById('bench').lang") == "ja"
    assert page.locator("#bench > :not(#topic):not([lang=en])").count() == 0


def test_long_lists_go_on_with_capital_letters(opened):
    page = opened("r2c2.entailment")
    items = [f"Nugget {n}" for n in range(40)]
    options = [{"value": "NO", "label": "No"}, {"value": "YES", "label": "Yes"}]
    control = {"field": "x", "label": "Each", "kind": "items", "shape": "list"}
    page.evaluate(
        "(one) => show({...state.screen, controls: [one]})",
        control | {"items": items, "options": options},
    )
    keys = page.locator("li.item kbd").all_inner_texts()
    assert len({*keys}) == 40
    assert "" not in keys
    press(page, f"Shift+{keys[-1]}")
    assert page.evaluate(SPOKEN) == "Yes: Nugget 39"
    assert page.locator("li.item[data-value=YES]").count() == 1
    press(page, f"Shift+{keys[0].upper()}")  # held with Shift it is another's, or nobody's
    assert page.locator("li.item").first.get_attribute("data-value") == "NO"


def test_verdicts_past_the_ninth_have_letters(opened):
    page = opened("r2c2.entailment")
    options = [{"value": f"V{n}", "label": f"Verdict {n}"} for n in range(12)]
    control = {"field": "x", "label": "Which", "kind": "choice", "shape": "one"}
    page.evaluate(
        "(one) => show({...state.screen, controls: [one]})", control | {"options": options}
    )
    shown = page.locator("[data-verdict] kbd").all_inner_texts()
    assert shown == [*"123456789", "a", "b", "c"]
    press(page, "b")
    assert page.evaluate(SPOKEN) == "Which: Verdict 10."


def test_every_item_of_a_list_has_its_words_and_its_key(opened):
    page = opened("trec_rag.sub_narratives_draft", trec_rag)
    press(page, "+")
    page.keyboard.type("Who paid?")
    press(page, "Tab", "End", "Control+Enter")
    page.locator("#empty").wait_for()
    for task in ("trec_rag.sub_narratives", "trec_rag.relevance_counted"):
        for _ in range(50):
            page.goto(f"{page.url.rpartition('/')[0]}/{task}")
            if unit_of(page):
                break
            page.wait_for_timeout(100)
        if task == "trec_rag.sub_narratives":
            press(page, "+")
            page.keyboard.type("Who paid?")
            press(page, "Tab", "End", "Control+Enter")
            page.locator("#empty").wait_for()
    assert "Answered 1, key a: Who paid?" in heard(page)["radiogroup"]
    press(page, "a")
    assert page.evaluate(SPOKEN) == "Yes: Who paid?"
