"""The workbench's state apart from labels: people, the units in order, and who has which.

It is stored in ``workbench.sqlite`` beside the ledger. Only the ledger holds labels; the table
``given`` is rebuilt from it. Deleting the file loses invitations, skips, flags and notes, but no
label.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from assay.web.people import People, Person, Role

_SOME = 500
"""Units looked up at once."""
_WRITTEN = 1000
"""Units written at once, in some 20 ms."""
Each = Callable[[Iterable[Any]], Iterable[Any]]
"""Gives what there are many of one by one, and may let others go first."""


class GivenLabel(NamedTuple):
    """A person's label as the workbench notes it: the unit's hash, who gave it, the label's uid and
    number in the ledger, the verdict without reasons (JSON), how and when it was given."""

    hash: str
    person: str
    uid: str
    row: int
    verdict: str
    mode: str
    at: float


@dataclass(frozen=True, slots=True)
class UnitRow:
    """A unit as the workbench holds it; ``content`` is JSON."""

    id: int
    task: str
    hash: str
    topic: str
    content: str
    passes: int
    labelled: int


class WorkbenchState(People):
    """An open ``workbench.sqlite``, for one thread. Raises LedgerError if it cannot be used."""

    # -- units -----------------------------------------------------------------------------------

    def set_units(self, units: Iterable[Sequence[Any]], each: Each = iter) -> None:
        """Make these the units that labels are wanted of: task, hash, topic, place, content and
        passes. What was there before stays as it was, but is wanted no longer. Those that are new
        get their numbers in the order of their places, which is drawn: people see them, and what is
        asked of one run stands together. Writes a part at a time, each once ``each`` gives it:
        others may write in between."""
        columns = ("task", "hash", "topic", "place", "content", "passes")
        with self.gathered("asked", ("hash",)), self.gathered("fresh", columns):
            # What is new is found before anybody is kept from writing.
            rest = iter(units)
            while some := list(islice(rest, _SOME)):
                self.gather("asked", ((unit[1],) for unit in some))
                known = self._known([unit[1] for unit in some])
                self.gather("fresh", (u for u in some if known.get(u[1]) != (u[2], u[5])))
            self.made(
                "gone",
                "SELECT id FROM units WHERE wanted AND hash NOT IN (SELECT hash FROM asked)",
            )
            with self.writing():
                self.execute("UPDATE units SET wanted = 0 WHERE id IN (SELECT id FROM gone)")
                # WHERE true, here and below: else SQLite takes ON CONFLICT for the ON of a join.
                self.execute(
                    "INSERT INTO topics (name) SELECT topic FROM fresh WHERE true "
                    "GROUP BY topic ORDER BY MIN(place) ON CONFLICT DO NOTHING"
                )
            self.made("placed", "SELECT * FROM fresh ORDER BY place, hash")
            self._by_parts(
                "placed",
                "INSERT INTO units (task, hash, topic, place, content, passes) "
                "SELECT task, hash, topics.id, place, content, passes FROM placed "
                "JOIN topics ON topics.name = topic WHERE placed.rowid BETWEEN ? AND ? "
                "ORDER BY placed.rowid ON CONFLICT (hash) DO UPDATE SET "
                "wanted = 1, passes = excluded.passes, topic = excluded.topic",
                each,
            )

    def _by_parts(self, table: str, statement: str, each: Each) -> None:
        """A statement on some rows of a table of this connection at a time."""
        last = self.one(f"SELECT coalesce(MAX(rowid), 0) FROM temp.{table}")[0]  # noqa: S608
        for start in each(range(1, last + 1, _WRITTEN)):
            with self.writing():
                self.execute(statement, (start, start + _WRITTEN - 1))

    def _known(self, hashes: Sequence[str]) -> dict[str, tuple[str, int]]:
        """Topic and passes of those of these units that labels are wanted of already."""
        some = ",".join("?" * len(hashes))
        query = (
            "SELECT hash, name, passes FROM units JOIN topics ON topics.id = topic "  # noqa: S608
            f"WHERE wanted AND hash IN ({some})"
        )
        rows = self.all(query, *hashes)
        return {unit: (topic, passes) for unit, topic, passes in rows}

    def set_machines(
        self, found: Mapping[str, tuple[str, float | None]], each: Each = iter
    ) -> None:
        """What the folder's own labellers said: status and certainty by the unit's hash; written as
        :meth:`set_units` writes."""
        with self.gathered("said", ("hash", "status", "sure")):
            self.gather("said", ((unit, *said) for unit, said in found.items()))
            self.made(
                "other",
                """SELECT units.id, said.status, said.sure FROM said
                    JOIN units ON units.hash = said.hash
                    WHERE (units.machine, units.sure) IS NOT (said.status, said.sure)""",
            )
            self._by_parts(
                "other",
                "UPDATE units SET machine = other.status, sure = other.sure FROM other "
                "WHERE other.id = units.id AND other.rowid BETWEEN ? AND ?",
                each,
            )

    def set_drawn(self, drawn: Iterable[tuple[str, str]]) -> None:
        """Make the units of these tasks, by topic or by hash, those of the random draw."""
        with self.gathered("asked", ("task", "name")):
            self.gather("asked", drawn)
            self.made(
                "chosen",
                "SELECT units.id FROM units JOIN topics ON topics.id = units.topic "
                "JOIN asked ON asked.task = units.task AND asked.name = topics.name UNION "
                "SELECT units.id FROM units JOIN asked ON asked.name = units.hash",
            )
            with self.writing():
                self.execute("DELETE FROM drawn WHERE unit NOT IN (SELECT id FROM chosen)")
                self.execute(
                    "INSERT INTO drawn SELECT id FROM chosen WHERE true ON CONFLICT DO NOTHING"
                )

    def set_ranges(self, found: Mapping[str, float]) -> None:
        """How far scores may still move on each topic."""
        with self.writing():
            self.db.executemany(
                "UPDATE topics SET range = ? WHERE name = ?",
                ((width, topic) for topic, width in found.items()),
            )

    def told(
        self, unit: UnitRow, person: Person, rests: Sequence[str], tells: str = ""
    ) -> list[int]:
        """Units of its topic, of the tasks that a unit rests on, that others labelled (or of the
        task that it ``tells`` of, that a machine did) and the person did not: the unit may tell
        what they said."""
        rows = self.all(
            "SELECT id FROM units WHERE topic = (SELECT topic FROM units WHERE id = ?) "
            "AND task IN (SELECT value FROM json_each(?)) "
            "AND (labelled > 0 OR (machine = 'ok' AND task = ?)) AND NOT EXISTS "
            "(SELECT 1 FROM given WHERE given.unit = units.id AND person = ?) AND NOT EXISTS "
            "(SELECT 1 FROM asides WHERE asides.unit = units.id AND person = ? AND kind = 'seen')",
            unit.id, json.dumps(rests), tells, person.id, person.id,
        )  # fmt: skip
        return [row[0] for row in rows]

    def queue(
        self,
        queue: str,
        task: str,
        person: Person,
        *,
        gold: str,
        rests: Sequence[str],
        topics: Mapping[str, Sequence[str]],
        count: int,
        without: Sequence[int] = (),
        in_order: bool = True,
        also_held: bool = False,
    ) -> list[UnitRow]:
        """The next units of a queue (some of them, found sooner, if not ``in_order``) that nobody
        else has (with ``also_held`` those, too), and that the person has not labelled; with
        ``gold`` those that the person of that name has, of any topic, for practice. What may tell
        labels of the tasks that it ``rests`` on comes once nobody is to be asked these of the same
        topic. Who
        is named in ``topics`` is given these alone, and who is not the others; but adjudicators
        are given disagreements, and what was flagged, of all."""
        some, order = _QUEUES[queue]
        done = """
                AND NOT EXISTS (SELECT 1 FROM asides
                    WHERE unit = units.id AND person = :me AND kind IN ('skip', 'trained'))"""
        if gold:
            some = """EXISTS (SELECT 1 FROM given JOIN people ON people.id = person
                WHERE unit = units.id AND name = :gold)"""
            free = done
        elif queue == "disagreements":
            free = (
                ""
                if also_held
                else """
                AND NOT EXISTS (SELECT 1 FROM reserved
                    WHERE unit = units.id AND person != :me AND until > :now)"""
            )
        elif queue in {"flagged", "skipped"}:
            free = ""
        else:
            free = done
            if not also_held:
                free += """
                AND labelled + (SELECT COUNT(*) FROM reserved
                    WHERE unit = units.id AND person != :me AND until > :now) < passes"""
            free += _RESTS if rests else ""
        given = topics.get(person.name, [one for named in topics.values() for one in named])
        if queue != "disagreements":
            if topics and not gold and not (queue == "flagged" and person.adjudicates):
                free += " AND topics.name" + ("" if person.name in topics else " NOT")
                free += " IN (SELECT value FROM json_each(:topics))"
            free += """
                AND NOT EXISTS (SELECT 1 FROM given WHERE unit = units.id AND person = :me)"""
        held = ",".join(str(int(one)) for one in without)
        # With a + SQLite does not look the task up in an index.
        rows = self.execute(
            f"{_BY_TOPIC if queue == 'widest' else _UNIT} "
            f"WHERE {'+' if queue in _FEW else ''}task = :task AND wanted AND {some} {free} "
            f"AND units.id NOT IN ({held}) {f'ORDER BY {order}' if in_order else ''} LIMIT :count",
            {
                "task": task, "me": person.id, "now": time.time(), "count": count, "gold": gold,
                "rests": json.dumps(rests), "queue": queue, "topics": json.dumps(given),
            },
        )  # fmt: skip
        return [UnitRow(*row) for row in rows]

    def unit(self, number: int) -> UnitRow | None:
        """The unit with this number."""
        row = self.one(f"{_UNIT} WHERE units.id = ?", number)
        return None if row is None else UnitRow(*row)

    def units(self, where: str, *values: Any) -> list[UnitRow]:
        """Units by a condition of the workbench's own."""
        return [UnitRow(*row) for row in self.all(f"{_UNIT} {where}", *values)]

    # -- labels that are given -------------------------------------------------------------------

    def set_given(self, labels: Iterable[GivenLabel]) -> None:
        """Note labels of the ledger: of a person's on a unit the newest of each mode, so that what
        is said later with others in sight hides nothing of what was said before. Those of units
        that the workbench does not know are passed over."""
        with self.gathered("said", GivenLabel._fields):
            self.gather("said", labels)
            self.made(
                "fresh",
                """SELECT units.id AS unit, said.* FROM said JOIN units ON units.hash = said.hash
                    LEFT JOIN people ON people.name = said.person
                    LEFT JOIN given ON given.unit = units.id AND given.person = people.id
                        AND given.mode = said.mode
                    WHERE given.row IS NULL OR given.row < said.row ORDER BY said.row""",
            )
            with self.writing():
                self.execute(
                    "INSERT INTO people (name, role, made) SELECT DISTINCT person, ?, ? FROM fresh "
                    "WHERE true ON CONFLICT DO NOTHING",
                    (Role.LABELLER, time.time()),
                )
                self.execute(
                    "INSERT OR REPLACE INTO given SELECT unit, people.id, uid, row, verdict, mode, "
                    "at FROM fresh JOIN people ON people.name = fresh.person ORDER BY row"
                )
                self._count("id IN (SELECT unit FROM fresh)")
                labelled = (
                    "(unit, person) IN "
                    "(SELECT unit, people.id FROM fresh JOIN people ON people.name = fresh.person)"
                )
                self.execute(f"DELETE FROM reserved WHERE {labelled}")  # noqa: S608
                self.execute(f"DELETE FROM asides WHERE kind IN ('skip', 'later') AND {labelled}")  # noqa: S608

    def leave_out(self, people: Sequence[Sequence[str]]) -> None:
        """Count labels of tasks, each with somebody, by these people no more: what they labelled is
        for others to label."""
        names = json.dumps(people)
        if self.one("SELECT value FROM facts WHERE name = 'left out of tasks'") == (names,):
            return
        with self.writing():
            self.execute("INSERT OR REPLACE INTO facts VALUES ('left out of tasks', ?)", (names,))
            self._count("id IN (SELECT unit FROM given)")

    def _count(self, which: str) -> None:
        """How many people labelled each of some units."""
        self.execute(
            "UPDATE units SET labelled = (SELECT COUNT(DISTINCT person) FROM given "  # noqa: S608
            f"WHERE unit = units.id AND mode != 'adjudication' AND {_COUNTS}) WHERE {which}"
        )

    def newest_given(self) -> GivenLabel | None:
        """The last label that is noted here; None where there is none."""
        row = self.one(
            "SELECT hash, name, uid, row, verdict, mode, at FROM given JOIN units "
            "ON units.id = unit JOIN people ON people.id = person ORDER BY row DESC LIMIT 1"
        )
        return None if row is None else GivenLabel(*row)

    def forget_given(self) -> None:
        """Note no label; those of the ledger are to be taken up anew."""
        with self.writing():
            self.execute("DELETE FROM given")
            self.execute("UPDATE units SET labelled = 0 WHERE labelled")

    def set_aside(self, unit: int, person: int, kind: str, text: str) -> None:
        """A skip (or, where it is to be settled, that it comes later), a flag or a note of a person
        on a unit; an empty flag or note takes it away."""
        passed = kind in ("skip", "later")
        if not (passed or text):
            self.execute(
                "DELETE FROM asides WHERE unit = ? AND person = ? AND kind = ?",
                (unit, person, kind),
            )
            return
        self.execute(
            "INSERT OR REPLACE INTO asides VALUES (?, ?, ?, ?, ?)",
            (unit, person, kind, text, time.time()),
        )
        if passed:
            self.execute("DELETE FROM reserved WHERE unit = ? AND person = ?", (unit, person))


_COLUMNS = "SELECT units.id, task, units.hash, topics.name, content, passes, labelled FROM "
_UNIT = f"{_COLUMNS} units JOIN topics ON topics.id = topic"
_BY_TOPIC = f"{_COLUMNS} topics CROSS JOIN units ON topics.id = topic"
_RESTS = """
    AND NOT EXISTS (SELECT 1 FROM units AS before
        WHERE before.topic = units.topic
        AND before.task IN (SELECT value FROM json_each(:rests))
        AND before.wanted AND before.labelled < before.passes
        AND (before.labelled > 0
            OR (:queue = 'drawn' AND before.id IN (SELECT unit FROM drawn)))
        AND NOT EXISTS (SELECT 1 FROM given WHERE unit = before.id AND person = :me)
        AND NOT EXISTS (SELECT 1 FROM asides
            WHERE unit = before.id AND person = :me AND kind = 'skip'))"""
"""Nothing that a unit rests on is half labelled (or drawn, among what is drawn) and this person's
to label: somebody who sees the unit may see what others said of that."""
_FEW = ("drawn", "flagged", "skipped")
"""Queues whose units are looked up by their numbers, not among all of the task."""

_COUNTS = """(units.task, person) NOT IN (SELECT json_extract(out.value, '$[0]'), people.id
    FROM json_each((SELECT value FROM facts WHERE name = 'left out of tasks')) AS out
    JOIN people ON people.name = json_extract(out.value, '$[1]'))"""
"""No policy leaves out the person of a label."""
_NEWEST = f"""FROM given AS newest WHERE unit = units.id AND mode != 'adjudication' AND {_COUNTS}
    AND row = (SELECT MAX(row) FROM given WHERE unit = newest.unit
        AND person = newest.person AND mode != 'adjudication')"""  # noqa: S608
"""What each person said of a unit."""
_OPEN = "labelled < passes"
_QUEUES = {
    "open": (_OPEN, "place"),
    "drawn": ("labelled < passes AND units.id IN (SELECT unit FROM drawn)", "place"),
    "failed": (f"{_OPEN} AND machine = 'failed'", "place"),
    "uncertain": (f"{_OPEN} AND sure IS NOT NULL", "sure, place"),
    "widest": (
        f"{_OPEN} AND machine != 'ok' AND labelled = 0",
        "range DESC, topics.id, place",  # as the indexes have them
    ),
    "flagged": (
        "units.id IN (SELECT unit FROM asides WHERE kind = 'flag')",
        "place",
    ),
    "skipped": (
        "units.id IN (SELECT unit FROM asides WHERE kind = 'skip' AND person = :me)",
        "place",
    ),
    "disagreements": (
        f"""labelled >= passes AND (SELECT COUNT(DISTINCT verdict) {_NEWEST}) > 1
            AND NOT EXISTS (SELECT 1 FROM given WHERE unit = units.id AND mode = 'adjudication')""",  # noqa: S608
        # What was put off is last; what the fewest agree on is first.
        f"""(SELECT at FROM asides WHERE unit = units.id AND person = :me AND kind = 'later'),
            (SELECT COUNT(*) {_NEWEST} GROUP BY verdict ORDER BY 1 DESC LIMIT 1), place""",  # noqa: S608
    ),
}
"""Which units are in a queue, and in which order."""
