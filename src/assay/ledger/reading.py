"""What is read from the ledger: labels, units, labellers, what is known of a question."""

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
"""A question as the ledger knows it: the hash of its unit, and its key."""

_COLUMNS = (
    "labels.id, uid, key, labels.task, version, hash, labeller, status, verdict, reason, error, "
    "sample, overrules, tokens_in, tokens_out, cost, seconds, created, detail"
)
_OF_ALL = "FROM labels JOIN units ON units.id = unit"
_STATUSES = {status.value: status for status in Status}
_CHUNK = 500  # bound variables in one look-up; far below SQLite's limit
_BLOCK = 2_000

V = TypeVar("V")


class Reading:
    """An open ledger as far as it is read; :class:`assay.ledger.Ledger` also writes."""

    def __init__(self, store: Store) -> None:
        self.place, self.name = store.place, store.name
        self._db = store
        self._labellers: dict[int, LabellerId] = {}
        # The tasks that people labelled, up to which label.
        self._by_people: tuple[int, frozenset[str]] = (0, frozenset())

    def statuses(self, asked: Iterable[QuestionKey]) -> dict[str, Status]:
        """What is known of each (unit, key), by key: ``ok`` if any label under it is, else
        ``failed``; what was never asked is absent."""
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
        """Those of the keys that any label has, whatever its unit; goes through all labels."""
        wanted = {as_stored(key) for key in keys}
        every = "SELECT id, key FROM labels WHERE id <= ? AND id > ? ORDER BY id"
        with self._db.explained():
            found = (key for _, key in each(self._db, every, [MOST, LEAST]) if key in wanted)
            return {unpacked(key) for key in found}

    def size(self) -> int:
        """How many labels there are."""
        with self._db.explained():  # none is ever deleted
            return int(self._db.execute("SELECT max(id) FROM labels").fetchone()[0] or 0)

    def use_less_memory(self) -> None:
        """Hold little of the file: for a ledger that is much larger than what may be used."""
        with self._db.explained():
            self._db.use_less_memory()

    def judged_by_people(self) -> frozenset[str]:
        """Names of the tasks that any person ever labelled. Only new labels are looked at."""
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
        """Units of a task whose labels by some labellers, given by their numbers, all failed, by
        the error of the newest, up to its first colon: what comes after it differs from unit to
        unit."""
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
        """How many labels these tasks have from other versions of them."""
        wanted = self._in_versions(versions)
        others = " OR ".join(["(task = ? AND version != ?)"] * len(wanted)) or "FALSE"
        with self._db.explained():
            values = [*chain.from_iterable(wanted)]
            row = self._db.execute(f"SELECT COUNT(*) FROM labels WHERE {others}", values).fetchone()  # noqa: S608
            return int(row[0])

    def _in_versions(self, versions: Mapping[str, str]) -> list[tuple[int, str]]:
        """Tasks that were ever labelled, by their numbers, with their versions."""
        names = self.task_names().items()
        return [(number, versions[name]) for number, name in names if name in versions]

    def unit(self, unit: str) -> Mapping[str, Any]:
        """Content of the unit with this hash; raises KeyError where there is none."""
        return self.contents([unit])[unit]

    def contents(self, units: Iterable[str]) -> dict[str, Mapping[str, Any]]:
        """Content of the units with these hashes, of those that there are."""
        with self._db.explained():
            rows = self._look_up("hash, content FROM units WHERE hash", map(packed, units))
            return {unpacked(unit): orjson.loads(content) for unit, content in rows}

    def tasks(self) -> set[str]:
        """Names of the tasks that were ever labelled."""
        return set(self.task_names().values())

    def task_names(self) -> dict[int, str]:
        """The same by the number that rows refer to."""
        with self._db.explained():
            return dict(self._db.execute("SELECT id, name FROM tasks"))

    def labels(self, tasks: Iterable[str] | None = None) -> Iterator[Label]:
        """All labels that there are now, oldest first, of the named tasks or of all."""
        names = None if tasks is None else list(tasks)
        chosen = of_tasks("labels.task", names)
        some = f"{_OF_ALL} {chosen} AND labels.id <= ? AND labels.id > ?"
        yield from self._select(some, [*(names or []), self.size(), LEAST], many=True)

    def by_people(self, after: int = 0) -> Iterator[Label]:
        """People's labels with numbers above ``after``, oldest first."""
        people = self._people()
        if not people:
            return
        some = f"{_OF_ALL} WHERE labeller IN ({marks(people)}) AND labels.id <= ? AND labels.id > ?"
        yield from self._select(some, [*people, self.size(), after], many=True)

    def _people(self) -> list[int]:
        """The numbers of labellers that are people."""
        return [number for number, who in self.labellers().items() if who.is_human]

    def usable_by_each(self) -> Iterator[Label]:
        """Usable labels: all of people's, and of every other labeller one under each task."""
        people = self._people()
        firsts = "SELECT min(id) FROM labels WHERE status = 'ok' GROUP BY task, labeller"
        by_people = f"labeller IN ({marks(people)})"
        some = f"{_OF_ALL} WHERE status = 'ok' AND ({by_people} OR labels.id IN ({firsts}))"
        yield from self._select(some, people)

    def count(self) -> int:
        """How many rows there are, whatever their numbers."""
        with self._db.explained():
            return int(self._db.execute("SELECT count(*) FROM labels").fetchone()[0])

    def of_versions(
        self, versions: Mapping[str, str], newest: int
    ) -> Iterator[list[tuple[Any, ...]]]:
        """The labels up to number ``newest`` of these tasks in these versions, oldest first, some
        at a time, as far as scores need them: number, unit (packed), numbers of task and labeller,
        verdict (JSON; None of one that failed), sample, overrules and detail (JSON; None where
        there is none)."""
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
        """The same labels with all that the ledger has of them. What a label tells under another
        task (tasks.shared) keeps that task and verdict."""
        for chunk in _chunks(labels):
            found = {one.rowid: one for one in self.of_numbers(one.rowid for one in chunk)}
            for one in chunk:
                yield as_told(found[one.rowid], one)

    def numbers(self) -> dict[bytes, int]:
        """The number of every label, by its uid as it is stored (:func:`packed`)."""
        every = "SELECT id, uid FROM labels WHERE id <= ? AND id > ? ORDER BY id"
        with self._db.explained():
            return {uid: number for number, uid in each(self._db, every, [MOST, LEAST])}

    def of_numbers(self, numbers: Iterable[int]) -> Iterator[Label]:
        """The labels with these numbers."""
        for chunk in _chunks(numbers):
            yield from self._select(f"{_OF_ALL} WHERE labels.id IN ({marks(chunk)})", chunk)

    def keys(self, rowids: Iterable[int]) -> dict[int, str]:
        """The keys of the labels with these numbers."""
        with self._db.explained():
            rows = self._look_up("id, key FROM labels WHERE id", rowids)
            return {number: unpacked(key) for number, key in rows}

    def _look_up(self, columns: str, values: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
        """Rows of which the last of the ``columns``, which are constants, is one of some values."""
        for chunk in _chunks(values):
            yield from self._db.execute(f"SELECT {columns} IN ({marks(chunk)})", chunk)

    def by_key(self, asked: Iterable[QuestionKey]) -> dict[str, Label]:
        """The label of each (unit, key), by key: the first usable one, else the newest failed one;
        what was never asked is absent."""
        found: dict[str, Label] = {}
        for chunk in _chunks(dict.fromkeys(asked)):
            pairs = [(packed(unit), as_stored(key)) for unit, key in chunk]
            begin, of_asked, values = self._db.asking(pairs)
            for label in self._select(of_asked, values, begin):
                known = found.get(label.key)
                if known is None or known.status is not Status.OK:
                    found[label.key] = label
        return found

    def of_units(self, units: Iterable[str]) -> Iterator[Label]:
        """All labels of the units with these hashes; those of one unit oldest first."""
        for chunk in _chunks(dict.fromkeys(units)):
            some = f"{_OF_ALL} WHERE hash IN ({marks(chunk)})"
            yield from self._select(some, [packed(unit) for unit in chunk])

    def _select(
        self, some: str, values: Sequence[Any], before: str = "", *, many: bool = False
    ) -> Iterator[Label]:
        """The labels that ``some`` chooses; ``many`` are those up to a number and above another
        (the last two ``values``), which must be one that there is now, as names of tasks and
        labellers that others add while all is read are not known here."""
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
        """The labellers whose name it is; one where it is the exact one (:attr:`exact_name`)."""
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
        """Counts, tokens, cost (US dollars) and seconds for each task and labeller, who has the
        exact name where several settings have the same; the cost of ``unpriced`` labels by models
        is unknown, and not in it. ``cached`` of the tokens read a server had read before, and
        ``cache_saved`` is what its cache saved (US dollars, fewer than 0 where it cost more);
        None where no label says so."""
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
        """Tokens that servers had cached, and what that saved, by task, version, labeller and
        status."""
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
        """Columns of the labels under these units and keys (packed); ``columns`` are constants."""
        for chunk in _chunks(dict.fromkeys(asked)):
            begin, of_asked, values = self._db.asking(chunk)
            yield from self._db.execute(f"{begin} SELECT {columns} {of_asked}", values)


def _chunks(values: Iterable[V]) -> Iterator[list[V]]:
    """Some values at a time, as many as a query takes."""
    wanted = iter(values)
    return iter(lambda: list(islice(wanted, _CHUNK)), [])


def by_reason(errors: Iterable[tuple[str | None, int]]) -> Counter[str]:
    """How many labels failed for each reason, by how many have each error."""
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
    """A label of its columns as they are stored."""
    return Label(
        unpacked(uid), unpacked(key), task, version, unpacked(unit), labeller, _STATUSES[status],
        None if verdict is None else orjson.loads(verdict), reason, error, sample,
        None if overrules is None else unpacked(overrules), tokens_in, tokens_out, cost, seconds,
        created, {} if detail == "{}" else orjson.loads(detail), number,
    )  # fmt: skip


def as_told(whole: Label, label: Label) -> Label:
    """A whole label as what it tells under another task, perhaps."""
    return whole._replace(
        task=label.task, version=label.version, unit=label.unit, verdict=label.verdict,
        detail=label.detail,
    )  # fmt: skip


def marks(values: Sized) -> str:
    """What stands in a query for each of some values; of none, what nothing is equal to."""
    return ",".join("?" * len(values)) or "NULL"  # PostgreSQL takes no empty list


def of_tasks(column: str, names: Sequence[str] | None) -> str:
    """Condition that ``column`` is the number of one of the named tasks, or of any."""
    if not names:
        return "WHERE TRUE" if names is None else "WHERE FALSE"
    return f"WHERE {column} IN (SELECT id FROM tasks WHERE name IN ({marks(names)}))"  # noqa: S608
