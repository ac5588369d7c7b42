"""Folders that are gone with the process that made them, however it ended; machines that share a
disk."""

import os
import re
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from assay.api.opened import Opened
from assay.ledger import Ledger, claims
from assay.model.errors import LedgerError
from assay.model.locking import TemporaryFolder
from assay.web.server import opened_bench
from tests.web.conftest import write_folder

MAKES_ONE = """
import sys
from assay.model.locking import TemporaryFolder
one = TemporaryFolder("report")
(one.path / "page.html").write_text("of labels")
print(one.path, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def other(temporary: Path):
    """Another process with a temporary folder, and that folder."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    command = [sys.executable, "-c", MAKES_ONE]
    with subprocess.Popen(command, env=os.environ | {"TMPDIR": str(temporary)}, **pipes) as process:
        yield process, Path(process.stdout.readline().strip())
        process.kill()


def test_a_workbench_takes_away_the_report_of_one_that_was_killed(other, tmp_path: Path):
    process, left = other
    with opened_bench(Opened.open(write_folder(tmp_path / "f"))):
        assert left.is_dir()
    process.kill()
    process.wait()
    with opened_bench(Opened.open(tmp_path / "f")):
        assert not left.exists()


def test_what_a_killed_process_left_is_taken_away_by_the_next(other, temporary: Path):
    process, left = other
    own = temporary / "assay-report-of-mine"  # a link of that name leads nowhere
    kept = temporary / "kept"
    kept.mkdir()
    own.symlink_to(kept)
    (temporary / "assay-llm-1").mkdir()
    first = TemporaryFolder("report")
    assert left.is_dir()  # it is held
    process.kill()
    process.wait()
    second = TemporaryFolder("report")
    assert not left.exists()
    assert first.path.is_dir()
    assert (kept.is_dir(), (temporary / "assay-llm-1").is_dir()) == (True, True)
    for one in (first, second, second):
        one.close()
    assert sorted(path.name for path in temporary.iterdir()) == [
        "assay-llm-1", "assay-report-of-mine", "kept"
    ]  # fmt: skip


def test_a_file_system_without_locks_has_them_too(temporary: Path, monkeypatch):
    def none(*_given: object, **_how: object) -> bool:
        raise OSError("no locks here")

    monkeypatch.setattr("assay.model.locking.try_lock", none)
    one, other = TemporaryFolder("report"), TemporaryFolder("report")
    assert one.path.is_dir()
    assert other.path.is_dir()
    one.close()
    other.close()
    assert list(temporary.iterdir()) == []


def test_one_that_is_taken_away_before_it_is_held_is_made_again(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
):
    made, make = [], tempfile.mkdtemp

    def taken_at_first(prefix: str) -> str:
        made.append(make(prefix=prefix))
        if len(made) == 1:
            os.rmdir(made[0])
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", taken_at_first)
    one = TemporaryFolder("report")
    assert (len(made), one.path.is_dir()) == (2, True)
    one.close()
    assert list(temporary.iterdir()) == []


def test_a_file_on_a_shared_disk_is_one_machines_ledger(tmp_path: Path, monkeypatch):
    path = tmp_path / "labels.sqlite"
    with Ledger.open(path), Ledger.open(path):  # any number of processes there
        monkeypatch.setattr(claims, "_machine", lambda: "another")
        for create in (True, False):  # whoever only looks would move the log, too
            with pytest.raises(LedgerError, match=re.escape(f"({socket.gethostname()}). A ledger")):
                Ledger.open(path, create=create)
    with Ledger.open(path):
        pass
    assert [one.name for one in tmp_path.iterdir()] == ["labels.sqlite"]


def test_a_mac_is_one_machine_in_whatever_network_it_is(monkeypatch):
    def none(*_: object, **__: object) -> None:
        raise FileNotFoundError

    machine = claims._machine.__wrapped__
    monkeypatch.setattr(Path, "read_text", none)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(stdout="5D0A-1\n"))
    assert machine() == "5D0A-1"
    monkeypatch.setattr(subprocess, "run", none)
    assert machine() == socket.gethostname()
