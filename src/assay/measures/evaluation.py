"""Score a whole run: rankings and qrels to per-topic scores and means."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from assay.measures.ranking import RELEVANT, Measure

__all__ = ["Evaluation", "evaluate"]


@dataclass(frozen=True)
class Evaluation:
    """The scores of one run.

    Attributes:
        scores: for every measure, the score of every topic of the qrels, in the qrels' order;
            0 where the run is silent.
        g_max: the highest grade that the measures were given.
        without_relevant: topics of the qrels with no grade of 1 or more, where no run can score.
        missing: topics of the qrels for which the run has no documents.
        unjudged: topics of the run that the qrels do not have; they are not scored.
    """

    scores: Mapping[Measure, Mapping[str, float]]
    g_max: float
    without_relevant: tuple[str, ...]
    missing: tuple[str, ...]
    unjudged: tuple[str, ...]

    def mean(
        self, measure: Measure, *, topics: Literal["qrels", "answered"] = "qrels"
    ) -> float | None:
        """Return the mean score over topics.

        Args:
            measure: one of the measures that were scored.
            topics: ``qrels`` for all topics of the qrels, ``answered`` for those among them that
                the run has documents for.

        Returns:
            The mean, or ``None`` where there is no topic to take it over.

        Raises:
            KeyError: the measure was not scored.
        """
        left_out = frozenset(self.missing) if topics == "answered" else frozenset()
        counted = [score for topic, score in self.scores[measure].items() if topic not in left_out]
        return math.fsum(counted) / len(counted) if counted else None


def evaluate(
    run: Mapping[str, Sequence[str]],
    qrels: Mapping[str, Mapping[str, float]],
    measures: Iterable[Measure],
    *,
    g_max: float | None = None,
    ideal: Mapping[str, Sequence[float]] | None = None,
) -> Evaluation:
    """Score a run against relevance grades.

    Args:
        run: topic → document ids in rank order.
        qrels: topic → document id → grade.
        measures: what to compute.
        g_max: the highest grade of the scale; by default the highest in the whole qrels (and in
            *ideal*). It is a grade: measures turn it into a gain themselves.
        ideal: topic → all grades of the ideal list, for topics whose ideal list is not to be taken
            from the qrels (R2C2: from the run's own passages). Scores stay within 0 to 1 only if
            it holds the relevant grades that the run shows.

    Raises:
        ValueError: the qrels are empty, *ideal* has a topic that the qrels lack, a document is
            ranked twice in a topic, or a grade is not finite or above *g_max*.
    """
    if not qrels:
        raise ValueError("the qrels have no topics: there is nothing to score against")
    ideals: dict[str, Sequence[float]] = {
        topic: sorted(judged.values(), reverse=True) for topic, judged in qrels.items()
    }
    without_relevant = tuple(
        topic for topic, best in ideals.items() if not best or best[0] < RELEVANT
    )
    for topic, grades in (ideal or {}).items():
        if topic not in ideals:
            raise ValueError(f"topic {topic}: an ideal list is given, but the qrels lack the topic")
        ideals[topic] = grades
    if g_max is None:
        judged_grades = (grade for judged in qrels.values() for grade in judged.values())
        given_grades = (grade for grades in (ideal or {}).values() for grade in grades)
        g_max = max(chain([0.0], judged_grades, given_grades))

    scores: dict[Measure, dict[str, float]] = {measure: {} for measure in measures}
    for topic, judged in qrels.items():
        documents = run.get(topic, ())
        if len(set(documents)) != len(documents):
            raise ValueError(f"topic {topic}: document {_first_repeat(documents)} is ranked twice")
        shown = [judged.get(document) for document in documents]
        for measure, by_topic in scores.items():
            try:
                by_topic[topic] = measure.score(shown, ideals[topic], g_max) if shown else 0.0
            except ValueError as error:
                raise ValueError(f"topic {topic}: {error}") from None
    return Evaluation(
        scores=scores,
        g_max=float(g_max),
        without_relevant=without_relevant,
        missing=tuple(topic for topic in qrels if not run.get(topic)),
        unjudged=tuple(topic for topic in run if topic not in qrels),
    )


def _first_repeat(documents: Sequence[str]) -> str:
    seen: set[str] = set()
    for document in documents:
        if document in seen:
            return document
        seen.add(document)
    raise AssertionError("no document is repeated")
