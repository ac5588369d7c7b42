"""A folder's ledger, of which every label is checked before it counts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from assay.ledger import Ledger
from assay.protocols.folder import Folder
from assay.protocols.manifest import heads


@contextmanager
def checked_ledger(
    folder: Folder, *, create: bool = True, by_index: bool = True, of_out: bool = True
) -> Iterator[Ledger]:
    """The folder's ledger; :meth:`assay.ledger.Ledger.checked` wants every head that stands in
    ``out/``, if that is ``of_out``. Without ``by_index`` labels are not looked up."""
    with folder.open_ledger(create=create) as ledger:
        named = {str(path): head for path, head in heads(folder.out) if of_out}
        ledger.expect(named, by_index=by_index)
        yield ledger
