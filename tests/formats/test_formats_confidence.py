"""Confidence tables."""

from __future__ import annotations

import pytest

from assay.formats.confidence import read_confidence


def table(write, *rows, header="run,topic,confidence,correct"):
    return read_confidence(write("\n".join([header, *rows])))


def test_columns_in_any_order(write):
    parsed = table(
        write, 'yes,"a, b",90,01,A', "FALSE,x,12.5,2,A", header="Correct,note,CONFIDENCE,topic,run"
    )
    assert parsed.faults == ()
    first, second = parsed.require().rows
    assert (first.run, first.topic, first.probability, first.correct) == ("A", "01", 0.9, True)
    assert (second.probability, second.correct, second.line) == (0.125, False, 3)
    assert parsed.value.percent


def test_probabilities(write):
    parsed = table(write, "A,1,0.07,1", "A,2,1,0")
    assert [row.probability for row in parsed.require().rows] == [0.07, 1.0]
    assert not parsed.value.percent
    assert "probabilities" in parsed.faults[0].why
    assert parsed.faults[0].severity == "warning"


def test_zeros_and_ones_are_percentages(write):
    parsed = table(write, "A,1,0,1", "A,2,1,0")
    assert [row.probability for row in parsed.require().rows] == [0, 0.01]
    assert "1 %" in parsed.faults[0].why


def test_scale_to_ten(write):
    parsed = table(write, *(f"A,{topic},{topic % 11},1" for topic in range(30)))
    assert "above 10" in parsed.faults[0].why


def test_missing(write):
    parsed = table(write, "A,1,,1", "A,2,50,", "B,1,50,0")
    value = parsed.require()
    assert [(f.line, f.severity) for f in parsed.faults] == [(2, "warning"), (3, "warning")]
    assert sum(not row.scored for row in value.rows) == 2
    assert [row.scored for row in value.rows] == [False, False, True]
    assert value.runs == ("A", "B")
    assert len(value.of("A")) == 2


def test_faults_all_at_once(write):
    parsed = table(
        write,
        "A,1,101,1",
        "A,2,90%,1",
        "A,3,x,maybe",
        "A,4,50,1",
        "A,4,60,1",
        ",5,50,1",
        "A,6,50",
        "A,7,nan,1",
        "A,8,-1,2",
        'A,9,"5"0,1',
        "A,10,70,1",
    )
    assert [fault.line for fault in parsed.errors] == [2, 3, 4, 4, 6, 7, 8, 9, 10, 10, 11]
    assert "Write 90" in parsed.errors[1].cure
    assert "line 5" in parsed.errors[4].why
    assert parsed.value.rows[-1].topic == "10"


def test_header(write):
    parsed = table(write, "A,1,50,1", header="model,topic,confidence,topic")
    assert parsed.value is None
    assert "lacks run, correct" in parsed.errors[0].why
    assert "topic twice" in parsed.errors[1].why
    twice = table(write, "A,1,x,1,A", header="run,topic,confidence,correct,run")
    assert [fault.line for fault in twice.errors] == [1, 2]
    assert "empty" in read_confidence(write("")).errors[0].why
    assert "no row" in table(write).errors[0].why


@pytest.mark.parametrize("mark", ["\t", ";"])
def test_other_separators(write, mark):
    parsed = read_confidence(
        write(f"run{mark}topic{mark}confidence{mark}correct\nA{mark}1{mark}50{mark}1")
    )
    assert parsed.require().rows[0].probability == 0.5
    assert parsed.warnings


def test_quoted_line_breaks_and_open_quotes(write):
    parsed = table(write, '"A\nB",1,50,1', "A,2,x,1", '"A,3,50,1', "A,4,50,1")
    assert [fault.line for fault in parsed.errors] == [4, 5]
    assert parsed.value.rows[0].run == "A\nB"
