"""From verdicts and grades to scores: the part of scoring that needs numbers alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from assay.measures.abstention import Answers, abstention, sweep
from assay.measures.bootstrap import Interval, confidence_intervals, mean_interval
from assay.measures.confidence import confidence_measures
from assay.measures.evaluation import evaluate
from assay.measures.names import parse_measure
from assay.protocols.r2c2.work import Abstention, Numbers, Resampling, Table, Verdicts, Work
from assay.protocols.scores import Score

PRECISION = "NuggetPrecision"
AC_MEASURES = (
    "HMR", "R_O", "R_U", "Accuracy", PRECISION, "ECE", "MCE", "Brier", "KS", "AUROC",
)  # fmt: skip


def compute(work: Work) -> Numbers:
    """All scores with their intervals. Equal work gives equal numbers."""
    settings = work.resampling
    scores = {name: score_answers(name, found, settings) for name, found in work.runs.items()}
    attempted: Table = {}
    for name, verdicts in work.runs.items():
        if all(verdicts.given) and not any(one is not False for one in verdicts.refused):
            attempted[name] = scores[name]
        else:
            attempted[name] = score_answers(name, verdicts.attempted(), settings)
    pr_values = _score_rankings(work)
    pr_scores = {
        name: score_means(name, by_measure, len(work.unsure), settings)
        for name, by_measure in pr_values.items()
    }
    by_category = {}
    for category, places in work.categories.items():
        by_category[category] = (
            {**scores, **pr_scores}  # a single category: nothing new to compute
            if len(places) == len(work.questions)
            else _of_category(work, places, pr_values)
        )
    declined = {name: abstention_of(found, settings) for name, found in work.runs.items()}
    return Numbers(scores, pr_scores, attempted, by_category, pr_values, declined)


def abstention_of(verdicts: Verdicts, settings: Resampling) -> Abstention:
    """How a run declines, and what it would come to if it did so more often."""
    answers = Answers(
        p=np.array(verdicts.confidence, dtype=np.float64),
        correct=np.array(verdicts.correct, dtype=np.float64),  # None becomes NaN
        refused=np.array(verdicts.refused, dtype=np.float64),
        given=np.array(verdicts.given, dtype=bool),
        to_refuse=np.array(verdicts.to_refuse, dtype=bool),
    )
    precision, recall = abstention(answers)
    refused = answers.given & (answers.refused == 1)
    return Abstention(
        refused=int(refused.sum()),
        rightly=int((refused & answers.to_refuse).sum()),
        unknown=int((answers.given & np.isnan(answers.refused)).sum()),
        to_refuse=int(answers.to_refuse.sum()),
        precision=precision,
        recall=recall,
        sweep=tuple(sweep(answers, bins=settings.bins, closed=settings.closed)),
    )


def _of_category(
    work: Work,
    places: Sequence[int],
    pr_values: Mapping[str, Mapping[str, Mapping[str, float]]],
) -> Table:
    settings = work.resampling
    row = {
        name: score_answers(name, verdicts.only(places), settings)
        for name, verdicts in work.runs.items()
    }
    questions = [work.questions[place] for place in places]
    missing = sum(one in work.unsure for one in questions)
    for name, by_measure in pr_values.items():
        row[name] = score_means(name, by_measure, missing, settings, questions)
    return row


def score_answers(run: str, verdicts: Verdicts, settings: Resampling) -> dict[str, Score]:
    """Accuracy, mean nugget precision, HMR with R_O and R_U, and the calibration measures of one
    run over the given questions, with bootstrap intervals over questions."""
    count = len(verdicts.correct)
    labelled = [place for place, one in enumerate(verdicts.correct) if one is not None]
    values: dict[str, float | None] = dict.fromkeys(AC_MEASURES)
    intervals: dict[str, Interval] = {}
    if labelled:
        p = np.array([verdicts.confidence[place] for place in labelled])
        c = np.array([bool(verdicts.correct[place]) for place in labelled])
        values.update(confidence_measures(p, c, bins=settings.bins, closed=settings.closed))
        intervals.update(
            confidence_intervals(
                p,
                c,
                bins=settings.bins,
                closed=settings.closed,
                level=settings.level,
                resamples=settings.resamples,
                seed=settings.seed,
            )
        )
    precisions = [one for one in verdicts.precision if one is not None]
    if precisions:
        values[PRECISION] = float(np.mean(precisions))
        intervals[PRECISION] = _mean_interval(precisions, settings)
    scores = {}
    for measure, value in values.items():
        interval = intervals.get(measure)
        counted = len(precisions) if measure == PRECISION else len(labelled)
        scores[measure] = Score(
            run,
            measure,
            value,
            interval.low if interval and value is not None else None,
            interval.high if interval and value is not None else None,
            counted,
            count - counted,
            value,
            value,
        )
    return scores


def _score_rankings(work: Work) -> dict[str, dict[str, dict[str, float]]]:
    """PR run -> measure -> question -> value. A question that a run has no passages for is 0."""
    ranked = work.ranked
    measures = [parse_measure(name) for name in ranked.measures.values()]
    qrels = {topic: ranked.qrels.get(topic, {}) for topic in ranked.topics}
    values: dict[str, dict[str, dict[str, float]]] = {}
    for name, ranking in ranked.runs.items():
        ideal = None
        if ranked.own_ideal:
            ideal = {
                topic: [qrels[topic].get(unit, 0.0) for unit in shown]
                for topic, shown in ranking.items()
            }
        found = evaluate(ranking, qrels, measures, g_max=ranked.g_max, ideal=ideal)
        values[name] = {str(measure): dict(by_topic) for measure, by_topic in found.scores.items()}
    return values


def score_means(
    run: str,
    by_measure: Mapping[str, Mapping[str, float]],
    missing: int,
    settings: Resampling,
    topics: Iterable[str] | None = None,
) -> dict[str, Score]:
    """Means over questions with bootstrap intervals; ``missing`` questions lack some mark."""
    scores = {}
    for measure, by_topic in by_measure.items():
        values = list(by_topic.values()) if topics is None else [by_topic[t] for t in topics]
        if not values:
            continue
        interval = _mean_interval(values, settings)
        mean = float(np.mean(values))
        scores[measure] = Score(
            run, measure, mean, interval.low, interval.high, len(values), missing, mean, mean
        )
    return scores


def _mean_interval(values: Sequence[float], settings: Resampling) -> Interval:
    return mean_interval(
        values, level=settings.level, resamples=settings.resamples, seed=settings.seed
    )
