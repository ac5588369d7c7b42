"""What counts as a person's own word, and what a page claims to have shown."""

from __future__ import annotations

import html
import json
import re

import pytest

from assay.api.opened import Opened
from assay.ledger import NewLabel
from assay.model.labels import SEEN, Status, is_independent, mode_of
from assay.web import live
from assay.web.desk import Desk, Refused
from assay.web.people import Role
from tests.web.conftest import write_folder
from tests.web.test_server import Client

ENTAILMENT = "r2c2.entailment"


@pytest.fixture(params=[2])
def desk(tmp_path, request):
    folder = write_folder(tmp_path / "f", more=f"[ui]\npasses = {request.param}")
    with Desk.open(Opened.open(folder)) as desk:
        desk.sync()
        yield desk


def give(desk, who, number, value, mode="", seen=()):
    screen = desk.screen(who, desk.state.unit(number), mode)
    own = screen["own"]
    said = {
        "verdict": {"entailed": value}, "before": own and own["uid"], "mode": screen["mode"],
        "seen": list(seen),
    }  # fmt: skip
    return desk.give(who, number, said)


def units(desk):
    return [row.id for row in desk.state.units("WHERE task = ? ORDER BY place", ENTAILMENT)]


def labels(desk):
    return [one for one in desk.ledger.labels() if one.labeller.is_human]


def agreement(desk):
    (pair,) = live.agreements(desk).pairs
    assert {one.interval for _, one in pair.estimates} == {None}  # of two topics
    return pair.n, dict(pair.estimates)["agreement"].value


def test_of_a_class_every_one_is_shown_not_every_two(desk):
    many = live.MOST_PAIRED + 1
    for at in range(many):
        for number in units(desk):
            give(desk, desk.state.person(f"P{at}"), number, "NO" if at else "YES")
    found = live.agreements(desk)
    assert not found.pairs  # nobody labelled but people
    (overlap,) = found.overlaps
    assert [one.name for one in overlap.people] == [f"P{at}" for at in range(many)]
    assert (overlap.shared, overlap.differ) == (len(units(desk)), len(units(desk)))


def test_settling_takes_no_disagreement_out_of_agreement(desk):
    ann, kim = desk.state.person("ANN", Role.ADJUDICATOR), desk.state.person("KIM")
    for at, number in enumerate(units(desk)):
        give(desk, ann, number, "YES")
        give(desk, kim, number, "YES" if at % 2 else "NO")
    before = agreement(desk)
    assert before == (4, 0.5)
    while screens := desk.next(ann, ENTAILMENT, "disagreements", count=1):
        uids = [one["uid"] for one in screens[0]["others"]]
        give(desk, ann, screens[0]["unit"], "NO", "adjudication", uids)
    assert sum(mode_of(one) == "adjudication" for one in labels(desk)) == 2
    assert agreement(desk) == before


def test_what_was_settled_is_settled_anew_or_not_at_all(desk):
    ann, kim = desk.state.person("ANN", Role.ADJUDICATOR), desk.state.person("KIM")
    number = units(desk)[0]
    give(desk, ann, number, "YES")
    give(desk, kim, number, "NO")
    give(desk, ann, number, "NO", "adjudication")
    screen = desk.screen(ann, desk.state.unit(number))
    assert screen["mode"] == "adjudication"
    said = {"verdict": {"entailed": "YES"}, "before": screen["own"]["uid"], "mode": "blind"}
    with pytest.raises(Refused, match="You have settled this unit") as refused:
        desk.give(ann, number, said)
    assert refused.value.status == 422  # the page keeps the verdict
    assert desk.next(ann, ENTAILMENT, "disagreements") == []


@pytest.mark.parametrize("desk", [3], indirect=True)
def test_disagreements_wait_for_all_passes_and_a_settlement_is_none(desk):
    ann = desk.state.person("ANN", Role.ADJUDICATOR)
    kim, lee = desk.state.person("KIM"), desk.state.person("LEE")
    number = units(desk)[0]
    give(desk, kim, number, "YES")
    give(desk, lee, number, "NO")
    assert desk.next(ann, ENTAILMENT, "disagreements") == []
    give(desk, ann, number, "NO", "adjudication")
    assert desk.state.unit(number).labelled == 2


@pytest.mark.parametrize("desk", [4], indirect=True)
def test_what_people_are_most_divided_on_is_settled_first(desk):
    ann = desk.state.person("ANN", Role.ADJUDICATOR)
    nearly, divided, *_ = units(desk)
    for name, one, other in (
        ("KIM", "YES", "YES"), ("LEE", "YES", "YES"), ("PAT", "YES", "NO"), ("JO", "NO", "NO"),
    ):  # fmt: skip
        give(desk, desk.state.person(name), nearly, one)
        give(desk, desk.state.person(name), divided, other)
    found = desk.next(ann, ENTAILMENT, "disagreements")
    assert [one["unit"] for one in found] == [divided, nearly]


def test_who_has_looked_at_others_labels_is_not_independent(desk):
    ann, kim = desk.state.person("ANN", Role.ADJUDICATOR), desk.state.person("KIM")
    first, second, *_ = units(desk)
    desk.see(ann, [first])
    for number in (first, second):
        give(desk, ann, number, "YES")
        give(desk, kim, number, "YES")
    said = {one.unit: one for one in labels(desk) if one.labeller.name == "human:ANN"}
    assert mode_of(said[desk.state.unit(first).hash]) == SEEN
    assert not is_independent(said[desk.state.unit(first).hash])
    assert is_independent(said[desk.state.unit(second).hash])
    assert agreement(desk)[0] == 1


def test_a_label_claims_only_what_was_on_the_screen(desk):
    ann, kim = desk.state.person("ANN", Role.ADJUDICATOR), desk.state.person("KIM")
    lee = desk.state.person("LEE", Role.ADJUDICATOR)
    number = units(desk)[0]
    give(desk, ann, number, "YES")
    give(desk, kim, number, "NO")
    (screen,) = desk.next(lee, ENTAILMENT, "disagreements", count=1)
    shown = [one["uid"] for one in screen["others"]]
    late = give(desk, desk.state.person("EVE"), number, "NO")["uid"]
    give(desk, lee, number, "NO", "adjudication", [*shown, "made up"])
    settles = labels(desk)[-1].detail["workbench"]["settles"]
    assert sorted(settles) == sorted(shown)
    assert late not in settles


def test_a_person_may_be_called_the_machine(desk):
    ann, other = desk.state.person("ANN"), desk.state.person("the machine")
    number = units(desk)[0]
    give(desk, ann, number, "YES")
    give(desk, other, number, "YES")
    (pair,) = live.agreements(desk).pairs
    assert (pair.first, pair.second) == ("ANN", "the machine")


def test_labels_that_came_from_elsewhere_are_seen_at_once(serve, tmp_path, assay):
    folder = write_folder(tmp_path / "f")
    client = Client(serve(folder))
    before = client.start()["screens"]
    texts = {one["name"]: one["value"] for one in before[0]["texts"]}
    row = {
        "task": ENTAILMENT, "labeller": "human:KIM", "verdict": {"entailed": "YES"},
        "unit": {"passage": texts["passage"], "nugget": texts["nugget"]},
    }  # fmt: skip
    (tmp_path / "more.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    assert assay("labels", "import", folder, tmp_path / "more.jsonl").returncode == 0
    _, home = client.get("/")
    assert "1 of 4 labels" in home


@pytest.mark.parametrize(
    ("elsewhere", "ours"),
    [
        ({"Sec_Fetch_Site": "cross-site"}, {"Sec_Fetch_Site": "same-origin"}),
        ({}, {}),  # over plain HTTP browsers tell no other machine where somebody comes from
    ],
)
def test_a_link_in_a_mail_leads_in_and_later_back(serve, tmp_path, elsewhere, ours):
    server = serve(write_folder(tmp_path / "f"))
    client = Client.__new__(Client)
    client.server, client.cookie = server, ""
    path = server.link.partition(server.base)[2]

    def led(again=""):
        cookie, client.cookie = client.cookie, ""  # which no browser brings from elsewhere
        reply, text = client.get(path + again, **elsewhere)
        assert (reply.status, "http-equiv" in text) == (200, not again)
        client.cookie = f"{cookie}; {reply.getheader('Set-Cookie').partition(';')[0]}"
        reply, _ = client.get(html.unescape(re.search('href="(/enter.+?)"', text)[1]), **ours)
        assert (reply.status, reply.getheader("Location")) == (302, "/")
        return reply

    client.cookie = led().getheader("Set-Cookie").partition(";")[0]
    assert client.cookie.startswith(f"assay_{server.port}=")
    assert client.get("/runs", **ours)[0].status == 200  # now the link is used up
    # Nor does a link let in at once that somebody made to look like our own page's.
    assert led("&here=1&instead=1").getheader("Set-Cookie") is None


def test_nobody_is_made_somebody_else_without_being_asked(serve, tmp_path):
    server = serve(write_folder(tmp_path / "f"), "--invite", "EVE")
    ann, path = Client(server), server.invited("EVE").partition(server.base)[2]
    for site in ("none", "same-origin"):  # the second after a page of somebody else's
        reply, text = ann.get(path, Sec_Fetch_Site=site)
        assert reply.getheader("Set-Cookie") is None
        assert "You are signed in as <bdi>ANN</bdi>" in text
    sure = html.unescape(re.search(r'href="(/enter[^"]*)"', text)[1])
    for site in ("cross-site", "same-site", "none"):
        assert f"assay_{server.port}=" not in str(ann.get(sure, Sec_Fetch_Site=site)[0].headers)
    reply, _ = ann.get(sure, Sec_Fetch_Site="same-origin")
    ann.cookie = reply.getheader("Set-Cookie").partition(";")[0]
    assert "signed in as <bdi>EVE</bdi>" in ann.get("/")[1]


@pytest.mark.parametrize(
    "path",
    [
        f"/label/{ENTAILMENT}?unit={'9' * 25}", f"/api/next/{ENTAILMENT}?have={'9' * 25}",
        f"/label/{ENTAILMENT}?unit=%D9%A3", f"/units?n={'9' * 30},1",
    ],
)  # fmt: skip
def test_numbers_that_are_none_are_passed_over(serve, tmp_path, path):
    client = Client(serve(write_folder(tmp_path / "f")))
    assert client.get(path)[0].status == 200


def test_a_refusal_is_a_page_for_a_person(serve, tmp_path):
    client = Client(serve(write_folder(tmp_path / "f")))
    reply, text = client.get("/label/%3Cb%3Enope", Accept="text/html")
    assert reply.status == 404
    assert reply.getheader("Content-Type").startswith("text/html")
    assert "<b>" not in text
    client.start()
    reply, _ = client.ask("POST", "/api/aside/1", "{}", X_Assay_Token="ä")
    assert reply.status == 403


def test_words_are_found_in_texts_and_not_in_names_of_fields(serve, tmp_path):
    client = Client(serve(write_folder(tmp_path / "f")))
    assert "0 found" in client.get("/search?q=nugget")[1]
    assert "0 found" not in client.get("/search?q=BRIDGE")[1]


def test_who_settles_has_seen(desk):
    ann, kim = desk.state.person("ANN", Role.ADJUDICATOR), desk.state.person("KIM")
    lee = desk.state.person("LEE", Role.ADJUDICATOR)
    number = units(desk)[0]
    give(desk, ann, number, "YES")
    give(desk, kim, number, "NO")
    desk.next(lee, ENTAILMENT, "disagreements", count=1)
    told = give(desk, lee, number, "NO")["told"]  # from another page than that of disagreements
    assert "had seen" in told
    assert not is_independent(labels(desk)[-1])


def test_answers_tell_nobody_others_labels_of_their_nuggets_first(desk):
    ann, kim = desk.state.person("ANN"), desk.state.person("KIM")
    topics = {desk.state.unit(number).topic for number in units(desk)}
    for number in units(desk):
        give(desk, ann, number, "YES")
    desk.sync()

    def open_to(who):
        return {one["topic"] for one in desk.next(who, "r2c2.answer", count=9)}

    assert open_to(ann) == topics  # her own labels are all that there is
    desk.state.execute("DELETE FROM reserved")
    before = open_to(kim)
    for number in units(desk):
        topic = desk.state.unit(number).topic
        assert topic not in before
        give(desk, kim, number, "YES")
        left = [desk.state.unit(one) for one in units(desk)]
        done = {one.topic for one in left} - {one.topic for one in left if one.labelled < 2}
        assert open_to(kim) == done
        before = done
        desk.state.execute("DELETE FROM reserved")
    assert all(is_independent(one) for one in labels(desk))


@pytest.mark.parametrize("desk", [1], indirect=True)
def test_who_saw_which_nuggets_others_found_entailed_says_nothing_independent_of_them(desk):
    ann, kim = desk.state.person("ANN"), desk.state.person("KIM")
    mine, *others = units(desk)
    give(desk, kim, mine, "YES")
    for number in others:
        give(desk, ann, number, "YES")
    desk.sync()
    assert desk.next(kim, "r2c2.answer", count=9)
    give(desk, kim, others[0], "NO")
    assert not is_independent(labels(desk)[-1])
    give(desk, kim, mine, "NO")
    assert is_independent(labels(desk)[-1])


def test_who_saw_which_nuggets_a_machine_found_entailed_says_nothing_independent_of_them(desk):
    ann = desk.state.person("ANN")
    machine, task = desk.asked.machine_of(ENTAILMENT), desk.tasks[ENTAILMENT]
    rows = [desk.state.unit(number) for number in units(desk)]
    desk.ledger.add(
        NewLabel(
            key=row.hash, task=ENTAILMENT, version=task.version, unit=row.hash,
            content=json.loads(row.content), labeller=machine, status=Status.OK,
            verdict={"entailed": True, "reason": ""},
        ) for row in rows
    )  # fmt: skip
    desk.sync()
    before, after = rows[0], rows[-1]
    give(desk, ann, before.id, "YES")
    assert desk.next(ann, "r2c2.answer", count=9)
    give(desk, ann, after.id, "YES")
    assert [is_independent(one) for one in labels(desk)] == [True, False]
