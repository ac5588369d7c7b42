"""AC runs, unmarked and marked: faults of every kind, with line, question and cure."""

from __future__ import annotations

import bz2
import gzip
import re
import unicodedata

import pytest

from assay.formats.r2c2_ac import read_ac_run, write_marked
from assay.formats.r2c2_pr import read_pr_run
from assay.model.errors import AssayError
from assay.model.rag import Mark, Passage, PassageKey, PassageRun, Question


def pr_run(name, questions):
    """A PR run with the given ranks for each question."""
    return PassageRun(
        name,
        {
            one: tuple(Passage(one, PassageKey(name, rank), "d", "t") for rank in ranks)
            for one, ranks in questions.items()
        },
    )


RUNS = {
    run.name: run
    for run in (
        pr_run("WASEDA-PR-1", {"0001": [1, 2, 3, 5], "0002": [1]}),
        pr_run("Café-PR", {"0001": [1]}),
    )
}


def block(*lines, one="0001"):
    return "\n".join([f"<{one}>", *lines, f"</{one}>", ""])


def one_fault(path, **options):
    (fault,) = read_ac_run(path, **options).faults
    return fault


def test_worked_example(example_pr, example_marked):
    run = read_pr_run(example_pr).require()
    parsed = read_ac_run(
        example_marked, questions=[Question("0001", "Name")], pr_runs={run.name: run}
    )
    assert parsed.faults == ()
    file = parsed.require()
    answer = file.run.answers["0001"]
    assert file.run.name == "WASEDA-AC-1"
    assert file.run.marked
    assert (answer.text, answer.confidence, answer.line) == ("Anthony Mackie", 90, 2)
    assert "".join(nugget.mark for nugget in answer.nuggets) == "NNBRR"
    assert [nugget.line for nugget in answer.nuggets] == [3, 4, 5, 6, 7]
    assert answer.nuggets[3].key == PassageKey("WASEDA-PR-1", 4)
    assert answer.nuggets[4].text.endswith("Captain America: Brave New World")
    assert write_marked(file, file.marks) == example_marked.read_bytes()
    bare = write_marked(file, {}).decode()
    assert bare == re.sub("(?m)^[BRN](?=[1-5];)", "", example_marked.read_text())


def test_answers_and_nuggets_may_hold_semicolons_and_tags(write):
    path = write(
        block(
            "<i>Titanic</i>; or <b>;</b>;0",
            "1;WASEDA-PR-1;1;a; <0002>; b",
            "2;WASEDA-PR-1;2;</0001> x",
        )
    )
    parsed = read_ac_run(path, pr_runs=RUNS)
    assert parsed.faults == ()
    answer = parsed.require().run.answers["0001"]
    assert answer.text == "<i>Titanic</i>; or <b>;</b>"
    assert answer.confidence == 0
    assert [n.text for n in answer.nuggets] == ["a; <0002>; b", "</0001> x"]


@pytest.mark.parametrize(
    ("confidence", "severity", "cure"),
    [
        ("101", "error", "100 is the most"),
        ("-1", "error", "0 is the least"),
        ("-0", "error", "0 is the least"),
        ("90%", "error", "Write 90 without the sign"),
        ("90 %", "error", "Write 90 without the sign"),
        ("0.9", "error", ": 90 if this is a probability"),
        (".5", "error", ": 50 if this is a probability"),
        ("87.5", "error", ": 88."),
        ("87,4", "error", ": 87."),
        ("", "error", "after the last"),
        ("  ", "error", "after the last"),
        ("high", "error", "integer from 0 to 100"),
        ("+90", "error", "without a sign: 90"),
        ("９０", "error", "ASCII digits: 90"),
        ("90/100", "error", "integer from 0 to 100"),
        ("1e2", "error", "integer from 0 to 100"),
        ("9" * 5000, "error", "integer from 0 to 100"),
        (" and that is the whole story", "error", "confidence comes last"),
        (" 90 ", "warning", "Write 90"),
        ("090", "warning", "Write 90"),
    ],
)
def test_confidence(write, confidence, severity, cure):
    path = write(block(f"An; answer;{confidence}"))
    fault = one_fault(path)
    assert (fault.line, fault.topic, fault.severity) == (2, "0001", severity)
    assert cure in fault.cure
    answers = read_ac_run(path).value.run.answers
    assert ("0001" in answers) == (severity == "warning")


@pytest.mark.parametrize("confidence", ["0", "100", "7"])
def test_good_confidence(write, confidence):
    answers = read_ac_run(write(block(f"A;{confidence}"))).require().run.answers
    assert answers["0001"].confidence == int(confidence)


@pytest.mark.parametrize(
    ("line", "cure"),
    [
        ("Anthony Mackie", "AnswerString;ConfidenceScore"),
        ("Anthony Mackie,90", "If 90 is the confidence"),
        ("Anthony Mackie 90", "If 90 is the confidence"),
        ("Anthony Mackie\t90", "If 90 is the confidence"),
        ("東京；90", "If 90 is the confidence"),
    ],
)
def test_answer_without_semicolon(write, line, cure):
    fault = one_fault(write(block(line, "1;WASEDA-PR-1;1;x")))
    assert (fault.line, fault.topic) == (2, "0001")
    assert cure in fault.cure


def test_empty_answer_and_empty_block(write):
    path = write(block(" ;90") + block("", " ", one="0002"))
    found = read_ac_run(path).errors
    assert [(f.line, f.topic) for f in found] == [(2, "0001"), (4, "0002")]
    assert "answer is empty" in found[0].why
    assert "block is empty" in found[1].why


def test_missing_answer_and_late_answer(write):
    path = write(
        block("1;WASEDA-PR-1;1;x", "2;WASEDA-PR-1;99;y")
        + block("1;WASEDA-PR-1;1;x", "Late;80", one="0002")
    )
    found = read_ac_run(path, pr_runs=RUNS).errors
    assert [fault.line for fault in found] == [2, 3, 6]
    assert "answer line is missing" in found[0].why
    assert "99" in found[1].why
    assert "before the answer on line 7" in found[2].why
    assert read_ac_run(path).value.run.answers["0002"].text == "Late"


def test_answer_that_looks_like_a_record(write):
    path = write(block("1;2;3;90", "1;WASEDA-PR-1;1;x"))
    parsed = read_ac_run(path, pr_runs=RUNS)
    assert parsed.require().run.answers["0001"].text == "1;2;3"
    path = write(block("1;WASEDA-PR-1;2;1962"))
    assert "answer line is missing" in one_fault(path, pr_runs=RUNS).why


def test_second_answer_line(write):
    fault = one_fault(write(block("A;90", "1;WASEDA-PR-1;1;x", "B;80")))
    assert fault.line == 4
    assert "second answer" in fault.cure


def test_unclosed_blocks(write):
    path = write("<0001>\nA;90\n<0002>\nB;80\n1;WASEDA-PR-1;1;x")
    parsed = read_ac_run(path)
    assert [(f.line, f.topic) for f in parsed.errors] == [(1, "0001"), (3, "0002")]
    assert "before <0002> on line 3" in parsed.errors[0].why
    assert "</0001>" in parsed.errors[0].cure
    assert "end of the file" in parsed.errors[1].why
    assert [a.confidence for a in parsed.value.run.answers.values()] == [90, 80]


def test_wrong_closing_tags(write):
    path = write("<0001>\nA;90\n</0002>\n</0001>\n<0003>\nB;1\n</0003>\n")
    found = read_ac_run(path).errors
    assert [(f.line, f.topic) for f in found] == [(3, "0001"), (4, "0001")]
    assert "closes the block <0001> of line 1" in found[0].why
    assert "closes no open block" in found[1].why


def test_duplicate_blocks(write):
    path = write(block("A;90") + block("B;80"))
    parsed = read_ac_run(path)
    (fault,) = parsed.errors
    assert (fault.line, fault.topic) == (4, "0001")
    assert "line 1" in fault.why
    assert parsed.value.run.answers["0001"].text == "A"


def test_text_outside_of_blocks(write):
    path = write("Hello\nworld\n" + block("A;90") + "bye\n")
    found = read_ac_run(path).errors
    assert [fault.line for fault in found] == [1, 6]
    assert "outside a block" in found[0].why


def test_untidy_tags(write):
    path = write("< 0001 >\nA;90\n</ 0001>\n<0002\nB;1\n</0002>\n<>\n<0003> C;2\n1;R;1;x</0003>\n")
    parsed = read_ac_run(path)
    found = [(f.line, f.severity) for f in parsed.faults]
    assert found == [
        (1, "warning"),
        (3, "warning"),
        (4, "error"),
        (7, "error"),
        (8, "error"),
        (9, "error"),
    ]
    assert "<0001>" in parsed.faults[0].cure
    answers = parsed.value.run.answers
    assert [(one, a.text, a.confidence) for one, a in answers.items()] == [
        ("0001", "A", 90),
        ("0002", "B", 1),
        ("0003", "C", 2),
    ]
    assert answers["0003"].nuggets[0].text == "x"


@pytest.mark.parametrize(
    ("record", "severity", "cure"),
    [
        ("0;WASEDA-PR-1;1;x", "error", "from 1 to 10"),
        ("11;WASEDA-PR-1;1;x", "error", "from 1 to 10"),
        ("a1;WASEDA-PR-1;1;x", "error", "B, R and N"),
        ("b1;WASEDA-PR-1;1;x", "error", "Write B"),
        ("X;WASEDA-PR-1;1;x", "error", "B, R and N"),
        (";WASEDA-PR-1;1;x", "error", "integer from 1 to 10"),
        ("1.0;WASEDA-PR-1;1;x", "error", "without decimals: 1"),
        ("01;WASEDA-PR-1;1;x", "warning", "Write 1"),
        ("B 1;WASEDA-PR-1;1;x", "warning", "Write B1"),
        ("1;WASEDA-PR-1;x;x", "error", "integer from 1 to 20"),
        ("1;WASEDA-PR-1;;x", "error", "integer from 1 to 20"),
        ("1;WASEDA-PR-1;0;x", "error", "1 to 20"),
        ("1;WASEDA-PR-1;01;x", "warning", "Write 1"),
        ("1;;1;x", "error", "passage is from"),
        ("1;WASEDA-PR-1;1;", "error", "one factual claim"),
        ("1;WASEDA-PR-1;1", "error", "NuggetNum;PRrunName;PassageRank;Nugget"),
        ("the rest of a claim.", "error", "rest of the line before"),
        ("1;WASEDA-PR-1;1;a\u2028b", "error", "Write a space"),
        ("1;WASEDA-PR-1;4;x", "error", "Its ranks: 1–3, 5."),
        ("1;WASEDA-PR-2;1;x", "error", "Is WASEDA-PR-1 meant?"),
        ("1;WASEDA-PR-2;1;x", "error", "Known PR runs: Café-PR, WASEDA-PR-1."),
        ("1;waseda-pr-1;1;x", "error", "case or width"),
        ("1;WASEDA-PR-1.txt;1;x", "error", "without ending"),
    ],
)
def test_nugget_records(write, record, severity, cure):
    found = read_ac_run(write(block("A;90", "", record)), pr_runs=RUNS).faults
    assert {(f.line, f.topic, f.severity) for f in found} <= {(4, "0001", severity)}
    assert any(cure in fault.cure for fault in found)


def test_run_names_may_be_decomposed(write):
    apart = unicodedata.normalize("NFD", "Café-PR")
    parsed = read_ac_run(write(block("A;90", f"1;{apart};1;x"), f"{apart}.txt"), pr_runs=RUNS)
    assert not parsed.faults
    (answer,) = parsed.value.run.answers.values()
    assert [nugget.key.run for nugget in answer.nuggets] == ["Café-PR"]
    assert parsed.value.run.name == "Café-PR"


def test_nugget_numbers_are_unique_and_at_most_ten(write):
    path = write(
        block("A;90", *(f"{num};R;1;x" for num in range(1, 11)), "10;R;1;again", "11;R;1;more")
    )
    parsed = read_ac_run(path)
    assert [fault.line for fault in parsed.errors] == [13, 13, 14]
    assert "12 nuggets, more than 10" in parsed.errors[0].why
    assert "line 12" in parsed.errors[1].why
    nuggets = parsed.value.run.answers["0001"].nuggets
    assert [nugget.num for nugget in nuggets] == list(range(1, 11))
    assert nuggets[-1].text == "x"


def test_run_without_the_question(write):
    path = write(
        block("A;90", "1;Café-PR;1;x", one="0002") + block("A;9", "1;Café-PR;1;x", one="1")
    )
    cited, padded = read_ac_run(path, pr_runs=RUNS).errors
    assert (cited.line, cited.topic) == (3, "0002")
    assert "no passages for the question" in cited.why
    assert "Write 0001" in padded.cure


def test_questions(write):
    asked = [Question("0001", "Who?"), Question("0002", "Where?"), Question("é", "What?")]
    path = write(block("A;1", one="1") + block("B;2", one="e\u0301"))
    missing, unknown = read_ac_run(path, questions=asked).faults
    assert (unknown.line, unknown.topic, unknown.severity) == (1, "1", "error")
    assert "Write 0001" in unknown.cure
    assert (missing.line, missing.severity) == (0, "warning")
    assert "0001, 0002" in missing.why
    assert "incorrect, and its confidence is unknown" in missing.cure


def test_mixed_marks(write):
    path = write(block("A;1", "B1;R;1;x", "2;R;1;y", "R3;R;1;z"))
    fault = one_fault(path)
    assert (fault.line, fault.severity) == (4, "warning")
    assert "2 nuggets are marked and 1 are not" in fault.why
    assert read_ac_run(path).require().run.marked


def test_empty_file(write):
    assert "no answer block" in one_fault(write("")).why


AWKWARD = (
    b"\xef\xbb\xbf\r\n<0001>\r\nAn; \xc3\xa9;90\r\n\r\n  B1;R;1; x ;y \r\n2;R;2;z\n"
    b"N 3;R;3;w\r\n\xe3\x80\x804;R;3;w\r\n</0001>\r\n\n< 2 >\nC;1\nR1;R;1;last\n</2>"
)


def test_writing_changes_nothing_but_marks(write):
    file = read_ac_run(write(AWKWARD)).require()
    assert file.marks == {
        "0001": {1: Mark.BOGUS, 3: Mark.NONRELEVANT},
        "2": {1: Mark.RELEVANT},
    }
    assert write_marked(file, file.marks) == AWKWARD
    marks = {"0001": {1: Mark.RELEVANT, 2: Mark.BOGUS, 4: Mark.NONRELEVANT}}
    assert write_marked(file, marks) == (
        AWKWARD.replace(b"B1;", b"R1;")
        .replace(b"\n2;R", b"\nB2;R")
        .replace(b"N 3", b" 3")
        .replace(b"4;R", b"N4;R")
        .replace(b"R1;R;1;last", b"1;R;1;last")
    )


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
def test_compressed_runs_are_written_uncompressed(write, pack):
    file = read_ac_run(write(pack(AWKWARD), "run.txt.gz")).require()
    assert file.run.name == "run"
    assert write_marked(file, file.marks) == AWKWARD


def test_marks_of_unknown_nuggets_are_refused(write):
    file = read_ac_run(write(block("A;1", "1;R;1;x"))).require()
    with pytest.raises(AssayError, match="0001 nugget 2"):
        write_marked(file, {"0001": {2: Mark.BOGUS}})


def test_all_faults_at_once_in_line_order(write):
    path = write(
        b"stray\n<0001>\nA;101\n1;X;1;x\n1;X;0;\n<0002>\n\xff;1\n</0002>\n", "bad;name.txt"
    )
    found = read_ac_run(path, pr_runs=RUNS).errors
    assert [fault.line for fault in found] == [0, 1, 2, 3, 4, 5, 5, 5, 5, 7]
