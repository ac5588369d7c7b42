"""How texts are put to the embedded judge and what it reads of passages: no model is needed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assay.labellers.base import Request
from assay.labellers.judge.evidence import MAX_WINDOWS, OVERLAP, ExcerptKind, Tokens, parts_of
from assay.labellers.judge.labeller import JudgeLabeller
from assay.labellers.judge.model import Network
from assay.labellers.judge.texts import (
    ANSWER_WORDS,
    QUESTION_WORDS,
    answer_text,
    gold_text,
    sentences,
    words,
)
from assay.tasks.r2c2 import DIALOGUE_ACT, ENTAILMENT, EntailmentUnit


def by_word(texts: Sequence[str]) -> list[Tokens]:
    """One token per word, its number made from its letters."""
    return [[sum(map(ord, word)) % 9000 + 999 for word in text.split()] for text in texts]


# --- texts ---------------------------------------------------------------------------------------


def test_text_is_split_into_sentences() -> None:
    text = (
        "Dr. Strangelove was shot by J. K. Rowe in 1964. It won (twice). “Yes,” he said.\n* a list"
    )
    assert sentences(text) == [
        "Dr. Strangelove was shot by J. K. Rowe in 1964.",
        "It won (twice).",
        "“Yes,” he said.",
        "* a list",
    ]
    assert sentences(" \n\t ") == []


def test_initials_without_end_are_one_sentence() -> None:
    """This once took ten minutes, as the whole text was searched again for each."""
    assert sentences("A. " * 30_000) == ["A. " * 29_999 + "A."]


@given(st.text(max_size=300))
def test_no_word_is_lost_between_sentences(text: str) -> None:
    assert words(" ".join(sentences(text))) == words(text)


def test_a_long_question_does_not_push_the_answer_out() -> None:
    text = answer_text("why " * 500 + "is it blue", "Because of scattering.")
    assert text.startswith("answer: Because of scattering. | question: ")
    assert text.endswith("is it blue")
    assert len(text.split()) < QUESTION_WORDS + 8
    assert len(answer_text("why", "so " * 900).split()) < ANSWER_WORDS + 8


def test_gold_answers_nearest_to_the_answer_come_first() -> None:
    gold = [f"alias number {n} of many" for n in range(40)] + ["Marks & Spencer"]
    assert gold_text("It was Marks and Spencer.", gold).startswith("Marks & Spencer / alias")
    assert len(gold_text("x", gold).split()) < 70
    assert gold_text("x", ["", "  "]) == ""


# --- what is read --------------------------------------------------------------------------------


@given(st.integers(0, 3000), st.integers(100, 250))
def test_windows_cover_every_token_and_overlap(length: int, room: int) -> None:
    passage = " ".join(f"w{n}" for n in range(length))
    windows = [part.tokens for part in parts_of(passage, "claim: w5", room, by_word)]
    assert all(len(window) <= room for window in windows)
    if len(windows) < MAX_WINDOWS:
        joined = windows[0]
        for before, after in pairwise(windows):
            assert before[-OVERLAP:] == after[:OVERLAP]
            joined = joined + after[OVERLAP:]
        assert joined == by_word([passage])[0]


def test_of_a_huge_passage_the_windows_near_the_claim_are_read() -> None:
    needle = "Zorblax invented the quernstone in 1911."
    hay = "Nothing of note happened there that day. " * 4000
    parts = parts_of(
        hay + needle + " " + hay, "claim: Zorblax invented the quernstone", 200, by_word
    )
    windows = [part for part in parts if part.kind is ExcerptKind.WINDOW]
    assert len(windows) == MAX_WINDOWS
    wanted = by_word([needle])[0]
    assert any(set(wanted) <= set(part.tokens) for part in windows)
    assert needle in [part.text for part in parts if part.kind is ExcerptKind.SENTENCE]


# --- the labeller --------------------------------------------------------------------------------


def test_a_refused_task_names_a_labeller_that_can_do_it() -> None:
    refusal = JudgeLabeller().refusal(DIALOGUE_ACT)
    assert refusal is not None
    assert "openai:" in refusal
    assert "'rules'" in refusal


def test_an_error_reaches_every_waiting_request() -> None:
    class Broken(Network):
        def __init__(self) -> None: ...

        def tokenise(self, texts: Sequence[str]) -> list[Tokens]:
            return by_word(texts)

        def logits(self, pairs: Sequence[tuple[Tokens, Tokens]]) -> np.ndarray:
            raise RuntimeError("out of memory")

    async def run() -> list[object]:
        unit = EntailmentUnit(passage="Casablanca is a film.", nugget="It is a film.")
        async with JudgeLabeller(network=Broken()) as labeller:
            waiting = [labeller.label(Request(ENTAILMENT, unit)) for _ in range(3)]
            return list(await asyncio.gather(*waiting, return_exceptions=True))

    failures = asyncio.run(run())
    assert [str(failure) for failure in failures] == ["out of memory"] * 3


def test_a_word_that_opens_an_answer_to_which_is_not_read() -> None:
    assert answer_text("Who played Creed?", "No, it was Carl.") == (
        "answer: it was Carl. | question: Who played Creed?"
    )
    assert answer_text("In which year?", "Well: 1976").startswith("answer: 1976 |")
    assert answer_text("Did Carl play Creed?", "No, it was Tony.").startswith("answer: No, it was")
    for whole in ("No.", "Noah, a king", "No one", "Yes"):
        assert answer_text("Who was it?", whole).startswith(f"answer: {whole} |")
