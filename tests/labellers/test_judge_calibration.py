"""What people taught the judge stands in the keys of labels that hang on it, and of no others."""

from __future__ import annotations

import asyncio
import hashlib
import json
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as settings_of_test
from hypothesis import strategies as st

from assay.api.calibrating import _as_before, _document, _known
from assay.labellers.base import Labeller, Request, for_task, request_key
from assay.labellers.ensemble import EnsembleLabeller
from assay.labellers.host import Host, Recipe
from assay.labellers.judge.labeller import JudgeLabeller, levelled
from assay.labellers.judge.local import Local, read_local
from assay.labellers.judge.model import Ruling
from assay.labellers.judge.packages import SMALL
from assay.labellers.judge.texts import Ability
from assay.labellers.judge.verdicts import WAYS, abilities_of
from assay.labellers.rules import RulesLabeller
from assay.labellers.spec import LabellerOptions, make_labeller
from assay.protocols.output import json_bytes
from assay.systems.recalibration import Linear
from assay.tasks.base import AnyTask
from assay.tasks.exam import DIRECT, SELF_RATING
from assay.tasks.r2c2 import ANSWER, ENTAILMENT, EVERY_ANSWER, RELEVANCE
from assay.tasks.registry import REGISTRY
from assay.tasks.rendering import Renderer
from assay.tasks.shared import SOURCES
from assay.tasks.trec_rag import RELEVANCE_AT_ONCE, SUPPORT

LONG = "Anna Berg built it. " * 15
UNITS: dict[str, tuple[AnyTask, dict[str, Any]]] = {
    "claim": (ENTAILMENT, {"passage": "Old.", "nugget": "It is old."}),
    "support": (SUPPORT, {"passage": "Old.", "sentence": "It is old."}),
    "passage": (RELEVANCE, {"question": "Who?", "gold": ["Anna"], "passage": "Old."}),
    "answer": (ANSWER, {"question": "Who?", "answer": "Anna", "gold": ["Anna"], "nuggets": []}),
    "with nuggets": (
        ANSWER, {"question": "Who?", "answer": "Anna", "gold": ["Anna"], "nuggets": ["Old."]}
    ),
    "long": (
        ANSWER,
        {"question": "Who?", "answer": "It was Anna, " * 8, "gold": [LONG], "nuggets": []},
    ),
}  # fmt: skip
USES = {"claim": "E", "support": "E", "passage": "A", "answer": "CAE", "with nuggets": "CAE",
        "long": "CAE"}  # fmt: skip
"""Which abilities labels of units' tasks can hang on."""


def write(folder: Path, *, named: dict[str, str] | None = None, **maps: float) -> Path:
    """A calibration with the slope of each ability."""
    document: dict[str, Any] = {
        "judge": SMALL.settings.version,
        "abilities": {name: {"slope": slope, "shift": 0.5} for name, slope in maps.items()},
    }
    path = folder / SMALL.taught
    path.write_text(json.dumps(document | ({} if named is None else {"named": named})))
    return path


def keys(labeller: Labeller) -> dict[str, str]:
    requests = {
        name: Request(task, task.unit.model_validate(content))
        for name, (task, content) in UNITS.items()
    }
    return {name: request_key(for_task(labeller, one.task), one) for name, one in requests.items()}


def changed(before: Labeller, after: Labeller) -> set[str]:
    was, now = keys(before), keys(after)
    return {name for name in UNITS if was[name] != now[name]}


@pytest.mark.parametrize("ability", ["E", "A", "C"])
def test_only_labels_that_depend_on_a_changed_ability_are_asked_again(tmp_path: Path, ability: str):
    taught = JudgeLabeller(local=read_local(write(tmp_path, named={}, **{ability: 2.0})))
    hang = {name for name, abilities in USES.items() if ability in abilities}
    assert changed(JudgeLabeller(), taught) == hang
    assert changed(taught, JudgeLabeller(local=taught._local)) == set()
    more = read_local(write(tmp_path, named={}, **dict.fromkeys("EAC", 2.0)))
    others = {name for name, abilities in USES.items() if abilities != ability}
    assert changed(taught, JudgeLabeller(local=more)) == others
    jury = [EnsembleLabeller("jury", [one, RulesLabeller()]) for one in (JudgeLabeller(), taught)]
    assert changed(*jury) == hang


def test_tasks_ask_only_about_the_abilities_that_are_listed_for_them():
    for name, (task, content) in UNITS.items():
        questions = WAYS[task.name].questions(task.unit.model_validate(content))
        assert {one.ability for one in questions} <= abilities_of(task.name) == set(USES[name])
    of_passages = {*DIRECT, SELF_RATING.name, "sgss.heading", RELEVANCE_AT_ONCE.name}
    assert {abilities_of(name) for name in of_passages} == {frozenset("A")}
    assert abilities_of(EVERY_ANSWER.name) == abilities_of(ANSWER.name)
    assert abilities_of("sgss.coverage") == frozenset("E")
    assert set(WAYS) <= set(REGISTRY)
    for told, others in SOURCES.items():  # labels of one count as the other's
        assert {abilities_of(one.task.name) for one in others} == {abilities_of(told)}


MAPS = st.dictionaries(st.sampled_from("EAC"), st.sampled_from((0.5, 2.0)), min_size=1)
RULING = Ruling(0.5, 0.1, 0.4, "It is old.", 1, 7)


def said(local: Local | None, name: str) -> list[Any]:
    """The outcome if every question about a unit gets the same ruling."""
    task, content = UNITS[name]
    asked = WAYS[task.name].questions(task.unit.model_validate(content))
    return [levelled(SMALL.settings, question, RULING, local) for question in asked]


@given(first=MAPS, former=st.booleans(), then=st.lists(MAPS | st.none(), min_size=1, max_size=4))
@settings_of_test(max_examples=60, deadline=None)
def test_a_label_counts_if_and_only_if_it_would_be_given_again(
    tmp_path_factory: pytest.TempPathFactory,
    first: dict[str, float],
    former: bool,
    then: list[dict[str, float] | None],
) -> None:
    """Through calibrations one after the other, abilities added, dropped and changed back; None: it
    was deleted. The first may be a ``former`` one, whose digest stood in all labels."""
    folder = tmp_path_factory.mktemp("calibrations")
    judges = []
    for maps in (first, *then):
        if maps is None:
            (folder / SMALL.taught).unlink(missing_ok=True)
        else:
            named = dict(_known(folder / SMALL.taught, SMALL).named)
            write(folder, named=None if former and not judges else named, **maps)
        judges.append((maps or {}, JudgeLabeller(local=read_local(folder / SMALL.taught))))
    deleted = None in then
    for (was, before), (now, after) in combinations(judges, 2):
        for name, (task, _) in UNITS.items():
            same = all(was.get(one) == now.get(one) for one in USES[name])
            counts = for_task(before, task).id == for_task(after, task).id
            assert same or not counts
            assert counts or not same or (former and deleted)
            if counts:
                assert said(for_task(before, task)._local, name) == said(
                    for_task(after, task)._local, name
                )


def test_labels_of_an_earlier_calibration_are_kept_if_nothing_changed(tmp_path: Path):
    path = write(tmp_path, E=2.0)  # without names: its digest stood in every label
    former = read_local(path)
    assert former is not None
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    assert {former.only(frozenset(map(Ability, one))).name for one in ("E", "A", "C", "CAE")} == {
        digest
    }
    plain = JudgeLabeller().id
    for task in (ENTAILMENT, ANSWER):
        own = for_task(JudgeLabeller(local=former), task)
        assert own.id.params == {**plain.params, "calibration": digest}
        assert own.rendered(_request("with nuggets")) == JudgeLabeller().rendered(
            _request("with nuggets")
        )
    # Taught of answers, too, and of claims what it knew already.
    again = _as_before(Linear(2.0 + 1e-12, 0.5), former, Ability.E)
    assert again == {"slope": 2.0, "shift": 0.5}
    now = read_local(write(tmp_path, named=dict(former.named), E=again["slope"], C=3.0))
    before, after = JudgeLabeller(local=former), JudgeLabeller(local=now)
    assert changed(before, after) == {"answer", "with nuggets", "long"}
    # Changed by hand, it is another; changed back, it is not.
    other = JudgeLabeller(local=read_local(write(tmp_path, named=dict(former.named), E=2.5)))
    assert changed(before, other) == set(UNITS) - {"passage"}
    back = JudgeLabeller(local=read_local(write(tmp_path, named=dict(former.named), E=2.0)))
    assert changed(before, back) == set()


def test_a_repeated_calibration_has_the_name_of_the_earlier_one(
    tmp_path: Path,
):
    learnt = {"E": {"slope": 2.0, "shift": 0.5, "units": 60}}
    earlier = json_bytes({"judge": SMALL.settings.version, "abilities": learnt})
    name = hashlib.sha256(earlier).hexdigest()[:16]
    (tmp_path / SMALL.taught).write_bytes(_document(learnt, Local({}), {"None", name}))
    found = read_local(tmp_path / SMALL.taught)
    assert found is not None
    assert {found.only(frozenset(map(Ability, one))).name for one in ("E", "A", "CAE")} == {name}
    # No label has it; or the file is there, with names of its own.
    for known, names in ((Local({}), {"None"}), (Local({}, {"a": "b"}), {name})):
        assert json.loads(_document(learnt, known, names))["named"] == known.named


def test_a_different_map_is_a_new_calibration():
    known = Local({Ability.E: (2.0, 0.5)})
    assert _as_before(Linear(2.0, 0.50001), known, Ability.E)["shift"] == 0.50001
    assert _as_before(Linear(2.0, 0.5), Local({}), Ability.E) == {"slope": 2.0, "shift": 0.5}


def test_a_host_makes_the_labeller_of_the_task(tmp_path: Path):
    write(tmp_path, named={}, C=2.0)
    options = LabellerOptions(local=True)
    made = make_labeller("embedded", folder=tmp_path, renderer=Renderer(), options=options)
    recipe = Recipe.of(made, "embedded", tmp_path, options)
    ids = set()
    for task in (ANSWER, ENTAILMENT):
        own = for_task(made, task)
        of_task = recipe.for_task(own, task)
        there = asyncio.run(Host(of_task)._get_labeller())
        assert there.id == own.id
        ids.add(of_task.identity)
    assert len(ids) == 2


def _request(name: str) -> Request:
    task, content = UNITS[name]
    return Request(task, task.unit.model_validate(content))
