"""Hundreds of labels through a server that fails three times in ten, in every way we know."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from assay.judging import todo
from assay.judging.engine import judge, plan
from assay.labellers import endpoints as module
from assay.labellers.openai import OpenAILabeller, OpenAISettings
from assay.labellers.pace import Limits
from assay.ledger import Ledger
from assay.model.labels import Status
from assay.tasks.rendering import Renderer
from tests.engine.asking import (
    aloud,
    ask,
    ask_until_full,
    ended,
    forked,
    meekly,
    requests,
    with_small_files,
)
from tests.engine.server import Drip, ask_of, completion, serve
from tests.engine.test_judging import entailed

ROOT = Path(__file__).parents[2]
GOOD = json.dumps({"reason": "r", "entailed": "YES"})

# The server's own faults: the request is sent again.
PASSING = (
    (429, {"error": "slow down"}, {"Retry-After": "0"}),
    (429, {"error": "slow down"}),
    (500, {"error": "oops"}),
    (503, "not json"),
    None,  # connection reset
    1.3,  # silence past the timeout
    (200, "{truncated"),
    Drip(completion(GOOD), 1.5),  # slower than the timeout
)
WEIGHTS = (5, 5, 20, 5, 20, 1, 20, 1)  # little silence: a test should not take minutes
# Replies of the model that cannot be used: one repair turn follows.
UNUSABLE = (
    completion(GOOD[:25], finish_reason="length"),
    completion('{"reason": "r", "entailed": "PERHAPS"}'),
    completion("<think>" + GOOD),
    completion("I would say yes."),
    {"choices": []},
)

# Where asking again is no use: recorded as failures, with the reason.
HOPELESS = (
    (completion(None, message={"refusal": "I would rather not."}), "the model refused"),
    ((400, {"error": {"message": "maximum context length is 9 tokens"}}), "maximum context length"),
)
EXPIRED = (401, {"error": {"message": "this key has expired"}})


def number_of(body) -> int:
    return int(ask_of(body).split("passage ")[1].split()[0])


def wrapped(body, number):
    """Good verdicts in all tolerated kinds of wrapping."""
    n = number_of(body)
    yes = "YES" if n % 2 else "NO"
    plain = json.dumps({"reason": f"n{n}", "entailed": yes})
    forms = (
        plain,
        f"<think>hm {{}}</think>{plain}",
        f"```json\n{plain}\n```",
        f"Verdict: {plain} Done.",
        json.dumps({"entailed": yes.lower(), "reason": f"n{n}"}),
    )
    return completion(forms[n % len(forms)])


def test_eight_hundred_labels_under_30_per_cent_faults_are_complete_and_exact(place, monkeypatch):
    real = asyncio.sleep

    async def short(seconds):
        await real(min(seconds, 0.01))

    monkeypatch.setattr(module, "_sleep", short)
    monkeypatch.setattr(todo, "MANY", 200)  # questions lie in a file
    monkeypatch.setattr(todo, "_BLOCK", 100)
    count = 800
    rng = random.Random(5)
    faults: dict[int, list] = {
        # three in ten requests fail: none, one or two faults before the good reply
        n: rng.choices(PASSING, WEIGHTS, k=rng.choice((0, 0, 0, 1, 1)))
        + ([rng.choice(UNUSABLE)] if rng.random() < 0.05 else [])
        for n in range(count)
    }
    planned = {n: len(found) for n, found in faults.items()}
    good: Counter[int] = Counter()

    def script(body, number):
        n = number_of(body)
        if len(good) > count // 2 and server.headers[number - 1]["Authorization"] != "Bearer new":
            return EXPIRED
        if faults[n]:
            return faults[n].pop()
        good[n] += 1
        return HOPELESS[n % 2][0] if n % 200 < 2 else wrapped(body, number)

    def go(key):
        keys = {server.url: key}
        settings = OpenAISettings("m", (server.url,), keys, limits=Limits(64), timeout=1.0)
        labeller = OpenAILabeller(settings, Renderer())
        return judge([("t", plan(ledger, labeller, requests(count)))], ledger)

    with serve(script) as server, Ledger.open(place) as ledger:
        with pytest.raises(module.LabellerUnreachable, match=r"this key has expired.*API key"):
            go("old")
        kept = ledger.size()
        tally = go("new")
        labels = list(ledger.labels())
        contents = ledger.units()
        sent = len(server.requests)
    assert 0.25 < sum(planned.values()) / sent < 0.35
    # A reply may be lost on its way when the key expires.
    assert count * 0.49 <= kept < count * 0.6
    assert (tally.known, tally.asked, tally.skipped) == (kept, count - kept, 0)
    assert len(labels) == count
    assert len({label.key for label in labels}) == count
    for label in labels:
        n = int(contents[label.unit]["nugget"].split()[1])
        if n % 200 < 2:
            assert label.status is Status.FAILED
            assert HOPELESS[n % 2][1] in label.error
        else:
            assert label.verdict == {"reason": f"n{n}", "entailed": bool(n % 2)}
    # A reply slower than the timeout on this machine is the one case in which a good answer is
    # asked for again; no answer that was kept ever is.
    repeated = sum(times - 1 for times in good.values())
    assert repeated <= count * 0.01
    assert set(good) == set(range(count))


def test_an_endpoint_that_fails_all_the_time_stops_early(place, monkeypatch):
    real = asyncio.sleep

    async def short(seconds):
        await real(0.001)

    monkeypatch.setattr(module, "_sleep", short)
    with serve(lambda body, n: (500, {"error": "down"})) as server:
        with Ledger.open(place) as ledger:
            settings = OpenAISettings("m", (server.url,), limits=Limits(8))
            labeller = OpenAILabeller(settings, Renderer())
            try:
                judge([("t", plan(ledger, labeller, requests(5000)))], ledger)
                raise AssertionError("it should have stopped")
            except module.LabellerUnreachable as error:
                assert "HTTP 500" in str(error)
            assert list(ledger.labels()) == []
        assert len(server.requests) < 200


def test_thirty_kills_and_the_union_is_that_of_an_unbroken_run(place):
    count, path = 240, place
    rng = random.Random(11)
    with serve(entailed) as server:
        for _ in range(30):
            process = forked(ask, path, server.url, count)
            seen = len(server.requests)
            until = seen + rng.randint(0, 12)
            deadline = time.monotonic() + 20
            while len(server.requests) < until and time.monotonic() < deadline:
                time.sleep(0.001)
            process.kill()
            process.join(10)
            if len(server.requests) >= count:
                break
        assert ended(forked(ask, path, server.url, count)) == 0
        asked = len(server.requests)
    with Ledger.open(path) as ledger:
        labels = list(ledger.labels())
        contents = ledger.units()
    assert len(labels) == len({label.key for label in labels}) == count
    assert all(label.status is Status.OK for label in labels)
    for label in labels:
        n = int(contents[label.unit]["nugget"].split()[1])
        assert label.verdict == {"reason": f"n{n}", "entailed": bool(n % 2)}
    assert asked <= count + 30 * 5


_IN_A_SMALL_DISK = """
import multiprocessing, subprocess, sys
from pathlib import Path
from tests.engine.asking import ask_until_full

disk, kept, url = sys.argv[1:]
shell = lambda command: subprocess.run(command, shell=True, check=True)

def ask():
    given = Path(disk) / "l", url, 600
    process = multiprocessing.get_context("fork").Process(target=ask_until_full, args=given)
    process.start()
    process.join()
    assert process.exitcode == 0

shell(f"mount -t tmpfs -o size=600k none '{disk}'")
ask()
shell(f"head -c 2000000 /dev/zero > '{disk}/rest' 2>/dev/null || true")
ask()
shell(f"mount -o remount,size=20m '{disk}'")
ask()
shell(f"cp '{disk}'/l* '{kept}'")
"""


def _mounts() -> list[str] | None:
    """How to start a process that may mount its own disk, or None if that is not allowed."""
    for command in (["unshare", "-m"], ["unshare", "-r", "-m"]):
        probe = [*command, "mount", "-t", "tmpfs", "none", "/mnt"]
        if shutil.which("unshare") and not subprocess.run(probe, capture_output=True).returncode:
            return command
    return None


def _complete(ledger, told, again, asked):
    """The second run asked only what the first could not store."""
    assert "What was written is kept" in told
    with Ledger.open(ledger) as opened:
        labels = list(opened.labels())
    assert len(labels) == len({label.key for label in labels}) == 600
    assert 0 < int(again) < 600
    assert asked <= 600 + 40  # as many as were under way (32 at the server, 8 being written)


def test_nobody_is_asked_where_the_ledger_may_not_be_written(tmp_path):
    path, told = tmp_path / "l.sqlite", tmp_path / "told"
    Ledger.open(path).close()
    path.chmod(0o444)
    with serve(entailed) as server:
        work = (meekly, aloud, told, ask_until_full, path, server.url, 20)
        assert ended(forked(*work)) == 0
        assert server.requests == []
    assert "Check that the folder exists and that you may write to it." in told.read_text()


def test_a_full_disk_stops_the_run_and_keeps_what_was_written(tmp_path):
    command = _mounts()
    if command is None:
        pytest.skip("no disk may be mounted here")
    disk, kept = tmp_path / "disk", tmp_path / "kept"
    disk.mkdir()
    kept.mkdir()
    with serve(entailed) as server:
        run = [*command, sys.executable, "-c", _IN_A_SMALL_DISK, disk, kept, server.url]
        done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=False)
        asked = len(server.requests)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    told, at_once, again = done.stdout.splitlines()
    assert "The disk is full; free some space and run again" in told
    assert "No space left on device. Nothing was asked." in at_once
    _complete(kept / "l", told, again, asked)


def test_a_limit_on_the_size_of_files_does_no_harm_either(tmp_path):
    outputs = []
    with serve(entailed) as server:
        work = ask_until_full, tmp_path / "l", server.url, 600
        for one in ((with_small_files, 400_000, *work), work):
            told = tmp_path / "told"
            assert ended(forked(aloud, told, *one)) == 0
            outputs.append(told.read_text())
        asked = len(server.requests)
    assert [len(told.splitlines()) for told in outputs] == [1, 1]
    assert "file size limit" in outputs[0]
    _complete(tmp_path / "l", *outputs, asked)
