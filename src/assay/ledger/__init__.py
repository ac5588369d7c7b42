"""Every label ever given, append-only."""

from assay.ledger.sqlite import Asked, Ledger, NewLabel

__all__ = ["Asked", "Ledger", "NewLabel"]
