"""The ledger: an append-only store of every label ever given."""

from assay.ledger.ledger import Ledger, NewLabel
from assay.ledger.reading import QuestionKey

__all__ = ["Ledger", "NewLabel", "QuestionKey"]
