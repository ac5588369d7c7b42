"""What scoring found on its way, for files and reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.measures.support import SupportScores
from assay.model.labels import Label
from assay.model.trec_rag import AssignedAnswer, SupportAnswer
from assay.protocols.trec_rag.bank import Bank
from assay.protocols.trec_rag.inputs import Inputs, TrecRagSettings
from assay.protocols.trec_rag.responses import Responses


@dataclass
class State:
    """The bank, every answer's labels, and the grades used.

    ``assigned``, ``supported`` and ``labels`` (of sentences and citations) are by run and topic,
    ``counts`` by run, then topic. ``ungraded`` counts a topic's pooled documents without a grade.
    """

    inputs: Inputs
    settings: TrecRagSettings
    bank: Bank
    responses: Responses
    assigned: dict[tuple[str, str], AssignedAnswer] = field(default_factory=dict)
    supported: dict[tuple[str, str], SupportAnswer] = field(default_factory=dict)
    labels: dict[tuple[str, str], Mapping[tuple[int, int], Label]] = field(default_factory=dict)
    counts: dict[str, dict[str, SupportScores]] = field(default_factory=dict)
    grades: dict[str, dict[str, int]] = field(default_factory=dict)
    ungraded: dict[str, int] = field(default_factory=dict)
