"""Scores of runs whose answers state a confidence: calibration, what is tried, how runs decline."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from assay.measures.abstention import Answers, SweepPoint, abstention, sweep
from assay.measures.bootstrap import Interval, confidence_intervals
from assay.measures.confidence import LOWER_IS_BETTER, Closed
from assay.measures.confidence_ranges import Completion, confidence_ranges
from assay.measures.ranges import Range
from assay.measures.scores import Score
from assay.protocols import means

MEASURES = ("HMR", "R_O", "R_U", "Accuracy", "ECE", "MCE", "Brier", "KS", "AUROC")


class Binned(means.Resampling, Protocol):
    """The settings of intervals, and of the bins of ECE and MCE."""

    @property
    def bins(self) -> int: ...
    @property
    def bins_closed(self) -> Closed: ...


def score_confidence(run: str, answers: Answers, settings: Binned) -> dict[str, Score]:
    """Accuracy, HMR with R_O and R_U, and the calibration measures of a run's answers, each from
    floor to ceiling, with bootstrap intervals over questions. A question without an answer counts
    as wrong, with an unknown confidence."""
    given, count = answers.given, len(answers.given)
    if not count:
        return {name: Score.undefined(run, name) for name in MEASURES}
    left_out = int(count - given.sum())
    correct = answers.correct[given]
    ranges = confidence_ranges(
        answers.p[given],
        correct,
        left_out=left_out,
        bins=settings.bins,
        closed=settings.bins_closed,
    )
    intervals: dict[bytes, dict[str, Interval]] = {}

    def interval(completion: Completion, measure: str) -> Interval | None:
        key = completion.p.tobytes() + completion.c.tobytes()
        if key not in intervals:
            intervals[key] = confidence_intervals(
                completion.p,
                completion.c,
                bins=settings.bins,
                closed=settings.bins_closed,
                level=settings.level,
                resamples=settings.resamples,
                seed=settings.seed,
            )
        return intervals[key].get(measure)

    scores = {}
    for measure in MEASURES:
        ends = ranges[measure]
        if ends is None:
            scores[measure] = Score.undefined(run, measure, topics=count)
            continue
        found = (interval(ends.floor, measure), interval(ends.ceiling, measure))
        open_questions = int(np.isnan(correct).sum())
        if measure != "Accuracy":
            open_questions += left_out
        scores[measure] = Score.between(
            run,
            measure,
            ends.range,
            *((one.low, one.high) for one in found if one is not None),
            topics=count,
            missing=0 if ends.range.value is not None else open_questions,
        )
    return scores


def score_attempted(run: str, answers: Answers, settings: Binned) -> dict[str, Score]:
    """The scores over the questions that a run tried (:meth:`Answers.tried`). What may decline or
    not counts from wrong to right: a mean with it holds the mean without it. Other measures are
    then bounded by nothing."""
    tried = answers.only(answers.tried())
    unknown = np.isnan(tried.refused)
    known = replace(tried, correct=np.where(unknown, np.nan, tried.correct))
    scores = score_confidence(run, known, settings)
    missing = int(unknown.sum())
    if missing:
        for measure, score in scores.items():
            if measure != "Accuracy":
                ends = Range(1.0, 0.0) if measure in LOWER_IS_BETTER else Range(0.0, 1.0)
                scores[measure] = Score.between(
                    run, measure, ends, (0.0, 1.0), topics=score.topics, missing=missing
                )
    return scores


@dataclass(frozen=True, slots=True)
class Abstention:
    """How a run declines: ``refused`` answers, ``rightly`` so many of them, ``unknown`` where
    nobody knows, of ``to_refuse`` questions that are to be refused
    (:mod:`assay.measures.abstention`)."""

    refused: int
    rightly: int
    unknown: int
    to_refuse: int
    precision: Range | None
    recall: Range | None
    sweep: tuple[SweepPoint, ...]

    @classmethod
    def of(cls, answers: Answers) -> Abstention:
        """How a run's answers decline, and what it would come to if it did so more often."""
        precision, recall = abstention(answers)
        refused = answers.given & (answers.refused == 1)
        return cls(
            refused=int(refused.sum()),
            rightly=int((refused & answers.to_refuse).sum()),
            unknown=int((answers.given & np.isnan(answers.refused)).sum()),
            to_refuse=int(answers.to_refuse.sum()),
            precision=precision,
            recall=recall,
            sweep=tuple(sweep(answers)),
        )
