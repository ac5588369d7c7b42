"""Random valid runs round-trip byte for byte; random bytes never crash or hang a reader."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.formats.confidence import read_confidence
from assay.formats.r2c2_ac import read_ac_run, write_marked
from assay.formats.r2c2_pr import read_pr_run
from assay.formats.r2c2_questions import read_questions
from assay.formats.text import read_text
from assay.formats.trec import read_qrels, read_trec_run
from assay.formats.trec_writing import format_qrels
from assay.formats.validate import guess_format
from assay.model.errors import AssayError
from assay.model.rag import Mark, Passage, PassageKey, PassageRun, Question

READERS = [
    read_questions,
    read_pr_run,
    read_ac_run,
    read_trec_run,
    read_qrels,
    read_confidence,
    guess_format,
]

_SHOWN = st.characters(exclude_categories=["Cc", "Cs", "Cf", "Zl", "Zp"])
_TEXT = st.text(_SHOWN, min_size=1, max_size=30).map(lambda text: f"a{text}b")
_ID = st.from_regex(r"[A-Za-z0-9_-]{1,6}", fullmatch=True)
_RUN = st.sampled_from(["W-PR-1", "Run.v2", "東京"])


_FOLDER = tempfile.TemporaryDirectory()


def read_bytes(data, reader=read_ac_run):
    path = Path(tempfile.mkdtemp(dir=_FOLDER.name)) / "run.txt"
    path.write_bytes(data)  # the file is kept, since marking reads it again
    return reader(path)


@st.composite
def answer_runs(draw, marks):
    """Bytes of a valid AC run with unusual layout."""
    end = draw(st.sampled_from(["\n", "\r\n"]))
    blank = st.sampled_from(["", "", end, end + " " + end])
    pieces = []
    for one in draw(st.lists(_ID, min_size=1, max_size=4, unique=True)):
        pieces += [draw(blank), f"<{one}>{end}", draw(blank)]
        pieces.append(f"{draw(_TEXT)};{draw(st.integers(0, 100))}{end}")
        for num in draw(st.lists(st.integers(1, 10), max_size=10, unique=True)):
            mark = draw(marks)
            space = draw(st.sampled_from(["", "", " ", "\u3000"]))
            rank = draw(st.integers(1, 20))
            pieces.append(f"{space}{mark}{num};{draw(_RUN)};{rank};{draw(_TEXT)}{end}{draw(blank)}")
        pieces.append(f"</{one}>{end}")
    text = "".join(pieces)
    if draw(st.booleans()):
        text = text.removesuffix(end)
    return (b"\xef\xbb\xbf" if draw(st.booleans()) else b"") + text.encode()


@given(answer_runs(st.just("")), st.data())
def test_unmarked_runs(data, drawn):
    parsed = read_bytes(data)
    file = parsed.require()
    assert parsed.faults == ()
    assert not file.run.marked
    assert write_marked(file, {}) == data
    marks = {
        question: {one.num: drawn.draw(st.sampled_from(list(Mark))) for one in answer.nuggets}
        for question, answer in file.run.answers.items()
    }
    marked = write_marked(file, marks)
    again = read_bytes(marked).require()
    assert again.marks == marks
    assert write_marked(again, {}) == data
    assert write_marked(again, marks) == marked


@given(answer_runs(st.sampled_from(["B", "R", "N", ""])))
def test_marked_runs(data):
    file = read_bytes(data).require()
    assert write_marked(file, file.marks) == data


_CHUNKS = st.sampled_from(
    [
        b"<",
        b">",
        b"</",
        b"<1>",
        b"</1>",
        b";",
        b"\n",
        b"\r",
        b"\t",
        b" ",
        b"1",
        b"B1;R;1;x",
        b"A;90",
        b"\x00",
        b"\xff",
        b"\xe2\x80\xa8",
        b"\xef\xbb\xbf",
        b'"',
        b",",
        b"Q0",
        b"1 Q0 d 1 0.5 r",
        b"1 0 d 1",
        b"run,topic,confidence,correct",
        b"nan",
        b"-",
        b"\xed\xa0\x80",
        b"\x1f\x8b\x08",
        b"BZh9",
        b"1;1;d;t",
        "é".encode(),
        "e\u0301".encode(),
    ]
)
_BYTES = st.one_of(
    st.binary(max_size=200),
    st.lists(_CHUNKS, max_size=40).map(b"".join),
    st.lists(_CHUNKS, max_size=40).map(lambda parts: gzip.compress(b"".join(parts))),
    st.lists(_CHUNKS, max_size=20).map(lambda parts: gzip.compress(b"".join(parts))[:-3]),
)
_ASKED = [Question("1", "Who?")]
_RUNS = {"R": PassageRun("R", {"1": (Passage("1", PassageKey("R", 1), "d", "t"),)})}


@settings(max_examples=60)
@given(_BYTES)
def test_any_bytes(data):
    for reader in READERS:
        try:
            parsed = read_bytes(data, reader)
        except AssayError:
            continue
        if isinstance(parsed, str):
            continue
        for fault in parsed.faults:
            assert fault.why
            assert str(fault).isprintable()
    try:
        file = read_bytes(
            data, lambda path: read_ac_run(path, questions=_ASKED, pr_runs=_RUNS)
        ).require()
        assert write_marked(file, file.marks) == read_text(file.path).data
        read_bytes(data, lambda path: read_pr_run(path, questions=_ASKED, corpus={"d": "t"}))
    except AssayError:
        pass


@pytest.mark.parametrize(
    "line",
    [
        "<" + " " * 100_000 + "x",
        " " * 100_000 + "x",
        "1" * 100_000,
        ";" * 100_000,
        "<" * 100_000,
        "A" + " " * 100_000 + "9 x",
        "1 0 " + " " * 100_000 + "x",
        "1 0 a;" + "1;" * 50_000 + " x y",
        "\t" * 100_000,
        "< /" * 30_000,
        '"' * 99_999,
        "0" * 100_000 + ";1;d;t",
        "x..." * 20_000,
        "1;2;3;" + "9" * 100_000,
    ],
)
@pytest.mark.parametrize("reader", READERS)
def test_long_lines_do_not_hang(line, reader):
    for text in (line, f"<1>\n{line}\n{line}\n</1>", f"<1>\nA;1\n{line}"):
        try:
            read_bytes(text.encode(), reader)
        except AssayError:
            continue


@given(
    st.lists(
        st.tuples(_ID, st.sampled_from(["R;1", "My run;3", "東京;20", "d-1"]), st.integers(-2, 9)),
        unique_by=lambda row: row[:2],
        min_size=1,
    )
)
def test_qrels_round_trip(rows):
    parsed = read_bytes(format_qrels(rows).encode(), read_qrels)
    assert parsed.faults == ()
    read = {(t, d, g) for t, docs in parsed.require().grades.items() for d, g in docs.items()}
    assert read == set(rows)
