"""Progress of the labelling: what is done, by whom and how fast, and agreement among people and
with the machine.

Practice, and labels given while the machine's was shown, never count in agreement, as they are
biased towards what was shown.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import orjson

from assay.api.people import overlaps_of
from assay.model.labels import INDEPENDENT
from assay.model.wording import and_list, counted, joined
from assay.protocols.people import FEWEST_TOPICS, Overlap
from assay.statistics import agreement
from assay.statistics.agreement import Estimate
from assay.tasks.base import AnyTask
from assay.web import forms
from assay.web.desk import Desk
from assay.web.state import WorkbenchState
from assay.web.values import Json, comparable

MACHINE = ""
"""Stands for the machine among people's names, none of which is empty."""
_HOUR = 3600.0
_RESAMPLES = 500
_MOST_UNITS = 40
MOST_SAID = 100
"""The most flags, notes and skips listed."""
MOST_PAIRED = 8
"""The most people of a task to compare pairwise: 24 people would make 276 pairs."""


@dataclass(frozen=True, slots=True)
class DoneByPerson:
    """One person's work on one task: labels in total and in the last hour, and whether the policy
    leaves them out."""

    person: str
    task: str
    labels: int
    last_hour: int
    left_out: bool


@dataclass(frozen=True, slots=True)
class LabellerPair:
    """Agreement of two labellers on a task: statistics with intervals, and the confusion table by
    verdict, with the units in each cell."""

    task: str
    field: str
    first: str
    second: str
    n: int
    estimates: Sequence[tuple[str, Estimate]]
    labels: Sequence[str]
    table: Sequence[Sequence[tuple[int, Sequence[int]]]]


def done(desk: Desk, state: WorkbenchState) -> list[DoneByPerson]:
    """Everybody's work, by task."""
    rows = state.all(
        "SELECT name, task, COUNT(DISTINCT unit), SUM(given.at > ?) FROM given "
        "JOIN people ON people.id = person JOIN units ON units.id = unit "
        "GROUP BY name, task ORDER BY task, COUNT(DISTINCT unit) DESC",
        time.time() - _HOUR,
    )
    return [
        DoneByPerson(name, task, labels, last_hour, desk.asked.leaves_out(task, name))
        for name, task, labels, last_hour in rows
    ]


def topics(state: WorkbenchState, task: str) -> list[tuple[int, str, int, int]]:
    """Number and name of each topic, with the numbers of labels wanted and given."""
    rows: list[tuple[int, str, int, int]] = state.all(
        "SELECT topic, name, SUM(passes), SUM(min(labelled, passes)) FROM units "
        "JOIN topics ON topics.id = topic WHERE task = ? AND wanted = 1 GROUP BY topic "
        "ORDER BY name",
        task,
    )
    return rows


def said_beside(state: WorkbenchState) -> list[tuple[str, str, str, int, str, str]]:
    """Flags, notes, skips and postponements, newest first: person, kind, text, unit, task and
    topic."""
    rows: list[tuple[str, str, str, int, str, str]] = state.all(
        "SELECT people.name, kind, text, units.id, task, topics.name FROM asides "
        "JOIN people ON people.id = person JOIN units ON units.id = unit "
        "JOIN topics ON topics.id = topic WHERE kind IN ('flag', 'note', 'skip', 'later') "
        "ORDER BY asides.at DESC LIMIT ?",
        MOST_SAID,
    )
    return rows


def unattended(desk: Desk, state: WorkbenchState) -> list[str]:
    """Messages about topics that can never be completed: fewer people who have access and whose
    labels count are asked about them (given ``[ui.topics]``, skips and practice) than each unit
    needs."""
    if desk.ui.mode == "training":
        return []
    given: dict[str, list[str]] = {}
    for name, topics in desk.ui.topics.items():
        for topic in topics:
            given.setdefault(topic, []).append(name)
    known = {one.name for one in state.people()}
    coming = {one.name: one.id for one in state.coming()}
    others = [name for name in coming if name not in desk.ui.topics]
    found: dict[tuple[str, int], dict[str, int]] = {}
    passed = set(
        state.all(
            "SELECT DISTINCT task, topic FROM asides JOIN units ON units.id = unit "
            "WHERE kind IN ('skip', 'trained')"
        )
    )
    asked = state.all(
        "SELECT topic, name, task, MAX(passes) FROM units JOIN topics ON topics.id = topic "
        "WHERE wanted AND labelled < passes GROUP BY task, topic ORDER BY name"
    )
    for number, topic, task, passes in asked:
        named = given.get(topic, others)
        counts = [one for one in named if not desk.asked.leaves_out(task, one)]
        able = [coming[one] for one in counts if one in coming]
        if len(able) >= passes and (task, number) not in passed:
            continue
        (short,) = state.one(
            "SELECT SUM(max(0, passes - labelled - (SELECT COUNT(*) FROM json_each(?) AS able "
            "WHERE NOT EXISTS (SELECT 1 FROM given WHERE unit = units.id AND person = value) "
            "AND NOT EXISTS (SELECT 1 FROM asides WHERE unit = units.id AND person = value "
            "AND kind IN ('skip', 'trained'))))) "
            "FROM units WHERE task = ? AND wanted = 1 AND topic = ? AND labelled < passes "
            # Where there are enough, only what somebody passed over can be short of them.
            "AND (? OR EXISTS (SELECT 1 FROM asides WHERE unit = units.id "
            "AND kind IN ('skip', 'trained')))",
            orjson.dumps(able).decode(), task, number, len(able) < passes,
        )  # fmt: skip
        if short:
            why = {
                one: f" ({'access revoked' if one in known else 'not invited'})"
                for one in counts if one not in coming
            }  # fmt: skip
            why |= {one: " (left out by the policy)" for one in named if one not in counts}
            who = and_list([f"{one}{why.get(one, '')}" for one in named]) or "nobody"
            if (task, number) in passed:
                who += ", who are not asked about units that they skipped or practised on"
            topics_of = found.setdefault((who, passes), {})
            topics_of[topic] = topics_of.get(topic, 0) + short
    told = [
        f"As things stand, nobody will give {counted(sum(each.values()), 'label')} of "
        f"{and_list(list(each))}: {'one person is' if passes == 1 else f'{passes} people are'} to "
        "label each unit, and "
        f"{'[ui.topics] gives them to' if given.keys() & each else 'there is'} {who}."
        for (who, passes), each in found.items()
    ]
    there = {name for (name,) in state.all(_ASKED_TOPICS)}
    strange = [one for one in given if one not in there]
    if strange:
        told.append(
            f"[ui.topics]: nothing is asked of {and_list(strange)} (yet, or the name is misspelt). "
            f"There are: {joined(sorted(there), 10)}."
        )
    return told


_ASKED_TOPICS = (
    "SELECT DISTINCT topics.name FROM units JOIN topics ON topics.id = topic WHERE wanted"
)


class Agreements(NamedTuple):
    """Agreement of all together, and of pairs."""

    overlaps: Sequence[Overlap]
    pairs: Sequence[LabellerPair]


def agreements(desk: Desk) -> Agreements:
    """Agreement of all who labelled the same units, of each pair of people (if they are few), and
    of each person with the machine."""
    pairs: list[LabellerPair] = []
    for name, task in desk.tasks.items():
        said = _said(desk, name)
        several = len(said) > MOST_PAIRED + 1
        for first, second in combinations(sorted(said, key=lambda who: (who == MACHINE, who)), 2):
            both = sorted(said[first].keys() & said[second].keys())
            if both and (second == MACHINE or not several):
                pairs += _agreement(desk, task, first, second, both, said)
    return Agreements(overlaps_of(desk.opened, desk.ledger), pairs)


Said = Mapping[str, Mapping[int, str]]


def _said(desk: Desk, task: str) -> Said:
    """Verdicts without reasons, as JSON, by labeller and unit."""
    said: dict[str, dict[int, str]] = {}
    rows = desk.state.all(
        "SELECT name, unit, verdict, mode, units.hash FROM given JOIN people ON people.id = person "
        "JOIN units ON units.id = unit WHERE task = ? ORDER BY given.row",
        task,
    )
    units: dict[str, int] = {}
    for name, unit, verdict, mode, hash_ in rows:
        if mode in INDEPENDENT:
            said.setdefault(name, {})[unit] = verdict
            units[hash_] = unit
    machine = said.setdefault(MACHINE, {})
    own = desk.asked.machine_of(task)
    for label in desk.ledger.of_units(units):
        if label.labeller == own and label.verdict is not None:
            machine[units[label.unit]] = comparable(label.verdict)
    return said


def _agreement(
    desk: Desk, task: AnyTask, first: str, second: str, both: Sequence[int], said: Said
) -> Iterator[LabellerPair]:
    """Agreement for each field of the verdict that is chosen from a scale."""
    rows = {row.id: row for row in desk.rows(both)}
    scales: dict[str, dict[str, int]] = {}
    ours: dict[str, list[tuple[int, int, int, str]]] = {}
    for number in both:
        row = rows[number]
        unit = task.unit.model_validate_json(row.content)
        one, other = (orjson.loads(said[who][number]) for who in (first, second))
        for control in forms.controls(task, unit):
            if "options" not in control:
                continue
            name = control["field"]
            scale = scales.setdefault(
                name, {_word(option["value"]): n for n, option in enumerate(control["options"])}
            )
            for a, b in zip(_values(control, one), _values(control, other), strict=False):
                if a in scale and b in scale:
                    ours.setdefault(name, []).append((number, scale[a], scale[b], row.topic))
    for name, found in ours.items():
        labels = list(scales[name])
        topics = [one[3] for one in found]
        result = agreement.agree(
            [one[1] for one in found],
            [one[2] for one in found],
            topics=topics if len(set(topics)) >= FEWEST_TOPICS else None,
            scale=range(len(labels)) if len(labels) > 1 else None,
            resamples=_RESAMPLES,
        )
        cells: list[list[tuple[int, list[int]]]] = [[(0, []) for _ in labels] for _ in labels]
        for number, row_at, column_at, _ in found:
            count, units = cells[row_at][column_at]
            if len(units) < _MOST_UNITS and number not in units:
                units.append(number)
            cells[row_at][column_at] = (count + 1, units)
        estimates = [
            (what, one) for what, one in result.estimates.items() if not what.startswith("kappa@")
        ]
        yield LabellerPair(
            task.name, name, _named(first), _named(second), len(found), estimates, labels, cells
        )


def _named(who: str) -> str:
    return who if who != MACHINE else "the machine’s labels"


def _values(control: Json, verdict: Mapping[str, Any]) -> Iterable[str]:
    """A verdict's values for a control: one, or one for each item."""
    value = verdict.get(control["field"])
    if control["kind"] == "choice":
        return [_word(value)]
    entries = value if isinstance(value, list) else []
    if control["shape"] == "numbered":
        return [_word(one.get(control["inner"])) for one in entries if isinstance(one, dict)]
    return map(_word, entries)


def _word(value: object) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value).lower()
