"""Scores of ranked runs, and the scoring of runs in memory (dicts, DataFrames, tuples)."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Floats, Integers
from assay.measures.base import Measure
from assay.measures.batch import score_hits
from assay.measures.grades import RELEVANT
from assay.measures.hits import Hits
from assay.measures.inputs import (
    Ranking,
    Run,
    invalid_number_message,
    to_grades,
    to_run,
    to_subtopics,
)
from assay.measures.judgements import Judgements
from assay.measures.names import parse_measure
from assay.measures.order import Ties, rank_order, sort_keys

_NOTHING: Mapping[str, float] = {}
_UNJUDGED = -1
_REUSED = 16 << 20
"""Bytes. Once an array of this size was freed, glibc keeps that much memory for the next arrays
instead of returning it to the system, which would hand it out again cleared with zeros."""

Ideal = Literal["qrels", "run"]
"""What a topic's ideal list, and R, are made of: all judged documents, or those the run shows."""

IDEALS: tuple[Ideal, ...] = get_args(Ideal)


@dataclass(frozen=True)
class RunScores:
    """The scores of one run, with topics in the order of the qrels.

    ``topics``: all topics of the qrels. ``values``: for each measure, one score per topic, 0 if the
    run has no documents for it. ``answered``: whether it has. ``shown``: how many documents it has
    for each topic. ``found``: how many of these are relevant (grade 1 or more). ``unjudged``:
    topics of the run that the qrels lack, which are not scored.
    """

    topics: tuple[str, ...] = field(repr=False)
    values: Mapping[Measure, Floats] = field(repr=False)
    answered: npt.NDArray[np.bool_] = field(repr=False)
    shown: Integers = field(repr=False)
    found: Integers = field(repr=False)
    unjudged: tuple[str, ...]

    @property
    def missing(self) -> tuple[str, ...]:
        """The topics of the qrels for which the run has no documents."""
        return tuple(self.topics[place] for place in np.flatnonzero(~self.answered))

    def mean(
        self, measure: Measure, *, topics: Literal["qrels", "answered"] = "qrels"
    ) -> float | None:
        """The mean over all topics of the qrels (``qrels``), or over those that the run has
        documents for (``answered``); ``None`` if there are none. Raises KeyError if the measure was
        not scored."""
        values = self.values[measure]
        counted = values[self.answered] if topics == "answered" else values
        return math.fsum(counted.tolist()) / len(counted) if len(counted) else None


def evaluate_runs(
    qrels: Any,
    runs: Mapping[str, Any],
    measures: Iterable[Measure | str],
    *,
    g_max: float | None = None,
    ties: Ties = "trec",
    ideal: Ideal = "qrels",
    subtopics: Mapping[str, Mapping[str, Mapping[str, float]]] | None = None,
) -> dict[str, RunScores]:
    """Score runs in memory.

    ``qrels``: topic → document id → grade, a DataFrame, ir_measures' ``Qrel`` tuples, or
    :class:`Judgements`, which need no further preparation. ``runs``: name → run, as
    :func:`assay.measures.library.evaluate` takes it; so are ``g_max``, ``ties``, ``ideal`` and
    ``subtopics``. ``measures``: measures or their names. Raises ValueError if a name is no measure,
    a table lacks a column, a document is ranked or judged twice, a score or grade is not a finite
    number, or a grade is above ``g_max``.
    """
    wanted = [parse_measure(one) if isinstance(one, str) else one for one in measures]
    judged = to_judgements(qrels, g_max=g_max, subtopics=subtopics).reduced_for(wanted)
    scores: dict[str, RunScores] = {}
    for name, data in runs.items():
        try:
            run = to_run(data)
            hits = run_hits(run, judged, ties=ties)
        except ValueError as error:
            raise ValueError(f"run {name}: {error}") from None
        unjudged = tuple(topic for topic in run if topic not in judged.index)
        (scores[name],) = run_scores(hits, judged, wanted, [unjudged], ideal=ideal)
    return scores


def run_scores(
    hits: Hits,
    judged: Judgements,
    measures: Iterable[Measure],
    unjudged: Sequence[tuple[str, ...]],
    *,
    ideal: Ideal = "qrels",
) -> list[RunScores]:
    """Score the hits of several runs, which follow one another. ``unjudged``: for each run, its
    topics that the qrels lack."""
    measures = tuple(measures)
    if ideal == "run":
        total = len(judged.topics)
        by_run = [hits.of_lists(n * total, (n + 1) * total) for n in range(len(unjudged))]
        return [
            scores
            for own, extra in zip(by_run, unjudged, strict=True)
            for scores in run_scores(own, judged.with_ideals(own), measures, [extra])
        ]
    by_measure = score_hits(hits, judged, measures)
    shown = hits.shown.reshape(-1, len(judged.topics))
    answered = shown > 0
    found = hits.relevant(RELEVANT).count().reshape(shown.shape)
    return [
        RunScores(
            topics=judged.topics,
            values={measure: table[number] for measure, table in by_measure.items()},
            answered=answered[number],
            shown=shown[number],
            found=found[number],
            unjudged=extra,
        )
        for number, extra in enumerate(unjudged)
    ]


def to_judgements(
    qrels: Any,
    *,
    g_max: float | None = None,
    subtopics: Mapping[str, Mapping[str, Mapping[str, float]]] | None = None,
) -> Judgements:
    """Convert qrels of any kind that :func:`evaluate_runs` takes. Raises ValueError as
    :func:`to_grades` and :class:`Judgements` do."""
    if isinstance(qrels, Judgements):
        if (g_max is None or g_max == qrels.g_max) and subtopics is None:
            return qrels
        top = qrels.g_max if g_max is None else float(g_max)
        return Judgements(qrels.grades, top, qrels.ideals, subtopics or qrels.subtopics)
    return Judgements(
        to_grades(qrels),
        g_max,
        subtopics=to_subtopics(subtopics or {}),
    )


def run_hits(
    run: Run,
    judged: Judgements,
    *,
    ties: Ties = "trec",
) -> Hits:
    """The judged documents of a run, with their ranks.

    A list of document ids is in rank order; a mapping is sorted by score. Raises ValueError if a
    document is ranked twice for a topic, or a score is not a finite number.
    """
    rankings = [run.get(topic, ()) for topic in judged.topics]
    shown = np.fromiter(map(len, rankings), np.int64, len(rankings))
    np.empty(_REUSED, np.uint8)
    lists = np.repeat(np.arange(len(shown)), shown)
    scores = _scores(rankings, judged.topics)
    if ties == "trec" and len(judged.flat) <= 2 * len(lists):
        hits = _untied_hits(rankings, lists, scores, shown, judged)
        if hits is not None:
            return hits
    judgement_rows = chain.from_iterable(
        map(by_document.get, documents, repeat(_UNJUDGED))
        for by_document, documents in zip(judged.rows_by_document, rankings, strict=True)
    )
    rows = np.fromiter(judgement_rows, np.int64, len(lists))

    def descending(positions: Integers) -> Integers:
        documents = list(chain.from_iterable(rankings))
        ids = [documents[position] for position in positions.tolist()]
        return np.array(sorted(range(len(ids)), key=ids.__getitem__, reverse=True))

    order = rank_order(lists, scores, descending, ties)
    if order is not None:
        rows = rows[order]  # the list numbers were ascending before, so they stay the same
    places = np.flatnonzero(rows >= 0)
    hit_lists, rows = lists[places], rows[places]
    ranks = places - (np.cumsum(shown) - shown)[hit_lists] + 1
    return Hits(hit_lists, ranks, rows, judged.flat[rows], shown)


def _untied_hits(
    rankings: Sequence[Any],
    lists: Integers,
    scores: Floats,
    shown: Integers,
    judged: Judgements,
) -> Hits | None:
    """The hits of mappings in which no two scores of a topic are equal; ``None`` otherwise.

    Ranks then follow from the scores alone, so only judged documents are looked up by id.
    """
    if not all(isinstance(documents, Mapping) for documents in rankings if documents):
        return None
    keys = sort_keys(lists, scores)
    if not (keys[1:] > keys[:-1]).all():
        keys = np.sort(keys)
        if (keys[1:] == keys[:-1]).any():
            return None
    judged_scores = np.fromiter(
        chain.from_iterable(
            map(documents.get if documents else _NOTHING.get, grades, repeat(math.nan))
            for grades, documents in zip(judged.grades.values(), rankings, strict=True)
        ),
        np.float64,
        len(judged.flat),
    )
    rows = np.flatnonzero(~np.isnan(judged_scores))
    hit_keys = sort_keys(judged.lists[rows], judged_scores[rows])
    row_at_place = np.full(len(keys), _UNJUDGED)
    row_at_place[np.searchsorted(keys, hit_keys)] = rows  # keys differ, so this sorts the rows
    places = np.flatnonzero(row_at_place >= 0)
    rows = row_at_place[places]
    hit_lists = judged.lists[rows]
    first = np.cumsum(shown) - shown
    return Hits(hit_lists, places - first[hit_lists] + 1, rows, judged.flat[rows], shown)


def _scores(rankings: Sequence[Ranking], topics: Sequence[str]) -> Floats:
    """All scores, list by list. Documents given in rank order get descending scores."""
    parts: list[Iterable[float]] = []
    for topic, documents in zip(topics, rankings, strict=True):
        if isinstance(documents, Mapping):
            parts.append(documents.values())
        elif len(set(documents)) < len(documents):
            twice = Counter(documents).most_common(1)[0][0]
            raise ValueError(f"topic {topic}: document {twice} is ranked twice")
        else:
            parts.append(range(0, -len(documents), -1))
    try:
        # Unlike numpy's, array.array does not convert text to numbers.
        scores = np.frombuffer(array("d", list(chain.from_iterable(parts))))
        valid = bool(np.isfinite(scores).all())
    except (TypeError, ValueError, OverflowError):
        valid = False
    if not valid:
        raise ValueError(_invalid_score_message(rankings, topics))
    return scores


def _invalid_score_message(rankings: Sequence[Ranking], topics: Sequence[str]) -> str:
    for topic, documents in zip(topics, rankings, strict=True):
        if isinstance(documents, Mapping):
            message = invalid_number_message(topic, documents, "score")
            if message is not None:
                return message
    return "a score is not a finite number"
