"""State of the workbench apart from labels: people, the order of units, and reservations.

Stored in ``workbench.sqlite`` beside the ledger. Only the ledger holds labels; the table ``given``
is rebuilt from it. Deleting the file loses invitations, skips, flags and notes, but no label.
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
"""Iterates over batches, and may let other work go first."""


class GivenLabel(NamedTuple):
    """A person's label as recorded by the workbench: the unit's hash, who gave it, the label's uid
    and number in the ledger, the verdict without reasons (JSON), its mode and time."""

    hash: str
    person: str
    uid: str
    row: int
    verdict: str
    mode: str
    at: float


@dataclass(frozen=True, slots=True)
class UnitRow:
    """A unit as stored by the workbench; ``content`` is JSON."""

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
        """Set the units that need labels: task, hash, topic, place, content and passes. Other
        stored units are kept, but no longer wanted. New units are numbered by their places, which
        are drawn at random, since people see the numbers, and questions about one run are adjacent.
        Writes batch by batch as ``each`` yields them, so that others can write in between."""
        columns = ("task", "hash", "topic", "place", "content", "passes")
        with self.gathered("asked", ("hash",)), self.gathered("fresh", columns):
            # New units are found first, so that the write lock is held only briefly.
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
                # WHERE true, here and below: else SQLite parses ON CONFLICT as the ON of a join.
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
        """Run a statement on batches of rows of a temporary table."""
        last = self.one(f"SELECT coalesce(MAX(rowid), 0) FROM temp.{table}")[0]  # noqa: S608
        for start in each(range(1, last + 1, _WRITTEN)):
            with self.writing():
                self.execute(statement, (start, start + _WRITTEN - 1))

    def _known(self, hashes: Sequence[str]) -> dict[str, tuple[str, int]]:
        """Topic and passes of those among the units that are already wanted."""
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
        """Store status and certainty of the folder's own labellers by unit hash, in batches like
        :meth:`set_units`."""
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
        """Set the random draw to the units of these tasks, named by topic or hash."""
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
        """Store the width of the score ranges on each topic."""
        with self.writing():
            self.db.executemany(
                "UPDATE topics SET range = ? WHERE name = ?",
                ((width, topic) for topic, width in found.items()),
            )

    def told(
        self, unit: UnitRow, person: Person, rests: Sequence[str], tells: str = ""
    ) -> list[int]:
        """Units whose labels this unit may reveal: of its topic and the tasks it ``rests`` on,
        labelled by others (or, for the task ``tells``, by a machine) and neither labelled nor seen
        by the person."""
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
        """The next units of a queue that the person has not labelled and nobody else has reserved
        (``also_held`` includes reserved ones; without ``in_order``, any units, which is faster).
        ``gold`` names a person whose labelled units, of any topic, are used for practice. Units
        that may reveal labels of the tasks they ``rests`` on come once the person has none of those
        left to label on the topic. People named in ``topics`` get only their topics, others the
        rest; but adjudicators get disagreements and flagged units of all topics."""
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
        # The + keeps SQLite from using an index on the task.
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
        """Units that match an SQL clause written by the workbench itself."""
        return [UnitRow(*row) for row in self.all(f"{_UNIT} {where}", *values)]

    # -- labels that are given -------------------------------------------------------------------

    def set_given(self, labels: Iterable[GivenLabel]) -> None:
        """Record labels from the ledger: for each person and unit the newest of each mode, so that
        labels given with others in sight do not hide earlier ones. Unknown units are skipped."""
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
        """Stop counting labels by (task, person) pairs, so that their units are open to others."""
        names = json.dumps(people)
        if self.one("SELECT value FROM facts WHERE name = 'left out of tasks'") == (names,):
            return
        with self.writing():
            self.execute("INSERT OR REPLACE INTO facts VALUES ('left out of tasks', ?)", (names,))
            self._count("id IN (SELECT unit FROM given)")

    def _count(self, which: str) -> None:
        """Update how many people labelled each of the selected units."""
        self.execute(
            "UPDATE units SET labelled = (SELECT COUNT(DISTINCT person) FROM given "  # noqa: S608
            f"WHERE unit = units.id AND mode != 'adjudication' AND {_COUNTS}) WHERE {which}"
        )

    def newest_given(self) -> GivenLabel | None:
        """The last label recorded here, or None."""
        row = self.one(
            "SELECT hash, name, uid, row, verdict, mode, at FROM given JOIN units "
            "ON units.id = unit JOIN people ON people.id = person ORDER BY row DESC LIMIT 1"
        )
        return None if row is None else GivenLabel(*row)

    def forget_given(self) -> None:
        """Forget all recorded labels, so that they are read from the ledger again."""
        with self.writing():
            self.execute("DELETE FROM given")
            self.execute("UPDATE units SET labelled = 0 WHERE labelled")

    def set_aside(self, unit: int, person: int, kind: str, text: str) -> None:
        """Record a person's skip (when adjudicating: "later"), flag or note on a unit; an empty
        flag or note removes it."""
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
"""True if no unit that this one rests on is partly labelled (or drawn, in the queue of drawn units)
and still open to this person, since seeing this unit may reveal what others said of that one."""
_FEW = ("drawn", "flagged", "skipped")
"""Queues whose units are looked up by number rather than by task."""

_COUNTS = """(units.task, person) NOT IN (SELECT json_extract(out.value, '$[0]'), people.id
    FROM json_each((SELECT value FROM facts WHERE name = 'left out of tasks')) AS out
    JOIN people ON people.name = json_extract(out.value, '$[1]'))"""
"""True if no policy leaves out the label's person."""
_NEWEST = f"""FROM given AS newest WHERE unit = units.id AND mode != 'adjudication' AND {_COUNTS}
    AND row = (SELECT MAX(row) FROM given WHERE unit = newest.unit
        AND person = newest.person AND mode != 'adjudication')"""  # noqa: S608
"""The newest label by each person on a unit."""
_OPEN = "labelled < passes"
_QUEUES = {
    "open": (_OPEN, "place"),
    "drawn": ("labelled < passes AND units.id IN (SELECT unit FROM drawn)", "place"),
    "failed": (f"{_OPEN} AND machine = 'failed'", "place"),
    "uncertain": (f"{_OPEN} AND sure IS NOT NULL", "sure, place"),
    "widest": (
        f"{_OPEN} AND machine != 'ok' AND labelled = 0",
        "range DESC, topics.id, place",  # the order of the indexes
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
        # Postponed units come last; among the rest, the least agreement comes first.
        f"""(SELECT at FROM asides WHERE unit = units.id AND person = :me AND kind = 'later'),
            (SELECT COUNT(*) {_NEWEST} GROUP BY verdict ORDER BY 1 DESC LIMIT 1), place""",  # noqa: S608
    ),
}
"""The condition and the order of each queue."""
