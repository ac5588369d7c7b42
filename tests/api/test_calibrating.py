"""What ``assay calibrate`` learns from: the judge's probabilities beside what people said."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from assay.api.calibrating import _pairs
from assay.labellers.judge.model import settings
from assay.labellers.judge.texts import Ability
from assay.ledger import Ledger
from assay.model.labels import Label, LabellerId, Status

TASK = "r2c2.answer"
KIM, JUDGE = LabellerId("human:KIM", "human"), LabellerId("embedded:judge", "model")


class Kept:
    """A ledger of some labels, in their order."""

    def __init__(self, labels: Iterable[Label]) -> None:
        self._labels = list(labels)

    def labels(self, _tasks: object) -> list[Label]:
        return self._labels


def person(unit: str, *, right: bool) -> Label:
    return Label(f"p{unit}", "", TASK, "1", unit, KIM, Status.OK, {"correct": right})


def judge(
    unit: str, yes: float, status: Status = Status.OK, version: str = "", **more: Any
) -> Label:
    verdict = {"correct": yes > 0.5} if status is Status.OK else None
    detail = {
        "model": f"assay-judge {version or settings().version}",
        "rulings": [{"ability": "C", "yes": yes, "windows": 1}], **more,
    }  # fmt: skip
    return Label(f"j{unit}", "", TASK, "1", unit, JUDGE, status, verdict, detail=detail)


def learnt(*labels: Label) -> list[tuple[float, bool]]:
    found = _pairs(cast("Ledger", Kept(labels)))
    return list(zip(*found[Ability.C], strict=True)) if found else []


def test_where_the_judge_abstained_people_teach_it_most() -> None:
    people = [person("a", right=True), person("b", right=False)]
    said = [judge("a", 0.9), judge("b", 0.4, Status.FAILED)]
    assert learnt(*people, *said) == [(0.9, True), (0.4, False)]


def test_what_no_probability_decided_teaches_nothing() -> None:
    failed = judge("a", 0.9, Status.FAILED)._replace(detail={"model": "assay-judge"})
    assert learnt(person("a", right=True), failed) == []
    assert learnt(person("a", right=False), judge("a", 0.9, by_rule=True)) == []


def test_another_version_of_the_judge_teaches_this_one_nothing() -> None:
    old = judge("a", 0.9, version="1")
    assert learnt(person("a", right=True), old) == []
    assert learnt(person("a", right=True), judge("a", 0.3), old) == [(0.3, True)]
