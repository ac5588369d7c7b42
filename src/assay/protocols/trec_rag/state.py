"""What scoring found on its way, for files and reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.protocols.label_sheets import NuggetTable
from assay.protocols.trec_rag.bank import Bank
from assay.protocols.trec_rag.inputs import TrecRagInputs, TrecRagSettings
from assay.protocols.trec_rag.retrieval import JudgedPool
from assay.protocols.trec_rag.support import SupportLabels


@dataclass
class ScoredLabels:
    """The bank, the labels of nuggets (by topic; none where there are no answers) and of support
    (None where that is left out), and the grades used. ``counts`` are of the sentences of each
    run."""

    inputs: TrecRagInputs
    settings: TrecRagSettings
    bank: Bank
    pool: JudgedPool
    nuggets: Mapping[str, NuggetTable] = field(default_factory=dict)
    support: SupportLabels | None = None
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
