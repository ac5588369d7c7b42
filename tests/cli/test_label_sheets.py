"""Labels by people from a spreadsheet: a sheet is written, filled in, and read."""

from __future__ import annotations

import codecs
import csv
import gzip
import json
from pathlib import Path

import pytest

from tests.conftest import copy_example

IMPORT = ("labels", "import")


@pytest.fixture
def folder(tmp_path: Path, assay) -> Path:
    copy_example("slide", tmp_path / "slide")
    assert assay("judge", tmp_path / "slide").returncode == 0
    return tmp_path / "slide"


@pytest.fixture
def rows(folder: Path, assay) -> list[dict[str, str]]:
    sheet = ("--task", "entailment", "--sheet", "-o", folder / "sheet.csv")
    done = assay("labels", "export", folder, *sheet)
    assert done.stdout.startswith("5 units written"), done.stderr
    return read(folder / "sheet.csv")


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
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


def test_a_sheet_that_says_nothing_and_a_table_that_is_none_are_refused(folder, rows, assay):
    filled = [{**row, "entailed": "YES"} for row in rows]  # a column of one's own
    done = assay(*IMPORT, folder, write(folder / "sheet.csv", filled), "--by", "human:KIM")
    assert (done.returncode, "No row has a verdict" in done.stderr) == (2, True)
    assert "verdict.entailed" in done.stderr
    done = assay("labels", "export", folder, "-o", folder / "labels.csv")
    assert (done.returncode, "--sheet" in done.stderr) == (2, True)
    assert not (folder / "labels.csv").exists()


def test_units_that_nobody_has_labelled_can_be_filled_in(tmp_path, assay):
    folder = copy_example("slide", tmp_path / "slide")
    options = ("labels", "export", folder, "--task", "entailment", "--sheet", "-o")
    assert assay(*options, folder / "all.csv").stdout.startswith("5 units written")
    rows = read(folder / "all.csv")
    assert all(row["topic"] and row["unit.nugget"] for row in rows)
    rows[0] |= {"verdict.entailed": "NO", "unit.passage": "#NAME?"}  # as spreadsheets change it
    done = assay(*IMPORT, folder, write(folder / "kim.csv", rows), "--by", "human:KIM")
    assert "1 labels added" in done.stdout, done.stderr
    done = assay(*options, folder / "open.csv", "--units", "open")
    assert done.stdout.startswith("4 units written")
    assert rows[0]["unit_hash"] not in {row["unit_hash"] for row in read(folder / "open.csv")}


def test_what_was_drawn_can_be_filled_in_and_is_then_done(folder, assay):
    options = ("labels", "export", folder, "--task", "entailment", "--sheet", "-o")
    done = assay(*options, folder / "drawn.csv", "--units", "drawn")
    assert (done.returncode, "Nothing was drawn" in done.stderr) == (2, True)
    done = assay("draw", folder, "--n", "1", "--task", "r2c2.entailment")
    assert "More open" not in done.stdout
    assert assay(*options, folder / "drawn.csv", "--units", "drawn").returncode == 0
    rows = [row | {"verdict.entailed": "YES"} for row in read(folder / "drawn.csv")]
    assert len({row["topic"] for row in rows}) == 1
    done = assay(*IMPORT, folder, write(folder / "kim.csv", rows), "--by", "human:KIM")
    assert f"{len(rows)} labels added" in done.stdout, done.stderr
    done = assay(*options, folder / "drawn.csv", "--units", "drawn")
    assert done.stdout.startswith("0 units written")


def test_what_was_filled_in_is_a_persons_label_also_where_the_machine_says_the_same(
    folder, rows, assay
):
    for row, said in zip(rows, ("YES", "NO", "TRUE"), strict=False):
        row["verdict.entailed"] = said
    rows[0]["reason"] = "-2, says the passage"
    file = write(folder / "kim.csv", rows)
    done = assay(*IMPORT, folder, file, "--by", "human:KIM")
    assert "3 labels added, 0 were already known" in done.stdout, done.stderr
    found = {one["uid"]: one for one in by_people(assay, folder)}
    assert [one["verdict"]["entailed"] for one in found.values()] == [True, False, True]
    assert {one["labeller"]["name"] for one in found.values()} == {"human:KIM"}
    assert next(iter(found.values()))["reason"] == "-2, says the passage"
    again = assay(*IMPORT, folder, file, "--by", "human:KIM")
    assert "0 labels added, 3 were already known" in again.stdout


def test_two_people_fill_in_the_same_sheet_as_spreadsheets_save_it(folder, rows, assay):
    for who, said in (("KIM", "YES"), ("LEE", "ｎｏ")):  # with a Japanese input method
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
        (
            {"verdict.entailed": "PERHAPS"},
            "sheet.csv:2 'entailed' must be YES or NO, not “PERHAPS”.",
        ),
        ({"task": "", "verdict.entailed": "NO"}, "sheet.csv:2 There is no 'uid'"),
        (
            {"unit_hash": "1.2E+31", "verdict.entailed": "NO"},
            "sheet.csv:2 There is no 'unit' and no known 'unit_hash'",
        ),
    ],
)
def test_faults_name_the_line_and_nothing_is_kept(folder, rows, assay, change, says):
    rows[0] |= change
    rows[1]["verdict.entailed"] = "YES"
    done = assay(*IMPORT, folder, write(folder / "sheet.csv", rows), "--by", "human:KIM")
    assert done.returncode == 2
    assert says in done.stderr
    assert by_people(assay, folder) == []


def test_a_sheet_of_before_names_units_by_labels_and_is_as_blind(folder, rows, assay):
    labels = assay("labels", "export", folder, "--task", "entailment").stdout.splitlines()
    uids = {one["unit_hash"]: one["uid"] for one in map(json.loads, labels)}
    old = [
        {"uid": uids[row["unit_hash"]], "verdict.entailed": row["verdict.entailed"] or "NO"}
        for row in rows
    ]
    done = assay(*IMPORT, folder, write(folder / "old.csv", old), "--by", "human:KIM")
    assert "5 labels added" in done.stdout, done.stderr
    assert [one["overrules"] for one in by_people(assay, folder)] == [None] * 5
    old[0]["uid"] = "1.2E+31"
    done = assay(*IMPORT, folder, write(folder / "old.csv", old), "--by", "human:LEE")
    assert "old.csv:2 There is no label '1.2E+31'" in done.stderr


def test_other_tables_and_columns_that_are_there_twice_are_refused(folder, rows, assay):
    for header, says in (
        (
            "unit_hash,entailed",
            "no column uid or unit_hash, or no column whose name begins with 'verdict.'",
        ),
        (
            "unit_hash,verdict.entailed,verdict.entailed",
            "Columns are duplicated: verdict.entailed",
        ),
    ):
        (folder / "own.csv").write_text(
            f"{header}\n{rows[0]['unit_hash']},NO{',NO' * ('d,v' in header)}\n"
        )
        done = assay(*IMPORT, folder, folder / "own.csv", "--by", "human:KIM")
        assert done.returncode == 2
        assert says in done.stderr


def test_a_sheet_is_of_one_task(folder, assay):
    done = assay("labels", "export", folder, "--sheet", "-o", folder / "all.csv")
    assert done.returncode == 2
    assert "name it with --task" in done.stderr
    done = assay("labels", "export", folder, "--task", "support", "--sheet", "-o", folder / "s.csv")
    assert done.returncode == 2
    assert (
        "Tasks asked of people here: r2c2.answer, r2c2.dialogue_act and r2c2.entail" in done.stderr
    )


def test_a_list_that_is_no_json_is_told_with_one_to_go_by(folder, assay):
    sheet = ("--task", "answer", "--sheet", "-o", folder / "sheet.csv")  # other protocols have one
    assert assay("labels", "export", folder, *sheet).returncode == 0
    rows = [row | {"verdict.correct": "YES"} for row in read(folder / "sheet.csv")]
    good, wrong = '[{"nugget": 1, "helped": "YES"}]', "1, 2"
    for given, code in ((good, 0), ('[{"helped": "YES"}]', 2), (wrong, 2)):
        rows[0]["verdict.nuggets"] = given
        done = assay(*IMPORT, folder, write(folder / "kim.csv", rows), "--by", "human:KIM")
        assert done.returncode == code, done.stderr
        shape = """like this: [{"nugget": …, "helped": …}]."""
        assert code == 0 or shape in done.stderr


def test_a_sheet_that_somebody_filled_in_is_not_written_over(folder, rows, assay):
    again = ("labels", "export", folder, "--task", "entailment", "--sheet", "-o")
    assert assay(*again, folder / "sheet.csv").returncode == 0
    rows[0]["verdict.entailed"] = "NO"
    write(folder / "sheet.csv", rows)
    done = assay(*again, folder / "sheet.csv")
    assert (done.returncode, "with 1 row filled in" in done.stderr) == (2, True)
    assert assay("labels", "export", folder, "-o", folder / "sheet.csv").returncode == 2
    assert read(folder / "sheet.csv") == rows
    assert assay(*again, folder / "other.csv").returncode == 0


@pytest.mark.parametrize("spoilt", ["named badly", "wide", "of another encoding"])
def test_nor_is_one_that_would_not_be_imported(folder, rows, assay, spoilt):
    rows[0]["verdict.entailed"] = "NO"
    path = write(folder / "sheet.csv", [{"labeller": "KIM", **row} for row in rows[:1]])
    if spoilt == "wide":
        header, filled = path.read_text().split("\n", 1)
        path.write_text(f"{header}\nx,{filled}")
    elif spoilt == "of another encoding":  # as spreadsheets save "Unicode text"
        path.write_text(path.read_text(), encoding="utf-16")
    before = path.read_bytes()
    done = assay("labels", "export", folder, "--task", "entailment", "--sheet", "-o", path)
    assert (done.returncode, "import this file and delete it" in done.stderr) == (2, True)
    assert path.read_bytes() == before


def test_whose_a_sheet_is_has_to_be_said_and_how_is_told(folder, rows, assay):
    done = assay(
        *IMPORT, folder, write(folder / "sheet.csv", [rows[0] | {"verdict.entailed": "NO"}])
    )
    assert (done.returncode, "sheet.csv:2 There is no usable" in done.stderr) == (2, True)
    assert "Give --by human:NAME" in done.stderr


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
    rows = read(sheet)
    assert any("=HYPERLINK" in row["unit.passage"] for row in rows)
    assert not [cell for row in rows for cell in row.values() if cell.startswith("=")]


def test_a_row_whose_text_changed_meanwhile_is_taken_if_it_still_shows_what_was_asked(
    tmp_path, assay
):
    folder = copy_example("slide", tmp_path / "slide")
    sheet = ("--task", "entailment", "--sheet", "-o", folder / "sheet.tsv")
    assert assay("labels", "export", folder, *sheet).returncode == 0
    assert "\t" in (folder / "sheet.tsv").read_text().partition("\n")[0]
    with (folder / "sheet.tsv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    rows = [row | {"verdict.entailed": "YES"} for row in rows]
    old = rows[0]["unit.passage"]
    changed = [one for one in folder.rglob("*") if one.is_file() and old in _text(one)]
    for one in changed:
        one.write_text(_text(one).replace(old, f"{old} Or so."))
    assert changed
    wrong = [rows[0] | {"unit.passage": "#NAME?"}, *rows[1:]]
    done = assay(*IMPORT, folder, write(tmp_path / "w.csv", wrong), "--by", "human:KIM")
    assert (done.returncode, "w.csv:2 There is no 'unit'" in done.stderr) == (2, True)
    done = assay(*IMPORT, folder, write(tmp_path / "kim.csv", rows), "--by", "human:KIM")
    assert "5 labels added" in done.stdout, done.stderr
    assert {one["unit_hash"]: one["unit"]["passage"] for one in by_people(assay, folder)} == {
        row["unit_hash"]: row["unit.passage"] for row in rows
    }


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def test_a_hash_that_is_no_text_is_a_fault_of_its_line(folder, assay):
    line = {"task": "r2c2.entailment", "unit_hash": ["a"], "verdict": {}, "labeller": "human:KIM"}
    (folder / "own.jsonl").write_text(json.dumps(line) + "\n")
    done = assay(*IMPORT, folder, folder / "own.jsonl")
    assert done.returncode == 2
    assert "own.jsonl:1 There is no 'unit' and no known 'unit_hash'." in done.stderr


def test_which_units_is_asked_of_a_sheet_alone(folder, assay):
    done = assay("labels", "export", folder, "--units", "open", "-o", folder / "open.jsonl")
    assert (done.returncode, "add --sheet" in done.stderr) == (2, True)
    assert not (folder / "open.jsonl").exists()


def test_labels_of_a_sheet_are_by_people(folder, rows, assay):
    names = ("embedded", "ensemble:three", "openai:gpt-4.1", "KIM", "human:KIM")
    filled = [
        row | {"labeller": who, "verdict.entailed": "NO"}
        for row, who in zip(rows, names, strict=True)
    ]
    done = assay(*IMPORT, folder, write(folder / "sheet.csv", filled), "--by", "human:LEE")
    assert done.returncode == 2
    for line, who in enumerate(names[:-1], 2):
        assert f"sheet.csv:{line} A sheet is filled in by people, and “{who}” is n" in done.stderr
    assert "Write human:NAME, or remove the column and give --by human:NAME." in done.stderr
    assert by_people(assay, folder) == []
    filled = [row | {"labeller": "human:KIM"} for row in filled]
    done = assay(*IMPORT, folder, write(folder / "sheet.csv", filled))
    assert "5 labels added" in done.stdout, done.stderr


def test_what_is_exported_is_called_as_it_is_and_packed_sheets_are_read(folder, rows, assay):
    for options, name in (
        (("--task", "entailment", "--sheet"), "sheet.csv.gz"),
        ((), "labels.jsonl.bz2"),
    ):
        done = assay("labels", "export", folder, *options, "-o", folder / name)
        assert done.returncode == 2
        assert f"output is not compressed. Name it {Path(name).stem}." in done.stderr
        assert not (folder / name).exists()
    filled = [row | {"verdict.entailed": "NO"} for row in rows]
    plain = write(folder / "kim.csv", filled)
    (folder / "kim.csv.gz").write_bytes(gzip.compress(plain.read_bytes()))
    done = assay(*IMPORT, folder, folder / "kim.csv.gz", "--by", "human:KIM")
    assert "5 labels added" in done.stdout, done.stderr


def test_a_sheet_opens_with_its_letters_in_spreadsheets_and_with_semicolons_where_asked(
    folder, rows, assay
):
    assert (folder / "sheet.csv").read_bytes().startswith(codecs.BOM_UTF8 + b"task,unit_hash,")
    sheet = folder / "french.csv"
    asked = ("labels", "export", folder, "--semicolons", "-o")
    refused = assay(*asked, folder / "labels.jsonl")
    assert (refused.returncode, "--semicolons only works with --sheet" in refused.stderr) == (
        2,
        True,
    )
    assert assay(*asked, sheet, "--task", "entailment", "--sheet").returncode == 0
    with sheet.open(newline="", encoding="utf-8-sig") as file:
        found = list(csv.DictReader(file, delimiter=";"))
    assert found == rows
    write(sheet, [{**row, "verdict.entailed": "yes"} for row in found], delimiter=";")
    done = assay(*IMPORT, folder, sheet, "--by", "human:ZOÉ")
    assert (done.returncode, "separated" in done.stderr) == (0, False), done.stderr
