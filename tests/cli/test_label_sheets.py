"""Labels by people from a spreadsheet: a sheet is written, filled in, and read."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from tests.conftest import ROOT

IMPORT = ("labels", "import")


@pytest.fixture
def folder(tmp_path: Path, assay) -> Path:
    ignore = shutil.ignore_patterns("out", "labels.sqlite*")
    shutil.copytree(ROOT / "examples" / "slide", tmp_path / "slide", ignore=ignore)
    assert assay("judge", tmp_path / "slide").returncode == 0
    return tmp_path / "slide"


@pytest.fixture
def rows(folder: Path, assay) -> list[dict[str, str]]:
    sheet = ("--task", "entailment", "--sheet", "-o", folder / "sheet.csv")
    done = assay("labels", "export", folder, *sheet)
    assert done.stdout.startswith("5 units written"), done.stderr
    with (folder / "sheet.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(path: Path, rows: list[dict[str, str]], **form: str) -> Path:
    with path.open("w", newline="", encoding=form.pop("encoding", "utf-8")) as file:
        writer = csv.DictWriter(file, list(rows[0]), **form)
        writer.writeheader()
        writer.writerows(rows)
    return path


def by_people(assay, folder: Path) -> list[dict]:
    lines = assay("labels", "export", folder).stdout.splitlines()
    return [one for one in map(json.loads, lines) if one["labeller"]["kind"] == "human"]


def test_a_sheet_shows_units_and_not_what_was_said(rows):
    assert [row["position"] for row in rows] == [f"nugget {n}" for n in range(1, 6)]
    assert all(row["unit.passage"] and row["unit.nugget"] for row in rows)
    assert {(row["verdict.entailed"], row["reason"]) for row in rows} == {("", "")}


def test_what_was_filled_in_is_a_persons_label_also_where_the_machine_says_the_same(
    folder, rows, assay
):
    for row, said in zip(rows, ("YES", "NO", "TRUE"), strict=False):
        row["verdict.entailed"] = said
    rows[0]["reason"] = "-2, says the passage"
    file = write(folder / "kim.csv", rows)
    done = assay(*IMPORT, folder, file, "--by", "human:KIM")
    assert "3 labels added, 0 were known" in done.stdout, done.stderr
    found = {one["uid"]: one for one in by_people(assay, folder)}
    assert [one["verdict"]["entailed"] for one in found.values()] == [True, False, True]
    assert {one["labeller"]["name"] for one in found.values()} == {"human:KIM"}
    assert next(iter(found.values()))["reason"] == "-2, says the passage"
    again = assay(*IMPORT, folder, file, "--by", "human:KIM")
    assert "0 labels added, 3 were known" in again.stdout


def test_two_people_fill_in_the_same_sheet_as_spreadsheets_save_it(folder, rows, assay):
    for who, said in (("KIM", "YES"), ("LEE", "NO")):
        for row in rows:
            row["verdict.entailed"] = said
        file = write(folder / f"{who}.csv", rows, delimiter=";", encoding="utf-8-sig")
        done = assay(*IMPORT, folder, file, "--by", f"human:{who}")
        assert "5 labels added" in done.stdout, done.stderr
    assert [one["labeller"]["name"] for one in by_people(assay, folder)] == (
        ["human:KIM"] * 5 + ["human:LEE"] * 5
    )


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"verdict.entailed": "PERHAPS"}, "sheet.csv:2 'entailed' must be YES or NO."),
        ({"uid": "1.2E+31", "verdict.entailed": "NO"}, "sheet.csv:2 There is no label '1.2E+31'"),
        ({"uid": "", "verdict.entailed": "NO"}, "sheet.csv:2 There is neither a 'uid'"),
    ],
)
def test_faults_name_the_line_and_nothing_is_kept(folder, rows, assay, change, says):
    rows[0] |= change
    rows[1]["verdict.entailed"] = "YES"
    done = assay(*IMPORT, folder, write(folder / "sheet.csv", rows), "--by", "human:KIM")
    assert done.returncode == 2
    assert says in done.stderr
    assert by_people(assay, folder) == []


def test_other_tables_and_columns_that_are_there_twice_are_refused(folder, rows, assay):
    for header, says in (
        ("uid,entailed", "no column uid, or none whose name begins with 'verdict.'"),
        ("uid,verdict.entailed,verdict.entailed", "Columns are there twice: verdict.entailed"),
    ):
        (folder / "own.csv").write_text(
            f"{header}\n{rows[0]['uid']},NO{',NO' * ('d,v' in header)}\n"
        )
        done = assay(*IMPORT, folder, folder / "own.csv", "--by", "human:KIM")
        assert done.returncode == 2
        assert says in done.stderr


def test_a_sheet_is_of_one_task(folder, assay):
    done = assay("labels", "export", folder, "--sheet", "-o", folder / "all.csv")
    assert done.returncode == 2
    assert "name it with --task" in done.stderr


def test_a_sheet_by_several_people_whose_texts_a_spreadsheet_changed(folder, rows, assay):
    filled = [
        {"labeller": f"human:{who}", **row, "unit.nugget": "#NAME?", "verdict.entailed": "NO"}
        for row, who in zip(rows, ("KIM", "LEE"), strict=False)
    ]
    done = assay(*IMPORT, folder, write(folder / "both.tsv", filled, delimiter="\t"))
    assert "2 labels added" in done.stdout, done.stderr
    assert [one["labeller"]["name"] for one in by_people(assay, folder)] == [
        "human:KIM", "human:LEE",
    ]  # fmt: skip


def test_what_a_run_wrote_is_no_formula_in_a_spreadsheet(folder, assay):
    (passages,) = (folder / "pr").glob("*.txt")
    text = passages.read_text()
    passages.write_text(text.replace("Stars Frank", "=HYPERLINK(0) Frank"))
    settings = folder / "assay.toml"
    settings.write_text(settings.read_text().replace("recorded:recorded.jsonl", "embedded"))
    assert assay("judge", folder).returncode == 0
    sheet = folder / "sheet.csv"
    assay("labels", "export", folder, "--task", "entailment", "--sheet", "-o", sheet)
    with sheet.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert any("=HYPERLINK" in row["unit.passage"] for row in rows)
    assert not [cell for row in rows for cell in row.values() if cell.startswith("=")]
