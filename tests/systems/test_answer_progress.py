"""Answers shown while they come: in pieces for who looks on, a plain line each for who does not."""

import io
import itertools
import json
import threading

import pytest
from rich.console import Console

from assay.api.answer_options import AnswerOptions
from assay.api.answering import Answering
from assay.cli import answer as answer_command
from assay.cli import judging
from assay.judging.progress import SilentProgress
from assay.labellers import endpoints
from assay.labellers.base import Outcome, Request
from assay.labellers.streams import Stream, joined_reply
from assay.model.labels import Status
from assay.model.rag import PassageKey
from assay.systems.answering import PassageSource
from assay.systems.reply_lines import Teller
from assay.tasks.answering import CERTAINTY, REPORT, Certainty, CertaintyUnit, Report, ReportUnit
from tests.engine.server import Pieces, serve
from tests.systems.test_answering_steps import PR, QUESTIONS, command, part, says

TOPICS = dict(line.split("\t") for line in QUESTIONS.splitlines())


@pytest.fixture
def place(tmp_path):
    (tmp_path / "ONE.txt").write_text(PR)
    (tmp_path / "q.tsv").write_text(QUESTIONS)
    return tmp_path


class Ear(SilentProgress):
    """Remembers all that it is told."""

    def __init__(self, live=True):
        self.live = live
        self.pieces = []
        self.answers = []
        self.hears = {question: threading.Event() for question in TOPICS.values()}

    def partial_reply(self, request, text):
        self.pieces.append((request.topic, text))
        if request.topic in TOPICS:
            self.hears[TOPICS[request.topic]].set()

    def answered(self, request, outcome):
        self.answers.append((request.topic, outcome.verdict.answer, outcome.verdict.confidence))


def answered(place, server, ear, topics=TOPICS):
    options = AnswerOptions(pr_runs=[str(place / "ONE.txt")])
    job = Answering.of(topics, place / "A.txt", options, f"openai:m@{server.url}")
    return job.answered(None, progress=ear)


def in_pieces(body, number):
    return Pieces(says(body, number))


def test_who_looks_on_hears_replies_as_they_are_written(place):
    ear, deaf = Ear(), Ear(live=False)

    def waiting(body, number):
        return Pieces(says(body, number), heard=ear.hears[part(body, "QUESTION")])

    with serve(waiting) as server:
        seen, unseen = answered(place, server, ear), answered(place, server, deaf)
    assert seen.data == unseen.data
    assert seen.data
    assert (seen.tally.tokens_in, seen.tally.tokens_out) == (300, 30)
    assert [body.get("stream", False) for body in server.requests] == [True] * 3 + [False] * 3
    assert deaf.pieces == []
    assert sorted(ear.answers) == sorted(deaf.answers)
    assert ("1", "Carl Weathers", 60) in ear.answers
    for topic in TOPICS:
        texts = [text for one, text in ear.pieces if one == topic]
        assert len(texts) > 1
        assert all(b.startswith(a) for a, b in itertools.pairwise(texts))
        json.loads(texts[-1])


def test_a_reply_that_breaks_off_is_asked_for_again(place, monkeypatch):
    monkeypatch.setattr(endpoints, "_sleep", lambda _seconds: _no_time())
    broken = []

    def script(body, number):
        if number == 1:
            broken.append(number)
            return Pieces(says(body, number), most=4)
        return in_pieces(body, number)

    with serve(script) as server:
        found = answered(place, server, Ear())
    assert broken
    assert len(server.requests) == 4
    assert not found.made.missing
    assert found.data.count(b"Carl Weathers") == 1


async def _no_time():
    return None


def test_servers_that_do_not_know_pieces_send_whole_replies(place):
    def script(body, number):
        if "stream" in body:
            return 400, {"error": {"message": "Unrecognized request argument: stream_options"}}
        return says(body, number)

    with serve(script) as server:
        found = answered(place, server, Ear())
    assert not found.made.missing
    assert found.run is not None


def test_servers_that_do_not_count_tokens_in_pieces_are_asked_for_whole_replies(place):
    def script(body, number):
        counted = says(body, number)
        return Pieces({**counted, "usage": None}) if body.get("stream") else counted

    with serve(script) as server:
        found = answered(place, server, Ear(), {str(n): f"What of {n}?" for n in range(1, 40)})
    assert not found.made.missing
    assert "stream" in server.requests[0]
    assert "stream" not in server.requests[-1]


def test_an_error_within_a_stream_is_one():
    body = b'data: {"error": {"message": "no room", "code": 503}}\n\n'
    assert joined_reply(body) == {"error": {"message": "no room", "code": 503}}
    assert joined_reply(b"data: {nonsense\n\ndata: [DONE]\n\n") is None
    texts = []
    stream = Stream(texts.append)
    for piece in (b'data: {"choices": [{"delta": {"content": "\xc3', b'\xa9"}}]}\r\n\r\n'):
        stream.feed(piece)
    assert texts == ["é"]
    assert stream.whole() is None  # no reason why it ends: it broke off


def test_away_from_a_terminal_each_answer_is_one_plain_line(assay, place):
    with serve(in_pieces) as server:
        done = assay(*command(place, server))
        assert done.returncode == 0, done.stderr
        again = assay(*command(place, server))
        silent = assay(*command(place, server, "--json"))
    assert "1 (confidence 60, ONE;1): Carl Weathers\n" in done.stderr
    assert "3 (confidence 60): I don't know\n" in done.stderr
    assert "\x1b" not in done.stderr
    assert not any("stream" in body for body in server.requests)
    assert "Carl Weathers" not in again.stderr  # known: it does not come again
    assert silent.stderr == ""


def test_steps_tell_of_nuggets_and_of_the_facts_that_are_named(assay, place):
    with serve(says) as server:
        done = assay(*command(place, server, "--steps"))
    assert "1 (1 nugget, ONE;1): Carl Weathers plays Apollo Creed" in done.stderr
    assert "1 (confidence 80, nugget 1, nugget 7): Carl Weathers\n" in done.stderr


def test_on_a_terminal_what_is_written_stands_beneath_the_bar(place, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100, highlight=False)
    monkeypatch.setattr(judging, "err", lambda: console)
    monkeypatch.setattr(answer_command, "err", lambda: console)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    sources = {"1": [PassageSource(PassageKey("ONE", 1), "d", "text")]}
    shown = answer_command.answers_shown(Teller(sources))
    request = Request(REPORT, ReportUnit(narrative="n", passages=("text",), words=9), topic="1")
    shown.begin("Answers", 2, 0)
    shown.partial_reply(request, '{"sentences": [{"text": "Half a sen')
    assert [row.plain for row in shown.beneath()] == ["1 (1 sentence): Half a sen"]
    shown.partial_reply(request, "no JSON")
    whole = Report.model_validate({"sentences": [{"text": "All\x1b[2J.", "citations": [1]}]})
    shown.answered(request, Outcome(Status.OK, whole))
    shown.step(Outcome(Status.OK, whole))
    assert list(shown.beneath()) == []
    shown.end()
    assert "1 (1 sentence, ONE;1): All[2J." in screen.getvalue()


def test_lines_say_what_there_is():
    teller = Teller({"1": [PassageSource(PassageKey("ONE", 1), "doc", "text")]}, by_document=True)
    unit = CertaintyUnit(question="q", passages=(), answer="Paris")
    certain = Outcome(Status.OK, Certainty(probability=0.875))
    assert (
        teller.answered(Request(CERTAINTY, unit, 1, "1"), certain)
        == "1, sample 2 (certain 0.88): Paris"
    )
    report = Request(REPORT, ReportUnit(narrative="n", passages=("text",), words=9), topic="1")
    failed = Outcome(Status.FAILED, error="cut off")
    assert teller.answered(report, failed) == "1 (no usable reply): cut off"
    said = '```json\n{"sentences": [{"text": "One.", "citations": [1, 9, "x"]}, {"te'
    assert teller.writing(report, said) == "1 (2 sentences, doc): One."
    assert teller.writing(report, '{"sentences": "odd"}') is None
    assert teller.writing(report, "[]") is None
