"""From what counts for answers and passages to scores: steps 5 and 6."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from assay.measures.abstention import Answers
from assay.measures.names import parse_measure
from assay.measures.ranges import Range
from assay.measures.scores import Score
from assay.model.rag import Mark, PassageKey, PassageRun
from assay.protocols.confidence_scores import score_attempted, score_confidence
from assay.protocols.means import mean_score
from assay.protocols.r2c2.acts import is_to_refuse
from assay.protocols.r2c2.inputs import Inputs, R2C2Settings
from assay.protocols.r2c2.results import AnswerResult
from assay.protocols.ranked import Ranked

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
        return Verdicts(self.answers.only(places), [self.precision[place] for place in places])


def score_answers(run: str, verdicts: Verdicts, settings: R2C2Settings) -> dict[str, Score]:
    """Accuracy, mean nugget precision, HMR with R_O and R_U, and the calibration measures of one
    run over the given questions."""
    scores = score_confidence(run, verdicts.answers, settings)
    scores[PRECISION] = mean_score(run, PRECISION, verdicts.precision, settings)
    return {measure: scores[measure] for measure in AC_MEASURES}


def attempted_scores(run: str, verdicts: Verdicts, settings: R2C2Settings) -> dict[str, Score]:
    """The scores over the questions that a run tried."""
    tried = verdicts.only(verdicts.answers.tried())
    known = ~np.isnan(tried.answers.refused)
    precision = [
        ends if sure else Range(0.0, 1.0) for ends, sure in zip(tried.precision, known, strict=True)
    ]
    scores = score_attempted(run, verdicts.answers, settings)
    scores[PRECISION] = mean_score(run, PRECISION, precision, settings)
    return {measure: scores[measure] for measure in AC_MEASURES}


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
