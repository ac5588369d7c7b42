"""The desk: which unit a person has next, and what becomes of what the person says.

A label is in the ledger before anything else is done with it. Everything here runs in one thread
with connections of its own (:mod:`assay.web.server`).
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, product
from typing import Any, Self

import orjson

from assay.api.opened import Opened
from assay.formats.text import read_text
from assay.ledger import Ledger, NewLabel
from assay.ledger.exchange import person as labeller_named
from assay.ledger.exchange import said_by
from assay.model.errors import LedgerError
from assay.model.labels import (
    ADJUDICATION,
    INDEPENDENT,
    SEEN,
    WORKBENCH,
    Label,
    LabellerId,
    Status,
    mode_of,
    without_reasons,
)
from assay.model.places import inside
from assay.protocols.config import UiSection
from assay.tasks.base import AnyTask, canonical, content_hash
from assay.web import forms
from assay.web.state import FILE, Given, Person, State, UnitRow

AT_ONCE = 0.3
"""Seconds that people may wait for new units to be taken up."""
PREFETCHED = 3
RECENT = 10
_MOST_TEXT = 4000

QUEUES: Mapping[str, str] = {
    "open": "All that is open, topic by topic",
    "drawn": "What was drawn at random",
    "failed": "Where the machine's reply was unusable",
    "uncertain": "Where the machine was least certain",
    "widest": "Where scores hang on labels that are missing",
    "flagged": "What somebody flagged",
    "skipped": "What I skipped",
    "disagreements": "Where people disagree",
}
"""The queues, in the order of their pages."""


class Refused(Exception):
    """What a person asks for cannot be; the message says why, ``status`` is of HTTP."""

    def __init__(self, why: str, status: int = 409) -> None:
        super().__init__(why)
        self.status = status


@dataclass
class Desk:
    """A folder's units, people and labels; see the module."""

    opened: Opened
    ledger: Ledger
    state: State
    tasks: Mapping[str, AnyTask] = field(init=False)
    guidelines: dict[str, str] = field(init=False)
    _waits: bool = field(init=False)
    stale: bool = field(init=False)
    sync_takes: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self.stale = False
        parts = self.opened.parts.values()
        asked = [step.task for part in parts for step in part.steps]
        by_hand = [task for part in parts for task in part.tasks if task.by_people]
        self.tasks = {one.name: one for one in (*asked, *by_hand)}
        steps = [step for one in self.opened.parts.values() for step in one.steps]
        self._waits = any(step.waits for step in steps)
        self.guidelines = {name: self._guideline(name) for name in self.tasks}

    @classmethod
    @contextmanager
    def open(cls, opened: Opened) -> Iterator[Self]:
        """The desk of a folder, whose ledger is made where there is none. Raises LedgerError, and
        SettingsError where a file of the workbench's lies elsewhere."""
        path = inside(opened.folder.path, FILE, "The workbench")
        with opened.ledger() as ledger, State(path) as state:
            ledger.checked()
            yield cls(opened, ledger, state)

    def take_up(self, opened: Opened) -> None:
        """Go on with the folder as it is after a change to its inputs. Raises AssayError."""
        self.opened = opened
        self.__post_init__()
        self.sync()

    @property
    def ui(self) -> UiSection:
        """``[ui]`` of the folder."""
        return self.opened.folder.config.ui

    @property
    def _gold(self) -> str:
        """Whose labels people practise on; empty where they do not practise."""
        return self.ui.gold.removeprefix("human:") if self.ui.mode == "training" else ""

    # -- units -----------------------------------------------------------------------------------

    def sync(self) -> None:
        """Take up the units that the folder asks about now, and labels that came from elsewhere."""
        began = time.monotonic()
        self.stale = False
        self.ledger.changed_elsewhere()  # what is there is taken up now
        self.state.set_units(self._units())
        self.state.set_drawn(self._drawn())
        self.state.set_machines(self._machines())
        self._take_up()
        self.sync_takes = time.monotonic() - began

    def refresh(self) -> None:
        """:meth:`sync` where labels may have opened more units, or came from elsewhere, if that
        takes no time to speak of; else :meth:`assay.web.server.Bench.keep_fresh` does it."""
        if self.ledger.changed_elsewhere():
            self.stale = True
        if self.stale and self.sync_takes < AT_ONCE:
            self.sync()

    def _units(self) -> Iterator[tuple[str, str, str, int, str, int]]:
        seen: set[str] = set()
        for part in self.opened.parts.values():
            book = part.book(self.ledger)
            asked = (request for step in part.steps for request in step.requests(book))
            by_hand = part.protocol.by_people(part.inputs, part.settings, book)
            for request in chain(asked, by_hand):
                unit = request.unit_hash
                if unit in seen:
                    continue
                seen.add(unit)
                topic = request.topic or _topic_in(request.content)
                place, passes = self._place(topic, unit), self._passes(unit)
                text = orjson.dumps(request.content).decode()
                yield request.task.name, unit, topic, place, text, passes

    def _place(self, topic: str, unit: str) -> int:
        """Topics in a drawn order, and the units of a topic in another."""
        return (_drawn(self.ui.seed, "topic", topic) << 31) | _drawn(self.ui.seed, "unit", unit)

    def _passes(self, unit: str) -> int:
        twice = _drawn(self.ui.seed, "overlap", unit) < self.ui.overlap * (1 << 31)
        return self.ui.passes if twice else 1

    def _drawn(self) -> Iterator[tuple[str, str]]:
        """Tasks and topics of the newest draw."""
        for draw in self.ledger.draws()[-1:]:
            yield from product(draw.tasks, draw.chosen)

    def _machines(self) -> dict[str, tuple[str, float | None]]:
        """What the folder's own labellers said of units: status, and how far the verdict was from
        turning out otherwise (log odds), where that is known."""
        found: dict[str, tuple[str, float | None]] = {}
        own: dict[str, LabellerId | None] = {}
        for part in self.opened.parts.values():
            book = part.book(self.ledger).book
            own |= {} if book is None else book.configured
        for label in self.ledger.labels(list(self.tasks)):
            if label.labeller == own.get(label.task):
                found[label.unit] = (label.status.value, _certainty(label))
        return found

    def _take_up(self) -> None:
        """Note the labels of people that the ledger has, from wherever they came."""
        self.state.set_given(
            self._given(label) for label in self.ledger.by_people() if self._counts(label)
        )

    def _counts(self, label: Label) -> bool:
        """Whether a label can be used, and is of a task as it is asked now."""
        task = self.tasks.get(label.task)
        return task is not None and label.version == task.version and label.status is Status.OK

    def _given(self, label: Label) -> Given:
        who = label.labeller.name.removeprefix("human:")
        verdict = comparable(label.verdict or {})
        at = _moment(label.created)
        return Given(label.unit, who, label.uid, label.rowid, verdict, mode_of(label), at)

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
        if len(found) < count:
            self.refresh()  # what was labelled since may have opened more
            found = self._reserved(person, task, queue, count, without)
        mode = ADJUDICATION if queue == "disagreements" else self.ui.mode
        return [self.screen(person, row, mode) for row in found]

    def _reserved(
        self, person: Person, task: str, queue: str, count: int, without: Sequence[int]
    ) -> list[UnitRow]:
        db, now = self.state, time.time()
        until = now + self.ui.reserve_minutes * 60
        with db.writing():
            db.execute("DELETE FROM reserved WHERE until < ?", (now,))
            for number in without:
                db.execute(
                    "UPDATE reserved SET until = ? WHERE unit = ? AND person = ?",
                    (until, number, person.id),
                )
            rows = db.queue(queue, task, person, without, count, self._gold)
            for row in rows:
                db.execute(
                    "INSERT OR REPLACE INTO reserved VALUES (?, ?, ?)", (row.id, person.id, until)
                )
        return rows

    def screen(self, person: Person, row: UnitRow, mode: str = "") -> dict[str, Any]:
        """All that the page needs to show a unit to a person. Nobody sees another's label, nor a
        machine's where people label blind. What the person settled is shown for settling."""
        own = self._own(person, row)
        settled = own is not None and mode_of(own) == ADJUDICATION and person.adjudicates
        mode = mode or (ADJUDICATION if settled else self.ui.mode)
        task = self.tasks[row.task]
        unit = task.unit.model_validate_json(row.content)
        asides = dict(
            self.state.all(
                "SELECT kind, text FROM asides WHERE unit = ? AND person = ?", row.id, person.id
            )
        )
        shown = self._shown(row, mode)
        return {
            "unit": row.id,
            "task": row.task,
            "topic": row.topic,
            "mode": mode,
            "texts": forms.texts(task, unit),
            "words": forms.words_of(task, unit),
            "controls": forms.controls(task, unit),
            "reason": forms.has_reason(task),
            "own": None if own is None else _as_given(own),
            "shown": shown,
            "others": self._others(row) if mode == ADJUDICATION else [],
            "flag": asides.get("flag", ""),
            "note": asides.get("note", ""),
        }

    def _own(self, person: Person, row: UnitRow) -> Label | None:
        name = f"human:{person.name}"
        found = [one for one in self._current(row) if one.labeller.name == name]
        return found[-1] if found else None

    def labels(self, row: UnitRow) -> list[Label]:
        """All labels of a unit, oldest first."""
        return [one for one in self.ledger.of_units([row.hash]) if one.task == row.task]

    def _current(self, row: UnitRow) -> list[Label]:
        """Those that count."""
        return [one for one in self.labels(row) if self._counts(one)]

    def _shown(self, row: UnitRow, mode: str) -> dict[str, Any] | None:
        """The machine's label, in a campaign that shows it."""
        if mode not in {"shown", "post-edit"}:
            return None
        machines = [one for one in self._current(row) if not one.labeller.is_human]
        if not machines:
            return None
        one = machines[-1]
        return {"uid": one.uid, "verdict": one.verdict, "reason": reason_of(one)}

    def _others(self, row: UnitRow) -> list[dict[str, Any]]:
        """The verdicts that people disagree in, with reasons and without names."""
        newest = {one.labeller.name: one for one in self._current(row) if one.labeller.is_human}
        said = (one for one in newest.values() if mode_of(one) != ADJUDICATION)
        return [
            {"uid": one.uid, "verdict": one.verdict, "reason": reason_of(one)}
            for one in sorted(said, key=lambda one: one.uid)
        ]

    # -- what a person says ----------------------------------------------------------------------

    def give(self, person: Person, number: int, said: Mapping[str, Any]) -> dict[str, Any]:
        """Keep a person's verdict on a unit as a label, and say what became of it. ``said`` has
        ``verdict``, ``before`` (the uid of the own label that the person saw, or None),
        ``reason``, ``evidence``, ``seconds`` and ``mode``. Raises Refused with what is wrong."""
        row = self.row(number)
        task = self.tasks[row.task]
        unit = task.unit.model_validate_json(row.content)
        given = said.get("verdict")
        verdict, wrong = forms.verdict_of(task, unit, given if isinstance(given, dict) else {})
        if verdict is None:
            raise Refused(wrong or "There is no verdict.", 422)
        reason = _text(said.get("reason"))
        if reason and forms.has_reason(task):
            verdict["reason"] = reason
        own = self._own(person, row)
        if own is not None and own.uid != said.get("before"):
            if comparable(own.verdict or {}) == comparable(verdict):
                return {"uid": own.uid, "again": True}  # the reply to the first got lost
            raise Refused("You have labelled this in another tab already; that label stands.")
        mode = str(said.get("mode") or self.ui.mode)
        settles = []
        if mode == ADJUDICATION:
            if not person.adjudicates:
                raise Refused("Disagreements are settled by adjudicators.", 403)
            settles = [one["uid"] for one in self._others(row) if one["uid"] in _uids(said)]
        elif mode != self.ui.mode:
            raise Refused("The folder's mode was changed; load the page again.")
        elif own is not None and mode_of(own) == ADJUDICATION:
            raise Refused("You settled this one: load the page again to settle it otherwise.")
        shown = self._shown(row, mode)
        if shown is not None and shown["uid"] not in _uids(said):
            shown = None  # it came after the screen
        seen = mode in INDEPENDENT and self._has_seen(person, row)
        detail = {
            "mode": SEEN if seen else mode,
            "seconds": _seconds(said.get("seconds")),
            "guideline": content_hash(self.guidelines[row.task].encode()),
            "evidence": _evidence(said.get("evidence"), orjson.loads(row.content)),
            **({"settles": settles} if settles else {}),
            **({"shown": shown["uid"]} if shown else {}),
        }
        others = self._count_others(row, person)
        if mode == "training":
            return self._trained(person, row, verdict)
        label = said_by(
            labeller_named(f"human:{person.name}"),
            task,
            orjson.loads(row.content),
            verdict,
            reason=reason or None,
            overrules=settles[0] if settles else None if own is None else own.uid,
            detail={WORKBENCH: detail},
        )
        uid = self._add(label)
        told = ""
        if own is None and others >= row.passes and mode != ADJUDICATION:
            told = "Somebody else labelled this one meanwhile; yours is kept as a second opinion."
        return {"uid": uid, "again": False, "told": told}

    def see(self, person: Person, units: Iterable[int]) -> None:
        """Note that a person has seen what others said of these units: what the person says of them
        from now on is not independent."""
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
            self.state.set_given([self._given(written)])
        self.stale = self._waits
        return uid

    def _trained(self, person: Person, row: UnitRow, verdict: Mapping[str, Any]) -> dict[str, Any]:
        """What the gold label says of a verdict. Practice is no label: it stays out of the
        ledger."""
        gold = [one for one in self._current(row) if one.labeller.name == self.ui.gold]
        if not gold:
            raise Refused(f"There is no label of {self.ui.gold} to learn from.")
        right = comparable(gold[-1].verdict or {}) == comparable(verdict)
        self.state.set_aside(row.id, person.id, "trained", "right" if right else "wrong")
        feedback = {"right": right, "verdict": gold[-1].verdict, "reason": reason_of(gold[-1])}
        return {"uid": None, "again": False, "gold": feedback}

    def _count_others(self, row: UnitRow, person: Person) -> int:
        found = self.state.one(
            "SELECT COUNT(DISTINCT person) FROM given WHERE unit = ? AND person != ? "
            "AND mode != 'adjudication'",
            row.id,
            person.id,
        )
        return int(found[0])

    def aside(self, person: Person, number: int, kind: str, text: str) -> None:
        """Skip, flag or note a unit."""
        if kind not in {"skip", "flag", "note"}:
            raise Refused("There is no such thing to say of a unit.", 404)
        self.state.set_aside(self.row(number).id, person.id, kind, _text(text))

    def row(self, number: int) -> UnitRow:
        row = self.state.unit(number)
        if row is None or row.task not in self.tasks:
            raise Refused("There is no such unit.", 404)
        return row

    # -- what has been done ----------------------------------------------------------------------

    def recent(self, person: Person, task: str) -> list[dict[str, Any]]:
        """The last labels of a person under a task, newest first."""
        rows = self.state.all(
            "SELECT units.id, verdict, content, MAX(row) FROM given "
            "JOIN units ON units.id = unit WHERE given.person = ? AND task = ? "
            "GROUP BY units.id ORDER BY MAX(at) DESC LIMIT ?",
            person.id, task, RECENT,
        )  # fmt: skip
        return [
            {"unit": unit, "said": in_brief(verdict), "text": _brief(self.tasks[task], content)}
            for unit, verdict, content, _ in rows
        ]

    def counts(self, person: Person) -> list[dict[str, Any]]:
        """For each task how many units there are, how many labels are wanted and given, how many
        are mine, and in which queues something waits."""
        self.refresh()
        found = []
        for name, task in self.tasks.items():
            wanted, units, done = self.state.one(
                "SELECT coalesce(sum(passes), 0), COUNT(*), "
                "coalesce(sum(min(labelled, passes)), 0) FROM units WHERE task = ? AND wanted",
                name,
            )
            mine = self.state.one(
                "SELECT COUNT(DISTINCT unit) FROM given JOIN units ON units.id = unit "
                "WHERE person = ? AND task = ?", person.id, name,
            )[0]  # fmt: skip
            if not units and task.by_people:
                continue
            queues = {
                queue: bool(self.state.queue(queue, name, person, (), 1, self._gold))
                for queue in QUEUES
                if queue != "disagreements" or person.adjudicates
            }
            found.append(
                {
                    "task": name, "title": task.title, "units": units, "wanted": wanted,
                    "done": done, "mine": mine, "queues": queues,
                }
            )  # fmt: skip
        return found

    def brief(self, row: UnitRow) -> str:
        """The beginning of what is judged in a unit."""
        return _brief(self.tasks[row.task], row.content)

    def rows(self, numbers: Sequence[int]) -> list[UnitRow]:
        """The units with these numbers."""
        found: list[UnitRow] = []
        for start in range(0, len(numbers), 500):
            some = ",".join(str(int(one)) for one in numbers[start : start + 500])
            found += self.state.units(f"WHERE units.id IN ({some})")
        return found

    def by_hash(self, hashes: Sequence[str]) -> dict[str, UnitRow]:
        """The units with these hashes."""
        found = {}
        for one in dict.fromkeys(hashes):
            rows = self.state.units("WHERE units.hash = ?", one)
            if rows and rows[0].task in self.tasks:
                found[one] = rows[0]
        return found

    def machine_of(self, task: str) -> LabellerId | None:
        """The folder's own labeller of a task."""
        for part in self.opened.parts.values():
            book = part.book(self.ledger).book
            if book is not None and task in book.configured:
                return book.configured[task]
        return None

    def _guideline(self, task: str) -> str:
        """The task's guideline in the folder, Markdown; else what the task itself says."""
        folder = self.opened.folder.path
        path = inside(folder, f"guidelines/{task}.md", f"The guideline of {task}")
        if path.is_file():
            return "\n".join(read_text(path).lines)
        own = self.tasks[task]
        return f"# {own.title}\n\n{_said(own.unit.__doc__)}\n\n{_said(own.verdict.__doc__)}\n"


def _as_given(label: Label) -> dict[str, Any]:
    """A label as the person who gave it sees it again."""
    said = label.detail.get(WORKBENCH)
    evidence = said.get("evidence") if isinstance(said, Mapping) else None
    return {
        "uid": label.uid, "verdict": label.verdict, "reason": reason_of(label),
        "evidence": evidence if isinstance(evidence, list) else [],
    }  # fmt: skip


def _uids(said: Mapping[str, Any]) -> Sequence[str]:
    """The labels of others that the page says it showed."""
    found = said.get("seen")
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def comparable(verdict: Mapping[str, Any]) -> str:
    """A verdict without its reasons, as one text: equal for people who agree."""
    return canonical(without_reasons(verdict)).decode()


def reason_of(label: Label) -> str:
    """Why, where a label says so."""
    return str(label.reason or (label.verdict or {}).get("reason") or "")


def in_brief(verdict: str) -> str:
    """A verdict in a few words."""
    values: list[str] = []

    def take(value: Any) -> None:
        if isinstance(value, dict):
            for one in value.values():
                take(one)
        elif isinstance(value, list) and any(isinstance(one, dict | list) for one in value):
            values.append(f"{len(value)} items")
        elif isinstance(value, list):
            values.append(", ".join(map(str, value)))
        else:
            values.append(("yes" if value else "no") if isinstance(value, bool) else str(value))

    take(orjson.loads(verdict))
    return " · ".join(values)[:80]


def _brief(task: AnyTask, content: str) -> str:
    value = orjson.loads(content).get(task.judged_fields[0], "")
    text = "; ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= 90 else f"{text[:89]}…"


def _evidence(given: Any, content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Parts of the unit's texts that a person marked: the field, and where in it (characters)."""
    found = []
    for one in given if isinstance(given, list) else []:
        if not isinstance(one, dict):
            continue
        name, start, end = one.get("field"), one.get("start"), one.get("end")
        text = content.get(str(name))
        if isinstance(text, list) and isinstance(one.get("item"), int):
            text = text[one["item"]] if 0 <= one["item"] < len(text) else None
        if not isinstance(text, str) or type(start) is not int or type(end) is not int:
            continue
        if 0 <= start < end <= len(text):
            place = {"field": name, "start": start, "end": end, "text": text[start:end]}
            found.append(
                place | ({"item": one["item"]} if isinstance(one.get("item"), int) else {})
            )
    return found[:20]


def _text(given: Any) -> str:
    return given.strip()[:_MOST_TEXT] if isinstance(given, str) else ""


def _seconds(given: Any) -> float | None:
    good = isinstance(given, int | float) and not isinstance(given, bool) and 0 <= given < 1e6
    return round(float(given), 1) if good else None


def _topic_in(content: Mapping[str, Any]) -> str:
    return next((str(content[one]) for one in forms.QUERY_FIELDS if one in content), "")


def _certainty(label: Label) -> float | None:
    """How far a machine's verdict was from turning out otherwise (log odds), where that is known;
    labels from elsewhere may say anything."""
    margin, threshold = label.detail.get("margin"), label.detail.get("threshold")
    if not isinstance(margin, int | float):
        return None
    return abs(margin - (threshold if isinstance(threshold, int | float) else 0.0))


def _moment(created: str) -> float:
    """Seconds since 1970; 0 where a label from elsewhere does not say."""
    try:
        return datetime.fromisoformat(created).timestamp()
    except (ValueError, OverflowError):
        return 0.0


def _drawn(seed: int, *what: str) -> int:
    """A number of 31 bits drawn by ``seed`` for something."""
    digest = hashlib.sha256("\0".join((str(seed), *what)).encode()).digest()
    return int.from_bytes(digest[:4]) >> 1


def _said(text: str | None) -> str:
    return " ".join((text or "").split()).replace("``", "`")
