"""Reading the ledger: labels, units, labellers, and the state of questions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Sized
from itertools import chain, islice
from typing import Any, TypeVar

import orjson

from assay.ledger.hashes import LETTERS, as_stored, is_hash, packed, unpacked
from assay.ledger.store import LEAST, MOST, Store, each
from assay.model.labels import Label, LabellerId, Status

QuestionKey = tuple[str, str]
"""What identifies a question in the ledger: the hash of its unit, and its key."""

_COLUMNS = (
    "labels.id, uid, key, labels.task, version, hash, labeller, status, verdict, reason, error, "
    "sample, overrules, tokens_in, tokens_out, cost, seconds, created, detail"
)
_FROM_LABELS = "FROM labels JOIN units ON units.id = unit"
_STATUSES = {status.value: status for status in Status}
_CHUNK = 500  # values bound in one look-up, far below SQLite's limit
_BLOCK = 2_000

V = TypeVar("V")


class Reading:
    """The reading half of an open ledger; :class:`assay.ledger.Ledger` adds writing."""

    def __init__(self, store: Store) -> None:
        self.place, self.name = store.place, store.name
        self._db = store
        self._labellers: dict[int, LabellerId] = {}
        # The number of the newest label looked at, and the tasks that people labelled up to it.
        self._by_people: tuple[int, frozenset[str]] = (0, frozenset())

    def statuses(self, asked: Iterable[QuestionKey]) -> dict[str, Status]:
        """The status of each question, by key: ``ok`` if any of its labels is, else ``failed``.
        Questions that were never asked are absent."""
        known: dict[str, Status] = {}
        if not self.size():
            return known
        with self._db.explained():
            pairs = ((packed(unit), as_stored(key)) for unit, key in asked)
            for stored, status in self.asked("labels.key, status", pairs):
                key = unpacked(stored)
                if known.get(key) is not Status.OK:
                    known[key] = Status(status)
        return known

    def known_keys(self, keys: Collection[str]) -> set[str]:
        """The keys that any label has, whatever its unit. Reads all labels."""
        wanted = {as_stored(key) for key in keys}
        every = "SELECT id, key FROM labels WHERE id <= ? AND id > ? ORDER BY id"
        with self._db.explained():
            found = (key for _, key in each(self._db, every, [MOST, LEAST]) if key in wanted)
            return {unpacked(key) for key in found}

    def size(self) -> int:
        """The number of labels, which is that of the newest, as none is ever deleted."""
        with self._db.explained():
            return int(self._db.execute("SELECT max(id) FROM labels").fetchone()[0] or 0)

    def use_less_memory(self) -> None:
        """Cache little of the file, for a ledger much larger than the memory available."""
        with self._db.explained():
            self._db.use_less_memory()

    def judged_by_people(self) -> frozenset[str]:
        """Names of the tasks that any person ever labelled. Each call reads only new labels."""
        (last, found), newest, people = self._by_people, self.size(), self._people()
        if people and newest > last:
            with self._db.explained():
                rows = self._db.execute(
                    "SELECT DISTINCT name FROM labels JOIN tasks ON tasks.id = task "  # noqa: S608
                    f"WHERE labels.id > ? AND labels.id <= ? AND labeller IN ({marks(people)})",
                    [last, newest, *people],
                )
                found = found.union(name for (name,) in rows)
        self._by_people = newest, found
        return found

    def why_failed(self, task: str, by: Collection[int]) -> Counter[str]:
        """Count the units of a task whose labels by these labellers (numbers) all failed, by the
        error of the newest label. Only the text before the error's first colon is used, as the
        rest differs from unit to unit."""
        with self._db.explained():
            rows = self._db.execute(
                "SELECT error, COUNT(*) FROM labels JOIN (SELECT MAX(labels.id) AS newest FROM "  # noqa: S608
                "labels JOIN tasks ON tasks.id = task WHERE name = ? "
                f"AND labeller IN ({marks(by)}) GROUP BY unit "
                "HAVING MAX(CASE WHEN status = 'ok' THEN 1 ELSE 0 END) = 0) AS units "
                "ON newest = labels.id GROUP BY error",
                [task, *by],
            ).fetchall()
        return by_reason(rows)

    def of_other_versions(self, versions: Mapping[str, str]) -> int:
        """The number of labels of these tasks that belong to other versions of the task."""
        wanted = self._in_versions(versions)
        others = " OR ".join(["(task = ? AND version != ?)"] * len(wanted)) or "FALSE"
        with self._db.explained():
            values = [*chain.from_iterable(wanted)]
            row = self._db.execute(f"SELECT COUNT(*) FROM labels WHERE {others}", values).fetchone()  # noqa: S608
            return int(row[0])

    def _in_versions(self, versions: Mapping[str, str]) -> list[tuple[int, str]]:
        """Number and version of each of these tasks that was ever labelled."""
        names = self.task_names().items()
        return [(number, versions[name]) for number, name in names if name in versions]

    def unit(self, unit: str) -> Mapping[str, Any]:
        """Content of the unit with this hash. Raises KeyError if there is none."""
        return self.contents([unit])[unit]

    def contents(self, units: Iterable[str]) -> dict[str, Mapping[str, Any]]:
        """Content of the units with these hashes; unknown ones are absent."""
        with self._db.explained():
            rows = self._look_up("hash, content FROM units WHERE hash", map(packed, units))
            return {unpacked(unit): orjson.loads(content) for unit, content in rows}

    def tasks(self) -> set[str]:
        """Names of the tasks that were ever labelled."""
        return set(self.task_names().values())

    def task_names(self) -> dict[int, str]:
        """Names of the tasks that were ever labelled, by the number that rows refer to."""
        with self._db.explained():
            return dict(self._db.execute("SELECT id, name FROM tasks"))

    def labels(self, tasks: Iterable[str] | None = None) -> Iterator[Label]:
        """All present labels of the named tasks (None: of all), oldest first."""
        names = None if tasks is None else list(tasks)
        chosen = of_tasks("labels.task", names)
        some = f"{_FROM_LABELS} {chosen} AND labels.id <= ? AND labels.id > ?"
        yield from self._select(some, [*(names or []), self.size(), LEAST], many=True)

    def by_people(self, after: int = 0) -> Iterator[Label]:
        """People's labels with numbers above ``after``, oldest first."""
        people = self._people()
        if not people:
            return
        by = marks(people)
        some = f"{_FROM_LABELS} WHERE labeller IN ({by}) AND labels.id <= ? AND labels.id > ?"
        yield from self._select(some, [*people, self.size(), after], many=True)

    def _people(self) -> list[int]:
        """The numbers of the labellers who are people."""
        return [number for number, who in self.labellers().items() if who.is_human]

    def usable_by_each(self) -> Iterator[Label]:
        """Usable labels: all by people, and one per task by every other labeller."""
        people = self._people()
        firsts = "SELECT min(id) FROM labels WHERE status = 'ok' GROUP BY task, labeller"
        by_people = f"labeller IN ({marks(people)})"
        some = f"{_FROM_LABELS} WHERE status = 'ok' AND ({by_people} OR labels.id IN ({firsts}))"
        yield from self._select(some, people)

    def count(self) -> int:
        """The number of rows, whatever their numbers (:meth:`size` relies on these)."""
        with self._db.explained():
            return int(self._db.execute("SELECT count(*) FROM labels").fetchone()[0])

    def of_versions(
        self, versions: Mapping[str, str], newest: int
    ) -> Iterator[list[tuple[Any, ...]]]:
        """The columns that scores need, for the labels up to number ``newest`` of these tasks in
        these versions, in blocks, oldest first: number, unit (packed), numbers of task and
        labeller, verdict (JSON, None if failed), sample, overrules, and detail (JSON or None)."""
        wanted = self._in_versions(versions)
        if not wanted:
            return
        these = " OR ".join(["(labels.task = ? AND version = ?)"] * len(wanted))
        with self._db.explained():
            yield from self._db.blocks(
                "SELECT labels.id, hash, labels.task, labeller, verdict, sample, overrules, "  # noqa: S608
                "nullif(detail, '{}') FROM labels JOIN units ON units.id = unit "
                f"WHERE ({these}) AND labels.id <= ? AND labels.id > ? ORDER BY labels.id",
                [*chain.from_iterable(wanted), newest, LEAST],
                _BLOCK,
            )

    def whole(self, labels: Iterable[Label]) -> Iterator[Label]:
        """These labels with all their fields. A label that counts for another task
        (:mod:`assay.tasks.shared`) keeps that task and verdict."""
        for chunk in _chunks(labels):
            found = {one.rowid: one for one in self.of_numbers(one.rowid for one in chunk)}
            for one in chunk:
                yield as_counted_for(found[one.rowid], one)

    def numbers(self) -> dict[bytes, int]:
        """The number of every label, by packed uid."""
        every = "SELECT id, uid FROM labels WHERE id <= ? AND id > ? ORDER BY id"
        with self._db.explained():
            return {uid: number for number, uid in each(self._db, every, [MOST, LEAST])}

    def of_numbers(self, numbers: Iterable[int]) -> Iterator[Label]:
        """The labels with these numbers."""
        for chunk in _chunks(numbers):
            yield from self._select(f"{_FROM_LABELS} WHERE labels.id IN ({marks(chunk)})", chunk)

    def keys(self, rowids: Iterable[int]) -> dict[int, str]:
        """The keys of the labels with these numbers."""
        with self._db.explained():
            rows = self._look_up("id, key FROM labels WHERE id", rowids)
            return {number: unpacked(key) for number, key in rows}

    def _look_up(self, columns: str, values: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
        """Rows whose last column is one of the values. ``columns`` is constant SQL."""
        for chunk in _chunks(values):
            yield from self._db.execute(f"SELECT {columns} IN ({marks(chunk)})", chunk)

    def by_key(self, asked: Iterable[QuestionKey]) -> dict[str, Label]:
        """The label of each question, by key: the first usable one, else the newest failed one.
        Questions that were never asked are absent."""
        found: dict[str, Label] = {}
        for chunk in _chunks(dict.fromkeys(asked)):
            pairs = [(packed(unit), as_stored(key)) for unit, key in chunk]
            begin, of_asked, values = self._db.question_query(pairs)
            for label in self._select(of_asked, values, begin):
                known = found.get(label.key)
                if known is None or known.status is not Status.OK:
                    found[label.key] = label
        return found

    def of_units(self, units: Iterable[str]) -> Iterator[Label]:
        """All labels of the units with these hashes; those of one unit oldest first."""
        for chunk in _chunks(dict.fromkeys(units)):
            some = f"{_FROM_LABELS} WHERE hash IN ({marks(chunk)})"
            yield from self._select(some, [packed(unit) for unit in chunk])

    def _select(
        self, some: str, values: Sequence[Any], before: str = "", *, many: bool = False
    ) -> Iterator[Label]:
        """The labels that ``some`` selects. With ``many``, the last two ``values`` are the highest
        label number and the number to start after. The highest must exist now: tasks and labellers
        that others add during reading are not known here."""
        with self._db.explained():
            query = f"{before} SELECT {_COLUMNS} {some} ORDER BY labels.id"
            rows = each(self._db, query, values) if many else self._db.execute(query, values)
            labellers, tasks = self.labellers(), self.task_names()
            for number, uid, key, task, version, unit, who, *said in rows:
                about = (number, uid, key, tasks[task], version, unit, labellers[who])
                yield label_of(*about, *said)

    def labellers(self) -> dict[int, LabellerId]:
        """Every labeller that ever wrote a label, by the number that rows refer to."""
        with self._db.explained():
            rows = self._db.execute("SELECT id, name, kind, params FROM labellers").fetchall()
        for number, name, kind, params in rows:
            if number not in self._labellers:
                self._labellers[number] = LabellerId(name, kind, orjson.loads(params))
        return self._labellers

    def named(self, name: str) -> list[LabellerId]:
        """The labellers of this name: only one if it is an :attr:`exact_name`."""
        every = self.labellers().values()
        exact = [one for one in every if one.exact_name == name]
        return exact or [one for one in every if one.name == name]

    def units(self, tasks: Iterable[str] | None = None) -> dict[str, Mapping[str, Any]]:
        """Content of every unit, by hash, of the named tasks or of all."""
        return dict(self.unit_contents(tasks))

    def unit_contents(
        self, tasks: Iterable[str] | None = None
    ) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """The same one after the other."""
        names = None if tasks is None else list(tasks)
        with self._db.explained():
            chosen = f"{of_tasks('task', names)} AND id <= ? AND id > ? ORDER BY id"
            every = f"SELECT id, hash, content FROM units {chosen}"  # noqa: S608 (constants)
            for _, unit, content in each(self._db, every, [*(names or []), MOST, LEAST]):
                yield unpacked(unit), orjson.loads(content)

    def find(self, uid_prefix: str) -> list[str]:
        """Uids that begin with ``uid_prefix``, at most ten."""
        ends = [uid_prefix.ljust(LETTERS, digit) for digit in "0f"]
        if not all(map(is_hash, ends)):
            return []
        with self._db.explained():
            some = "SELECT uid FROM labels WHERE uid BETWEEN ? AND ? LIMIT 10"
            found = self._db.execute(some, [*map(packed, ends)])
            return [unpacked(uid) for (uid,) in found]

    def stats(self) -> list[dict[str, Any]]:
        """Counts, tokens, cost (US dollars) and seconds for each task and labeller.

        A labeller is given by exact name if several settings share a name. ``unpriced`` counts
        model labels of unknown cost, which ``cost`` leaves out. ``cached`` is the number of input
        tokens served from a cache, ``cache_saved`` the US dollars this saved (negative if it cost
        more); both are None if no label reports them."""
        with self._db.explained():
            rows = self._db.execute(
                "SELECT tasks.name, version, labeller, status, COUNT(*), SUM(tokens_in), "
                "SUM(tokens_out), SUM(cost), SUM(seconds), MIN(created), MAX(created), "
                "SUM(CASE WHEN cost IS NULL AND kind = 'model' THEN 1 ELSE 0 END) FROM labels "
                "JOIN labellers ON labellers.id = labels.labeller "
                "JOIN tasks ON tasks.id = labels.task "
                "GROUP BY 1, 2, 3, 4"
            ).fetchall()
            caches = self._caches()
        called = {
            number: one.name if len(self.named(one.name)) == 1 else one.exact_name
            for number, one in self.labellers().items()
        }
        names = (
            "task", "version", "labeller", "status", "labels", "tokens_in", "tokens_out", "cost",
            "seconds", "first", "last", "unpriced", "cached", "cache_saved",
        )  # fmt: skip
        found = [
            (task, version, called[who], status, *sums, *caches[task, version, who, status])
            for task, version, who, status, *sums in rows
        ]
        found.sort(key=lambda row: (row[0], row[2], row[3], row[1]))
        return [dict(zip(names, row, strict=True)) for row in found]

    def _caches(self) -> Mapping[tuple[Any, ...], list[Any]]:
        """Cached tokens and US dollars saved, by task, version, labeller and status."""
        rows = self._db.execute(
            "SELECT tasks.name, version, labeller, status, detail, COUNT(*) FROM labels "
            "JOIN tasks ON tasks.id = labels.task "
            "WHERE detail LIKE ? GROUP BY 1, 2, 3, 4, 5 ORDER BY MIN(labels.id)",
            ['%"cache%'],
        )
        found: defaultdict[tuple[Any, ...], list[Any]] = defaultdict(lambda: [None, None])
        for *key, detail, count in rows:
            said, sums = orjson.loads(detail), found[tuple(key)]
            for at, name in enumerate(("cached_tokens", "cache_saved")):
                if isinstance(said.get(name), int | float):
                    sums[at] = (sums[at] or 0) + count * said[name]
        return found

    def version(self) -> int:
        """Number of the last migration applied."""
        with self._db.explained():
            return self._db.version()

    def asked(
        self, columns: str, asked: Iterable[tuple[bytes, bytes | str]]
    ) -> Iterator[tuple[Any, ...]]:
        """Columns (constant SQL) of the labels under these pairs of packed unit and key."""
        for chunk in _chunks(dict.fromkeys(asked)):
            begin, of_asked, values = self._db.question_query(chunk)
            yield from self._db.execute(f"{begin} SELECT {columns} {of_asked}", values)


def _chunks(values: Iterable[V]) -> Iterator[list[V]]:
    """Split values into lists short enough for one query."""
    wanted = iter(values)
    return iter(lambda: list(islice(wanted, _CHUNK)), [])


def by_reason(errors: Iterable[tuple[str | None, int]]) -> Counter[str]:
    """Sum the counts of errors by reason: the text before the first colon."""
    found: Counter[str] = Counter()
    for error, count in errors:
        found[(error or "no reason is known").partition(": ")[0].rstrip(".")] += count
    return found


def label_of(
    number: int,
    uid: bytes,
    key: bytes | str,
    task: str,
    version: str,
    unit: bytes,
    labeller: LabellerId,
    status: str,
    verdict: str | None,
    reason: str | None,
    error: str | None,
    sample: int,
    overrules: bytes | str | None,
    tokens_in: int | None,
    tokens_out: int | None,
    cost: float | None,
    seconds: float | None,
    created: str,
    detail: str,
) -> Label:
    """A label from its columns as stored."""
    return Label(
        unpacked(uid), unpacked(key), task, version, unpacked(unit), labeller, _STATUSES[status],
        None if verdict is None else orjson.loads(verdict), reason, error, sample,
        None if overrules is None else unpacked(overrules), tokens_in, tokens_out, cost, seconds,
        created, {} if detail == "{}" else orjson.loads(detail), number,
    )  # fmt: skip


def as_counted_for(whole: Label, label: Label) -> Label:
    """A whole label with the task and verdict of ``label``, which may be for another task."""
    return whole._replace(
        task=label.task, version=label.version, unit=label.unit, verdict=label.verdict,
        detail=label.detail,
    )  # fmt: skip


def marks(values: Sized) -> str:
    """A placeholder for each value in an SQL list; NULL, which equals nothing, if there are none
    (PostgreSQL rejects an empty list)."""
    return ",".join("?" * len(values)) or "NULL"


def of_tasks(column: str, names: Sequence[str] | None) -> str:
    """A WHERE clause that limits ``column``, a task's number, to the named tasks (None: to all)."""
    if not names:
        return "WHERE TRUE" if names is None else "WHERE FALSE"
    return f"WHERE {column} IN (SELECT id FROM tasks WHERE name IN ({marks(names)}))"  # noqa: S608
