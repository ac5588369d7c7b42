"""How fast endpoints are asked: up until push-back, down only for push-back."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter

import pytest

from assay.judging.engine import judge, plan
from assay.labellers import endpoints as module
from assay.labellers.openai import OpenAILabeller, OpenAISettings
from assay.labellers.pace import Limits, Pace, rate_limit_wait
from assay.labellers.transport import Reply, ReplyTimeout, TransportError
from assay.ledger import Ledger
from assay.model.labels import Status
from assay.tasks.rendering import Renderer
from tests.engine.asking import requests
from tests.engine.server import completion, serve
from tests.engine.test_judging import entailed


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_window_rises_with_answers_and_halves_once_for_a_burst_of_push_back():
    clock = Clock()
    pace = Pace(Limits(concurrency=1000), clock)
    for _ in range(40):
        pace.answered()
    assert pace.window == 296
    for _ in range(10):  # all sent before the first of them came back
        pace.pushed_back(None, started=99.0 if _ else 100.0)
    assert pace.window == 148
    for _ in range(148):
        pace.answered()
    assert pace.window in (148, 149)
    clock.now = 101.0
    pace.pushed_back(None, started=100.5)
    assert pace.window == 74


def test_the_window_never_passes_its_limit_nor_falls_below_one():
    pace = Pace(Limits(concurrency=20), Clock())
    for _ in range(100):
        pace.answered()
    assert pace.window == 20
    clock = Clock()
    pace = Pace(Limits(concurrency=4), clock)
    for n in range(10):
        clock.now += 1
        pace.pushed_back(None, started=clock.now - 0.1)
        assert pace.window >= 1, n


def test_a_limit_that_is_not_large_is_used_from_the_start():
    assert Pace(Limits(concurrency=64)).window == 64
    assert Pace(Limits(concurrency=256)).window == 256
    assert Pace(Limits(concurrency=4096)).window == 256


def test_limits_of_requests_and_tokens_per_minute_are_respected():
    async def sent(limits: Limits, tokens: int) -> int:
        pace = Pace(limits)
        done = 0

        async def one() -> None:
            nonlocal done
            await pace.enter(tokens)
            done += 1
            pace.leave()

        tasks = [asyncio.create_task(one()) for _ in range(50)]
        await asyncio.sleep(0.6)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return done

    # 600 a minute are 10 a second, after a first burst of a tenth of a minute's worth at most
    assert 5 <= asyncio.run(sent(Limits(50, requests_per_minute=60), 1)) <= 8
    assert asyncio.run(sent(Limits(50, tokens_per_minute=6000), 100)) <= 8
    assert asyncio.run(sent(Limits(50), 100)) == 50


def entering(pace: Pace, log: list[str], name: str) -> asyncio.Task[None]:
    async def enter() -> None:
        await pace.enter(1)
        log.append(name)

    return asyncio.create_task(enter())


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_a_cancelled_request_gives_its_slot_to_the_next():
    """It was woken before it was cancelled: the next request must not go on sleeping."""

    async def main() -> list[str]:
        pace, log = Pace(Limits(concurrency=1)), list[str]()
        entering(pace, log, "first")
        await settle()
        second, third = entering(pace, log, "second"), entering(pace, log, "third")
        await settle()
        pace.leave()
        second.cancel()
        await settle()
        assert second.cancelled()
        assert third.done()
        return log

    assert asyncio.run(main()) == ["first", "third"]


def test_a_request_cancelled_before_it_is_woken_is_forgotten():
    async def main() -> list[str]:
        pace, log = Pace(Limits(concurrency=1)), list[str]()
        entering(pace, log, "first")
        await settle()
        second, third = entering(pace, log, "second"), entering(pace, log, "third")
        await settle()
        assert pace.load == 3.0
        second.cancel()
        await settle()
        assert pace.load == 2.0
        pace.leave()
        await settle()
        assert third.done()
        assert pace.load == 1.0
        return log

    assert asyncio.run(main()) == ["first", "third"]


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1m2.5s"}, 62.5),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "120ms"}, 0.12),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "7"}, 7.0),
        ({"x-ratelimit-remaining-tokens": "5", "x-ratelimit-reset-tokens": "7"}, None),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "soon"}, None),
        ({}, None),
    ],
)
def test_rate_limit_headers(headers, wait):
    assert rate_limit_wait(headers) == (wait if wait is None else pytest.approx(wait))


def test_several_endpoints_share_the_load(tmp_path):
    def slow(body, number):
        time.sleep(0.001)
        return entailed(body, number)

    with serve(slow) as first, serve(slow) as second, Ledger.open(tmp_path / "l") as ledger:
        settings = OpenAISettings("m", (first.url, second.url), limits=Limits(8))
        tally = judge(
            [("t", plan(ledger, OpenAILabeller(settings, Renderer()), requests(200)))], ledger
        )
        assert tally.asked == 200
        assert min(len(first.requests), len(second.requests)) > 50


def test_a_request_that_never_succeeds_does_not_stop_the_others(tmp_path, monkeypatch):
    async def short(seconds):
        await asyncio.sleep(0.001)

    monkeypatch.setattr(module, "_sleep", short)

    def script(body, number):
        poisoned = "passage 3\n" in body["messages"][1]["content"]
        return (500, {"error": "crash"}) if poisoned else entailed(body, number)

    with serve(script) as server, Ledger.open(tmp_path / "l") as ledger:
        settings = OpenAISettings("m", (server.url,), limits=Limits(2))
        tally = judge(
            [("t", plan(ledger, OpenAILabeller(settings, Renderer()), requests(100)))], ledger
        )
        labels = list(ledger.labels())
    assert (tally.asked, tally.failed) == (100, 1)
    (failed,) = [label for label in labels if label.status is Status.FAILED]
    assert "others were answered" in failed.error


class Flaky:
    """A transport that fails one time in three and counts the requests in flight."""

    def __init__(self, fault: Exception | Reply) -> None:
        self.fault, self.number, self.under_way, self.most = fault, 0, 0, [0]

    async def post(self, sent):
        self.number += 1
        failing = self.number % 3 == 0
        self.under_way += 1
        self.most.append(self.under_way)
        await asyncio.sleep(0.002)
        self.under_way -= 1
        if not failing:
            said = entailed(json.loads(sent.body), 0)
            return Reply(200, json.dumps(said).encode())
        if isinstance(self.fault, Reply):
            return self.fault
        raise self.fault

    async def close(self):
        return None


@pytest.mark.parametrize(
    ("fault", "lowers"),
    [
        (Reply(429, b"{}"), True),
        (Reply(503, b"{}"), True),
        (ReplyTimeout("no reply within 1 s"), True),
        (Reply(500, b"{}"), False),
        (TransportError("reset"), False),
    ],
    ids=["429", "503", "timeout", "500", "reset"],
)
def test_only_push_back_lowers_the_number_in_flight(tmp_path, monkeypatch, fault, lowers):
    async def short(seconds):
        return None

    monkeypatch.setattr(module, "_sleep", short)
    transport = Flaky(fault)
    with Ledger.open(tmp_path / "l") as ledger:
        made = OpenAILabeller(OpenAISettings("m", limits=Limits(32)), Renderer(), transport)
        tally = judge([("t", plan(ledger, made, requests(600)))], ledger)
    assert (tally.asked, tally.failed) == (600, 0)
    if lowers:
        assert max(transport.most[len(transport.most) // 2 :]) < 16
    else:  # (as many may be under way; some of these are being written where the machine is busy)
        (endpoint,) = made._endpoints._endpoints
        assert endpoint.pace.window == 32


class Two:
    """Two addresses, one of which fails with ``fault`` while ``broken``."""

    def __init__(self, fault: Exception | Reply) -> None:
        self.fault, self.broken = fault, True
        self.posts: Counter[str] = Counter()
        self.good: Counter[str] = Counter()

    async def post(self, sent):
        name = sent.url.split("/")[2]
        self.posts[name] += 1
        if name == "bad" and self.broken:
            if isinstance(self.fault, Reply):
                return self.fault
            raise self.fault
        await asyncio.sleep(0.01)
        self.good[name] += 1
        return Reply(200, json.dumps(entailed(json.loads(sent.body), 0)).encode())

    async def close(self):
        return None


def ask_two(tmp_path, transport, count):
    urls = ("http://good/v1", "http://bad/v1")
    with Ledger.open(tmp_path / "l") as ledger:
        made = OpenAILabeller(OpenAISettings("m", urls, limits=Limits(8)), Renderer(), transport)
        return judge([("t", plan(ledger, made, requests(count)))], ledger)


@pytest.mark.parametrize(
    "fault",
    [TransportError("refused"), Reply(503, b"{}"), Reply(500, b"{}"), Reply(429, b"{}")],
    ids=["refused", "503", "500", "429"],
)
def test_an_address_that_never_answers_is_not_used(tmp_path, fault):
    transport = Two(fault)
    tally = ask_two(tmp_path, transport, 300)
    assert (tally.asked, tally.failed) == (300, 0)
    assert transport.posts["good"] == 300
    # What is under way when it starts to fail, and now and then one that tries it again.
    assert transport.posts["bad"] < 30


def test_an_address_that_is_back_is_used_again(tmp_path):
    transport = Two(TransportError("refused"))

    async def mend():
        await asyncio.sleep(0.3)
        transport.broken = False

    post, mending = transport.post, []

    async def post_and_mend(*arguments):
        if not mending:
            mending.append(asyncio.create_task(mend()))
        return await post(*arguments)

    transport.post = post_and_mend
    tally = ask_two(tmp_path, transport, 2000)
    assert (tally.asked, tally.failed) == (2000, 0)
    assert transport.good["bad"] > 100


def test_the_servers_name_of_its_model_is_kept(tmp_path):
    def script(body, number):
        reply = completion(json.dumps({"reason": "", "entailed": "NO"}))
        reply["model"] = "m-2026-01-01"
        reply["usage"]["prompt_tokens_details"] = {"cached_tokens": 64}
        return reply

    with serve(script) as server, Ledger.open(tmp_path / "l") as ledger:
        settings = OpenAISettings("m", (server.url,))
        judge([("t", plan(ledger, OpenAILabeller(settings, Renderer()), requests(1)))], ledger)
        (label,) = ledger.labels()
    assert label.detail == {"model": "m-2026-01-01", "cached_tokens": 64}
