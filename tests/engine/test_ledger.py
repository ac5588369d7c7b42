"""The ledger: append-only, safe to share, clear about what it cannot do."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from assay.ledger import Ledger, NewLabel
from assay.model.errors import LedgerError
from assay.model.labels import LabellerId, Status

WHO = LabellerId("openai:m", "model", {"temperature": 0})


def label(n: int, **more) -> NewLabel:
    base = {
        "key": f"k{n}",
        "task": "r2c2.entailment",
        "version": "1",
        "unit": f"u{n}",
        "content": {"passage": "p", "nugget": str(n)},
        "labeller": WHO,
        "status": Status.OK,
        "verdict": {"entailed": True, "reason": "é"},
        "reason": "é",
        "cost": 0.25,
    }
    return NewLabel(**{**base, **more})


def test_labels_come_back_as_they_were_written(tmp_path: Path):
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        uids = ledger.add([label(1), label(2, status=Status.FAILED, verdict=None, error="no")])
        assert len(uids) == 2
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        first, second = ledger.labels()
        assert first.verdict == {"entailed": True, "reason": "é"}
        assert first.labeller == WHO
        assert first.cost == 0.25
        assert (second.status, second.verdict, second.error) == (Status.FAILED, None, "no")
        assert ledger.statuses(["k1", "k2", "k3"]) == {"k1": Status.OK, "k2": Status.FAILED}
        assert ledger.units()["u1"] == {"passage": "p", "nugget": "1"}


def test_nothing_can_be_changed_or_deleted(tmp_path: Path):
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        ledger.add([label(1)])
    db = sqlite3.connect(tmp_path / "l.sqlite")
    for statement in (
        "UPDATE labels SET verdict = '{}'",
        "DELETE FROM labels",
        "UPDATE units SET content = '{}'",
        "DELETE FROM units",
    ):
        with pytest.raises(sqlite3.IntegrityError, match="never"):
            db.execute(statement)


def test_the_same_label_imported_twice_is_one(tmp_path: Path):
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        one = label(1, created="2026-01-01T00:00:00+00:00")
        assert len(ledger.add([one])) == 1
        assert ledger.add([one]) == []


def test_a_batch_is_written_whole_or_not_at_all(tmp_path: Path):
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        with pytest.raises(LedgerError):
            ledger.add([label(1), label(2, status=Status.OK, verdict=None)])
        assert list(ledger.labels()) == []
        assert ledger.add([label(3)])


def test_two_processes_write_to_one_ledger(tmp_path: Path):
    script = (
        "import sys; from pathlib import Path; from assay.ledger import *; "
        "from assay.model.labels import *\n"
        "with Ledger.open(Path(sys.argv[1])) as ledger:\n"
        "  for n in range(200):\n"
        "    ledger.add([NewLabel(key=f'{sys.argv[2]}{n}', task='t', version='1', unit=f'u{n}',"
        " content={'n': n}, labeller=LabellerId('m', 'model'), status=Status.OK, verdict={})])\n"
    )
    path = tmp_path / "l.sqlite"
    both = [
        subprocess.Popen([sys.executable, "-c", script, str(path), name]) for name in ("a", "b")
    ]
    assert [process.wait(60) for process in both] == [0, 0]
    with Ledger.open(path) as ledger:
        assert len(list(ledger.labels())) == 400


def test_a_ledger_from_a_newer_version_is_left_alone(tmp_path: Path):
    path = tmp_path / "l.sqlite"
    Ledger.open(path).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="newer Assay"):
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
    with pytest.raises(LedgerError, match="not a ledger"):
        Ledger.open(path)
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT name FROM sqlite_master").fetchall() == [("mine",)]


def test_a_missing_folder_is_named(tmp_path: Path):
    with pytest.raises(LedgerError, match="folder exists"):
        Ledger.open(tmp_path / "no" / "l.sqlite")


def test_a_kill_loses_nothing_that_was_added(tmp_path: Path):
    script = (
        "import os, sys; from pathlib import Path; from assay.ledger import *; "
        "from assay.model.labels import *\n"
        "ledger = Ledger.open(Path(sys.argv[1]))\n"
        "for n in range(50):\n"
        "  ledger.add([NewLabel(key=f'k{n}', task='t', version='1', unit=f'u{n}',"
        " content={'n': n}, labeller=LabellerId('m', 'model'), status=Status.OK, verdict={})])\n"
        "os.kill(os.getpid(), 9)\n"
    )
    path = tmp_path / "l.sqlite"
    done = subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    assert done.returncode == -9
    with Ledger.open(path) as ledger:
        assert len(list(ledger.labels())) == 50


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_explained(tmp_path: Path):
    (tmp_path / "ro").mkdir(mode=0o555)
    with pytest.raises(LedgerError, match="may write"):
        Ledger.open(tmp_path / "ro" / "l.sqlite")
