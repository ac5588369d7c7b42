"""The workbench in a real browser: labelled by keyboard alone, raced for, killed, and attacked."""

from __future__ import annotations

import contextlib
import json
import re
import time

import pytest
from playwright.sync_api import Error

from assay.web.replies import PAGES
from tests.chromium import violations
from tests.conftest import copy_example
from tests.web.conftest import becomes, goes_on, unit_of, write_folder
from tests.web.test_server import Client, human_labels

pytestmark = pytest.mark.browser

PRESSED = """(key) => document.activeElement.dispatchEvent(
  new KeyboardEvent("keydown", { bubbles: true, cancelable: true, ...key }))"""


def until(page, what):
    """Wait until an expression is true in the page."""
    deadline = time.time() + 8
    while time.time() < deadline:
        with contextlib.suppress(Error):  # the page may be going to another
            if becomes(page, what):
                return
    raise AssertionError(what)


def label_all(page, base, task, keys, most=200):
    """Label a task by keyboard alone: ``keys(page)`` are those of a verdict."""
    page.goto(f"{base}/label/{task}")
    done = 0
    while (unit := unit_of(page)) and done < most:
        for key in (*keys(page), "Enter"):
            page.keyboard.press(key)
        if "again to submit it" in page.inner_text("#status"):
            page.keyboard.press("Enter")
        goes_on(page, unit)
        done += 1
    return done


def first(page):
    return [page.locator("[data-verdict] kbd").first.inner_text()]


def last(page):
    return [page.locator(".choice [data-verdict] kbd").last.inner_text()]


def letters(page):
    return [*first(page), "a"]


def test_a_folder_is_labelled_by_keyboard_alone_and_scored(serve, visit, tmp_path, assay):
    folder = write_folder(tmp_path / "f")
    server = serve(folder)
    page = visit(server.link)
    assert label_all(page, server.base, "r2c2.dialogue_act", first) == 4
    assert label_all(page, server.base, "r2c2.entailment", last) == 4
    answers = 0
    for _ in range(80):  # what labels open may come a moment later
        answers += label_all(page, server.base, "r2c2.answer", lambda one: [*last(one), "a"])
        if answers == 4:
            break
        page.wait_for_timeout(100)
    assert answers == 4
    for path in ("/live", "/runs"):
        page.goto(f"{server.base}{path}")
        assert "Based on: human labels for 100 %." in page.inner_text("main")
    assert page.locator("tbody th").count() >= 2
    server.stop()
    done = assay("score", folder, "--json")
    assert done.returncode == 0
    scores = json.loads(done.stdout)["scores"]
    accuracy = {one["run"]: one["value"] for one in scores if one["measure"] == "Accuracy"}
    assert accuracy == {"ONE": 1.0, "TWO": 1.0}  # everything was called right
    assert human_labels(folder) == 12


OF_2021 = "delete Intl.Segmenter; delete AbortSignal.timeout"


@pytest.mark.parametrize(
    ("example", "tasks"),
    [("trec-rag", ("trec_rag.assignment", "trec_rag.support")), ("exam", ("exam.self_rating",)),
     ("sgss", ("sgss.sufficiency", "sgss.heading", "trec_rag.support"))],
)  # fmt: skip
def test_the_examples_are_labelled_in_an_old_browser(serve, visit, tmp_path, example, tasks):
    folder = copy_example(example, tmp_path / example)
    server = serve(folder)
    page = visit(server.link, script=OF_2021)
    for task in tasks:
        keys = (lambda _page: ["a"]) if "assignment" in task else first
        assert label_all(page, server.base, task, keys, most=3) >= 1, task
        page.goto(f"{server.base}/label/{task}")
        page.keyboard.press("e")
        page.keyboard.press("Enter")
        assert page.locator("#evidence q").count() == 1
    assert human_labels(folder) >= len(tasks)


def test_a_bank_is_edited_where_it_is_seen_and_the_report_is_live(
    serve, visit, tmp_path, assay_process
):
    folder = copy_example("exam", tmp_path / "exam", recorded=True)
    assert assay_process("judge", folder).returncode == 0
    server = serve(folder, "--invite", "KIM")
    page = visit(server.link)
    page.goto(f"{server.base}/bank")
    rows = page.locator("#bank tbody tr")
    assert rows.count() > 3
    assert page.locator("#bank tbody td", has_text=" of ").count() >= rows.count() - 1
    page.locator("[data-action=drop]").nth(3).click()
    until(page, "document.getElementById('told').textContent.includes('Version 1')")
    assert page.evaluate("document.activeElement.dataset.action") == "restore"  # of the same row
    assert page.evaluate("document.activeElement.closest('tr').rowIndex") == 4
    assert "EXAM-Cover" in page.inner_text("#told")
    assert page.locator("#bank .tag", has_text="dropped").count() == 1
    page.locator("[data-action=reword]").nth(1).click()
    page.locator("#ask-text").fill("What else <b>is</b> it?")
    page.locator("#ask button[value=ok]").click()
    until(page, "document.getElementById('told').textContent.includes('Missing now')")
    page.goto(f"{server.base}/search?q=What+else")
    assert page.locator("#found li").count() > 0  # it is asked at once
    page.goto(f"{server.base}/report")
    page.wait_for_url(re.compile(r"/report/report\.html\?n=\d+$"))
    assert page.locator("h2", has_text="What each question tells").count() == 1
    kim = visit(server.invited("KIM"))
    assert kim.goto(f"{server.base}/bank").status == 403


HEARD = """window.said = [];
document.addEventListener("DOMContentLoaded", () => {
  const status = document.querySelector("[role=status]");
  if (!status) { return; }
  new MutationObserver(() => said.push(status.textContent)).observe(status, { childList: true });
});"""


def test_a_stage_of_the_report_is_announced_once_and_an_error_ends_the_waiting(
    serve, visit, tmp_path
):
    server = serve(write_folder(tmp_path / "f"))
    page = visit(server.link, script=HEARD)
    given = {"nonce": "", "me": None, "title": "", "path": "/report", "has_bank": False}
    text = PAGES.get_template("making.html").render(given, number=7, doing="", so_far="")
    page.route("**/report", lambda one: one.fulfill(body=text, content_type="text/html"))
    asked = []

    def answer(route):
        asked.append(route.request.url)
        if len(asked) > 4:
            route.fulfill(status=500, body="no JSON", content_type="text/plain")
        else:
            found = {"there": False, "doing": "Now: pages.", "so_far": f"{len(asked)} s so far."}
            route.fulfill(json=found)

    page.route("**/api/report?n=7", answer)
    page.goto(f"{server.base}/report")
    until(page, "said.length > 1")
    page.wait_for_timeout(500)
    assert page.evaluate("said") == ["Now: pages.", "The server answered with status 500."]
    assert len(asked) == 5


def test_undo_skip_flag_note_and_evidence(serve, visit, tmp_path):
    folder = write_folder(tmp_path / "f")
    server = serve(folder)
    page = visit(server.link)
    page.goto(f"{server.base}/label/r2c2.entailment")
    unit = unit_of(page)
    page.locator("#against [data-field]").first.select_text()
    page.keyboard.press("Shift")
    assert page.locator("#evidence li").count() == 1
    chosen = page.locator("[data-verdict][aria-checked=true]")
    # French, Thai, Japanese and Arabic keyboards; the last says nothing on Dvorak's.
    for key, place, verdict in (
        ("&", "Digit1", "No"), ("/", "Digit2", "Yes"), ("１", "Digit1", "No"),
        ("٢", "Digit2", "Yes"), (".", "KeyE", "Yes"), ("1", "Digit1", "No"),
    ):  # fmt: skip
        page.evaluate(PRESSED, {"key": key, "code": place})
        assert chosen.inner_text().startswith(verdict)
    page.keyboard.press("Enter")
    goes_on(page, unit)
    second = unit_of(page)
    page.keyboard.press("Backspace")
    goes_on(page, second)
    assert unit_of(page) == unit
    assert chosen.inner_text().startswith("No")
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    goes_on(page, unit)
    page.keyboard.press("f")
    until(page, "document.getElementById('left').textContent.includes('flagged')")
    page.evaluate(PRESSED, {"key": "ى", "code": "KeyN"})
    page.keyboard.type("look at this s")
    for more in ({"isComposing": True}, {"keyCode": 229}):  # an input method ends a word by it
        page.evaluate(PRESSED, {"key": "Enter", **more})
    assert page.locator("#ask").is_visible()
    page.keyboard.press("Enter")
    until(page, "document.getElementById('status').textContent === 'Note saved.'")
    unit = unit_of(page)
    page.keyboard.press("s")
    page.keyboard.type("too hard")
    page.keyboard.press("Enter")
    goes_on(page, unit)
    page.keyboard.press("[")
    until(page, f"document.getElementById('bench').dataset.unit === '{unit}'")
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    assert "entails the claim" in page.locator("#guide").inner_text()
    page.keyboard.press("Escape")
    page.goto(
        f"{server.base}/unit/{page.locator('#recent button').first.get_attribute('data-recent')}"
    )
    assert page.locator("tbody tr").count() == 2  # the label, and what took its place
    assert page.locator("tbody q").count() == 2  # its evidence went with it
    assert human_labels(folder) == 2


def test_words_of_the_query_are_lit(serve, visit, tmp_path):
    server = serve(write_folder(tmp_path / "f"))
    page = visit(server.link)
    page.goto(f"{server.base}/label/r2c2.entailment")
    for words, text, lit in [
        (["bridge", "old"], "Bridges, bridgeheads; OLDEST cold <old", ["Bridges", "OLDEST", "old"]),
        (["का", "हिन्दी"], "हिन्दी और हिन्दीवालों", ["हिन्दी"]),
        (["straße"], "STRASSE Straßen", ["Straßen"]),
        (["誰が古い橋を建てましたか"], "この橋は古い。誰か。", ["橋", "古い", "誰"]),
        (["สะพานเก่า"], "นี่คือสะพานใหม่", ["สะพาน"]),
        (["جسر"], "بُني جسر قديم", ["جسر"]),
        ([], "nothing (at all)", []),
    ]:  # fmt: skip
        found = page.evaluate(
            "([text, words]) => lit(text, words).map((one) => [one.nodeName, one.textContent])",
            [text, words],
        )
        assert "".join(one for _, one in found) == text
        assert [one for name, one in found if name == "MARK"] == lit, words


def test_a_text_says_its_language_by_its_script_and_words(serve, visit, tmp_path):
    server = serve(write_folder(tmp_path / "f"))
    page = visit(server.link)
    page.goto(f"{server.base}/label/r2c2.entailment")
    japanese, chinese = "この橋は1872年に建てられた。", "這座古老的橋建於一八七二年。"
    for text, around, language in [
        (japanese, "", "ja"), ("这座老桥建于1872年。", "", "zh-Hans"), (chinese, "", "zh-Hant"),
        ("骨", "", "zh"), ("骨", chinese, "zh-Hant"), ("東京都、骨", japanese, "ja"),
        (chinese * 2, japanese * 9, "zh-Hant"), ("다리는 낡았다.", "", "ko"),
        ("بُني الجسر (Anna Berg) سنة 1872", "", "ar"), ("Мост стар.", "", "ru"),
        ("Das Öl – “alt”", "", ""), ("The bridge 橋 is old", japanese, "en"), ("123", "", ""),
        ("Le pont a été construit par Anna.", "", "fr"), ("Anna Berg", "", ""),
        ("Мост построен в 1872 году, и он стар.", "", "ru"), ("Міст є в місті", "", "uk"),
    ]:  # fmt: skip
        found = page.evaluate("([text, around]) => languageOf(text, around)", [text, around])
        assert found == language, text
    shown = page.locator("#judged [data-field]").first
    assert (shown.get_attribute("lang"), shown.get_attribute("dir")) == ("", "auto")


def test_pages_beside_the_labelling_say_their_texts_languages(serve, visit, tmp_path):
    answers = {"ONE": "<1>\nアンナ;90\n1;PR;1;この橋はアンナが建てた。\n</1>\n<2>\n1900;60\n</2>\n"}
    server = serve(write_folder(tmp_path / "f", answers=answers))
    page = visit(server.link)
    page.goto(f"{server.base}/search?q=建てた")
    found = page.locator("#found bdi[lang=ja]")
    found.first.wait_for()
    page.goto(f"{server.base}/search")
    page.evaluate("window.told = document.querySelector('#found [role=status]')")
    page.fill("[name=q]", "ｱﾝﾅ")  # what comes later says it, too; widths make no difference
    found.first.wait_for()
    assert page.evaluate("told.isConnected && told.textContent") == "2 found"  # read out
    page.locator("#found a").first.click()
    page.locator("p.plain[lang=ja]").first.wait_for()
    page.goto(f"{server.base}/topic/0")
    page.locator("main [lang=ja]").first.wait_for()


def test_keys_and_words_are_those_of_the_folder(serve, visit, tmp_path):
    words = {"r2c2.entailment": "含意判定", "nugget": "ナゲット", "entailed": "含意", "YES": "はい"}
    words |= {"reason": "理由", "submit": "送信", "guideline": "判定基準"}
    worded = "".join(f'"{name}" = "{own}"\n' for name, own in words.items())
    more = f'[ui.keys]\nskip = "x"\nsubmit = " "\n[ui.words]\n{worded}'
    folder = write_folder(tmp_path / "f", more=more)
    server = serve(folder)
    page = visit(server.link)
    page.goto(f"{server.base}/label/r2c2.entailment")
    unit = unit_of(page)
    assert page.locator("[data-command=skip] kbd").inner_text() == "x"
    for where, own in (
        ("h1.title", "含意判定"), ("#judged h2", "ナゲット"), ("legend", "含意"),
        ("[data-verdict] >> nth=0", "No"), ("[data-verdict] >> nth=1", "はい"),
        (".reason", "理由"), ("#verdict [type=submit]", "送信"), ("#rules", "判定基準"),
        ("[data-command=guideline]", "判定基準"),
    ):  # fmt: skip
        assert page.locator(where).inner_text().startswith(own), where
    page.locator("[data-command=note]").focus()
    page.keyboard.press(" ")  # what a button does goes before what its key does
    page.keyboard.press("Escape")
    page.keyboard.press("2")
    page.evaluate("toBench()")
    page.keyboard.press(" ")
    goes_on(page, unit)


def test_two_browsers_race_and_two_tabs_meet(serve, visit, tmp_path):
    folder = write_folder(tmp_path / "f")
    server = serve(folder, "--invite", "KIM")
    ann, kim = visit(server.link), visit(server.invited("KIM"))
    for page in (ann, kim):
        page.goto(f"{server.base}/label/r2c2.dialogue_act")
    assert unit_of(ann) != unit_of(kim)
    tab = ann.context.new_page()
    tab.goto(ann.url)
    assert unit_of(tab) == unit_of(ann)
    unit = unit_of(ann)
    ann.keyboard.press("1")
    ann.keyboard.press("Enter")
    goes_on(ann, unit)
    tab.keyboard.press("2")
    tab.keyboard.press("Enter")
    goes_on(tab, unit)
    assert "another tab" in tab.inner_text("#status")
    for page in (ann, kim):
        while unit := unit_of(page):
            page.keyboard.press("1")
            page.keyboard.press("Enter")
            goes_on(page, unit)
    assert human_labels(folder) == 4


def test_a_server_that_is_killed_between_key_and_next(serve, visit, tmp_path):
    folder = write_folder(tmp_path / "f")
    server = serve(folder)
    page = visit(server.link)
    page.goto(f"{server.base}/label/r2c2.entailment")
    unit = unit_of(page)
    page.keyboard.press("2")
    server.kill()
    page.keyboard.press("Enter")
    until(page, "document.getElementById('status').textContent.includes('may not be saved')")
    assert unit_of(page) == unit
    serve(folder, port=server.port)
    page.keyboard.press("Enter")
    goes_on(page, unit)
    assert human_labels(folder) == 1


HOSTILE = (
    "<script>window.bad=1</script><img src=x onerror=window.bad=1>'\"><svg/onload=window.bad=1>"
    "</script><style>*{display:none}</style>{{7*7}}javascript:window.bad=1"
)


def test_a_link_on_a_page_elsewhere_lets_in_and_makes_nobody_somebody_else(serve, visit, tmp_path):
    server = serve(write_folder(tmp_path / "f"), "--invite", "EVE")
    elsewhere = "<a href='{}'>prizes</a>".format(server.invited("EVE"))
    for link, ends in (
        (server.link, "You are signed in as ANN"),
        ("about:blank", "Tasks to label"),
    ):
        page = visit(link)
        page.goto(f"data:text/html,{elsewhere}")
        page.click("a")
        until(page, f"document.querySelector('h1').innerText.startsWith('{ends}')")
        if link == server.link:
            page.click("a.go")
            until(page, "document.querySelector('.me').innerText === 'signed in as ANN'")
        else:
            until(page, "document.querySelector('.me').innerText === 'signed in as EVE'")


def test_hostile_texts_are_texts(serve, visit, tmp_path):
    questions = f"1\tWho built {HOSTILE}?\tSimple\t{HOSTILE}\n"
    answers = {
        "ONE": f"<1>\nAnna {HOSTILE};90\n1;PR;1;Built by {HOSTILE}\n</1>\n",
        "TWO": "<1>\n\u202eevil\u202c مرحبا 橋を建てた;90\n1;PR;1;x\n</1>\n",
    }
    folder = write_folder(
        tmp_path / "f", questions=questions, answers=answers, passages=f"1;1;d1;{HOSTILE}\n"
    )
    (folder / "guidelines").mkdir()
    (folder / "guidelines" / "r2c2.entailment.md").write_text(
        f"# {HOSTILE}\n\n[x](javascript:window.bad=1)\n\n<b onclick=x>b</b>\n", encoding="utf-8"
    )
    server = serve(folder, "--invite", "KIM")
    page = visit(server.link)
    for task in ("r2c2.dialogue_act", "r2c2.entailment"):
        page.goto(f"{server.base}/label/{task}")
        assert "onerror" in page.inner_text("#bench") or "evil" in page.inner_text("#bench")
        page.keyboard.press("g")
        page.keyboard.press("Escape")
        page.locator("#reason").fill(HOSTILE)
        page.keyboard.press("Escape")
        label_all(page, server.base, task, first)
    for path in (
        "/",
        "/runs",
        "/run/0",
        "/topic/0?a=0&b=1",
        "/unit/1",
        "/search?q=script",
        "/live",
        "/people",
        "/report",
    ):
        page.goto(f"{server.base}{path}")
        assert page.evaluate("window.bad") is None
        page.locator("h1").wait_for()  # the report's page goes to another once it is made
    page.goto(f"{server.base}/search")
    page.locator("input[type=search]").press_sequentially("onerror")
    until(page, "document.querySelectorAll('#found li').length > 0")
    assert page.evaluate("window.bad") is None


def test_no_rule_of_accessibility_is_broken(serve, visit, tmp_path):
    folder = write_folder(tmp_path / "f")
    server = serve(folder)
    page = visit(server.link, bypass_csp=True)
    label = "/label/r2c2."
    for path in ("/", f"{label}entailment", f"{label}answer", "/runs", "/live", "/people",
                 "/topic/0?a=0&b=1", "/unit/1", "/search?q=bridge"):  # fmt: skip
        page.goto(f"{server.base}{path}")
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            rules = '{runOnly: ["color-contrast"]}' if scheme == "dark" else ""  # all else is alike
            assert violations(page, rules) == [], (scheme, path)


def test_nothing_is_wider_than_a_phone_or_a_tablet(serve, visit, tmp_path):
    folder = write_folder(tmp_path / "f")
    server = serve(folder)
    page = visit(server.link, viewport={"width": 768, "height": 700})
    for path in ("/", "/label/r2c2.entailment", "/label/r2c2.answer", "/runs", "/live", "/people",
                 "/topic/0?a=0&b=1"):  # fmt: skip
        page.goto(f"{server.base}{path}")
        for width in (768, 640, 320):  # 640: twice as large on 1280
            page.set_viewport_size({"width": width, "height": 700})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (path, width)


def test_no_word_is_wider_than_a_phone(serve, visit, tmp_path):
    word = "Donaudampfschifffahrtsgesellschaftskapitaensmuetze"
    folder = write_folder(
        tmp_path / "f",
        more="[ui]\npasses = 2",
        questions=f"{word}\tWho built {word}?\tSimple{word}\t{word}\n",
        passages=f"{word};1;d{word};The {word} was built.\n",
        answers={
            f"{one}{word}": f"<{word}>\n{one} {word};9\n1;PR;1;{word} was.\n</{word}>\n"
            for one in ("ONE", "TWO")
        },
    )
    invited = ("--invite", f"KIM{word}", "--invite", f"LEE{word}")
    server = serve(folder, *invited, name=f"ANN{word}")
    page = visit(server.link, viewport={"width": 390, "height": 700})
    kim, lee = (Client(server, server.invited(f"{name}{word}")) for name in ("KIM", "LEE"))
    screen, _ = (one.start("r2c2.dialogue_act")["screens"][0] for one in (kim, lee))
    for client in (kim, lee):
        assert client.give(screen, {"act": "answer"})[0] == 200
    page.goto(f"{server.base}/live")
    assert page.locator(".confusion").count() == 1
    for path in (
        "/", "/label/r2c2.entailment", "/label/r2c2.answer", "/runs", "/run/0", "/live", "/people",
        "/topic/0?a=0&b=1", "/unit/1", "/units?n=1,2", "/search?q=was",
    ):  # fmt: skip
        page.goto(f"{server.base}{path}")
        page.evaluate("document.querySelectorAll('details').forEach((o) => { o.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path


def test_lines_have_directions_of_their_own_unless_they_are_very_long(serve, visit, tmp_path):
    server = serve(write_folder(tmp_path / "f"))
    page = visit(server.link)
    page.goto(f"{server.base}/label/r2c2.entailment")
    shown = """(text) => {
      const made = textOf({ name: "passage", label: "Passage", value: text }, []);
      find("against").replaceChildren(made);
      return getComputedStyle(made.querySelector("p")).unicodeBidi;
    }"""
    assert page.evaluate(shown, "one\nשתיים") == "plaintext"
    for text in ("one", f"one\n{'x' * 20_000}", "x " * 20_000):  # quadratic in Chromium
        assert page.evaluate(shown, text) == "isolate"


def test_a_bank_is_no_wider_than_a_phone(serve, visit, tmp_path):
    server = serve(copy_example("exam", tmp_path / "f"))
    page = visit(server.link, viewport={"width": 390, "height": 700})
    page.goto(f"{server.base}/bank")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_key_is_answered_at_once(serve, visit, tmp_path):
    folder = write_folder(tmp_path / "f")
    server = serve(folder)
    page = visit(server.link)
    page.goto(f"{server.base}/label/r2c2.dialogue_act")
    time.sleep(0.3)
    unit = unit_of(page)
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    goes_on(page, unit)
    entries = page.evaluate("performance.getEntriesByType('resource').map((one) => one.name)")
    assert sum("/api/label/" in one for one in entries) == 1
    assert page.locator("#recent li").count() == 1
