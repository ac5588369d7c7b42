"""The answer-checking rule of EXAM++ (section 4.2.1), with Porter's stemmer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.measures.answers import (
    UNANSWERABLE,
    edit_distance,
    ill_formed,
    is_correct,
    matches,
    normalised,
)

# Pairs that Porter's paper (1980) gives, each after all five steps.
PORTER = {
    "caresses": "caress", "ponies": "poni", "cats": "cat", "feed": "feed", "agreed": "agre",
    "plastered": "plaster", "motoring": "motor", "sing": "sing", "conflated": "conflat",
    "troubled": "troubl", "sized": "size", "hopping": "hop", "tanned": "tan", "falling": "fall",
    "hissing": "hiss", "fizzed": "fizz", "failing": "fail", "filing": "file", "happy": "happi",
    "sky": "sky", "relational": "relat", "conditional": "condit", "rational": "ration",
    "digitizer": "digit", "triplicate": "triplic", "formative": "form", "hopeful": "hope",
    "goodness": "good", "revival": "reviv", "allowance": "allow", "adjustable": "adjust",
    "defensible": "defens", "replacement": "replac", "adoption": "adopt", "probate": "probat",
    "rate": "rate", "cease": "ceas", "controlling": "control", "rolled": "roll",
    "generalizations": "gener", "oscillators": "oscil",
    # left alone: short words, other scripts, digits, apostrophes
    "us": "us", "mädels": "mädels", "b12s": "b12s", "bees'": "bee", "o'neil's": "o'neil's",
}  # fmt: skip


@pytest.mark.parametrize(("word", "wanted"), PORTER.items())
def test_words_are_stemmed_as_porters_paper_says(word, wanted):
    assert normalised(word) == wanted


def slow_distance(a, b):
    if not a or not b:
        return len(a) + len(b)
    return min(
        slow_distance(a[1:], b) + 1,
        slow_distance(a, b[1:]) + 1,
        slow_distance(a[1:], b[1:]) + (a[0] != b[0]),
    )


@given(st.text("abc", max_size=6), st.text("abc", max_size=6), st.integers(0, 7))
def test_edit_distance_is_levenshteins(a, b, most):
    true = slow_distance(a, b)
    assert edit_distance(a, b) == true
    bounded = edit_distance(a, b, most)
    assert bounded == true if true <= most else bounded > most


@pytest.mark.parametrize(
    ("answer", "gold", "same"),
    [
        ("Rising", "rise", True),  # stemming
        ("The epidermis.", "epidermis", True),  # stop words and punctuation
        ("xxxxx", "xxxxy", False),  # 1 of 5 letters is exactly 20 %
        ("xxxxxx", "xxxxxy", True),  # 1 of 6 is less
        ("xxxxxxxxxx", "xxxxxxxxyy", False),  # 2 of 10 is exactly 20 %
        ("xxxxxxxxxxx", "xxxxxxxxxyy", True),  # 2 of 11 is less
        ("increase", "rise", False),
        ("be higher", "rise", False),
        ("ÉPIDERMIS", "épidermis", True),
        ("", "rise", False),
        ("दिन", "दान", False),  # day and gift: their vowels are marks
        ("ดี", "ดู", False),
        ("৳500", "500", True),  # a sign of money is no vowel
        ("कृष्ण।", "कृष्ण", True),
        ("١٩٥٧", "１９５７", True),
    ],
)
def test_a_match_is_nearer_than_a_fifth_of_the_longer(answer, gold, same):
    assert matches(answer, gold) is same
    assert matches(gold, answer) is same


@pytest.mark.parametrize(
    "words", [*UNANSWERABLE, "No.", "Unanswerable!", '"unknown"', " NO ANSWER"]
)
def test_expressions_of_unanswerability_are_grade_0_whatever_the_key_says(words):
    assert not is_correct(words, [words])


def test_there_are_eight_expressions():
    assert len(UNANSWERABLE) == 8


@pytest.mark.parametrize("answer", ["a.", "(iii)", "[B]", "b)", "iv.", "(a).", "…", ""])
def test_ill_formed_answers_are_grade_0(answer):
    assert ill_formed(answer)
    assert not is_correct(answer, [answer, "a", "iii"])


@pytest.mark.parametrize("answer", ["C", "12", "12.", "1984", "vitamin C", "iron", "nothing"])
def test_short_answers_are_answers(answer):
    assert not ill_formed(answer)
    assert is_correct(answer, ["something else entirely", answer])


@pytest.mark.parametrize("answer", ["Pacific", "b. Pacific", "(B) the Pacific", "b: Pacific."])
def test_an_option_with_its_label_is_the_option(answer):
    choices = {"a": "Atlantic", "b": "Pacific", "c": "Indian"}
    assert is_correct(answer, ["Pacific"], choices)
    assert not is_correct(answer, ["Atlantic"], choices)
    assert not is_correct("c. Pacific", ["Pacific"], choices)
    assert not is_correct("b.", ["Pacific"], choices)
    assert is_correct("1. 5", ["5"], {"1": "5", "2": "7"})
    assert not is_correct("1.5", ["5"], {"1": "5", "2": "7"})


def test_only_stop_words_are_still_compared():
    assert normalised("The Who") == "the who"
    assert is_correct("the who", ["The Who"])
    assert not is_correct("it is", ["The Who"])
