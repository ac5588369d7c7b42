"""Score runs that are in memory: dicts, DataFrames, or tuples of ir_measures."""

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
from assay.measures.inputs import Ranking, Run, odd_number, to_grades, to_run, to_subtopics
from assay.measures.judgements import Judgements
from assay.measures.names import parse_measure
from assay.measures.order import Ties, rank_order, sort_keys

_NOTHING: Mapping[str, float] = {}
_UNJUDGED = -1
_REUSED = 16 << 20
"""Bytes that glibc keeps for the next arrays once as many were freed together: it would give them
back to the system, and ask anew, zeros and all."""

Ideal = Literal["qrels", "run"]
"""Where the ideal list of a topic, and R, come from: all that was judged, or what the run shows."""

IDEALS: tuple[Ideal, ...] = get_args(Ideal)


@dataclass(frozen=True)
class RunScores:
    """The scores of one run, with the topics in the qrels' order.

    ``topics``: all topics of the qrels. ``values``: for every measure one score a topic; 0 if
    the run is silent. ``answered``: for every topic whether the run has documents for it.
    ``shown``: for every topic how many documents the run has for it. ``found``: for every topic how
    many of them are relevant (grade 1 or more). ``unjudged``: topics of the run that the qrels do
    not have; they are not scored.
    """

    topics: tuple[str, ...] = field(repr=False)
    values: Mapping[Measure, Floats] = field(repr=False)
    answered: npt.NDArray[np.bool_] = field(repr=False)
    shown: Integers = field(repr=False)
    found: Integers = field(repr=False)
    unjudged: tuple[str, ...]

    @property
    def missing(self) -> tuple[str, ...]:
        """Topics of the qrels for which the run has no documents."""
        return tuple(self.topics[place] for place in np.flatnonzero(~self.answered))

    def mean(
        self, measure: Measure, *, topics: Literal["qrels", "answered"] = "qrels"
    ) -> float | None:
        """The mean over all topics of the qrels, or over those among them that the run has
        documents for; ``None`` if there are none. Raises KeyError for a measure that was not
        scored."""
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
    """Score runs that are in memory.

    ``qrels``: topic → document id → grade, a DataFrame, ir_measures' ``Qrel`` tuples, or
    :class:`Judgements`, which spares the preparation when called again. ``runs``: name → run: topic
    → document id → score, topic → document ids in rank order, a DataFrame, or ir_measures'
    ``ScoredDoc`` tuples. ``measures``: measures or their names. ``g_max``: the highest grade of the
    scale; by default the highest in the qrels. ``ties``: what decides between equal scores.
    ``ideal``: what the ideal lists are made of. ``subtopics``: topic → subtopic → document id →
    grade. Raises ValueError if a name is no measure, a table lacks a column, a
    document is ranked or judged twice, a score or grade is not a finite number, or a grade is above
    ``g_max``.
    """
    wanted = [parse_measure(one) if isinstance(one, str) else one for one in measures]
    judged = to_judgements(qrels, g_max=g_max, subtopics=subtopics).needed(wanted)
    found: dict[str, RunScores] = {}
    for name, given in runs.items():
        try:
            run = to_run(given)
            hits = run_hits(run, judged, ties=ties)
        except ValueError as error:
            raise ValueError(f"run {name}: {error}") from None
        unjudged = tuple(topic for topic in run if topic not in judged.index)
        scores = run_scores(hits, judged, wanted, [unjudged], ideal=ideal)
        found.update(zip([name], scores, strict=True))
    return found


def run_scores(
    hits: Hits,
    judged: Judgements,
    measures: Iterable[Measure],
    unjudged: Sequence[tuple[str, ...]],
    *,
    ideal: Ideal = "qrels",
) -> list[RunScores]:
    """Score the hits of several runs, one after the other; ``unjudged`` has an entry for each."""
    measures = tuple(measures)
    if ideal == "run":
        total = len(judged.topics)
        parts = [hits.part(n * total, (n + 1) * total) for n in range(len(unjudged))]
        return [
            one
            for part, extra in zip(parts, unjudged, strict=True)
            for one in run_scores(part, judged.with_ideals(part), measures, [extra])
        ]
    scores = score_hits(hits, judged, measures)
    shown = hits.shown.reshape(-1, len(judged.topics))
    answered = shown > 0
    found = hits.relevant(RELEVANT).count().reshape(shown.shape)
    return [
        RunScores(
            topics=judged.topics,
            values={measure: table[number] for measure, table in scores.items()},
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
    """Qrels of any kind that :func:`evaluate_runs` takes, ready to score against. Raises
    ValueError as :func:`evaluate_runs` and :class:`Judgements` say."""
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
    """The judged documents of a run with their ranks.

    A list of document ids is taken in its own order, a mapping by its scores. Raises ValueError
    if a document is ranked twice in a topic, or a score is not a finite number.
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
    found = chain.from_iterable(
        map(places.get, documents, repeat(_UNJUDGED))
        for places, documents in zip(judged.places, rankings, strict=True)
    )
    rows = np.fromiter(found, np.int64, len(lists))

    def descending(some: Integers) -> Integers:
        documents = list(chain.from_iterable(rankings))
        ids = [documents[row] for row in some.tolist()]
        return np.array(sorted(range(len(ids)), key=ids.__getitem__, reverse=True))

    order = rank_order(lists, scores, descending, ties)
    if order is not None:
        rows = rows[order]  # lists stay as they are: they rise already
    places = np.flatnonzero(rows >= 0)
    mine, rows = lists[places], rows[places]
    ranks = places - (np.cumsum(shown) - shown)[mine] + 1
    return Hits(mine, ranks, rows, judged.flat[rows], shown)


def _untied_hits(
    rankings: Sequence[Any],
    lists: Integers,
    scores: Floats,
    shown: Integers,
    judged: Judgements,
) -> Hits | None:
    """The hits of mappings without equal scores in a topic; ``None`` if there are some.

    Then a rank follows from the score alone, and only judged documents have to be looked up: the
    ids of all others are never touched.
    """
    if not all(isinstance(some, Mapping) for some in rankings if some):
        return None
    keys = sort_keys(lists, scores)
    if not (keys[1:] > keys[:-1]).all():
        keys = np.sort(keys)
        if (keys[1:] == keys[:-1]).any():
            return None
    found = np.fromiter(
        chain.from_iterable(
            map(documents.get if documents else _NOTHING.get, grades, repeat(math.nan))
            for grades, documents in zip(judged.grades.values(), rankings, strict=True)
        ),
        np.float64,
        len(judged.flat),
    )
    rows = np.flatnonzero(~np.isnan(found))
    wanted = sort_keys(judged.lists[rows], found[rows])
    at = np.full(len(keys), _UNJUDGED)
    at[np.searchsorted(keys, wanted)] = rows  # no two share a place, so this sorts them
    places = np.flatnonzero(at >= 0)
    rows = at[places]
    mine = judged.lists[rows]
    first = np.cumsum(shown) - shown
    return Hits(mine, places - first[mine] + 1, rows, judged.flat[rows], shown)


def _scores(rankings: Sequence[Ranking], topics: Sequence[str]) -> Floats:
    """All scores, one list after the other; ranked lists get falling ones."""
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
        # Unlike numpy, an array takes no text for a number.
        scores = np.frombuffer(array("d", list(chain.from_iterable(parts))))
        fine = bool(np.isfinite(scores).all())
    except (TypeError, ValueError, OverflowError):
        fine = False
    if not fine:
        raise ValueError(_odd_score(rankings, topics))
    return scores


def _odd_score(rankings: Sequence[Ranking], topics: Sequence[str]) -> str:
    for topic, documents in zip(topics, rankings, strict=True):
        if isinstance(documents, Mapping):
            odd = odd_number(topic, documents, "score")
            if odd is not None:
                return odd
    return "a score is not a finite number"
