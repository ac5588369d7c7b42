"""Pairs judged one by one, from Python and by ``assay label``."""

from __future__ import annotations

import asyncio
import csv
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import assay as package
from assay.labellers.judge.unread import unread
from assay.model.errors import FormatError, LabellerUnreachable, SettingsError
from assay.tasks.exam import SELF_RATING, RatingUnit
from assay.tasks.r2c2 import ANSWER, AnswerUnit
from assay.tasks.trec_rag import SUPPORT, SupportUnit
from tests.conftest import ROOT, Assay

EXAMPLES = ROOT / "examples" / "label"
TOWER = "The Eiffel Tower stands in Paris. It was finished in 1889."


class Judge:
    """Says full where the claim is in the passage, and counts what it is asked."""

    version = "1"

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def __call__(self, task: str, unit: Mapping[str, Any]) -> dict[str, Any] | None:
        self.asked[unit["sentence"]] += 1
        if "silent" in unit["sentence"]:
            return None
        if "broken" in unit["sentence"]:
            return {"support": f"{unit['sentence']}?"}
        found = unit["sentence"] in unit["passage"]
        return {"support": "full" if found else "none", "reason": "looked"}


def claims(*texts: str) -> list[dict[str, Any]]:
    return [{"id": f"c{n}", "claim": text, "passage": TOWER} for n, text in enumerate(texts)]


def write(path: Path, *records: object) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return path


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="session")
def judged() -> dict[str, pl.DataFrame]:
    """The examples, judged by the embedded judge."""
    files = {"support": "claims", "answers": "questions", "correct": "answers"}
    return {
        task: package.label(task, lines(EXAMPLES / f"{name}.jsonl"))  # type: ignore[arg-type]
        for task, name in files.items()
    }


def test_the_embedded_judge_says_yes_and_no_with_a_probability(judged: dict[str, pl.DataFrame]):
    support = judged["support"]
    assert support.columns == ["id", "task", "label", "yes", "reason", "warning"]
    assert support["label"].to_list() == ["yes", "no", "no"]
    assert support["yes"][0] > 0.8 > 0.2 > support["yes"][1]
    assert support["warning"].to_list() == [None, None, "the passage is empty"]
    assert judged["answers"]["id"].to_list() == [1, 2]
    assert judged["answers"]["label"].to_list() == ["yes", "no"]
    assert judged["answers"]["yes"].to_list() == pytest.approx([0.86, 0.20], abs=0.03)


def test_a_rule_against_the_network_leaves_no_probability(judged: dict[str, pl.DataFrame]):
    right, wrong, declined = judged["correct"].iter_rows(named=True)
    assert (right["label"], wrong["label"], declined["label"]) == ("yes", "no", "no")
    assert right["yes"] > 0.5 > wrong["yes"]
    assert declined["yes"] is None
    assert "rules on refusals" in declined["warning"]
    assert "declines to answer" in declined["warning"]


def test_what_is_said_of_an_answer_is_told_apart_by_semicolons_alone():
    empty = {"id": "1", "question": "Who wrote it?", "answer": "", "gold": ["Ada"]}
    (said,) = package.label("correct", [empty])["warning"]
    assert said.endswith("; the answer is empty")
    assert ".;" not in said


def test_without_gold_answers_the_embedded_judge_has_no_label_and_says_why():
    (row,) = package.label(
        "correct", [{"id": 1, "question": "Who?", "answer": "Ada", "gold": []}]
    ).to_dicts()
    assert row["label"] is None
    assert row["warning"].startswith("no label: there are neither gold answers")
    assert "there is no gold answer to compare with" in row["warning"]


def test_what_the_judge_does_not_read_is_told():
    long = "word " * 200
    assert "160 tokens of the claim" in unread(SUPPORT, SupportUnit(passage="a", sentence=long))[0]
    (said,) = unread(SUPPORT, SupportUnit(passage=long * 40, sentence="A claim."))
    assert "8,000 tokens, but only 24 windows" in said
    assert unread(SUPPORT, SupportUnit(passage=long * 10, sentence="A claim.")) == []
    (said,) = unread(SELF_RATING, RatingUnit(passage="A text.", question="why " * 17))
    assert "17 words" in said
    said = "; ".join(unread(ANSWER, AnswerUnit(question=long, answer=long, gold=(long,))))
    assert "first 90" in said
    assert "last 40" in said
    assert "48 words" in said


def test_frames_and_records_say_the_same():
    records = [{"id": 7, "claim": "It was finished in 1889.", "passage": TOWER, "extra": 1}]
    import pandas as pd  # half a second for each process of tests

    made = pl.DataFrame(records)
    frames = (made, made.lazy(), made.to_arrow(), pd.DataFrame(records))
    for given_ in (records, iter(records), *frames):
        found = package.label("support", given_, Judge())
        assert found.rows() == [(7, "support", "yes", None, "looked", None)]
    gold = pd.DataFrame({"question": ["Who?"], "answer": ["Ada"], "gold": [["Ada"]]})
    assert package.label("correct", gold, "rules")["label"].to_list() == ["yes"]


def test_records_without_ids_are_numbered_from_0():
    records = [{"claim": "a", "passage": "a"}, {"claim": "b", "passage": "a"}]
    assert package.label("support", records, Judge())["id"].to_list() == [0, 1]


def test_it_works_where_an_event_loop_runs_as_in_a_notebook():
    async def cell() -> pl.DataFrame:
        return package.label("support", claims("Paris"), Judge())

    assert asyncio.run(cell())["label"].to_list() == ["yes"]


def test_an_unreachable_labeller_leaves_its_answers_where_the_error_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def judge(task: str, unit: Mapping[str, Any]) -> dict[str, Any]:
        if "bad" in unit["sentence"]:
            raise OSError("gone")
        return {"support": "full"}

    with pytest.raises(LabellerUnreachable) as caught:
        package.label("support", claims("a", "b", "c bad"), judge)
    (note,) = caught.value.__notes__
    path = note.partition("kept in ")[2].partition(":")[0]
    found = package.label("support", claims("a", "b"), judge, ledger=path)
    assert found["label"].to_list() == ["yes", "yes"]


def test_faults_of_records_come_all_at_once():
    records: list[Any] = [
        {"id": "a", "claim": "x", "passage": 3},
        {"id": "a", "claim": "x", "passage": "y"},
        {"claim": "x", "passage": "y"},
        {"id": True, "claim": "x", "passage": "y"},
        {"id": "b", "passage": "\ud800"},
        "text",
    ]
    with pytest.raises(FormatError) as caught:
        package.label("support", records, Judge())
    assert [fault.line for fault in caught.value.faults] == [1, 2, 3, 4, 5, 5, 6]
    with pytest.raises(SettingsError, match="task is 'supports'; it must be one of 'support'"):
        package.label("supports", [])  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="must be a frame or a list"):
        package.label("support", "file.jsonl")
    assert package.label("support", [], Judge()).columns[0] == "id"


@pytest.mark.filterwarnings("ignore:The labeller gave no answer")
@settings(max_examples=25)
@given(
    st.lists(st.sampled_from(["Paris", "Rome", "1889", "silent", "broken"]), max_size=12),
    st.integers(0, 12),
    st.booleans(),
)
def test_order_and_ids_hold_and_nothing_is_asked_twice(texts: list[str], cut: int, numbers: bool):
    records = [
        {"id": n if numbers else f" {n}", "claim": text, "passage": TOWER}
        for n, text in enumerate(texts)
    ]
    judge = Judge()
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder) / "labels.sqlite"
        package.label("support", records[:cut], judge, ledger=ledger)
        first = Counter(judge.asked)
        found = package.label("support", records, judge, ledger=ledger)
        again = package.label("support", records, judge, ledger=ledger)
    assert found["id"].to_list() == [record["id"] for record in records]
    expected = {"Paris": "yes", "1889": "yes", "Rome": "no"}
    assert found["label"].to_list() == [expected.get(text) for text in texts]
    assert all((label is None) <= (said is not None) for *_, label, _, _, said in found.rows())
    assert found.equals(again)
    for text, count in judge.asked.items():
        assert count == 1 or text == "silent"
    assert first.keys() >= set(texts[:cut])


# -- the command ----------------------------------------------------------------------------------


def recorded(path: Path, *labels: tuple[str, str]) -> str:
    write(
        path,
        *(
            {"task": "trec_rag.support", "unit": {"passage": TOWER, "sentence": claim},
             "verdict": {"support": said, "reason": "said"}}
            for claim, said in labels
        ),
    )  # fmt: skip
    return f"recorded:{path}"


def test_the_command_writes_lines_in_order_and_goes_on_where_it_stopped(
    assay: Assay, tmp_path: Path
):
    file = write(tmp_path / "in.jsonl", *claims("b", "a", "c", "a"))
    who = recorded(tmp_path / "said.jsonl", ("a", "full"), ("b", "partial"))
    at = tmp_path / "out" / "labels.jsonl"
    done = assay("label", file, "--task", "support", "-o", at, "--labeller", who)
    assert done.returncode == 1, done.stderr
    assert [one["label"] for one in lines(at)] == ["partly", "yes", None, "yes"]
    assert [one["id"] for one in lines(at)] == ["c0", "c1", "c2", "c3"]
    assert lines(at)[2]["warning"] == "no label: the labeller has nothing to say about it"
    assert list(lines(at)[0]) == ["id", "task", "label", "yes", "reason", "warning"]
    assert (tmp_path / "out" / "labels.sqlite").exists()
    assert (tmp_path / "out" / "labels.manifest.json").exists()
    recorded(tmp_path / "said.jsonl", ("c", "none"))
    done = assay("label", file, "--task", "support", "-o", at, "--labeller", who, "--json")
    document = json.loads(done.stdout)
    assert done.returncode == 0
    assert (document["judging"]["known"], document["judging"]["asked"]) == (2, 1)
    assert [one["label"] for one in document["labels"]] == ["partly", "yes", "no", "yes"]
    assert document["labels"] == lines(at)


def test_what_is_wrong_with_a_file_is_told_at_once(assay: Assay, tmp_path: Path):
    file = tmp_path / "in.jsonl"
    file.write_text('{"id": 1, "claim": "a"}\nnot json\n{"id": "1", "claim": 2, "passage": "b"}\n')
    done = assay("label", file, "--task", "support")
    assert done.returncode == 2
    for said in (
        "4 faults",
        "in.jsonl:1 [1] The record has no 'passage'",
        "in.jsonl:2",
        "in.jsonl:3 [1] The id “1” is already in record 1",
        "'claim' is not a text",
    ):
        assert said in done.stderr
    assert assay("label", write(file), "--task", "support").returncode == 2
    assert assay("label", tmp_path / "none", "--task", "support").returncode == 2
    file = write(file, *claims("a"))
    assert "Choose another" in assay("label", file, "--task", "support", "-o", file).stderr


def test_a_dry_run_asks_nothing_and_csv_holds_the_same(assay: Assay, tmp_path: Path):
    file = EXAMPLES / "claims.jsonl"
    ahead = json.loads(assay("label", file, "--task", "support", "--dry-run", "--json").stdout)
    assert ahead["ahead"][0]["to_ask"] == 3
    who = ("--labeller", "openai:m@http://127.0.0.1:9/v1")
    shown = assay("label", file, "--task", "support", "--show-prompts", "1", *who)
    assert "Eiffel" in shown.stdout
    budget = assay("label", file, "--task", "support", "--budget", "1", *who)
    assert budget.returncode == 2
    assert "--price IN/OUT" in budget.stderr
    who = ("--labeller", recorded(tmp_path / "said.jsonl"))
    done = assay("label", file, "--task", "support", "--csv", *who)
    assert done.stdout.splitlines()[0] == "id,task,label,yes,reason,warning"
    assert done.returncode == 1


def test_a_labeller_that_is_not_there_ends_with_status_3_and_names_the_ledger(
    assay: Assay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "judging_for_label.py").write_text(
        "def judge(task, unit):\n"
        "    if unit['sentence'] == 'b': raise OSError('gone')\n"
        "    return {'support': 'full'}\n"
    )
    file = write(tmp_path / "in.jsonl", *claims("a", "b"))
    env = {"PYTHONPATH": str(tmp_path)}
    done = assay(
        "label", file, "--task", "support", "--labeller", "judging_for_label:judge", env=env
    )
    assert done.returncode == 3
    assert "1 answers are kept in" in done.stderr


# -- importing ------------------------------------------------------------------------------------


def test_importing_assay_loads_nothing():
    code = "import sys; import assay; print(sorted(n for n in sys.modules if 'assay' in n))"
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env
    )
    assert done.stdout.strip() == "['assay', 'assay.model', 'assay.model.version']"


def test_what_assay_names_is_there():
    for name in package.__all__:
        assert getattr(package, name) is not None
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match="no attribute 'labels'"):
        _ = package.labels


def test_a_table_has_the_labels_of_the_same_records(tmp_path: Path, assay: Assay):
    lines = (EXAMPLES / "claims.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    expected = json.loads(
        assay("label", EXAMPLES / "claims.jsonl", "--task", "support", "--json").stdout
    )
    for name, mark in (("a.csv", ","), ("b.csv", ";"), ("c.tsv", "\t")):
        with (tmp_path / name).open("w", encoding="utf-8-sig", newline="") as file:
            writer = csv.DictWriter(file, ["passage", "ID", "claim"], delimiter=mark)
            writer.writeheader()
            for one in records:
                writer.writerow({"ID": one["id"], "claim": one["claim"], "passage": one["passage"]})
        done = assay("label", tmp_path / name, "--task", "support", "--json")
        assert json.loads(done.stdout)["labels"] == expected["labels"], done.stderr
    for name, mark in (("out.csv", ","), ("out.tsv", "\t")):
        assay("label", tmp_path / "a.csv", "--task", "support", "-o", tmp_path / name)
        with (tmp_path / name).open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, delimiter=mark))
        assert [row["label"] for row in rows] == [one["label"] for one in expected["labels"]]


def test_an_output_that_is_called_compressed_is_refused(tmp_path: Path, assay: Assay):
    for name in ("out.csv.gz", "out.jsonl.bz2"):
        out = tmp_path / name
        done = assay("label", EXAMPLES / "claims.jsonl", "--task", "support", "-o", out)
        assert (done.returncode, "output is not compressed. Name it out." in done.stderr) == (
            2,
            True,
        )
    done = assay("label", EXAMPLES / "claims.jsonl", "--task", "support", "-o", tmp_path)
    assert (done.returncode, "is a folder. Name a file." in done.stderr) == (2, True)
    assert not list(tmp_path.iterdir())


def test_rows_without_ids_are_numbered_and_gold_answers_may_be_several(
    tmp_path: Path, assay: Assay
):
    table = tmp_path / "t.csv"
    table.write_text('question,answer,gold\nWho?,Roma,"[""Rome"", ""Roma""]"\nWhen?,1889,1889\n')
    done = assay("label", table, "--task", "correct", "--json")
    labels = json.loads(done.stdout)["labels"]
    assert [(one["id"], one["label"]) for one in labels] == [("1", "yes"), ("2", "yes")]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("id,claim\n1,x\n", "t.csv:1 The header lacks passage; it has id, claim."),
        ("id,claim,passage\n1,x,y\n1,x,y\n", "t.csv:3 [1] The id “1” is already in"),
        ("id,claim,passage\n,x,y\n", "t.csv:2 The record has no id."),
        ("id,claim,passage\n", "The file holds no record."),
        ("", "The file holds no record."),
    ],
)
def test_faults_of_a_table_are_told(tmp_path: Path, assay: Assay, text: str, says: str):
    (tmp_path / "t.csv").write_text(text)
    done = assay("label", tmp_path / "t.csv", "--task", "support")
    assert done.returncode == 2
    assert says in done.stderr


def test_gold_that_is_nearly_a_list_is_one_text_and_said_to_be(tmp_path: Path, assay: Assay):
    nearly = ["['Rome', 'Roma']", '["Rome", "Roma"', "[“Rome”, “Roma”]", "[Rome, Roma]"]
    texts = [*nearly, "[sic] Rome", "Rome [the city]"]
    rows = [{"question": "Which?", "answer": "Rome", "gold": text} for text in texts]
    as_json = '["Rome"]'  # of a table a list, in JSON Lines a text like the others
    rows.append({"question": "Which?", "answer": "Rome", "gold": as_json})
    with (tmp_path / "t.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    write(tmp_path / "t.jsonl", *({"id": n, **row} for n, row in enumerate(rows, 1)))
    for name, named in (("t.csv", "2–5 (4 lines)"), ("t.jsonl", "1–4,7 (5 lines)")):
        done = assay("label", tmp_path / name, "--task", "correct", "--labeller", "rules")
        (said,) = [one for one in done.stderr.splitlines() if "looks like a list" in one]
        assert f"{name}:{named} 'gold'" in said
        assert said.endswith('write a list in JSON: ["…", "…"].')
    with pytest.warns(UserWarning, match=r"records:1 \[0\] 'gold' looks like a list") as caught:
        package.label("correct", rows[:1], "rules")
    assert caught[0].filename == __file__


def test_cells_of_a_table_may_be_as_long_as_they_are(tmp_path: Path, assay: Assay):
    long = f"{'The tower is old. ' * 8_000}It stands in Paris."
    table, who = tmp_path / "t.csv", recorded(tmp_path / "said.jsonl")
    table.write_text(f"claim,passage\nIt stands in Paris.,{long}\nIt stands in Rome.,No.\n")
    done = assay("label", table, "--task", "support", "--json", "--labeller", who)
    assert [one["id"] for one in json.loads(done.stdout)["labels"]] == ["1", "2"], done.stderr
    table.write_text(f'claim,passage\nx,y\nIt stands in Paris.,"{long}\nz,y\n')
    done = assay("label", table, "--task", "support")
    assert "t.csv:3 The line is not valid CSV" in done.stderr
    assert "quote" in done.stderr
