"""The fast reader of runs: the same hits, warnings and faults as the reader line by line."""

from __future__ import annotations

import bz2
import gzip
import random
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.formats.trec import read_trec_run
from assay.formats.trec_fast import read_runs, reader
from assay.formats.trec_fast.columns import PAD, Column, decimals, whole_numbers
from assay.measures.judgements import Judgements
from assay.measures.names import parse_measure
from assay.measures.run_scores import run_hits, to_judgements
from assay.model.errors import FormatError

QRELS = {"1": {"d1": 1, "d2": 0, "é;1": 2, "a-long-document-id-0001": 3}, "2": {"d1": 2}, "x": {}}


def column(tokens: list[str]) -> Column:
    raw = [token.encode() for token in tokens]
    lengths = np.array([len(one) for one in raw])
    data = bytes(PAD) + b"\n".join(raw) + bytes(PAD)
    return Column(data, np.cumsum(lengths + 1) - lengths - 1 + PAD, lengths)


def hits_of(paths: list[Path], judged: Judgements, **more):
    found = {}
    for batch in read_runs(paths, judged, **more):
        total = len(judged.topics)
        for number, path in enumerate(batch.paths):
            part = batch.hits.of_lists(number * total, (number + 1) * total)
            found[path] = (
                batch.names[number],
                list(
                    zip(part.lists.tolist(), part.ranks.tolist(), part.rows.tolist(), strict=True)
                ),
                part.grades.tolist(),
                part.shown.tolist(),
                batch.unjudged[number],
                sorted(fault.why.partition(":")[0] for fault in batch.warnings[number]),
            )
    return found


def plainly(path: Path, judged: Judgements, ties="trec"):
    parsed = read_trec_run(path)
    run = parsed.require()
    part = run_hits(run.scores, judged, ties=ties)
    return (
        run.name,
        list(zip(part.lists.tolist(), part.ranks.tolist(), part.rows.tolist(), strict=True)),
        part.grades.tolist(),
        part.shown.tolist(),
        tuple(topic for topic in run.scores if topic not in judged.index),
        sorted(fault.why.partition(":")[0] for fault in parsed.warnings),
    )


documents = st.sampled_from(["d1", "d2", "é;1", "a-long-document-id-0001", "z", "d1-and-on", "D"])
scores = st.one_of(
    st.floats(-1e6, 1e6).map(repr),
    st.integers(-99, 99).map(str),
    st.decimals(-1000, 1000, places=4).map(str),
    st.sampled_from(
        ["1e-3", "0.50", ".5", "5.", "-0", "+3", "0.1234567890123456789", "12345678.5"]
    ),
)
lines = st.tuples(
    st.sampled_from(["1", "2", "x", "unknown-topic", "é"]),
    st.sampled_from(["Q0", "Q0", "Q0", "0", "q0", "1"]),
    documents,
    st.integers(0, 120),
    scores,
)


@settings(max_examples=100)
@given(
    st.lists(st.lists(lines, min_size=1, max_size=25), min_size=1, max_size=3),
    st.sampled_from([" ", "\t", "  ", " \t "]),
    st.sampled_from(["\n", "\r\n", "\n\n"]),
    st.booleans(),
    st.sampled_from(["trec", "file"]),
    st.sampled_from([60, 200, 1 << 20]),
    st.booleans(),
)
def test_any_run_reads_as_line_by_line(
    tmp_path_factory, files, gap, end, last, ties, block, together
):
    folder = tmp_path_factory.mktemp("runs")
    judged = to_judgements(QRELS)
    paths, expected, faults = [], {}, []
    for number, rows in enumerate(files):
        if together:
            rows = sorted(rows, key=lambda row: row[0])
        kept = {(row[0], row[2]): row for row in rows}.values()
        text = end.join(gap.join([*map(str, row), f"run{number}"]) for row in kept)
        path = folder / f"{number}.txt"
        path.write_bytes((text + end * last).encode())
        paths.append(path)
        try:
            expected[path] = plainly(path, judged, ties)
        except FormatError as error:
            faults += error.faults
    if faults:
        with pytest.raises(FormatError) as raised:
            hits_of(paths, judged, ties=ties, block=block)
        assert raised.value.faults == tuple(faults)
    else:
        found = hits_of(paths, judged, ties=ties, block=block)
        for path in paths:
            assert found[path] == expected[path]


@pytest.mark.parametrize(
    "qrels", [{"1": {}}, {"1": {"d1": 0}}, {"1": {"d1": 0, "d2": -1}, "2": {}}]
)
def test_qrels_without_relevant_documents(tmp_path, qrels):
    path = tmp_path / "run"
    path.write_text("1 Q0 d1 1 2 r\n1 Q0 d2 2 1 r\n")
    judged = to_judgements(qrels)
    assert hits_of([path], judged)[path] == plainly(path, judged)
    lean = judged.reduced_for([parse_measure("AP")])
    assert lean.topics == judged.topics
    assert hits_of([path], lean)[path][1] == []
    assert judged.reduced_for([parse_measure("Judged")]) is judged


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, bytes])
@pytest.mark.parametrize("block", [100, 1 << 20])
def test_compressed_files(tmp_path, pack, block):
    text = "".join(f"{t} Q0 d{d} {d} {9 - d}.5 r\n" for t in (1, 2) for d in range(9))
    path = tmp_path / "run"
    path.write_bytes(pack(text.encode()))
    judged = to_judgements(QRELS)
    assert hits_of([path], judged, block=block)[path] == plainly(path, judged)


@pytest.mark.parametrize("gap", [" ", "\t ", " \r "])
@pytest.mark.parametrize("block", [50, 1000, 5000, 1 << 20])
def test_a_topic_larger_than_a_block(tmp_path, block, gap):
    sizes = {"1": 3, "2": 400, "3": 1, "4": 50}
    lines = [
        f"{t} Q0 doc{n} {n} {500 - n} r{gap if n % 7 == 0 else ''}\n"
        for t, size in sizes.items()
        for n in range(size)
    ]
    paths = [tmp_path / "one", tmp_path / "two"]
    for path in paths:
        path.write_text("".join(lines).removesuffix("\n"))
    judged = to_judgements({"1": {"doc0": 1}, "2": {"doc399": 1, "doc7": 2}, "4": {"doc1": 1}})
    found = hits_of(paths, judged, block=block)
    assert all(found[path] == plainly(path, judged) for path in paths)


def test_a_byte_order_mark_inside_a_file_is_not_white_space(tmp_path):
    lines = [f"{n} Q0 d1 1 1 r\n" for n in range(100)]
    lines[50] = "\ufeff" + lines[50]
    path = tmp_path / "run"
    path.write_text("".join(lines))
    judged = to_judgements({str(n): {"d1": 1} for n in range(100)})
    for block in range(600, 900, 7):
        assert hits_of([path], judged, block=block)[path] == plainly(path, judged)


@pytest.mark.parametrize(
    ("old", "new"), [("\n", "\r\n"), ("\n", " \n"), (" ", "\t \t"), ("9.5 r\n", "9.5 r\n\n\n")]
)
def test_untidy_files_are_read_in_blocks_too(tmp_path, monkeypatch, old, new):
    """Line by line, a long file takes ten times the memory, so the slow reader is disabled."""
    text = "".join(f"{t} Q0 d{d} {d} {99 - d}.5 r\n" for t in range(60) for d in range(1, 99))
    path = tmp_path / "run"
    path.write_bytes(("\n" * 3000 + text + "1000 Q0 d1 1 9.5 r\n\n").replace(old, new).encode())
    judged = to_judgements({str(t): {"d3": 1, "x": 1} for t in range(60)})
    expected = plainly(path, judged)
    monkeypatch.setattr(reader, "read_trec_run", None)
    for block in 2000, 5000, 1 << 20:
        assert hits_of([path], judged, block=block)[path] == expected


def test_a_long_id_is_left_to_the_line_by_line_reader(tmp_path):
    long = "x" * 5000
    (tmp_path / "run").write_text(f"1 Q0 {long} 1 3 r\n1 Q0 d1 2 2 r\n")
    (tmp_path / "plain").write_text("1 Q0 d1 1 2 r\n")
    for qrels in {"1": {long: 1, "d1": 2}}, {"1": {"d1": 2}}:
        judged = to_judgements(qrels)
        for name in "run", "plain":
            path = tmp_path / name
            assert hits_of([path], judged)[path] == plainly(path, judged)


def test_a_topic_that_recurs_is_one_topic(tmp_path):
    lines = [f"{1 + n % 2} Q0 doc{n} {n} {500 - n} r\n" for n in range(400)]
    path = tmp_path / "run"
    path.write_text("".join(lines))
    judged = to_judgements({"1": {"doc0": 1, "doc398": 1}, "2": {"doc399": 1}})
    assert hits_of([path], judged, block=1000)[path] == plainly(path, judged)


def test_a_repeated_document_is_found_anywhere(tmp_path):
    path = tmp_path / "run"
    lines = [f"1 Q0 doc{n} {n} {500 - n} r\n" for n in range(400)]
    path.write_text("".join([*lines, "1 Q0 doc3 401 0 r\n"]))
    with pytest.raises(FormatError, match=r"run:401 \[1\].*doc3.*twice"):
        hits_of([path], to_judgements(QRELS), block=1000)


def test_all_faults_of_all_files_come_at_once_and_good_files_are_read(tmp_path):
    for name, text in (
        ("a", "1 Q0 d1 x 1 r\n1 Q0 d2 2 nan r\n"),
        ("b", "1 Q0 d1 1 1 good\n"),
        ("c", "1 Q0 d1 1 1 r\n1 Q0 d2 2 1 s\n"),
    ):
        (tmp_path / name).write_text(text)
    seen = []
    batches = read_runs([tmp_path / n for n in "abcd"], to_judgements(QRELS))
    with pytest.raises(FormatError) as raised:
        seen.extend(name for batch in batches for name in batch.names)
    assert seen == ["good"]
    text = str(raised.value)
    for place in ("a:1 [1]", "a:2 [1]", "c:2", "d There is no such file"):
        assert place in text


def test_numbers_are_parsed_as_python_does():
    generator = random.Random(3)
    tokens = []
    for _ in range(20_000):
        value = generator.uniform(-1, 1) * 10 ** generator.randint(-6, 15)
        tokens += [
            repr(value),
            f"{value:.{generator.randint(0, 9)}f}",
            str(int(value)),
            f"{value:g}",
        ]
    assert decimals(column(tokens)).tolist() == list(map(float, tokens))
    plain = [f"{generator.uniform(0, 999):.4f}" for _ in range(1000)]
    assert decimals(column(plain)).tolist() == list(map(float, plain))


@given(st.text(st.sampled_from("0123456789./-+e_:,"), min_size=1, max_size=18))
@settings(max_examples=150)
def test_invalid_numbers_give_none(token):
    try:
        expected = float(token) if "_" not in token else None
    except ValueError:
        expected = None
    if expected is not None and not np.isfinite(expected):
        expected = None
    found = decimals(column([token]))
    assert (None if found is None else found[0]) == expected
    whole = whole_numbers(column([token]))
    plain = int(token) if token.isascii() and token.isdigit() and len(token) <= 8 else None
    assert (None if whole is None else whole[0]) == plain


@given(st.lists(st.text(max_size=20), min_size=1, max_size=30))
def test_equal_tokens_are_found(tokens):
    tokens = [token.replace("\x00", "") + "x" for token in tokens]
    one = column(tokens)
    assert one.repeats().tolist() == [a == b for a, b in pairwise(tokens)]
    assert len(set(one.hashes().tolist())) == len(set(tokens))
    assert one.rows(slice(1)).hashes()[0] == one.hashes()[0]
    assert [one.text(row) for row in range(len(one))] == tokens
