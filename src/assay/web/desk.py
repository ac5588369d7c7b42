"""The desk: gives people their next units, and stores their labels.

A label is written to the ledger before anything else is done with it. Everything here runs in one
thread with connections of its own (:mod:`assay.web.server`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any, Self

import orjson

from assay.api.opened import Opened
from assay.ledger import Ledger, NewLabel
from assay.ledger.exchange import person as labeller_named
from assay.ledger.exchange import person_label
from assay.model.errors import LedgerError
from assay.model.labels import (
    ADJUDICATION,
    INDEPENDENT,
    SEEN,
    TURNED,
    WORKBENCH,
    Label,
    mode_of,
)
from assay.model.paths import path_inside
from assay.protocols.config import UiSection
from assay.tasks.base import AnyTask, content_hash
from assay.web import forms
from assay.web.asked import Asked
from assay.web.people import FILE, Person
from assay.web.sides import Sides
from assay.web.state import Each, UnitRow, WorkbenchState
from assay.web.values import (
    anchor,
    beginning,
    comparable,
    evidence_in,
    seconds_in,
    text_in,
    texts_in,
    uids_in,
)

AT_ONCE = 0.3
"""Seconds that people may wait while new units are loaded."""
PREFETCHED = 3
MOST_CHANGES = 50
"""The most labels by one person on one unit: all are kept, and all are read with the unit."""

QUEUES: Mapping[str, str] = {
    "drawn": "Units drawn at random",
    "open": "All open units, topic by topic",
    "failed": "Where the machine's reply was unusable",
    "uncertain": "Where the machine was least certain",
    "widest": "Where scores depend on missing labels",
    "flagged": "Flagged units",
    "skipped": "Units you skipped",
    "disagreements": "Where people disagree",
}
"""The queues in display order."""


class Refused(Exception):
    """A request that cannot be met; the message says why, ``status`` is the HTTP status."""

    def __init__(self, why: str, status: int = 409) -> None:
        super().__init__(why)
        self.status = status


@dataclass
class Desk:
    """A folder's units, people and labels; see the module."""

    opened: Opened
    ledger: Ledger
    state: WorkbenchState
    asked: Asked = field(init=False)
    stale: bool = field(default=False, init=False)
    sync_takes: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self.asked = Asked(self.opened, self.ledger)

    @classmethod
    @contextmanager
    def open(cls, opened: Opened) -> Iterator[Self]:
        """Open the desk of a folder and make its ledger if needed. Raises LedgerError, and
        SettingsError if a file of the workbench is outside the folder."""
        path = path_inside(opened.folder.path, FILE, "The workbench")
        with opened.ledger() as ledger, WorkbenchState(path) as state:
            ledger.checked()
            newest = state.newest_given()
            if newest and newest.uid not in {one.uid for one in ledger.of_units([newest.hash])}:
                state.forget_given()  # the ledger is another, or one of before
            yield cls(opened, ledger, state)

    def take_up(self, opened: Opened) -> None:
        """Continue with the folder after a change to its inputs. Raises AssayError."""
        self.opened = opened
        self.asked = Asked(opened, self.ledger)
        self.sync()

    @property
    def tasks(self) -> Mapping[str, AnyTask]:
        """The tasks for people, by name."""
        return self.asked.tasks

    @property
    def ui(self) -> UiSection:
        """``[ui]`` of the folder."""
        return self.opened.folder.config.ui

    @property
    def gold(self) -> str:
        """The person whose labels others practise on; empty if there is no practice."""
        return self.ui.gold.removeprefix("human:") if self.ui.mode == "training" else ""

    # -- units -----------------------------------------------------------------------------------

    def sync(self, each: Each = iter) -> None:
        """Load the units that the folder asks about now, and labels added elsewhere. Long loops go
        through ``each``, which may let others go first."""
        began = time.monotonic()
        self.stale = False
        self.ledger.changed_elsewhere()  # what is there is taken up now
        self.state.set_units(each(self.asked.units()), each)
        self.state.set_drawn(self.asked.drawn())
        self.state.set_machines(self.asked.machines(each), each)
        people = each(self.ledger.by_people())
        self.state.set_given(self.asked.given(one) for one in people if self.asked.counts(one))
        self.leave_out()
        self.sync_takes = time.monotonic() - began

    def leave_out(self) -> None:
        """Count no labels of those whom policies leave out, of all whose names are known."""
        pairs = product(self.tasks, (one.name for one in self.state.people()))
        self.state.leave_out([[*each] for each in pairs if self.asked.leaves_out(*each)])

    def refresh(self) -> bool:
        """Call :meth:`sync` if labels were added elsewhere or may have opened more units, provided
        it is quick; if not, :meth:`assay.web.server.Bench.keep_fresh` does it. Returns whether it
        was done."""
        if self.ledger.changed_elsewhere():
            self.stale = True
        due = self.stale and self.sync_takes < AT_ONCE
        if due:
            self.sync()
        return due

    # -- what a person has next ------------------------------------------------------------------

    def next(
        self,
        person: Person,
        task: str,
        queue: str = "open",
        *,
        count: int = PREFETCHED,
        without: Sequence[int] = (),
    ) -> list[dict[str, Any]]:
        """The screens of the next units of a queue, which the person has for some minutes; those in
        ``without`` are at hand already. Raises Refused."""
        if task not in self.tasks or queue not in QUEUES:
            raise Refused("There is no such queue.", 404)
        if queue == "disagreements" and not person.adjudicates:
            raise Refused("Disagreements are settled by adjudicators.", 403)
        found = self._reserved(person, task, queue, count, without)
        if len(found) < count and self.refresh():  # there may be more
            found = self._reserved(person, task, queue, count, without)
        mode = ADJUDICATION if queue == "disagreements" else self.ui.mode
        return [self.screen(person, row, mode) for row in found]

    def _reserved(
        self, person: Person, task: str, queue: str, count: int, without: Sequence[int]
    ) -> list[UnitRow]:
        db, now = self.state, time.time()
        until = now + self.ui.reserve_minutes * 60
        with db.writing():
            # None is held longer than this, whatever the clock was when it was taken.
            db.execute("DELETE FROM reserved WHERE until NOT BETWEEN ? AND ?", (now, until))
            for number in without:
                db.execute(
                    "UPDATE reserved SET until = ? WHERE unit = ? AND person = ?",
                    (until, number, person.id),
                )
            rows = self.finding(db, person, task)(queue, count=count, without=without)
            for row in rows:
                db.execute(
                    "INSERT OR REPLACE INTO reserved VALUES (?, ?, ?)", (row.id, person.id, until)
                )
        return rows

    def finding(
        self, state: WorkbenchState, person: Person, task: str
    ) -> Callable[..., list[UnitRow]]:
        """What finds the units of a task that somebody may have, by their queue."""
        rests = self.asked.rests.get(task, ())
        return partial(
            state.queue, task=task, person=person, gold=self.gold, topics=self.ui.topics,
            rests=rests,
        )  # fmt: skip

    def screen(self, person: Person, row: UnitRow, mode: str = "") -> dict[str, Any]:
        """All that the page needs to show a unit to a person. Nobody sees another's label, nor a
        machine's where people label blind. What the person settled is shown for settling."""
        own = next(reversed(self._own(person, row)), None)
        settled = own is not None and mode_of(own) == ADJUDICATION and person.adjudicates
        mode = mode or (ADJUDICATION if settled else self.ui.mode)
        task = self.tasks[row.task]
        sides = self.asked.sides(person.name, task, row.hash)
        content = orjson.loads(row.content)
        unit = task.unit.model_validate(sides.content(content))
        asides = dict(
            self.state.all(
                "SELECT kind, text FROM asides WHERE unit = ? AND person = ?", row.id, person.id
            )
        )
        machines = self._shown(row, mode)
        shown = machines and sides.others(machines)
        others = [sides.others(one) for one in self._others(row)] if mode == ADJUDICATION else []
        if shown or others:
            self.see(person, [row.id])
        if row.task in self.asked.rests:
            rests, tells = self.asked.rests[row.task], self.asked.tells.get(row.task, "")
            self.see(person, self.state.told(row, person, rests, tells))
        given = self.asked.as_given(task, unit, row.topic)
        return {
            "unit": row.id,
            "task": row.task,
            "topic": row.topic,
            "mode": mode,
            "texts": forms.in_words_of(self.ui.words, forms.texts(task, unit)),
            "words": forms.words_of(task, unit),
            "controls": forms.in_words_of(self.ui.words, forms.controls(task, unit, given)),
            "edits": self.edits(row, person),
            "reason": forms.has_reason(task),
            "own": None if own is None else sides.own(own, content),
            "turned": sides.turned,
            "settled": settled,
            "shown": shown,
            "others": others,
            "flag": asides.get("flag", ""),
            "note": asides.get("note", ""),
        }

    def _own(self, person: Person, row: UnitRow) -> list[Label]:
        name = f"human:{person.name}"
        return [one for one in self._current(row) if one.labeller.name == name]

    def labels(self, row: UnitRow) -> list[Label]:
        """All labels of a unit, oldest first."""
        return [one for one in self.ledger.of_units([row.hash]) if one.task == row.task]

    def _current(self, row: UnitRow) -> list[Label]:
        """The labels that count."""
        return [one for one in self.labels(row) if self.asked.counts(one)]

    def _shown(self, row: UnitRow, mode: str) -> Label | None:
        """The machine's label, if the campaign shows it."""
        if mode not in {"shown", "post-edit"}:
            return None
        machines = [one for one in self._current(row) if not one.labeller.is_human]
        return machines[-1] if machines else None

    def _others(self, row: UnitRow) -> list[Label]:
        """The labels on which people disagree, in an order that reveals no names."""
        newest = {
            one.labeller.name: one
            for one in self._current(row)
            if one.labeller.is_human
            and mode_of(one) != ADJUDICATION
            and not self.asked.leaves_out(row.task, one.labeller.name.removeprefix("human:"))
        }
        return sorted(newest.values(), key=lambda one: one.uid)

    # -- what a person says ----------------------------------------------------------------------

    def give(self, person: Person, number: int, said: Mapping[str, Any]) -> dict[str, Any]:
        """Store a person's verdict on a unit as a label and return the outcome. ``said`` has
        ``verdict``, ``before`` (the uid of the person's own label that was shown, or None),
        ``reason``, ``evidence``, ``seconds``, ``mode`` and whether the sides were ``turned``.
        Raises Refused if something is wrong."""
        row = self.row(number)
        task = self.tasks[row.task]
        # As the page had them: by another seed, maybe, or made before they were turned.
        sides = Sides(task, said.get(TURNED) is True)
        content = orjson.loads(row.content)
        unit = task.unit.model_validate(sides.content(content))
        given = said.get("verdict")
        verdict, wrong = forms.verdict_of(task, unit, given if isinstance(given, dict) else {})
        if verdict is None:
            raise Refused(wrong or "There is no verdict.", 422)
        reason = text_in(said.get("reason"))
        if reason and forms.has_reason(task):
            verdict["reason"] = reason
        verdict = sides.verdict(verdict)
        before = self._own(person, row)
        own = next(reversed(before), None)
        if own is not None and own.uid != said.get("before"):
            if comparable(own.verdict or {}) == comparable(verdict):
                return {"uid": own.uid, "again": True}  # the reply to the first got lost
            raise Refused(
                "You have already labelled this unit in another tab or on another device; that "
                "label stands."
            )
        if len(before) >= MOST_CHANGES:
            raise Refused(
                f"You have labelled this unit {MOST_CHANGES} times; the last label stands."
            )
        mode = str(said.get("mode") or self.ui.mode)
        settles = []
        if mode == ADJUDICATION:
            if not person.adjudicates:
                raise Refused("Disagreements are settled by adjudicators.", 403)
            settles = [one.uid for one in self._others(row) if one.uid in uids_in(said)]
        elif mode != self.ui.mode:
            raise Refused("The folder's mode has changed; reload the page.", 422)
        elif own is not None and mode_of(own) == ADJUDICATION:
            raise Refused(
                "You have settled this unit; reload the page to settle it differently.", 422
            )
        shown = self._shown(row, mode)
        if shown is not None and shown.uid not in uids_in(said):
            shown = None  # it came after the screen
        seen = mode in INDEPENDENT and self._has_seen(person, row)
        detail = {
            "mode": SEEN if seen else mode,
            "seconds": seconds_in(said.get("seconds")),
            "guideline": content_hash(self.asked.guidelines[row.task].encode()),
            "evidence": sides.evidence(evidence_in(said.get("evidence"), sides.content(content))),
            **({TURNED: sides.turned} if task.sides else {}),
            **({"settles": settles} if settles else {}),
            **({"shown": shown.uid} if shown else {}),
        }
        if mode == "training":
            return self._trained(person, row, verdict, sides)
        label = person_label(
            labeller_named(f"human:{person.name}"),
            task,
            content,
            verdict,
            reason=reason or None,
            overrules=settles[0] if settles else None if own is None else own.uid,
            detail={WORKBENCH: detail},
        )
        uid = self._add(label)
        told = ""
        if seen:
            told = "You had seen labels of this unit, so yours does not count as given blind."
        elif own is None and row.labelled >= row.passes and mode != ADJUDICATION:
            told = (
                "Somebody else has labelled this unit in the meantime; yours is kept as a second "
                "opinion."
            )
        return {"uid": uid, "again": False, "told": told}

    def see(self, person: Person, units: Iterable[int]) -> None:
        """Record that a person has seen others' labels of these units, so that the person's later
        labels of them are not independent."""
        with self.state.writing():
            for number in units:
                self.state.set_aside(number, person.id, SEEN, SEEN)

    def _has_seen(self, person: Person, row: UnitRow) -> bool:
        query = "SELECT 1 FROM asides WHERE unit = ? AND person = ? AND kind = ?"
        return self.state.one(query, row.id, person.id, SEEN) is not None

    def _add(self, label: NewLabel) -> str:
        (uid,) = self.ledger.add([label])
        written = next(one for one in self.ledger.of_units([label.unit]) if one.uid == uid)
        with suppress(LedgerError):  # the label is there; what it counts as is found again
            self.state.set_given([self.asked.given(written)])
        self.stale = self.stale or bool(self.asked.rests)
        return uid

    def _trained(
        self, person: Person, row: UnitRow, verdict: Mapping[str, Any], sides: Sides
    ) -> dict[str, Any]:
        """Compare a verdict with the gold label. Practice is not written to the ledger."""
        gold = [one for one in self._current(row) if one.labeller.name == self.ui.gold]
        if not gold:
            raise Refused(f"There is no label by {self.ui.gold} to learn from.")
        right = comparable(gold[-1].verdict or {}) == comparable(verdict)
        self.state.set_aside(row.id, person.id, "trained", "right" if right else "wrong")
        self.see(person, [row.id])
        return {"uid": None, "again": False, "gold": {**sides.others(gold[-1]), "right": right}}

    def set_aside(self, person: Person, number: int, kind: str, text: str) -> None:
        """Skip, flag or annotate a unit, or postpone its adjudication."""
        if kind not in {"skip", "flag", "note"} and not (kind == "later" and person.adjudicates):
            raise Refused("There is no such remark about a unit.", 404)
        row = self.row(number)
        if kind == "skip" and self._own(person, row):
            raise Refused(
                "You have labelled this unit, and the label stands: change it, or flag the unit."
            )
        self.state.set_aside(row.id, person.id, kind, text_in(text))

    def row(self, number: int) -> UnitRow:
        row = self.state.unit(number)
        if row is None or row.task not in self.tasks:
            raise Refused("There is no such unit.", 404)
        return row

    # -- what has been done ----------------------------------------------------------------------

    def brief(self, row: UnitRow, most: int = 90) -> str:
        """The beginning of what is judged in a unit."""
        return beginning(self.tasks[row.task], orjson.loads(row.content), most)

    def edits(self, row: UnitRow, person: Person) -> dict[str, str]:
        """Links to edit a unit's texts: nuggets, and for organisers questions of a bank."""
        if self.tasks[row.task].by_people:
            return {}
        content = orjson.loads(row.content)
        texts = {one for value in content.values() for one in texts_in(value)}
        every = self.edits_of_topic(row.topic, person)
        return {text: place for text, place in every.items() if text in texts}

    def edits_of_topic(self, topic: str, person: Person) -> dict[str, str]:
        """Links to edit all nuggets and questions of a topic."""
        found = {}
        by_hand = [name for name, task in self.tasks.items() if task.by_people]
        for one in self.state.units(
            "WHERE topics.name = ? AND wanted AND task IN (SELECT value FROM json_each(?))",
            topic, orjson.dumps(by_hand).decode(),
        ):  # fmt: skip
            text = orjson.loads(one.content).get(self.tasks[one.task].judged_fields[0])
            if text:
                found[text] = f"/label/{one.task}?unit={one.id}"
        if person.organises and "exam" in self.opened.parts:
            bank = self.opened.parts["exam"].inputs.bank
            for question in bank.questions(topic):
                found[question.text] = f"/bank#{anchor(question.text)}"
        return found

    def rows(self, numbers: Sequence[int]) -> list[UnitRow]:
        """The units with these numbers."""
        some = orjson.dumps(numbers).decode()
        return self.state.units("WHERE units.id IN (SELECT value FROM json_each(?))", some)

    def by_hash(self, hashes: Sequence[str]) -> dict[str, UnitRow]:
        """The units with these hashes."""
        some = orjson.dumps(hashes).decode()
        rows = self.state.units("WHERE units.hash IN (SELECT value FROM json_each(?))", some)
        return {row.hash: row for row in rows if row.task in self.tasks}
