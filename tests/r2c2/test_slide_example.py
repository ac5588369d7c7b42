"""The worked example of the R2C2 slides, end to end through the command line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from assay.api.opened import Opened
from assay.formats.confidence import read_confidence

MACHINE = "out/machine"


def scores(folder: Path, out: str = "out") -> dict[tuple[str, str], dict[str, str]]:
    with (folder / out / "scores.csv").open() as file:
        return {(row["run"], row["measure"]): row for row in csv.DictReader(file)}


def value(folder: Path, run: str, measure: str, out: str = "out") -> float:
    return float(scores(folder, out)[run, measure]["value"])


def test_the_slides_marks_scores_and_qrels_come_out(slide, assay):
    done = assay("evaluate", slide)
    assert done.returncode == 0, done.stderr
    marked = (slide / "out" / "marked" / "SLIDE.txt").read_text().splitlines()
    assert [line.split(";")[0] for line in marked[2:-1]] == ["N1", "N2", "B3", "R4", "R5"]
    assert value(slide, "SLIDE", "Accuracy") == 1
    assert value(slide, "SLIDE", "NuggetPrecision") == pytest.approx(0.4)
    assert value(slide, "SLIDE", "R_O") == 1
    assert value(slide, "SLIDE", "R_U") == pytest.approx(0.9)
    assert value(slide, "SLIDE", "HMR") == pytest.approx(0.947368, abs=5e-7)
    assert (slide / "out" / "qrels.txt").read_text().splitlines() == [
        "0001 0 WASEDA-PR-1;1 0",
        "0001 0 WASEDA-PR-1;2 0",
        "0001 0 WASEDA-PR-1;3 0",
        "0001 0 WASEDA-PR-1;4 1",
        "0001 0 WASEDA-PR-1;5 1",
    ]
    golden = {"nDCG@20": 0.501266, "Q@20": 0.452381, "nERR@20": 0.28, "iRBU@20": 0.718046}
    for measure, expected in golden.items():
        assert value(slide, "WASEDA-PR-1", measure) == pytest.approx(expected, abs=5e-7), measure
    table = read_confidence(slide / "out" / "confidence.csv").require()
    assert [(row.run, row.topic, row.probability, row.correct) for row in table.rows] == [
        ("SLIDE", "0001", 0.9, True)
    ]
    assert "SLIDE" in done.stdout
    assert "WASEDA-PR-1" in done.stdout
    assert (slide / "out" / "report.html").exists()


def test_linear_measures_are_sums_of_their_labels(slide, assay):
    assert assay("evaluate", slide).returncode == 0
    opened = Opened.open(slide)
    sums = {}
    with opened.ledger(create=False) as ledger:
        part = opened.parts["r2c2"]
        book = part.book(ledger)
        for one in part.protocol.linear(part.inputs, part.settings, book):
            said = [(weight, r, book.find(one.task, r.unit).verdict) for _, r, weight in one.shares]
            sums[one.measure] = sum(weight * one.worth(r, verdict) for weight, r, verdict in said)
    assert sums == {"Accuracy": 1, "NuggetPrecision": pytest.approx(0.4)}


def test_a_second_run_asks_nothing_and_gives_the_same_bytes(slide, assay):
    assert assay("evaluate", slide).returncode == 0
    before = {p: p.read_bytes() for p in (slide / "out").rglob("*") if p.is_file()}
    again = assay("evaluate", slide)
    assert "Nothing to ask" in again.stderr
    assert {p: p.read_bytes() for p in (slide / "out").rglob("*") if p.is_file()} == before


def test_score_reads_less_and_writes_the_same_files(slide, assay):
    assert assay("evaluate", slide).returncode == 0
    before = {p: p.read_bytes() for p in (slide / "out").rglob("*") if p.is_file()}
    for path in before:
        path.unlink()
    assert assay("score", slide).returncode == 0
    before.pop(slide / "out" / "report.html")
    assert {p: p.read_bytes() for p in (slide / "out").rglob("*") if p.is_file()} == before


def test_score_needs_no_labeller(slide, assay):
    assert assay("judge", slide).returncode == 0
    (slide / "recorded.jsonl").unlink()
    done = assay("score", slide)
    assert done.returncode == 0, done.stderr
    assert value(slide, "SLIDE", "HMR") == pytest.approx(0.947368, abs=5e-7)


def test_score_before_judge_says_what_to_do(slide, assay):
    done = assay("score", slide)
    assert done.returncode == 2
    assert "assay judge" in done.stderr
    assert "Traceback" not in done.stderr


def test_missing_labels_are_counted_and_never_made_up(slide, assay):
    rows = (slide / "recorded.jsonl").read_text().splitlines()
    (slide / "recorded.jsonl").write_text("\n".join(rows[:-1]) + "\n")  # no answer label
    done = assay("evaluate", slide)
    assert done.returncode == 1
    row = scores(slide)["SLIDE", "Accuracy"]
    assert row["value"] == ""
    assert (row["floor"], row["ceiling"]) == ("0.0", "1.0")
    assert (row["topics"], row["missing"]) == ("1", "1")
    # Four of five nuggets may be relevant; the fifth is bogus, and its passage's grade certain.
    row = scores(slide)["SLIDE", "NuggetPrecision"]
    assert (row["value"], row["floor"], row["ceiling"]) == ("", "0.0", "0.8")
    row = scores(slide)["WASEDA-PR-1", "nDCG@20"]
    assert (row["value"], row["floor"], row["ceiling"]) == ("", "0.0", "1.0")
    said = " ".join(done.stdout.split())
    assert "1 question has no passage yet that is known to be relevant. That depends on" in said
    assert "no relevant passage" not in done.stdout
    assert (slide / "out" / "confidence.csv").read_text().endswith("SLIDE,0001,90,\n")
    marked = (slide / "out" / "marked" / "SLIDE.txt").read_text().splitlines()
    assert [line.split(";")[0] for line in marked[2:-1]] == ["1", "2", "B3", "4", "5"]


def correct(slide: Path, assay, task: str, pick, change, name: str = "human:KIM") -> None:
    """What an organiser does: export, edit a line, import it."""
    exported = assay("labels", "export", slide, "--task", task)
    rows = [json.loads(line) for line in exported.stdout.splitlines()]
    row = next(row for row in rows if pick(row))
    row["labeller"] = name
    change(row["verdict"])
    (slide / "edited.jsonl").write_text(json.dumps(row) + "\n")
    done = assay("labels", "import", slide, slide / "edited.jsonl")
    assert done.returncode == 0, done.stderr
    assert "1 labels added" in done.stdout


def test_a_person_overrules_a_nugget(slide, assay):
    assay("evaluate", slide)
    correct(
        slide,
        assay,
        "entailment",
        lambda row: "nugget 5" in row["reason"],
        lambda verdict: verdict.update(entailed="NO", reason="names no title"),
    )
    assert assay("score", slide).returncode == 0
    assert "B5;WASEDA-PR-1;5" in (slide / "out" / "marked" / "SLIDE.txt").read_text()
    assert value(slide, "SLIDE", "NuggetPrecision") == pytest.approx(0.2)
    assert "0001 0 WASEDA-PR-1;5 0" in (slide / "out" / "qrels.txt").read_text()
    assert value(slide, "WASEDA-PR-1", "nDCG@20") != pytest.approx(0.501266, abs=1e-4)

    assert assay("score", slide, "--policy", "machine").returncode == 0
    assert "R5;WASEDA-PR-1;5" in (slide / MACHINE / "marked" / "SLIDE.txt").read_text()
    assert value(slide, "SLIDE", "NuggetPrecision", MACHINE) == pytest.approx(0.4)
    assert value(slide, "WASEDA-PR-1", "nDCG@20", MACHINE) == pytest.approx(0.501266, abs=5e-7)
    assert value(slide, "SLIDE", "NuggetPrecision") == pytest.approx(0.2)


def test_a_person_overrules_an_answer(slide, assay):
    assay("evaluate", slide)
    correct(
        slide,
        assay,
        "answer",
        lambda row: True,
        lambda verdict: verdict.update(correct="NO", reason="wrong film"),
    )
    assert assay("score", slide).returncode == 0
    assert value(slide, "SLIDE", "Accuracy") == 0
    assert value(slide, "SLIDE", "NuggetPrecision") == 0
    assert value(slide, "SLIDE", "R_O") == pytest.approx(0.1)
    assert value(slide, "WASEDA-PR-1", "nDCG@20") == 0
    marked = (slide / "out" / "marked" / "SLIDE.txt").read_text().splitlines()
    assert [line.split(";")[0] for line in marked[2:-1]] == ["N1", "N2", "B3", "N4", "N5"]
    assert assay("score", slide, "--policy", "machine").returncode == 0
    assert value(slide, "SLIDE", "Accuracy", MACHINE) == 1


def test_the_machines_label_stays_on_record(slide, assay):
    assay("evaluate", slide)
    correct(slide, assay, "answer", lambda row: True, lambda v: v.update(correct="NO"))
    rows = [json.loads(x) for x in assay("labels", "export", slide).stdout.splitlines()]
    answers = [row for row in rows if row["task"] == "r2c2.answer"]
    assert [row["verdict"]["correct"] for row in answers] == [True, False]
    assert answers[1]["overrules"] == answers[0]["uid"]
    assert answers[1]["labeller"]["name"] == "human:KIM"


def test_export_and_import_round_trip(slide, assay, tmp_path):
    assay("evaluate", slide)
    correct(slide, assay, "answer", lambda row: True, lambda v: v.update(correct="NO"))
    exported = assay("labels", "export", slide).stdout
    (tmp_path / "all.jsonl").write_text(exported)
    (slide / "labels.sqlite").unlink()
    assert assay("labels", "import", slide, tmp_path / "all.jsonl").returncode == 0
    assert assay("labels", "export", slide).stdout == exported
    again = assay("labels", "import", slide, tmp_path / "all.jsonl")
    assert "0 labels added" in again.stdout
    assert assay("evaluate", slide).returncode == 0
    assert value(slide, "SLIDE", "Accuracy") == 0


def test_changing_a_machines_label_in_place_is_refused(slide, assay):
    assay("evaluate", slide)
    lines = assay("labels", "export", slide, "--task", "answer").stdout.splitlines()
    row = json.loads(lines[0])
    row["verdict"]["correct"] = False
    (slide / "bad.jsonl").write_text("nonsense\n" + json.dumps(row) + "\n")
    done = assay("labels", "import", slide, slide / "bad.jsonl")
    assert done.returncode == 2
    assert "bad.jsonl:1" in done.stderr
    assert "bad.jsonl:2" in done.stderr
    assert "human:NAME" in done.stderr
    assert "Traceback" not in done.stderr


def test_questions_left_out_count_as_wrong_with_an_unknown_confidence(slide, assay):
    with (slide / "questions.tsv").open("a") as file:
        file.write("0002\tWho directed Rocky?\tSimple\tJohn G. Avildsen\n")
    done = assay("evaluate", slide, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["runs"]["SLIDE"]["left_out"] == ["0002"]
    assert value(slide, "SLIDE", "Accuracy") == 0.5
    assert value(slide, "SLIDE", "NuggetPrecision") == pytest.approx(0.2)
    for measure, floor, ceiling in (
        ("R_O", 0, 1), ("R_U", 0.45, 0.9), ("HMR", 0, 0.947368), ("Brier", 0.505, 0.005),
    ):  # fmt: skip
        row = scores(slide)["SLIDE", measure]
        assert row["value"] == ""
        assert float(row["floor"]) == pytest.approx(floor, abs=5e-7)
        assert float(row["ceiling"]) == pytest.approx(ceiling, abs=5e-7)
    with (slide / "out" / "scores_by_category.csv").open() as file:
        rows = {
            (row["category"], row["run"], row["measure"]): row["value"]
            for row in csv.DictReader(file)
        }
    assert float(rows["Simple", "SLIDE", "Accuracy"]) == 0
    assert float(rows["Multi-hop", "SLIDE", "Accuracy"]) == 1


def test_refusals_are_shown_and_scored_apart(slide, assay):
    with (slide / "questions.tsv").open("a") as file:
        file.write("0002\tWho directed Rocky?\tSimple\tJohn G. Avildsen\n")
    with (slide / "ac" / "SLIDE.txt").open("a") as file:
        file.write("<0002>\nI don't know;5\n</0002>\n")
    with (slide / "assay.toml").open("a") as file:
        file.write('answer = "rules"\n')
    done = assay("evaluate", slide, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["runs"]["SLIDE"]["refusals"] == {"dont_know": 1}
    attempted = {s["measure"]: s for s in document["attempted"]}
    assert (attempted["Accuracy"]["value"], attempted["Accuracy"]["topics"]) == (1, 1)
    assert value(slide, "SLIDE", "Accuracy") == 0.5


def test_rules_cannot_do_entailment_and_say_so(slide, assay):
    done = assay("evaluate", slide, "--labeller", "rules")
    assert done.returncode == 2
    assert "cannot do r2c2.entailment" in done.stderr
    assert "embedded" in done.stderr
    assert not (slide / "out").exists()


def test_languages_that_the_judge_does_not_read_are_counted_and_shown(slide: Path, assay) -> None:
    run, settings = slide / "ac" / "SLIDE.txt", slide / "assay.toml"
    head, *nuggets, tail = run.read_text().splitlines()[1:]
    texts = (
        "그는 배우이다",
        "映画は1962年",
        "C'est lui.",
        "Il fut réalisé ainsi.",
        "Er wurde gedreht.",
    )
    foreign = [f"{one.rpartition(';')[0]};{text}" for one, text in zip(nuggets, texts, strict=True)]
    run.write_text("\n".join(("<0001>", head, *foreign, tail, "")))
    settings.write_text(
        settings.read_text().replace(
            '"recorded:recorded.jsonl"', '"rules"\nentailment = "embedded"'
        )
    )
    done = assay("evaluate", slide)
    assert done.returncode == 1
    said = " ".join(done.stdout.split() + done.stderr.split())
    assert "this judge reads English, and the claim is in French (2)," in said
    report = (slide / "out" / "report.html").read_text()
    for language, count in (("French", 2), ("German", 1), ("Korean", 1), ("Japanese", 1)):
        assert f"{language} ({count})" in said
        assert f"{language} ({count})" in report
