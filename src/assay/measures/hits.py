"""The judged documents of many ranked lists as flat arrays: the ground of vectorised scoring.

A measure of ``docs/measures.md`` depends only on the ranks and grades of the judged documents
shown, on how many documents are shown, and on the topic's ideal list; unjudged documents have no
gain. So ten million ranked documents shrink to the few that somebody judged before anything is
computed.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

import numpy as np
import numpy.typing as npt

from assay.measures.base import RELEVANT, Measure

__all__ = ["Floats", "Hits", "Integers", "Judgements", "keep_freed", "running"]

_LARGE = 16 << 20

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


def keep_freed(size: int = _LARGE) -> None:
    """Keep the memory of arrays of up to *size* bytes for the next ones.

    glibc gives back what it asked the system for by itself, and asks anew, zeros and all, for the
    next array. It stops doing so for whatever is as large as something that was freed once; nothing
    is ever written to that.
    """
    np.empty(min(size, _LARGE), dtype=np.uint8)


@dataclass(frozen=True)
class Hits:
    """The judged documents of ranked lists, list after list and best rank first.

    Attributes:
        lists: for each hit the number of its list, never falling.
        ranks: its rank in that list, from 1.
        rows: the number of its judgement, a place in :attr:`Judgements.flat`.
        grades: its grade, which may be negative.
        shown: for each *list* how many documents it shows, judged or not; 0 for a silent topic.
    """

    lists: Integers
    ranks: Integers
    rows: Integers
    grades: Floats
    shown: Integers

    @classmethod
    def collect(
        cls, lists: Integers, ranks: Integers, rows: Integers, judged: Judgements, shown: Integers
    ) -> Hits:
        """Return hits that may come in any order, sorted and with their grades."""
        if len(lists) > 1:
            falls = lists[1:] < lists[:-1]
            if (falls | ((lists[1:] == lists[:-1]) & (ranks[1:] < ranks[:-1]))).any():
                order = np.lexsort((ranks, lists))
                lists, ranks, rows = lists[order], ranks[order], rows[order]
        return cls(lists, ranks, rows, judged.flat[rows], shown)

    def only(self, wanted: npt.NDArray[np.bool_]) -> Hits:
        """Return the hits that a mask selects; the lists stay as they are."""
        places = np.flatnonzero(wanted)
        if len(places) == len(wanted):
            return self
        return Hits(
            self.lists[places], self.ranks[places], self.rows[places], self.grades[places],
            self.shown,
        )  # fmt: skip

    def part(self, first: int, last: int) -> Hits:
        """Return the hits of the lists from number *first* to before *last*, numbered from 0."""
        start, end = np.searchsorted(self.lists, [first, last])
        some = slice(int(start), int(end))
        return Hits(
            self.lists[some] - first, self.ranks[some], self.rows[some], self.grades[some],
            self.shown[first:last],
        )  # fmt: skip

    def cut(self, k: int | None) -> Hits:
        """Return the hits among the first *k* documents of each list."""
        return self if k is None else self.only(self.ranks <= k)

    def starts(self) -> Integers:
        """Return where each list's hits begin, and at the end how many there are."""
        return self._starts

    @cached_property
    def _starts(self) -> Integers:
        ends = np.cumsum(np.bincount(self.lists, minlength=len(self.shown)))
        return np.concatenate([[0], ends]).astype(np.int64, copy=False)

    def total(self, values: Floats) -> Floats:
        """Return for each list the sum of its hits' values, added in rank order."""
        sums = np.bincount(self.lists, weights=values, minlength=len(self.shown))
        return sums.astype(np.float64, copy=False)

    def count(self) -> Integers:
        """Return for each list how many hits it has."""
        return np.bincount(self.lists, minlength=len(self.shown)).astype(np.int64)


def running(ufunc: np.ufunc, values: Floats, starts: Integers) -> Floats:
    """Return running sums or products that begin anew in each list.

    Lists of similar length (up to a factor of 2) are accumulated side by side, each from its first
    value on, so that the result is that of a loop over each list: no sum of one list is ever taken
    from that of all, which would lose digits.
    """
    result = np.empty_like(values)
    lengths = np.diff(starts)
    order = np.argsort(lengths, kind="stable")
    order = order[int(np.searchsorted(lengths[order], 1)) :]
    while len(order):
        sizes = lengths[order]
        alike = int(np.searchsorted(sizes, 2 * sizes[0], side="right"))
        some, order = order[:alike], order[alike:]
        columns = np.arange(sizes[alike - 1])
        places = starts[some][:, None] + columns
        inside = columns < lengths[some][:, None]
        padded = values[np.minimum(places, len(values) - 1)]
        result[places[inside]] = ufunc.accumulate(padded, axis=1)[inside]
    return result


@dataclass(frozen=True)
class Judgements:
    """Qrels, ready to score any number of runs against.

    Args:
        grades: topic → document id → grade.
        g_max: the highest grade of the scale; by default the highest in *grades* and *ideals*.
        ideals: topic → all grades of its ideal list, for topics whose ideal list is not to be
            taken from *grades*: the scores of normalised measures, and R, then rest on these.
        subtopics: topic → subtopic → document id → grade, for :class:`AlphaNDCG`.
        shown: a run's hits, where *ideals* are made of what it shows.

    ``flat`` holds all grades topic by topic, ``lists`` the number of each one's topic, ``best`` the
    ideal lists.

    Raises:
        ValueError: there is no topic, *ideals* or *subtopics* has a topic that *grades* lacks, or
            a grade or *g_max* is not a finite number, or a grade is above *g_max*.
    """

    grades: Mapping[str, Mapping[str, float]] = field(repr=False)
    g_max: float = field(default=None)  # type: ignore[assignment]  # None only until __post_init__
    ideals: Mapping[str, Sequence[float]] = field(default_factory=dict, repr=False)
    subtopics: Mapping[str, Mapping[str, Mapping[str, float]]] = field(
        default_factory=dict, repr=False
    )
    shown: Hits | None = field(default=None, repr=False, compare=False)
    topics: tuple[str, ...] = field(init=False, repr=False)
    index: Mapping[str, int] = field(init=False, repr=False)
    lists: Integers = field(init=False, repr=False)
    flat: Floats = field(init=False, repr=False)
    best: Hits = field(init=False, repr=False)
    without_relevant: tuple[str, ...] = field(init=False)
    _known: dict[object, Floats] = field(init=False, repr=False, compare=False)
    _counts: dict[float, Integers] = field(init=False, repr=False, compare=False)
    _places: list[dict[str, int]] | None = field(init=False, repr=False, compare=False)
    _lean: Judgements | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.grades:
            raise ValueError("the qrels have no topics: there is nothing to score against")
        for topic in self.ideals:
            if topic not in self.grades:
                raise ValueError(
                    f"topic {topic}: an ideal list is given, but the qrels lack the topic"
                )
        for topic in self.subtopics:
            if topic not in self.grades:
                raise ValueError(f"topic {topic} has subtopics, but the qrels lack the topic")
        topics = tuple(self.grades)
        lists, flat = _flat([judged.values() for judged in self.grades.values()])
        given = [self.ideals.get(topic, self.grades[topic].values()) for topic in topics]
        best = _sorted_lists(*_flat(given), len(topics))
        highest = max(0.0, float(flat.max(initial=0.0)), float(best.grades.max(initial=0.0)))
        g_max = highest if self.g_max is None else float(self.g_max)
        if g_max < highest:
            raise ValueError(self._above(g_max))
        if not all(map(math.isfinite, (g_max, float(flat.sum()), float(best.grades.sum())))):
            raise ValueError("a grade of the qrels, of an ideal list or g_max is not finite")
        without = np.bincount(lists, weights=flat >= RELEVANT, minlength=len(topics)) == 0
        for name, value in (
            ("topics", topics),
            ("index", {topic: number for number, topic in enumerate(topics)}),
            ("g_max", g_max),
            ("lists", lists),
            ("flat", flat),
            ("best", best),
            ("without_relevant", tuple(topics[place] for place in np.flatnonzero(without))),
            ("_known", {}),
            ("_counts", {}),
            ("_places", None),
            ("_lean", None),
        ):
            object.__setattr__(self, name, value)

    def over(self, topics: Iterable[str]) -> Judgements:
        """Return the judgements over exactly these topics, in this order: one that the qrels lack
        has no judged document. The scale stays."""
        wanted = dict.fromkeys(topics)
        return Judgements(
            {topic: self.grades.get(topic, {}) for topic in wanted},
            self.g_max,
            {topic: ideal for topic, ideal in self.ideals.items() if topic in wanted},
            {topic: found for topic, found in self.subtopics.items() if topic in wanted},
        )

    def _above(self, g_max: float) -> str:
        if g_max < 0:
            return f"the highest grade must not be negative, got g_max = {g_max:g}"
        for topic, documents in self.grades.items():
            for document, grade in documents.items():
                if grade > g_max:
                    return f"topic {topic}: {document} has grade {grade:g}, above g_max = {g_max:g}"
        return f"a grade of an ideal list is above g_max = {g_max:g}"

    def ideal(self, topic: int) -> Floats:
        """Return the grades of a topic's ideal list, highest first."""
        first, last = np.searchsorted(self.best.lists, [topic, topic + 1])
        return self.best.grades[first:last]

    def relevant(self, rel: float = RELEVANT) -> Integers:
        """Return for each topic R, the number of grades in its ideal list of at least *rel*."""
        if rel not in self._counts:
            self._counts[rel] = self.best.only(self.best.grades >= rel).count()
        return self._counts[rel]

    def places(self) -> list[dict[str, int]]:
        """Return for each topic: document id → the number of its judgement, a place in ``flat``."""
        if self._places is None:
            count = 0
            found = []
            for documents in self.grades.values():
                found.append(
                    dict(zip(documents, range(count, count + len(documents)), strict=True))
                )
                count += len(documents)
            object.__setattr__(self, "_places", found)
            return found
        return self._places

    def covered(self, rel: float) -> list[tuple[str, ...]]:
        """Return for each judgement the subtopics that the document covers with a grade of *rel*.

        Where no subtopics are given, all relevant documents cover the same one.
        """
        if not self.subtopics:
            return [("",) if grade >= rel else () for grade in self.flat.tolist()]
        found: list[list[str]] = [[] for _ in self.flat]
        for places, topic in zip(self.places(), self.topics, strict=True):
            for subtopic, documents in self.subtopics.get(topic, {}).items():
                for document, grade in documents.items():
                    if grade >= rel and document in places:
                        found[places[document]].append(subtopic)
        return [tuple(one) for one in found]

    def needed(self, measures: Iterable[Measure]) -> Judgements:
        """Return the same qrels with no more judgements than *measures* make use of.

        Most documents judged are not relevant: without them there is far less to look up.
        """
        if not all(measure.only_gains for measure in measures):
            return self
        if self._lean is None:
            relevant = {
                topic: {
                    document: grade
                    for document, grade in documents.items()
                    if grade > 0 or document in covering
                }
                for topic, documents in self.grades.items()
                for covering in [self._covering(topic)]
            }
            lean = Judgements(relevant, self.g_max, self.ideals, self.subtopics)
            object.__setattr__(self, "_lean", lean)
            return lean
        return self._lean

    def _covering(self, topic: str) -> set[str]:
        """Return the documents that cover some subtopic."""
        return {
            document
            for documents in self.subtopics.get(topic, {}).values()
            for document, grade in documents.items()
            if grade > 0
        }

    def with_ideals(self, hits: Hits) -> Judgements:
        """Return the same qrels with each ideal list made of what one run's list shows."""
        ends = hits.starts().tolist()
        shown = {
            topic: hits.grades[ends[number] : ends[number + 1]].tolist()
            for number, topic in enumerate(self.topics)
        }
        return Judgements(self.grades, self.g_max, shown, self.subtopics, hits)

    def remembered(self, measure: object) -> Floats | None:
        """Return what was kept for *measure* by :meth:`remember`."""
        return self._known.get(measure)

    def remember(self, measure: object, values: Floats) -> Floats:
        """Keep the ideal lists' own scores, which are the same for every run."""
        self._known[measure] = values
        return values


def _flat(grades: Sequence[Collection[float]]) -> tuple[Integers, Floats]:
    """Return all grades one after the other, and for each the number of its list."""
    sizes = np.fromiter(map(len, grades), np.int64, len(grades))
    try:
        flat = np.fromiter(chain.from_iterable(grades), np.float64, int(sizes.sum()))
    except OverflowError:
        raise ValueError("a grade is too large for a float") from None
    return np.repeat(np.arange(len(grades)), sizes), flat


def _sorted_lists(lists: Integers, grades: Floats, count: int) -> Hits:
    """Return each list's grades as a ranked list, the highest first."""
    order = np.lexsort((-grades, lists))
    shown = np.bincount(lists, minlength=count).astype(np.int64)
    first = np.cumsum(shown) - shown
    return Hits(lists, np.arange(len(grades)) - first[lists] + 1, order, grades[order], shown)
