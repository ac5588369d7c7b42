"""Two runs side by side: what each handed in, what differs, and where nuggets are edited."""

from __future__ import annotations

import json

import pytest

from assay.api.opened import Opened
from assay.web.beside import both, handed_in
from assay.web.desk import Desk
from assay.web.people import Role
from assay.web.values import anchor
from tests.conftest import ROOT, copy_example
from tests.web.conftest import write_folder

EXAMPLES = ROOT / "examples"


def differing(lines):
    return [text.strip() for line in lines for text, differs in line if differs and text]


@pytest.mark.parametrize(
    ("one", "other", "ones", "others"),
    [
        (["The bridge is old."], ["The new Bridge is old"], [], ["new"]),
        (["a b", "c"], ["a", "c d"], ["b"], ["d"]),
        (["橋は石でできている。"], ["橋は木でできている。"], ["石"], ["木"]),
        (["<b>x</b> y"], ["y"], ["<b>x</b>"], []),
        ([""], ["x"], [], ["x"]),
        ([], ["x y"], [], ["x y"]),
        (["?"], ["!"], ["?"], ["!"]),
        (
            ["One is. " * 1500 + "Two is!"],
            ["One is. " * 1500 + "Two was!"],
            ["Two is!"],
            ["Two was!"],
        ),
    ],
)
def test_words_that_differ_are_marked_and_texts_stay(one, other, ones, others):
    marked = both(one, other)
    for texts, lines in zip((one, other), marked, strict=True):
        assert ["".join(text for text, _ in line) for line in lines] == texts
    assert (differing(marked[0]), differing(marked[1])) == (ones, others)


def test_answers_and_ranks_are_set_beside_each_other(tmp_path):
    opened = Opened.open(write_folder(tmp_path / "f"))
    found = handed_in(opened, "1", ["ONE", "TWO"])
    assert differing(found["ONE"].lines)
    assert "".join(t for t, _ in found["ONE"].lines[0]) == "Anna Berg"
    assert [(one.differs, one.there) for one in found["TWO"].passages] == [(True, None)]
    assert not any(differing(one.lines) for one in handed_in(opened, "1", ["ONE"]).values())
    assert handed_in(opened, "no such topic", ["ONE", "TWO"])["ONE"].lines == []


@pytest.mark.parametrize(
    ("example", "topic", "runs"),
    [
        ("trec-rag", "aq", ["MEANING", "WORDS"]), ("trec-rag", "aq", ["BRIEF", "FLUENT"]),
        ("exam", "bees", ["GOOD", "VAGUE"]), ("sgss", "tea", ["ALPHA", "BETA"]),
        ("rag-app", "q01", ["main"]),
    ],
)  # fmt: skip
def test_every_protocol_shows_what_runs_handed_in(example, topic, runs):
    found = handed_in(Opened.open(EXAMPLES / example), topic, runs)
    for run in runs:
        assert found[run].lines or found[run].passages
        assert all(one.text for one in found[run].passages)
    if "WORDS" in runs:
        ranks = [(one.name, one.there) for one in found["WORDS"].passages]
        assert ranks == [("aq-route", 1), ("aq-canal", None), ("aq-build", 4), ("aq-end", 3)]


@pytest.mark.parametrize(
    ("example", "task", "role", "to"),
    [
        ("trec-rag", "trec_rag.assignment", Role.LABELLER, "/label/trec_rag.nugget_edit?unit="),
        ("exam", "exam.self_rating", Role.ORGANISER, "/bank#"),
        ("exam", "exam.self_rating", Role.LABELLER, ""),
    ],
)
def test_nuggets_and_questions_are_edited_from_where_they_are_seen(
    tmp_path, example, task, role, to
):
    copy_example(example, tmp_path / "f")
    with Desk.open(Opened.open(tmp_path / "f")) as desk:
        desk.sync()
        ann = desk.state.person("ANN", role)
        (screen,) = desk.next(ann, task, count=1)
        if not to:
            assert screen["edits"] == {}
            return
        content = json.loads(desk.row(screen["unit"]).content)
        texts = content.get("nuggets") or [content["question"]]
        assert list(screen["edits"])
        assert set(screen["edits"]) <= set(texts)
        of_topic = desk.edits_of_topic(desk.row(screen["unit"]).topic, ann)
        assert screen["edits"].items() <= of_topic.items()
        for text, place in screen["edits"].items():
            assert place.startswith(to)
            if "unit=" in place:
                held = desk.row(int(place.rpartition("=")[2]))
                assert json.loads(held.content)["nugget"] == text
            else:
                assert place.endswith(anchor(text))
