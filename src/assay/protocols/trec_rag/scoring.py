"""From assignments and support labels to scores by run, measure and topic.

Used by the protocol and by ``assay nuggets`` and ``assay support``, which need no labeller.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from assay.measures.nuggets import NUGGET_MEASURES, coverage, nugget_scores
from assay.measures.ranges import Range
from assay.measures.support import (
    SUPPORT_MEASURES,
    Citations,
    SupportScores,
    support_scores,
)
from assay.model.trec_rag import (
    ASSIGNMENT_VALUE,
    SUPPORT_VALUE,
    AssignedAnswer,
    Importance,
    SubNarrative,
    SupportAnswer,
    sub_narrative_key,
)
from assay.protocols.means import mean_score
from assay.protocols.scores import Score

Topics = Literal["all", "answered"]
Values = Mapping[str, Mapping[str, float | None]]
"""measure -> topic -> value of one run; None where undefined."""

NUGGET_NAMES = (*NUGGET_MEASURES, "coverage")


@dataclass(frozen=True)
class Sheet:
    """Values of every run with what they stand on.

    ``values[run][measure][topic]`` holds the topics that the run answers. ``topics`` are all that
    there are; ``without[measure]`` those where the measure means nothing for any run (no vital
    nuggets, no sub-narratives); ``missing[run][measure]`` those where a label is missing.
    """

    topics: tuple[str, ...]
    measures: tuple[str, ...]
    values: Mapping[str, Values]
    without: Mapping[str, frozenset[str]]
    missing: Mapping[str, Mapping[str, frozenset[str]]]

    def silent(self, run: str) -> list[str]:
        """The topics that a run does not answer."""
        mine = self.values[run][self.measures[0]]
        return [topic for topic in self.topics if topic not in mine]

    def completed(self, run: str, topics: Topics = "all") -> dict[str, dict[str, Range | None]]:
        """measure -> topic -> value, with 0 for a topic that the run is silent on (``all``)."""
        silent = self.silent(run) if topics == "all" else []
        return {
            measure: {
                **{
                    topic: _ends(
                        value, measure in NUGGET_NAMES and topic in self.missing[run][measure]
                    )
                    for topic, value in self.values[run][measure].items()
                },
                **{
                    topic: None if topic in self.without[measure] else Range.certain(0.0)
                    for topic in silent
                },
            }
            for measure in self.measures
        }


class Resampling(NamedTuple):
    """The settings of bootstrap intervals."""

    level: float
    resamples: int
    seed: int


def _ends(value: float | None, missing: bool) -> Range | None:
    if value is not None:
        return Range.certain(value)
    return Range(0.0, 1.0) if missing else None


def nugget_sheet(
    answers: Iterable[AssignedAnswer],
    sub_narratives: Mapping[str, Sequence[SubNarrative]] | None = None,
    topics: Iterable[str] | None = None,
) -> Sheet:
    """Nugget recall and sub-narrative coverage of every answer.

    ``sub_narratives`` lists those of each topic; without it coverage is over those that nuggets
    are mapped to. ``topics`` are those of the answers unless given.
    """
    every = list(answers)
    listed = sub_narratives or {}
    values: dict[str, dict[str, dict[str, float | None]]] = {}
    missing: dict[str, dict[str, set[str]]] = {}
    defined: dict[str, set[str]] = {name: set() for name in NUGGET_NAMES}
    for answer in every:
        mine = values.setdefault(answer.run, {name: {} for name in NUGGET_NAMES})
        lacking = missing.setdefault(answer.run, {name: set() for name in NUGGET_NAMES})
        worth = [
            None if one.assigned is None else ASSIGNMENT_VALUE[one.assigned]
            for one in answer.nuggets
        ]
        importance = [one.nugget.importance for one in answer.nuggets]
        vital = [None if one is None else one is Importance.VITAL for one in importance]
        names = [one.nugget.sub_narrative for one in answer.nuggets]
        groups = [name and sub_narrative_key(name) for name in names]
        aspects = [sub_narrative_key(one.text) for one in listed.get(answer.topic, ())]
        scores = nugget_scores(worth, vital) | {"coverage": coverage(worth, groups, aspects)}
        if any(vital) or None in vital:
            defined["strict_vital"].add(answer.topic)
            defined["vital"].add(answer.topic)
        if vital:
            defined["strict_all"].add(answer.topic)
            defined["all"].add(answer.topic)
            defined["weighted"].add(answer.topic)
        if aspects or any(groups):
            defined["coverage"].add(answer.topic)
        for name, value in scores.items():
            mine[name][answer.topic] = value
            if value is None and answer.topic in defined[name]:
                lacking[name].add(answer.topic)
    order = tuple(dict.fromkeys(topics if topics is not None else (one.topic for one in every)))
    answered = {one.topic for one in every}
    return Sheet(
        order,
        NUGGET_NAMES,
        values,
        {name: frozenset(answered - defined[name]) for name in NUGGET_NAMES},
        {
            run: {name: frozenset(found) for name, found in by_name.items()}
            for run, by_name in missing.items()
        },
    )


def support_of(answer: SupportAnswer, citations: Citations = "first") -> SupportScores:
    """The support scores of one answer."""
    worth = [
        [None if one.support is None else SUPPORT_VALUE[one.support] for one in each.citations]
        for each in answer.sentences
    ]
    return support_scores(worth, citations=citations)


def support_sheet(
    answers: Iterable[SupportAnswer],
    citations: Citations = "first",
    topics: Iterable[str] | None = None,
) -> tuple[Sheet, dict[str, dict[str, SupportScores]]]:
    """Weighted precision and recall of every answer, and the counts behind them by run and topic.

    An answer none of whose citations is judged is counted as missing; one that cites nothing has
    no precision, and recall 0.
    """
    every = list(answers)
    values: dict[str, dict[str, dict[str, float | None]]] = {}
    missing: dict[str, dict[str, set[str]]] = {}
    found: dict[str, dict[str, SupportScores]] = {}
    for answer in every:
        scores = support_of(answer, citations)
        found.setdefault(answer.run, {})[answer.topic] = scores
        mine = values.setdefault(answer.run, {name: {} for name in SUPPORT_MEASURES})
        lacking = missing.setdefault(answer.run, {name: set() for name in SUPPORT_MEASURES})
        for name, value in scores.values.items():
            mine[name][answer.topic] = value
            if value is None and scores.unjudged:
                lacking[name].add(answer.topic)
    sheet = Sheet(
        tuple(dict.fromkeys(topics if topics is not None else (one.topic for one in every))),
        SUPPORT_MEASURES,
        values,
        {name: frozenset() for name in SUPPORT_MEASURES},
        {
            run: {name: frozenset(found) for name, found in by_name.items()}
            for run, by_name in missing.items()
        },
    )
    return sheet, found


def means(
    sheet: Sheet,
    *,
    topics: Topics = "all",
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 20251210,
) -> dict[str, dict[str, Score]]:
    """run -> measure -> mean over topics with its bootstrap interval over topics.

    With ``all`` a run gets 0 on a topic that it is silent on; with ``answered`` such topics are
    left out. A topic where the measure is undefined leaves the mean; one where that is for want
    of a label is counted in ``missing``.
    """
    table: dict[str, dict[str, Score]] = {}
    resampling = Resampling(level, resamples, seed)
    for run in sheet.values:
        completed = sheet.completed(run, topics)
        table[run] = {
            measure: mean_score(run, measure, completed[measure].values(), resampling)
            for measure in sheet.measures
        }
    return table
