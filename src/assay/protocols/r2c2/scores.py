"""From what counts for answers and passages to scores: steps 5 and 6."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from assay.measures.abstention import Answers, abstention, sweep
from assay.measures.bootstrap import Interval, confidence_intervals
from assay.measures.confidence import LOWER_IS_BETTER
from assay.measures.confidence_ranges import Completion, confidence_ranges
from assay.measures.names import parse_measure
from assay.measures.ranges import Range
from assay.model.rag import Mark, PassageKey, PassageRun
from assay.protocols.means import mean_score
from assay.protocols.r2c2.acts import is_to_refuse
from assay.protocols.r2c2.inputs import Inputs, R2C2Settings
from assay.protocols.r2c2.results import Abstention, AnswerResult
from assay.protocols.ranked import Ranked
from assay.protocols.scores import Score

PRECISION = "NuggetPrecision"
AC_MEASURES = (
    "HMR", "R_O", "R_U", "Accuracy", PRECISION, "ECE", "MCE", "Brier", "KS", "AUROC",
)  # fmt: skip

Judged = Mapping[str, Mapping[str, AnswerResult]]
"""run → question → what was found of the answer."""


class Verdicts(NamedTuple):
    """A run's answers, question by question, with the nugget precision of each."""

    answers: Answers
    precision: Sequence[Range]

    @classmethod
    def of(cls, results: Sequence[AnswerResult]) -> Verdicts:
        """Of a run's answers; None becomes NaN."""
        acts = [None if one.act is None else one.refused for one in results]
        answers = Answers(
            p=np.array([one.confidence for one in results], dtype=np.float64),
            correct=np.array([one.correct for one in results], dtype=np.float64),
            refused=np.array(acts, dtype=np.float64),
            given=np.array([one.answer is not None for one in results], dtype=bool),
            to_refuse=np.array([is_to_refuse(one.question) for one in results], dtype=bool),
        )
        return cls(answers, [one.precision for one in results])

    def only(self, places: Sequence[int]) -> Verdicts:
        """Those of some questions, by their places."""
        at = np.array(places, dtype=np.intp)
        chosen = {name: values[at] for name, values in vars(self.answers).items()}
        return Verdicts(Answers(**chosen), [self.precision[place] for place in places])

    def attempted(self) -> Verdicts:
        """Those that the run answered, or rightly declined. What may decline or not counts from
        wrong to right: a mean with it holds the mean without it."""
        every = self.answers
        declined = (every.refused == 1) & ~(every.correct == 1)
        answers, precision = self.only(np.flatnonzero(every.given & ~declined).tolist())
        unknown = np.isnan(answers.refused)
        return Verdicts(
            replace(answers, correct=np.where(unknown, np.nan, answers.correct)),
            [
                Range(0.0, 1.0) if open_ else ends
                for ends, open_ in zip(precision, unknown, strict=True)
            ],
        )


def score_answers(run: str, verdicts: Verdicts, settings: R2C2Settings) -> dict[str, Score]:
    """Accuracy, mean nugget precision, HMR with R_O and R_U, and the calibration measures of one
    run over the given questions, each from floor to ceiling, with bootstrap intervals over
    questions."""
    given, count = verdicts.answers.given, len(verdicts.precision)
    if not count:
        return {name: Score.undefined(run, name) for name in AC_MEASURES}
    left_out = int(count - given.sum())
    correct = verdicts.answers.correct[given]
    ranges = confidence_ranges(
        verdicts.answers.p[given],
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
    for measure in AC_MEASURES:
        if measure == PRECISION:
            scores[measure] = mean_score(run, measure, verdicts.precision, settings)
            continue
        ends = ranges[measure]
        if ends is None:
            scores[measure] = Score.undefined(run, measure, topics=count)
            continue
        found = (interval(ends.floor, measure), interval(ends.ceiling, measure))
        open_questions = int(np.isnan(correct).sum())
        if measure not in ("Accuracy", "R_U"):
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


def score_attempted(run: str, verdicts: Verdicts, settings: R2C2Settings) -> dict[str, Score]:
    """The scores over the questions that a run tried. Where it is not known whether it did, only
    means are bounded by what else is known."""
    scores = score_answers(run, verdicts.attempted(), settings)
    missing = int((verdicts.answers.given & np.isnan(verdicts.answers.refused)).sum())
    if missing:
        for measure, score in scores.items():
            if measure not in ("Accuracy", PRECISION):
                ends = Range(1.0, 0.0) if measure in LOWER_IS_BETTER else Range(0.0, 1.0)
                scores[measure] = Score.between(
                    run, measure, ends, (0.0, 1.0), topics=score.topics, missing=missing
                )
    return scores


def abstention_of(answers: Answers, settings: R2C2Settings) -> Abstention:
    """How a run declines, and what it would come to if it did so more often."""
    precision, recall = abstention(answers)
    refused = answers.given & (answers.refused == 1)
    return Abstention(
        refused=int(refused.sum()),
        rightly=int((refused & answers.to_refuse).sum()),
        unknown=int((answers.given & np.isnan(answers.refused)).sum()),
        to_refuse=int(answers.to_refuse.sum()),
        precision=precision,
        recall=recall,
        sweep=tuple(sweep(answers, bins=settings.bins, closed=settings.bins_closed)),
    )


# -- passages -------------------------------------------------------------------------------------


def derive_grades(inputs: Inputs, judged: Judged) -> dict[str, dict[PassageKey, int]]:
    """Step 6: the grade of (question, PassageKey) is the number of relevant nuggets that cite it
    across all AC runs; every passage of every PR run has one."""
    grades: dict[str, dict[PassageKey, int]] = {}
    for question in inputs.questions:
        found = dict.fromkeys(inputs.passages(question.id), 0)
        for by_question in judged.values():
            for nugget in by_question[question.id].nuggets:
                if nugget.mark is Mark.RELEVANT:
                    found[nugget.nugget.key] += 1
        grades[question.id] = found
    return grades


def open_grades(inputs: Inputs, judged: Judged) -> dict[str, dict[PassageKey, int]]:
    """How much the grades of step 6 may rise: for each question, the passages that are cited by
    nuggets whose mark is missing and may be relevant, with their number."""
    found: dict[str, dict[PassageKey, int]] = {}
    for question in inputs.questions:
        rising: Counter[PassageKey] = Counter()
        for by_question in judged.values():
            result = by_question[question.id]
            if not result.complete and result.correct is not False:
                rising.update(one.nugget.key for one in result.nuggets if one.mark is None)
        if rising:
            found[question.id] = dict(rising)
    return found


Grades = Mapping[str, Mapping[PassageKey, int]]


def ranked_passages(
    inputs: Inputs, settings: R2C2Settings, grades: Grades, rising: Grades
) -> tuple[Ranked, dict[str, dict[str, float]]]:
    """The PR runs as rankings of relevance units with their grades, and by how much these may
    rise."""
    rankings: dict[str, dict[str, list[str]]] = {name: {} for name in inputs.pr_runs}
    qrels: dict[str, dict[str, float]] = {}
    more: dict[str, dict[str, float]] = {}
    for question in inputs.questions:
        units = _relevance_units(question.id, inputs.pr_runs, merge=settings.merge_identical)
        qrels[question.id] = _by_unit(grades[question.id], units)
        if question.id in rising:
            more[question.id] = _by_unit(rising[question.id], units)
        for name, run in inputs.pr_runs.items():
            rankings[name][question.id] = _ranking(run, question.id, units)
    highest = max((g for judged in qrels.values() for g in judged.values()), default=0.0)
    ranked = Ranked(
        topics=[question.id for question in inputs.questions],
        qrels=qrels,
        runs=rankings,
        measures={str(parse_measure(name)): name for name in settings.measures},
        g_max=max(settings.g_max or 0.0, highest) or 1.0,
        own_ideal=settings.ideal == "own",
    )
    return ranked, more


def _by_unit(grades: Mapping[PassageKey, int], units: Mapping[PassageKey, str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for key, grade in grades.items():
        found[units[key]] = found.get(units[key], 0.0) + grade
    return found


def _relevance_units(
    question: str, pr_runs: Mapping[str, PassageRun], *, merge: bool
) -> dict[PassageKey, str]:
    """Name of the relevance unit of each passage: its own PassageKey, or with ``merge`` that of
    the first passage with the same document and text."""
    first: dict[tuple[str, str], str] = {}
    units: dict[PassageKey, str] = {}
    for run in pr_runs.values():
        for passage in run.passages.get(question, ()):
            own = str(passage.key)
            same = first.setdefault((passage.doc, passage.text), own) if merge else own
            units[passage.key] = same
    return units


def _ranking(run: PassageRun, question: str, units: Mapping[PassageKey, str]) -> list[str]:
    """A run's list of relevance units; a unit that it repeats counts where it stands first, and
    the repetition keeps its rank under its own key, which has no grade: its unit's is another."""
    seen: set[str] = set()
    ranked = []
    for passage in run.passages.get(question, ()):
        unit = units[passage.key]
        ranked.append(unit if unit not in seen else str(passage.key))
        seen.add(unit)
    return ranked
