"""training/written.py: what the texts that are written for the judge are read as."""

from __future__ import annotations

import lzma
from collections import Counter

import pytest

from tests.conftest import ROOT

TEXT = """=== note | a ferry
P The ferry to Hol leaves at nine.
It does not run on Sundays.
+ There is no crossing on the last day of the week.
- The ferry to Hol leaves on Sundays at nine.
0 The ferry to Hol carries cars.
~ The ferry leaves at nine, and the crossing takes an hour.
? When does the ferry leave?
= at nine | 9 o'clock
> Nine in the morning is when it goes.
< At ten.
! How long is the crossing?
"""
TWINS = """== twins
- There is a crossing on the last day of the week.
+ The ferry to Hol leaves on Mondays at nine.
? Where does the ferry go?
! Who steers the ferry?
?1
< Ten in the morning is when it goes.
"""
OTHER = """
=== note | a mill
P The mill at Wend was built in 1802.
+ It dates from the first years of the nineteenth century.
- The mill at Wend was built in 1820.
"""


@pytest.fixture
def reader(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "training"))
    import written

    return written


def store(path, text):
    path.write_bytes(lzma.compress(text.encode()))


def test_claims_and_questions_need_twins_and_answers_do_not(reader, tmp_path):
    path = tmp_path / "one.txt.xz"
    store(path, TEXT + OTHER)
    first, second = (list(block.rows()) for block in reader.blocks(path))
    assert {row.ability for row in first} == {"C"}
    assert not second
    store(path, TEXT + TWINS + OTHER)
    rows, second = (list(block.rows()) for block in reader.blocks(path))
    assert not second
    assert Counter((row.ability, row.label) for row in rows) == {
        ("E", 1.0): 2, ("E", 0.5): 1, ("E", 0.0): 3, ("A", 1.0): 2, ("A", 0.0): 2,
        ("C", 1.0): 1, ("C", 0.0): 4,
    }  # fmt: skip
    assert {row.passage for row in rows if row.ability != "C"} == {
        "The ferry to Hol leaves at nine.\nIt does not run on Sundays."
    }
    golds = {row.gold for row in rows if row.claim == "At ten."}
    assert golds == {("at nine", "9 o'clock"), ("Nine in the morning is when it goes.",)}
    assert {row.question for row in rows if row.ability == "C"} == {"When does the ferry leave?"}
    assert len({row.id for row in rows}) == len(rows)


def test_all_lines_of_no_use_are_named(reader, tmp_path):
    path = tmp_path / "one.txt.xz"
    wrong = "> a right one\n+ a claim among answers\nand one more line\n"
    store(path, f"before\n{TEXT}{TWINS}{wrong}{OTHER}{TWINS}0 no twin\n")
    with pytest.raises(ValueError, match="of a passage") as raised:
        reader.blocks(path)
    assert str(raised.value).splitlines()[1:] == [
        f"{path}:1: before",
        f"{path}:22: + a claim among answers",
        f"{path}:23: and one more line",
        f"{path}:36: 0 no twin",
    ]


def test_what_is_there_can_be_read_and_words_alone_do_not_tell(reader):
    rows = reader.written(ROOT / "training" / "written")
    assert {row.split for row in rows} == {"train", "held"}
    seen, held = (
        {row.passage for row in rows if row.split == split} for split in ("train", "held")
    )
    assert seen & held <= {""}
    shares = []
    for label in (0.0, 1.0):
        own = [row for row in rows if row.ability == "E" and row.label == label]
        shared = [_words(row.claim) & _words(row.passage) for row in own]
        shares.append(
            sum(len(one) / len(_words(row.claim)) for row, one in zip(own, shared, strict=True))
            / len(own)
        )
    assert shares[0] == pytest.approx(shares[1], abs=0.06)


def _words(text: str) -> set[str]:
    return set(text.casefold().split())
