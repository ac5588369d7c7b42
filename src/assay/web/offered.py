"""What a person can label, by queue, and what they labelled last."""

from __future__ import annotations

from functools import partial
from typing import Any

import orjson

from assay.model.wording import and_list, counted
from assay.web.desk import QUEUES, Desk
from assay.web.people import Person
from assay.web.state import WorkbenchState
from assay.web.values import beginning, in_brief

_RECENT = 10
_COUNTED = 1000


def waits(desk: Desk, person: Person, task: str, queue: str, state: WorkbenchState) -> str:
    """Why open units of a queue are not available to this person now, in words; empty if there are
    none. ``state`` may belong to any thread."""
    rests = desk.asked.rests.get(task, ())
    found = partial(
        desk.finding(state, person, task),
        queue, count=_COUNTED, in_order=False, also_held=True,
    )  # fmt: skip
    held = len(found())
    later = len(found(rests=())) - held if rests else 0
    told = []
    if held:
        told.append(
            f"Other people have {counted(held, 'unit')} open. Units that they leave become "
            f"free within {desk.ui.reserve_minutes:g} minutes."
        )
    if later:
        before = and_list([f"“{desk.asked.titles[one]}”" for one in rests if one in desk.tasks])
        told.append(
            f"{counted(later, 'unit')} will be open once you have labelled the same topics "
            f"under {before}."
        )
    return " ".join(told)


def counts(desk: Desk, person: Person, state: WorkbenchState) -> list[dict[str, Any]]:
    """For each task, the number of units, labels wanted and given, and own labels; which queues
    have units; and, if units are assigned to people, this person's share. ``state`` may belong to
    any thread."""
    found = []
    for name, task in desk.tasks.items():
        wanted, units, done = state.one(
            "SELECT coalesce(sum(passes), 0), COUNT(*), "
            "coalesce(sum(min(labelled, passes)), 0) FROM units WHERE task = ? AND wanted",
            name,
        )
        mine = state.one(
            "SELECT COUNT(DISTINCT unit) FROM given JOIN units ON units.id = unit "
            "WHERE person = ? AND task = ?", person.id, name,
        )[0]  # fmt: skip
        if not units and task.by_people:
            continue
        found_in = partial(desk.finding(state, person, name), in_order=False)
        queues = {
            # Adjudicators see in the queue itself which units others have open.
            queue: bool(found_in(queue, count=1, also_held=queue == "disagreements"))
            for queue in (("open",) if desk.gold else QUEUES)
            if (queue != "disagreements" or person.adjudicates)
            # Edits are optional: without one, a nugget stays as it is.
            and not (queue == "widest" and task.by_people)
        }  # fmt: skip
        waiting = "" if queues["open"] else waits(desk, person, name, "open", state)
        own = desk.ui.topics or desk.gold
        left = len(found_in("open", count=_COUNTED, also_held=True)) if own else 0
        found.append(
            {
                "task": name, "title": desk.asked.titles[name], "units": units, "wanted": wanted,
                "done": done, "mine": mine, "queues": queues, "waits": waiting,
                "left": f"{left:,}{' or more' if left == _COUNTED else ''}" if left else "",
            }
        )  # fmt: skip
    return found


def recent(desk: Desk, person: Person, task: str) -> list[dict[str, Any]]:
    """A person's latest labels of a task, newest first."""
    rows = desk.state.all(
        "SELECT units.id, units.hash, verdict, content, MAX(row) FROM given "
        "JOIN units ON units.id = unit WHERE given.person = ? AND task = ? "
        "GROUP BY units.id ORDER BY MAX(row) DESC LIMIT ?",
        person.id, task, _RECENT,
    )  # fmt: skip
    found = []
    for unit, hash_, verdict, content, _ in rows:
        sides = desk.asked.sides(person.name, desk.tasks[task], hash_)
        said = in_brief(sides.verdict(orjson.loads(verdict)))
        text = beginning(desk.tasks[task], sides.content(orjson.loads(content)))
        found.append({"unit": unit, "said": said, "text": text})
    return found
