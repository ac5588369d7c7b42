"""Label tables: qrels and CSV, with and without runs; every fault with its line and cure."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.formats.label_tables import read_labels
from assay.model.errors import FormatError


def read(path: Path, text: str):
    path.write_text(text, encoding="utf-8")
    return read_labels(path)


def test_judgment_runs_are_read_as_labels_and_ranked_runs_are_refused(tmp_path):
    parsed = read(tmp_path / "rj", "1 Q0 a 2 0.9 r\n1 Q0 b 0 0.5 r\n")
    assert parsed.require().labels == {("1", "", "a"): 2.0, ("1", "", "b"): 0.0}
    assert "judgment run" in parsed.warnings[0].why
    ranked = "".join(f"1 Q0 d{rank} {rank} {9 - rank} r\n" for rank in range(1, 7))
    assert "looks like a run" in read(tmp_path / "run", ranked).errors[-1].cure


@pytest.mark.parametrize(
    "text",
    [
        "topic,doc,label\n1,a,2\n1,b,0\n",
        "Label,Other,DocNo,QID\n2,x,a,1\n0,y,b,1\n",
        "query id\tdoc_id\tgrade\n1\ta\t2\n1\tb\t0\n",
        "topic;item;relevance\n1;a;2\n1;b;0\n",
        '\ufefftopic,unit,label\r\n"1"," a ",2.0\r\n1,b,0\r\n',
        "\n\ntopic,doc,label\n\n1,a,2\n1,b,0",
        "1 0 a 2\n1 0 b 0\n",
        "1\t0\ta\t2\n1\t0\tb\t0\n",
    ],
)
def test_known_shapes(tmp_path, text):
    parsed = read(tmp_path / "f", text)
    assert not parsed.errors
    assert parsed.require().labels == {("1", "", "a"): 2.0, ("1", "", "b"): 0.0}


def test_run_column_separates_units_and_may_replace_documents(tmp_path):
    table = read(tmp_path / "f.csv", "run,topic,doc,label\nA,1,a,1\nB,1,a,0\n").require()
    assert table.runs
    assert table.labels == {("1", "A", "a"): 1.0, ("1", "B", "a"): 0.0}
    table = read(tmp_path / "f.csv", "run_id,topic,label\nA,1,1\nB,1,0\n").require()
    assert table.labels == {("1", "A", ""): 1.0, ("1", "B", ""): 0.0}


def test_ids_are_strings_in_one_unicode_form(tmp_path):
    table = read(tmp_path / "f.csv", "topic,doc,label\n01,e\u0301,1\n1,\u00e9,1\n").require()
    assert list(table.labels) == [("01", "", "\u00e9"), ("1", "", "\u00e9")]


def test_compressed_files_and_unjudged_documents(tmp_path):
    file = tmp_path / "q.gz"
    file.write_bytes(gzip.compress(b"1 0 a -1\n"))
    table = read_labels(file).require()
    assert table.qrels
    assert table.labels == {("1", "", "a"): -1.0}


def test_empty_labels_are_counted_and_repeated_ones_warned_of(tmp_path):
    parsed = read(tmp_path / "f.csv", "topic,doc,label\n1,a,\n1,b,1\n1,b,1.0\n2,c,\n")
    assert parsed.require().labels == {
        ("1", "", "a"): None, ("1", "", "b"): 1.0, ("2", "", "c"): None,
    }  # fmt: skip
    assert [(fault.line, fault.severity) for fault in parsed.faults] == [
        (2, "warning"), (4, "warning"),
    ]  # fmt: skip
    assert "missing on 2 lines (2, 5)" in parsed.faults[0].why


def test_labels_that_differ_in_late_digits_are_shown_in_full(tmp_path):
    text = "topic,doc,label\n1,a,0.1234562\n1,a,0.1234561\n1,b,\n1,b,2\n"
    assert [fault.why for fault in read(tmp_path / "f.csv", text).errors] == [
        "“a” has label 0.1234561 here and 0.1234562 on line 2.",
        "“b” has label 2 here and none on line 4.",
    ]


def test_every_fault_has_its_line_topic_and_cure(tmp_path):
    text = (
        "run,topic,doc,label\n"
        "A,1,a,0\n"
        "A,1,b,high\n"  # 3
        ",,c,1\n"  # 4
        "A,1,a,2\n"  # 5
        "A,2,a\n"  # 6
        "A,2,b,inf\n"  # 7
        'A,2,c,"1\n'  # 8
    )
    parsed = read(tmp_path / "f.csv", text)
    assert [(fault.line, fault.topic) for fault in parsed.errors] == [
        (3, "1"), (4, None), (5, "1"), (6, None), (7, "2"), (8, None),
    ]  # fmt: skip
    said = [fault.why for fault in parsed.errors]
    assert said[0] == "The label “high” is not a finite number."
    assert said[1] == "The topic and the run are empty."
    assert said[2] == "“a” of “A” has label 2 here and 0 on line 2."
    assert said[3] == "The line has 3 cells, the header 4."
    assert all(fault.cure for fault in parsed.errors)
    with pytest.raises(FormatError, match="6 faults"):
        parsed.require()


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("", 0, "The file is empty."),
        ("topic,doc,label\n", 0, "The file holds no label."),
        ("topic,doc\n1,a\n", 1, "The header lacks label; it has topic, doc."),
        ("doc,label\na,1\n", 1, "The header lacks topic; it has doc, label."),
        ("topic,label\n1,1\n", 1, "The header lacks doc; it has topic, label."),
        ("topic,doc,label,Label\n1,a,1,2\n", 1, "The header has more than one label column"),
        ("1,a,0\n", 1, "The header lacks topic"),
    ],
)
def test_invalid_tables(tmp_path, text, line, why):
    errors = read(tmp_path / "f.csv", text).errors
    assert errors[0].line == line
    assert errors[0].why.startswith(why)


def test_unreadable_files(tmp_path):
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(FormatError):
            read_labels(path)


@given(st.text(alphabet=st.sampled_from('topic,doclabe\t 0123;"\n\x00\u202e-.'), max_size=80))
@settings(suppress_health_check=list(HealthCheck))
def test_any_file_gives_faults_or_finite_labels(tmp_path, text):
    path = tmp_path / "f"
    path.write_text("topic,doc,label\n" + text, encoding="utf-8", newline="")
    parsed = read_labels(path)
    if parsed.ok:
        known = [one for one in parsed.require().labels.values() if one is not None]
        assert all(math.isfinite(one) for one in known)
    for fault in parsed.faults:
        assert str(fault).isprintable()
        assert fault.cure
