"""Cells that are formulas or control sequences are made harmless, and read back unchanged."""

import csv
import io
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.cli.common import print_csv, print_json
from assay.model.csv_cells import csv_cells, from_csv_cell
from assay.protocols.output import csv_bytes

HOSTILE = ["=1+1", "+A1", "-run", "@SUM(A1)", "\tx", "'=x", "''-y", "＝1+1", "-", "=HYPERLINK(1)"]


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_is_a_formula(text):
    (cell,) = csv_cells([text])
    assert cell == f"'{text}"
    assert from_csv_cell(cell) == text


@pytest.mark.parametrize("value", ["-1.5", "+3", "-1e-9", "1", "RUN-1", "a=b", "'tis", "", "—"])
def test_numbers_and_names_are_unchanged(value):
    assert csv_cells([value]) == [value]
    assert from_csv_cell(value) == value


@given(st.text(alphabet=st.sampled_from("'=+-@ab1.＝\t "), max_size=6))
def test_cells_round_trip(text):
    assert from_csv_cell(str(*csv_cells([text]))) == text


def test_numbers_keep_their_precision():
    assert csv_bytes(["a", "b", "c"], [[0.1 + 0.2, None, 3]]) == b"a,b,c\n0.30000000000000004,,3\n"


def test_run_names_survive_tables(assay, tmp_path):
    """A run named like a formula keeps its name from ``measure --csv`` to ``compare``."""
    (tmp_path / "qrels.txt").write_text("".join(f"t{n} 0 d{n} 1\n" for n in range(5)))
    for number, name in enumerate(("=1+1", "-b", "@c")):
        lines = [f"t{n} Q0 d{n if (n + number) % 3 else 'x'} 1 1.0 {name}\n" for n in range(5)]
        (tmp_path / f"run{number}").write_text("".join(lines))
    runs = sorted(tmp_path.glob("run*"))
    command = ["measure", tmp_path / "qrels.txt", *runs, "-m", "P@1", "--per-topic", "--csv"]
    done = assay(*command)
    assert done.returncode == 0, done.stderr
    cells = {cell for row in csv.reader(done.stdout.splitlines()) for cell in row}
    assert {"'=1+1", "'-b", "'@c"} <= cells
    (tmp_path / "scores.csv").write_text(done.stdout)
    done = assay("compare", tmp_path / "scores.csv", "-m", "P@1", "--json")
    assert done.returncode == 0, done.stderr
    assert '"=1+1"' in done.stdout
    assert '"-b"' in done.stdout


def test_messages_escape_control_sequences(assay, tmp_path):
    (tmp_path / "a\x1b[31m\u202eb").mkdir()
    done = assay("evaluate", tmp_path / "a\x1b[31m\u202eb")
    assert done.returncode == 2
    assert "\x1b" not in done.stderr
    assert "\u202e" not in done.stderr


def test_json_for_a_terminal_is_the_same_document(capsys):
    document = {"a\u202eb": ["\x1b[31m", "\x9b", "é", 0.1]}
    print_json(document)
    said = capsys.readouterr().out
    assert json.loads(said) == document
    assert not set(said) & {"\x1b", "\x9b", "\u202e"}
    assert "é" in said


def test_output_data_is_utf_8_even_if_the_terminal_is_not(monkeypatch):
    """A pipe on Windows has a regional encoding, which may lack 映 and break JSON with 😀."""
    out = io.TextIOWrapper(io.BytesIO(), "cp1252", newline="\r\n")
    monkeypatch.setattr(sys, "stdout", out)
    print_json({"run": "映😀"})
    print_csv(["run"], [["映😀"]])
    assert out.buffer.getvalue().decode() == '{\n  "run": "映😀"\n}\nrun\n映😀\n'
