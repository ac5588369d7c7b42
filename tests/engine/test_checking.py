"""The ledger shows any change: ids, texts, the running digest, damage of any kind."""

from __future__ import annotations

import json
import math
import random
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from unittest import mock

import pytest

from assay.ledger import Ledger
from assay.ledger.merging import merge
from assay.ledger.opening import NEWEST
from assay.ledger.sqlite import SqliteStore
from assay.ledger.store import Place
from assay.model.errors import LedgerError
from assay.model.labels import Status
from assay.tasks.base import unit_hash
from tests.engine.asking import (
    aloud,
    ended,
    forked,
    keep_and_die,
    keep_under_one_key,
    meekly,
    read,
)
from tests.engine.test_ledger import label as any_label


def label(n: int, **more):
    content = {"passage": "p", "nugget": str(n)}
    return any_label(n, content=content, unit=unit_hash("r2c2.entailment", content), **more)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger of four labels."""
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        ledger.add([label(1, tokens_in=5), label(2, seconds=0.5)])
        ledger.add([label(3, detail={"model": "m"}), label(4)])
    return tmp_path / "l.sqlite"


def tampered(path: Path, *statements: str) -> None:
    """As somebody does who knows SQLite: without the triggers."""
    with closing(sqlite3.connect(path)) as db:
        for (name,) in db.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall():
            db.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            db.execute(statement)
        db.commit()


def found(path: Path) -> tuple[list[str], list[str]]:
    """Uids of labels at fault, and what is said."""
    with Ledger.open(path) as ledger:
        faults = list(ledger.faults())
        return [one.uid or "" for one in faults], [one.why for one in faults]


def uids(path: Path) -> list[str]:
    with Ledger.open(path) as ledger:
        return [one.uid for one in ledger.labels()]


def test_what_was_written_is_as_it_was_written(tmp_path: Path):
    odd = [
        label(1, cost=0, seconds=-0.0, tokens_in=3.0, tokens_out=2**63 - 1),
        label(2, cost=math.nan, seconds=math.inf, error="a\x00b"),
        label(3, overrules="no hash", key="my own", sample=2, reason="\x7f\u2028"),
        label(4, overrules="ab" * 16, created="10000-01-01T00:00:00"),
    ]
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        assert ledger.head().labels == 0
        ledger.add(odd)
        assert list(ledger.faults()) == []
        assert ledger.checked() == ledger.head()
        assert ledger.head().labels == 4


def test_keys_that_are_no_hashes_are_read_as_older_ledgers_hold_them(place: Place, tmp_path: Path):
    odd = ("my own", "that one"), ("AB" * 16, "")
    with Ledger.open(tmp_path / "older.sqlite") as older:
        older.add(
            label(n, key=key, overrules=over, created="2025-01-01")
            for n, (key, over) in enumerate(odd)
        )
        # As what was written before there was a rule of them.
        assert older.head().digest.hex() == "80ae04062f774af37073c5ea3165f2b6"
        held = list(older.labels())
        with Ledger.open(place) as copy, Ledger.open(tmp_path / "merged.sqlite") as merged:
            copy.copy_from(older)
            merge(merged, copy)
            for one in (older, copy, merged):
                assert list(one.faults()) == []
                assert list(one.labels()) == held
                assert one.known_keys(["my own", "your own"]) == {"my own"}
                assert one.statuses([(held[0].unit, "my own")]) == {"my own": Status.OK}
            lines = [json.loads(line + "}") for some in copy.lines() for line in some.objects]
    assert [(one.key, one.overrules) for one in held] == [*odd]
    assert [(one["key"], one["overrules"]) for one in lines] == [*odd]


_SAYS = "its verdict, subject, labeller or time was changed"


@pytest.mark.parametrize(
    "change",
    [
        """verdict = '{"entailed":false,"reason":"é"}'""",
        "reason = 'another'",
        "version = '2'",
        "created = '2020-01-01'",
        "sample = 1",
        "labeller = (SELECT id FROM labellers WHERE name = 'human:EVE')",
        "unit = 1",
        "status = 'failed', verdict = NULL",
        "uid = zeroblob(16)",
        "reason = CAST(x'ff' AS TEXT)",
        "verdict = CAST(verdict AS BLOB)",
        "overrules = lower(hex(zeroblob(16)))",
    ],
)
def test_a_changed_label_is_named(path: Path, change: str):
    before = uids(path)
    more = "INSERT INTO labellers (name, kind, params) VALUES ('human:EVE', 'human', '{}')"
    tampered(path, more, f"UPDATE labels SET {change} WHERE id = 3")
    named, why = found(path)
    assert why[0] == _SAYS
    assert named[0] == (before[2] if "uid" not in change else "00" * 16)
    with Ledger.open(path) as ledger, pytest.raises(LedgerError, match=f"label {named[0][:8]}: "):
        ledger.checked()


@pytest.mark.parametrize(
    "change", ["tokens_in = 6", "cost = 0.26", "seconds = 1", "error = 'x'", "key = 'other'",
               "detail = '{}'", "detail = x'00'", "cost = 9e999", "seconds = -9e999",
               "tokens_out = 9e999"],
)  # fmt: skip
def test_what_no_uid_covers_is_named_too(path: Path, change: str):
    tampered(path, f"UPDATE labels SET {change} WHERE id = 3")
    named, why = found(path)
    assert named == uids(path)[2:3] if "x'" not in change else named
    assert "its key, error, tokens, cost, seconds or detail were changed" in why[0]


_OTHER_FORMS = ("labels SET key", "labels SET uid", "units SET hash")


@pytest.mark.parametrize("form", ["lower(hex({}))", "substr({}, 1, 15)"])
@pytest.mark.parametrize("column", _OTHER_FORMS)
def test_a_hash_that_no_look_up_would_find_is_a_fault(path: Path, column: str, form: str):
    with Ledger.open(path) as ledger:
        ledger.add([label(5, key="ab" * 16)])
    last = column.rpartition(" ")[2]
    tampered(path, f"UPDATE {column} = {form.format(last)} WHERE typeof({last}) = 'blob'")
    named, why = found(path)
    assert named
    assert why[0].startswith(("its key,", "its verdict", "the text of unit"))


def test_a_text_stored_otherwise_than_as_text_is_a_fault(path: Path):
    tampered(path, "UPDATE units SET content = CAST(content AS BLOB) WHERE id = 2",
             "UPDATE tasks SET name = CAST(name AS BLOB)",
             "UPDATE labellers SET params = CAST(params AS BLOB)")  # fmt: skip
    named, why = found(path)
    assert len(named) == 8
    assert why[0].startswith("the text of unit")


def test_what_has_a_number_below_1_is_a_fault(path: Path):
    columns = "uid, key, task, version, unit, labeller, status, verdict, reason, created"
    tampered(
        path,
        f"INSERT INTO labels (id, {columns}) SELECT -id, {columns} FROM labels WHERE id = 2",
        "INSERT INTO units (id, hash, task, content) VALUES (0, x'00', 1, '{}')",
    )
    second = uids(path)[-3]
    with Ledger.open(path) as ledger, pytest.raises(LedgerError, match="was not added by Assay"):
        ledger.checked()
    put_in = "was not added by Assay"
    assert found(path) == ([second, ""], [f"it {put_in}", f"a unit {put_in}"])
    tampered(path, "UPDATE labels SET id = -id WHERE id > 2")
    assert found(path)[0][:3] == [uids(path)[0], uids(path)[1], second]


@pytest.mark.parametrize("digest", ["NULL", "'text'"])
def test_a_newest_digest_that_is_none_is_a_fault(path: Path, digest: str):
    tampered(path, f"UPDATE labels SET digest = {digest} WHERE id = 4")
    assert found(path)[0] == uids(path)[3:]
    with Ledger.open(path) as ledger:
        assert ledger.head().in_manifest() == {"labels": 4, "head": ""}


def test_infinite_numbers_are_none(tmp_path: Path):
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        ledger.add([label(1, cost=math.inf, seconds=-math.inf, tokens_in=math.inf)])
        (one,) = ledger.labels()
        assert (one.cost, one.seconds, one.tokens_in) == (None, None, None)
    tampered(tmp_path / "l.sqlite", "UPDATE labels SET cost = 9e999, tokens_out = -9e999")
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        ((*_, (line,)),) = ledger.lines()
    assert json.loads(line + "}")["cost"] is None
    assert found(tmp_path / "l.sqlite")[0] == [one.uid]


def test_a_file_in_another_encoding_is_told_in_one_sentence(path: Path, tmp_path: Path):
    other = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as old, closing(sqlite3.connect(other)) as new:
        new.execute("PRAGMA encoding = 'UTF-16'")
        new.executescript("\n".join(old.iterdump()))
        new.execute(f"PRAGMA user_version = {NEWEST}")
    (why,) = found(other)[1]
    assert why.startswith("the file is in UTF-16")


def test_names_of_tables_that_are_no_utf_8_are_a_message(path: Path):
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.execute("PRAGMA journal_mode = DELETE")
    data = path.read_bytes()
    at = data.index(b"CREATE TABLE units")
    told = 0
    for place in range(at, at + 18):
        path.write_bytes(data[:place] + b"\xff" + data[place + 1 :])
        try:
            with Ledger.open(path) as ledger:
                ledger.checked()
        except LedgerError:
            told += 1
    assert told > 12


@pytest.mark.parametrize("number", ["7", "9e999"])
@pytest.mark.parametrize("column", ["labels SET uid", "units SET hash"])
def test_a_hash_that_is_a_number_is_a_fault(path: Path, column: str, number: str):
    tampered(path, f"UPDATE {column} = {number} WHERE id = 3")
    with Ledger.open(path) as ledger:
        assert [one.why for one in ledger.faults()]
        with pytest.raises(LedgerError):
            ledger.checked()


def test_a_changed_text_is_named_with_its_labels(path: Path):
    tampered(path, "UPDATE units SET content = replace(content, 'p', 'q') WHERE id = 2")
    named, why = found(path)
    assert named == ["", uids(path)[1]]
    assert why[1] == "the text that it is about was changed"


def test_a_reference_to_nothing_is_named(path: Path):
    tampered(path, "UPDATE labels SET unit = 99 WHERE id = 2")
    assert found(path)[1][0] == "its task, text or labeller is missing"


def test_a_deleted_label_shows_and_so_does_one_put_in(path: Path):
    third = uids(path)[2]
    tampered(path, "DELETE FROM labels WHERE id = 2")
    assert found(path) == ([third], ["1 labels before it are missing"])
    with Ledger.open(path) as ledger:
        ledger.add([label(5)])
    columns = "uid, key, task, version, unit, labeller, status, verdict, reason, created"
    tampered(path, f"INSERT INTO labels ({columns}) SELECT {columns} FROM labels WHERE id = 5")
    assert found(path)[1][1:] == ["it was not added by Assay"]


def test_the_newest_label_is_missed_by_whoever_knows_the_head(path: Path):
    with Ledger.open(path) as ledger:
        head = ledger.checked().in_manifest()
        ledger.add([label(5)])
        assert ledger.faulty_head(head) is None  # it has grown since
        grown = ledger.head().in_manifest()
    tampered(path, "DELETE FROM labels WHERE id = 5")
    with Ledger.open(path) as ledger:
        assert list(ledger.faults()) == []  # no chain can tell
        assert ledger.faulty_head(head) is None
        assert "which this ledger never had" in str(ledger.faulty_head(grown))
        for named in (None, {}, {"labels": 2**63, "head": "ab"}, {"labels": 1, "head": 1}):
            assert ledger.faulty_head(named) == "names no head of a ledger"


def test_only_what_is_new_is_checked_again(path: Path):
    with Ledger.open(path) as ledger:
        first = ledger.checked()
        with ledger.trial() as trial:  # which is taken back
            trial.add([label(5)])
            assert ledger.checked().labels == 5
        assert ledger.checked() == first
        ledger.add([label(6)])
        assert ledger.checked() != first


def test_several_processes_keep_to_one_chain(tmp_path: Path):
    running = [forked(keep_under_one_key, tmp_path / "l.sqlite", name, 60) for name in "abc"]
    assert [ended(one) for one in running] == [0, 0, 0]
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        assert ledger.checked().labels == 180


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Bits turned over, an end cut off, or a hole of 20 bytes."""
    kind = rng.randrange(3)
    if kind == 0:
        made = bytearray(data)
        for _ in range(rng.choice((1, 1, 3))):
            made[rng.randrange(len(made))] ^= 1 << rng.randrange(8)
        return bytes(made)
    start = rng.randrange(len(data) - 20)
    return data[:start] if kind == 1 else data[:start] + bytes(20) + data[start + 20 :]


@pytest.mark.parametrize("why", ["unable to open database file", "disk I/O error"])
def test_what_cannot_be_read_is_not_called_damaged(path: Path, why: str, monkeypatch):
    monkeypatch.setattr(
        SqliteStore, "structure", mock.Mock(side_effect=sqlite3.OperationalError(why))
    )
    with Ledger.open(path) as ledger, pytest.raises(LedgerError, match=why) as told:
        ledger.checked()
    assert "backup" not in str(told.value)


def test_damage_is_told_or_does_no_harm(path: Path, tmp_path: Path):
    whole = path.read_bytes()
    with Ledger.open(path) as ledger:
        labels, units = list(ledger.labels()), ledger.units()
    told = 0
    for seed in range(300):
        broken = tmp_path / f"{seed}.sqlite"
        broken.write_bytes(damaged(whole, random.Random(seed)))
        try:
            with Ledger.open(broken) as ledger:
                ledger.checked()
                assert (list(ledger.labels()), ledger.units()) == (labels, units)
                ledger.stats()
        except LedgerError:
            told += 1
        broken.unlink()
    assert told > 60  # much of a small ledger is empty


def test_a_ledger_that_may_not_be_written_is_read(path: Path, tmp_path_factory):
    folder, told = path.parent, tmp_path_factory.mktemp("told") / "told"

    def meekly_read() -> str:
        ended(forked(meekly, aloud, told, read, path))
        return told.read_text()

    folder.chmod(0o555)
    try:
        assert meekly_read() == "4 4 4\n"
        folder.chmod(0o755)
        assert ended(forked(meekly, keep_and_die, path, 1)) == -signal.SIGKILL
        folder.chmod(0o555)
        path.chmod(0o444)
        assert meekly_read() == "5 5 5\n"  # with what its log holds
    finally:
        folder.chmod(0o755)
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 0")
    folder.chmod(0o555)
    try:
        assert "Copy the folder to a place where you may write." in meekly_read()
    finally:
        folder.chmod(0o755)
