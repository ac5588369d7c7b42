"""The protocol trec-rag, from folders to scores; words decide (tests/trec_rag/judge.py)."""

from __future__ import annotations

import csv
import json
import re
import sqlite3
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from assay.api.opened import Opened
from assay.formats.trec_rag_support import read_support
from assay.judging.engine import judge as ask
from assay.judging.engine import plan
from assay.labellers.base import Request
from assay.labellers.judge.verdicts import unit_questions
from assay.ledger import Ledger, NewLabel, exchange
from assay.model.errors import FormatError, SettingsError
from assay.model.labels import LabellerId, Status
from assay.page.parts import made
from assay.protocols.evaluation import Evaluation
from assay.protocols.folder import Folder
from assay.protocols.label_sheets import citations_of, support_sheet
from assay.protocols.means import score_table
from assay.protocols.registry import find_protocol
from assay.protocols.trec_rag.compared import ASSIGNED, AUTO, EDITED, MANUAL
from assay.tasks.rendering import Renderer
from assay.tasks.trec_rag import SUPPORT_IN_CONTEXT
from assay.tasks.trec_rag_nuggets import CREATE, EDIT, MAPPING, MappingUnit
from tests.conftest import ROOT, Assay
from tests.trec_rag import judge as judging
from tests.trec_rag.cases import ANSWERS, NARRATIVES, SEGMENTS, lines, make

ENV = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}


def opened(folder: Path, policy: str | None = None) -> Evaluation:
    return Evaluation.open(Folder.open(folder), find_protocol("trec-rag"), policy)


def judged(folder: Path, policy: str | None = None):
    """Judge and score; returns what was done and the result."""
    evaluation = opened(folder, policy)
    with evaluation.folder.open_ledger() as ledger:
        tally = evaluation.judge(ledger)
        result, _ = evaluation.write(ledger)
    return tally, result


def scored(folder: Path, policy: str):
    evaluation = opened(folder, policy)
    with evaluation.folder.open_ledger() as ledger:
        result = evaluation.score(ledger)
        result.beside()
    return result


def values(result, run: str) -> dict[str, float | None]:
    return {name: one.value for name, one in result.findings.scores[run].items()}


def labels_of(folder: Path) -> list:
    with Ledger.open(folder / "labels.sqlite") as ledger:
        return list(ledger.labels())


def rows_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_whole_way_through_the_command_line(assay: Assay, tmp_path: Path):
    folder = make(tmp_path / "e")
    ahead = assay("judge", folder, "--dry-run", "--json", env=ENV)
    forecast = json.loads(ahead.stdout)
    steps = [row["task"] for row in forecast["ahead"]]
    assert steps[:2] == ["sub-narratives, draft", "sub-narratives"]
    waiting = ", ".join(step for step in steps[1:] if step != "support")
    assert forecast["notes"] == [
        f"More labels may be needed once earlier ones are known: {waiting}."
    ]
    done = assay("evaluate", folder, "--json", env=ENV)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    found = {(row["run"], row["measure"]): row["value"] for row in document["scores"]}
    assert found["ret", "nDCG@30"] == 1.0
    # Topic 1: two of four vital nuggets; topic 2: one of two.
    assert found["good", "strict_vital"] == 0.5
    # Topic 1: canals and rivers are covered, 'other facts' is not; topic 2: covered.
    assert found["good", "coverage"] == pytest.approx((2 / 3 + 1) / 2)
    # Topic 1: two cited sentences, both full, and one without citation; topic 2: one, full.
    assert found["good", "weighted_precision"] == 1.0
    assert found["good", "weighted_recall"] == pytest.approx((2 / 3 + 1) / 2)
    assert found["poor", "weighted_recall"] == 0.25  # partial on topic 1, silent on topic 2
    assert found["rj", "agreement"] == 0.6
    out = folder / "out"
    assert {path.name for path in out.iterdir()} == {
        "assignments.jsonl", "labels.jsonl", "manifest.json", "nuggets.jsonl", "ntcireval",
        "per_topic.csv", "qrels.txt", "relevance.csv", "report.html", "rj.txt", "runs",
        "scores.csv", "sub_narratives.jsonl", "support.jsonl", "topics.txt",
    }  # fmt: skip
    assert (out / "rj.txt").read_text().splitlines()[0] == "1 Q0 d1 2 1.0 assay"
    first = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    again = assay("evaluate", folder, env=ENV)
    assert "Nothing to ask" in again.stderr
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == first
    # The label files are scored alike without the folder.
    alone = assay("nuggets", out / "assignments.jsonl", "--csv", env=ENV)
    row = next(r for r in csv.DictReader(alone.stdout.splitlines()) if r["measure"] == "weighted")
    assert float(row["value"]) == found[row["run"], "weighted"]
    page = (out / "report.html").read_text()
    assert "Rivers meander because banks erode outside." in page
    assert SEGMENTS["d1"] in page


def test_labels_of_every_task_are_listed(assay: Assay, tmp_path: Path):
    folder = make(tmp_path / "e")
    judged(folder)
    with editor(tmp_path, "p.write_text(p.read_text().replace('vital [1]', 'okay [1]'))") as env:
        assay("nuggets", "edit", folder, "1", "--as", "KIM", env=env)
    done = assay("labels", "list", folder, env={**ENV, "COLUMNS": "160"})
    assert done.returncode == 0, done.stderr
    for name, verdict in (
        ("nugget_edit", "Rivers meander"),
        ("assignment", "2 support"),
        ("mapping", "4 mapping"),
        ("importance", "4 vital"),
        ("nuggets", "4 nuggets"),
        ("relevance_c", "grade 2; rel"),
        ("sub_narratives", "why rivers meander"),
        ("support", "full"),
    ):
        rows = [line for line in done.stdout.splitlines() if f" {name[:10]}" in line]
        assert any(verdict[:12] in row for row in rows), (name, rows)


def test_what_two_runs_share_is_asked_once(tmp_path: Path):
    folder = make(tmp_path / "e")
    first, _ = judged(folder)
    record = rows_of(folder / "rag" / "good.jsonl")
    for row in record:
        row["metadata"]["run_id"] = "copy"
    lines(folder / "rag" / "copy.jsonl", record)
    second, result = judged(folder)
    assert first.asked > 0
    assert second.asked == 0
    assert values(result, "copy") == values(result, "good")


def test_a_narrative_is_written_from_its_queries(tmp_path: Path):
    folder = make(tmp_path / "e")
    lines(folder / "narratives.jsonl", [{"id": "1", "queries": NARRATIVES[0]["queries"]}])
    (folder / "r" / "ret.txt").write_text("1 Q0 d1 1 9 ret\n")
    (folder / "rag" / "good.jsonl").unlink()
    _, result = judged(folder)
    assert result.lacking == 0
    rows = rows_of(folder / "out" / "sub_narratives.jsonl")
    assert rows[0]["title"] == "why rivers meander and canals built with locks"
    assert [one["text"] for one in rows[0]["sub_narratives"]] == NARRATIVES[0]["queries"]


def test_several_creators_are_merged(tmp_path: Path):
    settings = (
        'creators = ["tests.trec_rag.judge:judge", "tests.trec_rag.judge:half"]\ndocuments = 1'
    )
    folder = make(tmp_path / "e", settings=settings)
    tally, result = judged(folder)
    assert result.lacking == 0
    labels = [one for one in labels_of(folder) if one.task == "trec_rag.nuggets"]
    # Two windows for topic 1 and one for topic 2, by each of the two.
    assert len(labels) == 6
    assert {one.labeller.name for one in labels} == {
        "tests.trec_rag.judge:judge",
        "tests.trec_rag.judge:half",
    }
    [merged, _] = [one for one in labels_of(folder) if one.task == "trec_rag.merge"]
    lists = next(
        one["unit"]["lists"]
        for one in rows_of(folder / "out" / "labels.jsonl")
        if one["uid"] == merged.uid
    )
    assert len(lists) == 2
    assert judged(folder)[0].asked == 0
    assert tally.failed == 0


def test_ways_of_asking_for_relevance_are_set_beside_each_other(tmp_path: Path):
    folder = make(
        tmp_path / "e", settings='relevance = "at-once"\nrelevance_also = ["counted", "yes-no"]'
    )
    _, result = judged(folder)
    part = next(one for one in result.findings.parts() if one.title.startswith("Relevance"))
    table = part.items[0]
    assert {row[:2] for row in table.rows} == {
        ("at-once", "counted"), ("at-once", "yes-no"), ("counted", "yes-no"),
    }  # fmt: skip
    assert next(row for row in table.rows if row[:2] == ("at-once", "counted"))[3] == 1.0


def without_answers(folder: Path) -> Path:
    for path in (folder / "rag").iterdir():
        path.unlink()
    toml = (folder / "assay.toml").read_text()
    (folder / "assay.toml").write_text(toml.replace('rag_runs = ["rag/*.jsonl"]', ""))
    return folder


@pytest.mark.parametrize("bank", [False, True], ids=["none", "given"])
def test_retrieval_alone_needs_no_nuggets(tmp_path: Path, bank: bool):
    inputs = 'nuggets = "bank.jsonl"' if bank else ""
    folder = without_answers(make(tmp_path / "e", inputs=inputs))
    row = {"qid": "1", "query": "", "nuggets": [{"text": "Rivers meander"}]}
    lines(folder / "bank.jsonl", [row])
    tally, result = judged(folder)
    assert {one.task for one in labels_of(folder)} == {
        "trec_rag.sub_narratives_draft", "trec_rag.sub_narratives", "trec_rag.relevance_counted",
    }  # fmt: skip
    assert (result.lacking, tally.failed) == (0, 0)
    assert "strict_vital" not in values(result, "ret")


@pytest.mark.parametrize("mapped", [True, False])
def test_nobody_is_asked_for_sub_narratives_where_all_nuggets_are_mapped(
    tmp_path: Path, mapped: bool
):
    folder = make(tmp_path / "e", inputs='nuggets = "bank.jsonl"')
    rows = [
        {
            "qid": topic,
            "nuggets": [
                {"text": f"Rivers {n}", "importance": "vital", "mapped_sub_narrative": name}
                for n, name in enumerate(names)
            ],
        }
        for topic, names in (("1", ['"Bends"', "New: Locks", None]), ("2", ["Ice", "New: ice"]))
    ]
    if mapped:
        rows[0]["nuggets"].pop()
    lines(folder / "bank.jsonl", rows)
    judged(folder)
    drafts = [one for one in labels_of(folder) if one.task == "trec_rag.sub_narratives_draft"]
    assert len(drafts) == (0 if mapped else 1)
    if mapped:
        found = rows_of(folder / "out" / "sub_narratives.jsonl")
        names = [[one["text"] for one in row["sub_narratives"]] for row in found]
        assert names == [["Bends", "Locks"], ["Ice"]]


def test_a_bank_of_nuggets_can_be_made_before_there_are_answers(tmp_path: Path):
    folder = without_answers(make(tmp_path / "e", settings='nuggets = "always"'))
    _, result = judged(folder)
    assert result.lacking == 0
    made = rows_of(folder / "out" / "nuggets.jsonl")
    assert [len(row["nuggets"]) for row in made] == [4, 2]
    assert all(one["importance"] and one["mapped_sub_narrative"] for one in made[0]["nuggets"])
    # The same with answers asks for no list again.
    make(folder)
    tally, _ = judged(folder)
    assert {one.task for one in labels_of(folder)} >= {"trec_rag.assignment", "trec_rag.support"}
    assert tally.known > 0
    assert len([one for one in labels_of(folder) if one.task == "trec_rag.nuggets"]) == 2


ENSEMBLES = """
[ensembles.three]
members = ["tests.trec_rag.judge:judge", "tests.trec_rag.judge:strict",
           "tests.trec_rag.judge:lenient"]
[ensembles.middle]
members = ["tests.trec_rag.judge:judge", "tests.trec_rag.judge:strict",
           "tests.trec_rag.judge:lenient"]
rule = "median"
"""


def with_ensembles(folder: Path, **labellers: str) -> Path:
    lines = "".join(f'{task} = "{spec}"\n' for task, spec in labellers.items())
    path = folder / "assay.toml"
    path.write_text(path.read_text().replace("[settings]", f"{lines}{ENSEMBLES}[settings]"))
    return folder


def test_ensembles_judge_relevance_in_every_way(assay: Assay, tmp_path: Path):
    ways = 'relevance = "counted"\nrelevance_also = ["at-once", "0-3", "yes-no"]'
    folder = with_ensembles(
        make(tmp_path / "e", settings=ways),
        relevance_counted="ensemble:three",
        relevance_at_once="ensemble:middle",
        relevance="ensemble:middle",
        relevance_yes_no="ensemble:three",
        assignment="ensemble:three",
    )
    done = assay("evaluate", folder, "--json", env=ENV)
    assert done.returncode == 0, done.stderr
    alone = make(tmp_path / "alone", settings=ways)
    _, single = judged(alone)
    # Between one that finds nothing and one that finds everything, the first member decides.
    for name in ("qrels.txt", "relevance.csv", "assignments.jsonl"):
        assert (folder / "out" / name).read_bytes() == (alone / "out" / name).read_bytes()
    document = json.loads(done.stdout)
    found = {
        (row["run"], row["measure"]): row["value"]
        for row in document["scores"]
        if row["run"] in ("ret", "bad")
    }
    assert found == {
        (run, name): value for run in ("ret", "bad") for name, value in values(single, run).items()
    }
    by_task = {jury["task"].partition(".")[2]: jury for jury in document["juries"]}
    assert {name: (one["value"], one["metric"]) for name, one in by_task.items()} == {
        "relevance_counted": ("grade", "ordinal"),
        "relevance_at_once": ("grade", "ordinal"),
        "relevance": ("grade", "ordinal"),
        "relevance_yes_no": ("relevant", "nominal"),
        "assignment": ("labels", "ordinal"),
    }
    counted = by_task["relevance_counted"]
    assert (counted["units"], counted["unanimous"]) == (5, 0)
    assert [one["votes"] for one in counted["members"]] == [5, 5, 5]
    first, strict, lenient = (one["agreement"] for one in counted["members"])
    # Bread (d3) has no grade above 0; with one sub-narrative answered or two, 2 or 3.
    assert (first, strict, lenient) == (1.0, 0.4, 0.2)
    # Every nugget of every answer is compared: topic 1 has four for two answers, topic 2 two.
    assert by_task["assignment"]["units"] == 10
    assert by_task["assignment"]["members"][1]["unusable"] == 0
    # The labels as a judgment run: the share of votes that agree is the confidence.
    assert {row.split()[4] for row in (folder / "out" / "rj.txt").read_text().splitlines()} == {
        "0.3333333333333333",
        "0.6666666666666666",
    }
    page = (folder / "out" / "report.html").read_text()
    assert "How the members of" in page
    assert "α (ordinal) of “grade”" in page
    # A member that serves alone afterwards was asked already.
    toml = (folder / "assay.toml").read_text()
    for name in ("three", "middle"):
        toml = toml.replace(f'= "ensemble:{name}"', '= "tests.trec_rag.judge:judge"')
    (folder / "assay.toml").write_text(toml)
    assert judged(folder)[0].asked == 0


def test_sub_narratives_are_a_persons_to_edit(assay: Assay, tmp_path: Path):
    folder = make(tmp_path / "e")
    judged(folder)
    exported = tmp_path / "edit.jsonl"
    assay("labels", "export", folder, "--task", "sub_narratives", "-o", exported, env=ENV)
    rows = rows_of(exported)
    row = next(one for one in rows if "rivers" in one["unit"]["narrative"])
    row["labeller"] = "human:KIM"
    row["verdict"]["sub_narratives"] = [{"text": "why rivers meander", "importance": "vital"}]
    lines(exported, [row])
    done = assay("labels", "import", folder, exported, env=ENV)
    assert done.returncode == 0, done.stderr
    _, result = judged(folder)
    assert result.lacking == 0
    named = rows_of(folder / "out" / "sub_narratives.jsonl")[0]["sub_narratives"]
    assert [one["text"] for one in named] == ["why rivers meander"]
    machine = scored(folder, "machine")
    assert machine.findings.files["sub_narratives.jsonl"].count(b"importance") == 3


# --- given labels --------------------------------------------------------------------------------


def given(tmp_path: Path, *, settings: str = "", made_by: str = "rules") -> Path:
    """An evaluation whose labels are all among its inputs; nobody can be asked."""
    source = make(tmp_path / "source")
    judged(source)
    inputs = "\n".join(
        f'{name} = "given/{file}"'
        for name, file in (
            ("qrels", "qrels.txt"),
            ("nuggets", "nuggets.jsonl"),
            ("assignments", "assignments.jsonl"),
            ("support", "support.jsonl"),
            ("sub_narratives", "sub_narratives.jsonl"),
        )
    )
    folder = make(tmp_path / "e", inputs=inputs, settings=settings)
    (folder / "given").mkdir()
    for path in (source / "out").glob("*.*"):
        (folder / "given" / path.name).write_bytes(path.read_bytes())
    toml = (folder / "assay.toml").read_text().replace("tests.trec_rag.judge:judge", made_by)
    (folder / "assay.toml").write_text(toml)
    return folder


def test_given_labels_are_scored_and_nobody_is_asked(tmp_path: Path):
    folder = given(tmp_path)
    tally, result = judged(folder)
    assert tally.wanted == 0
    assert result.lacking == 0
    assert values(result, "good") == values(scored(tmp_path / "source", "people"), "good")
    notes = {board.title: board.note for board in result.findings.boards}
    assert "The assignments of 3 of 3 answers are given." in notes["Answers: nuggets"]
    assert "The support labels of 3 of 3 answers are given." in notes["Answers: support"]
    cited = [
        one.who
        for part in result.findings.parts()
        for _, items in part.groups
        for item in made(items)
        for sentence in getattr(item, "sentences", ())
        for one in sentence.cited[:1]
    ]
    assert set(cited) == {"given, by people"}


def test_given_labels_are_left_out_where_machines_alone_count(tmp_path: Path):
    folder = given(tmp_path)
    with pytest.raises(SettingsError, match="rules"):
        judged(folder, "machine")
    result = scored(folder, "machine")
    assert result.lacking > 0
    assert values(result, "good")["strict_vital"] is None


def test_an_existing_bank_is_continued(tmp_path: Path):
    folder = given(tmp_path, made_by="tests.trec_rag.judge:judge")
    rows = rows_of(folder / "given" / "assignments.jsonl")
    lines(folder / "given" / "assignments.jsonl", rows[:1])
    tally, result = judged(folder)
    asked = {one.task for one in labels_of(folder)}
    assert asked == {"trec_rag.assignment"}
    assert tally.asked == 2
    assert result.lacking == 0


def test_manual_and_automatic_assignment_side_by_side(tmp_path: Path):
    folder = given(tmp_path, made_by="tests.trec_rag.judge:judge")
    rows = rows_of(folder / "given" / "assignments.jsonl")
    rows[0]["nuggets"][1]["assignment"] = "support"  # the person is more lenient
    lines(folder / "given" / "assignments.jsonl", rows)
    judged(folder, "machine")
    result = scored(folder, "people")
    found = {
        (row["setting"], row["run"], row["measure"]): row["value"]
        for row in result.beside().document()["settings"]
    }
    auto, manual = found[AUTO, "good", "strict_vital"], found[ASSIGNED, "good", "strict_vital"]
    assert manual == pytest.approx(auto + 1 / 4 / 2)
    parts = [one for one in result.beside().parts() if one.title.endswith("side by side")]
    assert [one.title.partition(":")[0] for one in parts] == ["Nuggets", "Support", "Relevance"]
    assert all(any(getattr(item, "points", ()) for item in part.items) for part in parts)
    key = ("good", "weighted_recall")
    assert found["automatic support", *key] == found["manual support", *key]


def test_settings_follow_the_rules_of_the_leaderboards(tmp_path: Path):
    folder = given(tmp_path, made_by="tests.trec_rag.judge:judge")
    rows = rows_of(folder / "given" / "assignments.jsonl")
    by_people = [row for row in rows if (row["run_id"], row["qid"]) != ("good", "2")]
    assert len(by_people) == 2
    lines(folder / "given" / "assignments.jsonl", by_people)
    judged(folder, "machine")
    found = {
        (row["setting"], row["run"], row["measure"]): (row["floor"], row["ceiling"], row["topics"])
        for row in scored(folder, "people").beside().document()["settings"]
    }
    assert values(scored(folder, "people"), "good")["strict_vital"] == 0.5
    # Of the run's two answers people labelled one; by their labels the other is 0 to 1.
    both = pytest.approx((2 / 3 + 1) / 2)
    assert found[AUTO, "good", "coverage"] == (both, both, 2)
    assert found[ASSIGNED, "good", "coverage"] == (pytest.approx(1 / 3), both, 2)
    assert {name for name, _, _ in found}.isdisjoint({EDITED, MANUAL})


def said_by(folder: Path, name: str, assigned: str, who: LabellerId | None = None) -> None:
    """A person's assignment of every nugget of one answer, as the machine was asked; or another's,
    who was asked it in other words."""
    with Ledger.open(folder / "labels.sqlite") as ledger:
        asked = next(
            (unit, content)
            for unit, content in ledger.unit_contents(["trec_rag.assignment"])
            if "Shallow" in content["answer"]
        )
        verdict = {"labels": [assigned] * len(asked[1]["nuggets"])}
        who = who or LabellerId(f"human:{name}", "human", {})
        ledger.add(
            [
                NewLabel(
                    key=f"{name}{assigned}", task="trec_rag.assignment", version="1",
                    unit=asked[0], content=asked[1], labeller=who, status=Status.OK,
                    verdict=verdict,
                )
            ]
        )  # fmt: skip


def test_people_who_disagree_on_nuggets_are_settled_as_on_anything_else(tmp_path: Path):
    folder = make(tmp_path / "e")
    judged(folder)
    whole = Opened.open(folder)
    with whole.ledger() as ledger:
        asked = {one.unit_hash for one in whole.people_requests(ledger)}
        said_by(folder, "KIM", "support")
        assert {one.unit_hash for one in whole.people_requests(ledger)} == asked  # of LEE, too
    said_by(folder, "LEE", "not_support")
    assert values(scored(folder, "people"), "good")["all"] is not None  # the newest counts
    open_one = scored(folder, "adjudicated").findings.per_topic["good"]["all"]["2"]
    assert open_one == (0.0, 1.0)
    said_by(folder, "PAT", "support")
    assert scored(folder, "adjudicated").findings.per_topic["good"]["all"]["2"] == (0.0, 1.0)
    most = scored(folder, "majority")
    assert most.findings.per_topic["good"]["all"]["2"] == (1.0, 1.0)
    open_too = scored(folder, "adjudicated")
    assert "and nothing is settled. Under the policy" in " ".join(open_too.warnings)
    assert "; people settle the units that they disagree on (1) in" in open_too.gaps[0].so


def test_of_a_machines_assignments_those_to_the_present_question_count(tmp_path: Path):
    folder = make(tmp_path / "e")
    _, before = judged(folder)
    machine = next(one.labeller for one in labels_of(folder) if one.task == "trec_rag.assignment")
    said_by(folder, "former wording", "not_support", machine)
    assert values(scored(folder, "people"), "good") == values(before, "good")


def test_labels_of_a_further_way_are_missed_where_nothing_else_is_asked(tmp_path: Path):
    settings = 'relevance = "none"\nrelevance_also = ["0-3"]'
    folder = make(tmp_path / "e", settings=settings)
    assert scored(folder, "people").missing["trec_rag.relevance"] > 0
    _, result = judged(folder)
    assert result.asked["trec_rag.relevance"] > 0
    assert "trec_rag.relevance" not in result.missing


@pytest.mark.parametrize(
    ("relevance", "told"), [("0-3", True), ("counted", False), ("none", False)]
)
def test_given_grades_above_the_scale_are_told(tmp_path: Path, relevance: str, told: bool):
    settings = f'relevance = "{relevance}"'
    folder = make(tmp_path / "e", inputs='qrels = "qrels.txt"', settings=settings)
    (folder / "qrels.txt").write_text("1 0 d1 4\n2 0 d4 3\n")
    said = "1 grade above 3, the highest of relevance = '0-3': 4 of d1, topic 1."
    assert any(said in one for one in opened(folder).warnings) is told


@pytest.mark.parametrize("policy", ["people", "human", "majority", "adjudicated"])
def test_what_people_gave_counts_wherever_peoples_labels_do(tmp_path: Path, policy: str):
    folder = given(tmp_path)
    judged(folder)
    assert values(scored(folder, policy), "good") == values(scored(folder, "people"), "good")


# --- post-editing --------------------------------------------------------------------------------


@contextmanager
def editor(tmp_path: Path, script: str):
    """An editor: a program that changes the file that it is given."""
    path = tmp_path / "editor.py"
    path.write_text(f"import sys, pathlib\np = pathlib.Path(sys.argv[1])\n{script}\n")
    yield {**ENV, "EDITOR": f"{__import__('sys').executable} {path}", "VISUAL": ""}


def test_nuggets_are_edited_in_an_editor_and_every_change_is_a_label(assay: Assay, tmp_path: Path):
    folder = make(tmp_path / "e")
    _, before = judged(folder)
    script = (
        "lines = p.read_text().splitlines()\n"
        "text = '\\n'.join(one for one in lines if '[2]' not in one and 'other facts' not in one)\n"
        "text = text.replace('vital [3] Canals were built with locks', "
        "'okay [3] Canals have locks')\n"
        "p.write_text(text + '\\nvital Boats use canals\\n')"
    )
    with editor(tmp_path, script) as env:
        done = assay("nuggets", "edit", folder, "1", "--as", "KIM", "--json", env=env)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == {
            "changed": 1, "split": 0, "merged": 0, "dropped": 1, "added": 1, "labels": 3,
        }  # fmt: skip
    every = labels_of(folder)
    edits = [one for one in every if one.task == "trec_rag.nugget_edit"]
    assert {one.labeller.name for one in edits} == {"human:KIM"}
    made = {one.uid for one in every if one.task == "trec_rag.nuggets"}
    assert [one.overrules in made for one in edits].count(True) == 2  # the added one has none
    _, after = judged(folder)
    # What is new is asked about, nothing else: two nuggets in one window for each answer.
    assignments = [one for one in labels_of(folder) if one.task == "trec_rag.assignment"]
    assert len(assignments) == 3 + 2
    assert after.lacking == 0
    texts = [one["text"] for one in rows_of(folder / "out" / "nuggets.jsonl")[0]["nuggets"]]
    assert texts == [
        "Rivers meander because banks erode outside",
        "Canals have locks",
        "Locks lift boats between levels",
        "Boats use canals",
    ]
    assert values(scored(folder, "machine"), "good") == values(before, "good")
    settings = {row["setting"] for row in after.beside().document()["settings"]}
    assert settings == {AUTO, EDITED}
    # Back to what it was: the machine's list counts again, all edits stay on record.
    text = assay("nuggets", "edit", folder, "1", "--print", env=ENV).stdout
    assert "okay [2] Canals have locks" in text


def test_all_nuggets_of_a_topic_that_two_runs_answer_alike_may_go(assay: Assay, tmp_path: Path):
    folder = make(tmp_path / "e")
    text = (folder / "rag" / "good.jsonl").read_text().replace('"good"', '"twin"')
    (folder / "rag" / "twin.jsonl").write_text(text)
    judged(folder)
    edit = ("nuggets", "edit", folder, "2", "--as", "KIM", "--file", tmp_path / "none.txt")
    (tmp_path / "none.txt").write_text("")
    done = assay(*edit, env=ENV)  # a slip: nothing was saved, say
    assert (done.returncode, "delete only their lines" in done.stderr) == (2, True)
    (tmp_path / "none.txt").write_text("# Nuggets\n")
    assert "2 dropped" in assay(*edit, env=ENV).stdout
    _, after = judged(folder)
    assert values(after, "good") == values(after, "twin")
    assert after.findings.scores["good"]["all"].topics == 1


def test_what_a_person_adds_to_a_given_bank_is_asked_about(assay: Assay, tmp_path: Path):
    folder = given(tmp_path, made_by="tests.trec_rag.judge:judge")
    toml = (folder / "assay.toml").read_text()
    (folder / "assay.toml").write_text(toml.replace('assignments = "given/assignments.jsonl"', ""))
    judged(folder)
    with editor(tmp_path, "p.write_text(p.read_text() + '\\nunset Canals with locks\\n')") as env:
        done = assay("nuggets", "edit", folder, "1", "--as", "KIM", env=env)
        assert done.returncode == 0, done.stderr
    _, result = judged(folder)
    assert result.lacking == 0
    added = rows_of(folder / "out" / "nuggets.jsonl")[0]["nuggets"][-1]
    assert added == {
        "text": "Canals with locks",
        "importance": "okay",
        "mapped_sub_narrative": "canals built with locks",
    }


@pytest.mark.parametrize(
    ("script", "said"),
    [("sys.exit(1)", "Nothing has changed"), ("p.write_text('')", "came back empty")],
)
def test_an_editor_that_fails_changes_nothing(assay: Assay, tmp_path: Path, script: str, said: str):
    folder = given(tmp_path, made_by="tests.trec_rag.judge:judge")
    judged(folder)
    with editor(tmp_path, script) as env:
        done = assay("nuggets", "edit", folder, "1", "--as", "KIM", env=env)
    assert done.returncode in (1, 2)
    assert said in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert not [one for one in labels_of(folder) if one.labeller.is_human]


def test_edits_that_cannot_be_read_change_nothing(assay: Assay, tmp_path: Path):
    folder = make(tmp_path / "e")
    judged(folder)
    count = len(labels_of(folder))
    edited = tmp_path / "edited.txt"
    edited.write_text(
        "vital [9] a\nmaybe b\n  under: x\n  under: y\nvital [1]\nvital [1] c\nokay [2] c\n"
    )
    done = assay("nuggets", "edit", folder, "1", "--as", "KIM", "--file", edited, env=ENV)
    assert done.returncode == 2
    assert [f":{line} " in done.stderr for line in (1, 2, 4, 5, 7)] == [True] * 5
    assert len(labels_of(folder)) == count


def test_edits_of_nuggets_that_are_made_no_more_are_told(tmp_path: Path):
    folder = make(tmp_path / "e")
    _, before = judged(folder)
    told = "nuggets that are no longer in the list"
    assert not any(told in gap.what for gap in before.gaps)
    listed = rows_of(folder / "out" / "nuggets.jsonl")[0]
    first, second = (one["text"] for one in listed["nuggets"][:2])
    with Ledger.open(folder / "labels.sqlite") as ledger:
        for text, becomes in ((first, f"{first}, at last"), (second, second)):
            unit = {"narrative": listed["query"], "nugget": text}
            verdict = {"reason": "", "becomes": [{"text": becomes}]}
            kim = exchange.person("human:KIM")
            ledger.add([exchange.person_label(kim, EDIT, unit, verdict)])
        failed = exchange.person_label(kim, EDIT, unit | {"nugget": "What?"}, {})
        ledger.add([replace(failed, verdict=None, status=Status.FAILED)])
    docs = {doc for doc, text in SEGMENTS.items() if first in text or second in text}
    for path in (folder / "r").iterdir():
        kept = [one for one in path.read_text().splitlines() if one.split()[2] not in docs]
        path.write_text("\n".join(kept))
    _, after = judged(folder)
    (gap,) = (gap for gap in after.gaps if told in gap.what)
    assert (gap.count, gap.grave) == (1, False)  # one was left as it was
    assert "(1: 1)" in gap.what


# --- what is missing -----------------------------------------------------------------------------


def test_an_unusable_label_is_counted_and_not_scored(tmp_path: Path, monkeypatch):
    folder = make(tmp_path / "e")

    def fails(unit):
        return {"support": "perhaps"} if "banks" in unit["sentence"] else judging._support(unit)

    monkeypatch.setitem(judging._RULES, "trec_rag.support", fails)
    _, result = judged(folder)
    assert result.failed["trec_rag.support"] == 2
    board = next(one for one in result.findings.boards if "support" in one.title)
    assert board.columns["missing"] == {"good": 1, "poor": 1}
    assert board.columns["unjudged"] == {"good": 0, "poor": 0}
    # Topic 2 is not answered, 0; the one sentence of topic 1 is worth 0 to 1.
    precision = result.findings.scores["poor"]["weighted_precision"]
    assert (precision.value, precision.floor, precision.ceiling) == (None, 0.0, 0.5)
    assert (precision.topics, precision.missing) == (2, 1)
    alone = support_sheet(
        citations_of(read_support(folder / "out" / "support.jsonl").require()), topics=["1", "2"]
    )
    assert score_table(alone[0].per_topic(), None)["poor"]["weighted_precision"].ends == (0.0, 0.5)


def test_topics_without_an_answer_follow_the_policy(tmp_path: Path):
    every = judged(make(tmp_path / "a"))[1]
    answered = judged(make(tmp_path / "b", settings='answers = "answered"'))[1]
    assert every.findings.scores["poor"]["vital"].topics == 2
    assert answered.findings.scores["poor"]["vital"].topics == 1
    assert values(answered, "poor")["vital"] == pytest.approx(2 * values(every, "poor")["vital"])


def test_passages_without_a_text_are_gaps(tmp_path: Path):
    folder = make(tmp_path / "e")
    kept = [row for row in rows_of(folder / "segments.jsonl") if row["docid"] != "d4"]
    lines(folder / "segments.jsonl", kept)
    _, result = judged(folder)
    said = " ".join(gap.what for gap in result.gaps)
    assert "cited passage without a text" in said
    assert "retrieved document without a text" in said
    assert "relevance" not in " ".join(gap.so for gap in result.gaps)
    (folder / "qrels.txt").write_text("1 0 d1 1\n")
    toml = (folder / "assay.toml").read_text()
    (folder / "assay.toml").write_text(toml.replace("[inputs]", '[inputs]\nqrels = "qrels.txt"'))
    _, result = judged(folder)
    assert 'set relevance = "none"' in " ".join(gap.so for gap in result.gaps)


def test_what_nobody_judged_of_a_run_is_told(tmp_path: Path):
    inputs, settings = 'qrels = "qrels.txt"', 'relevance = "none"\nmeasures = ["nDCG@2"]\n'
    folder = without_answers(make(tmp_path / "e", inputs=inputs, settings=settings))
    (folder / "qrels.txt").write_text("1 0 d1 1\n1 0 d2 0\n2 0 d4 1\n")
    result = scored(folder, "people")
    (gap,) = [one for one in result.gaps if "not judged" in one.what]
    # Topic 1 at rank 3 is beyond the cutoff, and is not judged either.
    assert (gap.count, gap.grave) == (2, False)
    assert gap.what.endswith("at ranks 1 to 2 not judged (bad: 50 %, ret: 25 %)")
    (folder / "qrels.txt").write_text("1 0 d1 1\n1 0 d2 0\n1 0 d3 0\n")
    assert "not judged" not in str(scored(folder, "people").gaps)  # topic 2 is in no mean


def test_where_all_labels_are_given_nobody_need_judge_before_scores(assay: Assay, tmp_path: Path):
    inputs, settings = 'qrels = "qrels.txt"', 'relevance = "none"\nmeasures = ["nDCG@2"]\n'
    folder = without_answers(make(tmp_path / "e", inputs=inputs, settings=settings))
    (folder / "qrels.txt").write_text("1 0 d1 1\n1 0 d2 0\n2 0 d4 1\n")
    done = assay("score", folder)
    assert done.returncode == 0, done.stderr
    (folder / "assay.toml").write_text(
        (folder / "assay.toml").read_text().replace('relevance = "none"', 'relevance = "0-3"')
    )
    (folder / "labels.sqlite").unlink()
    done = assay("score", folder)
    assert "Run 'assay judge' first" in done.stderr


def test_a_folder_of_withdrawn_runs_alone_says_that_none_is_scored(assay: Assay, tmp_path: Path):
    inputs, settings = 'qrels = "qrels.txt"', 'relevance = "none"\nmeasures = ["nDCG@2"]\n'
    folder = without_answers(make(tmp_path / "e", inputs=inputs, settings=settings))
    (folder / "qrels.txt").write_text("1 0 d1 1\n1 0 d2 0\n2 0 d4 1\n")
    toml = (folder / "assay.toml").read_text()
    (folder / "assay.toml").write_text(
        toml.replace("r_runs", "withdrawn_runs").replace("rj_", "# ")
    )
    assert "No run was scored" in assay("score", folder).stdout


def test_runs_that_come_late_or_are_withdrawn_change_no_other(assay: Assay, tmp_path: Path):
    folder = make(tmp_path / "e")
    _, before = judged(folder)
    (folder / "r" / "bad.txt").rename(folder / "gone.txt")
    (folder / "late.txt").write_text("1 Q0 new 1 2 late\n1 Q0 d1 2 1 late\n")
    toml = (folder / "assay.toml").read_text()
    more = 'late_runs = ["late.txt"]\nwithdrawn_runs = ["gone.txt"]'
    (folder / "assay.toml").write_text(toml.replace("[inputs]", f"[inputs]\n{more}"))
    tally, after = judged(folder)
    assert tally.asked == 0
    assert "bad" not in after.findings.scores
    assert before.findings.ranked.qrels == after.findings.ranked.qrels
    assert values(before, "ret") == values(after, "ret")
    assert 0 < values(after, "late")["Recall@100"] < 1
    assert any("(late: 50 %)" in gap.what for gap in after.gaps)
    (folder / "gone.txt").write_text("01 Q0 d1 1 1 bad\n")
    _, astray = judged(folder)
    assert any("r_runs, bad: 1 topic is not among the narr" in one for one in astray.warnings)
    (folder / "gone.txt").write_text("1 Q0 d1 1 1 late\n")
    assert "The run in late.txt is also called 'late'" in assay("score", folder).stderr


def test_a_segment_has_one_text_in_all_files(tmp_path: Path):
    folder = make(tmp_path / "e")
    lines(folder / "more.jsonl", [{**rows_of(folder / "segments.jsonl")[0], "segment": "Other."}])
    toml = (folder / "assay.toml").read_text()
    wider = toml.replace('["segments.jsonl"]', '["segments.jsonl", "more.jsonl"]')
    (folder / "assay.toml").write_text(wider)
    with pytest.raises(FormatError, match="different text in another file"):
        judged(folder)


def test_judgment_runs_off_the_scale_have_no_kappa(tmp_path: Path):
    folder = make(tmp_path / "e")
    (folder / "rj" / "rj.txt").write_text("1 Q0 d1 9 1 rj\n1 Q0 d2 9 1 rj\n1 Q0 d3 1 1 rj\n")
    _, result = judged(folder)
    found = values(result, "rj")
    assert found["kappa"] is None
    assert found["agreement"] == 0.0
    assert (found["pairs_agree"], found["pairs_tie"]) == (
        pytest.approx(2 / 4),
        pytest.approx(1 / 4),
    )  # the pair of topic 2 is not judged


def test_faults_of_all_inputs_come_at_once(tmp_path: Path):
    folder = make(tmp_path / "e")
    (folder / "rag" / "bad.jsonl").write_text("{}\n")
    (folder / "r" / "bad.txt").write_text("1 Q0 d1\n")
    with pytest.raises(FormatError) as error:
        opened(folder)
    assert {Path(fault.file).name for fault in error.value.faults} == {"bad.jsonl", "bad.txt"}


def test_hostile_texts_stay_texts(tmp_path: Path, assay: Assay):
    folder = make(tmp_path / "e")
    evil = "<script>alert(1)</script>"
    record = rows_of(folder / "rag" / "poor.jsonl")
    record[0]["answer"][0]["text"] = f"Rivers {evil} {{{{ 7 * 7 }}}}"
    lines(folder / "rag" / "poor.jsonl", record)
    done = assay("evaluate", folder, env=ENV)
    assert done.returncode == 0, done.stderr
    page = (folder / "out" / "report.html").read_text()
    assert evil not in page
    assert "&lt;script&gt;" in page


def test_answers_are_what_the_ledger_knows_them_by(tmp_path: Path):
    """The ledger holds no run names: labels are about contents alone."""
    folder = make(tmp_path / "e")
    judged(folder)
    text = b"".join(
        str(row).encode()
        for row in sqlite3.connect(folder / "labels.sqlite").execute("SELECT content FROM units")
    )
    assert all(name.encode() not in text for name in ANSWERS)


def twelve_nuggets(folder: Path) -> Path:
    """Three windows of the same four kinds, none of which is a sub-narrative of the topic."""
    make(folder, inputs='nuggets = "bank.jsonl"', settings="nugget_window = 4")
    toml = (folder / "assay.toml").read_text()
    (folder / "assay.toml").write_text(
        toml.replace(
            "[settings]", '"trec_rag.mapping" = "tests.trec_rag.judge:sorting"\n[settings]'
        )
    )
    kinds = ("boats", "tolls", "mules", "weirs")
    nuggets = [{"text": f"fact {n} of {kind}"} for n in range(3) for kind in kinds]
    bank = [{"qid": one, "query": "", "nuggets": nuggets if one == "1" else []} for one in "12"]
    lines(folder / "bank.jsonl", bank)
    return folder


def sub_narratives_of_topic_1(folder: Path) -> set[str]:
    [row] = [one for one in rows_of(folder / "out" / "nuggets.jsonl") if one["qid"] == "1"]
    return {one["mapped_sub_narrative"] for one in row["nuggets"]}


def test_windows_see_the_sub_narratives_that_those_before_them_found(tmp_path: Path):
    folder = twelve_nuggets(tmp_path / "e")
    tally, result = judged(folder)
    assert (tally.failed, result.lacking) == (0, 0)
    assert len([one for one in labels_of(folder) if one.task == "trec_rag.mapping"]) == 3
    assert len(sub_narratives_of_topic_1(folder)) == 4  # each window would have made its own four
    asked = [
        one["unit"]["sub_narratives"]
        for one in rows_of(folder / "out" / "labels.jsonl")
        if one["task"] == "trec_rag.mapping"
    ]
    assert sorted(map(len, asked)) == [2, 6, 6]
    assert judged(folder)[0].asked == 0


def test_windows_that_were_asked_alone_keep_their_labels(tmp_path: Path):
    folder = twelve_nuggets(tmp_path / "e")
    narratives = {one["id"]: one for one in NARRATIVES}
    nuggets = rows_of(folder / "bank.jsonl")[0]["nuggets"]
    alone = [
        MappingUnit(
            narrative=narratives["1"]["title"],
            sub_narratives=tuple(narratives["1"]["queries"]),
            nuggets=tuple(one["text"] for one in nuggets[start : start + 4]),
        )
        for start in (0, 4, 8)
    ]
    evaluation = opened(folder)
    with evaluation.folder.open_ledger() as ledger:
        labeller = evaluation.labellers()[MAPPING.name]
        requests = [Request(MAPPING, unit, topic="1") for unit in alone]
        assert ask([("as before", plan(ledger, labeller, requests))], ledger).asked == 3
    _, result = judged(folder)
    assert result.lacking == 0
    assert len([one for one in labels_of(folder) if one.task == MAPPING.name]) == 3
    assert len(sub_narratives_of_topic_1(folder)) == 12  # as it was


def test_support_in_context_has_the_title_and_the_sentences_before(tmp_path: Path):
    folder = make(tmp_path / "e", settings='support = "in-context"')
    _, result = judged(folder)
    assert result.lacking == 0
    asked = [
        one["unit"] for one in rows_of(folder / "out" / "labels.jsonl")
        if one["task"].startswith("trec_rag.support")
    ]  # fmt: skip
    by_sentence = {one["sentence"]: one for one in asked}
    assert len(asked) == len(by_sentence) == 4
    [second] = [one for one in asked if one["sentence"] == "Locks lift boats between levels."]
    assert (second["title"], second["before"]) == ("d2", [ANSWERS["good"]["1"][0][0]])
    assert by_sentence["Rivers meander because banks erode outside."]["before"] == []
    assert values(result, "good")["weighted_recall"] == pytest.approx((2 / 3 + 1) / 2)
    assert judged(folder)[0].asked == 0
    # Labels of sentences alone are another task's: nothing of it is taken for this one.
    toml = (folder / "assay.toml").read_text().replace('support = "in-context"', "")
    (folder / "assay.toml").write_text(toml)
    assert judged(folder)[0].asked == 4
    unit = SUPPORT_IN_CONTEXT.unit
    with_both = Renderer().chat(SUPPORT_IN_CONTEXT, unit.model_validate(second))[1]["content"]
    alone = unit.model_validate({**second, "title": "", "before": []})
    bare = Renderer().chat(SUPPORT_IN_CONTEXT, alone)[1]["content"]
    names = ("TITLE", "PASSAGE", "SENTENCES BEFORE", "SENTENCE")
    places = [re.search(rf"^\W*{name}\b(?! BEFORE)", with_both, re.M) for name in names]
    assert [one.start() for one in places] == sorted(one.start() for one in places)
    assert "TITLE" not in bare
    assert "SENTENCES BEFORE" not in bare
    network = unit_questions(SUPPORT_IN_CONTEXT, unit.model_validate(second))[0]
    assert "d2" in network[0].second
    assert "meander" not in network[0].first


def test_nuggets_grow_from_window_to_window_in_one_run(tmp_path: Path):
    """A step whose questions hang on its own labels is asked again until there is nothing new."""
    evaluation = opened(make(tmp_path / "e", settings="documents = 1"))
    with evaluation.folder.open_ledger() as ledger:
        first = evaluation.judge(ledger)
        asked = [content for _, content in ledger.unit_contents([CREATE.name])]
        second = evaluation.judge(ledger)
        forecast = evaluation.look_ahead(ledger)
    by_topic = [[len(one["nuggets"]) for one in asked if one["narrative"] == topic]
                for topic in {one["narrative"] for one in asked}]  # fmt: skip
    assert max(map(len, by_topic)) > 1
    assert all(shown == sorted(shown) and shown[0] == 0 for shown in by_topic)
    assert (second.asked, second.known) == (0, first.asked + first.known)
    assert [title for title, _ in forecast.plans].count("nuggets") == 1


def test_support_labels_of_citations_that_an_answer_does_not_have_are_told(tmp_path: Path):
    folder = make(tmp_path / "e", inputs='support = "support.jsonl"')
    said = [[("d1", 2)], [("d3", 2), ("d1", 1)], [("d1", 2)]]
    sentences = [
        {"text": "", "citations": [{"reference": doc, "support": code} for doc, code in cited]}
        for cited in said
    ]
    lines(folder / "support.jsonl", [{"topic_id": "1", "run_id": "good", "sentences": sentences}])
    evaluation = opened(folder)
    [told] = [one for one in evaluation.warnings if "do not have" in one]
    assert told.startswith("2 given support labels are for citations that the runs do not have")
    fitted = evaluation.inputs.support["good", "1"].sentences
    assert [[one.reference for one in each.citations] for each in fitted] == [
        ["d1"],
        ["d2", "d1"],
        [],
    ]
    worth = [[one.support and one.support.value for one in each.citations] for each in fitted]
    assert worth == [["full"], [None, "partial"], []]


@pytest.mark.parametrize(("topics", "told"), [(10, True), (9, False)])
def test_a_run_that_is_anothers_copy_is_told_of(
    assay: Assay, tmp_path: Path, topics: int, told: bool
):
    inputs, settings = 'qrels = "qrels.txt"', 'relevance = "none"\nmeasures = ["nDCG@5"]\n'
    folder = without_answers(make(tmp_path / "e", inputs=inputs, settings=settings))
    numbers = range(1, topics + 1)
    lines(folder / "narratives.jsonl", [{"id": str(n), "title": f"Why {n}?"} for n in numbers])
    rows = [f"{n} 0 d{n * rank} {rank}\n" for n in numbers for rank in (1, 2, 3)]
    (folder / "qrels.txt").write_text("".join(rows))
    (folder / "rj" / "rj.txt").write_text("1 Q0 d1 1 1 rj\n")
    # The relevant document of a topic stands as deep as its number has it; of a third run of one
    # topic deeper.
    for run, last in (("one", 0), ("two", 0), ("three", 1)):
        ranked = [
            f"{n} Q0 {doc} {rank} {9 - rank} {run}\n"
            for n in numbers
            for rank, doc in enumerate(
                [f"x{n}-{k}" for k in range(n % 5 + last * (n == 1))] + [f"d{n}"], 1
            )
        ]
        (folder / "r" / f"{run}.txt").write_text("".join(ranked))
    for path in ("ret", "bad"):
        (folder / "r" / f"{path}.txt").unlink()
    said = assay("score", folder).stderr
    assert ("The runs one, two score the same on all 10 topics" in said) == told, said
    assert "three score" not in said
