"""What ``assay calibrate`` learns from: the judge's probabilities beside what people said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from assay.api.calibrating import _Pairs, _pairs
from assay.labellers.judge.labeller import JudgeLabeller
from assay.labellers.judge.packages import SMALL
from assay.labellers.judge.texts import Ability
from assay.ledger import Ledger
from assay.ledger.policy import Policy, for_all
from assay.model.labels import Label, LabellerId, Status

TASK = "r2c2.answer"
KIM, JUDGE = LabellerId("human:KIM", "human"), JudgeLabeller().id
FORMER = [
    replace(JUDGE, params={**JUDGE.params, name: value})
    for name, value in (("model", "assay-judge 1"), ("texts", 1), ("denials", 1), ("settings", ""))
]


class Kept:
    """A ledger of some labels, in their order."""

    def __init__(self, labels: Iterable[Label]) -> None:
        self._labels = list(labels)

    def labels(self, _tasks: object) -> list[Label]:
        return self._labels


def person(unit: str, *, right: bool) -> Label:
    return Label(f"p{unit}", "", TASK, "1", unit, KIM, Status.OK, {"correct": right})


def judge(
    unit: str, yes: float, status: Status = Status.OK, who: LabellerId = JUDGE, **more: Any
) -> Label:
    verdict = {"correct": yes > 0.5} if status is Status.OK else None
    detail = {"rulings": [{"ability": "C", "yes": yes, "windows": 1}], **more}
    return Label(f"j{unit}", "", TASK, "1", unit, who, status, verdict, detail=detail)


def pairs(*labels: Label, policies: Sequence[str] = ("people",)) -> _Pairs:
    policy = for_all([*map(Policy.parse, policies)]).of_drawn([TASK])
    return _pairs(cast("Ledger", Kept(labels)), SMALL, policy)


def learnt(*labels: Label, policy: str = "people", other: str = "people") -> list[Any]:
    """Of a folder with two protocols."""
    found = pairs(*labels, policies=(other, policy)).by_ability
    return list(zip(*found[Ability.C], strict=True)) if found else []


def test_where_the_judge_abstained_people_teach_it_most() -> None:
    people = [person("a", right=True), person("b", right=False)]
    said = [judge("a", 0.9), judge("b", 0.4, Status.FAILED)]
    assert learnt(*people, *said) == [(0.9, True), (0.4, False)]


def test_people_whom_the_policy_leaves_out_teach_nothing() -> None:
    lee = person("a", right=False)._replace(labeller=LabellerId("human:LEE", "human"))
    labels = [person("a", right=True), lee, judge("a", 0.9)]
    assert learnt(*labels) == [(0.9, False)]
    assert learnt(*labels, policy="people without human:LEE") == [(0.9, True)]
    assert learnt(*labels, policy="only:human:KIM") == [(0.9, True)]
    assert learnt(*labels, policy="majority", other="only:human:KIM") == [(0.9, True)]
    assert learnt(*labels, policy="only:human:LEE", other="only:human:KIM") == []


def test_where_people_disagree_the_policy_says_who_teaches() -> None:
    labels = [
        person("a", right=right)._replace(labeller=LabellerId(f"human:{name}", "human"), rowid=at)
        for at, (name, right) in enumerate((("KIM", True), ("LEE", True), ("ANN", False)))
    ]
    assert learnt(*labels, judge("a", 0.9)) == [(0.9, False)]
    assert learnt(*labels, judge("a", 0.9), policy="majority") == [(0.9, True)]
    assert pairs(*labels, judge("a", 0.9)).differ == 1
    assert learnt(*labels[1:], judge("a", 0.9), policy="majority") == []  # a tie


@pytest.mark.parametrize(
    "seen",
    [{"detail": {"workbench": {"mode": "shown"}}}, {"overrules": "j"}, {"version": "0"}],
    ids=["the judge's label in sight", "a correction of it", "of a former task"],
)
def test_what_people_did_not_say_by_themselves_of_todays_task_teaches_nothing(
    seen: dict[str, Any],
) -> None:
    assert learnt(person("a", right=True)._replace(**seen), judge("a", 0.9)) == []


def test_what_no_probability_decided_teaches_nothing() -> None:
    failed = judge("a", 0.9, Status.FAILED)._replace(detail={"model": "assay-judge"})
    assert learnt(person("a", right=True), failed) == []
    assert learnt(person("a", right=False), judge("a", 0.9, by_rule=True)) == []


@pytest.mark.parametrize("former", FORMER)
def test_what_the_judge_said_by_other_rules_teaches_todays_nothing(former: LabellerId) -> None:
    old, right = judge("a", 0.9, who=former), person("a", right=True)
    assert learnt(right, old) == []
    assert learnt(right, judge("a", 0.3), old) == [(0.3, True)]
    assert pairs(right, old).outdated == 1
    assert pairs(right, old, judge("a", 0.3)).outdated == 0
    assert pairs(old).outdated == 0


def test_a_calibration_of_before_changes_no_probability() -> None:
    taught = replace(JUDGE, params={**JUDGE.params, "calibration": "x", "abstains": True})
    assert learnt(person("a", right=True), judge("a", 0.9, who=taught, unfitted=0.8))
