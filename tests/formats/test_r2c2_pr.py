"""PR runs: faults of every kind, with line, question and cure."""

from __future__ import annotations

import gzip
import unicodedata

import pytest

from assay.formats.r2c2_pr import read_pr_run
from assay.model.rag import PassageKey, Question

ASKED = [Question("0001", "Who?"), Question("0002", "Where?"), Question("0003", "When?")]


def one_fault(path, **options):
    (fault,) = read_pr_run(path, **options).faults
    return fault


def test_worked_example(example_pr):
    parsed = read_pr_run(example_pr, questions=[Question("0001", "Name the actor")])
    assert parsed.faults == ()
    run = parsed.require()
    assert run.name == "WASEDA-PR-1"
    passages = run.passages["0001"]
    assert [passage.key for passage in passages] == [
        PassageKey("WASEDA-PR-1", rank) for rank in range(1, 6)
    ]
    assert passages[1].text == "Stars Frank Sinatra Laurence Harvey Janet Leigh"
    assert passages[4].doc == "https://www.imdb.com/name/nm1107001/"
    assert passages[4].line == 5


def test_spaces_after_semicolons_are_allowed(write):
    parsed = read_pr_run(write("0001;1; doc ; Sam; Wilson - Captain; America \n"))
    assert parsed.faults == ()
    (passage,) = parsed.require().passages["0001"]
    assert (passage.doc, passage.text) == ("doc", "Sam; Wilson - Captain; America")


@pytest.mark.parametrize(
    ("rank", "severity", "cure"),
    [
        ("0", "error", "start at 1"),
        ("-1", "error", "start at 1"),
        ("21", "error", "at most 20"),
        ("x", "error", "integer from 1 to 20"),
        ("1.0", "error", "without decimals: 1."),
        ("+1", "error", "without a sign: 1."),
        ("１", "error", "ASCII digits: 1."),
        ("", "error", "integer from 1 to 20"),
        ("9" * 5000, "error", "integer from 1 to 20"),
        (" 1 ", "warning", "Write 1."),
        ("01", "warning", "Write 1."),
    ],
)
def test_ranks(write, rank, severity, cure):
    fault = one_fault(write(f"\n0001;{rank};d;t\n"))
    assert (fault.line, fault.topic, fault.severity) == (2, "0001", severity)
    assert cure in fault.cure


def test_duplicate_rank_keeps_the_first(write):
    path = write("1;1;d;first\n1;2;d;x\n1;1;d;second\n")
    fault = one_fault(path)
    assert (fault.line, fault.topic, fault.severity) == (3, "1", "error")
    assert "line 1" in fault.why
    assert "Ties" in fault.cure
    assert [p.text for p in read_pr_run(path).value.passages["1"]] == ["first", "x"]


def test_out_of_order_is_sorted_with_one_warning(write):
    path = write("1;3;d;c\n1;1;d;a\n1;2;d;b\n")
    fault = one_fault(path)
    assert (fault.line, fault.severity) == (2, "warning")
    assert "after rank 3" in fault.why
    assert [p.key.rank for p in read_pr_run(path).require().passages["1"]] == [1, 2, 3]


def test_gaps(write):
    fault = one_fault(write("1;2;d;a\n1;5;d;b\n"))
    assert (fault.line, fault.topic, fault.severity) == (1, "1", "warning")
    assert "rank 1, 3, 4" in fault.why


def test_more_than_twenty_lines(write):
    text = "".join(f"1;{rank};d;t{rank}\n" for rank in range(1, 24))
    found = read_pr_run(write(text)).errors
    assert [fault.line for fault in found] == [21, 21, 22, 23]
    assert "More than 20" in found[0].why


def test_too_few_semicolons(write):
    path = write(
        "1;1;d;a passage that\ngoes on here\n1\t2\td\tx\n1 Q0 d 1 0.5 run\n1;2;d\n", "x.txt"
    )
    found = read_pr_run(path).errors
    assert [fault.line for fault in found] == [2, 3, 4, 5]
    assert "rest of line 1" in found[0].cure
    assert "not with tabs" in found[1].cure
    assert "trec-run" in found[2].cure
    assert "2 semicolons, not three" in found[3].why


def test_empty_fields(write):
    found = read_pr_run(write("1;1;;t\n1;2;d; \n;3;d;t\n")).errors
    assert [(f.line, f.topic) for f in found] == [(1, "1"), (2, "1"), (3, None)]
    assert "DocID" in found[0].why
    assert "passage is empty" in found[1].why
    assert "question id" in found[2].why


def test_an_id_in_another_width_is_reported_with_the_known_one(write):
    fault = read_pr_run(write("問1;1;d;t\n"), questions=[Question("問１", "?")]).errors[0]
    assert fault.cure == "Write 問１: only case or width differ."


def test_unknown_questions_and_missing_ones(write):
    path = write("1;1;d;t\n1;2;d;u\n0002;1;d;t\n000Z;1;d;t\n")
    missing, unpadded, unknown = read_pr_run(path, questions=ASKED).faults
    assert (unpadded.line, unpadded.topic, unpadded.severity) == (1, "1", "error")
    assert "0001" in unpadded.cure
    assert "leading zeros" in unpadded.cure
    assert (unknown.line, unknown.topic) == (4, "000Z")
    assert "meant?" in unknown.cure
    assert (missing.line, missing.severity) == (0, "warning")
    assert "0001, 0003" in missing.why


def test_question_id_forms(write):
    asked = [Question("é1", "Who?")]
    path = write(unicodedata.normalize("NFD", " é1 ;1;d;t\n"))
    assert read_pr_run(path, questions=asked).faults == ()


def test_passage_length(write):
    path = write(f"1;1;d;{'é' * 200}\n1;2;d;{'x ' * 100}y\n")
    assert read_pr_run(path).faults == ()
    fault = one_fault(path, max_passage_chars=200)
    assert (fault.line, fault.severity) == (2, "error")
    assert "201 characters" in fault.why


@pytest.mark.parametrize("char", ["\x0b", "\x0c", "\u2028", "\u2029", "\x85", "\x1e", "\r"])
def test_hidden_line_breaks(write, char):
    fault = one_fault(write(f"1;1;d;a{char}b\n"))
    assert (fault.line, fault.topic, fault.severity) == (1, "1", "error")
    assert f"U+{ord(char):04X}" in fault.why


def test_scattered_question(write):
    fault = one_fault(write("1;1;d;a\n2;1;d;b\n1;2;d;c\n"))
    assert (fault.line, fault.topic, fault.severity) == (3, "1", "warning")
    assert "line 1" in fault.why


def test_repeated_passage(write):
    fault = one_fault(write("1;1;d;a\n1;2;d;a\n1;3;e;a\n2;1;d;a\n"))
    assert (fault.line, fault.severity) == (2, "warning")


@pytest.mark.parametrize("content", ["", "\n\n \r\n"])
def test_empty_file(write, content):
    assert "no passage" in one_fault(write(content)).why


@pytest.mark.parametrize(
    ("name", "severity"),
    [
        ("a;b.txt", "error"),
        ("a\\b.txt", "error"),
        ("a\x1bb.txt", "error"),
        ("a b.txt", "warning"),
        (" a.txt", "error"),
    ],
)
def test_bad_run_names(write, name, severity):
    fault = one_fault(write("1;1;d;t\n", name))
    assert (fault.line, fault.severity) == (0, severity)
    assert "Rename" in fault.cure
    assert "\x1b" not in str(fault)


def test_a_locale_that_garbles_names_is_reported_with_a_cure(write, monkeypatch):
    monkeypatch.setattr("sys.getfilesystemencoding", lambda: "iso8859-1")
    fault = one_fault(write("1;1;d;t\n", "KÃ\x96LN.txt"))
    assert (
        fault.cure == "Names of files are read as iso8859-1. If they are UTF-8, set PYTHONUTF8=1."
    )


def test_compressed_run(write):
    path = write(gzip.compress(b"\xef\xbb\xbf1;1;d;t\r\n1;2;d;u"), "W-1.txt.gz")
    run = read_pr_run(path).require()
    assert run.name == "W-1"
    assert [p.text for p in run.passages["1"]] == ["t", "u"]


CORPUS = {"d1": "The café  opened\nin 1962. Later\tit closed.", "d2": "Other."}


@pytest.mark.parametrize("corpus", [CORPUS, CORPUS.get])
def test_corpus(write, corpus):
    decomposed = unicodedata.normalize("NFD", "café")
    path = write(
        f"1;1;d1;The {decomposed} opened in 1962.\n"
        "1;2;d1;1962. Later it\n"
        "1;3;d1;the CAFÉ opened\n"
        "1;4;d1;The café … closed.\n"
        "1;5;d1;never written\n"
        "1;6;d9;The\n"
        "1;7;d2.json.gz;Other.\n"
    )
    found = read_pr_run(path, corpus=corpus).errors
    assert [fault.line for fault in found] == [3, 4, 5, 6, 7]
    assert "case" in found[0].cure
    assert "dots" in found[1].cure
    assert "consecutive part" in found[2].why
    assert "no document" in found[3].why
    assert "Write d2, without the ending" in found[4].cure


def test_empty_corpus_is_still_a_corpus(write):
    assert "no document" in one_fault(write("1;1;d;t\n"), corpus={}).why


def test_file_text_in_messages_is_escaped(write):
    path = write("1;\x1b]0;pwned\x07;d;t\n")
    assert all("\x1b" not in str(fault) for fault in read_pr_run(path).faults)
