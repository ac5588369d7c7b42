"""SGSS criterion weights learned from preferences."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.protocols.evaluation import Evaluation
from assay.protocols.folder import Folder
from assay.protocols.labels import LabelBook
from assay.protocols.output import json_bytes, write_bytes
from assay.protocols.sgss.inputs import SgssSettings
from assay.protocols.sgss.labels import judge_all, tasks
from assay.protocols.sgss.learning import Learned, learn
from assay.protocols.sgss.protocol import SGSS


@dataclass(frozen=True, slots=True)
class LearnedWeights:
    """Learned weights, as written to ``path``."""

    learned: Learned
    path: Path
    document: dict[str, Any]


def learn_weights(
    folder: Path,
    into: Path | None,
    *,
    select: bool,
    degraded: bool,
    policy: str | None,
    labeller: str | None,
) -> LearnedWeights:
    """Learn weights from the training part of a folder's preferences (with ``degraded``, also from
    its originals and their degraded versions) and write them. Raises SettingsError, FormatError and
    LedgerError."""
    seen = Folder.open(folder, labeller=labeller).for_protocol("sgss")
    opened = Evaluation.open(seen, SGSS, policy)
    settings = opened.settings
    if not isinstance(settings, SgssSettings):  # pragma: no cover (opened with SGSS)
        raise TypeError("not an SGSS folder")
    with opened.folder.open_ledger(create=False) as ledger:
        ledger.checked()  # checked before any number rests on a label
        labellers, _ = opened.folder.labellers_for_scoring(opened.tasks)
        book = LabelBook.open(ledger, opened.policy, tasks(settings), labellers)
        # All labels are used, including those on criteria no longer asked about.
        inputs = replace(opened.inputs, unasked=frozenset())
        judged = judge_all(inputs, settings, book)
        learned = learn(inputs, settings, judged, select=select, degraded=degraded)
    target = into or opened.folder.path / "weights.json"
    document = learned.document(settings)
    write_bytes(target, json_bytes(document))
    return LearnedWeights(learned, target, document)
