"""About how many tokens a text has."""

from __future__ import annotations

import math
import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.labellers.prices import tokens


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("Rocky was released in 1976.", 1 + 1 + 2 + 1 + 4 + 1),
        ("incomprehensibilities", 3),
        ("snake_case -- done...", 6),
        # Typographic signs and a lone accent leave English as it was.
        ("\u201cna\u00efve caf\u00e9\u201d \u2013 it\u2019s", 8),
    ],
)
def test_tokens_of_english_are_estimated_by_words(text: str, count: int) -> None:
    assert tokens(text) == count


@given(st.text(string.printable))
def test_a_long_ascii_word_is_one_token_per_seven_letters(text: str) -> None:
    parts = re.findall(r"[A-Za-z]+|[0-9]|[^A-Za-z0-9_\s]+|_+", text)
    assert tokens(text) == sum(math.ceil(len(part) / 7) for part in parts)


@pytest.mark.parametrize(
    "word", ["\u6771\u4eac", "\u3072\u3089", "\u30ab\u30bf", "\uc11c\uc6b8", "\uff76\uff80"]
)
def test_a_character_of_chinese_japanese_or_korean_is_about_a_token(word: str) -> None:
    assert tokens(word * 280) == 560
    assert tokens(f"GPT{word}") == 3


def test_two_letters_outside_ascii_are_about_one_token() -> None:
    assert tokens("\u041f\u0440\u0438\u0432\u0435\u0442 \u0438") == 3 + 1  # Russian
    assert tokens("Gr\u00f6\u00dfe") == 2


@given(st.text(), st.text())
def test_a_text_has_at_least_as_many_tokens_as_its_words_have(one: str, other: str) -> None:
    assert tokens(f"{one} {other}") == tokens(one) + tokens(other)
