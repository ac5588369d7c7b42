"""Files of answers: what is read, and every fault with its line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.formats.records import read_asked, read_records
from assay.model.errors import FormatError
from assay.model.records import UNKNOWN, Record
from tests.conftest import Assay
from tests.rag.world import record


def write(path: Path, *rows: Any) -> Path:
    path.write_text(
        "".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in rows)
    )
    return path


def read(path: Path, *rows: Any) -> tuple[Record, ...]:
    return read_records(write(path / "main.jsonl", *rows)).require()


def test_the_record_of_the_specification(tmp_path: Path):
    (one,) = read(tmp_path, {
        "id": "q7", "question": "When was the bridge opened?", "answer": "In 1932 [1].",
        "passages": [{"id": "b-3", "text": "The bridge opened in March 1932.", "score": 8.1}],
        "references": ["1932"], "run": "main", "answerable": True, "metadata": {"lang": "en"},
    })  # fmt: skip
    assert (one.answer, one.references, one.metadata) == ("In 1932.", ("1932",), {"lang": "en"})
    assert [tuple(s) for s in one.sentences] == [("In 1932.", (0,))]
    assert one.passages[0].score == 8.1


@pytest.mark.parametrize(
    ("answer", "sentences"),
    [
        ("One [1]. Two [1, 2].", [("One.", (0,)), ("Two.", (0, 1))]),
        ("One.[1] Two. [2][p0]", [("One.", (0,)), ("Two.", (1, 0))]),
        ("一つ。[1]「二。」と[2]！三？", [("一つ。", (0,)), ("「二。」と！", (1,)), ("三？", ())]),
        ("一つ【１】。二つ。［1、2］【注】", [("一つ。", (0,)), ("二つ【注】。", (0, 1))]),
        ("पहला [1]। दूसरा।[2]", [("पहला।", (0,)), ("दूसरा।", (1,))]),
        ("هل؟ [1] نعم. لا [2].", [("هل؟", (0,)), ("نعم.", ()), ("لا.", (1,))]),
        ("Раз. Два e.g. два. 둘. 셋.", [(s, ()) for s in ("Раз.", "Два e.g. два.", "둘.", "셋.")]),
        ("One [p1].", [("One.", (1,))]),
        ("One [3] [0].", [("One.", (UNKNOWN, UNKNOWN))]),
        ("A list [see above].", [("A list [see above].", ())]),
        ("", []),
    ],
)
def test_marks_of_citations_are_read_and_cut(
    tmp_path: Path, answer: str, sentences: list[tuple[str, tuple[int, ...]]]
):
    (one,) = read(tmp_path, record("q", answer, ["x", "y"]))
    assert [tuple(s) for s in one.sentences] == sentences


def test_places_are_those_of_the_list_as_it_is_written(tmp_path: Path):
    twice = [{"text": "x"}, {"text": "x"}, {"text": "y"}]
    (one,) = read(tmp_path, {**record("q", "One [3]. Two [2]."), "passages": twice})
    assert [p.text for p in one.passages] == ["x", "y"]
    assert [s.citations for s in one.sentences] == [(1,), (0,)]


def test_ids_of_passages_without_one_are_of_their_text(tmp_path: Path):
    (one,) = read(tmp_path, {**record("q", "a"), "passages": [{"text": "x"}, "y"]})
    assert [p.id for p in one.passages] == ["t:2d711642b726b044", "t:a1fce4363854ff88"]


def test_every_fault_is_told_with_its_line(tmp_path: Path):
    path = write(
        tmp_path / "main.jsonl",
        record("q1", "a"),
        {**record("q1", "b"), "colour": 1, "metdata": {}},
        {**record("q2", "a"), "passages": "x", "history": [{"role": "boss", "text": ""}]},
        {**record("q3", 3), "metadata": {"a": []}, "answerable": "yes"},
        {"id": "a\tb", "question": "", "answer": "", "passages": [{}, {"id": "x", "text": 1}]},
        {
            **record("q4", "a", ["x"]),
            "passages": [{"id": "p", "text": "x"}, {"id": "p", "text": "y"}],
        },
        {**record("q5", "a"), "passages": [{"id": "p", "text": "x"}, {"id": "p", "text": "x"}]},
        "{",
    )
    found = read_records(path)
    told = {(one.line, one.why.partition(".")[0]) for one in found.errors}
    assert {line for line, _ in told} == {2, 3, 4, 5, 6, 8}
    said = " ".join(str(one) for one in (*found.errors, *found.warnings))
    for words in ("to it on line 1", "passages is not a list", "not a list of turns",
                  "not flat", "neither true nor false", "a tab or a line break",
                  "neither id nor text", "with two texts", "Is metadata meant?",
                  "The first rank counts"):  # fmt: skip
        assert words in said, words


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=8),
                    lambda inner: st.lists(inner, max_size=3)
                    | st.dictionaries(st.sampled_from(["id", "text", "role", "citations"]), inner,
                                      max_size=3), max_leaves=6),
       st.sampled_from(["id", "question", "answer", "passages", "history", "metadata", "run",
                        "references", "session"]))  # fmt: skip
def test_nothing_breaks_the_reader(tmp_path_factory: pytest.TempPathFactory, value: Any, key: str):
    path = write(
        tmp_path_factory.mktemp("r") / "main.jsonl", {**record("q", "a [1]", ["x"]), key: value}
    )
    found = read_records(path)
    assert found.ok or found.errors


def test_questions(tmp_path: Path):
    path = write(tmp_path / "q.jsonl", {"id": 1, "question": "Why?", "reference": "x"},
                 {"id": 2, "question": "How?", "answerable": False, "category": "c"})  # fmt: skip
    one, two = read_asked(path).require()
    assert (one.id, one.references, two.answerable, two.category) == ("1", ("x",), False, "c")
    with pytest.raises(FormatError, match="twice"):
        read_asked(write(path, {"id": 1, "question": "a"}, {"id": 1, "question": "b"})).require()


def test_the_format_is_recognised(tmp_path: Path, assay: Assay):
    path = write(tmp_path / "main.jsonl", record("q", "a", ["x"]))
    done = assay("validate", path)
    assert done.returncode == 0
    assert "rag" in done.stdout
    assert assay("validate", path, "--format", "rag").returncode == 0


def test_a_file_of_another_shape_is_told_of_once_a_fault_with_the_way_out(
    tmp_path: Path, assay: Assay
):
    rows = [{"qid": n, "query": "Why?", "contexts": ["x"]} for n in range(20)]
    done = assay("validate", write(tmp_path / "main.jsonl", *rows), "--format", "rag")
    assert done.returncode == 1
    assert len(done.stdout.splitlines()) < 12
    assert "main.jsonl:1–20 (20 lines) warning: The key “qid” is not read." in done.stdout
    assert "assay import hf FILE" in done.stdout


def test_lines_of_which_the_same_is_said_are_all_named(tmp_path: Path, assay: Assay):
    rows = [{**record(f"q{n}", "a", ["x"]), **({} if n == 3 else {"latency": 1})} for n in range(6)]
    done = assay("validate", write(tmp_path / "main.jsonl", *rows), "--format", "rag")
    assert done.returncode == 0
    assert "main.jsonl:1–3,5–6 (5 lines) warning: The key “latency” is not read." in done.stdout
