"""``assay confidence`` on real confidences of LLMs and on the spec's worked example."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

WORKED = list(zip([90, 80, 60, 30, 10, 100, 50, 0], [1, 0, 1, 0, 1, 1, 0, 0], strict=True))


def write(path: Path, rows) -> Path:
    path.write_text("run,topic,confidence,correct\n" + "".join(",".join(r) + "\n" for r in rows))
    return path


@pytest.fixture
def worked(tmp_path: Path) -> Path:
    rows = [("A", str(i), str(p), str(c)) for i, (p, c) in enumerate(WORKED)]
    return write(tmp_path / "c.csv", rows)


def table(text: str) -> dict[tuple[str, str, str], str]:
    return {
        (r["run"], r["topic"], r["measure"]): r["value"] for r in csv.DictReader(io.StringIO(text))
    }


def test_the_specs_worked_example(worked, assay):
    done = assay("confidence", worked, "--csv")
    assert done.returncode == 0, done.stderr
    got = table(done.stdout)
    golden = {
        "R_O": 0.6, "R_U": 0.65, "HMR": 0.624, "Brier": 0.245, "KS": 0.1125, "ECE": 0.375,
        "MCE": 0.8, "Accuracy": 0.5,
    }  # fmt: skip
    for measure, value in golden.items():
        assert float(got["A", "all", measure]) == pytest.approx(value, abs=1e-9), measure
    five = table(assay("confidence", worked, "--csv", "--bins", "5").stdout)
    assert float(five["A", "all", "ECE"]) == pytest.approx(0.275)
    left = table(assay("confidence", worked, "--csv", "--bins", "5", "--left-closed").stdout)
    assert float(left["A", "all", "ECE"]) == pytest.approx(0.35)


def test_published_brier_scores_and_aurocs_of_real_confidences(shared_data, tmp_path, assay):
    folder = shared_data / "data" / "confidence"
    with (folder / "gastro.csv").open() as file:
        answers = list(csv.DictReader(file))
    with (folder / "published.csv").open() as file:
        published = {row["Model"]: row for row in csv.DictReader(file)}
    rows = [
        (
            run,
            str(topic),
            # stated from 0 to 10; an empty cell is a missing confidence
            str(float(row[f"{run}_confidence"]) * 10) if row[f"{run}_confidence"] else "",
            row[f"{run}_correctness"],
        )
        for run in published
        for topic, row in enumerate(answers, start=1)
    ]
    done = assay("confidence", write(tmp_path / "g.csv", rows), "--json", "--topics", "answered")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    got = {(s["run"], s["measure"]): s["value"] for s in document["scores"]}
    assert len(published) == 18
    for run, row in published.items():
        assert document["runs"][run]["scored"] == int(float(row["N Samples"])), run
        assert got[run, "Brier"] == pytest.approx(float(row["Brier Score"]), abs=5e-7), run
        assert got[run, "AUROC"] == pytest.approx(float(row["ROC_AUC"]), abs=5e-7), run


def test_undefined_values_are_empty_and_missing_rows_counted(tmp_path, assay):
    rows = [("A", "1", "70", "1"), ("A", "2", "", "1"), ("B", "1", "", "0")]
    file = write(tmp_path / "c.csv", rows)
    got = table(assay("confidence", file, "--csv", "--topics", "answered").stdout)
    assert got["A", "all", "AUROC"] == ""
    assert got["B", "all", "HMR"] == ""
    document = json.loads(assay("confidence", file, "--json", "--topics", "answered").stdout)
    why = {(s["run"], s["measure"]): s.get("reason") for s in document["scores"]}
    assert why["A", "AUROC"] == "all answers are right"
    assert why["A", "HMR"] is None
    assert why["B", "HMR"] == "no answer has both a confidence and a correctness"
    said = "is undefined: all answers are right (A AUROC)."
    assert f"– {said}" in assay("confidence", file, "--topics", "answered").stdout
    noted = assay("confidence", file, "--topics", "answered", "--csv").stderr
    assert f"Note: Empty {said}" in noted
    assert "a correctness (B HMR, B R_O, " in noted
    assert document["runs"]["A"] == {"scored": 1, "missing": 1, "left_out": 0}
    assert "must be 'all' or 'answered'" in assay("confidence", file, "--topics", "qrels").stderr
    assert document["runs"]["B"] == {"scored": 0, "missing": 1, "left_out": 0}


def test_what_is_missing_makes_ranges(tmp_path, assay):
    rows = [("A", "1", "90", "1"), ("A", "2", "80", "0"), ("A", "3", "", "1")]
    rows += [("B", "1", "90", "1"), ("B", "2", "70", ""), ("C", "1", "100", "1")]
    done = assay("confidence", write(tmp_path / "c.csv", rows), "--csv", "--per-topic")
    ends = {
        (row["run"], row["topic"], row["measure"]): (row["value"], row["floor"], row["ceiling"])
        for row in csv.DictReader(done.stdout.splitlines())
    }

    def between(*key):
        value, floor, ceiling = ends[key]
        assert value == ""
        return pytest.approx((float(floor), float(ceiling)))

    assert between("A", "all", "R_U") == (0.45, 0.95)
    assert between("A", "all", "Brier") == ((0.01 + 0.64 + 1) / 3, (0.01 + 0.64) / 3)
    assert ends["A", "all", "Accuracy"][0] == str(2 / 3)
    assert between("B", "2", "Brier") == (0.49, 0.09)
    assert between("B", "all", "Accuracy") == (1 / 3, 2 / 3)
    # One answer of three, right and sure of it: what is left out may not make it the best.
    assert between("C", "all", "HMR") == (0.0, 1.0)
    assert between("C", "all", "R_U") == (1 / 3, 1.0)


def test_topics_that_a_run_is_silent_on(tmp_path, assay):
    rows = [("A", "1", "70", "1"), ("A", "2", "40", "0"), ("B", "1", "70", "1")]
    file = write(tmp_path / "c.csv", rows)
    assert float(table(assay("confidence", file, "--csv").stdout)["B", "all", "Accuracy"]) == 0.5
    answered = table(assay("confidence", file, "--csv", "--topics", "answered").stdout)
    assert float(answered["B", "all", "Accuracy"]) == 1


def test_single_topics_on_demand(worked, assay):
    got = table(assay("confidence", worked, "--csv", "--per-topic").stdout)
    assert float(got["A", "1", "Brier"]) == pytest.approx(0.64)


def test_the_plot_has_the_bins_of_the_table(tmp_path, assay):
    drawn = {}
    for name, stated in (("inside", ("45", "75")), ("on bounds", ("40", "70"))):
        rows = [("A", "1", stated[0], "0"), ("A", "2", stated[1], "1")]
        file = write(tmp_path / "c.csv", rows)
        for option in ((), ("--left-closed",)):
            plot = tmp_path / "p.svg"
            done = assay("confidence", file, "--bins", "10", "--plot", plot, *option)
            assert done.returncode == 0, done.stderr
            drawn[name, option] = plot.read_bytes()
    assert drawn["inside", ()] == drawn["inside", ("--left-closed",)]
    assert drawn["on bounds", ()] != drawn["on bounds", ("--left-closed",)]


def test_faults_are_all_listed(tmp_path, assay):
    file = write(tmp_path / "c.csv", [("A", "1", "170", "1"), ("A", "2", "x", "perhaps")])
    done = assay("confidence", file)
    assert done.returncode == 2
    assert "c.csv:2" in done.stderr
    assert "c.csv:3" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_narrow_screen_cuts_no_number(assay, tmp_path):
    lines = ["run,topic,confidence,correct", "A-RUN-OF-A-LONG-NAME,1,90,1", "B,1,70,0", "B,2,,1"]
    (tmp_path / "c.csv").write_text("\n".join(lines) + "\n")
    for width in ("80", "160"):
        shown = assay("confidence", tmp_path / "c.csv", env={"COLUMNS": width}).stdout
        assert "…" not in shown
        assert "0.3000" in shown
        tables = [line for line in shown.splitlines() if line.split()[:2] == ["#", "run"]]
        assert (len(tables) > 1) == (width == "80")


def test_a_topic_may_be_called_as_means_are(tmp_path, assay):
    table = tmp_path / "c.csv"
    table.write_text("run,topic,confidence,correct\na,t1,90,1\na,t2,30,0\na,all,60,0\n")
    shown = [assay("confidence", table, *more).stdout for more in ((), ("--per-topic",))]
    assert shown[0] == shown[1]


def test_more_bins_than_answers_fill_are_refused(worked, assay):
    done = assay("confidence", worked, "--bins", "1000000000")
    assert done.returncode == 2
    assert "1<=x<=1000" in done.stderr
