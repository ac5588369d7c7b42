"""The R2C2 question file."""

from __future__ import annotations

import pytest

from assay.formats.r2c2_questions import CATEGORIES, read_questions


def faults(path):
    return [(f.line, f.topic, f.severity, f.why, f.cure) for f in read_questions(path).faults]


def test_full_file(write):
    path = write(
        "QuestionID\tQuestion\n\n"
        "0001\tWho?\tsimple w condition\tAnthony Mackie | Mackie\n"
        "0002\tWhat; when?\t\t\n"
        "0003\tSay | how\tMULTI HOP\n"
    )
    parsed = read_questions(path)
    assert parsed.faults == ()
    one, two, three = parsed.require()
    assert (one.id, one.text, one.category) == ("0001", "Who?", "Simple w. Condition")
    assert one.gold == ("Anthony Mackie", "Mackie")
    assert one.line == 3
    assert (two.text, two.category, two.gold) == ("What; when?", None, ())
    assert (three.text, three.category) == ("Say | how", "Multi-hop")


@pytest.mark.parametrize("category", CATEGORIES)
def test_categories_are_returned_in_the_tasks_spelling(write, category):
    path = write(f"1\tWho?\t{category.upper()}\n")
    assert read_questions(path).require()[0].category == category


def test_unknown_category(write):
    (fault,) = faults(write("1\tWho?\tTrick\n"))
    assert fault[:3] == (1, "1", "warning")
    assert "Trick" in fault[3]
    for category in CATEGORIES:
        assert category in fault[4]


def test_all_faults_at_once(write):
    found = faults(
        write(
            "0001\tA\n0001\tB\n\tC\n0003\t \nalone\n0004\tx\ty\tz\tmore\n<5>\tQ\n1\tA\n06\tp\u2028q"
        )
    )
    where = [(line, topic, severity) for line, topic, severity, *_ in found]
    assert where == [
        (2, "0001", "error"),
        (3, None, "error"),
        (4, "0003", "error"),
        (5, None, "error"),
        (6, "0004", "error"),
        (6, "0004", "warning"),
        (7, "<5>", "error"),
        (8, "1", "warning"),
        (8, "1", "warning"),
        (9, "06", "error"),
    ]
    assert "line 1" in found[0][3]
    assert "zeros" in found[7][3]
    assert "U+2028" in found[9][3]


def test_semicolons(write):
    parsed = read_questions(write("QuestionID;Question\n01;Who; when?\n02;Why?\n"))
    assert [(q.id, q.text) for q in parsed.require()] == [("01", "Who; when?"), ("02", "Why?")]
    (fault,) = parsed.faults
    assert (fault.line, fault.severity) == (2, "warning")
    assert "2, 3" in fault.why
    assert "tab" in fault.cure


def test_gold_answers(write):
    parsed = read_questions(write("1\tWho?\tSet\ta||b|a\n"))
    assert parsed.require()[0].gold == ("a", "b")
    assert "empty" in parsed.faults[0].why


def test_full_width_separators_of_gold_answers_are_reported(write):
    (fault,) = read_questions(write("1\t東京の人口は？\tSimple\t1400万人｜1,400万\n")).faults
    assert (fault.severity, "full-width ｜" in fault.why) == ("warning", True)


def test_ids_are_nfc_and_stripped(write):
    parsed = read_questions(write("\ufeff e\u0301 \tWho?\r\n\u00e9\tWhat?\r\n"))
    assert [q.id for q in parsed.value] == ["é"]
    assert parsed.errors[0].line == 2


@pytest.mark.parametrize("content", ["", "\n \n", "id\ttext\n"])
def test_no_question(write, content):
    parsed = read_questions(write(content))
    assert parsed.value == ()
    assert "no question" in parsed.errors[0].why
