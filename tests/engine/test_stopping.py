"""What ends a run: the same fault over and over, silence, and a person who wants to leave."""

from __future__ import annotations

import json
import signal
import time
from datetime import UTC, datetime

import pytest

from assay.judging.engine import judge, plan
from assay.judging.progress import SilentProgress
from assay.labellers import endpoints
from assay.labellers.custom import FunctionLabeller
from assay.labellers.endpoints import retry_after
from assay.labellers.pace import rate_limit_wait
from assay.ledger import Ledger
from assay.model.errors import LabellerUnreachable
from assay.model.labels import Status
from tests.engine.asking import requests, run
from tests.engine.server import ask_of, completion, serve
from tests.engine.test_judging import entailed


class Notes(SilentProgress):
    def __init__(self):
        self.notes: list[str] = []

    def note(self, text):
        self.notes.append(text)


def passage_of(body):
    return int(ask_of(body).split("passage ")[1].split()[0])


def statuses(path):
    with Ledger.open(path) as ledger:
        return [label.status for label in ledger.labels()]


SAME = {
    "400": lambda n: (400, {"error": {"message": f"request req-{n:04x} is malformed"}}),
    "422": lambda n: (422, {"error": f"no model of that name (trace '{n}')"}),
    "error in a 200": lambda n: {"error": {"message": "upstream is gone", "code": "x"}},
    "no content": lambda n: completion(""),
    "null": lambda n: completion(None),
    "no choices": lambda n: {"choices": []},
    "prose": lambda n: completion(f"I am model number {n}."),
    "no verdict": lambda n: completion(json.dumps({"reason": str(n), "entailed": "PERHAPS"})),
}


@pytest.mark.parametrize("fault", SAME)
def test_the_same_fault_twenty_times_stops_the_run_and_leaves_the_questions_open(tmp_path, fault):
    path = tmp_path / "l"
    with serve(lambda body, number: SAME[fault](number)) as server:
        with pytest.raises(LabellerUnreachable, match="asked 20 questions in a row") as caught:
            run(path, server.url, requests(500))
        asked = {ask_of(body) for body in server.requests}
    assert "stay open" in str(caught.value)
    assert "give_up_after" in str(caught.value)
    assert 20 <= len(asked) <= 24
    assert server.most_at_once <= 4  # few are under way until one is answered
    assert statuses(path) == []
    with serve(entailed) as server:  # what was cured is asked without --retry-failed
        again = run(path, server.url, requests(30))
    assert (again.asked, again.known, again.known_failed) == (30, 0, 0)


def test_what_came_to_nothing_is_told_with_what_it_cost(tmp_path):
    with serve(lambda body, number: completion("no")) as server:
        with pytest.raises(LabellerUnreachable, match=r"2,000 tokens read, 200 written, \$0.0022"):
            run(tmp_path / "l", server.url, requests(50), give_up_after=10,
                settings={"concurrency": 1})  # fmt: skip
    assert statuses(tmp_path / "l") == []


def test_an_answer_between_them_makes_faults_the_questions_own(tmp_path):
    def script(body, number):
        n = passage_of(body)
        return entailed(body, number) if n % 10 == 0 else (400, {"error": "bad"})

    with serve(script) as server:
        tally = run(tmp_path / "l", server.url, requests(200), settings={"concurrency": 1})
    assert (tally.asked, tally.failed, tally.skipped) == (200, 180, 0)
    found = statuses(tmp_path / "l")
    assert (found.count(Status.FAILED), found.count(Status.OK)) == (180, 20)


def test_other_faults_between_them_do_too_as_does_the_end(tmp_path):
    def script(body, number):
        return (400, {"error": "bad"}) if number % 9 else (400, {"error": "worse"})

    with serve(script) as server:
        tally = run(tmp_path / "l", server.url, requests(50), settings={"concurrency": 1})
    assert (tally.asked, tally.failed) == (50, 50)
    assert len(statuses(tmp_path / "l")) == 50


WORDS = ("one", "two", "three", "four", "five", "six", "seven")
UNLIKE = {
    "letters": lambda n: (400, {"error": f"request {WORDS[n % 7]}{'x' * n} failed"}),
    "in turn": lambda n: (400, {"error": WORDS[n % 3]}),
    "two kinds": lambda n: completion("no") if n % 2 else (400, {"error": "bad"}),
}


@pytest.mark.parametrize("fault", UNLIKE)
@pytest.mark.parametrize("good", [0, 30])
def test_faults_of_any_kind_in_a_row_stop_a_run_too(tmp_path, fault, good):
    path = tmp_path / "l"

    def script(body, number):
        return entailed(body, number) if number <= good else UNLIKE[fault](passage_of(body))

    with serve(script) as server:
        with pytest.raises(LabellerUnreachable, match="asked 15 questions in a row and none was"):
            run(path, server.url, requests(200), give_up_after=5, settings={"concurrency": 1})
    assert statuses(path) == [Status.OK] * good


def test_a_model_that_refuses_or_is_filtered_is_no_reason_to_stop(tmp_path):
    refusal = completion(None, message={"refusal": "I would rather not."})
    with serve(lambda body, number: refusal) as server:
        tally = run(tmp_path / "l", server.url, requests(60))
    assert tally.failed == 60


def test_never_to_give_up_is_a_setting(tmp_path):
    with serve(lambda body, number: (400, {"error": "bad"})) as server:
        tally = run(tmp_path / "l", server.url, requests(60), give_up_after=0)
    assert tally.failed == 60


def test_a_fault_that_begins_late_keeps_what_was_answered(tmp_path):
    def script(body, number):
        return entailed(body, number) if number <= 100 else (400, {"error": "gone"})

    with serve(script) as server:
        with pytest.raises(
            LabellerUnreachable, match="100 labels of this run are kept \\(100 by openai:m\\)"
        ):
            run(tmp_path / "l", server.url, requests(900), settings={"concurrency": 1})
    assert statuses(tmp_path / "l") == [Status.OK] * 100


def test_a_function_whose_verdicts_never_fit_stops_too(tmp_path):
    def wrong(task, unit):
        return {"entailed": 7}

    wrong.version = "1"
    with Ledger.open(tmp_path / "l") as ledger:
        planned = plan(ledger, FunctionLabeller("f", wrong), requests(100))
        with pytest.raises(LabellerUnreachable, match="the verdict does not fit"):
            judge([("t", planned)], ledger)
        assert ledger.size() == 0


def test_a_silent_server_is_told_of_after_two_time_outs(tmp_path, monkeypatch):
    monkeypatch.setattr(endpoints, "_LONGEST_WAIT", 0.01)
    notes = Notes()

    def script(body, number):
        return 0.4 if number <= 2 else entailed(body, number)

    with serve(script) as server:
        settings = {"concurrency": 1, "timeout": 0.2}
        tally = run(tmp_path / "l", server.url, requests(5), progress=notes, settings=settings)
    assert tally.asked == 5
    (told,) = notes.notes
    assert "does not respond: 2 questions had no reply within 0.2 s" in told


def test_another_model_in_mid_run_is_told_at_once(tmp_path):
    notes = Notes()

    def script(body, number):
        return entailed(body, number) | {"model": "m-1" if number <= 20 else "m-2"}

    with serve(script) as server:
        run(tmp_path / "l", server.url, requests(40), progress=notes, settings={"concurrency": 1})
    (told,) = notes.notes
    assert "was 'm-1' and is now 'm-2'" in told


def test_names_that_never_end_are_counted(tmp_path):
    notes = Notes()

    def script(body, number):
        return entailed(body, number) | {"model": f"m-{number}"}

    with serve(script) as server:
        run(tmp_path / "l", server.url, requests(60), progress=notes)
    assert len(notes.notes) == 4
    assert "has named 10 different models so far" in notes.notes[-1]


@pytest.mark.parametrize("asked", ["60", "1e308", "Fri, 01 Jan 2100 00:00:00 GMT"])
def test_a_server_that_asks_for_long_waits_is_told_of_once(tmp_path, monkeypatch, asked):
    monkeypatch.setattr(endpoints, "_LONGEST_WAIT", 0.05)
    monkeypatch.setattr(endpoints, "_LONG", 0.04)
    notes = Notes()

    def script(body, number):
        return entailed(body, number) if number > 4 else (429, {}, {"Retry-After": asked})

    with serve(script) as server:
        run(tmp_path / "l", server.url, requests(3), progress=notes, settings={"concurrency": 1})
    (told,) = notes.notes
    assert "HTTP 429" in told
    assert "question" in told
    assert "the server asks for " in told
    assert len(told) < 250


def test_a_spent_limit_is_told_of(tmp_path, monkeypatch):
    monkeypatch.setattr(endpoints, "_LONGEST_WAIT", 0.05)
    monkeypatch.setattr(endpoints, "_LONG", 0.04)
    notes = Notes()
    spent = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "99999h"}
    with serve(lambda body, number: (200, entailed(body, number), spent)) as server:
        run(tmp_path / "l", server.url, requests(3), progress=notes)
    (told,) = notes.notes
    assert "its rate limit is used up" in told


@pytest.mark.parametrize("status", [400, 401, 402, 404])
def test_an_address_that_refuses_what_another_answers_is_left_alone(tmp_path, status):
    notes = Notes()
    broken = lambda body, number: (status, {"error": "no such thing"})  # noqa: E731
    with serve(entailed) as good, serve(broken) as bad:
        settings = {"more_urls": (bad.url,), "concurrency": 4}
        tally = run(tmp_path / "l", good.url, requests(120), progress=notes, settings=settings)
        assert (tally.asked, tally.failed) == (120, 0)
        assert len(bad.requests) < 25
    (told,) = notes.notes
    assert "refuses what another address answers" in told
    assert f"HTTP {status}" in told


def test_what_all_addresses_refuse_is_the_questions_own_fault(tmp_path):
    def script(body, number):
        bad = passage_of(body) == 7
        return (400, {"error": "too odd"}) if bad else entailed(body, number)

    with serve(script) as one, serve(script) as other:
        settings = {"more_urls": (other.url,)}
        tally = run(tmp_path / "l", one.url, requests(20), settings=settings)
    assert (tally.asked, tally.failed) == (20, 1)


def test_an_account_without_credit_is_told_as_such(tmp_path):
    with serve(lambda body, number: (402, {"error": "payment required"})) as server:
        with pytest.raises(LabellerUnreachable, match="requires payment"):
            run(tmp_path / "l", server.url, requests(3))


HUGE = "9" * 400


@pytest.mark.parametrize(
    ("value", "wait"),
    [
        ("inf", None), ("-inf", None), ("nan", None), ("1e999", None), (HUGE, None),
        ("-5", 0), ("7", 7), ("soon", None), ("", None),
        (f"Mon, 01 Jan {HUGE} 00:00:00 GMT", None),
        ("Mon, 01 Jan 2026 00:00:00 +99999999999999", None),
        ("Mon, 01 Jan 2026 00:00:00 -9999", None),
        ("Thu, 01 Jan 2026 99:00:00 GMT", None),
    ],
)  # fmt: skip
def test_a_wait_that_no_clock_knows_is_none(value, wait):
    assert retry_after({"retry-after": value}, datetime(2026, 1, 1, tzinfo=UTC)) == wait
    spent = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": value}
    reset = rate_limit_wait(spent)
    assert reset is None or reset < 1e9


@pytest.mark.parametrize("value", ["inf", "1e300", f"Mon, 01 Jan {HUGE} 00:00:00 GMT", "-1", "x"])
def test_a_retry_after_of_any_kind_is_waited_out_within_bounds(tmp_path, monkeypatch, value):
    monkeypatch.setattr(endpoints, "_LONGEST_WAIT", 0.05)

    def script(body, number):
        return entailed(body, number) if number % 2 == 0 else (429, {}, {"Retry-After": value})

    with serve(script) as server:
        started = time.monotonic()
        tally = run(tmp_path / "l", server.url, requests(3), settings={"concurrency": 1})
    assert (tally.asked, tally.failed) == (3, 0)
    assert time.monotonic() - started < 5


def test_signals_do_as_before_when_a_run_is_over(tmp_path):
    def mine(number, frame):
        raise AssertionError

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        for number in before:
            signal.signal(number, mine)
        with serve(entailed) as server:
            run(tmp_path / "l", server.url, requests(2))
        assert all(signal.getsignal(number) is mine for number in before)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
