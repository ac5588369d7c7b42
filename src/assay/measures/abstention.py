"""Abstention: how well a run declines to answer, and what it would gain by declining more often.

Let D be the questions that a run declines, and S those that should be declined. *Abstention
precision* is |D ∩ S| / |D|, *abstention recall* |D ∩ S| / |S|; each is undefined if its denominator
is 0. (Wen et al., "Know Your Limits", TACL 2025, section on evaluation.)

The *threshold sweep* computes what a run would have scored if it had declined every answer with a
confidence below t (docs/r2c2.md, step 5; El-Yaniv & Wiener, JMLR 11, 2010). An answer withheld
counts like any refusal: right if the question is in S, otherwise wrong, at the confidence that it
has. The precision of a threshold is the share of the withheld answers that are wrong; its recall is
the share of the wrong answers that are withheld. Values that depend on missing labels are a
:class:`~assay.measures.ranges.Range`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.measures.arrays import Bools, Floats
from assay.measures.confidence_ranges import accuracy_and_hmr
from assay.measures.ranges import OPEN, Range

THRESHOLDS = tuple(step / 10 for step in range(11))
"""The thresholds of a sweep."""


@dataclass(frozen=True)
class Answers:
    """A run's answers as arrays with one entry per question.

    ``p``: confidences from 0 to 1. ``correct``, ``refused``: 1, 0, or NaN if unknown. ``present``:
    whether the run has an answer; if not, the three before mean nothing. ``to_refuse``: whether
    the question should be declined.
    """

    p: Floats
    correct: Floats
    refused: Floats
    present: Bools
    to_refuse: Bools

    def only(self, questions: Sequence[int]) -> Answers:
        """The answers to some questions, selected by index."""
        chosen = np.array(questions, dtype=np.intp)
        return Answers(**{name: values[chosen] for name, values in vars(self).items()})

    def attempted(self) -> list[int]:
        """The indices of the questions that were answered or rightly declined. Answers that may or
        may not be refusals are included."""
        wrongly_declined = (self.refused == 1) & ~(self.correct == 1)
        return np.flatnonzero(self.present & ~wrongly_declined).tolist()


@dataclass(frozen=True)
class SweepPoint:
    """What a run would score if it declined every answer with a confidence below ``threshold``.

    ``withheld``: how many answers are thereby declined. ``coverage``: the share of all questions
    still answered. ``accuracy`` and ``hmr`` are over all questions, ``attempted_…`` over those
    answered or rightly declined (None if there are none). ``precision``: the share of the withheld
    answers that are wrong (None if none is withheld). ``recall``: the share of the wrong answers
    that are withheld (None if none is wrong).
    """

    threshold: float
    withheld: int
    coverage: Range
    accuracy: Range
    hmr: Range
    attempted_accuracy: Range | None
    attempted_hmr: Range | None
    precision: Range | None
    recall: Range | None


def abstention(answers: Answers) -> tuple[Range | None, Range | None]:
    """Abstention precision and recall."""
    refused, to_refuse = answers.refused[answers.present], answers.to_refuse[answers.present]
    unknown = np.isnan(refused)
    hits = int(((refused == 1) & to_refuse).sum())
    misses = int(((refused == 1) & ~to_refuse).sum())
    maybe_hits, maybe_misses = int((unknown & to_refuse).sum()), int((unknown & ~to_refuse).sum())
    total = int(answers.to_refuse.sum())
    recall = Range(hits / total, (hits + maybe_hits) / total) if total else None
    return _share(hits, misses, maybe_hits, maybe_misses), recall


def sweep(answers: Answers, thresholds: Sequence[float] = THRESHOLDS) -> list[SweepPoint]:
    """The scores at each threshold; an empty list if there are no questions."""
    if not len(answers.p):
        return []
    return [_point(answers, threshold) for threshold in thresholds]


def _point(answers: Answers, threshold: float) -> SweepPoint:
    present, n = answers.present, len(answers.p)
    below = present & (answers.p < threshold)
    answered = present & (answers.refused != 1)  # for some of these it is unknown
    withheld, retained = below & answered, answered & ~below
    surely_retained = retained & (answers.refused == 0)
    correct = np.where(below, answers.to_refuse, answers.correct).astype(np.float64)

    left_out = int((~present).sum())
    accuracy, hmr = accuracy_and_hmr(answers.p[present], correct[present], left_out=left_out)
    # An answer that may be a refusal may be no attempt, so its correctness counts as unknown.
    correct_if_attempted = np.where(retained & ~surely_retained, np.nan, correct)
    attempted = present & (retained | (correct != 0))
    attempted_accuracy = attempted_hmr = None
    if attempted.any():
        attempted_accuracy, attempted_hmr = accuracy_and_hmr(
            answers.p[attempted], correct_if_attempted[attempted]
        )
    wrong, unknown = answers.correct == 0, np.isnan(answers.correct)
    hits, maybe_hits = int((withheld & wrong).sum()), int((withheld & unknown).sum())
    count = int(withheld.sum())
    return SweepPoint(
        threshold,
        count,
        Range(int(surely_retained.sum()) / n, int(retained.sum()) / n),
        accuracy,
        hmr,
        attempted_accuracy,
        # Removing an answer can lower HMR below what it is with the answer, whether right or wrong.
        OPEN if (retained & ~surely_retained).any() else attempted_hmr,
        Range(hits / count, (hits + maybe_hits) / count) if count else None,
        _share(hits, int((retained & wrong).sum()), maybe_hits, int((retained & unknown).sum())),
    )


def _share(hits: int, misses: int, maybe_hits: int, maybe_misses: int) -> Range | None:
    """The range of hits / (hits + misses). Each of ``maybe_hits`` may be a hit or not count at all,
    and each of ``maybe_misses`` a miss or not count. None if there are none of the four.
    Completions in which nothing counts are disregarded."""
    low, high = hits + misses + maybe_misses, hits + misses + maybe_hits
    if not low and not high:
        return None
    return Range(hits / low if low else 1.0, (hits + maybe_hits) / high if high else 0.0)
