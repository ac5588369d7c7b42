"""Scores of runs whose answers state a confidence: calibration, attempted scores and abstention."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from assay.measures.abstention import Answers, SweepPoint, abstention, sweep
from assay.measures.arrays import Floats
from assay.measures.bootstrap import confidence_intervals
from assay.measures.confidence import LOWER_IS_BETTER, Closed
from assay.measures.confidence_ranges import Completion, confidence_ranges
from assay.measures.ranges import OPEN, Range
from assay.measures.scores import Score
from assay.protocols import means

_REWARDS, _CALIBRATION = ("HMR", "R_O", "R_U", "Accuracy"), ("ECE", "MCE", "Brier", "KS", "AUROC")
MEASURES = (*_REWARDS, *_CALIBRATION)


def measures_with(more: Iterable[str]) -> tuple[str, ...]:
    """All measures, with ``more`` measures of the same answers after accuracy."""
    return (*_REWARDS, *more, *_CALIBRATION)


class Binned(means.Resampling, Protocol):
    """The settings of intervals, and of the bins of ECE and MCE."""

    @property
    def bins(self) -> int: ...
    @property
    def bins_closed(self) -> Closed: ...


def score_confidence(
    run: str, answers: Answers, settings: Binned, measures: Sequence[str] = MEASURES
) -> dict[str, Score]:
    """Accuracy, HMR with R_O and R_U, and the calibration measures of a run's answers, each from
    floor to ceiling, with bootstrap intervals over questions. A question without an answer counts
    as wrong, with an unknown confidence."""
    given, count = answers.present, len(answers.present)
    if not count:
        return {name: Score.undefined(run, name) for name in measures}
    left_out = int(count - given.sum())
    correct = answers.correct[given]
    ranges = confidence_ranges(
        answers.p[given],
        correct,
        left_out=left_out,
        bins=settings.bins,
        closed=settings.bins_closed,
    )
    # The ends of all measures share few completions; each is resampled once.
    completions: dict[bytes, tuple[Completion, list[str]]] = {}
    for measure in measures:
        ends = ranges[measure]
        for completion in (ends.floor, ends.ceiling) if ends is not None else ():
            _, wanted = completions.setdefault(_key(completion), (completion, []))
            wanted.append(measure)
    intervals = {
        key: confidence_intervals(
            completion.p,
            completion.c,
            bins=settings.bins,
            closed=settings.bins_closed,
            measures=wanted,
            **settings.resampling,
        )
        for key, (completion, wanted) in completions.items()
    }
    scores = {}
    for measure in measures:
        ends = ranges[measure]
        if ends is None:
            scores[measure] = Score.undefined(run, measure, topics=count)
            continue
        found = [intervals[_key(end)].get(measure) for end in (ends.floor, ends.ceiling)]
        open_questions = int(np.isnan(correct).sum())
        # A question left out is wrong, whatever its confidence.
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


def _key(completion: Completion) -> bytes:
    return completion.p.tobytes() + completion.c.tobytes()


class Verdicts(NamedTuple):
    """A run's answers, and the floors and ceilings of ``more`` measures, question by question."""

    answers: Answers
    more: Mapping[str, tuple[Floats, Floats]]

    def only(self, places: Sequence[int]) -> Verdicts:
        """The answers to the questions at some indexes."""
        some = {name: (low[places], high[places]) for name, (low, high) in self.more.items()}
        return Verdicts(self.answers.only(places), some)

    def scores(self, run: str, settings: Binned) -> dict[str, Score]:
        """:func:`score_confidence`, and the means of the further measures."""
        return self._with_means(run, score_confidence(run, self.answers, settings), settings)

    def attempted(
        self, run: str, settings: Binned, every: Mapping[str, Score]
    ) -> Mapping[str, Score]:
        """The scores over the questions that the run attempted (:meth:`Answers.attempted`), or
        ``every`` score if it certainly attempted all. An answer that may or may not decline counts
        from wrong to right and from worst to best, as a mean with it bounds the mean without it.
        Other measures are then unbounded."""
        if (self.answers.present & (self.answers.refused == 0)).all():
            return every
        tried = self.only(self.answers.attempted())
        unknown = np.isnan(tried.answers.refused)
        known = replace(tried.answers, correct=np.where(unknown, np.nan, tried.answers.correct))
        missing = int(unknown.sum())
        scores = score_confidence(run, known, settings, ("Accuracy",) if missing else MEASURES)
        for measure in (name for name in MEASURES if name not in scores):
            ends = Range(1.0, 0.0) if measure in LOWER_IS_BETTER else OPEN
            scores[measure] = Score.between(
                run, measure, ends, (0.0, 1.0), topics=len(unknown), missing=missing
            )
        more = {
            name: (np.where(unknown, OPEN.floor, low), np.where(unknown, OPEN.ceiling, high))
            for name, (low, high) in tried.more.items()
        }
        return Verdicts(tried.answers, more)._with_means(run, scores, settings)

    def _with_means(
        self, run: str, scores: Mapping[str, Score], settings: Binned
    ) -> dict[str, Score]:
        means_of = {
            name: means.mean_score(run, name, map(Range, low.tolist(), high.tolist()), settings)
            for name, (low, high) in self.more.items()
        }
        return {name: {**scores, **means_of}[name] for name in measures_with(means_of)}


@dataclass(frozen=True, slots=True)
class Abstention:
    """How a run declines (:mod:`assay.measures.abstention`): ``refused`` answers, of these
    ``rightly``; ``unknown`` answers that may decline; and questions that are ``to_refuse``."""

    refused: int
    rightly: int
    unknown: int
    to_refuse: int
    precision: Range | None
    recall: Range | None
    sweep: tuple[SweepPoint, ...]

    @classmethod
    def of(cls, answers: Answers) -> Abstention:
        """How a run's answers decline, and its scores if it declined more often."""
        precision, recall = abstention(answers)
        refused = answers.present & (answers.refused == 1)
        return cls(
            refused=int(refused.sum()),
            rightly=int((refused & answers.to_refuse).sum()),
            unknown=int((answers.present & np.isnan(answers.refused)).sum()),
            to_refuse=int(answers.to_refuse.sum()),
            precision=precision,
            recall=recall,
            sweep=tuple(sweep(answers)),
        )

    def document(self) -> Any:
        """The values as JSON."""
        return _plain(asdict(self))


def _plain(value: Any) -> Any:
    """``value`` with each range as an object: value (null if it is a range), floor, ceiling."""
    if isinstance(value, Range):
        return {"value": value.value, "floor": value.floor, "ceiling": value.ceiling}
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value
