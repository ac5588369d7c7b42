"""The report at the workbench: told of while it is made, kept until a label comes."""

from __future__ import annotations

import asyncio
import json

import pytest

from assay.api.opened import Opened
from assay.judging.progress import Silent
from assay.ledger.chain import Head
from assay.model.errors import LedgerError
from assay.web import report
from assay.web.report import LiveReport, write_live
from tests.cli.test_several_protocols import TASKS
from tests.web.conftest import write_folder
from tests.web.test_server import Client


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(report, "_AT_ONCE", 0.01)


def report_of(client):
    """The report, once it is there."""
    for _ in range(100):
        reply, text = client.get("/report")
        if reply.status == 302:
            return client.get(reply.getheader("Location"))
        assert (reply.status, "being made" in text) == (200, True)
    raise AssertionError("it never comes")


def test_who_waits_is_told_how_far_it_is(at_once):
    gate, given = asyncio.Event(), []

    async def write(folder, told, last):
        given.append(last)
        told("pages", 3, 0.25)
        await gate.wait()
        return Head(len(given))

    async def visits():
        live = LiveReport(write)
        first = live.asked()
        assert not await live.there(first)
        assert live.in_words().startswith("Now: pages, 25 %;")
        assert live.asked() == first  # one is made at a time
        gate.set()
        assert await live.there(first)
        second = live.asked()
        assert (second > first, await live.there(first), await live.there(second)) == (True,) * 3
        live.forget()
        assert await live.there(live.asked())
        live.close()

    asyncio.run(visits())
    assert given == [None, Head(1), None]


def test_what_went_wrong_is_told_and_the_next_is_made_anew(at_once):
    wrong = [LedgerError("labels.sqlite: damaged")]

    async def write(folder, told, last):
        if wrong:
            raise wrong.pop()
        return Head(1)

    async def visits():
        live = LiveReport(write)
        with pytest.raises(LedgerError):
            await live.there(live.asked())
        assert await live.there(live.asked())
        live.close()

    asyncio.run(visits())


def test_a_report_is_written_again_where_labels_came_and_not_otherwise(serve, tmp_path):
    client = Client(serve(write_folder(tmp_path / "f")))
    screen = client.start("r2c2.dialogue_act")["screens"][0]
    first, before = report_of(client)
    assert (first.status, "Labels by people" in before) == (200, True)
    assert report_of(client)[1] == before
    assert client.give(screen, {"act": "answer"})[0] == 200
    assert report_of(client)[1] != before
    reply, text = client.get("/api/report?n=1")
    assert (reply.status, json.loads(text)["there"]) == (200, True)


def test_nothing_but_pages_of_the_report_is_given_out(serve, tmp_path):
    server = serve(write_folder(tmp_path / "f"), "--invite", "KIM")
    client = Client(server)
    (tmp_path / "secret.html").write_text("secret", encoding="utf-8")
    for name in ("report.html", "../secret.html", f"%2e%2e/{tmp_path}/secret.html", "x.html"):
        reply, text = client.get(f"/report/{name}")
        assert reply.status in (302, 404), name
        assert "secret" not in text
    report_of(client)
    kim = Client(server, server.invited("KIM"))
    for path in ("/report", "/report/report.html", "/api/report?n=1"):
        assert kim.get(path)[0].status == 403


def test_reports_of_several_protocols_lie_where_they_are_linked(tmp_path, monkeypatch):
    (tmp_path / "several.py").write_text(TASKS, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    folder = tmp_path / "f"
    folder.mkdir()
    (folder / "assay.toml").write_text(
        '[evaluation]\nprotocol = ["several:ONE", "several:TWO"]\n[inputs]\n'
        '[labellers]\ndefault = "several:judge"\n',
        encoding="utf-8",
    )
    opened = Opened.open(folder)
    with opened.ledger() as ledger:
        opened.judge(ledger, progress=Silent())

    async def write(to, told, last):
        return write_live(opened, to, told, last)

    async def visit():
        live = LiveReport(write)
        assert await live.there(live.asked())
        (one, own) = (live.file(name) for name in ("report.html", "several_ONE/report.html"))
        assert '<a href="./several_ONE/report.html">' in one.read_text(encoding="utf-8")
        assert own is not None
        live.close()

    asyncio.run(visit())
