"""Opening a ledger by its place: a file, or the URL of a PostgreSQL database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from assay.ledger.sqlite import SqliteStore
from assay.ledger.store import Place, Store
from assay.model.errors import LedgerError
from assay.model.extras import import_extra

if TYPE_CHECKING:
    from assay.ledger.postgres import PostgresStore


def exists(place: Place) -> bool:
    """Whether there is a ledger at a place. Raises LedgerError if its server does not answer."""
    return place.exists() if isinstance(place, Path) else _on_a_server().exists(place)


def store_at(place: Place, *, create: bool) -> Store:
    """Open the ledger at a place and migrate it if needed. Raises LedgerError if there is none and
    ``create`` is false."""
    if isinstance(place, str):
        return _on_a_server()(place, create=create)
    if not create and not place.exists():
        raise LedgerError(f"{place}: there is no ledger yet. Run 'assay judge' first.")
    return SqliteStore.at(place)


def _on_a_server() -> type[PostgresStore]:
    import_extra("psycopg", "A PostgreSQL ledger needs psycopg", "postgres")
    from assay.ledger.postgres import PostgresStore  # noqa: PLC0415 (it loads psycopg)

    return PostgresStore
