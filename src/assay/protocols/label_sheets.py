"""From assignments and support labels to values by run, measure and topic. Used by the protocol
``trec-rag``, and by ``assay nuggets`` and ``assay support``, which need no labeller."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from assay.measures.arrays import Bools, Floats, Integers
from assay.measures.nuggets import NUGGET_MEASURES, coverage_ends, nugget_ends
from assay.measures.ranges import OPEN, Range, RangeIfDefined
from assay.measures.support import SUPPORT_MEASURES, Citations, counted_citations, support_table
from assay.model.trec_rag import (
    ASSIGNMENT_VALUE,
    SUPPORT_VALUE,
    Assigned,
    AssignedAnswer,
    CitedSupport,
    Importance,
    RagAnswer,
    RagNugget,
    SubNarrative,
    Support,
    SupportAnswer,
    sub_narrative_key,
)
from assay.protocols.sheets import Sheet, Values, ranges

NO_LABEL = CitedSupport("", None)
_ASSIGNED = {worth: one for one, worth in ASSIGNMENT_VALUE.items()}
_SUPPORT = {worth: one for one, worth in SUPPORT_VALUE.items()}

NUGGET_NAMES = (*NUGGET_MEASURES, "coverage")


class NuggetTable(NamedTuple):
    """The assignments of a topic's nuggets to answers: ``values`` is answers (one of each run) ×
    nuggets, 1, 0.5 or 0, NaN if a label is missing."""

    topic: str
    nuggets: tuple[RagNugget, ...]
    runs: tuple[str, ...]
    values: Floats

    def row(self, run: str) -> list[float]:
        """The values of a run's answer."""
        found: list[float] = self.values[self.runs.index(run)].tolist()
        return found

    def assigned(self, run: str) -> Iterator[Assigned | None]:
        """The assignments of a run's answer."""
        return map(_ASSIGNED.get, self.row(run))


def nugget_tables(answers: Iterable[AssignedAnswer]) -> list[NuggetTable]:
    """One table for the answers of each topic that are judged by the same nuggets."""
    found: dict[tuple[str, tuple[RagNugget, ...]], dict[str, list[float]]] = {}
    for answer in answers:
        rows = found.setdefault((answer.topic, tuple(one.nugget for one in answer.nuggets)), {})
        rows[answer.run] = [
            np.nan if one.assigned is None else ASSIGNMENT_VALUE[one.assigned]
            for one in answer.nuggets
        ]
    return [
        NuggetTable(topic, nuggets, tuple(rows), np.array([*rows.values()], np.float64))
        for (topic, nuggets), rows in found.items()
    ]


def nugget_sheet(
    tables: Iterable[NuggetTable],
    sub_narratives: Mapping[str, Sequence[SubNarrative]] | None = None,
    *,
    runs: Iterable[str] = (),
    unknown: Collection[str] = (),
    unmapped: Collection[str] = (),
) -> Sheet:
    """Nugget recall and sub-narrative coverage of every answer.

    ``tables``: at least one for each topic, possibly without answers; at most one answer of each
    run and topic. ``sub_narratives``: those of each topic; without it, coverage is over those to
    which nuggets are mapped. ``runs``: the runs in order, possibly without answers; others follow.
    ``unknown``: topics whose nuggets are not known yet, so that every value is 0 to 1.
    ``unmapped``: topics where a mapping or the sub-narratives are missing, so that coverage is 0 to
    1.
    """
    by_topic: dict[str, list[NuggetTable]] = {}
    values: dict[str, Values] = {run: {name: {} for name in NUGGET_NAMES} for run in runs}
    for one in tables:
        by_topic.setdefault(one.topic, []).append(one)
    nothing: Values = {name: {} for name in NUGGET_NAMES}
    for topic, mine in by_topic.items():
        scored = [_nugget_values(one, (sub_narratives or {}).get(topic, ())) for one in mine]
        for one in mine:
            for run in one.runs:
                if run not in values:
                    values[run] = {name: {} for name in NUGGET_NAMES}
        for at, name in enumerate(NUGGET_NAMES):
            is_open = topic in unknown or (name == "coverage" and topic in unmapped)
            # The last value of each is that of an answer that states nothing.
            empty = next((one[at][-1] for one in scored if one[at][-1] is not None), None)
            unsure = is_open or (empty is not None and empty.value is None)
            # Silence is worth 0 if the measure turns out to be defined at all.
            nothing[name][topic] = RangeIfDefined(0.0, 0.0) if unsure else empty
            for one, found in zip(mine, scored, strict=True):
                # If other answers were judged by nuggets that count, this one's labels are missing.
                other = OPEN if is_open or empty is not None else None
                for run, value in zip(one.runs, found[at], strict=False):
                    values[run][name][topic] = other if is_open or value is None else value
    return Sheet(tuple(by_topic), NUGGET_NAMES, values, nothing)


def _nugget_values(table: NuggetTable, listed: Sequence[SubNarrative]) -> list[list[Range | None]]:
    """Measures × answers, followed by an answer that states no nugget."""
    worth = np.vstack([table.values, np.zeros(len(table.nuggets))])
    vital = [
        np.nan if one.importance is None else one.importance is Importance.VITAL
        for one in table.nuggets
    ]
    names = [one.sub_narrative for one in table.nuggets]
    groups = [name and sub_narrative_key(name) for name in names]
    aspects = [sub_narrative_key(one.text) for one in listed]
    floors, ceilings = coverage_ends(worth, groups, aspects)
    return ranges(*nugget_ends(worth, vital)) + ranges(floors[None], ceilings[None])


# -- support --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Cited:
    """The citations of answers with their labels, sentence by sentence and answer by answer.
    ``answers`` are runs and topics, ``sentences`` the number of sentences of each, ``cited`` the
    number of citations of each sentence, and ``docs`` what they cite. ``worth`` of each citation is
    1, 0.5 or 0, or NaN without a label: the track left it ``unjudged``, or the label is missing."""

    answers: Sequence[tuple[str, str]]
    sentences: Integers
    cited: Integers
    docs: Sequence[str]
    worth: Floats
    unjudged: Bools

    @property
    def missing(self) -> Bools:
        """Which citations lack a label."""
        found: Bools = np.isnan(self.worth) & ~self.unjudged
        return found

    @property
    def said(self) -> Iterator[tuple[Support | None, bool]]:
        """The label of each citation, and whether the track left it unjudged."""
        return zip(map(_SUPPORT.get, self.worth.tolist()), self.unjudged.tolist(), strict=True)

    @cached_property
    def first(self) -> Integers:
        """The index of each answer's first citation, and finally the number of citations."""
        of_sentences = np.cumsum([0, *self.cited.tolist()], dtype=np.int64)
        return of_sentences[np.cumsum([0, *self.sentences.tolist()], dtype=np.int64)]

    def counting(self, citations: Citations) -> Bools:
        """Which citations count."""
        return counted_citations(self.cited, citations)

    def lacking(self, citations: Citations) -> Integers:
        """The number of sentences of each answer that lack a label among the counting citations."""
        which = self.counting(citations) & self.missing
        of_sentence = np.repeat(np.arange(len(self.cited)), self.cited)[which]
        of_answer = np.repeat(np.arange(len(self.answers)), self.sentences)
        return np.bincount(of_answer[np.unique(of_sentence)], minlength=len(self.answers))


def citations_of(answers: Iterable[RagAnswer | SupportAnswer]) -> Cited:
    """The citations of answers, with labels if the answers were read with some."""
    every = list(answers)
    sentences = [sentence for answer in every for sentence in answer.sentences]
    cited = [one for sentence in sentences for one in sentence.citations]
    found = Cited(
        [(one.run, one.topic) for one in every],
        np.array([len(one.sentences) for one in every], np.int64),
        np.array([len(one.citations) for one in sentences], np.int64),
        [one if isinstance(one, str) else one.reference for one in cited],
        np.full(len(cited), np.nan),
        np.zeros(len(cited), np.bool_),
    )
    labels = ((at, one) for at, one in enumerate(cited) if not isinstance(one, str))
    for at, one in labels:
        found.worth[at] = SUPPORT_VALUE[one.support] if one.support else np.nan
        found.unjudged[at] = one.unjudged
    return found


SUPPORT_COUNTS = ("sentences", "uncited", "unjudged", "missing")
"""Counts of a run's sentences: all, those without a citation, those without a judged citation, and
those lacking a label, among the citations that count."""


def support_sheet(
    cited: Cited,
    citations: Citations = "first",
    topics: Iterable[str] | None = None,
    *,
    runs: Iterable[str] = (),
) -> tuple[Sheet, dict[str, dict[str, int]]]:
    """Weighted precision and recall of every answer, and by run the counts of
    :data:`SUPPORT_COUNTS`. A missing label is no support in the floor and full support in the
    ceiling; these ends are exact. ``topics`` are those of the answers unless given; ``runs`` may
    have no answers."""
    missing = cited.missing
    floor, ceiling = (
        support_table(
            np.where(missing, worst, cited.worth), cited.cited, cited.sentences,
            citations=citations,
        )
        for worst in (0.0, 1.0)
    )  # fmt: skip
    values: dict[str, Values] = {run: {name: {} for name in SUPPORT_MEASURES} for run in runs}
    counts = {run: dict.fromkeys(SUPPORT_COUNTS, 0) for run in values}
    ends = zip(*ranges(floor.values, ceiling.values), strict=True)
    counted = zip(*(one.tolist() for one in (*floor[1:], cited.lacking(citations))), strict=True)
    for (run, topic), scores, numbers in zip(cited.answers, ends, counted, strict=True):
        own_values = values.setdefault(run, {name: {} for name in SUPPORT_MEASURES})
        total = counts.setdefault(run, dict.fromkeys(SUPPORT_COUNTS, 0))
        for name, value in zip(SUPPORT_MEASURES, scores, strict=True):
            own_values[name][topic] = value
        for name, number in zip(SUPPORT_COUNTS, numbers, strict=True):
            total[name] += number
    order = tuple(dict.fromkeys(topics if topics is not None else (t for _, t in cited.answers)))
    nothing: Values = {name: dict.fromkeys(order, Range.certain(0.0)) for name in SUPPORT_MEASURES}
    return Sheet(order, SUPPORT_MEASURES, values, nothing), counts
