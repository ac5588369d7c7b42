"""Which of several people's labels counts: the newest, most, what was settled, what was blind."""

from __future__ import annotations

import json

import pytest

from assay.api.opened import Opened
from assay.protocols.label_remarks import label_remarks
from tests.web.conftest import write_folder

QUESTION = "1\tWho built the old bridge?\tSimple\tAnna Berg\n"
RUN = {"ONE": "<1>\nAnna Berg;90\n</1>\n"}
UNIT = {
    "question": "Who built the old bridge?",
    "answer": "Anna Berg",
    "gold": ["Anna Berg"],
    "nuggets": [],
}


def said(name, correct, mode="", at=0):
    row = {
        "task": "r2c2.answer", "unit": UNIT, "labeller": f"human:{name}",
        "verdict": {"correct": correct, "nuggets": [], "reason": f"by {name}"},
        "created": f"2026-01-01T00:00:{at:02}+00:00",
    }  # fmt: skip
    return row | ({"detail": {"workbench": {"mode": mode}}} if mode else {})


@pytest.fixture
def accuracy(tmp_path, assay):
    def score(rows, policy):
        folder = tmp_path / policy
        write_folder(folder, questions=QUESTION, passages="1;1;d;Old.\n", answers=RUN)
        act = {
            "task": "r2c2.dialogue_act", "labeller": "human:ANN", "verdict": {"act": "answer"},
            "unit": {"question": UNIT["question"], "answer": UNIT["answer"]},
        }  # fmt: skip
        file = folder / "labels.jsonl"
        file.write_text("".join(json.dumps(one) + "\n" for one in [act, *rows]), encoding="utf-8")
        done = assay("labels", "import", folder, file)
        assert done.returncode == 0, done.stderr
        done = assay("score", folder, "--policy", policy, "--json")
        found = json.loads(done.stdout)
        (one,) = (one for one in found["scores"] if one["measure"] == "Accuracy")
        assert done.returncode == (one["value"] is None)
        return one["value"], str(found["warnings"])

    return score


THREE = [said("ANN", True, at=1), said("KIM", True, at=2), said("LEE", False, at=3)]
TIE = THREE[1:]
SETTLED = [*TIE, said("EVE", True, "adjudication", 4), said("LEE", False, at=5)]
SHOWN = [
    said("ANN", True, "blind", 1),
    said("KIM", False, "shown", 2),
    said("LEE", False, "post-edit", 3),
]


@pytest.mark.parametrize(
    ("rows", "policy", "value"),
    [
        (THREE, "people", 0.0),
        (THREE, "majority", 1.0),
        (THREE, "adjudicated", None),
        (TIE, "majority", None),
        (THREE[:2], "adjudicated", 1.0),
        (SETTLED, "people", 0.0),
        (SETTLED, "majority", 1.0),
        (SETTLED, "adjudicated", 1.0),
        (SHOWN, "people", 0.0),
        (SHOWN, "blind", 1.0),
        ([*THREE[1:], said("KIM", False, at=9)], "adjudicated", 0.0),
        (THREE, "people without human:LEE ", 1.0),
        (THREE, "majority without human:KIM", None),
        (THREE, "majority without human:KIM without human:LEE", 1.0),
        ([*THREE[1:], said("Jo without B", True)], "majority without human:Jo without B", None),
    ],
)
def test_the_label_that_counts(accuracy, rows, policy, value):
    found, notes = accuracy(rows, policy)
    assert found == value
    assert ("nothing is settled" in notes) == (value is None)
    newest = "and the newest label counts" in notes
    assert newest == (policy == "people")
    assert ("The policy leaves out 1 label by human:" in notes) == ("without" in policy)


def test_where_all_who_labelled_are_left_out_nobody_is_said_to_disagree(accuracy, tmp_path):
    policy = "majority without human:KIM without human:LEE"
    found, _ = accuracy(TIE, policy)
    assert found is None
    assert "has no label by human:kim (yet," in accuracy(TIE, "people without human:kim")[1]
    opened = Opened.open(tmp_path / policy, policy=policy)
    (part,) = opened.parts.values()
    (task,) = (one for one in part.tasks if one.name == "r2c2.answer")
    with opened.ledger() as ledger:
        book = part.book(ledger)
        assert len(book.history(task, UNIT)) == 2
        assert book.find(task, UNIT) is None
        assert "nothing is settled" not in str(list(label_remarks(book.by_unit, missing=True)))


@pytest.mark.parametrize(
    "policy",
    [
        "machine without human:KIM",
        "people without KIM",
        "people without human:",
        "only:human:LEE without human:KIM",
    ],
)
def test_who_cannot_be_left_out_is_told(assay, tmp_path, policy):
    done = assay("score", write_folder(tmp_path / "f"), "--policy", policy)
    assert done.returncode == 2
    assert f"There is no policy '{policy}'" in done.stderr
