"""Ideal lists and qrels: what ranked lists are scored against."""

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
    """The ideal list of each topic, and the highest grade of the scale.

    ``best``: the grades of each topic's ideal list, highest first; a measure cuts it like the list
    that it scores. ``g_max``: the highest grade (a grade, not a gain).
    """

    def __init__(self, best: Hits, g_max: float) -> None:
        self.best = best
        self.g_max = g_max
        self._highest: dict[Measure, Floats] = {}
        self._relevant: dict[float, Integers] = {}

    def relevant(self, rel: float = RELEVANT, most: int | None = None) -> Integers:
        """R for each topic: the number of grades ≥ ``rel`` in its ideal list, at most ``most``."""
        if rel not in self._relevant:
            self._relevant[rel] = self.best.relevant(rel).count()
        return self._relevant[rel] if most is None else np.minimum(self._relevant[rel], most)

    def highest_gain(self, gain: Gain) -> float:
        """The gain of the highest grade."""
        none = np.zeros(1, dtype=np.int64)
        return float(Hits(none, none, none, np.array([self.g_max]), none).gains(gain)[0])

    def of_topics(self, values: Integers, hits: Hits) -> Integers:
        """The value of each hit's topic. (The lists of one run follow those of another.)"""
        return values[hits.lists % len(self.best.shown)]

    def share(self, values: Floats | Integers, highest: Floats | Integers) -> Floats:
        """Divide each list's value by the highest possible for its topic; 0 if that is 0."""
        table = values.reshape(-1, len(highest)).astype(np.float64, copy=False)
        return np.divide(table, highest, out=np.zeros_like(table), where=highest > 0)

    def normalised(self, measure: Measure, hits: Hits, value: Callable[[Hits], Floats]) -> Floats:
        """Divide the value of each list by that of the ideal list with the same cutoff."""
        return self.share(value(hits), self.highest(measure, value))

    def highest(self, measure: Measure, value: Callable[[Hits], Floats]) -> Floats:
        """The value of each topic's ideal list, computed once for all runs."""
        if measure not in self._highest:
            self._highest[measure] = value(self.best.cut(measure.k))
        return self._highest[measure]

    def covered_subtopics(self, hits: Hits, rel: float) -> Bools:
        """Whether each hit (row) covers each subtopic (column) with a grade of at least ``rel``.
        Without judgements by subtopic, all relevant documents cover the same single one."""
        return (hits.grades >= rel)[:, None]

    def pools(self, rel: float) -> Iterator[Bools]:
        """For each topic, whether each document of its pool (row) covers each subtopic (column).
        An ideal list is made of these; of equally good documents it takes the first."""
        return (np.ones((count, 1), dtype=np.bool_) for count in self.relevant(rel).tolist())

    def with_global_gains(self, hits: Hits, gain: Gain) -> Hits:
        """The hits with their global gains (sums over all subtopics) as grades."""
        return replace(hits, grades=hits.gains(gain))

    def ideal_with_global_gains(self, gain: Gain) -> Hits:
        """The ideal list of each topic by global gains, with these as grades."""
        return self.with_global_gains(self.best, gain)

    def message_prefix(self, list_number: int) -> str:
        """The beginning of a message about a list."""
        return ""


class Judgements(Ideals):
    """Qrels, ready to score any number of runs against.

    ``grades``: topic → document id → grade. ``g_max``: the highest grade of the scale; by default
    the highest in *grades* and *ideals*. ``ideals``: topic → all grades of its ideal list, for
    topics whose ideal list (and R) does not come from *grades*. ``subtopics``: topic → subtopic →
    document id → grade, for measures that use them. ``own_hits``: the hits of the run whose
    documents *ideals* are made of, if so. The attribute ``flat`` has all grades, topic by topic,
    and ``lists`` the number of each one's topic. Raises ValueError if there is no topic, *ideals*
    or *subtopics* has a topic that *grades* lacks, a grade or *g_max* is not a finite number, or a
    grade is above *g_max*.
    """

    def __init__(
        self,
        grades: Mapping[str, Mapping[str, float]],
        g_max: float | None = None,
        ideals: Mapping[str, Sequence[float]] | None = None,
        subtopics: Mapping[str, Mapping[str, Mapping[str, float]]] | None = None,
        own_hits: Hits | None = None,
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
        self.lists, self.flat = flatten([judged.values() for judged in grades.values()])
        ideal_grades = [self.ideals.get(topic, grades[topic].values()) for topic in self.topics]
        best = Hits.ideal(*flatten(ideal_grades), len(self.topics))
        highest = max(0.0, float(self.flat.max(initial=0.0)), float(best.grades.max(initial=0.0)))
        super().__init__(best, highest if g_max is None else float(g_max))
        if self.g_max < highest:
            raise ValueError(self._g_max_message())
        if not all(map(math.isfinite, (self.g_max, self.flat.sum(), best.grades.sum()))):
            raise ValueError("a grade of the qrels, of an ideal list or g_max is not finite")
        self._own_hits = own_hits

    def _g_max_message(self) -> str:
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
        """The topics without a grade of 1 or more, for which every run scores 0."""
        relevant = self.flat >= RELEVANT
        counts = np.bincount(self.lists, weights=relevant, minlength=len(self.topics))
        return tuple(self.topics[number] for number in np.flatnonzero(counts == 0))

    @cached_property
    def rows_by_document(self) -> list[dict[str, int]]:
        """For each topic: document id → the index of its judgement in ``flat``."""
        first = np.searchsorted(self.lists, np.arange(len(self.topics))).tolist()
        return [
            dict(zip(documents, range(start, start + len(documents)), strict=True))
            for start, documents in zip(first, self.grades.values(), strict=True)
        ]

    def message_prefix(self, list_number: int) -> str:
        return f"topic {self.topics[list_number % len(self.topics)]}: "

    def restricted_to(self, topics: Iterable[str]) -> Judgements:
        """The judgements of exactly these topics, in this order, on the same scale. A topic that
        the qrels lack has no judged document."""
        wanted = dict.fromkeys(topics)
        return Judgements(
            {topic: self.grades.get(topic, {}) for topic in wanted},
            self.g_max,
            {topic: ideal for topic, ideal in self.ideals.items() if topic in wanted},
            {topic: grades for topic, grades in self.subtopics.items() if topic in wanted},
        )

    def reduced_for(self, measures: Iterable[Measure]) -> Judgements:
        """The same qrels without the judgements that none of ``measures`` uses.

        Most judged documents are not relevant, so there is then far less to look up.
        """
        return self._without_zero_gains if all(one.only_gains for one in measures) else self

    @cached_property
    def _without_zero_gains(self) -> Judgements:
        def covers_subtopic(topic: str) -> set[str]:
            by_subtopic = self.subtopics.get(topic, {}).values()
            return {name for grades in by_subtopic for name, grade in grades.items() if grade > 0}

        relevant = {
            topic: {
                document: grade
                for document, grade in documents.items()
                if grade > 0 or document in covering
            }
            for topic, documents in self.grades.items()
            for covering in [covers_subtopic(topic)]
        }
        return Judgements(relevant, self.g_max, self.ideals, self.subtopics)

    def with_ideals(self, hits: Hits) -> Judgements:
        """The same qrels, but with ideal lists made of the documents that one run shows."""
        by_topic = np.split(hits.grades, hits.starts[1:-1])
        shown = {topic: own.tolist() for topic, own in zip(self.topics, by_topic, strict=True)}
        return Judgements(self.grades, self.g_max, shown, self.subtopics, hits)

    def covered_subtopics(self, hits: Hits, rel: float) -> Bools:
        if not self.subtopics:
            return super().covered_subtopics(hits, rel)
        return self._covering(rel)[hits.rows]

    def pools(self, rel: float) -> Iterator[Bools]:
        if not self.subtopics:
            yield from super().pools(rel)
            return
        covering = self._covering(rel)
        own = None if self._own_hits is None else set(self._own_hits.rows.tolist())
        for by_document in self.rows_by_document:
            rows = [by_document[document] for document in sorted(by_document, reverse=True)]
            yield covering[[row for row in rows if own is None or row in own]]

    def with_global_gains(self, hits: Hits, gain: Gain) -> Hits:
        if not self.subtopics:
            return super().with_global_gains(hits, gain)
        return replace(hits, grades=self._global_gains(gain)[hits.rows])

    def ideal_with_global_gains(self, gain: Gain) -> Hits:
        if not self.subtopics:
            return super().ideal_with_global_gains(gain)
        own = self._own_hits
        rows = np.arange(len(self.flat)) if own is None else np.unique(own.rows)
        return Hits.ideal(self.lists[rows], self._global_gains(gain)[rows], len(self.topics))

    def _global_gains(self, gain: Gain) -> Floats:
        """For each judgement, the sum of its document's gains over all subtopics."""
        by_subtopic, _ = self._by_subtopic
        gains = by_subtopic.gains(gain)
        return np.bincount(by_subtopic.rows, gains, len(self.flat)).astype(np.float64, copy=False)

    def _covering(self, rel: float) -> Bools:
        """Whether each judgement's document (row) covers each subtopic of its topic (column)."""
        by_subtopic, columns = self._by_subtopic
        relevant = by_subtopic.grades >= rel
        most_subtopics = max(map(len, self.subtopics.values()))
        covering = np.zeros((len(self.flat), most_subtopics), dtype=np.bool_)
        covering[by_subtopic.rows[relevant], columns[relevant]] = True
        return covering

    @cached_property
    def _by_subtopic(self) -> tuple[Hits, Integers]:
        """The grades by subtopic, one list per topic, and the subtopic number of each grade."""
        entries = [
            (number, rows[document], column, grade)
            for number, (topic, rows) in enumerate(
                zip(self.topics, self.rows_by_document, strict=True)
            )
            for column, documents in enumerate(self.subtopics.get(topic, {}).values())
            for document, grade in documents.items()
            if document in rows
        ]
        table = np.array(entries, dtype=np.float64).reshape(-1, 4)
        lists, rows, columns = table[:, :3].astype(np.int64).T
        return Hits(lists, rows, rows, table[:, 3], self.best.shown), columns


def flatten(grades: Sequence[Collection[float]]) -> tuple[Integers, Floats]:
    """Concatenate lists of grades. Returns the list number of each grade, and the grades. Raises
    ValueError if a grade is too large for a float."""
    sizes = np.fromiter(map(len, grades), np.int64, len(grades))
    try:
        flat = np.fromiter(chain.from_iterable(grades), np.float64, int(sizes.sum()))
    except OverflowError:
        raise ValueError("a grade is too large for a float") from None
    return np.repeat(np.arange(len(grades)), sizes), flat
