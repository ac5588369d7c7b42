"""What scoring found on its way, for files and reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.model.labels import Label
from assay.model.trec_rag import AssignedAnswer, SupportAnswer
from assay.protocols.trec_rag.bank import Bank
from assay.protocols.trec_rag.inputs import Inputs, TrecRagSettings
from assay.protocols.trec_rag.responses import Responses
from assay.protocols.trec_rag.retrieval import Pool
from assay.protocols.trec_rag.scoring import Supported


@dataclass
class State:
    """The bank, every answer's labels, and the grades used.

    ``assigned``, ``supported`` and ``labels`` (of sentences and citations) are by run and topic,
    ``counts`` by run, then topic.
    """

    inputs: Inputs
    settings: TrecRagSettings
    bank: Bank
    responses: Responses
    pool: Pool
    assigned: dict[tuple[str, str], AssignedAnswer] = field(default_factory=dict)
    supported: dict[tuple[str, str], SupportAnswer] = field(default_factory=dict)
    labels: dict[tuple[str, str], Mapping[tuple[int, int], Label]] = field(default_factory=dict)
    counts: dict[str, dict[str, Supported]] = field(default_factory=dict)
