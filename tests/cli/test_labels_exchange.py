"""Labels go out as JSON Lines and come back as a person edited them, for every protocol."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from assay.api.labels import found_labels, with_contents
from assay.ledger import Ledger, incoming
from assay.ledger.exchange import person_label
from assay.model.labels import LabellerId
from assay.tasks.trec_rag_nuggets import IMPORTANCE
from tests.conftest import copy_example
from tests.engine.test_ledger import label
from tests.trec_rag.cases import make as make_trec_rag

Row = dict[str, Any]


@pytest.fixture
def example(tmp_path: Path, assay) -> Callable[[str], Path]:
    """An example of a protocol, judged in a folder of its own."""

    def make(name: str) -> Path:
        folder = tmp_path / name
        if name == "trec-rag":
            make_trec_rag(folder)
            assert assay("judge", folder).returncode == 0
            return folder
        copy_example(name, folder, recorded=True)
        done = assay("judge", folder)
        assert done.returncode == 0, done.stderr
        return folder

    return make


@pytest.fixture
def slide(evaluated_slide: Path, tmp_path: Path) -> Path:
    ignore = shutil.ignore_patterns("out")
    return Path(shutil.copytree(evaluated_slide, tmp_path / "slide", ignore=ignore))


def exported(assay, folder: Path) -> list[Row]:
    done = assay("labels", "export", folder)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def write(folder: Path, rows: list[Row]) -> Path:
    path = folder / "edited.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def changed(verdict: Any) -> Any:
    """Another verdict that fits: whatever is yes or no, turned round; a grade, lowered."""
    if isinstance(verdict, bool):
        return not verdict
    if isinstance(verdict, int):
        return verdict - 1 if verdict else 1
    if isinstance(verdict, list):
        return [changed(one) for one in verdict]
    if isinstance(verdict, dict):
        return {
            name: value if name in ("reason", "nugget", "sub_narrative") else changed(value)
            for name, value in verdict.items()
        }
    others = {
        "full": "partial", "partial": "none", "none": "full", "vital": "okay", "okay": "vital",
        "support": "not_support", "perfectly": "partially", "partially": "no", "no": "perfectly",
        "left": "right", "right": "left", "answer": "dont_know", "little": "much",
        "partial_support": "support", "not_support": "support",
    }  # fmt: skip
    return others.get(verdict, f"{verdict}, edited")


@pytest.mark.parametrize("name", ["slide", "exam", "sgss", "trec-rag"])
def test_edited_verdicts_of_every_task_come_back_once(example, assay, name: str):
    folder = example(name)
    rows = exported(assay, folder)
    tasks = {"slide": 3, "exam": 1, "sgss": 5, "trec-rag": 5}
    assert len({row["task"] for row in rows}) >= tasks[name]
    edited = [{**row, "verdict": changed(row["verdict"])} for row in rows]
    file = write(folder, edited)
    refused = assay("labels", "import", folder, file)
    assert refused.returncode == 2
    assert "--by human:NAME" in refused.stderr
    first = assay("labels", "import", folder, file, "--by", "human:KIM", "--json")
    assert first.returncode == 0, first.stderr
    document = json.loads(first.stdout)
    assert (document["added"], document["known"], document["outdated"]) == (len(rows), 0, 0)
    after = exported(assay, folder)
    assert [{**row, "places": 0} for row in after[: len(rows)]] == [
        {**row, "places": 0} for row in rows
    ]
    for old, new in zip(rows, after[len(rows) :], strict=True):
        assert new["overrules"] == old["uid"]
        assert new["labeller"] == {"name": "human:KIM", "kind": "human", "params": {}}
        assert new["reason"] is None
        assert '"reason": "s' not in json.dumps(new["verdict"])
    again = assay("labels", "import", folder, file, "--by", "human:KIM", "--json")
    assert json.loads(again.stdout)["added"] == 0
    assert assay("labels", "import", folder, write(folder, after)).returncode == 0
    assert exported(assay, folder) == after
    scored = assay("score", folder)
    assert (scored.returncode, "Traceback" in scored.stderr) in ((0, False), (1, False))


def test_every_label_says_where_it_is_used(slide, assay):
    rows = exported(assay, slide)
    places = {row["task"]: row["places"] for row in rows}
    at = {"run": "SLIDE", "topic": "0001"}
    assert places["r2c2.answer"] == [{**at, "position": "answer"}]
    assert {row["places"][0]["position"] for row in rows} == {
        "answer", "dialogue act", *(f"nugget {number}" for number in range(1, 6)),
    }  # fmt: skip


def test_a_label_of_equal_units_names_every_place(slide, assay):
    shutil.copy(slide / "ac" / "SLIDE.txt", slide / "ac" / "OTHER.txt")
    rows = exported(assay, slide)
    answer = next(row for row in rows if row["task"] == "r2c2.answer")
    assert [place["run"] for place in answer["places"]] == ["OTHER", "SLIDE"]
    listed = assay("labels", "list", slide, "--task", "answer").stdout
    assert "is one label for 2 identical places: OTHER 0001 answer, SLIDE" in listed
    assert assay("evaluate", slide).returncode == 0
    report = (slide / "out" / "report.html").read_text()
    assert "The same as OTHER 0001 answer, so they share one label." in report
    assert "The same as SLIDE 0001 nugget 5, so they share one label." in report


def test_a_file_that_the_system_refuses_is_named_without_a_traceback(slide, assay):
    done = assay("labels", "export", slide, "-o", slide / ("x" * 300))
    assert done.returncode == 2
    assert done.stderr == f"assay: {slide / ('x' * 300)}: File name too long.\n"


def test_without_its_inputs_a_folder_still_exports(slide, assay):
    (slide / "questions.tsv").unlink()
    done = assay("labels", "export", slide)
    assert done.returncode == 0
    assert "the places that use labels are left out" in done.stderr
    assert all(json.loads(line)["places"] == [] for line in done.stdout.splitlines())


def test_a_reason_of_ones_own_is_kept_and_the_machines_is_not(slide, assay):
    row = next(row for row in exported(assay, slide) if row["task"] == "r2c2.answer")
    row["verdict"]["correct"] = False
    row["verdict"]["nuggets"][0]["reason"] = "names no film"
    row["reason"] = "wrong film"
    assay("labels", "import", slide, write(slide, [row]), "--by", "human:KIM")
    new = exported(assay, slide)[-1]
    assert new["reason"] == "wrong film"
    assert new["verdict"]["reason"] == ""
    reasons = [one["reason"] for one in new["verdict"]["nuggets"]]
    assert reasons == ["names no film", "", "", ""]


def test_the_uid_and_the_verdict_are_all_that_must_come_back(slide, assay):
    row = next(row for row in exported(assay, slide) if row["task"] == "r2c2.entailment")
    short = {"uid": row["uid"], "verdict": {"entailed": "NO"}}
    done = assay("labels", "import", slide, write(slide, [short]), "--by", "human:KIM")
    assert "1 labels added" in done.stdout, done.stderr
    assert exported(assay, slide)[-1]["overrules"] == row["uid"]


def test_a_label_made_by_hand_is_added_once(slide, assay):
    row = next(row for row in exported(assay, slide) if row["task"] == "r2c2.entailment")
    made = {"task": row["task"], "unit": row["unit"], "verdict": {"entailed": "NO"}}
    file = write(slide, [{**made, "labeller": "human:KIM"}, {**made, "labeller": "human:LEE"}])
    assert "2 labels added, 0 were already known" in assay("labels", "import", slide, file).stdout
    assert "0 labels added, 2 were already known" in assay("labels", "import", slide, file).stdout


def test_a_person_changes_a_label_of_ones_own(slide, assay):
    row = next(row for row in exported(assay, slide) if row["task"] == "r2c2.entailment")
    no = {**row, "verdict": {"entailed": False}, "labeller": "human:KIM"}
    first = write(slide, [no]).rename(slide / "first.jsonl")
    assert "1 labels added" in assay("labels", "import", slide, first).stdout
    own = exported(assay, slide)[-1]
    own["verdict"]["entailed"] = True
    done = assay("labels", "import", slide, write(slide, [own]))
    assert "1 labels added" in done.stdout, done.stderr
    assert exported(assay, slide)[-1]["overrules"] == own["uid"]
    again = assay("labels", "import", slide, first)
    assert "0 labels added, 1 were already known" in again.stdout
    assert "has given another label since" in again.stdout.replace("\n", " ")


def test_all_faults_of_a_file_are_told_at_once(slide, assay):
    rows = exported(assay, slide)
    entailment = next(row for row in rows if row["task"] == "r2c2.entailment")
    answer = next(row for row in rows if row["task"] == "r2c2.answer")
    kim = {"labeller": "human:KIM"}
    bad = [
        {**entailment, **kim, "verdict": {"entailed": "YES"}},
        {**entailment, **kim, "verdict": {"entailed": "NO"}},
        {**entailment, **kim, "unit": {"passage": "x", "nugget": "y"}},
        {
            **answer,
            **kim,
            "verdict": {"correct": "YES", "nuggets": [{"nugget": 9, "helped": "NO"}]},
        },
        {"uid": answer["uid"], "verdict": None, **kim},
        {**kim, "task": "r2c2.entailment", "unit": {}, "verdict": {"entailed": "NO"}},
    ]
    before = (slide / "labels.sqlite").read_bytes()
    done = assay("labels", "import", slide, write(slide, bad))
    assert done.returncode == 2
    for line, why in (
        (2, "gives another verdict for the same unit on line 1"),
        (3, "The unit of this label was changed"),
        (4, "may hold the numbers 1 to 4"),
        (5, "'verdict'"),
        (6, "'passage' is missing"),
    ):
        assert f"edited.jsonl:{line} " in done.stderr, line
        assert why in done.stderr
    assert len(exported(assay, slide)) == len(rows)
    assert (slide / "labels.sqlite").read_bytes() == before


@pytest.mark.parametrize(
    "name",
    ["KIM", "", "human:", "human: KIM", "human:K\nIM", "human:K\x1b[1mIM", "human:\u202eKIM"],
)
def test_by_names_a_person(slide, assay, name: str):
    row = exported(assay, slide)[0]
    done = assay("labels", "import", slide, write(slide, [row]), "--by", name)
    assert done.returncode == 2
    assert "is not a person's name. Write human:NAME," in done.stderr
    done = assay("labels", "import", slide, write(slide, [{**row, "labeller": {"name": name}}]))
    assert done.returncode == 2
    assert "There is no usable 'labeller'." in done.stderr


@pytest.mark.parametrize("by", [("--by", "human:KIM"), ()])
def test_an_edited_label_of_another_ledger_is_not_taken_for_the_machines(example, assay, by):
    folder = example("slide")
    here = folder.rename(folder.with_name("here"))
    there = exported(assay, example("slide"))
    as_it_was = write(here, there).rename(here / "as_it_was.jsonl")
    row = next(row for row in there if row["task"] == "r2c2.entailment")
    row["verdict"]["entailed"] = not row["verdict"]["entailed"]
    edited = write(here, there)
    done = assay("labels", "import", here, edited, *by)
    assert done.returncode == 2
    line = there.index(row) + 1
    assert f"edited.jsonl:{line} This label is from another ledger, and was changed" in done.stderr
    assert f"{len(there)} labels added" in assay("labels", "import", here, as_it_was).stdout
    done = assay("labels", "import", here, edited, "--by", "human:KIM")
    assert "1 labels added" in done.stdout, done.stderr
    assert exported(assay, here)[-1]["overrules"] == row["uid"]


@pytest.mark.parametrize(
    ("task", "verdict", "field"),
    [
        ("r2c2.entailment", {"entailed": "YES", "entialed": "NO"}, "entialed"),
        (
            "r2c2.answer",
            {"correct": "NO", "nuggets": [{"nugget": 1, "helped": "NO", "why": ""}]},
            "why",
        ),
    ],
)
def test_a_field_that_a_verdict_does_not_have_is_told(slide, assay, task, verdict, field):
    row = next(row for row in exported(assay, slide) if row["task"] == task)
    file = write(slide, [{"uid": row["uid"], "verdict": verdict}])
    done = assay("labels", "import", slide, file, "--by", "human:KIM")
    assert done.returncode == 2
    assert f"edited.jsonl:1 The verdict has no field '{field}'" in done.stderr


def test_lines_are_read_as_editors_save_them(slide, assay):
    rows = exported(assay, slide)
    row = next(row for row in rows if row["task"] == "r2c2.entailment")
    text = json.dumps({**row, "verdict": {"entailed": "NO"}})
    file = slide / "edited.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + text.encode() + b"\r\n")
    done = assay("labels", "import", slide, file, "--by", "human:KIM")
    assert "1 labels added" in done.stdout, done.stderr
    file.write_bytes(gzip.compress(text.encode()))
    assert "0 labels added" in assay("labels", "import", slide, file, "--by", "human:KIM").stdout
    for data, why in (
        (text.encode("utf-16"), "in UTF-16"),
        (json.dumps(row, indent=1).encode(), "one JSON document over several lines"),
        (text[:-9].encode(), "edited.jsonl:1 The line is not JSON"),
        (b"\n\n[1]", "edited.jsonl:3 The line holds no JSON object"),
    ):
        file.write_bytes(data)
        done = assay("labels", "import", slide, file, "--by", "human:KIM")
        assert done.returncode == 2
        assert why in done.stderr


def test_a_dry_run_makes_no_ledger(slide, assay):
    file = write(slide, exported(assay, slide))
    (slide / "labels.sqlite").unlink()
    assert assay("labels", "import", slide, file, "--dry-run").returncode == 2
    assert not (slide / "labels.sqlite").exists()


def test_lines_imported_at_once_are_added_once(slide, assay, assay_process):
    rows = [{**row, "verdict": changed(row["verdict"])} for row in exported(assay, slide)]
    words = ("labels", "import", slide, write(slide, rows), "--by", "human:KIM", "--json")
    with ThreadPoolExecutor() as pool:
        done = [one.result() for one in [pool.submit(assay_process, *words) for _ in range(3)]]
    assert sorted(json.loads(one.stdout)["added"] for one in done) == [0, 0, len(rows)]


def test_rows_are_taken_some_at_a_time_and_all_or_none(slide, assay, monkeypatch):
    monkeypatch.setattr(incoming, "_AT_ONCE", 1)
    rows = exported(assay, slide)
    row = next(row for row in rows if row["task"] == "r2c2.entailment")
    made = {"task": row["task"], "unit_hash": row["unit_hash"], "labeller": "human:KIM"}
    yes, no = ({**made, "verdict": {"entailed": word}} for word in ("YES", "NO"))
    other = {**row, "verdict": {"entailed": "NO"}, "labeller": "human:LEE"}
    refused = assay("labels", "import", slide, write(slide, [yes, other, no, yes]))
    assert (
        "edited.jsonl:3 human:KIM gives another verdict for the same unit on line 1"
        in refused.stderr
    )
    assert exported(assay, slide) == rows
    done = assay("labels", "import", slide, write(slide, [yes, other, yes, row]))
    assert "2 labels added, 2 were already known" in done.stdout, done.stderr


def test_labels_are_listed_as_asked(slide, assay):
    def listed(*options):
        done = assay("labels", "list", slide, "--json", *options)
        return [row["uid"] for row in json.loads(done.stdout)]

    rows = exported(assay, slide)
    uids = [row["uid"] for row in rows][::-1]
    assert listed("--limit", "2") == uids[:2]
    assert listed("--limit", "0") == uids
    task = [row["uid"] for row in rows if row["task"] == "r2c2.entailment"][::-1]
    assert listed("--task", "entailment", "--limit", "3") == task[:3]
    held = rows[0]["unit"]["answer"][:8]
    some = [row["uid"] for row in rows if held.casefold() in json.dumps(row["unit"]).casefold()]
    assert listed("--contains", held) == some[::-1]
    assert f"1 of {len(uids)} labels" in assay("labels", "list", slide, "--limit", "1").stdout


def test_an_unknown_uid_is_named_and_a_wrong_value_told_in_plain_words(slide, assay):
    row = next(row for row in exported(assay, slide) if row["task"] == "r2c2.entailment")
    rows = [
        {"uid": "0" * 32, "verdict": {"entailed": "NO"}},
        {"verdict": {"entailed": "NO"}},
        {"uid": row["uid"], "verdict": {"entailed": "PERHAPS"}},
    ]
    done = assay("labels", "import", slide, write(slide, rows), "--by", "human:KIM")
    assert done.returncode == 2
    assert f"There is no label '{'0' * 32}' in this ledger." in done.stderr
    assert "There is no 'uid' and no 'task'." in done.stderr
    assert "'entailed' must be YES or NO, not “PERHAPS”." in done.stderr


def test_labellers_differ_also_where_as_many_of_a_list_are_of_a_kind(tmp_path, assay):
    (tmp_path / "assay.toml").write_text('[evaluation]\nprotocol = "trec-rag"\n[inputs]\n')
    content = {"narrative": "n", "nuggets": ["a", "b"]}
    with Ledger.open(tmp_path / "labels.sqlite") as ledger:
        for name, said in (("KIM", ["vital", "okay"]), ("LEE", ["okay", "vital"])):
            who = LabellerId(f"human:{name}", "human")
            ledger.add([person_label(who, IMPORTANCE, content, {"labels": said})])
    done = assay("labels", "diff", tmp_path, "human:KIM", "human:LEE")
    assert done.returncode == 1, done.stderr
    assert "1 of 1 units differ" in done.stdout


def test_tasks_that_are_called_alike_are_told_apart_and_small_costs_shown(tmp_path, assay):
    (tmp_path / "assay.toml").write_text('[evaluation]\nprotocol = "exam"\n[inputs]\n')
    with Ledger.open(tmp_path / "labels.sqlite") as ledger:
        for task in ("exam.answer", "r2c2.answer", "exam.self_rating"):
            ledger.add([label(1, task=task, cost=0.0004)])
    told = assay("labels", "stats", tmp_path).stdout.split()
    assert {"exam.answer", "r2c2.answer", "self_rating"} <= {*told}
    assert told.count("0.0004") == 3


def test_one_name_under_two_settings_is_two_labellers(tmp_path, assay):
    (tmp_path / "assay.toml").write_text('[evaluation]\nprotocol = "trec-rag"\n[inputs]\n')
    content = {"narrative": "n", "nuggets": ["a", "b"]}
    low, high = (LabellerId("m", "model", {"threshold": one}) for one in (0.3, 0.7))
    with Ledger.open(tmp_path / "labels.sqlite") as ledger:
        for who, said in ((low, "vital"), (high, "okay")):
            ledger.add([person_label(who, IMPORTANCE, content, {"labels": ["vital", said]})])
    names = [low.exact_name, high.exact_name]
    rows = json.loads(assay("labels", "stats", tmp_path, "--json").stdout)
    assert [(row["labeller"], row["labels"]) for row in rows] == [(one, 1) for one in sorted(names)]
    assert "1 of 1 units differ" in assay("labels", "diff", tmp_path, *names).stdout
    mixed = assay("labels", "diff", tmp_path, "m", "m")
    assert mixed.returncode == 2
    assert all(one in " ".join(mixed.stderr.split()) for one in names)
    for name, count in (("m", 2), (names[0], 1), ("nobody", 0)):
        lines = assay("labels", "export", tmp_path, "--by", name).stdout.splitlines()
        assert len(lines) == count
    refused = assay("labels", "export", tmp_path, "--by", "m", "--parquet", "-o", tmp_path / "x")
    assert refused.returncode == 2


def test_exports_have_the_places_of_what_people_disagree_on(slide, assay):
    (slide / "assay.toml").write_text(
        (slide / "assay.toml").read_text() + '\n[settings]\npolicy = "majority"\n'
    )
    assert assay("judge", slide).returncode == 0
    exported = map(json.loads, assay("labels", "export", slide).stdout.splitlines())
    row = next(one for one in exported if one["task"] == "r2c2.entailment")
    for name, said in (("KIM", "YES"), ("LEE", "NO")):
        mine = {"task": row["task"], "unit": row["unit"], "verdict": {"entailed": said}}
        (slide / "mine.jsonl").write_text(json.dumps(mine) + "\n")
        done = assay("labels", "import", slide, slide / "mine.jsonl", "--by", f"human:{name}")
        assert done.returncode == 0, done.stderr
    (kim,) = assay("labels", "export", slide, "--by", "human:KIM").stdout.splitlines()
    assert json.loads(kim)["places"] == row["places"] != []


def test_labels_may_come_while_others_look_at_them(tmp_path, monkeypatch):
    kim = LabellerId("human:KIM", "human")

    def labelled(narrative):
        content = {"narrative": narrative, "nuggets": ["a"]}
        return person_label(kim, IMPORTANCE, content, {"labels": ["vital"]})

    with Ledger.open(tmp_path / "labels.sqlite") as ledger:
        ledger.add([labelled("n")])

        contents = ledger.contents

        def meanwhile(units):
            ledger.add([labelled("other")])
            return contents(units)

        monkeypatch.setattr(ledger, "contents", meanwhile)
        (label,) = found_labels(ledger)
        assert [content["narrative"] for _, content in with_contents(ledger, [label])] == ["n"]


def test_a_status_that_there_is_not_is_refused(example, assay):
    folder = example("slide")
    assert "0 of 0 labels" in assay("labels", "list", folder, "--status", "failed").stdout
    assert assay("labels", "list", folder, "--status", "bad").returncode == 2
