"""The URL of a PostgreSQL database: what libpq is told, what Assay reads, and what may be shown."""

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
    """Whether that is meant for a URL, and not for a path: ``postgresql:assay`` is one, too, and
    what else libpq takes."""
    scheme = text.partition(":")[0].casefold()
    return "://" in text or scheme in SCHEMES or "password=" in text.replace(" ", "")


@dataclass(frozen=True)
class Address:
    """Where a ledger is. ``url`` is for libpq and holds no ``password``; ``name`` is for people.
    The tables lie in ``schema``; where they have to be made, the labels in so many ``partitions``
    (0: undivided). ``hosts`` are all that it may lead to; of sockets their folders, and
    ``service=NAME`` for what a file of libpq's says."""

    url: str
    name: str
    schema: str
    partitions: int
    settings: frozenset[str]
    hosts: frozenset[str]
    password: str | None = field(repr=False)

    @classmethod
    def of(cls, text: str) -> Address:
        """Read ``postgresql://USER@HOST:PORT/DATABASE?schema=NAME&partitions=N``, where all that
        libpq knows may stand beside ``schema`` and ``partitions``. Raises SettingsError, without
        telling more of the text than is sure to be no secret."""
        try:
            parts = urlsplit(text)
            strict = bool(parts.query)
            query = parts.query.replace("+", "%2B")  # no space, for libpq
            given = dict(parse_qsl(query, keep_blank_values=True, strict_parsing=strict))
        except ValueError:
            raise _unreadable() from None
        who, at, hosts = parts.netloc.rpartition("@")
        slashes = text.partition(":")[2].startswith("//")  # or the path would be the host to libpq
        # A / in a password would make it the path.
        plain = all(map(_HOST.fullmatch, hosts.split(","))) and "@" not in parts.path
        if parts.scheme not in SCHEMES or parts.fragment or not (slashes and plain):
            raise _unreadable()
        user, _, password = who.partition(":")
        if "@" in user:  # libpq takes what follows the first for the host
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
    """The same URL. Raises SettingsError where it holds a password: files and command lines are
    seen by others."""
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
