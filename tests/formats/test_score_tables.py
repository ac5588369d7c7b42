"""Score tables and matrices: shapes, choice of the score, every fault with its line."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from assay.formats.score_matrices import read_matrix
from assay.formats.score_tables import read_scores
from assay.model.errors import FormatError


def scores(path: Path, text: str, score: str | None = None):
    path.write_text(text, encoding="utf-8")
    return read_scores(path, score)


def matrix(path: Path, text: str, score: str | None = None, option: str = "--score"):
    path.write_text(text, encoding="utf-8")
    return read_matrix(path, score, option=option)


# --- tables with a run column --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("run,topic,AP\nA,1,.5\nA,2,.25\nB,1,1\n", None),
        ("run_id\ttopic\tmap\tAP\nA\t1\t0\t.5\nA\t2\t0\t.25\nB\t1\t0\t1\n", "AP"),
        ("AP,Run,QID\n.5,A,1\n.25,A,2\n1,B,1\n", "ap"),
        ("run,topic,measure,value\nA,1,AP,.5\nA,2,AP,.25\nB,1,AP,1\nB,1,RR,0\n", "AP"),
        ("run;topic;score;note\nA;1;.5;x\nA;2;.25;\nB;1;1;y\n", None),
    ],
)
def test_known_shapes(tmp_path, text, score):
    table = scores(tmp_path / "f", text, score).require()
    assert table.by_topic == {"A": {"1": 0.5, "2": 0.25}, "B": {"1": 1.0}}
    assert table.run_scores() == {"A": 0.375, "B": 1.0}


@pytest.mark.parametrize(
    ("lines", "by_topic"),
    [
        ("r1 t1 M 0.9\nr1 t2 M 0.4\nr2 t1 M 1\nr1 t1 N 7\n", {"r1": 2, "r2": 1}),
        ("r1\tM\tt1\t0.9\nr1\tM\tt2\t.4\nr1\tM\tall\t.65\n", {"r1": 2}),
        ("t1 Q0 r1 1 0.9 M\nt2 Q0 r1 1 .4 M\nt1 Q0 r2 2 .1 M\n", {"r1": 2, "r2": 1}),
        ("runid\tall\tr1\nM\tt1\t0.9\nM\tt2\t.4\nM\tall\t.65\n", {"r1": 2}),
        ("t1 r1 M True\nt2 r1 M False\n\nall r1 M .5\nt1 r2 M 1\n", {"r1": 2, "r2": 1}),
    ],
)
def test_leaderboards_have_no_header(tmp_path, lines, by_topic):
    parsed = scores(tmp_path / "f", lines, "m")
    table = parsed.require()
    assert {run: len(topics) for run, topics in table.by_topic.items()} == by_topic
    assert set(table.by_topic["r1"]) == {"t1", "t2"}
    assert any("There is no header" in fault.why for fault in parsed.warnings)


def test_leaderboards_of_trec_eval_are_named_after_their_file(tmp_path):
    table = scores(tmp_path / "mine.txt", "M t1 0.9\nM t2 0.4\nN t1 1\n", "M").require()
    assert table.by_topic == {"mine": {"t1": 0.9, "t2": 0.4}}


def test_leaderboards_as_json_lines(tmp_path):
    rows = [
        '{"run_id": "r1", "topic_id": "t1", "measure": "M", "value": 0.9}',
        '{"run_id": "r1", "topic_id": 2, "measure": "M", "value": true}',
        '{"run_id": "r1", "topic_id": "t3", "measure": "M", "value": null}',
    ]
    table = scores(tmp_path / "f", "\n".join(rows)).require()
    assert table.by_topic == {"r1": {"t1": 0.9, "2": 1.0, "t3": None}}
    parsed = scores(tmp_path / "f", rows[0] + '\n{"run_id": "r1"}\n[]\n')
    assert [fault.line for fault in parsed.errors] == [2, 3]


def test_a_leaderboard_reports_every_invalid_line(tmp_path):
    parsed = scores(tmp_path / "f", "r1 t1 M 0.9\nr1 t2 M\nr1 t3 M x\n")
    assert [fault.line for fault in parsed.errors] == [2, 3]
    # The golden value of the spec: the mean over the topics of the run.
    table = scores(tmp_path / "f", "r1 t1 M 0.9\nr1 t2 M 0.4\n").require()
    assert table.run_scores() == {"r1": pytest.approx(0.65)}


RANGES = """run,topic,measure,value,floor,ceiling
A,1,AP,.5,.5,.5
A,2,AP,,.25,.75
B,1,AP,1,1,1
B,2,AP,,,
"""


def test_a_range_is_missing_and_reported(tmp_path):
    parsed = scores(tmp_path / "f", RANGES)
    assert parsed.require().by_topic == {"A": {"1": 0.5, "2": None}, "B": {"1": 1.0, "2": None}}
    assert [fault.why for fault in parsed.warnings] == [
        "1 value is not certain, as labels are missing: A on 2 (.25–.75).",
        "The score is missing on 1 line (5).",
    ]
    assert "--score AP:floor takes every value at its worst" in parsed.warnings[0].cure


@pytest.mark.parametrize(("end", "value"), [("floor", 0.25), ("ceiling", 0.75)])
def test_floors_and_ceilings_can_be_read_as_scores(tmp_path, end, value):
    table = scores(tmp_path / "f", RANGES, f"ap:{end}").require()
    assert (table.name, table.by_topic["A"]) == (f"AP:{end}", {"1": 0.5, "2": value})


def test_per_topic_and_its_ranges_are_read_as_one_table(tmp_path):
    values, ranges = tmp_path / "per_topic.csv", tmp_path / "per_topic_ranges.csv"
    text = "run,topic,measure,value\nA,1,AP,.5\nA,2,AP,\nB,1,AP,1\nB,2,AP,\n"
    whole = scores(values, text, "AP:floor").require()
    assert whole.by_topic == {"A": {"1": 0.5, "2": None}, "B": {"1": 1.0, "2": None}}
    ranges.write_text("run,topic,measure,floor,ceiling\nA,2,AP,.25,.75\nA,1,AP,9,9\n")
    for path in (values, ranges):
        for end, value in (("floor", 0.25), ("ceiling", 0.75)):
            table = read_scores(path, f"AP:{end}").require()
            assert table.by_topic == {"A": {"1": 0.5, "2": value}, "B": {"1": 1.0, "2": None}}
        parsed = read_scores(path, "AP")
        assert "1 value is not certain, as labels are missing: A on 2 (.25–.75)" in str(
            parsed.warnings
        )


def test_a_floor_of_a_table_without_ranges_is_refused(tmp_path):
    [fault] = scores(tmp_path / "f", "run,topic,measure,value\nA,1,AP,.5\n", "AP:floor").errors
    assert "has no columns floor, ceiling that “AP:floor” could be" in fault.why
    assert "per_topic_ranges.csv" in fault.cure


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("nDCG@20", "ndcg_cut_20"),
        ("ndcg_cut_20", "nDCG@20"),
        ("RR(rel=2)", "rr(rel=2)"),
        ("NuggetPrecision", "NugP"),
        ("weighted_precision", "weighted precision"),
        ("strict_vital", "strict-vital"),
        ("EXAM-Cover-weighted", "wtd."),
        ("α-nDCG@20", "alpha-nDCG@20"),
        ("R_O", "r_o"),
    ],
)
def test_measures_may_be_named_as_in_tables_and_trec_eval(tmp_path, known, said):
    text = f"run,measure,value\nA,{known},1\nA,other,2\nB,{known},0\n"
    assert scores(tmp_path / "f", text, said).require().name == known


def test_a_measure_at_several_tau_is_several_measures(tmp_path):
    text = "run,tau,measure,value\nA,1,M,1\nA,2,M,.5\nB,1,M,1\nB,2,M,0\n"
    parsed = scores(tmp_path / "f", text)
    assert "The table has 2 scores: M(tau=1), M(tau=2)." in parsed.errors[0].why
    assert scores(tmp_path / "f", text, "M(tau=2)").require().means == {"A": 0.5, "B": 0.0}


def test_runs_without_topics_and_means_beside_topics(tmp_path):
    table = scores(tmp_path / "f", "run,score\nA,.5\nB,\n").require()
    assert table.by_topic == {}
    assert table.run_scores() == {"A": 0.5, "B": None}
    text = "run,topic,score\nA,1,.5\nA,all,.75\nB,2,.1\nB,ALL,.2\n"
    parsed = scores(tmp_path / "f", text)
    assert parsed.require().by_topic == {"A": {"1": 0.5}, "B": {"2": 0.1}}
    assert parsed.require().run_scores() == {"A": 0.75, "B": 0.2}
    assert not parsed.warnings


@pytest.mark.parametrize("line", ["", "B,all,\n"])
def test_means_of_some_runs_are_not_mixed_with_means_over_topics(tmp_path, line):
    parsed = scores(tmp_path / "f", "run,topic,score\nA,1,.5\nA,all,.75\nB,2,.1\n" + line)
    assert parsed.require().run_scores() == {"A": 0.5, "B": 0.1}
    assert "the topic all give some runs no value: “B”" in parsed.warnings[0].why


def test_score_not_named(tmp_path):
    text = "run,topic,AP,P(rel=2)@5\nA,1,.5,.5\n"
    fault = scores(tmp_path / "f", text).errors[0]
    assert fault.why == "The table has 2 scores: AP, P(rel=2)@5."
    assert fault.cure == "Say which column is meant, e.g. --score AP."
    fault = matrix(tmp_path / "f", text.replace("AP,", "a b,"), option="-m").errors[0]
    assert fault.cure == "Say which column is meant, e.g. -m 'a b'."
    fault = scores(tmp_path / "f", text, "RR").errors[0]
    assert (fault.why, fault.cure) == ("The table has no column “RR”.", "It has AP, P(rel=2)@5.")


@pytest.mark.parametrize("cell", ["inf", "O.9", "0,9", "1e999", "０.９"])
def test_a_bad_cell_does_not_make_another_column_the_score(tmp_path, cell):
    for mark, name in ((",", "score"), ("\t", "value"), ("\t", "AP")):
        rows = [("run", "topic", name, "n"), ("A", "1", cell, "5"), ("A", "2", ".3", "6")]
        quoted = [[f'"{one}"' if "," in one else one for one in row] for row in rows]
        parsed = scores(tmp_path / "f", "".join(mark.join(row) + "\n" for row in quoted))
        if name == "AP":  # it is unclear which of the two is meant
            assert parsed.errors[0].why == "The table has 2 scores: AP, n."
        else:
            assert [(fault.line, fault.topic) for fault in parsed.errors] == [(2, "1")]
            faults = {"0,9": "has a decimal comma", "０.９": "has other digits than 0 to 9"}
            fault = faults.get(cell, "is not a finite number")
            assert f"“{cell}” {fault}" in parsed.errors[0].why
        assert parsed.value is None or "n" not in parsed.value.name


def test_an_empty_column_may_be_the_intended_score(tmp_path):
    parsed = scores(tmp_path / "f", "run,topic,score,n\nA,1,,5\nA,2,,6\n")
    assert parsed.require().by_topic == {"A": {"1": None, "2": None}}
    parsed = scores(tmp_path / "f", "run,topic,AP,n,note,\nA,1,,5,x,\nA,2,,6,y,\n")
    assert parsed.errors[0].why == "The table has 2 scores: AP, n."


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (",run,topic,AP\n0,A,1,.5\n1,A,2,.25\n", "AP"),
        (",run,topic,AP\n0,A,1,.5\n0,A,2,.25\n", "AP"),
        ("run,topic,,AP,\nA,1,7,.5,\nA,2,8,.25,\n", "AP"),
        ("run,topic,\nA,1,.5\nA,2,.25\n", "score"),
        (",run,topic,,note\n0,A,1,.5,x\n1,A,2,.25,y\n", "score"),
    ],
)
def test_columns_without_a_name(tmp_path, text, name):
    table = scores(tmp_path / "f", text).require()
    assert (table.name, table.by_topic) == (name, {"A": {"1": 0.5, "2": 0.25}})


def test_unnamed_columns_of_which_none_is_the_score(tmp_path):
    error = scores(tmp_path / "f", "run,topic,,\nA,1,.5,.6\n").errors[0]
    assert error.why == "The table has 2 columns without a name."
    error = scores(tmp_path / "f", ",run,topic\n0,A,1\n1,A,2\n").errors[0]
    assert error.why == "The table has no column of scores."
    error = scores(tmp_path / "f", "run,topic,AP,\nA,1,.5,.6\n", "RR").errors[0]
    assert error.cure == "It has AP."


def test_run_names_are_in_one_unicode_form(tmp_path):
    table = scores(tmp_path / "f", "run,topic,s\ne\u0301,1,.5\n\u00e9,2,.25\n").require()
    assert table.by_topic == {"\u00e9": {"1": 0.5, "2": 0.25}}
    twice = matrix(tmp_path / "f", "topic,e\u0301,\u00e9\n1,.5,.6\n2,.7,.8\n")
    assert "the run “\u00e9” twice" in twice.errors[0].why


def test_missing_scores_are_left_out_and_counted(tmp_path):
    parsed = scores(tmp_path / "f", "run,topic,s\nA,1,\nA,2,nan\nA,3,.5\nB,1,NA\n")
    assert parsed.require().by_topic == {"A": {"1": None, "2": None, "3": 0.5}, "B": {"1": None}}
    assert "missing on 3 lines (2, 3, 5)" in parsed.warnings[0].why
    assert parsed.warnings[0].cure == "They count as missing."


def test_every_fault_of_a_table(tmp_path):
    text = (
        "run,topic,s\n"
        "A,1,.5\n"
        "A,1,.6\n"  # 3
        "B,1,x\n"  # 4
        ",2,.5\n"  # 5
        "C,,.5\n"  # 6
        "C,1,1e999\n"  # 7
        "D,3\n"  # 8
        "D,1,1_0\n"  # 9
    )
    parsed = scores(tmp_path / "f", text)
    assert [fault.line for fault in parsed.errors] == [3, 4, 5, 6, 7, 8, 9]
    assert all(fault.cure for fault in parsed.errors)
    assert parsed.errors[0].why == "Run “A” has the topic on line 2 already."


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "The file is empty."),
        ("topic,s\n1,.5\n", "The header lacks run; it has topic, s."),
        ("run,run_id,s\nA,A,1\n", "The header has more than one run column"),
        ("run,topic,qid,s\nA,1,1,1\n", "The header has more than one topic column"),
        ("run,topic\nA,1\n", "The table has no column of scores."),
        ("run,s\n", "The table holds no score."),
    ],
)
def test_invalid_tables(tmp_path, text, why):
    assert scores(tmp_path / "f", text).errors[0].why.startswith(why)


# --- matrices ------------------------------------------------------------------------------------

WORKED = ((0.5, 0.6), (0.7, 0.8))


@pytest.mark.parametrize(
    ("text", "runs", "topics"),
    [
        ("topic,A,B\nt1,.5,.6\nt2,.7,.8\n", ("A", "B"), ("t1", "t2")),
        ("\tA\tB\nt1\t.5\t.6\nt2\t.7\t.8\n", ("A", "B"), ("t1", "t2")),
        ("narrative,A,B\n101,.5,.6\n102,.7,.8\n", ("A", "B"), ("101", "102")),
        ("name,A,B\n101,.5,.6\n102,.7,.8\n", ("A", "B"), ("101", "102")),
        (",A,B\n0,.5,.6\n1,.7,.8\n", ("A", "B"), ("0", "1")),
        (",topic,A,B\n0,t1,.5,.6\n1,t2,.7,.8\n", ("A", "B"), ("t1", "t2")),
        ("A,B\n.5,.6\n.7,.8\n", ("A", "B"), ("1", "2")),
        ("run_a,run_b\n.5,.6\n.7,.8\n", ("run_a", "run_b"), ("1", "2")),
        (".5,.6\n.7,.8\n", ("run 1", "run 2"), ("1", "2")),
        ("1,.5,.6\n2,.7,.8\n", ("run 1", "run 2"), ("1", "2")),
        ("run,topic,s\nA,t1,.5\nB,t1,.6\nA,t2,.7\nB,t2,.8\n", ("A", "B"), ("t1", "t2")),
        ("run,topic,measure,value\nA,1,s,.5\nB,1,s,.6\nA,2,s,.7\nB,2,s,.8\nA,all,s,9\n",
         ("A", "B"), ("1", "2")),
    ],
)  # fmt: skip
def test_shapes_of_a_matrix(tmp_path, text, runs, topics):
    parsed = matrix(tmp_path / "AP.csv", text)
    found = parsed.require()
    assert (found.runs, found.topics, found.scores) == (runs, topics, WORKED)
    assert found.name == ("s" if "run," in text else "AP")
    guessed = text[0] in ".1" or text.startswith(("A,", "run_a"))
    assert bool(parsed.warnings) == guessed


@pytest.mark.parametrize("header", ["topic,A,B\n", "name,A,B\n", ""])
@pytest.mark.parametrize("name", ["all", "ALL", " All"])
def test_means_below_a_matrix_are_not_a_topic(tmp_path, header, name):
    parsed = matrix(tmp_path / "f", f"{header}101,.5,.6\n102,.7,.8\n{name},.6,.7\n")
    assert parsed.require().scores == WORKED
    assert parsed.require().topics == ("101", "102")
    line = 4 if header else 3
    assert any(
        fault.line == line and "holds the runs' means" in fault.why for fault in parsed.warnings
    )


def test_incomplete_topics_are_left_out(tmp_path):
    parsed = matrix(tmp_path / "f", "topic,A,B\n1,.5,.6\n2,,.1\n3,.7,.8\n4,.1,NaN\n")
    assert parsed.require().scores == WORKED
    assert parsed.require().left_out == ("2", "4")
    assert "2 topics: 2, 4" in parsed.warnings[0].why


def test_every_fault_of_a_matrix_without_consequential_ones(tmp_path):
    parsed = matrix(tmp_path / "f", "topic,A,B\n1,x,.6\n1,.5,.6\n,.1,.2\n4,.1\n5,.1,inf\n")
    assert [fault.line for fault in parsed.errors] == [2, 3, 4, 5, 6]
    assert all(fault.cure for fault in parsed.errors)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "The file is empty."),
        ("topic,A,B\n", "The file holds no topic."),
        ("topic,A,A\n1,.5,.6\n", "The header has the run “A” twice."),
        ("topic,A,\n1,.5,.6\n", "The header has a column without a name."),
        ("topic,A\n1,.5\n2,.6\n", "The matrix has 1 run and 2 topics that every run"),
        ("topic,A,B\n1,.5,.6\n2,,.6\n", "The matrix has 2 runs and 1 topic that every run"),
        ("run,measure,value\nA,s,.5\nB,s,.6\n", "The table has no scores of single topics."),
        ("run,t1,t2\nA,.1,.2\nB,.3,.4\n", "The first column holds runs, but a matrix has"),
        ("Run ID\tAP\tRR\nA\t.1\t.2\nB\t.3\t.4\n", "The first column holds runs, but a matrix"),
        ("runs,t1,t2\n1,0,1\n2,1,1\n", "The first column holds runs, but a matrix"),
        ("run/topic,t1,t2\nA,.1,.2\nB,.3,.4\n", "The first column holds runs, but a matrix"),
        ("Run names,t1,t2\nA,.1,.2\nB,.3,.4\n", "The first column holds runs, but a matrix"),
        ("Run of 2025,t1,t2\nA,.1,.2\nB,.3,.4\n", "The first column holds runs, but a matrix"),
        ("system,t1,t2\nA,.1,.2\nB,.3,.4\n", "The first column holds runs, but a matrix"),
        (",run,t1,t2\n0,1,.1,.2\n1,2,.3,.4\n", "The first column holds runs, but a matrix"),
        ("t1,t2,run\n.1,.2,1\n.3,.4,2\n", "The column “run” holds runs, but a matrix"),
        ("system,topic,score\nA,1,.2\nB,1,.4\n", "The header lacks run; it has system, topic, s"),
        ("A,B,C\n.1,.2,.3\nO.3,.4,.5\n.1,.5,.2\n", "The score “O.3” of run “A” is not a finite"),
        ("A,B,C\n.1,.2,.3\ninf,.4,.5\n.1,.5,.2\n", "The score “inf” of run “A” is not a finite"),
    ],
)
def test_invalid_matrices(tmp_path, text, why):
    assert matrix(tmp_path / "f", text).errors[0].why.startswith(why)


def test_unreadable_files(tmp_path):
    for read in (read_scores, read_matrix):
        with pytest.raises(FormatError):
            read(tmp_path / "none")


@given(
    st.sampled_from(["run,topic,s\n", "topic,A,B\n", "", "run,measure,value\n"]),
    st.text(alphabet=st.sampled_from('runA,B\t 0123;"\n\x00\u202e-.e'), max_size=80),
)
@example("", '"\t"0')
@settings(suppress_health_check=list(HealthCheck))
def test_any_file_gives_faults_or_finite_scores(tmp_path, header, text):
    path = tmp_path / "f"
    path.write_text(header + text, encoding="utf-8", newline="")
    for read in (read_scores, read_matrix):
        parsed = read(path)
        for fault in parsed.faults:
            assert str(fault).isprintable()
            assert fault.cure
        if parsed.ok and read is read_matrix:
            assert all(math.isfinite(one) for row in parsed.require().scores for one in row)


def test_lines_between_stray_quotes_are_reported(tmp_path):
    rows = "".join(f"A,{n},.5\n" for n in range(20_000))
    parsed = scores(tmp_path / "f", f'run,topic,AP\nA,"x,.5\n{rows}A,y",.5\nB,1,.5\n')
    assert any(fault.line == 2 and "valid CSV" in fault.why for fault in parsed.errors)
