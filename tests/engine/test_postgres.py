"""What only a ledger on a server has to show; what both have, other tests show on both."""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from urllib.parse import quote

import psycopg
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from psycopg.conninfo import conninfo_to_dict

from assay.ledger import Ledger, postgres_tables
from assay.ledger.address import Address, without_password
from assay.ledger.copying import copied
from assay.ledger.postgres import PostgresStore
from assay.model.errors import LedgerError, PrerequisiteError, SettingsError
from assay.model.labels import LabellerId
from assay.tasks.base import unit_hash
from tests.engine.test_ledger import CHANGES
from tests.engine.test_ledger import label as any_label
from tests.engine.test_ledger_lines import NUMBERS, TEXTS
from tests.engine.test_ledger_lines import label as line_label


def label(n, **more):
    content = {"passage": "p", "nugget": str(n)}
    return any_label(n, content=content, unit=unit_hash("r2c2.entailment", content), **more)


def as_superuser(postgres, url, *statements):
    schema = Address.of(url).schema
    postgres.run(f"SET search_path = {schema}", *statements)


# A role of Assay's own may not even try; the database's superuser is stopped by the triggers.
def test_nothing_can_be_changed_or_deleted_by_anybody(postgres, on_postgres):
    postgres.run("CREATE ROLE meek LOGIN", "GRANT CREATE ON DATABASE postgres TO meek")
    url = on_postgres.replace("postgres@", "meek@")
    with Ledger.open(f"{url}&partitions=2") as ledger:
        ledger.add([label(1), label(2)])
        head = ledger.head()
    more = ("TRUNCATE labels", "TRUNCATE labels_0", "DELETE FROM labels_1", "DELETE FROM tasks",
            "UPDATE labellers SET name = 'x'", "DELETE FROM migrations")  # fmt: skip
    plain = Address.of(url)
    for statement in (*CHANGES, *more):
        with psycopg.connect(plain.url, autocommit=True) as own:
            own.execute(f"SET search_path = {plain.schema}")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                own.execute(statement)
        with pytest.raises(psycopg.errors.RestrictViolation, match="never"):
            as_superuser(postgres, url, statement)
    with Ledger.open(url) as ledger:
        assert ledger.checked() == head
    as_superuser(postgres, url, "ALTER TABLE labels DISABLE TRIGGER stays")
    with Ledger.open(url) as ledger:
        with pytest.raises(LedgerError, match=r"'labels' could be changed.* ENABLE") as caught:
            ledger.checked()
        as_superuser(postgres, url, re.search(r"\(if.*: (.*)\)", str(caught.value))[1])
        assert ledger.checked() == head


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE labels SET verdict = '{\"entailed\":false}' WHERE id = 2",
        "UPDATE labels SET cost = 7 WHERE id = 2",
        "DELETE FROM labels WHERE id = 2",
        "DELETE FROM labels WHERE id = 3",
        "UPDATE units SET content = '{}' WHERE id = 2",
        "UPDATE labellers SET name = 'somebody'",
        "DELETE FROM units WHERE id = 1",
    ],
)
def test_what_somebody_changed_behind_everybodys_back_is_seen(postgres, on_postgres, change):
    with Ledger.open(on_postgres) as ledger:
        ledger.add([label(1), label(2)])
        ledger.add([label(3)])
        head = ledger.checked()
    as_superuser(postgres, on_postgres, "SET session_replication_role = replica", change)
    with Ledger.open(on_postgres) as ledger:
        ledger.expect({"m": head.in_manifest()})
        with pytest.raises(LedgerError):
            ledger.checked()


def test_a_schema_that_holds_something_else_is_not_touched(postgres, on_postgres):
    schema = Address.of(on_postgres).schema
    postgres.run(f"CREATE SCHEMA {schema}", f"CREATE TABLE {schema}.units (x int)")
    with pytest.raises(LedgerError, match="contains something else"):
        Ledger.open(on_postgres)
    postgres.run(f"SELECT x FROM {schema}.units")


def test_a_ledger_from_a_newer_version_is_left_alone(postgres, on_postgres):
    Ledger.open(on_postgres).close()
    as_superuser(postgres, on_postgres, "INSERT INTO migrations VALUES (99)")
    with pytest.raises(LedgerError, match="newer Assay"):
        Ledger.open(on_postgres)


def test_who_waited_while_another_made_the_ledger_finds_it(postgres, on_postgres, monkeypatch):
    begin = postgres_tables._begin
    makers, waits = [], "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"

    def slowly(db, where):
        makers.append(threading.current_thread())
        deadline = time.monotonic() + 30
        with psycopg.connect(postgres.url("x").partition("?")[0], autocommit=True) as other:
            while other.execute(waits).fetchone() is None and time.monotonic() < deadline:
                time.sleep(0.01)
        begin(db, where)

    monkeypatch.setattr(postgres_tables, "_begin", slowly)
    with ThreadPoolExecutor(2) as pool:
        for opened in [pool.submit(Ledger.open, on_postgres) for _ in range(2)]:
            opened.result().close()
    assert len(makers) == 1


def test_where_there_is_no_ledger_none_is_made(postgres, on_postgres):
    with pytest.raises(LedgerError, match="no ledger yet"):
        Ledger.open(on_postgres, create=False)
    with pytest.raises(psycopg.errors.InvalidSchemaName):
        postgres.run(f"CREATE TABLE {Address.of(on_postgres).schema}.x ()")


def test_who_may_only_read_can_look(postgres, on_postgres, tmp_path):
    with Ledger.open(on_postgres) as ledger:
        ledger.add([label(1)])
    schema = Address.of(on_postgres).schema
    url, missing = on_postgres.replace("postgres@", "looker@"), "permission denied.*docs/ledger.md"
    postgres.run("CREATE ROLE looker LOGIN")
    with pytest.raises(LedgerError, match=f'GRANT USAGE ON SCHEMA {schema} TO "looker"'):
        Ledger.open(url)
    with pytest.raises(LedgerError, match=missing) as caught:
        Ledger.open(f"{url}_2")
    assert f'CREATE SCHEMA {schema}_2 AUTHORIZATION "looker"' in str(caught.value)
    postgres.run(
        f"GRANT USAGE ON SCHEMA {schema} TO looker",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO looker",
    )
    with Ledger.open(url) as ledger:
        assert ledger.checked().labels == 1
        with pytest.raises(LedgerError, match=missing) as caught:
            ledger.add([label(2)])
        postgres.run(*re.findall("GRANT [^;.]+", str(caught.value)))
        with Ledger.open(tmp_path / "l") as copy:
            copy.copy_from(ledger)
            copy.add([label(2)])
            assert ledger.copy_from(copy) == 1


def test_what_somebody_elses_role_is_asking_is_not_asked_beside_it(postgres, on_postgres):
    schema = Address.of(on_postgres).schema
    with Ledger.open(on_postgres) as one:
        postgres.run("CREATE ROLE beside LOGIN", f"GRANT USAGE ON SCHEMA {schema} TO beside",
                     f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO beside")  # fmt: skip
        with Ledger.open(on_postgres.replace("postgres@", "beside@")) as other:
            held = rf"asked by another process \(number {os.getpid()} on [^,]*\)"
            with one.claim("x", "asked"), pytest.raises(LedgerError, match=held):
                other.claim("x", "asked").__enter__()


# A schema is made for each example; and one that fails is told at once.
@settings(max_examples=12, phases=[Phase.explicit, Phase.generate])
@given(
    reason=TEXTS | st.just('a\x00b\u2028\x01A\x85\n"\\/<é\x01'),
    name=TEXTS,
    cost=NUMBERS,
    seconds=NUMBERS,
    tokens=st.none() | st.integers(0, 2**40) | st.floats(0, 1e9),
)
def test_any_label_is_the_same_on_both_and_goes_there_and_back(
    postgres, tmp_path_factory, reason, name, cost, seconds, tokens
):
    made = [
        line_label("u1", reason=reason, cost=cost, seconds=seconds, tokens_in=tokens,
                   labeller=LabellerId(name, "human", {name: 0.1}), detail={"raw": reason}),
        line_label("u2", overrules=reason, error=reason, key=reason),
        line_label("u3", overrules="ab" * 16, key="cd" * 16, version=name),
    ]  # fmt: skip
    folder = tmp_path_factory.mktemp("ledger")
    with (
        Ledger.open(folder / "l") as file,
        Ledger.open(postgres.url(f"same_{folder.name}", "&partitions=2")) as server,
        Ledger.open(folder / "back") as back,
    ):
        file.add(made)
        for source, target in ((file, server), (server, back)):
            with target.trial() as trial:
                copied(source._db, target._db)
                trial.keep = True
        assert list(server.labels()) == list(file.labels())
        assert server.units() == file.units()
        assert server.head() == file.head() == back.head()
        assert server.stats() == file.stats()
        assert list(server.lines()) == list(file.lines()) == list(back.lines())


def test_what_the_server_has_set_changes_no_label(postgres, on_postgres):
    with Ledger.open(on_postgres) as ledger:
        ledger.add([label(1, cost=0.1 + 0.2)])
        head = ledger.head()
    given = {"bytea_output": "escape", "extra_float_digits": 0, "statement_timeout": 200,
             "idle_in_transaction_session_timeout": 200}  # fmt: skip
    options = quote(" ".join(f"-c {name}={one}" for name, one in given.items()))
    with closing(PostgresStore(f"{on_postgres}&options={options}")) as store:
        store.execute("SELECT pg_sleep(.3)")
        with Ledger(store).trial() as trial:
            time.sleep(0.3)
            trial.add([label(2)])
        # The server's end of a connection to a machine that is gone, with all that it holds.
        assert store.execute("SHOW tcp_keepalives_idle").fetchone() == ("30",)
        assert Ledger(store).checked() == head


def test_what_is_tried_in_a_copy_or_a_trial_is_nobody_elses(on_postgres):
    with Ledger.open(on_postgres) as ledger, Ledger.open(on_postgres) as other:
        ledger.add([label(1), label(2)])
        with ledger.copy() as copy:
            assert list(copy.labels()) == list(ledger.labels())
            assert copy.checked() == ledger.checked()
            copy.add([label(3)])
        with ledger.trial() as trial:
            trial.add([label(4)])
            assert ledger.size() == len(list(ledger.labels())) == 3
            assert other.size() == 2
            assert ledger.checked().labels == 3
        assert ledger.size() == ledger.checked().labels == 2


def test_rows_are_read_on_in_a_new_connection(postgres, on_postgres):
    with Ledger.open(on_postgres) as ledger:
        ledger.add([label(n) for n in range(5000)])
        rest = iter(ledger.labels())
        assert next(rest).rowid == 1
        pid = ledger._db._connection.info.backend_pid
        postgres.run(f"SELECT pg_terminate_backend({pid})")
        assert ledger.size() == 5000
        assert [one.rowid for one in rest] == list(range(2, 5001))


def test_a_database_that_does_not_hold_all_characters_is_refused(postgres):
    postgres.run("CREATE DATABASE narrow ENCODING 'LATIN1' TEMPLATE template0")
    url = postgres.url("x").replace("/postgres?", "/narrow?")
    with pytest.raises(LedgerError, match="is encoded in LATIN1"):
        Ledger.open(url)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://kim:hush%2F1@h/db", "PGPASSWORD"),
        ("postgresql://kim@h/db?password=hush%2F1", "PGPASSWORD"),
        ("postgresql://kim@h/db?sslpassword=hush%2F1", "PGPASSWORD"),
        ("postgresql://kim:hush/1@h/db", "PGPASSWORD|cannot be read"),
        ("mysql://kim:hush%2F1@h/db", "cannot be read"),
        ("postgresql://h/db?hush", "cannot be read"),
        ("postgresql:hush/db", "cannot be read"),  # to libpq, with slashes, a host
        ("postgresql:/hush/db", "cannot be read"),
        ("postgresql://h/db?schema=Hush%2F1", "schema="),
        ("postgresql://h/db?partitions=hush", "partitions="),
    ],
)
def test_a_password_in_a_url_is_refused_and_told_to_nobody(url, said):
    with pytest.raises(SettingsError, match=said) as caught:
        without_password(url)
    assert "hush" not in str(caught.value).casefold()


def test_a_url_comes_to_libpq_as_it_was_meant(postgres, monkeypatch):
    for name, one in {"HOST": "127.0.0.1", "PORT": postgres.port, "USER": "postgres"}.items():
        monkeypatch.setenv(f"PG{name}", str(one))
    for url in ("postgresql:///postgres", "postgresql://?dbname=postgres&schema=nobodys"):
        with pytest.raises(LedgerError, match="no ledger yet"):
            Ledger.open(url, create=False)
    with pytest.raises(LedgerError, match=r'parameter: "sslmod"\. Change the URL'):
        Ledger.open("postgresql://h/db?sslmod=require")
    with pytest.raises(LedgerError, match=r"accepting TCP/IP connections\? Check that"):
        Ledger.open("postgresql://127.0.0.1:9/db")
    meant = Address.of("postgresql://h/db?password=a+b&options=-c%20x=1%2B1")
    assert meant.password == "a+b"
    assert conninfo_to_dict(meant.url)["options"] == "-c x=1+1"


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "assay.ledger.postgres", raising=False)
    with pytest.raises(PrerequisiteError, match=r"assay-rag\[postgres\]"):
        Ledger.open("postgresql://h/db")


def test_a_server_that_is_not_there_is_named_and_no_password(monkeypatch):
    with pytest.raises(LedgerError, match=r"postgresql://kim@127.0.0.1:1/db: .*refused") as caught:
        Ledger.open("postgresql://kim:hush@127.0.0.1:1/db")
    assert "hush" not in str(caught.value)
