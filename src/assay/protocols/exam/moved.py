"""What a change of the bank moves: the labels of passages and the scores of runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from assay.model.exam import Bank
from assay.protocols.evaluation import Evaluation
from assay.protocols.exam.inputs import ExamInputs, ExamSettings
from assay.protocols.exam.protocol import EXAM, scored
from assay.protocols.exam.scoring import COVER
from assay.protocols.folder import Folder
from assay.protocols.labels import LabelBook

Change = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Moved:
    """What is not the same under both banks. ``missing`` counts the grades that nobody has given,
    under the old bank and under the new."""

    passages: tuple[Change, ...]
    scores: tuple[Change, ...]
    missing: tuple[int, int]

    def document(self) -> dict[str, object]:
        """As plain JSON; ``runs`` are those whose EXAM-Cover moves."""
        covers = [one for one in self.scores if one["measure"] == COVER]
        return {
            "passages": list(self.passages),
            "runs": [{key: one[key] for key in ("run", "before", "after")} for one in covers],
            "scores": list(self.scores),
            "grades_missing": {"before": self.missing[0], "after": self.missing[1]},
        }


@dataclass(frozen=True, slots=True)
class _Side:
    labels: Mapping[tuple[str, str], int]
    scores: Mapping[tuple[str, str], float | None]
    missing: int


def moved(folder: Folder, old: Bank, new: Bank, policy: str | None = None) -> Moved:
    """Score the folder's runs under both banks by the labels of its ledger; asks nobody. Raises as
    reading the folder does."""
    opened = Evaluation.open(folder, EXAM, policy)
    with folder.open_ledger(create=False) as ledger:
        before, after = (_side(opened, bank, opened.book(ledger)) for bank in (old, new))
    pairs = dict.fromkeys([*before.labels, *after.labels])
    runs = dict.fromkeys([*before.scores, *after.scores])
    return Moved(
        tuple(
            {"query": key[0], "passage": key[1], "before": label, "after": after.labels.get(key)}
            for key in pairs
            if (label := before.labels.get(key)) != after.labels.get(key)
        ),
        tuple(
            {"run": key[0], "measure": key[1], "before": score, "after": after.scores.get(key)}
            for key in runs
            if (score := before.scores.get(key)) != after.scores.get(key)
        ),
        (before.missing, after.missing),
    )


def _side(opened: Evaluation, bank: Bank, book: LabelBook) -> _Side:
    inputs, settings = opened.inputs, opened.settings
    if not isinstance(inputs, ExamInputs) or not isinstance(settings, ExamSettings):
        raise TypeError("not an EXAM++ folder")  # pragma: no cover (opened with EXAM)
    found = scored(replace(inputs, bank=bank), settings, book)
    return _Side(
        {
            (query, passage): label
            for query, labels in found.scorer.qrels().items()
            for passage, label in labels.items()
        },
        {
            (run, measure): score.value
            for run, scores in found.scores.items()
            for measure, score in scores.items()
        },
        sum(book.missing.values()) + sum(book.failed.values()),
    )
