"""A folder's ledger, of which every label is checked while other things are done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from assay.ledger import Ledger
from assay.protocols.folder import Folder, relative_to
from assay.protocols.manifest import heads
from assay.protocols.second_process import SecondProcess

_LOOK = "assay.ledger.checking"
_MANY = 20_000
"""Labels from which on another process checks them: with fewer, starting it takes longer."""
LARGE = 300_000
"""Labels in a ledger from which on ``score`` goes through it group by group: a label takes some
four thousand bytes where all are held."""


@contextmanager
def checked_ledger(
    folder: Folder, *, create: bool = True, by_index: bool = True
) -> Iterator[Ledger]:
    """The folder's ledger; :meth:`assay.ledger.Ledger.checked` waits for what is begun here, and
    wants every head that stands in ``out/``.
    Without ``by_index`` labels are not looked up, as long as the ledger is not large."""
    with (
        folder.open_ledger(create=create) as ledger,
        SecondProcess(_LOOK, start=ledger.size() >= _MANY) as aside,
    ):
        look = aside.call(_LOOK, "look", (ledger.path, by_index or ledger.size() > LARGE))
        named = {str(relative_to(folder.path, path)): head for path, head in heads(folder.out)}
        ledger.check_with(look, named)
        yield ledger
