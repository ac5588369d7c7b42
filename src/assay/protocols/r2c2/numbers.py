"""From verdicts and grades to scores: the part of scoring that needs numbers alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from assay.measures.abstention import Answers, abstention, sweep
from assay.measures.base import Measure
from assay.measures.bootstrap import Interval, confidence_intervals
from assay.measures.confidence import LOWER_IS_BETTER
from assay.measures.confidence_ranges import Completion, confidence_ranges
from assay.measures.evaluation import evaluate
from assay.measures.graded import ERR, IRBU, RBP
from assay.measures.names import parse_measure
from assay.measures.ranges import Range
from assay.measures.ranking_ranges import score_range
from assay.protocols.means import mean_score
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
        done = all(verdicts.given) and not any(one is not False for one in verdicts.refused)
        attempted[name] = scores[name] if done else _score_attempted(name, verdicts, settings)
    pr_values = _score_rankings(work)
    pr_scores = {
        name: _means(name, by_measure, work.questions, settings)
        for name, by_measure in pr_values.items()
    }
    by_category = {}
    for category, places in work.categories.items():
        if len(places) == len(work.questions):
            by_category[category] = {**scores, **pr_scores}  # one category: nothing new to compute
            continue
        topics = [work.questions[place] for place in places]
        answers = {
            name: score_answers(name, verdicts.only(places), settings)
            for name, verdicts in work.runs.items()
        }
        rankings = {name: _means(name, by, topics, settings) for name, by in pr_values.items()}
        by_category[category] = {**answers, **rankings}
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


def score_answers(run: str, verdicts: Verdicts, settings: Resampling) -> dict[str, Score]:
    """Accuracy, mean nugget precision, HMR with R_O and R_U, and the calibration measures of one
    run over the given questions, each from floor to ceiling, with bootstrap intervals over
    questions."""
    count = len(verdicts.correct)
    if not count:
        return {name: Score.undefined(run, name) for name in AC_MEASURES}
    answered = [place for place, one in enumerate(verdicts.confidence) if one is not None]
    correct = [verdicts.correct[place] for place in answered]
    ranges = confidence_ranges(
        [verdicts.confidence[place] for place in answered],  # type: ignore[arg-type]  # none is None
        [np.nan if one is None else float(one) for one in correct],
        left_out=count - len(answered),
        bins=settings.bins,
        closed=settings.closed,
    )
    intervals: dict[bytes, dict[str, Interval]] = {}

    def interval(completion: Completion, measure: str) -> Interval | None:
        key = completion.p.tobytes() + completion.c.tobytes()
        if key not in intervals:
            intervals[key] = confidence_intervals(
                completion.p,
                completion.c,
                bins=settings.bins,
                closed=settings.closed,
                level=settings.level,
                resamples=settings.resamples,
                seed=settings.seed,
            )
        return intervals[key].get(measure)

    scores = {}
    for measure in AC_MEASURES:
        if measure == PRECISION:
            scores[measure] = mean_score(run, measure, verdicts.precision, settings)
            continue
        ends = ranges[measure]
        if ends is None:
            scores[measure] = Score.undefined(run, measure, topics=count)
            continue
        found = (interval(ends.floor, measure), interval(ends.ceiling, measure))
        open_questions = correct.count(None)
        if measure not in ("Accuracy", "R_U"):
            open_questions += count - len(answered)
        scores[measure] = Score.between(
            run,
            measure,
            ends.range,
            *((one.low, one.high) for one in found if one is not None),
            topics=count,
            missing=0 if ends.range.value is not None else open_questions,
        )
    return scores


def _score_attempted(run: str, verdicts: Verdicts, settings: Resampling) -> dict[str, Score]:
    """The scores over the questions that a run tried. Where it is not known whether it did, only
    means are bounded by what else is known."""
    scores = score_answers(run, verdicts.attempted(), settings)
    missing = sum(
        given and refused is None
        for given, refused in zip(verdicts.given, verdicts.refused, strict=True)
    )
    if missing:
        for measure, score in scores.items():
            if measure not in ("Accuracy", PRECISION):
                ends = Range(1.0, 0.0) if measure in LOWER_IS_BETTER else Range(0.0, 1.0)
                scores[measure] = Score.between(
                    run, measure, ends, (0.0, 1.0), topics=score.topics, missing=missing
                )
    return scores


def _score_rankings(work: Work) -> dict[str, dict[str, dict[str, Range]]]:
    """PR run → measure → question → value. A question that a run has no passages for is 0."""
    ranked = work.ranked
    measures = [parse_measure(name) for name in ranked.measures.values()]
    qrels = {topic: ranked.qrels.get(topic, {}) for topic in ranked.topics}
    tops = _highest_grades(work)
    values: dict[str, dict[str, dict[str, Range]]] = {}
    for name, ranking in ranked.runs.items():
        ideal = None
        if ranked.own_ideal:
            ideal = {
                topic: [qrels[topic].get(unit, 0.0) for unit in shown]
                for topic, shown in ranking.items()
            }
        found = evaluate(ranking, qrels, measures, g_max=ranked.g_max, ideal=ideal)
        values[name] = {
            str(measure): {topic: Range.certain(value) for topic, value in by_topic.items()}
            for measure, by_topic in found.scores.items()
        }
        for measure in measures:
            # Where the highest grade of all may rise, what hangs on it does for every question.
            unsure = len(tops) > 1 and isinstance(measure, (ERR, IRBU, RBP))
            for topic in ranked.topics if unsure else work.rising:
                if ranking.get(topic):
                    ends = _range(work, measure, ranking[topic], topic, tops)
                    values[name][str(measure)][topic] = ends
    return values


def _highest_grades(work: Work) -> list[float]:
    """Every highest grade that is possible; one where no grade may rise."""
    most = max(
        (
            work.ranked.qrels[topic].get(unit, 0.0) + more
            for topic, by_unit in work.rising.items()
            for unit, more in by_unit.items()
        ),
        default=0.0,
    )
    least = work.ranked.g_max
    return [least, *(float(grade) for grade in range(int(least) + 1, int(most) + 1))]


def _range(
    work: Work, measure: Measure, ranking: Sequence[str], topic: str, tops: Sequence[float]
) -> Range:
    worst = work.ranked.qrels[topic]
    best = {**worst}
    for unit, more in work.rising.get(topic, {}).items():
        best[unit] = best.get(unit, 0.0) + more
    ideal = ranking if work.ranked.own_ideal else best
    return score_range(
        measure,
        [worst.get(unit) for unit in ranking],
        [best.get(unit) for unit in ranking],
        [worst.get(unit, 0.0) for unit in ideal],
        [best.get(unit, 0.0) for unit in ideal],
        tops,
    )


def _means(
    run: str,
    by_measure: Mapping[str, Mapping[str, Range]],
    topics: Iterable[str],
    settings: Resampling,
) -> dict[str, Score]:
    """Means over questions with bootstrap intervals."""
    wanted = list(topics)
    return {
        measure: mean_score(run, measure, (values[topic] for topic in wanted), settings)
        for measure, values in by_measure.items()
    }
