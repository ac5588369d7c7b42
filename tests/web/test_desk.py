"""Queues, reservations, passes and adjudication, without a browser."""

from __future__ import annotations

import json
import math
import re
import sqlite3
import time

import pytest

from assay.api.opened import Opened
from assay.api.trust import draw_for_people
from assay.model.errors import SettingsError
from assay.model.labels import mode_of
from assay.web import desk as module
from assay.web import live, state
from assay.web.desk import QUEUES, Desk, Refused
from assay.web.offered import counts, recent, waits
from assay.web.people import Role
from assay.web.replies import PAGES
from assay.web.server import Bench
from assay.web.state import WorkbenchState
from tests.conftest import copy_example
from tests.web.conftest import PASSAGES, write_folder

ENTAILMENT, ANSWER = "r2c2.entailment", "r2c2.answer"


@pytest.fixture
def desk_of(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "AT_ONCE", math.inf)  # however busy the machine is
    opened = []

    def make(more="", name="f"):
        folder = tmp_path / name
        if not folder.exists():
            write_folder(folder, more=more)
        context = Desk.open(Opened.open(folder))
        opened.append(context)
        desk = context.__enter__()
        desk.sync()
        return desk

    yield make
    for one in opened:
        one.__exit__(None, None, None)


def yes(screen, value="YES", **more):
    return {"verdict": {"entailed": value}, "before": None, "mode": screen["mode"], **more}


def test_words_for_what_there_is_not_are_refused(desk_of):
    more = '[ui.words]\nYES = "ja"\nsubmitt = "weiter"\npassages = "Texte"'
    with pytest.raises(
        SettingsError, match=r"has passages and submitt, and .* \(r2c2.dialogue_act"
    ):
        desk_of(more)


def labels(desk):
    return [one for one in desk.ledger.labels() if one.labeller.is_human]


def buttons(desk, person):
    """Where the page of all queues leads."""
    page = PAGES.get_template("home.html").render(
        tasks=counts(desk, person, desk.state), queues=QUEUES, title="", me=None, nonce=""
    )
    return re.findall(r'<a [^>]*href="/label/([^"]*)"', page)


def test_what_people_labelled_who_are_left_out_is_open_again(desk_of, tmp_path):
    desk = desk_of()
    ann, kim = desk.state.person("ANN"), desk.state.person("KIM")
    for screen in desk.next(ann, ENTAILMENT, count=9):
        desk.give(ann, screen["unit"], yes(screen))
    assert desk.next(kim, ENTAILMENT) == []
    for policy, left in (
        ("majority without human:ANN", 4), ("majority", 0), ("only:human:KIM", 4),
        ("only:human:ANN", 0),
    ):  # fmt: skip
        desk.take_up(Opened.open(tmp_path / "f", policy=policy))
        assert len(desk.next(kim, ENTAILMENT, count=9)) == left
        assert desk.next(ann, ENTAILMENT) == []
        (row,) = live.done(desk, desk.state)
        assert (row.labels, row.left_out) == (4, left > 0)


def test_who_is_left_out_stays_so_when_the_workbench_starts_again(desk_of):
    desk = desk_of(more='policy = "majority without human:ANN"')
    ann, eve = desk.state.person("ANN"), desk.state.person("EVE", Role.ADJUDICATOR)
    screens = desk.next(ann, ENTAILMENT, count=1)
    desk.give(ann, screens[0]["unit"], yes(screens[0]))
    desk.state.forget_given()  # the ledger has labels that the workbench has not
    desk.state.execute("""INSERT INTO facts VALUES ('left out', '["ANN"]')""")  # another version's
    again = desk_of()
    assert len(again.next(again.state.person("KIM"), ENTAILMENT, count=9)) == 4
    for name, said, shown in (("KIM", "NO", []), ("LEE", "NO", []), ("MAX", "YES", [3])):
        who = again.state.person(name)
        screen = again.screen(who, again.row(screens[0]["unit"]))
        again.give(who, screen["unit"], yes(screen, said))
        found = again.next(eve, ENTAILMENT, "disagreements")
        assert [len(one["others"]) for one in found] == shown


def test_what_was_drawn_is_the_first_queue_that_has_anything(desk_of, tmp_path):
    desk = desk_of()
    kim = desk.state.person("KIM")

    def first():
        one = next(one for one in buttons(desk, kim) if one.startswith(ENTAILMENT))
        return one.partition("?queue=")[2] or "open"

    assert first() == "open"
    draw_for_people(tmp_path / "f", n=1, seed=1, tasks=[ENTAILMENT])
    desk.sync()
    assert first() == "drawn"
    for screen in desk.next(kim, ENTAILMENT, "drawn", count=9):
        desk.give(kim, screen["unit"], yes(screen))
    assert first() == "open"


def test_what_others_have_before_them_is_no_end_of_the_queue(desk_of):
    desk = desk_of()
    ann, kim = desk.state.person("ANN"), desk.state.person("KIM")
    assert len(desk.next(ann, ENTAILMENT, count=9)) == 4
    assert desk.next(kim, ENTAILMENT) == []
    told = waits(desk, kim, ENTAILMENT, "open", desk.state)
    assert told.startswith("Other people have 4 units open.")
    assert "free within 10 minutes" in told
    (home,) = (o for o in counts(desk, kim, desk.state) if o["task"] == ENTAILMENT)
    assert home["waits"] == told
    for screen in desk.next(ann, ENTAILMENT, count=9):
        desk.give(ann, screen["unit"], yes(screen))
    assert waits(desk, kim, ENTAILMENT, "open", desk.state) == ""


def test_units_come_topic_by_topic_in_an_order_that_stays(desk_of):
    desk = desk_of()
    ann = desk.state.person("ANN")
    order = [one["unit"] for one in desk.next(ann, ENTAILMENT, count=9)]
    assert len(order) == 4
    topics = [desk.state.unit(one).topic for one in order]
    assert topics == sorted(topics, key=topics.index)  # topics are not mixed
    assert [one["unit"] for one in desk_of().next(ann, ENTAILMENT, count=9)] == order


def test_who_has_topics_is_given_these_and_nobody_else_is(desk_of, tmp_path):
    desk = desk_of(more='[ui]\npasses = 2\n[ui.topics]\n"human:ANN" = ["1"]\nKIM = ["1"]')
    ann, kim, lee = map(desk.state.person, ("ANN", "KIM", "LEE"))

    def topics(person):
        return {one["topic"] for one in desk.next(person, ENTAILMENT, count=9)}

    assert (topics(ann), topics(kim), topics(lee)) == ({"1"}, {"1"}, {"2"})
    assert {one["left"] for one in counts(desk, ann, desk.state) if one["task"] == ENTAILMENT} == {
        "2"
    }
    for screen in desk.next(ann, ENTAILMENT, count=9):
        desk.give(ann, screen["unit"], yes(screen))
    assert waits(desk, ann, ENTAILMENT, "open", desk.state) == ""
    assert [one["left"] for one in counts(desk, ann, desk.state) if one["task"] == ENTAILMENT] == [
        ""
    ]
    assert not any(one.startswith(ENTAILMENT) for one in buttons(desk, ann))
    eve = desk.state.person("EVE", Role.ADJUDICATOR)
    desk.set_aside(kim, desk.next(kim, ENTAILMENT)[0]["unit"], "flag", "Which bridge?")
    flagged = [len(desk.next(one, ENTAILMENT, "flagged")) for one in (kim, lee, eve)]
    assert flagged == [1, 0, 1]
    toml = tmp_path / "f" / "assay.toml"
    toml.write_text(toml.read_text().replace('ANN" = ["1"]', 'ANN" = ["1", "2"]'))
    desk.take_up(Opened.open(tmp_path / "f"))  # handed over
    assert (topics(ann), topics(lee)) == ({"2"}, set())


def test_topics_that_nobody_can_finish_are_told(desk_of, tmp_path):
    desk = desk_of('[ui]\npasses = 2\n[ui.topics]\nKMI = ["1"]\nKIM = ["2"]\nLEE = ["2", "3"]')

    def told():
        return [one.rpartition("them to ")[2] for one in live.unattended(desk, desk.state)]

    kim, lee, ann = map(desk.state.person, ("KIM", "LEE", "ANN"))
    for one in (kim, lee, ann):
        desk.state.link(one, hours=1)
    first, strange = live.unattended(desk, desk.state)
    assert first.startswith(
        "As things stand, nobody will give 8 labels of 1: 2 people are to label"
    )
    assert first.endswith("and [ui.topics] gives them to KMI (not invited).")
    assert strange.startswith("[ui.topics]: nothing is asked of 3 (yet, or the name is misspelt).")
    for screen in desk.next(kim, ENTAILMENT, count=9):
        desk.give(kim, screen["unit"], yes(screen))
    desk.state.leave(kim)  # what KIM labelled stays
    assert told()[:-1] == ["KMI (not invited).", "KIM (access revoked) and LEE."]
    desk.set_aside(lee, desk.next(lee, ENTAILMENT)[0]["unit"], "skip", "")
    why = "who are not asked about units that they skipped or practised on."
    assert f"KIM (access revoked) and LEE, {why}" in told()
    desk.take_up(Opened.open(tmp_path / "f", policy="people without human:KIM"))
    assert any(one.startswith("KIM (left out by the policy) and LEE,") for one in told())


def test_two_sides_are_shown_in_an_order_of_each_person_s_own(desk_of, tmp_path):
    folder = copy_example("sgss", tmp_path / "f")
    toml = (folder / "assay.toml").read_text().replace('"embedded"', '"recorded:none.jsonl"')
    more = '[settings]\nalso = ["preference"]\n[ui]\npasses = 9\n'
    (folder / "assay.toml").write_text(toml + more)
    (folder / "none.jsonl").touch()
    desk, task = desk_of(), "sgss.preference"
    eve = desk.state.person("EVE", Role.ADJUDICATOR)
    lefts = {}
    for name in ("P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "EVE"):
        who = desk.state.person(name)
        for screen in desk.next(who, task, count=9):
            left = screen["texts"][1]
            row = desk.row(screen["unit"])
            content = json.loads(row.content)
            assert left["value"] == content["right" if screen["turned"] else "left"]
            marked = {"field": "left", "start": 0, "end": 4}
            side = "RIGHT" if screen["turned"] else "LEFT"  # of the same summary
            side = "LEFT" if name == "P1" else side
            said = {"verdict": {"preferred": side, "reason": ""}, "evidence": [marked],
                    "turned": screen["turned"], "mode": "blind"}  # fmt: skip
            desk.give(who, screen["unit"], {**said, "reason": "The left is brief."})
            again = desk.screen(who, row)
            assert again["texts"] == screen["texts"]
            assert again["own"]["verdict"]["preferred"] == side
            assert again["own"]["evidence"] == [{**marked, "text": left["value"][:4]}]
            assert recent(desk, who, task)[0]["said"] == side
            own = next(one for one in desk.labels(row) if one.labeller.name == f"human:{name}")
            lefts.setdefault(screen["turned"], []).append(own.verdict["preferred"])
            field = "right" if screen["turned"] else "left"
            assert own.detail["workbench"]["evidence"][0]["field"] == field
            if name == "P1":
                # A page that was made by another seed says itself what it showed.
                given = {**said, "turned": not screen["turned"], "before": own.uid}
                uid = desk.give(who, screen["unit"], given)["uid"]
                assert desk.screen(who, row)["own"]["verdict"]["preferred"] == "RIGHT"
                # One that says nothing was made before there was an order.
                desk.give(who, screen["unit"], {**given, "turned": None, "before": uid})
                assert desk.labels(row)[-1].verdict["preferred"] == "LEFT"
    assert set(lefts[False]) == {"LEFT"}
    assert set(lefts[True]) == {"LEFT", "RIGHT"}  # P1 goes by the place
    shown = desk.screen(eve, row, "adjudication")["others"]
    turned = [one["reason"].endswith("with the two sides swapped)") for one in shown]
    assert any(turned)
    assert not all(turned)


def test_what_scores_hang_on_most_comes_first(desk_of):
    desk = desk_of()
    ann = desk.state.person("ANN")

    def topics():
        desk.state.execute("DELETE FROM reserved")
        found = [one["topic"] for one in desk.next(ann, ENTAILMENT, "widest", count=9)]
        assert len(found) == 4
        return list(dict.fromkeys(found))

    drawn = [one["topic"] for one in desk.next(ann, ENTAILMENT, count=9)]
    assert topics() == list(dict.fromkeys(drawn))  # as drawn where nothing is known
    for order in (["1", "2"], ["2", "1"]):
        desk.state.set_ranges({order[0]: 0.5, order[1]: 0.25})
        assert topics() == order


def test_two_people_get_different_units_and_reservations_expire(desk_of):
    desk = desk_of()
    ann, kim = desk.state.person("ANN"), desk.state.person("KIM")
    first = {one["unit"] for one in desk.next(ann, ENTAILMENT, count=2)}
    held = desk.state.all("SELECT unit FROM reserved WHERE person = ?", ann.id)
    assert {one[0] for one in held} == first
    second = {one["unit"] for one in desk.next(kim, ENTAILMENT, count=9)}
    assert len(second) == 2
    assert not first & second
    for until in ("0", "until + 9e6"):  # when the clock was wrong, too
        desk.state.db.execute(f"UPDATE reserved SET until = {until}")
        assert len(desk.next(kim, ENTAILMENT, count=9)) == 4
        assert len(desk.next(ann, ENTAILMENT, count=9)) == 0


def test_a_label_is_in_the_ledger_with_how_it_was_given(desk_of):
    desk = desk_of()
    ann = desk.state.person("ANN")
    screen = desk.next(ann, ENTAILMENT, count=1)[0]
    text = next(one["value"] for one in screen["texts"] if one["name"] == "passage")
    evidence = [
        {"field": "passage", "start": 0, "end": 3},
        {"field": "passage", "start": 3, "end": 10_000},
        {"field": "nope", "start": 0, "end": 1},
        "junk",
    ]
    said = yes(screen, reason="It says so.", evidence=evidence, seconds=2.34)
    desk.give(ann, screen["unit"], said)
    (label,) = labels(desk)
    assert label.labeller.name == "human:ANN"
    assert label.verdict == {"entailed": True, "reason": "It says so."}
    assert mode_of(label) == "blind"
    how = label.detail["workbench"]
    assert how["seconds"] == 2.3
    assert how["evidence"] == [{"field": "passage", "start": 0, "end": 3, "text": text[:3]}]
    assert len(how["guideline"]) == 32


def test_numbers_of_units_tell_nothing_of_the_runs(desk_of):
    rows = desk_of().state.units("ORDER BY units.id")
    places = dict(desk_of().state.all("SELECT id, place FROM units"))
    assert [one.id for one in rows] == sorted(places, key=lambda one: places[one])


def test_evidence_and_changes_have_an_end(desk_of, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MOST_CHANGES", 3)
    text = "The bridge was built in stone. " * 200
    write_folder(tmp_path / "f", passages=PASSAGES.replace("A new", f"{text}A new"))
    desk = desk_of()
    ann = desk.state.person("ANN")
    row = next(one for one in desk.state.units("WHERE task = ?", ENTAILMENT) if text in one.content)
    marked = [{"field": "passage", "start": 0, "end": 3000}] * 30
    before = None
    for value in ("NO", "YES", "NO"):
        said = yes({"mode": "blind"}, value, before=before, evidence=marked)
        before = desk.give(ann, row.id, said)["uid"]
    with pytest.raises(Refused, match="3 times"):
        desk.give(ann, row.id, yes({"mode": "blind"}, before=before))
    *_, last = labels(desk)
    parts = last.detail["workbench"]["evidence"]
    assert [len(one["text"]) for one in parts] == [3000, 1000] + [0] * 18
    assert {one["end"] for one in parts} == {3000}


def test_the_same_label_twice_is_one_and_another_tab_is_told(desk_of):
    desk = desk_of()
    ann = desk.state.person("ANN")
    screen = desk.next(ann, ENTAILMENT, count=1)[0]
    first = desk.give(ann, screen["unit"], yes(screen))
    assert desk.give(ann, screen["unit"], yes(screen))["again"]  # the reply had got lost
    with pytest.raises(Refused, match="another tab"):
        desk.give(ann, screen["unit"], yes(screen, "NO"))
    assert len(labels(desk)) == 1
    desk.give(ann, screen["unit"], yes(screen, "NO") | {"before": first["uid"]})
    assert [one.overrules for one in labels(desk)] == [None, first["uid"]]


def test_passes_overlap_and_a_late_second_opinion_is_kept(desk_of):
    desk = desk_of("[ui]\npasses = 2\noverlap = 0.5\nseed = 3")
    passes = [row.passes for row in desk.state.units("WHERE task = ?", ENTAILMENT)]
    assert set(passes) == {1, 2}
    people = [desk.state.person(name) for name in ("ANN", "KIM", "LEE")]
    number = next(
        one.id for one in desk.state.units("WHERE task = ?", ENTAILMENT) if one.passes == 1
    )
    screen = desk.screen(people[0], desk.state.unit(number))
    assert not desk.give(people[0], number, yes(screen))["told"]
    assert "second opinion" in desk.give(people[1], number, yes(screen))["told"]
    assert number not in [one["unit"] for one in desk.next(people[2], ENTAILMENT, count=9)]
    desk.state.leave_out([[ENTAILMENT, name] for name in ("ANN", "KIM")])  # LEE's stands for theirs
    assert not desk.give(people[2], number, yes(screen))["told"]


def test_answers_are_asked_once_their_nuggets_are_labelled(desk_of):
    desk = desk_of()
    ann = desk.state.person("ANN")
    before = len(desk.next(ann, ANSWER, count=9))
    for task in ("r2c2.dialogue_act", ENTAILMENT):
        while screens := desk.next(ann, task, count=1):
            verdict = {"act": "answer"} if "act" in task else {"entailed": "YES"}
            desk.give(ann, screens[0]["unit"], yes(screens[0]) | {"verdict": verdict})
    assert len(desk.next(ann, ANSWER, count=9)) > before


def test_units_are_taken_up_at_once_again_after_a_busy_moment(tmp_path):
    folder = tmp_path / "f"
    write_folder(folder)
    bench = Bench(Opened.open(folder))
    bench.start()
    try:
        bench.desk.stale, bench.desk.sync_takes = True, 600.0
        assert not bench.now(bench.desk.refresh)
        bench.keep_fresh()
        assert not bench.desk.stale
        bench._in(bench._scoring, time.monotonic).result()  # that is behind it
        assert bench.desk.sync_takes < 600.0
    finally:
        bench.stop()


def test_people_are_asked_under_the_tasks_alone_that_the_folder_names(desk_of):
    desk = desk_of('[ui]\ntasks = ["entailment"]')
    assert set(desk.tasks) == {ENTAILMENT} == {one.task for one in desk.state.units("WHERE wanted")}
    ann = desk.state.person("ANN")
    assert buttons(desk, ann) == [ENTAILMENT, f"{ENTAILMENT}?queue=widest"]
    with pytest.raises(SettingsError, match=r"under entailments here\. There are: r2c2\.dialogue"):
        desk_of('[ui]\ntasks = ["entailments"]', "other")


def test_disagreements_are_settled_without_names(desk_of):
    desk = desk_of("[ui]\npasses = 2")
    ann, kim = desk.state.person("ANN"), desk.state.person("KIM")
    lee = desk.state.person("LEE", Role.ADJUDICATOR)
    number = desk.state.units("WHERE task = ? ORDER BY place", ENTAILMENT)[0].id
    for who, value in ((ann, "YES"), (kim, "NO")):
        screen = desk.screen(who, desk.state.unit(number))
        assert screen["others"] == []
        desk.give(who, number, yes(screen, value, reason=f"because {value}"))
    with pytest.raises(Refused):
        desk.next(ann, ENTAILMENT, "disagreements")
    (screen,) = desk.next(lee, ENTAILMENT, "disagreements")
    assert screen["mode"] == "adjudication"
    assert {one["reason"] for one in screen["others"]} == {"because YES", "because NO"}
    assert "ANN" not in str(screen)
    with pytest.raises(Refused):
        desk.give(kim, number, yes(screen, "YES"))
    desk.give(lee, number, yes(screen, "YES", seen=[one["uid"] for one in screen["others"]]))
    settled = labels(desk)[-1]
    assert mode_of(settled) == "adjudication"
    assert set(settled.detail["workbench"]["settles"]) == {one.uid for one in labels(desk)[:2]}
    assert desk.next(lee, ENTAILMENT, "disagreements") == []
    others = desk.state.units("WHERE task = ? ORDER BY place", ENTAILMENT)[1:]
    for row in others:
        for who, value in ((ann, "YES"), (kim, "NO")):
            desk.give(who, row.id, yes(desk.screen(who, row), value))
    first, *rest = [one["unit"] for one in desk.next(lee, ENTAILMENT, "disagreements")]
    eve = desk.state.person("EVE", Role.ADJUDICATOR)
    assert desk.next(eve, ENTAILMENT, "disagreements") == []
    assert "Other people have 3 units open" in waits(
        desk, eve, ENTAILMENT, "disagreements", desk.state
    )
    assert f"{ENTAILMENT}?queue=disagreements" in buttons(desk, eve)
    desk.set_aside(lee, first, "later", "hard")
    assert [one["unit"] for one in desk.next(lee, ENTAILMENT, "disagreements")] == [*rest, first]
    assert desk.next(lee, ENTAILMENT, "skipped") == []
    with pytest.raises(Refused):
        desk.set_aside(ann, first, "later", "")


def test_who_settles_their_own_disagreement_is_asked_anew_and_keeps_what_was_said(desk_of):
    desk = desk_of("[ui]\npasses = 2")
    ann = desk.state.person("ANN", Role.ADJUDICATOR)
    kim = desk.state.person("KIM")
    number = desk.state.units("WHERE task = ? ORDER BY place", ENTAILMENT)[0].id
    for who, value in ((ann, "YES"), (kim, "NO")):
        desk.give(who, number, yes(desk.screen(who, desk.state.unit(number)), value))
    (screen,) = desk.next(ann, ENTAILMENT, "disagreements")
    assert not screen["settled"]  # the page begins with nothing said
    seen = [one["uid"] for one in screen["others"]]
    said = yes(screen, "NO", seen=seen) | {"before": screen["own"]["uid"]}
    desk.give(ann, number, said)
    settled = desk.screen(ann, desk.state.unit(number))
    assert settled["settled"]
    assert [one["uid"] for one in settled["others"]] == seen  # her own first one, too


def test_an_older_ledger_is_asked_what_it_lost(desk_of, tmp_path):
    desk = desk_of()
    ann = desk.state.person("ANN")
    first, second = [one["unit"] for one in desk.next(ann, ENTAILMENT, count=2)]
    desk.give(ann, first, yes(desk.screen(ann, desk.state.unit(first))))
    kept = tmp_path / "kept.sqlite"
    with sqlite3.connect(tmp_path / "f" / "labels.sqlite") as now, sqlite3.connect(kept) as then:
        now.backup(then)
    desk.give(ann, second, yes(desk.screen(ann, desk.state.unit(second))))
    with sqlite3.connect(kept) as then, sqlite3.connect(tmp_path / "f" / "labels.sqlite") as now:
        then.backup(now)
    again = desk_of()
    ann = again.state.person("ANN")
    left = [one["unit"] for one in again.next(ann, ENTAILMENT, count=9)]
    assert second in left
    assert first not in left
    assert [one["unit"] for one in recent(again, ann, ENTAILMENT)] == [first]


def test_practice_is_told_the_gold_label_and_makes_none(desk_of, tmp_path):
    desk = desk_of('[ui]\nmode = "training"')
    gold, ann = desk.state.person("GOLD"), desk.state.person("ANN")
    screen = desk.screen(ann, desk.state.units("WHERE task = ?", ENTAILMENT)[0])
    with pytest.raises(Refused, match="no label by human:GOLD"):
        desk.give(ann, screen["unit"], yes(screen))
    from assay.ledger.exchange import person, person_label

    row = desk.state.unit(screen["unit"])
    content = desk.tasks[ENTAILMENT].unit.model_validate_json(row.content).model_dump(mode="json")
    verdict = {"entailed": True, "reason": "Word for word."}
    desk.ledger.add([person_label(person("human:GOLD"), desk.tasks[ENTAILMENT], content, verdict)])
    told = desk.give(ann, screen["unit"], yes(screen, "NO"))["gold"]
    assert told.pop("uid")
    assert told == {"right": False, "verdict": verdict, "reason": "Word for word."}
    assert [one.labeller.name for one in labels(desk)] == ["human:GOLD"]
    assert gold.name == "GOLD"
    desk.sync()
    assert desk.state.practised() == {ann.id: (0, 1)}
    toml = tmp_path / "f" / "assay.toml"
    topics = {row.topic for row in desk.state.units("WHERE wanted")}
    own = f"[ui.topics]\nKIM = {sorted(topics - {screen['topic']})}"  # practice is for all
    toml.write_text(toml.read_text() + own)
    desk.take_up(Opened.open(tmp_path / "f"))
    assert buttons(desk, desk.state.person("KIM")) == [ENTAILMENT]
    assert all([*one["queues"]] == ["open"] for one in counts(desk, ann, desk.state))  # all alike


def test_labels_from_elsewhere_count_as_done(desk_of):
    desk = desk_of()
    ann = desk.state.person("ANN")
    while screens := desk.next(ann, ENTAILMENT, count=1):
        desk.give(ann, screens[0]["unit"], yes(screens[0]))
    desk.state.path.unlink()  # what the workbench knew is found again in the ledger
    for ending in ("-wal", "-shm"):
        desk.state.path.with_name(f"{desk.state.path.name}{ending}").unlink(missing_ok=True)
    again = desk_of()
    assert again.next(again.state.person("KIM"), ENTAILMENT, count=9) == []


def test_nuggets_are_edited_where_people_label(tmp_path):
    folder = copy_example("trec-rag", tmp_path / "trec-rag")
    with Desk.open(Opened.open(folder)) as desk:
        desk.sync()
        topics = {row.topic for row in desk.state.units("WHERE wanted")}
        assert topics <= {"1", "2"} or all(len(one) < 20 for one in topics)
        ann = desk.state.person("ANN")
        queues = {one["task"]: one["queues"] for one in counts(desk, ann, desk.state)}
        assert queues["trec_rag.assignment"]["widest"]
        assert "widest" not in queues["trec_rag.nugget_edit"]  # no score hangs on an edit
        edits = desk.next(ann, "trec_rag.nugget_edit", count=50)
        screen = next(one for one in edits if one["controls"][0]["from"])
        nugget = screen["controls"][0]["from"][0]["text"]

        def asked():
            rows = desk.state.units("WHERE wanted AND task = 'trec_rag.assignment'")
            return {one for row in rows for one in json.loads(row.content)["nuggets"]}

        assert nugget in asked()
        becomes = [{"text": f"{nugget} Indeed."}, {"text": "A second one."}]
        said = {"verdict": {"becomes": becomes}, "before": None, "mode": "blind"}
        desk.give(ann, screen["unit"], said)
        desk.sync()
        assert nugget not in asked()
        assert {one["text"] for one in becomes} <= asked()


def test_skipped_units_wait_in_their_own_queue_and_flags_are_seen_by_all(desk_of):
    desk = desk_of()
    ann, kim = desk.state.person("ANN"), desk.state.person("KIM")
    first = desk.next(ann, ENTAILMENT, count=1)[0]["unit"]
    desk.set_aside(ann, first, "skip", "unclear")
    assert first not in [one["unit"] for one in desk.next(ann, ENTAILMENT, count=9)]
    assert [one["unit"] for one in desk.next(ann, ENTAILMENT, "skipped", count=9)] == [first]
    desk.set_aside(ann, first, "flag", "flagged")
    assert [one["unit"] for one in desk.next(kim, ENTAILMENT, "flagged", count=9)] == [first]
    for kind in ("flag", "../x"):
        if kind == "flag":
            desk.set_aside(ann, first, kind, "")
            assert desk.next(kim, ENTAILMENT, "flagged") == []
        else:
            with pytest.raises(Refused):
                desk.set_aside(ann, first, kind, "x")
    desk.set_aside(kim, first, "note", "<b>cut off</b>")
    told = [(who, kind, text, unit) for who, kind, text, unit, *_ in live.said_beside(desk.state)]
    assert told == [
        ("KIM", "note", "<b>cut off</b>", first), ("ANN", "skip", "unclear", first)
    ]  # fmt: skip
    desk.give(ann, first, yes(desk.screen(ann, desk.state.unit(first))))
    with pytest.raises(Refused, match="You have labelled this unit, and the label stands"):
        desk.set_aside(ann, first, "skip", "not sure after all")


def test_units_are_taken_up_a_part_at_a_time(desk_of, monkeypatch):
    monkeypatch.setattr(state, "_WRITTEN", 3)
    desk = desk_of()
    ann, given = desk.state.person("ANN"), []

    def each(rows):
        for row in rows:
            if isinstance(row, int):  # between two parts somebody labels
                with WorkbenchState(desk.state.path) as other:
                    other.set_aside(1, ann.id, "note", f"before {row}")
                given.append(row)
            yield row

    desk.state.execute("UPDATE units SET wanted = 0")
    desk.sync(each)
    count = len(desk.state.units("WHERE wanted"))
    assert given == list(range(1, count + 1, 3))
    assert count > 6
    desk.state.set_machines({row.hash: ("ok", 1.0) for row in desk.state.units("WHERE wanted")})
    assert desk.state.one("SELECT COUNT(*) FROM units WHERE machine = 'ok'")[0] == count
