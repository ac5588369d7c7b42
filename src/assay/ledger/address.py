"""The URL of a PostgreSQL ledger: the parts for libpq, for Assay, and for people to see."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from assay.model.errors import SettingsError
from assay.model.wording import printable

SCHEMES = ("postgresql", "postgres")
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,49}")
_HOST = re.compile(r"(?:[\w.%-]*|\[[0-9a-fA-F:.]*\])(?::\d*)?")
_MOST = 1024  # partitions


def is_url(text: str) -> bool:
    """Whether ``text`` is meant as a URL or another connection string of libpq, not as a path."""
    scheme = text.partition(":")[0].casefold()
    return "://" in text or scheme in SCHEMES or "password=" in text.replace(" ", "")


@dataclass(frozen=True)
class Address:
    """A ledger's place. ``url`` is for libpq and holds no ``password``; ``name`` is for people. The
    tables are in ``schema``. If they have to be made, the labels are divided into ``partitions``
    (0: undivided). ``hosts`` holds every host that it may lead to, the folder of a socket, or
    ``service=NAME`` for an entry in a libpq service file."""

    url: str
    name: str
    schema: str
    partitions: int
    settings: frozenset[str]
    hosts: frozenset[str]
    password: str | None = field(repr=False)

    @classmethod
    def of(cls, text: str) -> Address:
        """Parse ``postgresql://USER@HOST:PORT/DATABASE?schema=NAME&partitions=N``. The query may
        also hold any parameter of libpq. Raises SettingsError with a message that repeats only
        parts of the text that cannot be secret."""
        try:
            parts = urlsplit(text)
            strict = bool(parts.query)
            query = parts.query.replace("+", "%2B")  # no space, for libpq
            given = dict(parse_qsl(query, keep_blank_values=True, strict_parsing=strict))
        except ValueError:
            raise _unreadable() from None
        who, at, hosts = parts.netloc.rpartition("@")
        slashes = text.partition(":")[2].startswith("//")  # else libpq reads the path as the host
        # A / in a password would move the rest of it, and the @, into the path.
        plain = all(map(_HOST.fullmatch, hosts.split(","))) and "@" not in parts.path
        if parts.scheme not in SCHEMES or parts.fragment or not (slashes and plain):
            raise _unreadable()
        user, _, password = who.partition(":")
        if "@" in user:  # libpq would read what follows the first @ as the host
            raise _unreadable()
        in_query = given.pop("password", None)
        secret = unquote(password) or in_query
        schema, number = given.pop("schema", "assay"), given.pop("partitions", "0")
        if not _NAME.fullmatch(schema):
            raise SettingsError(
                "schema= in the ledger's URL must be a name of at most 50 lower-case letters, "
                "digits and _."
            )  # fmt: skip
        if not number.isdecimal() or int(number) > _MOST:
            raise SettingsError(f"partitions= in the ledger's URL must be a number up to {_MOST}.")
        netloc = f"{user}{at}{hosts}"
        named = "" if schema == "assay" else f"?schema={schema}"
        name = f"postgresql://{netloc}{parts.path}{named}"
        # (urlunsplit leaves out the slashes where no host is named.)
        url = f"postgresql://{netloc}{parts.path}?{urlencode(given, quote_via=quote)}"
        settings = frozenset(given)
        to = frozenset(_hosts(hosts, given))
        return cls(url, printable(name), schema, int(number), settings, to, secret)


def _hosts(netloc: str, given: Mapping[str, str]) -> Iterator[str]:
    for one in netloc.casefold().split(","):
        yield unquote(one[1 : one.index("]")] if "]" in one else one.partition(":")[0])
    for name in ("host", "hostaddr"):
        yield from given.get(name, "").casefold().split(",")
    yield from (f"{name}={one}" for name, one in given.items() if name.startswith("service"))


def without_password(text: str) -> str:
    """Return the URL unchanged. Raises SettingsError if it holds a password, since others can see
    files and command lines."""
    where = Address.of(text)
    if where.password is not None or "sslpassword" in where.settings:
        raise SettingsError(
            f"{where.name}: take the password out of the URL. Put it into PGPASSWORD, or into a "
            "line of ~/.pgpass that only you can read."
        )
    return text


def _unreadable() -> SettingsError:
    return SettingsError(
        "The ledger's URL cannot be read. Write postgresql://USER@HOST:PORT/DATABASE (special "
        "characters as %XX)."
    )
