"""What is worked out behind the pages."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import threading
from types import SimpleNamespace

import pytest

from assay.api.opened import Opened
from assay.web import server, turns
from assay.web.server import opened_bench
from assay.web.turns import OLDEST, Behind
from tests.web.conftest import write_folder


class Clock:
    def __init__(self, monkeypatch):
        self.now = 1000.0
        monkeypatch.setattr(turns, "time", SimpleNamespace(monotonic=lambda: self.now))


def test_nobody_waits_for_what_is_worked_out_behind(monkeypatch):
    clock = Clock(monkeypatch)
    monkeypatch.setattr(turns, "AT_ONCE", 0.01)
    made, gate = [], asyncio.Event()

    async def make():
        made.append(clock.now)
        await gate.wait()
        clock.now += 2
        return len(made)

    async def visits():
        work = Behind(make)
        assert (await work.last())[0] is None
        gate.set()
        assert await work.fresh() == (1, 0.0)
        clock.now += 19
        assert await work.last() == (1, 19)  # it rests ten times as long as it took
        assert len(made) == 1
        clock.now += 2
        gate.clear()
        assert await work.fresh() == (1, 21)  # of before; the new one is under way
        assert len(made) == 2
        clock.now += OLDEST
        asks = asyncio.create_task(work.fresh())
        await asyncio.sleep(0.1)
        assert not asks.done()  # what there is is too old
        gate.set()
        assert await asks == (2, 0.0)
        assert len(made) == 2

    asyncio.run(visits())


def test_what_cannot_be_had_anew_is_shown_till_it_is_too_old(monkeypatch):
    clock = Clock(monkeypatch)
    fails = False

    async def make():
        clock.now += 1
        if fails:
            raise OSError("gone")
        return "there"

    async def visits():
        nonlocal fails
        work = Behind(make)
        assert await work.fresh() == ("there", 0.0)
        fails = True
        clock.now += 20
        assert (await work.fresh())[0] == "there"
        clock.now += OLDEST
        with pytest.raises(OSError, match="gone"):
            await work.fresh()
        fails = False
        clock.now += 20
        assert (await work.fresh())[0] == "there"

    asyncio.run(visits())


def test_all_who_ask_for_scores_before_they_are_begun_wait_for_the_same(tmp_path, monkeypatch):
    begun, go_on, scored = threading.Event(), threading.Event(), []

    def score():
        scored.append(len(scored))
        begun.set()
        assert go_on.wait(10)
        return scored[-1]

    async def asked(bench):
        first = asyncio.ensure_future(bench.scored())
        await asyncio.to_thread(begun.wait, 10)
        others = [asyncio.ensure_future(bench.scored()) for _ in range(20)]
        await asyncio.sleep(0)
        others.pop().cancel()  # somebody goes away
        go_on.set()
        return await asyncio.gather(first, *others)

    with opened_bench(Opened.open(write_folder(tmp_path / "f"))) as bench:
        monkeypatch.setattr(bench, "_score", score)
        assert asyncio.run(asked(bench)) == [0] + [1] * 19


def test_the_disk_is_told_to_keep_labels_which_nobody_waits_for(tmp_path, monkeypatch, capsys):
    told = []

    def fsync(number):
        told.append(os.fstat(number).st_ino == (tmp_path / "f" / "labels.sqlite-wal").stat().st_ino)
        if len(told) > 1:
            raise OSError("gone")

    async def label(bench):
        ann = await bench.do(bench.desk.state.person, "ANN")
        for screen in await bench.do(bench.desk.next, ann, "r2c2.entailment", count=2):
            said = {"verdict": {"entailed": "YES"}, "before": None}
            assert (await bench.give(ann, screen["unit"], said))["uid"]
            await bench._flushing

    with opened_bench(Opened.open(write_folder(tmp_path / "f"))) as bench:
        monkeypatch.setattr(os, "fsync", fsync)
        asyncio.run(label(bench))
    assert told == [True, True]
    assert "power cut could lose the latest labels: gone" in capsys.readouterr().err


def test_logs_are_moved_into_the_files_by_nobody_who_labels(tmp_path, monkeypatch):
    monkeypatch.setattr(server, "_IN_LOGS", 0.05)
    folder = write_folder(tmp_path / "f")

    def kept():
        """Labels in the file itself."""
        copy = shutil.copy(folder / "labels.sqlite", tmp_path / "copy.sqlite")
        with sqlite3.connect(copy) as db:
            return db.execute("SELECT COUNT(*) FROM labels").fetchone()[0]

    async def label(bench):
        found = []
        ann = await bench.do(bench.desk.state.person, "ANN")
        for screen in await bench.do(bench.desk.next, ann, "r2c2.entailment", count=3):
            said = {"verdict": {"entailed": "YES"}, "before": None}
            await bench.give(ann, screen["unit"], said)
            await bench._flushing
            found.append(kept())
            await bench._moving
            found.append(kept())
        return found

    with opened_bench(Opened.open(folder)) as bench:
        assert asyncio.run(label(bench)) == [0, 1, 1, 2, 2, 3]
