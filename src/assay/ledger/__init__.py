"""Every label ever given, append-only."""

from assay.ledger.ledger import Ledger, NewLabel
from assay.ledger.reading import QuestionKey

__all__ = ["Ledger", "NewLabel", "QuestionKey"]
