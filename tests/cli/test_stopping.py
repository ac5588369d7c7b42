"""How the command ends: the same fault over and over, Ctrl-C and SIGTERM."""

import os
import signal
import tempfile
import time

import pytest

from assay.cli.ending import denied
from assay.ledger import Ledger
from tests.apart import Apart
from tests.cli.test_judging import assay, films, verdict  # noqa: F401
from tests.command import without_keys
from tests.engine.server import serve
from tests.films import PAIRS

SOON = 5.0  # seconds


def begun(folder, url, *more, env=None):
    (folder / "assay.toml").write_text(
        '[evaluation]\nprotocol = "r2c2"\n[inputs]\nquestions = "questions.tsv"\n'
        'pr_runs = ["pr/*.txt"]\nac_runs = ["ac/*.txt"]\n[settings]\nresamples = 100\n'
        f'[labellers]\ndefault = "{url}"\n[judging]\nconcurrency = 4\n'
    )
    with open(os.devnull) as nothing, (folder / "told").open("w") as told:
        streams = (nothing.fileno(), told.fileno(), told.fileno())
        return Apart(
            "evaluate", folder, *more, env=without_keys() if env is None else env, streams=streams
        )


def ended(process, folder):
    """The status that it ends with, and what it printed."""
    try:
        status = process.wait(20)
    finally:
        process.kill()
    return status, (folder / "told").read_text()


def labels(folder):
    with Ledger.open(folder / "labels.sqlite") as ledger:
        return ledger.size()


def until(check):
    deadline = time.monotonic() + 30
    while not check():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_container_without_a_temporary_folder_is_told_what_to_set(monkeypatch, capsys):
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/nowhere"])
    with pytest.raises(FileNotFoundError) as caught:
        tempfile._get_default_tempdir()
    with pytest.raises(SystemExit, match="2"):
        denied(caught.value)
    assert capsys.readouterr().err == (
        "assay: No usable temporary directory found in ['/nowhere']. Set TMPDIR to a "
        "folder that you can write to.\n"
    )
    with pytest.raises(SystemExit, match="2"):  # as os.getcwd raises it
        denied(FileNotFoundError(2, "No such file or directory"))
    assert "the current folder: No such file" in capsys.readouterr().err


def test_the_same_fault_over_and_over_ends_with_3_and_the_setting_holds(films):  # noqa: F811
    with serve(lambda body, number: (400, {"error": "no such parameter"})) as server:
        spec = f'default = "openai:m@{server.url}"'
        done = assay(films, "evaluate", labellers=spec, more="[judging]\ngive_up_after = 7")
        assert done.returncode == 3
        assert "asked 7 questions in a row" in done.stderr
        assert "HTTP 400: no such parameter" in done.stderr
        assert 7 <= len(server.requests) <= 11
    with serve(verdict) as server:
        spec = f'default = "openai:m@{server.url}"'
        again = assay(films, "judge", labellers=spec)
    assert "failed" not in again.stderr
    assert f"{PAIRS} to ask" in again.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("kind", ["silence", "retries"])
def test_the_first_signal_keeps_what_was_answered_and_ends_soon(films, number, kind):  # noqa: F811
    def script(body, n):
        if n <= 8:
            return verdict(body, n)
        return 60.0 if kind == "silence" else (503, {"error": "later"}, {"Retry-After": "1e9"})

    with serve(script) as server:
        process = begun(films, f"openai:m@{server.url}")
        until(lambda: len(server.requests) > 8)
        time.sleep(0.3)
        process.send_signal(number)
        started = time.monotonic()
        status, told = ended(process, films)
        took = time.monotonic() - started
    assert status == 130, told
    assert took < (SOON if kind == "silence" else 2.0)
    assert "interrupted; every answer that arrived is kept" in told
    assert "Traceback" not in told
    assert labels(films) >= 8
    assert not (films / "out").exists()


def test_a_second_ctrl_c_ends_at_once(films):  # noqa: F811
    with serve(lambda body, n: verdict(body, n) if n <= 8 else 60.0) as server:
        process = begun(films, f"openai:m@{server.url}")
        until(lambda: len(server.requests) >= 12)
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        started = time.monotonic()
        status, told = ended(process, films)
        assert time.monotonic() - started < 1.5
    assert status == 130
    assert "Traceback" not in told
    assert labels(films) >= 8


SLOW = {
    "thread": "def judge(task, unit):\n    mark()\n    time.sleep(60)\n",
    "stubborn": "async def judge(task, unit):\n    mark()\n    while True:\n"
    "        try:\n            await asyncio.sleep(60)\n"
    "        except asyncio.CancelledError:\n            pass\n",
}


@pytest.mark.parametrize("kind", SLOW)
def test_a_labeller_of_ones_own_holds_nobody_back(films, tmp_path, kind):  # noqa: F811
    mark = tmp_path / "asked"
    (tmp_path / "slow_judge.py").write_text(
        "import asyncio, pathlib, time\n"
        f"def mark():\n    pathlib.Path({str(mark)!r}).touch()\n{SLOW[kind]}judge.version = '1'\n"
    )
    process = begun(films, "slow_judge:judge", env={**without_keys(), "PYTHONPATH": str(tmp_path)})
    until(mark.exists)
    process.send_signal(signal.SIGINT)
    started = time.monotonic()
    status, told = ended(process, films)
    assert time.monotonic() - started < SOON
    assert status == 130, told
    assert "Traceback" not in told


def test_a_model_that_changes_its_name_stands_in_the_report(films):  # noqa: F811
    def script(body, number):
        return verdict(body, number) | {"model": "m-old" if number <= 10 else "m-new"}

    with serve(script) as server:
        spec = f'default = "openai:m@{server.url}"'
        done = assay(films, "evaluate", labellers=spec)
    assert "was 'm-old' and is now 'm-new'" in " ".join(done.stderr.split())
    report = (films / "out" / "report.html").read_text()
    assert "changed its name between labels" in report
    assert "m-old" in report
    assert "m-new" in report
