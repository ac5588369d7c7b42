"""Every label ever given, append-only."""

from assay.ledger.ledger import Ledger, NewLabel
from assay.ledger.reading import Asked

__all__ = ["Asked", "Ledger", "NewLabel"]
