"""The ledger: append-only, safe to share, clear about what it cannot do."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.ledger import Ledger, NewLabel, sqlite
from assay.ledger.hashes import is_hash, packed, unpacked
from assay.ledger.merging import merge
from assay.ledger.store import Place
from assay.model.errors import LedgerError
from assay.model.labels import LabellerId, Status
from assay.tasks.base import unit_hash
from tests.engine.asking import aloud, ended, forked, keep, keep_and_die, meekly, read

WHO = LabellerId("openai:m", "model", {"temperature": 0})


def unit(n: int) -> str:
    return f"a{n:031x}"


def key(n: int) -> str:
    return f"b{n:031x}"


def label(n: int, **more) -> NewLabel:
    base = {
        "key": key(n),
        "task": "r2c2.entailment",
        "version": "1",
        "unit": unit(n),
        "content": {"passage": "p", "nugget": str(n)},
        "labeller": WHO,
        "status": Status.OK,
        "verdict": {"entailed": True, "reason": "é"},
        "reason": "é",
        "cost": 0.25,
    }
    return NewLabel(**{**base, **more})


def test_labels_come_back_as_they_were_written(place: Place):
    with Ledger.open(place) as ledger:
        uids = ledger.add([label(1), label(2, status=Status.FAILED, verdict=None, error="no")])
        assert len(uids) == 2
    with Ledger.open(place) as ledger:
        first, second = ledger.labels()
        assert first.verdict == {"entailed": True, "reason": "é"}
        assert first.labeller == WHO
        assert first.cost == 0.25
        assert (second.status, second.verdict, second.error) == (Status.FAILED, None, "no")
        asked = [(unit(a), key(b)) for a, b in ((1, 1), (2, 2), (3, 3), (1, 2))]
        assert ledger.statuses(asked) == {key(1): Status.OK, key(2): Status.FAILED}
        assert ledger.known_keys(map(key, (1, 2, 3))) == {key(1), key(2)}
        assert ledger.units()[unit(1)] == {"passage": "p", "nugget": "1"}


def test_what_every_shard_asks_for_nothing_is_kept_once(place: Place, tmp_path: Path):
    rules, days = LabellerId("rules", "rules"), iter("123")
    about = {"passage": "p", "nugget": "n"}
    asked = {"labeller": rules, "unit": unit_hash("r2c2.entailment", about), "content": about}
    apart = Ledger.open(tmp_path / "apart")
    with Ledger.open(place) as one, Ledger.open(place) as other, apart:
        for ledger, count in ((one, 1), (other, 0), (apart, 1)):
            said = label(1, created=f"2026-01-0{next(days)}T00:00:00+00:00", **asked)
            assert len(ledger.add([said], fresh=True)) == count
        apart.add([label(2, **asked)])
        assert merge(one, apart)[:2] == (1, 1)
        assert one.size() == 2


CHANGES = (
    "UPDATE labels SET verdict = '{}'",
    "DELETE FROM labels",
    "UPDATE units SET content = '{}'",
    "DELETE FROM units",
)


def test_nothing_can_be_changed_or_deleted(tmp_path: Path):
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        ledger.add([label(1)])
    db = sqlite3.connect(tmp_path / "l.sqlite")
    for statement in CHANGES:
        with pytest.raises(sqlite3.IntegrityError, match="never"):
            db.execute(statement)


def test_the_same_label_imported_twice_is_one(place: Place):
    with Ledger.open(place) as ledger:
        one = label(1, created="2026-01-01T00:00:00+00:00")
        assert len(ledger.add([one])) == 1
        assert ledger.add([one]) == []


def test_a_batch_is_written_whole_or_not_at_all(place: Place):
    with Ledger.open(place) as ledger:
        with pytest.raises(LedgerError):
            ledger.add([label(1), label(2, status=Status.OK, verdict=None)])
        assert list(ledger.labels()) == []
        assert ledger.add([label(3)])


def test_which_tasks_people_labelled_is_seen_of_new_labels_and_not_of_a_trial(place: Place):
    person = LabellerId("human:KIM", "human", {})
    with Ledger.open(place) as ledger:
        ledger.add([label(1)])
        assert ledger.judged_by_people() == set()
        with ledger.trial() as trial:
            trial.add([label(2, labeller=person)])
            assert ledger.judged_by_people() == {label(2).task}
        assert ledger.judged_by_people() == set()
        with Ledger.open(place) as other:
            other.add([label(3, labeller=person)])
        assert ledger.judged_by_people() == {label(3).task}


def test_two_processes_write_to_one_ledger(place: Place):
    both = [forked(keep, place, name, 200) for name in ("a", "b")]
    assert [ended(process) for process in both] == [0, 0]
    with Ledger.open(place) as ledger:
        assert len(list(ledger.labels())) == 400


def test_many_open_a_ledger_that_is_not_there_yet(tmp_path: Path):
    def open_it() -> None:
        ready.wait()
        Ledger.open(path).close()

    for number in range(20):
        path, ready = tmp_path / str(number), threading.Barrier(6)
        with ThreadPoolExecutor(6) as threads:
            for done in [threads.submit(open_it) for _ in range(6)]:
                done.result()


@given(st.one_of(st.text(), st.text("0123456789abcdefABCDEF", min_size=32, max_size=32)))
def test_hashes_are_stored_as_what_they_are_and_other_texts_by_their_hash(text: str):
    stored = packed(text)
    assert len(stored) == 16
    assert (unpacked(stored) == text) == is_hash(text)
    assert is_hash(unpacked(stored))


@pytest.mark.parametrize(("version", "why"), [(99, "newer Assay"), (4, "older Assay")])
def test_a_ledger_of_a_version_that_is_not_read_is_left_alone(tmp_path: Path, version, why):
    path = tmp_path / "l.sqlite"
    Ledger.open(path).close()
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {version}")
    before = path.read_bytes()
    with pytest.raises(LedgerError, match=why):
        Ledger.open(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"this is not a database, it is text" * 50, b"\x00" * 5000])
def test_a_file_that_is_no_ledger_is_named(tmp_path: Path, content: bytes):
    path = tmp_path / "l.sqlite"
    path.write_bytes(content)
    with pytest.raises(LedgerError, match=r"l\.sqlite"):
        Ledger.open(path)
    assert path.read_bytes() == content


def test_someone_elses_database_is_not_touched(tmp_path: Path):
    path = tmp_path / "l.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE mine (x)")
    with pytest.raises(LedgerError, match="not an Assay ledger"):
        Ledger.open(path)
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT name FROM sqlite_master").fetchall() == [("mine",)]


@pytest.mark.parametrize(
    "prepared",
    [
        "CREATE TRIGGER mine BEFORE INSERT ON labels BEGIN SELECT RAISE (IGNORE); END",
        "DROP TABLE tasks; CREATE TABLE tasks (id INTEGER, name UNIQUE ON CONFLICT IGNORE)",
    ],
)
def test_a_ledger_that_drops_what_is_written_is_refused(tmp_path: Path, prepared: str):
    path = tmp_path / "l.sqlite"
    Ledger.open(path).close()
    with sqlite3.connect(path) as db:
        db.executescript(prepared)
    with pytest.raises(LedgerError, match="may drop what is written"):
        Ledger.open(path)


def test_a_ledger_that_an_older_assay_made_is_none_of_these(tmp_path: Path):
    path = tmp_path / "l.sqlite"
    Ledger.open(path).close()
    with sqlite3.connect(path) as db:
        (ours,) = db.execute("SELECT sql FROM sqlite_master WHERE name = 'labels_keep'").fetchone()
        db.execute("DROP TRIGGER labels_keep")
        # As 0.1 made it, some of whose ledgers had labels without a digest.
        db.execute(ours.replace(" ON labels", " ON labels WHEN old.digest IS NOT NULL"))
    Ledger.open(path).close()


def test_what_refuses_changes_is_made_again(tmp_path: Path):
    path = tmp_path / "l.sqlite"
    Ledger.open(path).close()
    triggers = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name"
    with sqlite3.connect(path) as db:
        before = db.execute(triggers).fetchall()
        db.executescript("DROP TRIGGER labels_keep; DROP TRIGGER drawn_stay")
        for own in ("mine", "mine_too"):
            does = "BEGIN SELECT RAISE (ABORT, 'no'); END"
            db.execute(f"CREATE TRIGGER {own} BEFORE DELETE ON labels {does}")
        Ledger.open(path).close()
        assert {*db.execute(triggers)} > {*before}
    assert len(before) == 8


def test_a_journal_that_is_no_file_is_not_waited_for(tmp_path: Path):
    os.mkfifo(tmp_path / "l.sqlite-journal")
    with pytest.raises(LedgerError, match=r"l\.sqlite-journal: is not a file"):
        Ledger.open(tmp_path / "l.sqlite")


def test_a_missing_folder_is_named(tmp_path: Path):
    with pytest.raises(LedgerError, match="folder exists"):
        Ledger.open(tmp_path / "no" / "l.sqlite")
    with pytest.raises(LedgerError, match="path is too long for SQLite"):
        Ledger.open(tmp_path.joinpath(*["x" * 200] * 3, "l.sqlite"))


def test_a_kill_loses_nothing_that_was_added(place: Place):
    assert ended(forked(keep_and_die, place, 50)) == -signal.SIGKILL
    with Ledger.open(place) as ledger:
        assert len(list(ledger.labels())) == 50


@pytest.mark.parametrize("labels", [3, 5])
def test_what_a_killed_process_left_is_not_written_over_a_backup(tmp_path: Path, labels: int):
    whole, killed, folder = (tmp_path / name for name in ("whole.sqlite", "killed.sqlite", "f"))
    folder.mkdir()
    with Ledger.open(whole) as ledger:
        ledger.add(map(label, range(labels)))
    with Ledger.open(killed) as ledger:
        ledger.add(map(label, range(4)))
        for end in ("-wal", "-shm"):
            shutil.copy(f"{killed}{end}", folder / f"l.sqlite{end}")
        shutil.copy(killed, folder / "own.sqlite")
        shutil.copy(f"{killed}-wal", folder / "own.sqlite-wal")
    shutil.copy(whole, folder / "l.sqlite")
    with pytest.raises(LedgerError, match=r"l\.sqlite-wal does not continue l\.sqlite"):
        Ledger.open(folder / "l.sqlite")
    assert (folder / "l.sqlite").read_bytes() == whole.read_bytes()
    for end in ("-wal", "-shm"):
        (folder / f"l.sqlite{end}").unlink()
    for name, count in (("l", labels), ("own", 4)):
        with Ledger.open(folder / f"{name}.sqlite") as ledger:
            assert ledger.size() == count


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_is_taken_away_takes_no_more_labels(tmp_path: Path, replaced: bool):
    with Ledger.open(tmp_path / "other") as other:
        other.add([label(9)])
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        ledger.add([label(1)])
        (tmp_path / "l.sqlite").unlink()
        if replaced:
            shutil.copy(tmp_path / "other", tmp_path / "l.sqlite")
        with pytest.raises(LedgerError, match="was removed or replaced"):
            ledger.add([label(2)])
        with pytest.raises(LedgerError, match="was removed or replaced"), ledger.trial() as trial:
            trial.keep = True


def test_a_copy_of_the_file_alone_has_what_was_written_before(tmp_path: Path, monkeypatch):
    path, alone = tmp_path / "l.sqlite", tmp_path / "alone.sqlite"
    monkeypatch.setattr(sqlite, "_MOVED_EVERY", 0.1)  # nothing is written after it
    with Ledger.open(path) as ledger:
        ledger.add([label(1)])
        deadline = time.monotonic() + 20
        while True:
            shutil.copy(path, alone)
            with Ledger.open(alone) as copied:
                if copied.size():
                    break
            assert time.monotonic() < deadline


def test_a_read_only_folder_is_explained(tmp_path: Path):
    (tmp_path / "ro").mkdir(mode=0o555)
    told = tmp_path / "told"
    assert ended(forked(meekly, aloud, told, read, tmp_path / "ro" / "l.sqlite")) == 1
    assert "LedgerError" in told.read_text()
    assert "Check that the folder exists and that you may write to it." in told.read_text()
