"""The report at the workbench: told of while it is made, kept until a label comes."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import re
import shutil
import sqlite3

import pytest

from assay.api.opened import Opened
from assay.judging.progress import SilentProgress
from assay.ledger.chain import Head
from assay.model.errors import LedgerError
from assay.web import report
from assay.web.desk import Refused
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
        assert (reply.status, "Making the report" in text) == (200, True)
    raise AssertionError("it never comes")


class Ledger:
    """A ledger whose head a test moves, and the reports that are written of it."""

    def __init__(self, before=None):
        self.labels, self.written, self._before = 0, [], before
        self.live = LiveReport(self._write, self._head)

    async def _head(self):
        return Head(self.labels)

    async def _write(self, folder, told):
        labels = self.labels
        if self._before is not None:
            await self._before(told)
        self.written.append(labels)
        (folder / "report.html").write_text(str(labels), encoding="utf-8")

    async def report(self):
        number = await self.live.asked()
        assert await self.live.there(number)
        return number


def test_who_waits_is_told_how_far_it_is(at_once):
    gate = asyncio.Event()

    async def wait(told):
        told("pages", 3, 0.25)
        await gate.wait()

    async def visits():
        ledger = Ledger(wait)
        live = ledger.live
        first = await live.asked()
        assert not await live.there(first)
        assert live.in_words() == {"doing": "Now: pages.", "so_far": "25 %, 0 s so far."}
        assert await live.asked() == first  # nothing has changed
        gate.set()
        assert await live.there(first)
        second = await ledger.report()
        assert (second > first, await live.there(first)) == (True, True)
        assert ledger.written == [0]
        live.forget()
        await ledger.report()
        assert ledger.written == [0, 0]
        live.close()

    asyncio.run(visits())


def test_who_asks_while_an_older_one_is_made_gets_the_next(at_once):
    gate = asyncio.Event()

    async def visits():
        ledger = Ledger(lambda _told: gate.wait())
        live = ledger.live
        first = await live.asked()
        assert not await live.there(first)
        ledger.labels = 1
        second = await live.asked()
        live.forget()
        assert (second, await live.asked()) == (first + 1, second)  # one at most waits
        gate.set()
        assert (await live.there(second), ledger.written) == (True, [0, 1])
        await ledger.report()
        assert ledger.written == [0, 1]
        live.close()

    asyncio.run(visits())


def test_what_is_forgotten_while_a_report_is_made_is_made_anew():
    async def visits():
        async def forget(_told):
            if not ledger.written:
                ledger.live.forget()

        ledger = Ledger(forget)
        first = await ledger.report()
        assert await ledger.live.is_due(first)  # who waited for it sees it, once
        assert not await ledger.live.is_due(first)
        assert await ledger.live.is_due(await ledger.report())
        assert await ledger.live.is_due(0)
        assert ledger.written == [0, 0]
        ledger.live.close()

    asyncio.run(visits())


def test_a_report_whose_files_were_taken_away_is_written_again():
    async def visits():
        ledger = Ledger()
        await ledger.report()
        path = ledger.live.file("report.html")
        path.unlink()
        await ledger.report()
        assert ledger.live.file("report.html") == path
        shutil.rmtree(path.parent)
        await ledger.report()
        assert ledger.live.file("report.html").read_text(encoding="utf-8") == "0"
        ledger.live.close()

    asyncio.run(visits())


@pytest.mark.parametrize(
    ("error", "status", "told"),
    [(LedgerError("labels.sqlite: damaged"), 503, "labels.sqlite: damaged"),
     (RuntimeError("secret"), 500, "The report could not be made; see the terminal")],
)  # fmt: skip
def test_what_went_wrong_is_told_and_the_next_is_made_anew(error, status, told, capsys):
    wrong, unheard = [error], []

    async def fail(_told):
        if wrong:
            raise wrong.pop()

    async def visits():
        asyncio.get_running_loop().set_exception_handler(lambda *one: unheard.append(one))
        ledger = Ledger(fail)
        number = await ledger.live.asked()
        for _ in range(2):
            with pytest.raises(Refused, match=told) as found:
                await ledger.live.there(number)
            assert found.value.status == status
        await ledger.report()
        await ledger.live.asked()
        wrong.append(error)
        ledger.live.forget()
        await ledger.live.asked()
        await asyncio.sleep(0.01)  # nobody looks how that one ended
        ledger.live.close()

    asyncio.run(visits())
    gc.collect()
    assert unheard == []
    assert capsys.readouterr().err.count("Error: secret") == (2 if status == 500 else 0)


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


def test_a_report_that_is_opened_again_is_of_the_labels_as_they_stand(serve, tmp_path):
    client = Client(serve(write_folder(tmp_path / "f")))
    screen = client.start("r2c2.dialogue_act")["screens"][0]
    report_of(client)
    assert client.get("/report/report.html")[0].status == 200
    assert client.give(screen, {"act": "answer"})[0] == 200
    for path in ("/report/report.html", "/report/report.html?n=1"):
        reply, _ = client.get(path)
        assert (reply.status, reply.getheader("Location")) == (302, "/report")
    assert report_of(client)[0].status == 200
    assert client.get("/report/report.html")[0].status == 200


def test_a_page_that_is_older_than_labels_says_so(serve, tmp_path):
    client = Client(serve(write_folder(tmp_path / "f")))
    screen = client.start("r2c2.dialogue_act")["screens"][0]
    assert "Labels have arrived" not in report_of(client)[1]
    for _ in range(100):
        reply, _ = client.get("/report")
        if reply.status == 302:
            break
    assert client.give(screen, {"act": "answer"})[0] == 200
    waited, text = client.get(reply.getheader("Location"))
    assert waited.status == 200
    assert re.search(
        r'<a href="/report">Labels have arrived since this page was made, \d+ second', text
    )
    assert "Labels have arrived" not in report_of(client)[1]


def test_of_pages_beside_a_report_that_is_made_those_of_the_last_have_an_age(at_once):
    gate, other = asyncio.Event(), "other.html"

    async def visits():
        ledger = Ledger(lambda _told: gate.wait())
        live = ledger.live
        gate.set()
        await ledger.report()
        page = live.file("report.html")
        old, new = page.with_name(other), page.with_name("new.html")
        old.write_text("old", encoding="utf-8")
        assert await live.age(old) is None
        gate.clear()
        ledger.labels = 1
        assert await live.age(old) >= 0
        number = await live.asked()
        assert not await live.there(number)
        os.utime(old, (1, 1))
        new.write_text("new", encoding="utf-8")
        assert await live.age(old) > 1e9
        assert await live.age(new) is None
        gate.set()
        assert await live.there(number)
        assert await live.age(page) is None
        live.close()

    asyncio.run(visits())


def test_a_report_that_cannot_be_made_is_told_of_at_every_address(serve, tmp_path):
    folder = write_folder(tmp_path / "f")
    client = Client(serve(folder))
    with sqlite3.connect(folder / "labels.sqlite") as db:
        db.execute("PRAGMA writable_schema = ON")
        db.execute("DELETE FROM sqlite_schema WHERE name = 'labels'")
    for path in ("/report", "/report?n=1", "/api/report?n=1"):
        reply, text = client.get(path)
        assert (reply.status, "labels.sqlite" in json.loads(text)["error"]) == (503, True), path


def test_nothing_but_pages_of_the_report_is_given_out(serve, tmp_path):
    server = serve(write_folder(tmp_path / "f"), "--invite", "KIM")
    client = Client(server)
    (tmp_path / "secret.html").write_text("secret", encoding="utf-8")
    for name in ("report.html", "../secret.html", f"%2e%2e/{tmp_path}/secret.html", "x.html"):
        reply, text = client.get(f"/report/{name}")
        assert reply.status in (302, 404), name
        assert "secret" not in text
    report_of(client)
    for name in ("%00.html", "a" * 300 + ".html"):
        assert client.get(f"/report/{name}")[0].status == 302, name
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
        opened.judge(ledger, progress=SilentProgress())

    async def write(to, told):
        write_live(opened, to, told)

    async def head():
        return Head()

    async def visit():
        live = LiveReport(write, head)
        assert await live.there(await live.asked())
        (one, own) = (live.file(name) for name in ("report.html", "several_ONE/report.html"))
        assert '<a href="./several_ONE/report.html">' in one.read_text(encoding="utf-8")
        assert own is not None
        live.close()

    asyncio.run(visit())
