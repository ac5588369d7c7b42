"""``assay agree`` on records: support, assignments, importance, battles and exported labels, with
reasons, edits and a page of disagreements."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.conftest import copy_example


def lines(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def support(topic: str, run: str, *labels: tuple[str, str, str]) -> dict[str, object]:
    """An answer of a sentence a label: (label, reason, how it was given)."""
    return {
        "narrative_id": topic,
        "run_id": run,
        "sentences": [
            {"text": f"Sentence {place}.",
             "citations": [{"reference": "d", "support": label, "reason": why, "annotation": how}]}
            for place, (label, why, how) in enumerate(labels, 1)
        ],
    }  # fmt: skip


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    a = [
        support("1", "r", ("2", "", ""), ("1", "in part <b>", ""), ("0", "", "")),
        support("2", "s", ("2", "", ""), ("0", "no", ""), ("0", "", "")),
    ]
    b = [
        support("1", "r", ("2", "", "from scratch"), ("2", "says so", "post-edit"),
                ("0", "", "post-edited")),
        support("2", "s", ("2", "", "scratch"), ("2", "yes", "from scratch"), ("0", "", "")),
    ]  # fmt: skip
    return lines(tmp_path / "a.jsonl", *a), lines(tmp_path / "b.jsonl", *b)


def test_support_has_names_edits_and_disagreements_with_both_reasons(assay, pair):
    done = assay("agree", *pair)
    assert "partial" in done.stdout
    assert "from scratch 3 (50%), post-edited 2 (33%), not said 1 (17%)" in done.stdout
    document = json.loads(assay("agree", *pair, "--json", "--by", "edit").stdout)
    assert document["edits"] == {"from scratch": 3, "post-edited": 2, "not said": 1}
    assert {one["edit"]: one["units"] for one in document["by_edit"]} == document["edits"]
    assert document["confusion"]["A_by_B"] == [[2, 0, 1], [0, 0, 1], [0, 0, 2]]
    rows = list(
        csv.DictReader(io.StringIO(assay("agree", *pair, "--disagreements", "--csv").stdout))
    )
    assert [(row["topic"], row["A"], row["why_a"], row["B"], row["why_b"]) for row in rows] == [
        ("2", "none", "no", "full", "yes"),
        ("1", "partial", "in part <b>", "full", "says so"),
    ]
    assert "Sentence 2." in rows[1]["what"]


def test_the_page_lists_disagreements_and_escapes_them(assay, pair, tmp_path):
    page = tmp_path / "page.html"
    assert assay("agree", *pair, "--html", page).returncode == 0
    text = page.read_text()
    assert "Where they differ" in text
    assert "in part &lt;b&gt;" in text
    assert "says so" in text


def nuggets(run: str | None, *labels: tuple[str, str, str]) -> dict[str, object]:
    found = [
        {"text": text, "importance": importance, "assignment": assignment, "reasoning": "because"}
        for text, importance, assignment in labels
    ]
    return {"qid": "1", "query": "q", "run_id": run, "nuggets": found}


def test_assignments_and_their_importance(assay, tmp_path):
    a = lines(
        tmp_path / "a.jsonl",
        nuggets("r", ("x", "vital", "support"), ("y", "okay", "not_support")),
        nuggets("s", ("x", "vital", "support"), ("y", "okay", "partial_support")),
    )
    b = lines(
        tmp_path / "b.jsonl",
        nuggets("r", ("x", "okay", "support"), ("y", "okay", "support")),
        nuggets("s", ("x", "okay", "support"), ("y", "okay", "failed")),
    )
    document = json.loads(assay("agree", a, b, "--json").stdout)
    assert document["units"]["both"] == 3
    assert document["names"]["2"] == "support"
    document = json.loads(assay("agree", a, b, "--json", "--label", "importance").stdout)
    assert document["units"]["both"] == 2  # a nugget's importance is not an answer's
    assert document["confusion"]["A_by_B"] == [[1, 0], [1, 0]]
    assert assay("agree", a, b, "--label", "importance", "--by", "run").returncode == 2


def test_the_dev_nuggets_say_which_were_edited(assay, shared_data):
    file = shared_data / "data" / "trec-rag-2026" / "rag25-dev-nuggets.jsonl"
    document = json.loads(assay("agree", file, file, "--json").stdout)
    assert document["edits"] == {"from scratch": 84, "post-edited": 1171}
    assert document["confusion"]["A_by_B"] == [[330, 0], [0, 925]]


def test_battles_agree_whichever_run_was_shown_first(assay, tmp_path):
    names = ("topic", "run_a", "run_b", "verdict", "reason")
    a = [("1", "x", "y", "A", "clear"), ("2", "x", "y", "B", ""), ("3", "x", "y", "Tie", "")]
    b = [
        ("1", "y", "x", "B", ""),
        ("2", "y", "x", "Tie (Both Bad)", "bad"),
        ("3", "x", "y", "A", ""),
        ("3", "y", "x", "A", ""),
    ]
    files = [
        lines(tmp_path / name, *(dict(zip(names, row, strict=True)) for row in rows))
        for name, rows in (("a.jsonl", a), ("b.jsonl", b))
    ]
    document = json.loads(assay("agree", *files, "--json").stdout)
    assert document["units"]["both"] == 3
    # Topic 3 is a tie in both: B judged it in two orders and contradicts itself.
    assert document["rows"][0]["value"] == pytest.approx(2 / 3)
    (row,) = json.loads(assay("agree", *files, "--disagreements", "--json").stdout)
    assert (row["what"], row["A"], row["B"], row["why_b"]) == (
        "x against y", "second", "tie", "bad",
    )  # fmt: skip


def export(*labels: tuple[str, str, str], task: str = "r2c2.dialogue_act") -> list[dict]:
    return [
        {
            "unit_hash": place,
            "task": task,
            "unit": {"question": "q", "answer": place},
            "labeller": {"name": "human:KIM", "kind": "human"},
            "verdict": {"reason": why, "act": word},
            "reason": why,
            "overrules": None,
            "detail": {"workbench": {"mode": "blind"}},
            "used_at": [place],
        }
        for place, word, why in labels
    ]


def test_exported_labels_are_compared_by_their_words(assay, tmp_path):
    a = lines(tmp_path / "a.jsonl", *export(("R 1", "answer", "x"), ("R 2", "refusal", "y")))
    b = lines(tmp_path / "b.jsonl", *export(("R 1", "refusal", "z"), ("R 2", "refusal", "")))
    document = json.loads(assay("agree", a, b, "--json").stdout)
    assert document["rows"][0]["value"] == 0.5
    assert document["edits"] == {"from scratch": 2}
    (row,) = json.loads(assay("agree", a, b, "--disagreements", "--json").stdout)
    assert (row["topic"], row["run"], row["A"], row["why_a"], row["B"], row["why_b"]) == (
        "1", "R", "answer", "x", "refusal", "z",
    )  # fmt: skip
    both = lines(
        tmp_path / "c.jsonl",
        *export(("R 1", "answer", "")),
        *export(("R 1", "full", ""), task="trec_rag.support"),
    )
    assert "labels of 2 tasks" in assay("agree", both, a).stderr
    assert assay("agree", both, a, "--label", "dialogue_act").returncode == 0


def test_a_label_that_both_files_have_agrees_with_nothing(assay, tmp_path):
    machine = [
        one | {"uid": str(number)}
        for number, one in enumerate(export(*((f"R {n}", "answer", "") for n in range(8))))
    ]
    people = [*machine[:6], machine[6] | {"uid": "p6"}, *export(("R 7", "refusal", ""))]
    a, b = lines(tmp_path / "a.jsonl", *machine), lines(tmp_path / "b.jsonl", *people)
    document = json.loads(assay("agree", a, b, "--json").stdout)
    assert (document["units"]["both"], document["rows"][0]["value"]) == (2, 0.5)
    shown = " ".join(assay("agree", a, b).stdout.split())
    assert "6 units with the same single label in both: left out." in shown
    assert "8 units of 8 topics labelled in both" in " ".join(assay("agree", a, a).stdout.split())


def test_what_the_ledger_exports_is_compared_labeller_by_labeller(assay, tmp_path):
    folder = copy_example("slide", tmp_path / "slide")
    assert assay("judge", folder).returncode == 0
    exported = ("labels", "export", folder, "--task", "entailment")
    machine = [json.loads(one) for one in assay(*exported).stdout.splitlines()]
    for wrong in (4, 1):  # the second time KIM says what counts
        said = [
            {**{name: one[name] for name in ("task", "unit")}, "labeller": "human:KIM",
             "verdict": {"entailed": one["verdict"]["entailed"] is not (number < wrong)}}
            for number, one in enumerate(machine)
        ]  # fmt: skip
        people = lines(tmp_path / "said.jsonl", *said)
        assert assay("labels", "import", folder, people).returncode == 0
    every = [json.loads(one) for one in assay(*exported).stdout.splitlines()]
    kim = [one for one in every if one["labeller"]["kind"] == "human"]
    a, b = lines(tmp_path / "a.jsonl", *machine), lines(tmp_path / "b.jsonl", *kim)
    document = json.loads(assay("agree", a, b, "--json").stdout)
    assert (document["units"]["both"], document["rows"][0]["value"]) == (5, 0.8)
    done = assay("agree", lines(tmp_path / "c.jsonl", *every), a)
    assert done.returncode == 2
    assert "by 2 labellers: recorded:recorded.jsonl, human:KIM" in done.stderr


@pytest.mark.parametrize(
    ("task", "places"),
    [
        ("trec_rag.relevance", ["t1 d1 relevance", "t1 d2 relevance", "t2 d3 relevance"]),
        ("r2c2.relevance", ["1 passage PR;1", "1 passage PR;2", "2 passage PR;1"]),
        ("exam.self_rating", ["q p1 q/1", "q p2 q/1", "r p3 r/1"]),
        ("trec_rag.relevance", ["A t1 passage 2", "B t1 passage 1", "C t2 passage 2"]),
        ("trec_rag.relevance_counted", ["A t1 claim 2", "B t1 claim 1", "C t2 claim 10"]),
        ("trec_rag.support", ["A t1 sentence 1", "B t1 sentence 1", "C t2 sentence 1"]),
    ],
)
def test_topics_of_exported_labels_are_topics(assay, tmp_path, task, places):
    labels = export(*((one, word, "") for one, word in zip(places, "010", strict=True)), task=task)
    file = lines(tmp_path / "a.jsonl", *labels)
    assert "3 units of 2 topics labelled in both" in assay("agree", file, file).stdout


def test_a_label_that_failed_later_hides_none_that_can_be_used(assay, tmp_path):
    (made,) = export(("n", "YES", ""), task="r2c2.entailment")
    made["places"] = [{"run": "A", "topic": "t", "position": made.pop("used_at")[0]}]
    file = lines(tmp_path / "a.jsonl", made, made | {"verdict": None, "status": "unparsable"})
    assert "1 unit of 1 topic labelled in both" in assay("agree", file, file).stdout


def test_labels_without_places_are_no_empty_file(assay, tmp_path):
    file = lines(tmp_path / "a.jsonl", export(("A 1", "answer", ""))[0] | {"used_at": []})
    assert "No label says where it is used" in assay("agree", file, file).stderr


def test_a_table_may_have_reasons(assay, tmp_path):
    for name, label in (("a", 1), ("b", 0)):
        text = f"topic,doc,label,reason\n1,d,{label},as {name} says\n1,e,1,\n"
        (tmp_path / f"{name}.csv").write_text(text)
    done = assay("agree", tmp_path / "a.csv", tmp_path / "b.csv", "--disagreements", "--json")
    (row,) = json.loads(done.stdout)
    assert (row["why_a"], row["why_b"]) == ("as a says", "as b says")


@pytest.mark.parametrize("odd", [None, 1, True, [1]])
def test_nuggets_that_are_none_are_faults(assay, tmp_path, odd):
    good = lines(tmp_path / "a.jsonl", nuggets("r", ("one", "vital", "support")))
    bad = lines(tmp_path / "b.jsonl", {**nuggets("r"), "nuggets": [odd]})
    done = assay("agree", good, bad)
    assert (done.returncode, "b.jsonl:1" in done.stderr) == (2, True), done.stderr
