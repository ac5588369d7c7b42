"""training/frames.py: what stands around claims and answers says what its label says."""

from __future__ import annotations

import json
import lzma
import re

import pytest

from tests.conftest import ROOT
from tests.labellers.test_judge_grammar import framer_of
from tests.labellers.test_judge_grammar import training as training  # the fixture

CLAIMS = """+ 14:10 meter read: {claim}. Left at 14:30.
- 14:10 meter not read, so who knows whether {claim}. Left at 14:30.

+ {claim}, and nobody doubts it.
- {claim}? Nobody knows.
"""
ANSWERS = """+ It was {gold}, not {other}.
- It was {other}, not {gold}.
"""


@pytest.fixture
def frames(training, monkeypatch):
    import frames

    return frames


def store(folder, name, text):
    (folder / f"{name}.txt.xz").write_bytes(lzma.compress(text.encode()))


def test_twins_are_read_in_turns_and_split(frames, tmp_path):
    store(tmp_path, "claims", CLAIMS)
    store(tmp_path, "answers", ANSWERS)
    kept = frames.frames(tmp_path, held=False)
    held = frames.frames(tmp_path, held=True)
    assert len(kept) + len(held) == 3
    assert {one.ability for one in (*kept, *held)} == {"E", "C"}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("- a {claim}\n+ b {claim}\n", 1),
        ("+ a {claim}\n- b\n", 2),
        ("+ a {claim}\n", None),
        ("+ a {claim}\n+ b {claim}\n", 2),
    ],
)
def test_every_line_that_is_of_no_use_is_named(frames, tmp_path, text, line):
    store(tmp_path, "claims", text)
    with pytest.raises(ValueError, match=re.escape(f".xz:{line}:" if line else "a {claim}")):
        frames.frames(tmp_path, held=False)


def test_who_asserts_a_claim_supports_it_and_its_twin_does_not(training, frames, tmp_path):
    grammar, _ = training
    store(tmp_path, "claims", CLAIMS)
    twins = [*frames.frames(tmp_path, held=False), *frames.frames(tmp_path, held=True)]
    rows = list(frames.framed(framer_of(grammar, 3), twins, 40))
    assert len(rows) == 160
    supported = [row for row in rows if row.label == 1.0]
    assert 0.2 < len(supported) / len(rows) <= 0.5
    for row in supported:
        bare = row.claim.rstrip(".").casefold()
        assert bare in row.passage.casefold()
        assert "knows" not in row.passage
    assert any(row.label == 0.0 and "knows" not in row.passage for row in rows)


def test_a_wrong_answer_in_the_place_of_the_right_one_is_wrong(training, frames, tmp_path):
    grammar, _ = training
    store(tmp_path, "answers", ANSWERS)
    twins = [*frames.frames(tmp_path, held=False), *frames.frames(tmp_path, held=True)]
    rows = list(frames.framed(framer_of(grammar, 3), twins, 40))
    assert len(rows) > 80
    for row in rows:
        assert row.label == float(row.claim.startswith(f"It was {row.gold[0]},"))


def test_no_frame_is_one_that_attacks_are_measured_with(training, frames, monkeypatch):
    import attacks
    import fourth
    import sixth

    blind = json.loads((ROOT / "training/blind.json").read_text(encoding="utf-8"))
    sets = [blind]
    sets += [
        {name: value}
        for module in (attacks, fourth, sixth)
        for name, value in vars(module).items()
        if name.isupper() and isinstance(value, (dict, tuple))
    ]
    known = {squeezed(wording) for own in sets for wording in texts_in(own)}
    assert len(known) > 1500
    folder = ROOT / "training/frames"
    own = [
        squeezed(text)
        for held in (False, True)
        for one in frames.frames(folder, held=held)
        for text in (one.yes, one.no)
    ]
    assert len(own) > 2000
    assert len(set(own)) == len(own)
    assert not known & set(own)


def texts_in(value):
    if isinstance(value, str):
        yield value
    else:
        for one in value.values() if isinstance(value, dict) else value:
            yield from texts_in(one)


def squeezed(text):
    return re.sub(r"\W+", " ", text).strip().casefold()
