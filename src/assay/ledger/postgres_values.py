"""Differences between PostgreSQL and SQLite: queries, error messages, hashes, numbers and texts."""

from __future__ import annotations

import re
from binascii import unhexlify
from functools import lru_cache
from typing import Any

import psycopg
from psycopg import errors
from psycopg.abc import Buffer

_NO_HASH = bytes(17)  # marks text stored in place of a hash; longer than any hash
_ESCAPED = re.compile("\x01[AB]")
_PLAIN = {"\x01A": "\x00", "\x01B": "\x01"}


@lru_cache(1000)
def spoken(sql: str) -> bytes:
    """A query in PostgreSQL's form, with numbered values."""
    numbers = iter(range(1, sql.count("?") + 1))
    return re.sub(r"\?", lambda _: f"${next(numbers)}", sql).encode()


def cure(error: psycopg.Error, schema: str, who: str) -> str:
    """What a person can do."""
    if isinstance(error, errors.DiskFull):
        return "The server's disk is full; free some space and run again. What was written is kept."
    if isinstance(error, errors.InsufficientPrivilege):
        return rights(schema, who)
    if isinstance(error, errors.LockNotAvailable):
        return "Another process has locked it for over 90 s; wait for it to finish, then run again."
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return (
            "Use the URL of a server that accepts writes (with several hosts: "
            "target_session_attrs=read-write)."
        )
    return "What was written before is kept."


def rights(schema: str, who: str) -> str:
    """The grants that ``who`` needs in a schema, as a message."""
    return (
        f'The database administrator can grant access: GRANT USAGE ON SCHEMA {schema} TO "{who}"; '
        f'GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA {schema} TO "{who}"; for copies into it '
        f'also GRANT UPDATE ON ALL SEQUENCES IN SCHEMA {schema} TO "{who}". If there is no ledger '
        f'yet: CREATE SCHEMA {schema} AUTHORIZATION "{who}" (docs/ledger.md, Rights).'
    )


# -- values that the two databases store differently -----------------------------------------------


def held(value: bytes | str) -> bytes:
    """A hash, or the text stored in its place (:func:`assay.ledger.hashes.as_stored`), as bytes."""
    return value if isinstance(value, bytes) else _NO_HASH + value.encode()


class _HashLoader(psycopg.adapt.Loader):
    def load(self, data: Buffer) -> bytes | str:
        found = unhexlify(bytes(data)[2:])
        return found.removeprefix(_NO_HASH).decode() if found.startswith(_NO_HASH) else found


class _NumberLoader(psycopg.adapt.Loader):
    def load(self, data: Buffer) -> float:
        text = bytes(data)
        return float(text) if b"." in text else int(text)


class _AnyTextLoader(psycopg.adapt.Loader):
    def load(self, data: Buffer) -> str:
        text = bytes(data).decode()
        return _ESCAPED.sub(lambda one: _PLAIN[one[0]], text) if "\x01" in text else text


class _AnyTextDumper(psycopg.adapt.Dumper):
    """Escapes the character 0, which PostgreSQL cannot store, as 1 A, and 1 as 1 B."""

    def dump(self, obj: str) -> Buffer:
        if "\x00" in obj or "\x01" in obj:
            obj = obj.replace("\x01", "\x01B").replace("\x00", "\x01A")
        return obj.encode()


def adapted(connection: psycopg.Connection[Any]) -> None:
    """Make a connection return and accept values as SQLite does."""
    connection.adapters.register_loader("bytea", _HashLoader)
    connection.adapters.register_loader("numeric", _NumberLoader)
    connection.adapters.register_loader("varchar", _AnyTextLoader)
    connection.adapters.register_dumper(str, _AnyTextDumper)
