"""The embedded model as a writer: schema, repair, samples, certainty. The model is a stand-in."""

import asyncio
import json
from types import SimpleNamespace
from typing import ClassVar

import pytest

from assay.labellers import embedded
from assay.labellers.base import Request
from assay.labellers.gguf import Completion, EngineFailure, Margin
from assay.model.errors import SettingsError
from assay.model.labels import Status
from assay.systems.writers import GgufWriter, make_certainty
from assay.tasks.answering import ANSWER, CERTAINTY, AnsweringUnit, CertaintyUnit
from assay.tasks.rendering import Renderer

UNIT = AnsweringUnit(question="Who?", passages=("Carl Weathers plays Apollo Creed.",))
GOOD = {"nuggets": [{"passage": 1, "nugget": "N."}], "answer": "A", "confidence": 50}


class Engine:
    """Replies in turn; remembers how it was asked."""

    replies: ClassVar[list[str]] = []
    asked: ClassVar[list[SimpleNamespace]] = []

    def __init__(self, path, **more):
        self.closed = False

    def complete(self, messages, max_tokens, schema=None, *, temperature=0.0, seed=1, on_text=None):
        self.asked.append(
            SimpleNamespace(messages=messages, schema=schema, temperature=temperature, seed=seed)
        )
        reply = self.replies.pop(0)
        if reply == "too long":
            raise EngineFailure("the prompt has 9000 tokens")
        return Completion(reply, 10, 5)

    def margin(self, messages):
        return Margin(1.0986122886681098, 0.9, 10)

    def close(self):
        self.closed = True


@pytest.fixture
def engine(monkeypatch):
    Engine.replies, Engine.asked = [], []
    monkeypatch.setattr(embedded, "GgufEngine", Engine)
    monkeypatch.setattr(embedded, "fetch_model", lambda *_: SimpleNamespace(path="model.gguf"))
    return Engine


def label(request, **more):
    writer = GgufWriter("smollm2-135m", Renderer(), **more)

    async def run():
        async with writer:
            return await writer.label(request)

    return asyncio.run(run())


def test_a_reply_is_held_to_the_schema(engine):
    engine.replies = [json.dumps(GOOD)]
    outcome = label(Request(ANSWER, UNIT))
    assert outcome.status is Status.OK
    assert outcome.verdict.answer == "A"
    assert engine.asked[0].schema["properties"]["nuggets"]["minItems"] == 1
    assert "Carl Weathers plays" in engine.asked[0].messages[-1]["content"]


def test_what_is_wrong_is_said_once(engine):
    engine.replies = [json.dumps(GOOD | {"confidence": 700}), json.dumps(GOOD)]
    outcome = label(Request(ANSWER, UNIT))
    assert outcome.status is Status.OK
    assert outcome.tokens_out == 10
    assert "from 0 to 100" in engine.asked[1].messages[-1]["content"]
    engine.replies = ["{", "{"]
    outcome = label(Request(ANSWER, UNIT))
    assert outcome.status is Status.FAILED
    assert outcome.detail["reply"] == "{"
    engine.replies = ["too long"]
    assert "9000 tokens" in label(Request(ANSWER, UNIT)).error


def test_samples_have_seeds_of_their_own(engine):
    engine.replies = [json.dumps(GOOD)] * 2
    for sample in (0, 3):
        label(Request(ANSWER, UNIT, sample), temperature=0.7)
    assert [(one.seed, one.temperature) for one in engine.asked] == [(1, 0.7), (4, 0.7)]


def test_certainty_is_the_probability_of_yes(engine):
    unit = CertaintyUnit(question="Who?", passages=(), answer="A")
    outcome = label(Request(CERTAINTY, unit))
    assert outcome.verdict.probability == pytest.approx(0.75)
    with pytest.raises(SettingsError, match="no log-probabilities"):
        make_certainty("rules", folder=None)
