"""A server that is killed, full, slow or out of reach: nothing is lost, and nothing paid twice."""

from __future__ import annotations

import json
import random
import shutil
import socket
import subprocess
import threading
import time
from contextlib import contextmanager, suppress

import psycopg
import pytest

from assay.judging.engine import claimed, judge, plan
from assay.ledger import Ledger
from assay.ledger import postgres as module
from assay.ledger.address import Address
from assay.model.errors import LedgerError
from assay.model.labels import LabellerId
from tests.engine.asking import labeller, requests, run
from tests.engine.server import serve
from tests.engine.test_judging import entailed
from tests.engine.test_postgres import label
from tests.postgres import Server, served


@pytest.fixture(scope="module")
def breakable():
    """A server that no other test needs."""
    with served() as server:
        yield server


class Proxy:
    """Stands between a client and a server, holds up what is sent, and cuts connections."""

    def __init__(self, port: int) -> None:
        self.delay, self.away, self._port = 0.0, False, port
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self.away:
                client.close()
                continue
            server = socket.create_connection(("127.0.0.1", self._port))
            self._open += [client, server]
            for one, other in ((client, server), (server, client)):
                threading.Thread(target=self._pass, args=(one, other), daemon=True).start()

    def _pass(self, one: socket.socket, other: socket.socket) -> None:
        try:
            while data := one.recv(1 << 16):
                time.sleep(self.delay)
                other.sendall(data)
        except OSError:
            pass
        finally:
            self._close(one, other)

    def cut(self) -> None:
        """As a network does that fails."""
        self._close(*self._open)
        self._open.clear()

    def _close(self, *some: socket.socket) -> None:
        for one in some:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def leave(self) -> None:
        """Let nobody through any more."""
        self.away = True
        self.cut()

    def close(self) -> None:
        self._listener.close()
        self.cut()


class Clock:
    """Time that passes only where somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Pooler:
    """As PgBouncer is: clients share one session of the server's, or each has its own."""

    def __init__(self, port: int, *, shared: bool) -> None:
        self._to, self._shared = ("127.0.0.1", port), shared
        self._begun: tuple[socket.socket, bytes] | None = None
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            client, _ = self._listener.accept()
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        hello = client.recv(1 << 16)
        while hello[4:6] == b"\x04\xd2":  # it asks for TLS or GSS first
            client.sendall(b"N")
            hello = client.recv(1 << 16)
        server, said = (self._shared and self._begun) or self._begin(hello)
        at = said.index(b"K\0\0\0\x0c") + 5  # the number of a process of its own
        client.sendall(said[:at] + b"\0\0\0\1" + said[at + 4 :])
        while (data := client.recv(1 << 16)) and data[:1] != b"X":
            server.sendall(data)
            client.sendall(_until_ready(server))
        self._shared or server.close()

    def _begin(self, hello: bytes) -> tuple[socket.socket, bytes]:
        server = socket.create_connection(self._to)
        server.sendall(hello)
        self._begun = server, _until_ready(server)
        return self._begun


def _until_ready(server: socket.socket) -> bytes:
    said = b""
    while said[-6:-1] != b"Z\0\0\0\5":
        said += server.recv(1 << 16)
    return said


@contextmanager
def proxied(server: Server, schema: str):
    """The URL of a ledger behind a proxy, and the proxy."""
    proxy = Proxy(server.port)
    try:
        yield server.url(schema).replace(f":{server.port}/", f":{proxy.port}/"), proxy
    finally:
        proxy.close()


def complete(url, count, asked, again=0):
    """Every question has one label, and at most ``again`` were asked twice."""
    with Ledger.open(url) as ledger:
        labels = list(ledger.labels())
        assert ledger.checked().labels == count
    assert len({one.key for one in labels}) == len(labels) == count
    assert asked <= count + again


def meanwhile(server, after, work):
    """Do ``work`` in a thread as soon as so many questions have come."""

    def waiting():
        while len(server.requests) < after:
            time.sleep(0.002)
        work()

    thread = threading.Thread(target=waiting)
    thread.start()
    return thread


def test_a_server_that_is_killed_and_restarted_in_mid_run(breakable):
    url = breakable.url("killed")

    def killed():
        breakable.kill()
        time.sleep(0.3)
        breakable.start()

    with serve(entailed) as server:
        thread = meanwhile(server, 150, killed)
        tally = run(url, server.url, requests(400))
        thread.join()
        assert tally.asked == 400
        complete(url, 400, len(server.requests))


def test_connections_that_are_cut_again_and_again(breakable):
    with serve(entailed) as server, proxied(breakable, "cut") as (url, proxy):

        def cut():
            for _ in range(15):
                proxy.cut()
                time.sleep(0.02)

        thread = meanwhile(server, 50, cut)
        tally = run(url, server.url, requests(600))
        thread.join()
        assert tally.asked == 600
        complete(url, 600, len(server.requests))


def test_a_pooler_that_mixes_up_sessions_is_refused(postgres, on_postgres):
    for shared in (False, True):
        pooler = Pooler(postgres.port, shared=shared)
        url = on_postgres.replace(f":{postgres.port}", f":{pooler.port}")
        if shared:
            with pytest.raises(LedgerError, match="pool_mode = session"):
                Ledger.open(url)
        else:
            Ledger.open(url).close()
            Ledger.open(url, create=False).close()


def test_what_is_begun_is_begun_again_nine_times(breakable, monkeypatch):
    monkeypatch.setattr(module.time, "sleep", lambda _seconds: None)
    with Ledger.open(breakable.url("nine")) as ledger:
        tried = []

        def write(again):
            tried.append(again)
            if len(tried) < 10:
                raise module._Lost("cut")
            return len(tried)

        assert ledger._db.persistently(write) == 10
        assert tried == [False] + 9 * [True]
        with pytest.raises(LedgerError, match="cut"):
            ledger._db.persistently(lambda _again: write(tried.clear() or True))


@pytest.mark.parametrize("made", [True, False])
def test_a_commit_of_which_nobody_heard_is_made_once(breakable, monkeypatch, made):
    with Ledger.open(breakable.url(f"unheard_{made}".lower())) as ledger:
        store, commit = ledger._db, ledger._db.commit
        lost = []

        def unheard():
            if lost or made:
                commit()
            if not lost:
                lost.append(True)
                breakable.run(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    f"WHERE pid = {store._connection.info.backend_pid}"
                )
                store._within = True  # for whoever waits for the answer
                store.execute("SELECT 1")

        monkeypatch.setattr(store, "commit", unheard)
        added = ledger.add([label(1), label(2)])
        assert len(added) == 2
        assert [one.uid for one in ledger.labels()] == added
        assert ledger.checked().labels == 2


class Ended:
    """Ends the session of a ledger before every so manyth query."""

    def __init__(self, server: Server, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, every: int):
        self.times, self.asked, self.every = 0, 0, every
        self._store, self._server = ledger._db, server
        self._execute = ledger._db.execute
        monkeypatch.setattr(ledger._db, "execute", self)

    def __call__(self, *query):
        self.asked += 1
        if self.asked % self.every == 0:
            self.times += 1
            pid = self._store._connection.info.backend_pid
            self._server.run(f"SELECT pg_terminate_backend({pid})")
        return self._execute(*query)


def test_sessions_that_are_ended_while_all_is_read(breakable, monkeypatch):
    """Each label is read once, in its order, whatever others write meanwhile."""
    url = breakable.url("ended")
    with Ledger.open(url) as ledger, Ledger.open(url) as other:
        ledger.add([label(n) for n in range(2500)])
        expected = [one for block in ledger.lines() for one in zip(*block, strict=True)]
        units, head = ledger.units(), ledger.head()
        ended = Ended(breakable, ledger, monkeypatch, every=3)
        rows = ledger.checked_lines({"r2c2.entailment"}, head)
        found = [next(rows)]
        other.add([label(2500)])
        found.extend(rows)
        assert [one for block in found for one in zip(*block, strict=True)] == expected
        assert ledger.checked().labels == 2501
        labels = ledger.labels()
        assert next(labels).rowid == 1
        assert [one.rowid for one in labels] == list(range(2, 2502))
        assert ledger.units() == units | other.units()
        assert len(ledger.known_keys(one.key for one in other.labels())) == 2501
        assert ended.times > 10
        ended.every, ended.asked, ended.times = 1000, 985, 0  # once
        with ledger.copy() as copy:
            assert copy.checked() == other.head()
        assert ended.times == 1


def test_labels_of_somebody_new_in_a_session_that_is_ended(breakable, monkeypatch):
    """What is read are the labels that there were as it began, whoever adds others meanwhile."""
    url = breakable.url("newcomer")
    kim = LabellerId("human:KIM", "human")
    with Ledger.open(url) as ledger, Ledger.open(url) as other:
        other.add([label(n, labeller=kim) for n in range(2100)])
        read = [ledger.labels(), ledger.labels(["r2c2.entailment"]), ledger.by_people()]
        assert [next(labels).rowid for labels in read] == [1, 1, 1]
        ended = Ended(breakable, ledger, monkeypatch, every=3)
        other.add([label(2100, labeller=LabellerId("human:LEE", "human"))])
        for labels in read:
            assert [one.rowid for one in labels] == list(range(2, 2101))
        ended.every = 2
        assert len(list(ledger.labels())) == 2101


@pytest.mark.parametrize("at_source", [True, False])
@pytest.mark.parametrize("query", [5, 20, -1])
def test_a_session_that_is_ended_while_a_ledger_is_copied(
    breakable, tmp_path, monkeypatch, query, at_source
):
    """It is copied anew: each label once, and as many are told as were written."""
    side = "source" if at_source else "target"
    url = breakable.url(f"copied_{side}_{query % 100}")
    places = (url, tmp_path / "l") if at_source else (tmp_path / "l", url)
    with Ledger.open(places[0]) as source, Ledger.open(places[1]) as target:
        source.add([label(n) for n in range(600)])
        assert target.copy_from(source) == 600
        source.add([label(n) for n in range(600, 1000)])
        server = source if at_source else target
        ended = Ended(breakable, server, monkeypatch, every=1000)
        if query > 0:  # within the transaction, or of the other's labels
            ended.asked = 1000 - query
        else:  # nobody hears that it was written
            commit = server._db.commit

            def unheard():
                commit()
                ended.asked = 999
                server._db._within = True
                monkeypatch.setattr(server._db, "commit", commit)
                server._db.execute("SELECT 1")

            monkeypatch.setattr(server._db, "commit", unheard)
        assert target.copy_from(source) == 400
        assert target.checked() == source.checked()
        assert ended.times == (not at_source or query > 0)


def test_a_session_that_is_ended_while_a_ledger_is_opened(breakable, monkeypatch):
    settle, lost = module.PostgresStore._settle, []

    def lost_once(store, connection):
        settle(store, connection)
        if not lost:
            lost.append(connection.info.backend_pid)
            breakable.run(f"SELECT pg_terminate_backend({lost[0]}, 5000)")

    monkeypatch.setattr(module.PostgresStore, "_settle", lost_once)
    with Ledger.open(breakable.url("opening")) as ledger:
        assert ledger.add([label(1)])
    assert lost


def test_a_server_that_does_not_come_back_is_waited_for_and_told_of(breakable, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 0.2)
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    with serve(entailed) as server, proxied(breakable, "away") as (url, proxy):
        thread = meanwhile(server, 50, proxy.leave)
        with pytest.raises(LedgerError, match=r"away.* Check that the server runs"):
            run(url, server.url, requests(300))
        thread.join()
        assert 0.2 <= clock.now < 0.4  # though what waits is tried once more at the end
        first = len(server.requests)
        direct = breakable.url("away")
        with Ledger.open(direct) as ledger:
            kept = ledger.size()
        assert 0 < kept <= first < 300
        run(direct, server.url, requests(300))
        # What was under way: 32 at the labeller, of which some reached it later, 8 being written.
        complete(direct, 300, len(server.requests), again=40)


@pytest.mark.parametrize(
    "asked",
    [
        lambda ledger, _: ledger.add([label(2)]),
        lambda ledger, _: list(ledger.labels()),
        lambda ledger, _: ledger.checked(),
        lambda ledger, other: other.copy_from(ledger),
        lambda ledger, other: ledger.copy_from(other),
        lambda ledger, _: ledger.copy().__enter__(),
    ],
)
def test_a_server_that_is_gone_for_good_is_waited_for_once(
    breakable, tmp_path, monkeypatch, request, asked
):
    name = f"gone_{request.node.callspec.indices['asked']}"
    with (
        proxied(breakable, name) as (url, proxy),
        Ledger.open(url) as ledger,
        Ledger.open(tmp_path / "other") as other,
    ):
        ledger.add([label(1)])
        clock = Clock()
        monkeypatch.setattr(module, "time", clock)
        proxy.leave()
        with pytest.raises(LedgerError, match=f"{name}.* Check that the server runs"):
            asked(ledger, other)
        assert module.PATIENCE <= clock.now < module.PATIENCE + 2
        with pytest.raises(LedgerError, match="Check that the server runs"):
            ledger.size()
        assert clock.now < module.PATIENCE + 2
        proxy.away = False
        ledger.add([label(3)])
        proxy.leave()
        with pytest.raises(LedgerError, match="Check that the server runs"):
            ledger.size()
        assert 2 * module.PATIENCE <= clock.now < 2 * module.PATIENCE + 4


def test_a_slow_server_holds_up_nobody_who_answers(breakable):
    with serve(entailed) as server, proxied(breakable, "slow") as (url, proxy):
        with Ledger.open(url) as ledger:
            made = labeller(server.url, timeout=1.2)
            planned = plan(ledger, made, requests(40))
            proxy.delay = 0.18  # a write takes longer than an answer may
            tally = judge([("t", planned)], ledger)
            proxy.delay = 0.0
        assert (tally.asked, tally.failed, tally.unanswered) == (40, 0, 0)
        complete(url, 40, len(server.requests))


def test_two_writers_of_the_same_labels_make_one_of_each(postgres, on_postgres):
    wanted = [label(n, created="2026-01-01T00:00:00+00:00") for n in range(60)]
    Ledger.open(on_postgres).close()

    def write(added):
        with Ledger.open(on_postgres) as ledger:
            for one in wanted:
                added += ledger.add([one])

    added: list[str] = []
    threads = [threading.Thread(target=write, args=(added,)) for _ in range(3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    with Ledger.open(on_postgres) as ledger:
        assert ledger.checked().labels == len(added) == len(set(added)) == 60


def test_a_claim_is_taken_up_again_with_the_connection(breakable):
    mine = LabellerId("m", "model")
    with proxied(breakable, "claims") as (url, proxy):
        with Ledger.open(url) as ledger, Ledger.open(breakable.url("claims")) as other:
            with claimed(ledger, [(mine, "t")]):
                proxy.cut()
                assert ledger.size() == 0
                with pytest.raises(LedgerError, match="is being asked for 't' by another process"):
                    with claimed(other, [(mine, "t")]):
                        pass
            with claimed(other, [(mine, "t")]):
                pass


@pytest.fixture
def small_disk(breakable, tmp_path):
    """A folder of 24 MB that the server may write to."""
    disk = breakable.place / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "none", disk]).returncode:
        pytest.skip("no disk may be mounted here")
    try:
        shutil.chown(disk, "nobody")
        yield disk
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_a_full_disk_at_the_server_stops_the_run_and_keeps_what_was_written(breakable, small_disk):
    url = breakable.url("full_disk")
    breakable.run(f"CREATE TABLESPACE small LOCATION '{small_disk}'")
    Ledger.open(url).close()
    schema = Address.of(url).schema
    breakable.run(f"ALTER TABLE {schema}.labels SET TABLESPACE small")
    rest = small_disk / "rest"

    def script(body, number):
        made = entailed(body, number)
        reason = random.Random(number).randbytes(2000).hex()  # which is not to be made shorter
        said = json.dumps({"reason": reason, "entailed": "NO"})
        made["choices"][0]["message"]["content"] = said
        return made

    rest.write_bytes(bytes(shutil.disk_usage(small_disk).free - 300_000))
    with serve(script) as server:
        with pytest.raises(
            LedgerError, match="The server's disk is full; free some space and run again"
        ):
            run(url, server.url, requests(400))
        first = len(server.requests)
        with Ledger.open(url) as ledger:
            kept = ledger.size()
        assert 0 < kept < first < 400
        rest.unlink()
        run(url, server.url, requests(400))
        complete(url, 400, len(server.requests), again=40)
    breakable.run(f"DROP SCHEMA {schema} CASCADE", "DROP TABLESPACE small")


def test_a_table_that_somebody_holds_is_waited_for_not_for_ever(postgres, on_postgres, monkeypatch):
    with Ledger.open(on_postgres) as ledger:
        ledger._db.execute("SET lock_timeout = '50ms'")
        with psycopg.connect(Address.of(on_postgres).url) as other:
            other.execute(f"LOCK TABLE {Address.of(on_postgres).schema}.labels")
            with pytest.raises(LedgerError, match="Another process has locked it"):
                ledger.add([label(1)])
        assert ledger.add([label(1)])
