"""Ledgers of calls that belong to no evaluation folder."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from shutil import rmtree

from assay.ledger import Ledger


def known_at(path: Path | None) -> AbstractContextManager[Ledger | None]:
    """The ledger at ``path``; None where there is none."""
    return Ledger.open(path) if path is not None and path.exists() else nullcontext()


@contextmanager
def ledger_at(path: Path | None) -> Iterator[Ledger]:
    """The ledger at ``path``; without one a ledger for this call alone, which stays only where the
    call fails after something was answered: a note of the exception then names it."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with Ledger.open(path) as ledger:
            yield ledger
        return
    folder = Path(tempfile.mkdtemp(prefix="assay-"))
    held = 0
    try:
        with Ledger.open(folder / "labels.sqlite") as ledger:
            try:
                yield ledger
            except BaseException:
                held = ledger.size()
                raise
    except BaseException as error:
        if held:
            error.add_note(f"{held} answers are kept in {folder / 'labels.sqlite'}: give that as "
                           "the ledger to go on from there.")  # fmt: skip
        raise
    finally:
        if not held:
            rmtree(folder, ignore_errors=True)
