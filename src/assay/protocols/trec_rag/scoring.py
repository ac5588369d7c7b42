"""From assignments and support labels to scores by run, measure and topic.

Used by the protocol and by ``assay nuggets`` and ``assay support``, which need no labeller.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from assay.measures.nuggets import NUGGET_MEASURES, coverage_range, nugget_ranges
from assay.measures.ranges import IfDefined, Range
from assay.measures.scores import Score
from assay.measures.support import SUPPORT_MEASURES, Citations, support_scores
from assay.model.trec_rag import (
    ASSIGNMENT_VALUE,
    SUPPORT_VALUE,
    Assigned,
    AssignedAnswer,
    AssignedNugget,
    Importance,
    RagNugget,
    SubNarrative,
    SupportAnswer,
    sub_narrative_key,
)
from assay.protocols.means import mean_score

Topics = Literal["all", "answered"]
Values = dict[str, dict[str, Range | None]]
"""measure -> topic -> value of one run; None where it is undefined whatever the labels are."""

NUGGET_NAMES = (*NUGGET_MEASURES, "coverage")

OPEN = Range(0.0, 1.0)
"""A value of which no more is known than that it is a share."""


@dataclass(frozen=True)
class Sheet:
    """Values of every run with what they stand on.

    ``values[run][measure][topic]`` holds the topics that the run answers, ``topics`` are all that
    there are, and ``nothing[measure][topic]`` is the value of a run that is silent on one: 0, or
    None where the measure means nothing for any run (no vital nuggets, no sub-narratives).
    """

    topics: tuple[str, ...]
    measures: tuple[str, ...]
    values: Mapping[str, Values]
    nothing: Values

    def silent(self, run: str) -> list[str]:
        """The topics that a run does not answer."""
        mine = self.values[run][self.measures[0]]
        return [topic for topic in self.topics if topic not in mine]

    def without(self, measure: str) -> list[str]:
        """The topics where a measure is undefined for every run."""
        return [topic for topic in self.topics if self.nothing[measure][topic] is None]

    def unjudged(self, run: str) -> list[str]:
        """The topics that leave the means of one run alone: the track judged nothing there."""
        return [
            topic
            for topic in self.topics
            if any(
                self.values[run][name].get(topic, OPEN) is None
                and self.nothing[name][topic] is not None
                for name in self.measures
            )
        ]

    def lacking(self, run: str) -> list[str]:
        """The topics where some value hangs on a missing label."""
        values = self.completed(run).values()
        return [
            topic
            for topic in self.topics
            if any(one is not None and one.value is None for one in (v[topic] for v in values))
        ]

    def completed(self, run: str, topics: Topics = "all") -> Values:
        """measure -> topic -> value, with that of ``nothing`` for a topic that the run is silent on
        (``all``), or without it."""
        return {
            measure: {
                topic: mine[topic] if topic in mine else self.nothing[measure][topic]
                for topic in self.topics
                if topic in mine or topics == "all"
            }
            for measure, mine in self.values[run].items()
        }


class Resampling(NamedTuple):
    """The settings of bootstrap intervals."""

    level: float
    resamples: int
    seed: int


def nugget_sheet(
    answers: Iterable[AssignedAnswer],
    sub_narratives: Mapping[str, Sequence[SubNarrative]] | None = None,
    banks: Mapping[str, Sequence[RagNugget] | None] | None = None,
    *,
    runs: Iterable[str] = (),
    unmapped: Iterable[str] = (),
) -> Sheet:
    """Nugget recall and sub-narrative coverage of every answer.

    Args:
        answers: of one run at most one for each topic.
        sub_narratives: those of each topic; without it coverage is over those that nuggets are
            mapped to.
        banks: the nuggets of every topic, None where they are not known yet: every value is 0 to 1
            there. Without it, topics and nuggets are those of the answers.
        runs: those that may have no answer at all.
        unmapped: topics where a mapping or the sub-narratives are missing: coverage is 0 to 1.
    """
    every = list(answers)
    listed = sub_narratives or {}
    open_ones = frozenset(unmapped)
    lists: dict[str, dict[tuple[RagNugget, ...] | None, None]] = {}
    for topic, bank in (banks or {}).items():
        lists[topic] = {None if bank is None else tuple(bank): None}
    for answer in every if banks is None else ():
        nuggets = tuple(one.nugget for one in answer.nuggets)
        lists.setdefault(answer.topic, {})[nuggets] = None

    def scored(topic: str, nuggets: Sequence[AssignedNugget]) -> dict[str, Range | None]:
        if None in lists[topic]:
            return dict.fromkeys(NUGGET_NAMES, OPEN)
        found = _nugget_values(nuggets, listed.get(topic, ()))
        return found | {"coverage": OPEN} if topic in open_ones else found

    nothing: Values = {name: {} for name in NUGGET_NAMES}
    for topic, versions in lists.items():
        tried = [
            scored(topic, [AssignedNugget(one, Assigned.NONE) for one in version or ()])
            for version in versions
        ]
        for name in NUGGET_NAMES:
            value = next((one for one in (found[name] for found in tried) if one is not None), None)
            unsure = value is not None and value.value is None
            nothing[name][topic] = IfDefined(0.0, 0.0) if unsure else value
    table: dict[str, Values] = {run: {name: {} for name in NUGGET_NAMES} for run in runs}
    for answer in every:
        mine = table.setdefault(answer.run, {name: {} for name in NUGGET_NAMES})
        for name, value in scored(answer.topic, answer.nuggets).items():
            # Others were held to nuggets that count, this one was not: labels are missing.
            known = value is not None or nothing[name][answer.topic] is None
            mine[name][answer.topic] = value if known else OPEN
    return Sheet(tuple(lists), NUGGET_NAMES, table, nothing)


def _nugget_values(
    nuggets: Sequence[AssignedNugget], listed: Sequence[SubNarrative]
) -> dict[str, Range | None]:
    worth = [None if one.assigned is None else ASSIGNMENT_VALUE[one.assigned] for one in nuggets]
    importance = [one.nugget.importance for one in nuggets]
    vital = [None if one is None else one is Importance.VITAL for one in importance]
    names = [one.nugget.sub_narrative for one in nuggets]
    groups = [name and sub_narrative_key(name) for name in names]
    aspects = [sub_narrative_key(one.text) for one in listed]
    return {
        **nugget_ranges(worth, vital),
        "coverage": coverage_range(worth, groups, aspects),
    }


@dataclass(frozen=True, slots=True)
class Supported:
    """The support scores of an answer by name, None where the track left it unjudged. Of its
    ``sentences``, ``uncited`` have no citation, ``unjudged`` none that is judged, and ``missing``
    one without its label, among those that count."""

    values: dict[str, Range | None]
    sentences: int
    uncited: int
    unjudged: int
    missing: int


SUPPORT_COUNTS = ("sentences", "uncited", "unjudged", "missing")
"""What :class:`Supported` counts."""


def support_of(answer: SupportAnswer, citations: Citations = "first") -> Supported:
    """The support scores of one answer: a missing label is none in the floor, full in the ceiling,
    which is exact."""
    floor, ceiling = (
        support_scores(
            [
                [
                    None if one.unjudged else SUPPORT_VALUE[one.support] if one.support else missing
                    for one in each.citations
                ]
                for each in answer.sentences
            ],
            citations=citations,
        )
        for missing in (0.0, 1.0)
    )
    return Supported(
        {
            name: None if low is None or high is None else Range(low, high)
            for name in SUPPORT_MEASURES
            for low, high in ((floor.values[name], ceiling.values[name]),)
        },
        floor.sentences,
        floor.uncited,
        floor.unjudged,
        sum(
            any(one.support is None and not one.unjudged for one in counted)
            for each in answer.sentences
            for counted in (each.citations[: 1 if citations == "first" else None],)
        ),
    )


def support_sheet(
    answers: Iterable[SupportAnswer],
    citations: Citations = "first",
    topics: Iterable[str] | None = None,
    *,
    runs: Iterable[str] = (),
) -> tuple[Sheet, dict[str, dict[str, Supported]]]:
    """Weighted precision and recall of every answer, and what they stand on by run and topic.

    ``topics`` are those of the answers unless given; ``runs`` may have no answer at all.
    """
    every = list(answers)
    order = tuple(dict.fromkeys(topics if topics is not None else (one.topic for one in every)))
    found: dict[str, dict[str, Supported]] = {run: {} for run in runs}
    for answer in every:
        found.setdefault(answer.run, {})[answer.topic] = support_of(answer, citations)
    table = {
        run: {
            name: {topic: one.values[name] for topic, one in by_topic.items()}
            for name in SUPPORT_MEASURES
        }
        for run, by_topic in found.items()
    }
    nothing: Values = {name: dict.fromkeys(order, Range.certain(0.0)) for name in SUPPORT_MEASURES}
    return Sheet(order, SUPPORT_MEASURES, table, nothing), found


def support_counts(found: Mapping[str, Mapping[str, Supported]]) -> dict[str, dict[str, int]]:
    """run -> what is counted -> its sum over topics."""
    return {
        run: {name: sum(getattr(one, name) for one in by_topic.values()) for name in SUPPORT_COUNTS}
        for run, by_topic in found.items()
    }


def means(
    sheet: Sheet,
    *,
    topics: Topics = "all",
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 20251210,
) -> dict[str, dict[str, Score]]:
    """run -> measure -> mean over topics with its bootstrap interval over topics.

    With ``all`` a run that is silent on a topic has the value of an empty answer there; with
    ``answered`` such topics are left out. A topic where the measure is undefined for every run
    leaves the means of all; one where the track left all that an answer cites unjudged leaves that
    run's. Nothing leaves a mean because a label is missing.
    """
    resampling = Resampling(level, resamples, seed)
    return {
        run: {
            measure: mean_score(run, measure, values.values(), resampling)
            for measure, values in sheet.completed(run, topics).items()
        }
        for run in sheet.values
    }
