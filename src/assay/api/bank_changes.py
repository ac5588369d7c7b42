"""What a change of the bank moves: the labels of passages and the scores of runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assay.measures.ranges import Range
from assay.model.exam import Bank
from assay.protocols.evaluation import Evaluation
from assay.protocols.exam.inputs import ExamInputs, ExamSettings, with_bank
from assay.protocols.exam.protocol import EXAM, scored
from assay.protocols.exam.scoring import COVER
from assay.protocols.folder import Folder
from assay.protocols.labels import LabelBook

Ends = Mapping[tuple[str, str], Range | None]


@dataclass(frozen=True, slots=True)
class BankChanges:
    """What is not the same under both banks: labels by query and passage, scores by run and
    measure, before and after. One that hangs on grades that nobody has given yet runs from what it
    is if they all were 0 to what it is if they all were the best. ``missing`` counts them, under
    the old bank and under the new."""

    labels: tuple[tuple[tuple[str, str], Range | None, Range | None], ...]
    scores: tuple[tuple[tuple[str, str], Range | None, Range | None], ...]
    missing: tuple[int, int]

    def document(self) -> dict[str, object]:
        """As plain JSON; ``runs`` are those whose EXAM-Cover moves. Of an end that is open
        ``before`` or ``after`` is null; ``before_floor`` to ``after_ceiling`` say from where to
        where."""
        scores = [
            {"run": run, "measure": measure, **_sides(before, after)}
            for (run, measure), before, after in self.scores
        ]
        return {
            "passages": [
                {"query": query, "passage": passage}
                | {name: v if v is None else int(v) for name, v in _sides(before, after).items()}
                for (query, passage), before, after in self.labels
            ],
            "runs": [
                {key: value for key, value in one.items() if key != "measure"}
                for one in scores
                if one["measure"] == COVER
            ],
            "scores": scores,
            "grades_missing": {"before": self.missing[0], "after": self.missing[1]},
        }


def _sides(before: Range | None, after: Range | None) -> dict[str, float | None]:
    sides: dict[str, float | None] = {}
    for name, ends in (("before", before), ("after", after)):
        sides[name] = ends and ends.value
        if ends is not None and ends.value is None:
            sides |= {f"{name}_floor": ends.floor, f"{name}_ceiling": ends.ceiling}
    return sides


@dataclass(frozen=True, slots=True)
class _Side:
    labels: Ends
    scores: Ends
    missing: int


def changed_scores(folder: Folder, old: Bank, new: Bank, policy: str | None = None) -> BankChanges:
    """Score the folder's runs under both banks by the labels of its ledger; asks nobody. Raises as
    reading the folder does."""
    opened = Evaluation.open(folder, EXAM, policy)
    with folder.open_ledger(create=False) as ledger:
        ledger.checked()  # before a number rests on a label
        before, after = (_side(opened, bank, opened.book(ledger)) for bank in (old, new))
    return BankChanges(
        _differences(before.labels, after.labels),
        _differences(before.scores, after.scores),
        (before.missing, after.missing),
    )


def _differences(
    before: Ends, after: Ends
) -> tuple[tuple[tuple[str, str], Range | None, Range | None], ...]:
    return tuple(
        (key, before.get(key), after.get(key))
        for key in dict.fromkeys([*before, *after])
        if before.get(key) != after.get(key)
    )


def _side(opened: Evaluation, bank: Bank, book: LabelBook) -> _Side:
    inputs, settings = opened.inputs, opened.settings
    if not isinstance(inputs, ExamInputs) or not isinstance(settings, ExamSettings):
        raise TypeError("not an EXAM++ folder")  # pragma: no cover (opened with EXAM)
    found = scored(with_bank(inputs, bank, settings), settings, book)
    return _Side(
        {
            (query, passage): label
            for query, labels in found.scorer.label_ranges()
            for passage, label in labels.items()
        },
        {
            (run, measure): score.ends
            for run, scores in found.scores.items()
            for measure, score in scores.items()
        },
        sum(map(found.scorer.unsure, found.scorer.queries)),
    )
