"""TREC runs and qrels."""

from __future__ import annotations

import pytest

from assay.formats.trec import read_qrels, read_trec_run
from assay.formats.trec_fast import read_runs
from assay.formats.trec_writing import format_qrels
from assay.measures.run_scores import to_judgements
from assay.model.errors import AssayError


def places(parsed):
    return [(f.line, f.topic, f.severity) for f in parsed.faults]


def test_run_with_tabs_spaces_and_crlf(write):
    path = write("301 Q0  d1   1 9.5 myrun\r\n301\tQ0\td2\t2\t9e0\tmyrun\n\n0302 Q0 d1 1 -1 myrun")
    parsed = read_trec_run(path)
    assert parsed.faults == ()
    run = parsed.require()
    assert run.name == "myrun"
    assert run.scores == {"301": {"d1": 9.5, "d2": 9.0}, "0302": {"d1": -1.0}}
    assert run.ranks["301"] == {"d1": 1, "d2": 2}


def test_order_is_that_of_trec_eval(write):
    run = read_trec_run(write("1 Q0 a 1 1 r\n1 Q0 c 2 1 r\n1 Q0 b 3 2 r\n")).require()
    assert run.ranked("1") == ("b", "c", "a")
    assert run.ranked("2") == ()


def test_ids_may_hold_spaces_between_tabs_and_no_break_spaces(write):
    path = write("1\tQ0\tMy run;3\t1\t0.5\tr\n1 Q0 a\u00a0b 2 0.4 r\n")
    assert set(read_trec_run(path).require().scores["1"]) == {"My run;3", "a\u00a0b"}


def test_run_faults_all_at_once(write):
    parsed = read_trec_run(
        write(
            "1 Q0 d1 1 9 r\n1 Q0 d1 2 8 r\n1 Q0 d2 x 8 r\n1 Q0 d3 3 high r\n1 Q0 d4 4 nan r\n"
            "1 Q0 d5 5 inf r\n1 Q0 d6 6 1_0 r\n1 0 d7 1\n1;1;d;t\n1 Q0 d8 ２ 1 r\n1 Q0 d9 a b r\n"
        )
    )
    assert places(parsed) == [
        (2, "1", "error"),
        (3, "1", "error"),
        (4, "1", "error"),
        (5, "1", "error"),
        (6, "1", "error"),
        (7, "1", "error"),
        (8, None, "error"),
        (9, None, "error"),
        (10, "1", "error"),
        (11, "1", "error"),
        (11, "1", "error"),
    ]
    assert "twice" in parsed.faults[0].why
    assert "not an integer" in parsed.faults[1].why
    assert "not a number" in parsed.faults[2].why
    assert "finite" in parsed.faults[3].why
    assert "qrels" in parsed.faults[6].cure
    assert "r2c2-pr" in parsed.faults[7].cure
    assert parsed.value.scores == {"1": {"d1": 9.0}}


def test_several_runs_and_odd_second_column(write):
    # Documents that are in both runs are not reported.
    parsed = read_trec_run(write("1 Q0 a 1 2 one\n1 X b 2 1 two\n1 Q0 a 3 0 two\n"))
    assert places(parsed) == [(2, None, "error"), (2, None, "warning")]
    assert "one, two" in parsed.faults[0].why


@pytest.mark.parametrize(
    ("read", "text", "cure"),
    [
        (read_trec_run, '{"q1": {"d1": 0.5}}', "JSON"),
        (read_qrels, '{"q1": {"d1": 1, "d2": 0}}', "JSON"),
        (read_qrels, "q1,0,d1,1", "not with commas"),
        (read_trec_run, "q1\td1\t1", "MS MARCO"),
    ],
)
def test_files_of_other_tools_are_recognised(write, read, text, cure):
    assert cure in read(write(text)).faults[0].cure


@pytest.mark.parametrize("text", ["1 Q0 a 1 1 r\n1 Q0 b 2 2 r\n", "1 Q0 a 1 2 r\n1 Q0 b 1 1 r\n"])
def test_ranks_against_scores(write, text):
    parsed = read_trec_run(write(text))
    assert places(parsed) == [(2, "1", "warning")]
    assert "disagree" in parsed.faults[0].why


def test_a_topic_with_equal_scores(write):
    text = "1 Q0 a 1 1 r\n1 Q0 b 2 1 r\n2 Q0 a 1 1 r\n3 Q0 a 1 2 r\n3 Q0 b 2 1 r\n"
    path = write(text)
    (told,) = read_trec_run(path).faults
    assert "All documents of 1 topic have one score: 1." in told.why
    (batch,) = read_runs([path], to_judgements({"1": {"a": 1}}))
    assert batch.warnings == ((told,),)  # the fast reader's
    mixed = write("3 Q0 a 1 1 r\n1 Q0 a 1 1 r\n3 Q0 b 2 1 r\n")
    assert "topic have one score: 3." in read_trec_run(mixed).faults[0].why


def test_unsorted_but_consistent_run(write):
    text = "1 Q0 b 2 1 r\n2 Q0 a 1 1 r\n1 Q0 a 1 2 r\n"
    assert read_trec_run(write(text)).faults == ()


def test_empty(write):
    assert "no ranked document" in read_trec_run(write("\n")).errors[0].why
    assert "no judgment" in read_qrels(write("")).errors[0].why


def test_qrels(write):
    path = write("1 0 d1 2\n1\tQ0\td2\t-1\r\n1 1 R;3 0\n0001 0 My run;3 1\n")
    parsed = read_qrels(path)
    assert parsed.faults == ()
    assert parsed.require().grades == {"1": {"d1": 2, "d2": -1, "R;3": 0}, "0001": {"My run;3": 1}}


def test_qrels_of_beir_have_no_second_column(write):
    head = "query-id\tcorpus-id\tscore\n"
    parsed = read_qrels(write(f"\n{head}q1\td 1\t1\n\nq1\td2\t0\nq2\t31\t2\r\n"))
    assert parsed.faults == ()
    assert parsed.require().grades == {"q1": {"d 1": 1, "d2": 0}, "q2": {"31": 2}}
    parsed = read_qrels(write(f"{head}q\td\t1\nq\td\t0\nq\te\tx\nq\n{head}"))
    assert [fault.line for fault in parsed.errors] == [3, 4, 5, 6]
    assert "1 on line 2" in parsed.errors[0].why
    assert read_qrels(write("Query_ID corpus_id score\nq d 1\n")).value.grades == {"q": {"d": 1}}
    assert [one.line for one in read_qrels(write(f"1 0 d 1\n{head}")).errors] == [2]


def test_qrels_faults(write):
    parsed = read_qrels(
        write(
            "1 0 d 1\n1 0 d 1\n1 0 d 2\n1 d 1\n1 0 e 1.0\n1 0 e L2\n1 0 e x\n1 7 f 1\n"
            "1 Q0 d 1 2.5 r\n"
        )
    )
    assert places(parsed) == [
        (2, "1", "warning"),
        (3, "1", "error"),
        (4, None, "error"),
        (5, "1", "error"),
        (6, "1", "error"),
        (7, "1", "error"),
        (8, None, "warning"),
        (9, None, "error"),
    ]
    cures = [fault.cure for fault in parsed.faults]
    assert "line 1" in parsed.faults[1].why
    assert "Put a 0" in cures[2]
    assert cures[3] == "Write 1."
    assert "Write 2" in cures[4]
    assert "trec-run" in cures[7]
    assert parsed.value.grades == {"1": {"d": 1, "f": 1}}


def test_format_qrels():
    assert format_qrels([("1", "R;1", 2), ("2", "R;1", 0)]) == "1 0 R;1 2\n2 0 R;1 0\n"
    assert format_qrels([("1", "a b;1", 2)]) == "1\t0\ta b;1\t2\n"
    assert format_qrels([]) == ""
    for bad in ("", "a\tb", "a\nb", " a"):
        with pytest.raises(AssayError):
            format_qrels([("1", bad, 1)])


def test_too_large_a_grade_is_reported_as_such(tmp_path):
    path = tmp_path / "qrels"
    path.write_text("1 0 a 9223372036854775807\n1 0 b 1.5\n")
    large, broken = read_qrels(path).faults
    assert large.why == "The grade “9223372036854775807” is too large."
    assert broken.why == "The grade “1.5” is not an integer."
