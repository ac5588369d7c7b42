"""The engine: nothing is asked twice, nothing that arrived is lost."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import threading
import time
from contextlib import contextmanager
from dataclasses import replace

import pytest

from assay.judging.engine import claimed, judge, plan
from assay.labellers import endpoints
from assay.labellers.base import BaseLabeller, Outcome
from assay.labellers.http import HttpTransport
from assay.labellers.prices import Price, list_price
from assay.labellers.recorded import RecordedLabeller
from assay.labellers.rules import RulesLabeller
from assay.labellers.transport import NotSent, PostRequest
from assay.ledger import Ledger
from assay.ledger.store import Place
from assay.model.errors import (
    AssayError,
    FormatError,
    LabellerUnreachable,
    LedgerError,
    SettingsError,
)
from assay.model.labels import LabellerId, Status
from tests.engine.asking import aloud, ask, ended, forked, labeller, requests, run
from tests.engine.server import ask_of, completion, serve


def entailed(body, number):
    """The verdict depends only on the question: passages with odd numbers entail."""
    n = int(ask_of(body).split("passage ")[1].split()[0])
    return completion(json.dumps({"reason": f"n{n}", "entailed": "YES" if n % 2 else "NO"}))


@contextmanager
def claimed_at(path: Place, wanted, shard=None):
    with Ledger.open(path) as ledger, claimed(ledger, wanted, shard):
        yield


def test_equal_questions_are_asked_once_and_never_again(place):
    with serve(entailed) as server:
        first = run(place, server.url, requests(20) * 3)
        again = run(place, server.url, requests(25))
    assert (first.wanted, first.asked) == (20, 20)
    assert (again.known, again.asked) == (20, 5)
    assert len(server.requests) == 25


def test_requests_are_sent_concurrently(place):
    with serve(entailed) as server:
        run(place, server.url, requests(60), settings={"concurrency": 8})
    assert 4 <= server.most_at_once <= 8


def test_verdicts_and_reasons_are_kept(place):
    with serve(entailed) as server:
        run(place, server.url, requests(4))
    with Ledger.open(place) as ledger:
        contents = ledger.units()
        for label in ledger.labels():
            n = int(contents[label.unit]["nugget"].split()[1])
            assert label.verdict == {"reason": f"n{n}", "entailed": bool(n % 2)}
            assert label.reason == f"n{n}"
            assert label.tokens_in == 100


def test_failures_are_labels_of_their_own_and_asked_again_only_on_demand(place):
    def script(body, number):
        return completion("no idea") if "passage 3\n" in ask_of(body) else entailed(body, number)

    with serve(script) as server:
        first = run(place, server.url, requests(5))
        second = run(place, server.url, requests(5))
    assert (first.asked, first.failed) == (5, 1)
    assert (second.asked, second.known_failed) == (0, 1)
    with serve(entailed) as server:
        third = run(place, server.url, requests(5), plan={"retry_failed": True})
    assert (third.asked, third.failed) == (1, 0)
    with Ledger.open(place) as ledger:
        statuses = [label.status for label in ledger.labels()]
    assert statuses.count(Status.FAILED) == 1
    assert statuses.count(Status.OK) == 5


def test_an_endpoint_that_dies_stops_the_run_and_keeps_what_was_done(place):
    def script(body, number):
        return entailed(body, number) if number <= 7 else (401, {"error": "key expired"})

    with serve(script) as server:
        with pytest.raises(LabellerUnreachable, match=r"7 labels of this run are kept"):
            run(place, server.url, requests(50), settings={"concurrency": 1})
        assert len(server.requests) == 8
    with Ledger.open(place) as ledger:
        assert len(list(ledger.labels())) == 7


@pytest.mark.parametrize("concurrency", [1, 32])
def test_the_budget_is_never_exceeded_whatever_replies_cost(place, concurrency):
    def dear(body, number):  # as long as the limit allows
        made = entailed(body, number)
        made["usage"]["completion_tokens"] = body["max_tokens"]
        return made

    with serve(dear) as server:  # 400 tokens at a dollar a million each
        tally = run(
            place,
            server.url,
            requests(50),
            budget=0.01,
            settings={"concurrency": concurrency},
        )
    assert tally.stopped == "budget"
    assert 0.008 < tally.cost <= 0.01
    assert tally.asked == round(tally.cost / 0.0004)
    assert tally.skipped == 50 - tally.asked


def test_an_unreported_cost_counts_as_the_highest_possible_one(place):
    def silent(body, number):
        made = entailed(body, number)
        del made["usage"]
        return made

    with serve(silent) as server, Ledger.open(place) as ledger:
        made = labeller(server.url, price=Price(1.0, 1.0))
        planned = plan(ledger, made, requests(50))
        most = made.estimate(requests(1)[0]).at_most
        tally = judge([("one", planned), ("two", planned)], ledger, budget=10.5 * most)
        assert tally.stopped == "budget"
        assert len(server.requests) == tally.asked == tally.unpriced == 10
    assert tally.cost == 0
    assert tally.at_most == pytest.approx(10 * most, rel=0.01)


def test_a_lost_reply_counts_as_the_highest_possible_cost(place, monkeypatch):
    real = asyncio.sleep
    monkeypatch.setattr(endpoints, "_sleep", lambda _seconds: real(0))
    faults = [None, (504, {"error": "timeout"}), (503, {"error": "busy"})]

    def losing(body, number):
        return faults[number - 1] if number <= len(faults) else entailed(body, number)

    with serve(losing) as server, Ledger.open(place) as ledger:
        made = labeller(server.url, price=Price(1.0, 1.0))
        asked = requests(1)
        most = made.estimate(asked[0]).at_most
        tally = judge([("t", plan(ledger, made, asked))], ledger, budget=10 * most)
        assert len(server.requests) == 4
        (label,) = ledger.labels()
    # What came, and two replies that the server may have made, as long as they were let be.
    assert (tally.asked, tally.unpriced, tally.cost) == (1, 1, 0.0)
    came = made.price.of(label.tokens_in, label.tokens_out)
    lost = made.price.most(made.estimate(asked[0]).tokens_in, asked[0].task.max_tokens)
    assert tally.at_most == pytest.approx(came + 2 * lost)
    assert tally.at_most < most
    assert (label.cost, label.tokens_in, label.detail["lost_replies"]) == (None, 100, 2)


def test_what_was_never_sent_costs_nothing():
    async def sent():
        transport = HttpTransport()
        try:
            await transport.post(PostRequest("http://127.0.0.1:9/", {}, b"", 5.0))
        finally:
            await transport.close()

    with pytest.raises(NotSent):
        asyncio.run(sent())


class Dear(BaseLabeller):
    """Costs one cent per answer, without a price in advance."""

    id = LabellerId("dear", "custom", {})
    concurrency = 16

    def __init__(self):
        self.under_way = self.most = 0

    async def label(self, request):
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(0.005)
        self.under_way -= 1
        verdict = request.task.verdict(entailed=True, reason="so")
        return Outcome(Status.OK, verdict, cost=0.01)


def test_the_budget_holds_for_labellers_without_a_price_in_advance(place):
    made = Dear()
    with Ledger.open(place) as ledger:
        tally = judge([("t", plan(ledger, made, requests(50)))], ledger, budget=0.055)
    assert (tally.asked, tally.stopped) == (5, "budget")
    assert made.most > 1  # one after the other only until a price is known


def test_an_unknown_cost_is_counted_and_never_zero(place):
    with serve(entailed) as server, Ledger.open(place) as ledger:
        tally = judge([("t", plan(ledger, labeller(server.url), requests(3)))], ledger)
        assert [label.cost for label in ledger.labels()] == [None] * 3
    assert (tally.asked, tally.unpriced) == (3, 3)


def test_cached_tokens_have_their_own_price(place):
    def cached(body, number):
        made = entailed(body, number)
        made["usage"]["prompt_tokens_details"] = {"cached_tokens": 60}
        return made

    price = Price(1.0, 10.0, 0.5)
    with serve(cached) as server, Ledger.open(place) as ledger:
        made = labeller(server.url, price=price)
        tally = judge([("t", plan(ledger, made, requests(1)))], ledger)
    assert tally.cost == pytest.approx((40 + 60 * 0.5 + 10 * 10) / 1e6)
    assert tally.tokens_cached == 60


def test_cached_tokens_that_are_counted_apart_never_make_a_cost_negative(place):
    def apart(body, number):
        made = entailed(body, number)
        made["usage"]["prompt_tokens_details"] = {"cached_tokens": 5000}
        return made

    with serve(apart) as server, Ledger.open(place) as ledger:
        made = labeller(server.url, price=Price(1.0, 10.0, 0.5))
        tally = judge([("t", plan(ledger, made, requests(1)))], ledger)
    assert tally.cost == pytest.approx((100 + 5000 * 0.5 + 10 * 10) / 1e6)


def test_list_prices_apply_only_to_the_provider():
    assert list_price("gpt-4.1", ("https://api.openai.com/v1",)) == Price(2.0, 8.0, 0.5)
    assert list_price("gpt-4.1", ("http://127.0.0.1:8000/v1",)) is None
    assert list_price("gpt-4.1", ("https://api.openai.com/v1", "http://elsewhere/v1")) is None
    assert list_price("no-such-model", ("https://api.openai.com/v1",)) is None


def test_a_labeller_that_cannot_do_the_task_is_reported_before_anything_is_asked(place):
    with Ledger.open(place) as ledger, pytest.raises(SettingsError, match="embedded"):
        plan(ledger, RulesLabeller(), requests(1))


def test_recorded_labels_are_a_machines_and_leave_gaps_missing(tmp_path, place):
    """People's labels in an export are passed over: as the machine's they would be corrected by
    themselves, with intervals of no width."""
    whose = ["llm", {"name": "human:KIM", "kind": "human", "params": {}}, "human:KIM"]
    rows = [
        {
            "task": "r2c2.entailment",
            "unit": {"passage": f"passage {number}", "nugget": f"nugget {number}"},
            "verdict": {"entailed": "NO", "reason": "r"},
            "labeller": who,
        }
        for number, who in enumerate(whose)
    ]
    as_on_windows = "\ufeff" + "\r\n".join(map(json.dumps, rows))
    (tmp_path / "r.jsonl").write_text(as_on_windows, encoding="utf-8")
    (tmp_path / "people.jsonl").write_text(json.dumps(rows[1]))
    with Ledger.open(place) as ledger:
        made = RecordedLabeller(tmp_path / "r.jsonl")
        tally = judge([("t", plan(ledger, made, requests(3)))], ledger)
        assert (tally.asked, tally.unanswered) == (1, 2)
        (label,) = ledger.labels()
        assert label.labeller.name == "recorded:r.jsonl"
        assert label.detail["recorded_from"] == "llm"
        plans = [("t", plan(ledger, RecordedLabeller(tmp_path / "people.jsonl"), requests(1)))]
        with pytest.raises(
            SettingsError, match="Import people's labels with 'assay labels import'"
        ):
            judge(plans, ledger)


def test_every_faulty_line_of_a_recorded_file_is_named(tmp_path, place):
    (tmp_path / "r.jsonl").write_text('nonsense\n{"task": "t"}\n{"task": "t", "unit": {}}\n')
    with Ledger.open(place) as ledger:
        made = RecordedLabeller(tmp_path / "r.jsonl")
        with pytest.raises(FormatError) as caught:
            judge([("t", plan(ledger, made, requests(1)))], ledger)
    assert [fault.line for fault in caught.value.faults] == [1, 2, 3]


@pytest.mark.parametrize(
    ("name", "why"),
    [("r.jsonl", "There is no such file"), (".", "are not a file"), ("r" * 300, "name too long")],
)
def test_a_recorded_file_that_cannot_be_read(tmp_path, name, why):
    with Ledger.open(tmp_path / "l") as ledger:
        plans = [("t", plan(ledger, RecordedLabeller(tmp_path / name), requests(1)))]
        with pytest.raises(AssayError, match=why):
            judge(plans, ledger)


def test_a_kill_at_any_moment_loses_nothing_and_pays_nothing_twice(place):
    count, path = 300, place
    random.seed(7)
    with serve(entailed) as server:
        for _ in range(6):
            process = forked(ask, path, server.url, count)
            seen = len(server.requests)
            until = seen + random.randint(1, 60)
            deadline = time.monotonic() + 20
            while len(server.requests) < until and time.monotonic() < deadline:
                time.sleep(0.002)
            process.kill()
            process.join(10)
        assert ended(forked(ask, path, server.url, count)) == 0
        asked = len(server.requests)
    with Ledger.open(path) as ledger:
        labels = list(ledger.labels())
    assert len(labels) == count
    assert len({label.key for label in labels}) == count
    # At each kill at most what was under way is lost: four at the server, one being written.
    assert asked <= count + 6 * 5


def test_two_processes_do_not_both_pay(tmp_path, tmp_path_factory, place):
    count, path, go = 300, place, threading.Event()

    def held(body, number):
        if number > 10:
            assert go.wait(20)
        return entailed(body, number)

    told = tmp_path_factory.mktemp("second") / "told"
    with serve(held) as server:
        first = forked(ask, path, server.url, count)
        while len(server.requests) < 5:
            time.sleep(0.005)
        second = forked(aloud, told, ask, path, server.url, count)
        second.join(20)
        go.set()
        assert (ended(first), second.exitcode) == (0, 1)
        assert ended(forked(ask, path, server.url, count)) == 0
        assert len(server.requests) == count
    assert f"openai:m is being asked for 'r2c2.entailment' by another process (number {first.pid}"\
        in told.read_text()  # fmt: skip
    with Ledger.open(path) as ledger:
        assert len(list(ledger.labels())) == count
    assert [one.name for one in tmp_path.iterdir()] in (["l"], [])  # no claim is left


def test_other_tasks_other_labellers_and_free_ones_are_not_claimed(tmp_path):
    rules = RulesLabeller().id
    path, mine = tmp_path / "l", LabellerId("m", "model", {"seed": 1})
    with claimed_at(path, [(mine, "t"), (rules, "t")]):
        with claimed_at(
            path, [(mine, "u"), (replace(mine, params={"seed": 2}), "t"), (rules, "t")]
        ):
            pass
        with (
            pytest.raises(LedgerError, match=f"number {os.getpid()}"),
            claimed_at(path, [(mine, "t")]),
        ):
            pass
        (tmp_path / "link").symlink_to(path)
        with pytest.raises(LedgerError), claimed_at(tmp_path / "link", [(mine, "t")]):
            pass
    with claimed_at(path, [(mine, "t")]):
        pass
    assert sorted(one.name for one in tmp_path.iterdir()) == ["l", "link"]


def test_a_claim_follows_no_link(tmp_path):
    path, mine, victim = tmp_path / "l", LabellerId("m", "model"), tmp_path / "mine.txt"
    victim.write_text("keep this")
    with claimed_at(path, [(mine, "t")]):
        (name,) = [one.name for one in tmp_path.iterdir() if "asking" in one.name]
    (tmp_path / name).symlink_to(victim)
    with pytest.raises(LedgerError, match="remove it"), claimed_at(path, [(mine, "t")]):
        pass
    assert victim.read_text() == "keep this"


def test_questions_that_others_answered_since_the_plan_are_not_asked(place):
    with serve(entailed) as server, Ledger.open(place) as ledger:
        made = labeller(server.url)
        early = plan(ledger, made, requests(40))
        run(place, server.url, requests(30))
        tally = judge([("t", early)], ledger)
        assert (tally.wanted, tally.known, tally.asked) == (40, 30, 10)
        assert len(server.requests) == 40


def test_ctrl_c_waits_for_the_answers_under_way(place):
    def slow(body, number):
        time.sleep(0.01)
        return entailed(body, number)

    with serve(slow) as server:
        process = forked(ask, place, server.url, 2000)
        while len(server.requests) < 20:
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGINT)
        assert ended(process) == 0
        asked = len(server.requests)
    with Ledger.open(place) as ledger:
        assert len(list(ledger.labels())) == asked
    assert asked < 2000


def test_a_key_that_a_server_repeats_is_in_no_error_and_replies_stay_as_they_are(tmp_path):
    key = "sk-very-secret-0123456789"

    def script(body, number):
        if number == 1:
            return 400, {"error": {"message": f"maximum context length, key {key}"}}
        if number == 2:
            return completion(f"I was asked with {key}")
        made = completion(json.dumps({"reason": "by sk-very", "entailed": "NO"}))
        return made | {"model": f"m of {key}"}

    with serve(script) as server:
        run(tmp_path / "l", server.url, requests(3), settings={"keys": {server.url: key}})
    for file in tmp_path.iterdir():
        assert key.encode() not in file.read_bytes()
    assert os.listdir(tmp_path)
