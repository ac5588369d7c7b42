"""Consequences of labels: a comparison of the results before and after."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from assay.api.results import Results
from assay.measures.confidence import LOWER_IS_BETTER
from assay.measures.scores import Score, ranks
from assay.protocols.answers.results import AnswerFindings, AnswerResult

_UNRANKED = LOWER_IS_BETTER | {"AUROC"}


@dataclass(frozen=True, slots=True)
class PlaceChange:
    """A change at one place: of an answer (right or wrong), a mark or a grade. None is unknown."""

    run: str
    topic: str
    position: str
    before: str | int | None
    after: str | int | None


@dataclass(frozen=True, slots=True)
class ScoreChange:
    """A change of a run's score by a measure; None if there is none."""

    run: str
    measure: str
    before: Score | None
    after: Score | None
    rank_before: int | None
    rank_after: int | None


@dataclass(frozen=True)
class Consequences:
    """All changes. ``missing`` has the number of missing labels before and after."""

    answers: tuple[PlaceChange, ...]
    marks: tuple[PlaceChange, ...]
    grades: tuple[PlaceChange, ...]
    scores: tuple[ScoreChange, ...]
    missing: tuple[int, int]

    def document(self) -> dict[str, Any]:
        """The JSON document."""
        return {
            **asdict(self),
            "scores": [
                {**asdict(one), "before": _ends(one.before), "after": _ends(one.after)}
                for one in self.scores
            ],
            "missing": {"before": self.missing[0], "after": self.missing[1]},
        }

    @property
    def ranked(self) -> tuple[ScoreChange, ...]:
        """The changes of scores, except those shown beside HMR only for comparison."""
        return tuple(one for one in self.scores if one.measure not in _UNRANKED)


def consequences(before: Results, after: Results) -> Consequences:
    """The changes from one result of a folder to another."""
    first, second = _detail(before), _detail(after)
    answers, marks, grades = (
        tuple(_differing(values(first), values(second)))
        if isinstance(first, AnswerFindings) and isinstance(second, AnswerFindings)
        else ()
        for values in (_answers, _marks, _grades)
    )
    return Consequences(
        answers, marks, grades, tuple(_scores(before, after)), (before.missing, after.missing)
    )


def _detail(results: Results) -> Any:
    return None if results.only is None else results.only.findings.detail


Values = Iterable[tuple[tuple[str, str, str], str | int | None]]


def _differing(before: Values, after: Values) -> Iterator[PlaceChange]:
    known = dict(before)
    for place, value in after:
        if known[place] != value:
            yield PlaceChange(*place, known[place], value)


def _each(result: AnswerFindings) -> Iterator[tuple[str, str, AnswerResult]]:
    for run, by_question in result.answers.items():
        for question, answer in by_question.items():
            yield run, question, answer


def _answers(result: AnswerFindings) -> Values:
    words = {True: "right", False: "wrong", None: None}
    for run, question, answer in _each(result):
        yield (run, question, "answer"), words[answer.correct]


def _marks(result: AnswerFindings) -> Values:
    for run, question, answer in _each(result):
        for one in answer.nuggets:
            mark = None if one.mark is None else str(one.mark)
            yield (run, question, f"nugget {one.nugget.num}"), mark


def _grades(result: AnswerFindings) -> Values:
    for question, grades in result.grades.items():
        for key, grade in grades.items():
            yield (key.run, question, f"passage {key.rank}"), grade


def _scores(before: Results, after: Results) -> Iterator[ScoreChange]:
    old, new = _by_run(before), _by_run(after)
    measures = dict.fromkeys(one.measure for one in after.scores)
    lower = after.lower_is_better
    stood = {name: ranks(old, name, lower_is_better=name in lower) for name in measures}
    stands = {name: ranks(new, name, lower_is_better=name in lower) for name in measures}
    for run, scores in new.items():
        for name, score in scores.items():
            was = old.get(run, {}).get(name)
            places = (stood[name].get(run), stands[name].get(run))
            if _ends(was) != _ends(score) or places[0] != places[1]:
                yield ScoreChange(run, name, was, score, *places)


def _by_run(results: Results) -> dict[str, dict[str, Score]]:
    found: dict[str, dict[str, Score]] = {}
    for one in results.scores:
        found.setdefault(one.run, {})[one.measure] = one
    return found


def _ends(score: Score | None) -> dict[str, float | None] | None:
    if score is None:
        return None
    return {"value": score.value, "floor": score.floor, "ceiling": score.ceiling}
