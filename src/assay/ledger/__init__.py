"""Every label ever given, append-only."""

from assay.ledger.reading import Asked
from assay.ledger.sqlite import Ledger, NewLabel

__all__ = ["Asked", "Ledger", "NewLabel"]
