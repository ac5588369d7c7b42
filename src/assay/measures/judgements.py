"""What ranked lists are scored against: ideal lists, and the qrels that they come from."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from assay.measures.arrays import Bools, Floats, Integers
from assay.measures.grades import RELEVANT, Gain
from assay.measures.hits import Hits

if TYPE_CHECKING:
    from assay.measures.base import Measure


class Ideals:
    """The ideal list of each topic, and the highest grade of the scale. ``best``: all grades of
    each topic's ideal list, the highest first. A measure cuts it like the list that it scores.
    ``g_max``: a grade, not a gain."""

    def __init__(self, best: Hits, g_max: float) -> None:
        self.best = best
        self.g_max = g_max
        self._highest: dict[Measure, Floats] = {}
        self._relevant: dict[float, Integers] = {}

    def relevant(self, rel: float = RELEVANT, most: int | None = None) -> Integers:
        """For each topic R, the number of grades in its ideal list of at least ``rel``; no
        more than ``most``."""
        if rel not in self._relevant:
            self._relevant[rel] = self.best.relevant(rel).count()
        return self._relevant[rel] if most is None else np.minimum(self._relevant[rel], most)

    def highest_gain(self, gain: Gain) -> float:
        """The gain of the highest grade."""
        none = np.zeros(1, dtype=np.int64)
        return float(Hits(none, none, none, np.array([self.g_max]), none).gains(gain)[0])

    def of_topics(self, values: Integers, hits: Hits) -> Integers:
        """For each hit the value of its topic: lists come run after run."""
        return values[hits.lists % len(self.best.shown)]

    def share(self, values: Floats | Integers, highest: Floats | Integers) -> Floats:
        """Divide each list's value by what is best for its topic; 0 where nothing can be had."""
        table = values.reshape(-1, len(highest)).astype(np.float64, copy=False)
        return np.divide(table, highest, out=np.zeros_like(table), where=highest > 0)

    def normalised(self, measure: Measure, hits: Hits, value: Callable[[Hits], Floats]) -> Floats:
        """Divide the value of each list by that of the ideal list, cut like the list."""
        return self.share(value(hits), self.highest(measure, value))

    def highest(self, measure: Measure, value: Callable[[Hits], Floats]) -> Floats:
        """The value of each topic's ideal list, computed once for all runs."""
        if measure not in self._highest:
            self._highest[measure] = value(self.best.cut(measure.k))
        return self._highest[measure]

    def covers(self, hits: Hits, rel: float) -> Bools:
        """Which subtopics (columns) each hit covers with a grade of at least ``rel``. Where
        nobody judged by subtopic all relevant documents cover the same one."""
        return (hits.grades >= rel)[:, None]

    def pools(self, rel: float) -> Iterator[Bools]:
        """The same for each topic's pool: what an ideal list can be made of, in the order in
        which it takes one of those that are worth the same."""
        return (np.ones((count, 1), dtype=np.bool_) for count in self.relevant(rel).tolist())

    def globally(self, hits: Hits, gain: Gain) -> Hits:
        """The hits with their global gains as grades: those for all subtopics, added up."""
        return replace(hits, grades=hits.gains(gain))

    def globally_best(self, gain: Gain) -> Hits:
        """Each topic's ideal list by global gains, likewise."""
        return self.globally(self.best, gain)

    def where(self, number: int) -> str:
        """How a message about a list begins."""
        return ""


class Judgements(Ideals):
    """Qrels, ready to score any number of runs against.

    ``flat`` holds all grades topic by topic, ``lists`` the number of each one's topic.

    ``grades``: topic → document id → grade. ``g_max``: the highest grade of the scale; by default
    the highest in *grades* and *ideals*. ``ideals``: topic → all grades of its ideal list, for
    topics whose ideal list is not to be taken from *grades*: the scores of normalised measures, and
    R, then rest on these. ``subtopics``: topic → subtopic → document id → grade, for measures that
    look at these. ``own``: a run's hits, where *ideals* are made of what it shows. Raises
    ValueError if there is no topic, *ideals* or *subtopics* has a topic that *grades* lacks, or
    a grade or *g_max* is not a finite number, or a grade is above *g_max*.
    """

    def __init__(
        self,
        grades: Mapping[str, Mapping[str, float]],
        g_max: float | None = None,
        ideals: Mapping[str, Sequence[float]] | None = None,
        subtopics: Mapping[str, Mapping[str, Mapping[str, float]]] | None = None,
        own: Hits | None = None,
    ) -> None:
        self.grades, self.ideals, self.subtopics = grades, ideals or {}, subtopics or {}
        if not grades:
            raise ValueError("the qrels have no topics: there is nothing to score against")
        for topic in self.ideals.keys() - grades.keys():
            raise ValueError(f"topic {topic}: an ideal list is given, but the qrels lack the topic")
        for topic in self.subtopics.keys() - grades.keys():
            raise ValueError(f"topic {topic} has subtopics, but the qrels lack the topic")
        self.topics = tuple(grades)
        self.index = {topic: number for number, topic in enumerate(self.topics)}
        self.lists, self.flat = flattened([judged.values() for judged in grades.values()])
        given = [self.ideals.get(topic, grades[topic].values()) for topic in self.topics]
        best = Hits.ideal(*flattened(given), len(self.topics))
        highest = max(0.0, float(self.flat.max(initial=0.0)), float(best.grades.max(initial=0.0)))
        super().__init__(best, highest if g_max is None else float(g_max))
        if self.g_max < highest:
            raise ValueError(self._above())
        if not all(map(math.isfinite, (self.g_max, self.flat.sum(), best.grades.sum()))):
            raise ValueError("a grade of the qrels, of an ideal list or g_max is not finite")
        self._own = own

    def _above(self) -> str:
        if self.g_max < 0:
            return f"the highest grade must not be negative, got g_max = {self.g_max:g}"
        for topic, documents in self.grades.items():
            for document, grade in documents.items():
                if grade > self.g_max:
                    return (
                        f"topic {topic}: {document} has grade {grade:g}, above g_max ="
                        f" {self.g_max:g}"
                    )
        return f"a grade of an ideal list is above g_max = {self.g_max:g}"

    @cached_property
    def without_relevant(self) -> tuple[str, ...]:
        """The topics without a grade of 1 or more, where no run can score."""
        some = np.bincount(self.lists, weights=self.flat >= RELEVANT, minlength=len(self.topics))
        return tuple(self.topics[place] for place in np.flatnonzero(some == 0))

    @cached_property
    def places(self) -> list[dict[str, int]]:
        """For each topic: document id → the number of its judgement, a place in ``flat``."""
        first = np.searchsorted(self.lists, np.arange(len(self.topics))).tolist()
        return [
            dict(zip(documents, range(start, start + len(documents)), strict=True))
            for start, documents in zip(first, self.grades.values(), strict=True)
        ]

    def where(self, number: int) -> str:
        return f"topic {self.topics[number % len(self.topics)]}: "

    def over(self, topics: Iterable[str]) -> Judgements:
        """The judgements over exactly these topics, in this order: one that the qrels lack
        has no judged document. The scale stays."""
        wanted = dict.fromkeys(topics)
        return Judgements(
            {topic: self.grades.get(topic, {}) for topic in wanted},
            self.g_max,
            {topic: ideal for topic, ideal in self.ideals.items() if topic in wanted},
            {topic: found for topic, found in self.subtopics.items() if topic in wanted},
        )

    def needed(self, measures: Iterable[Measure]) -> Judgements:
        """The same qrels with no more judgements than ``measures`` make use of.

        Most documents judged are not relevant: without them there is far less to look up.
        """
        return self._lean if all(measure.only_gains for measure in measures) else self

    @cached_property
    def _lean(self) -> Judgements:
        def covering(topic: str) -> set[str]:
            every = self.subtopics.get(topic, {}).values()
            return {document for one in every for document, grade in one.items() if grade > 0}

        relevant = {
            topic: {
                document: grade
                for document, grade in documents.items()
                if grade > 0 or document in some
            }
            for topic, documents in self.grades.items()
            for some in [covering(topic)]
        }
        return Judgements(relevant, self.g_max, self.ideals, self.subtopics)

    def with_ideals(self, hits: Hits) -> Judgements:
        """The same qrels with each ideal list made of what one run's list shows."""
        grades = np.split(hits.grades, hits.starts[1:-1])
        shown = {topic: some.tolist() for topic, some in zip(self.topics, grades, strict=True)}
        return Judgements(self.grades, self.g_max, shown, self.subtopics, hits)

    def covers(self, hits: Hits, rel: float) -> Bools:
        return self._covering(rel)[hits.rows] if self.subtopics else super().covers(hits, rel)

    def pools(self, rel: float) -> Iterator[Bools]:
        if not self.subtopics:
            yield from super().pools(rel)
            return
        covering = self._covering(rel)
        own = None if self._own is None else set(self._own.rows.tolist())
        for places in self.places:
            rows = [places[document] for document in sorted(places, reverse=True)]
            yield covering[[row for row in rows if own is None or row in own]]

    def globally(self, hits: Hits, gain: Gain) -> Hits:
        if not self.subtopics:
            return super().globally(hits, gain)
        return replace(hits, grades=self._global_gains(gain)[hits.rows])

    def globally_best(self, gain: Gain) -> Hits:
        if not self.subtopics:
            return super().globally_best(gain)
        rows = np.arange(len(self.flat)) if self._own is None else np.unique(self._own.rows)
        return Hits.ideal(self.lists[rows], self._global_gains(gain)[rows], len(self.topics))

    def _global_gains(self, gain: Gain) -> Floats:
        """For each judgement the sum of its document's gains for all subtopics."""
        by_subtopic, _ = self._by_subtopic
        gains = by_subtopic.gains(gain)
        return np.bincount(by_subtopic.rows, gains, len(self.flat)).astype(np.float64, copy=False)

    def _covering(self, rel: float) -> Bools:
        """Which of its topic's subtopics (columns) the document of each judgement covers."""
        by_subtopic, columns = self._by_subtopic
        covering = by_subtopic.grades >= rel
        found = np.zeros((len(self.flat), max(map(len, self.subtopics.values()))), dtype=np.bool_)
        found[by_subtopic.rows[covering], columns[covering]] = True
        return found

    @cached_property
    def _by_subtopic(self) -> tuple[Hits, Integers]:
        """The grades for subtopics, a list a topic; and the number of each one's subtopic."""
        found = [
            (number, places[document], column, grade)
            for number, (topic, places) in enumerate(zip(self.topics, self.places, strict=True))
            for column, documents in enumerate(self.subtopics.get(topic, {}).values())
            for document, grade in documents.items()
            if document in places
        ]
        table = np.array(found, dtype=np.float64).reshape(-1, 4)
        lists, rows, columns = table[:, :3].astype(np.int64).T
        return Hits(lists, rows, rows, table[:, 3], self.best.shown), columns


def flattened(grades: Sequence[Collection[float]]) -> tuple[Integers, Floats]:
    """For each grade the number of its list, and all grades one after the other. Raises
    ValueError if a grade is too large for a float."""
    sizes = np.fromiter(map(len, grades), np.int64, len(grades))
    try:
        flat = np.fromiter(chain.from_iterable(grades), np.float64, int(sizes.sum()))
    except OverflowError:
        raise ValueError("a grade is too large for a float") from None
    return np.repeat(np.arange(len(grades)), sizes), flat
