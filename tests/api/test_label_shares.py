"""What scores stand on, in one line."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from assay.model.labels import Label, LabellerId, Status
from assay.protocols.label_shares import label_basis
from assay.protocols.places import Place, Used, UsedLabels

MACHINE, KIM = LabellerId("m", "model"), LabellerId("human:KIM", "human")


def result(*rows, by_people=False, lacking=0, given="", disputed=0):
    """A result that rests on labels by (run, unit, whether by a person)."""
    used = [
        Used(
            Label("", "", "t", "1", unit, KIM if human else MACHINE, Status.OK, {}, rowid=number),
            Place(run, "1"),
        )
        for number, (run, unit, human) in enumerate(rows)
    ]
    found = SimpleNamespace(
        used=UsedLabels(used),
        by_people=by_people,
        evened=None,
        lacking=lacking,
        disputed=disputed,
        task_titles={"t": "Help: it?"},
        findings=SimpleNamespace(given=given),
    )
    found.comparable = found
    return found


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ((), ""),
        ((("A", "u", True), ("B", "u", True)), "human labels for 100 %"),
        ((("A", "u", False),), "judge alone, never checked here"),
        (
            (("A", "u", True), ("A", "v", False), ("B", "w", True), ("B", "x", False)),
            "human labels for 50 %, the judge's for the rest, uncorrected",
        ),
        (
            (("", "u", True), ("A", "v", False), ("B", "w", False)),
            "human labels for 33 %, the judge's for the rest, uncorrected",
        ),
    ],
)
def test_whose_labels_count(rows, says):
    assert label_basis(result(*rows)) == says


def test_labels_that_are_alike_in_nothing_are_counted_once_each():
    one = Label("", "", "t", "1", "u", MACHINE, Status.OK, {}, detail={"p": 0.1}, rowid=1)
    two = Label("", "", "t", "1", "v", MACHINE, Status.OK, {}, detail={"p": 0.2}, rowid=2)
    used = UsedLabels(
        Used(label, Place(run, "1")) for label, run in ((one, "A"), (two, "A"), (one, "B"))
    )
    assert used.count(lambda label: label.task) == {"t": 2}
    assert used.count(lambda label: label.detail["p"]) == {0.1: 1, 0.2: 1}
    assert used.by_run() == {"t": {"A": (2, 0), "B": (1, 0)}}


def test_unequal_shares_between_runs_are_told():
    rows = [("A", f"a{n}", n < 8) for n in range(10)] + [("B", f"b{n}", False) for n in range(10)]
    said = label_basis(result(*rows))
    assert "human labels for 40 %" in said
    assert "more of some runs than of others (Help: A 80 %, B 0 %)" in said
    assert "--policy machine" in said


def test_all_is_said_of_all_alone():
    rows = [("A", f"u{n}", n > 0) for n in range(300)]
    assert label_basis(result(*rows)).startswith("human labels for over 99 %, the judge's")
    said = label_basis(result(*rows[1:], lacking=1))
    assert said == "human labels alone; others are missing"


def test_a_unit_with_several_places_is_one_label():
    rows = [("A", "u", True), ("B", "u", True), ("A", "v", False), ("B", "v", False)]
    assert "50 %" in label_basis(result(*rows))


def test_a_judge_beside_whom_people_labelled_is_not_called_unchecked():
    found = result(("A", "u", False), by_people=True)
    assert label_basis(found) == "judge alone; people's labels are left out"


def test_runs_are_uneven_task_by_task_from_a_twentieth_on():
    """All answers are by people: more claims, by the machine, in one run move no share."""
    found = result(("A", "u", True), ("B", "v", True))
    others = [Place(run, "1") for run, count in (("A", 2), ("B", 9)) for _ in range(count)]
    for number, place in enumerate(others, 100):
        said = Label("", "", "other", "1", "u", MACHINE, Status.OK, {}, rowid=number)
        found.used.note(said, place)
    assert label_basis(found) == "human labels for 15 %, the judge's for the rest, uncorrected"
    for human, apart in ((6, True), (5, False)):
        rows = [("A", f"a{n}", n < human) for n in range(100)]
        rows += [("B", f"b{n}", False) for n in range(100)]
        assert ("more of some runs" in label_basis(result(*rows))) is apart


def test_labels_among_the_inputs_are_told():
    by_people = "relevance as people gave it in the inputs"
    said = label_basis(result(("A", "u", False), given=by_people))
    assert said == f"judge alone, never checked here; {by_people}"
    assert label_basis(result(given=by_people)) == by_people


def test_that_people_disagree_is_told():
    found = result(("A", "u", True), disputed=1, given="g")
    assert label_basis(found) == "human labels for 100 %; people disagree on 1 unit; g"
