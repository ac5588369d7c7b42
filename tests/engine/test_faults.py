"""Thousands of labels through a server that fails three times in ten, in every way we know."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import time
from collections import Counter

from assay.judging.engine import judge, plan
from assay.labellers import endpoints as module
from assay.labellers.openai import OpenAILabeller, OpenAISettings
from assay.labellers.pace import Limits
from assay.ledger import Ledger
from assay.model.labels import Status
from assay.tasks.rendering import Renderer
from tests.engine.server import ask_of, completion, serve
from tests.engine.test_judging import child, entailed, requests

GOOD = json.dumps({"reason": "r", "entailed": "YES"})

# The server's own faults: the request is sent again.
PASSING = (
    (429, {"error": "slow down"}, {"Retry-After": "0"}),
    (429, {"error": "slow down"}),
    (500, {"error": "oops"}),
    (503, "not json"),
    None,  # connection reset
    0.5,  # silence past the timeout
    (200, "{truncated"),
)
WEIGHTS = (5, 5, 20, 5, 20, 1, 20)  # little silence: a test should not take minutes
# Replies of the model that cannot be used: one repair turn follows.
UNUSABLE = (
    completion(GOOD[:25], finish_reason="length"),
    completion('{"reason": "r", "entailed": "PERHAPS"}'),
    completion("<think>" + GOOD),
    completion("I would say yes."),
    {"choices": []},
)


def number_of(body) -> int:
    return int(ask_of(body).split("passage ")[1].split()[0])


def wrapped(body, number):
    """Good verdicts in every wrapping that is tolerated."""
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


def test_ten_thousand_labels_under_30_per_cent_faults_are_complete_and_exact(tmp_path, monkeypatch):
    real = asyncio.sleep

    async def short(seconds):
        await real(min(seconds, 0.01))

    monkeypatch.setattr(module, "_sleep", short)
    count = 10_000
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
        if faults[n]:
            return faults[n].pop()
        good[n] += 1
        return wrapped(body, number)

    with serve(script) as server, Ledger.open(tmp_path / "l") as ledger:
        settings = OpenAISettings("m", (server.url,), limits=Limits(64), timeout=0.25)
        labeller = OpenAILabeller(settings, Renderer())
        tally = judge([("t", plan(ledger, labeller, requests(count)))], ledger)
        labels = list(ledger.labels())
        contents = ledger.units()
        sent = len(server.requests)
    assert 0.25 < sum(planned.values()) / sent < 0.35
    assert (tally.asked, tally.failed, tally.skipped) == (count, 0, 0)
    assert len(labels) == count
    assert len({label.key for label in labels}) == count
    for label in labels:
        n = int(contents[label.unit]["nugget"].split()[1])
        assert label.verdict == {"reason": f"n{n}", "entailed": bool(n % 2)}
    # A reply slower than the timeout on this machine is the one case in which a good answer is
    # asked for again; no answer that was kept ever is.
    repeated = sum(times - 1 for times in good.values())
    assert repeated <= count * 0.01
    assert set(good) == set(range(count))


def test_an_endpoint_that_fails_all_the_time_stops_early(tmp_path, monkeypatch):
    real = asyncio.sleep

    async def short(seconds):
        await real(0.001)

    monkeypatch.setattr(module, "_sleep", short)
    with serve(lambda body, n: (500, {"error": "down"})) as server:
        with Ledger.open(tmp_path / "l") as ledger:
            settings = OpenAISettings("m", (server.url,), limits=Limits(8))
            labeller = OpenAILabeller(settings, Renderer())
            try:
                judge([("t", plan(ledger, labeller, requests(5000)))], ledger)
                raise AssertionError("it should have stopped")
            except module.LabellerUnreachable as error:
                assert "HTTP 500" in str(error)
            assert list(ledger.labels()) == []
        assert len(server.requests) < 200


def test_fifty_kills_and_the_union_is_that_of_an_unbroken_run(tmp_path):
    count, path = 400, tmp_path / "l"
    rng = random.Random(11)
    with serve(entailed) as server:
        for _ in range(50):
            process = child(path, server.url, count)
            seen = len(server.requests)
            until = seen + rng.randint(0, 12)
            deadline = time.monotonic() + 20
            while len(server.requests) < until and time.monotonic() < deadline:
                time.sleep(0.001)
            process.send_signal(signal.SIGKILL)
            process.wait(10)
            if len(server.requests) >= count:
                break
        assert child(path, server.url, count).wait(60) == 0
        asked = len(server.requests)
    with Ledger.open(path) as ledger:
        labels = list(ledger.labels())
        contents = ledger.units()
    assert len(labels) == len({label.key for label in labels}) == count
    assert all(label.status is Status.OK for label in labels)
    for label in labels:
        n = int(contents[label.unit]["nugget"].split()[1])
        assert label.verdict == {"reason": f"n{n}", "entailed": bool(n % 2)}
    assert asked <= count + 50 * 4
