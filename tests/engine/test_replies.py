"""From replies to verdicts: tolerant of wrapping, never guessing."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.labellers.replies import UnusableReply, parse_reply
from assay.tasks.r2c2 import ANSWER, DIALOGUE_ACT, ENTAILMENT, AnswerUnit, DialogueActUnit
from assay.tasks.r2c2 import EntailmentUnit as Unit

UNIT = Unit(passage="p", nugget="n")
YES = '{"reason": "r", "entailed": "YES"}'


@pytest.mark.parametrize(
    "reply",
    [
        YES,
        '{"reason": "r", "entailed": "yes"}',
        '{"reason": "r", "entailed": true}',
        '{"reason": "r", "entailed": "ＹＥＳ　"}',
        '{"entailed": "Yes.", "reason": "r", "more": 1}',
        f"```json\n{YES}\n```",
        f"Here is my verdict: {YES} I hope that helps {{really}}.",
        f'<think>maybe {{"entailed": "NO"}}?</think>{YES}',
        f'{{"entailed": "NO", "reason": "first"}} No, wait. {YES}',
        '{"reason": "a } in a \\"string\\" {", "entailed": "YES"}',
        f'So {{"reason: {YES}',
        f'A rule of 5" {{5" wide: {YES} and {{"cut": "off',
        f"{'{x} ' * 100}{YES}",
        f"{'{' * 20_000}{YES}{'}' * 20_000}",
        f"{YES}{'[' * 100_000}",
        f'{{"entailed": "{YES}"}}',
        f"<THINK>a</think><think> <thinking>b</think>{YES}",
    ],
)
def test_wrapped_verdicts_are_found(reply):
    assert parse_reply(ENTAILMENT, UNIT, reply).entailed is True


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "YES",
        "The answer is yes.",
        '{"reason": "r", "entailed": "maybe"}',
        '{"reason": "r", "entailed": 1}',
        '{"reason": "cut off", "entailed": "YE',
        '{"reason": "no verdict"}',
        '["YES"]',
        '<think>so {"entailed": "YES"} it is, but',
        "{" * 5000,
    ],
)
def test_nothing_is_guessed(reply):
    with pytest.raises(UnusableReply):
        parse_reply(ENTAILMENT, UNIT, reply)


@given(st.text(max_size=300))
def test_any_text_gives_a_verdict_or_a_clear_refusal(reply):
    try:
        parse_reply(ENTAILMENT, UNIT, reply)
    except UnusableReply as error:
        assert str(error)


def test_numbers_as_strings_and_labels_in_another_case():
    unit = AnswerUnit(question="q", answer="a", nuggets=("x", "y"))
    reply = {
        "reason": "",
        "correct": "yes",
        "nuggets": [{"nugget": "2", "helped": "No"}, {"nugget": "1", "helped": "YES"}],
    }
    verdict = parse_reply(ANSWER, unit, json.dumps(reply))
    assert {item.nugget: item.helped for item in verdict.nuggets} == {1: True, 2: False}
    act = parse_reply(
        DIALOGUE_ACT, DialogueActUnit(question="q", answer="a"), '{"act": "Dont_Know"}'
    )
    assert act.act == "dont_know"


@pytest.mark.parametrize("numbers", [[1], [1, 1], [1, 2, 3], [0, 1], []])
def test_every_nugget_must_be_judged_once(numbers):
    unit = AnswerUnit(question="q", answer="a", nuggets=("x", "y"))
    items = [{"nugget": n, "helped": "YES"} for n in numbers]
    reply = json.dumps({"reason": "", "correct": "YES", "nuggets": items})
    with pytest.raises(UnusableReply, match="exactly once"):
        parse_reply(ANSWER, unit, reply)


def test_a_wrong_answers_nuggets_need_not_be_judged():
    unit = AnswerUnit(question="q", answer="a", nuggets=("x", "y"))
    assert not parse_reply(ANSWER, unit, '{"correct": "NO", "nuggets": []}').correct


@pytest.mark.parametrize(
    "reply",
    [
        "{" * 500_000,
        '{"a":' * 100_000,
        '{"a":' * 100_000 + "}" * 100_000,
        ('{"a":' * 900 + "x" + "}" * 900) * 100,
        '{"' * 200_000,
        '{"\\"' * 100_000,
        "{}" * 200_000,
        "<think>" * 100_000,
        "<think></thinking>" * 100_000,
        '{"a":1' + " " * 500_000,
        ("{" + " " * 50) * 10_000,
    ],
    ids=lambda reply: reply[:12],
)
def test_the_search_is_linear(reply):
    started = time.process_time()
    with pytest.raises(UnusableReply):
        parse_reply(ENTAILMENT, UNIT, reply)
    assert time.process_time() - started < 4
