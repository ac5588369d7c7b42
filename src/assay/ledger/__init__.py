"""Every label ever given, append-only."""

from assay.ledger.sqlite import Ledger, NewLabel

__all__ = ["Ledger", "NewLabel"]
