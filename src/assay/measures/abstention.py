"""Declining to answer: how rightly a run does it, and what it would gain by doing it more often.

Let D be the questions that a run declines and S those that are to be declined. *Abstention
precision* is |D ∩ S| / |D|, *abstention recall* |D ∩ S| / |S|; each is undefined where what it
divides by is 0. (Wen et al., "Know Your Limits", TACL 2025, section on evaluation; El-Yaniv &
Wiener, JMLR 11, 2010, for what follows.)

The *threshold sweep* asks what a run would have come to had it declined every answer of a
confidence below t (spec/r2c2.md, step 5). What it withholds then counts as any refusal: wrong, or
right where the question is in S, at the confidence that it has. Of what it withholds the share that
is wrong is the precision of the threshold, and of what is wrong the share that it withholds its
recall: there it is known what the answer would have been. Everything that hangs on missing labels
is a :class:`~assay.measures.ranges.Range`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.measures.arrays import Bools, Floats
from assay.measures.confidence_ranges import accuracy_and_hmr
from assay.measures.ranges import OPEN, Range

THRESHOLDS = tuple(step / 10 for step in range(11))
"""Confidences below which a sweep declines."""


@dataclass(frozen=True)
class Answers:
    """A run's answers, question by question, as arrays of one length.

    ``p`` are confidences from 0 to 1; ``correct`` and ``refused`` are 1, 0, or NaN if nobody
    knows; ``given`` says which questions the run has an answer to, ``to_refuse`` which are to be
    declined. Of a question without an answer nothing else counts.
    """

    p: Floats
    correct: Floats
    refused: Floats
    given: Bools
    to_refuse: Bools

    def only(self, places: Sequence[int]) -> Answers:
        """Those to some questions, by their places."""
        at = np.array(places, dtype=np.intp)
        return Answers(**{name: values[at] for name, values in vars(self).items()})

    def tried(self) -> list[int]:
        """The places of the questions that were answered, or rightly declined; what may decline or
        not is among them."""
        declined = (self.refused == 1) & ~(self.correct == 1)
        return np.flatnonzero(self.given & ~declined).tolist()


@dataclass(frozen=True)
class SweepPoint:
    """A run that declines every answer of a confidence below ``threshold``.

    ``withheld`` is how many answers that takes away, ``coverage`` the share of all questions that
    are still answered. ``accuracy`` and ``hmr`` are over all questions, those ``attempted`` over
    what is answered or rightly declined (None if that is nothing). ``precision`` is the share of
    the withheld answers that are wrong (None if none is withheld), ``recall`` the share of the
    wrong answers that are withheld (None if none is wrong).
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
    refused, right = answers.refused[answers.given], answers.to_refuse[answers.given]
    unknown = np.isnan(refused)
    hits = int(((refused == 1) & right).sum())
    misses = int(((refused == 1) & ~right).sum())
    maybe_hits, maybe_misses = int((unknown & right).sum()), int((unknown & ~right).sum())
    wanted = int(answers.to_refuse.sum())
    recall = Range(hits / wanted, (hits + maybe_hits) / wanted) if wanted else None
    return _share(hits, misses, maybe_hits, maybe_misses), recall


def sweep(answers: Answers, thresholds: Sequence[float] = THRESHOLDS) -> list[SweepPoint]:
    """What the run would come to at each threshold. No answers at all give no points."""
    if not len(answers.p):
        return []
    return [_point(answers, threshold) for threshold in thresholds]


def _point(answers: Answers, threshold: float) -> SweepPoint:
    given, n = answers.given, len(answers.p)
    below = given & (answers.p < threshold)
    answered = given & (answers.refused != 1)  # as far as is known
    withheld, standing = below & answered, answered & ~below
    sure = standing & (answers.refused == 0)
    correct = np.where(below, answers.to_refuse, answers.correct).astype(np.float64)

    left_out = int((~given).sum())
    accuracy, hmr = accuracy_and_hmr(answers.p[given], correct[given], left_out=left_out)
    # What may decline may be no attempt: its correctness is then as good as unknown.
    open_too = np.where(standing & ~sure, np.nan, correct)
    tried = given & (standing | (correct != 0))
    attempted_accuracy = attempted_hmr = None
    if tried.any():
        attempted_accuracy, attempted_hmr = accuracy_and_hmr(answers.p[tried], open_too[tried])
    wrong, unknown = answers.correct == 0, np.isnan(answers.correct)
    hits, maybe = int((withheld & wrong).sum()), int((withheld & unknown).sum())
    taken = int(withheld.sum())
    return SweepPoint(
        threshold,
        taken,
        Range(int(sure.sum()) / n, int(standing.sum()) / n),
        accuracy,
        hmr,
        attempted_accuracy,
        # Without an answer HMR may be less than with it, be it right or wrong.
        OPEN if (standing & ~sure).any() else attempted_hmr,
        Range(hits / taken, (hits + maybe) / taken) if taken else None,
        _share(hits, int((standing & wrong).sum()), maybe, int((standing & unknown).sum())),
    )


def _share(hits: int, misses: int, maybe_hits: int, maybe_misses: int) -> Range | None:
    """hits / (hits + misses), where further ones may be hits or else do not count, and others
    misses or else do not count. None if nothing counts in any case; where nothing may count,
    the ends are those of the other cases."""
    low, high = hits + misses + maybe_misses, hits + misses + maybe_hits
    if not low and not high:
        return None
    return Range(hits / low if low else 1.0, (hits + maybe_hits) / high if high else 0.0)
