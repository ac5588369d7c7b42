"""``assay diff``: what lies between two evaluations."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.api.diff_tables import diff_remarks, diff_tables, summary
from assay.api.diffing import Difference, Paired
from assay.formats.out_folders import Outcome
from assay.model.paths import file_sha256
from tests.cli.test_gate import folder, run
from tests.conftest import Assay

__all__ = ["folder"]  # a fixture
ANSWERS = ("-m", "Accuracy", "-m", "HMR")


@pytest.fixture
def two(folder: Path, tmp_path: Path, assay: Assay) -> tuple[Path, Path]:
    """An evaluation, and the same with an answer less that is right and one more."""
    assay("evaluate", folder)
    other = Path(shutil.copytree(folder, tmp_path / "other"))
    run(other, 8)
    text = (other / "ac" / "ACX.txt").read_text()
    (other / "ac" / "ACX.txt").write_text(text.replace("wrong 11;90", "right 11;90"))
    toml = other / "assay.toml"
    toml.write_text(toml.read_text() + "[settings]\nbins = 5\n")
    done = assay("evaluate", other)
    assert done.returncode == 0, done.stderr
    return folder, other


def write(file: Path, text: str) -> None:
    """Write a file of an ``out/`` as its evaluation would have."""
    file.write_text(text)
    manifest = file.parent / "manifest.json"
    document = json.loads(manifest.read_bytes())
    document["outputs"][file.name] = file_sha256(file)
    manifest.write_text(json.dumps(document))


def test_what_scores_moved_comes_first_then_flips_with_their_cause(
    two: tuple[Path, Path], assay: Assay, tmp_path: Path
):
    page = tmp_path / "diff.html"
    done = assay("diff", *two, *ANSWERS, "--html", page)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1 of 2 scores changed, none by more than chance explains")
    assert "1 score with topics that changed, but the same value." in done.stdout  # HMR
    said = ("Scores that moved", "What changed", "Flips: 3 values changed, 1 to 1, 2 to 0")
    places = [done.stdout.index(one) for one in said]
    assert places == sorted(places)
    assert "settings bins" in done.stdout
    assert "inputs ac/ACX.txt" in done.stdout
    html = page.read_text()
    assert "none by more than chance" in html
    assert "Question 9?" in html
    assert "wrong 9" in html
    assert "http" not in html.replace("http-equiv", "")


def test_other_topics_are_told_before_scores_that_moved(folder: Path, tmp_path: Path, assay: Assay):
    assay("evaluate", folder)
    other = Path(shutil.copytree(folder, tmp_path / "other"))
    for file in ("questions.tsv", "pr/PRX.txt", "ac/ACX.txt"):
        text = (other / file).read_text()
        (other / file).write_text(text.replace("q11", "r").replace("q10", "new"))
    assert assay("evaluate", other).returncode == 0
    done = assay("diff", folder, other, "-m", "Accuracy")
    told = " ".join(done.stdout.split())
    assert told.startswith(
        "Topics differ: 2 topics only in the first (q10, q11), 2 topics only in the second "
        "(new, r). Scores are over all topics of each evaluation, differences and tests over "
        "those in both."
    ), told
    document = json.loads(assay("diff", folder, other, "--json").stdout)
    assert document["topics_of_one_alone"] == {"first": ["q10", "q11"], "second": ["new", "r"]}
    assert "Topics differ" not in assay("diff", folder, folder).stdout


def test_of_many_flips_the_first_are_shown_and_it_is_said_how_to_have_all(
    two: tuple[Path, Path], assay: Assay
):
    second = two[1] / "out" / "per_topic.csv"
    first = two[0] / "out" / "per_topic.csv"
    for path, value in ((first, 0), (second, 1)):
        rows = path.read_text()
        write(path, rows + "".join(f"ACX,more{n},Accuracy,{value}\n" for n in range(40)))
    shown = assay("diff", *two, "-m", "Accuracy").stdout
    assert "Flips: 43 values changed, 41 to 1, 2 to 0 (20 of 43 shown; --all shows all)" in shown
    assert "1 by more than chance explains: Accuracy of ACX +0.75" in shown
    assert shown.count("more") < 22
    assert assay("diff", *two, "-m", "Accuracy", "--all").stdout.count("more") > 40


def test_runs_that_changed_places_are_named(two: tuple[Path, Path], assay: Assay):
    by_run = (0.1, 0.2, 0.3, 0.1 + 0.2), (0.25, 0.2, 0.1 + 0.2, 0.3)  # C and D are equal in both
    for path, values in zip(two, by_run, strict=True):
        file = path / "out" / "scores.csv"
        more = zip("ABCD", values, strict=True)
        write(file, file.read_text() + "".join(f"{r},M,{v},,,1,0,{v},{v}\n" for r, v in more))
    shown = assay("diff", *two, "-m", "M").stdout
    assert "By M 1 of 5 pairs of runs changed places: now A better than B." in shown
    (order,) = json.loads(assay("diff", *two, "-m", "M", "--json").stdout)["orders"]
    assert order == {"measure": "M", "pairs": 5, "turned": [["A", "B"]]}


def test_by_what_is_better_low_the_run_with_less_is_named_as_the_better_one(
    two: tuple[Path, Path], assay: Assay
):
    for path, values in zip(two, ((0.1, 0.2), (0.25, 0.2)), strict=True):
        file = path / "out" / "scores.csv"
        more = zip("AB", values, strict=True)
        write(file, file.read_text() + "".join(f"{r},MCE,{v},,,1,0,{v},{v}\n" for r, v in more))
    found = json.loads(assay("diff", *two, "-m", "MCE", "--json").stdout)
    assert found["orders"][0]["turned"] == [["B", "A"]]


def paired(run: str, first: float | None, second: float | None, **more: Any) -> Paired:
    found = Paired(run=run, measure="M", first=first, second=second, n=9, open=0, same=False)
    return replace(found, **more)


def said(*tests: Paired) -> str:
    nothing = Outcome(Path(), {}, {}, {})
    found = Difference(nothing, nothing, (), (), tests, {}, ())
    titles = (table.title for table in diff_tables(found))
    return "\n".join((*summary(found), *diff_remarks(found), *titles))


def test_without_a_test_nothing_is_said_of_chance():
    shown = said(paired("A", 0.1, 0.2), paired("B", 0.1, 0.3))
    assert shown.startswith("2 of 2 scores changed, 2 cannot be tested.\n")
    assert "none by more" not in shown


def test_topics_that_trade_places_move_no_score():
    shown = said(paired("A", 2 / 3, 2 / 3, difference=0.0, p=1.0, p_holm=1.0))
    assert shown.startswith(
        "0 of 1 score changed.\n1 score with topics that changed, but the same value.\n"
    )
    assert "Scores that moved" not in shown
    assert "Scores that differ in other ways" in shown
    # Another order of the same terms is no other value.
    assert said(paired("A", 0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1)).startswith("0 of 1 score changed.")


def test_what_became_known_or_open_is_told_apart_from_what_moved():
    shown = said(paired("A", None, 0.5), paired("B", 0.5, None), paired("C", None, None))
    assert shown.startswith(
        "0 of 3 scores changed.\n"
        "1 score known now, a range or undefined before.\n"
        "1 score known before, a range or undefined now.\n"
        "1 score unknown in both, with different topic values or ranges.\n"
    )
    assert "No value" not in shown


def test_those_that_differ_most_are_named_first_up_or_down():
    real = {"p": 0.001, "p_holm": 0.002}
    shown = said(
        paired("A", 0.1, 0.2, difference=0.1, **real),
        paired("B", 0.9, 0.5, difference=-0.4, **real),
    )
    assert "changed, 2 by more than chance explains: M of B -0.400, M of A +0.100." in shown


def test_the_document_has_all_of_it(two: tuple[Path, Path], assay: Assay):
    found = json.loads(assay("diff", *two, *ANSWERS, "--json").stdout)
    flips = [(one["topic"], one["first"], one["second"], one["why"]) for one in found["flips"]]
    assert sorted(flips) == [
        ("q11", 0.0, 1.0, "texts"), ("q8", 1.0, 0.0, "texts"), ("q9", 1.0, 0.0, "texts")
    ]  # fmt: skip
    (accuracy,) = (one for one in found["tests"]
                   if (one["run"], one["measure"]) == ("ACX", "Accuracy"))  # fmt: skip
    assert accuracy["difference"] == pytest.approx(-1 / 12)
    assert accuracy["p"] == 1.0  # two fell, one rose: all eight flips are at least as far
    assert (accuracy["n"], accuracy["flips"]) == (12, 3)
    hmr = next(one for one in found["tests"] if one["measure"] == "HMR")
    assert hmr["p"] is not None
    assert {"what": "settings bins", "first": "10", "second": "5"} in found["changed"]


def test_the_same_texts_with_other_labels_are_told_apart(
    folder: Path, tmp_path: Path, assay: Assay
):
    assay("evaluate", folder)
    other = Path(shutil.copytree(folder, tmp_path / "other"))
    unit = {"question": "Question 3?", "answer": "right 3", "gold": ["gold 3"],
            "nuggets": ["Claim 3."]}  # fmt: skip
    label = {"task": "r2c2.answer", "unit": unit, "labeller": "human:KIM",
             "verdict": {"correct": False, "nuggets": []}}  # fmt: skip
    (tmp_path / "labels.jsonl").write_text(json.dumps(label) + "\n")
    done = assay("labels", "import", other, tmp_path / "labels.jsonl")
    assert done.returncode == 0, done.stderr
    assay("score", other)
    found = json.loads(assay("diff", folder / "out", other / "out", *ANSWERS, "--json").stdout)
    (flip,) = found["flips"]
    assert (flip["topic"], flip["why"]) == ("q3", "labels")
    assert found["relabelled"]["r2c2.answer"] == {"labelled_in_both": 12, "another_verdict": 1}


def test_what_is_no_evaluation_is_said(tmp_path: Path, folder: Path, assay: Assay):
    done = assay("diff", tmp_path, folder)
    assert done.returncode == 2
    assert "assay score" in done.stderr
    assay("evaluate", folder)
    (folder / "out" / "scores.csv").write_text("a,b\n1,2\n")
    done = assay("diff", folder, folder)
    assert (done.returncode, "not the file that manifest.json names" in done.stderr) == (2, True)
    write(folder / "out" / "scores.csv", "a,b\n1,2\n")
    done = assay("diff", folder, folder)
    assert (done.returncode, "cannot be read" in done.stderr) == (2, True)


def test_an_out_folder_that_was_tampered_with_is_said(two: tuple[Path, Path], assay: Assay):
    out = two[1] / "out"
    write(out / "labels.jsonl", '[1]\n{"labeller": 5, "used_at": 5, "unit": "x"}\n')
    assert assay("diff", *two).returncode == 0
    rows = (out / "per_topic.csv").read_text()
    for text, said in (("ACX,q1,Accuracy,-inf\n", "not finite"), (",q1,M,1\n", "no run"),
                       ("ACX,q1,M,\u202ex\n", "\\u202e")):  # fmt: skip
        write(out / "per_topic.csv", rows + text)
        done = assay("diff", *two)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
