"""The inputs of a TREC RAG evaluation, and the protocol's settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import Field

from assay.formats.parsed import Parsed
from assay.formats.trec import TrecRun, read_qrels, read_trec_run
from assay.formats.trec_rag_answers import read_answers
from assay.formats.trec_rag_nuggets import read_assignments, read_nuggets
from assay.formats.trec_rag_passages import read_judgment_run, read_texts
from assay.formats.trec_rag_support import read_support
from assay.formats.trec_rag_topics import SubNarratives, read_sub_narratives, read_topics
from assay.measures.support import Citations
from assay.model.errors import SettingsError
from assay.model.labels import LabellerId
from assay.model.trec_rag import (
    AssignedAnswer,
    CitedSupport,
    JudgedSentence,
    JudgmentRun,
    Narrative,
    NuggetList,
    RagAnswer,
    RagRun,
    Segment,
    SubNarrative,
    SupportAnswer,
    sub_narrative_key,
)
from assay.model.wording import and_list, counted, noun
from assay.protocols.base import CommonSettings, MeasureNames, Reading
from assay.protocols.folder import Folder
from assay.protocols.label_sheets import NO_LABEL, citations_of
from assay.protocols.sheets import Topics
from assay.tasks.trec_rag import WAYS, WINDOW
from assay.tasks.trec_rag_nuggets import DOCUMENTS, MOST_NUGGETS
from assay.tasks.trec_rag_nuggets import WINDOW as NUGGET_WINDOW

L = TypeVar("L", AssignedAnswer, SupportAnswer)

RelevanceWay = Literal["counted", "at-once", "0-3", "yes-no", "none"]


class TrecRagSettings(CommonSettings):
    """``[settings]`` of a TREC RAG evaluation.

    ``relevance``: how the labeller is asked (``assay.tasks.trec_rag``); ``none`` uses only the
      given qrels.
    ``relevance_also``: further ways of asking, to compare on the same passages.
    ``pool_depth``: how many documents of each retrieval run are judged.
    ``nuggets``, ``mapping``, ``support``: whether to do these at all. ``nuggets`` may be
      ``always``: even before there are answers. ``support`` may be ``in-context``: with the
      title of the segment and the sentences before.
    ``threshold``: lowest label of a document from which nuggets are made.
    ``documents``: how many of these documents go into one call.
    ``most_nuggets``: maximum number of nuggets.
    ``creators``: labellers that each make a list, which are then merged (none: the labeller of
      ``nuggets``).
    ``nugget_window``: nuggets per call for importance and mapping; ``assignment_window``: for
      assignment.
    ``citations``: whether the ``first`` or ``all`` citations of a sentence count and are
      judged.
    ``answers``: topics that a run does not answer count 0 (``all``), or are left out
      (``answered``).
    ``given_by``: who made the qrels, assignments and support labels in the inputs: ``people``
      or a ``machine``.
    ``topics``: use only these topics.
    ``measures``: measures of retrieval runs.
    """

    relevance: RelevanceWay = "counted"
    relevance_also: tuple[RelevanceWay, ...] = ()
    pool_depth: int = Field(100, ge=1, le=1000)
    threshold: int = Field(1, ge=0, le=4)
    documents: int = Field(DOCUMENTS, ge=1, le=1000)
    most_nuggets: int = Field(MOST_NUGGETS, ge=1, le=1000)
    creators: tuple[str, ...] = ()
    nugget_window: int = Field(NUGGET_WINDOW, ge=1, le=1000)
    assignment_window: int = Field(WINDOW, ge=1, le=1000)
    nuggets: bool | Literal["always"] = True
    mapping: bool = True
    support: bool | Literal["in-context"] = True
    citations: Citations = "first"
    answers: Topics = "all"
    given_by: Literal["people", "machine"] = "people"
    topics: tuple[str, ...] = ()
    measures: MeasureNames = ("nDCG@30", "nDCG@100", "Recall@100")

    @property
    def given_by_words(self) -> str:
        return "people" if self.given_by == "people" else "a machine"

    @property
    def ways(self) -> tuple[str, ...]:
        """The ways of asking for relevance, the main one first."""
        every = (self.relevance, *self.relevance_also)
        return tuple(dict.fromkeys(way for way in every if way != "none"))

    @property
    def highest(self) -> int:
        """The highest grade of the main way of asking."""
        return 0 if self.relevance == "none" else WAYS[self.relevance].highest


GivenGrades = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class TrecRagInputs:
    """All inputs of an evaluation, checked.

    ``qrels``, ``assignments`` and ``support`` (by run and topic) are given labels, ``nuggets``
    given nuggets by topic. ``r_runs`` are the retrieval runs that are scored, including late ones,
    and ``rankings`` their documents by topic, best first. ``ranks`` has the best rank of each
    document of a topic up to the pool depth, over all runs including withdrawn but not late ones.
    ``creators`` are the labellers that each make a nugget list, empty for the task's own.
    """

    narratives: Mapping[str, Narrative]
    sub_narratives: SubNarratives = field(default_factory=dict)
    r_runs: Mapping[str, TrecRun] = field(default_factory=dict)
    answers: Mapping[str, RagRun] = field(default_factory=dict)
    rj_runs: Mapping[str, JudgmentRun] = field(default_factory=dict)
    segments: Mapping[str, Segment] = field(default_factory=dict)
    qrels: GivenGrades = field(default_factory=dict)
    nuggets: Mapping[str, NuggetList] = field(default_factory=dict)
    assignments: Mapping[tuple[str, str], AssignedAnswer] = field(default_factory=dict)
    support: Mapping[tuple[str, str], SupportAnswer] = field(default_factory=dict)
    ranks: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    creators: tuple[LabellerId, ...] = ()
    rankings: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)

    @cached_property
    def topics(self) -> tuple[str, ...]:
        """The narratives' ids, in the order of the file."""
        return tuple(self.narratives)

    def answers_to(self, topic: str) -> Iterator[RagAnswer]:
        """The answers to a narrative, in the order of the runs."""
        return (run.answers[topic] for run in self.answers.values() if topic in run.answers)

    @property
    def by_topic(self) -> list[RagAnswer]:
        """Every answer to a narrative, topic by topic."""
        return list(chain.from_iterable(map(self.answers_to, self.topics)))

    @cached_property
    def every_answer(self) -> list[RagAnswer]:
        """Every answer to a narrative, run by run."""
        runs = (run.answers for run in self.answers.values())
        return [answers[topic] for answers in runs for topic in self.topics if topic in answers]


def load(folder: Folder, settings: TrecRagSettings, reading: Reading) -> TrecRagInputs:
    """Read and check every input through ``reading``. Raises FormatError with all faults."""
    name = "narratives" if "narratives" in folder.config.inputs else "topics"
    if name not in folder.config.inputs:
        raise SettingsError(f"{folder.path / 'assay.toml'}: [inputs] has no 'narratives'.")
    listed = reading.one(name, read_topics) or ()
    narratives = {one.id: one for one in listed}
    unknown = [topic for topic in settings.topics if topic not in narratives]
    if unknown and listed:
        raise SettingsError(
            f"{folder.path / 'assay.toml'}: [settings] topics: '{unknown[0]}' is not a narrative."
        )
    if settings.topics:
        # If the file could not be read nothing is listed; its faults are raised below.
        narratives = {topic: narratives[topic] for topic in settings.topics if listed}
    # If the narratives cannot be read, topics are not checked: all would be unknown.
    texts = {one.id: one.text for one in listed} if listed else None
    aspects = reading.optional("sub_narratives", read_sub_narratives) or {}
    pooled = reading.runs("r_runs", read_trec_run)
    r_runs = pooled | reading.runs("late_runs", read_trec_run, other_runs=pooled)
    pooled |= reading.runs("withdrawn_runs", read_trec_run, other_runs=r_runs)
    read_run = partial(read_answers, topics=texts, limits=False)
    answers = reading.runs("rag_runs", read_run)
    rj_runs = reading.runs("rj_runs", read_judgment_run)
    segments = reading.texts("segments", read_texts, attrgetter("text"))
    qrels = reading.optional("qrels", read_qrels)
    assignments = _labelled(reading, "assignments", read_assignments)
    support = _labelled(reading, "support", read_support)
    nuggets = reading.optional("nuggets", read_nuggets)
    reading.done()
    every = [one.id for one in listed]
    reading.warnings += chain(
        *(
            _strangers(f"[inputs] r_runs, {run}", one.scores, every)
            for run, one in (pooled | r_runs).items()
        ),
        _strangers("[inputs] qrels", () if qrels is None else qrels.grades, every),
        _off_the_scale({} if qrels is None else qrels.grades, settings),
        _strangers("[inputs] nuggets", nuggets or (), every),
        _strangers("[inputs] sub_narratives", aspects, every),
        _strangers("[inputs] assignments", [topic for _, topic in assignments], every),
        _strangers("[inputs] support", [topic for _, topic in support], every),
    )
    every_ranking = {
        name: {topic: run.ranked(topic) for topic in run.scores}
        for name, run in (pooled | r_runs).items()
    }
    inputs = TrecRagInputs(
        narratives,
        {
            topic: mine
            for topic in narratives
            if (mine := aspects.get(topic) or _mapped_to((nuggets or {}).get(topic)))
        },
        r_runs,
        answers,
        rj_runs,
        segments,
        {} if qrels is None else qrels.grades,
        nuggets or {},
        assignments,
        support,
        _ranks(narratives, [every_ranking[run] for run in pooled], settings.pool_depth),
        tuple(folder.make_labeller(spec).id for spec in settings.creators),
        {run: every_ranking[run] for run in r_runs},
    )
    answers_of = {(one.run, one.topic): one for one in inputs.every_answer}
    given = {key: one for key, one in support.items() if key in answers_of}
    fitted = {key: _fitted(answers_of[key], one) for key, one in given.items()}
    labelled, matched = (~citations_of(labels.values()).missing for labels in (given, fitted))
    if unmatched := int(labelled.sum() - matched.sum()):
        reading.warnings.append(
            f"{unmatched} given support labels are for citations that the runs do not have at that "
            "place; they do not count."
        )
    return replace(inputs, support=fitted)


def _strangers(what: str, topics: Iterable[str], narratives: Sequence[str]) -> Iterator[str]:
    """A warning if an input has topics that are not narratives, while narratives are missing from
    it: the ids may be written differently. (An input with all narratives may have more.)"""
    there, known = dict.fromkeys(topics), set(narratives)
    strange = [one for one in there if one not in known]
    silent = [one for one in narratives if one not in there]
    if strange and silent:
        yield (
            f"{what}: {counted(len(strange), 'topic')} {noun(len(strange), 'is', 'are')} not "
            f"among the narratives ({and_list(strange, 5)}), while "
            f"{counted(len(silent), 'narrative')} {noun(len(silent), 'is', 'are')} missing "
            f"({and_list(silent, 5)}). Are the ids written the same way?"
        )


def _off_the_scale(qrels: GivenGrades, settings: TrecRagSettings) -> Iterator[str]:
    """A warning if given grades are above those that labellers can give."""
    above = [
        f"{grade} of {doc}, topic {topic}"
        for topic, grades in qrels.items()
        for doc, grade in grades.items()
        if grade > settings.highest
    ]
    if above and settings.relevance != "none":
        yield (
            f"[inputs] qrels: {counted(len(above), 'grade')} above {settings.highest}, the highest "
            f"of relevance = '{settings.relevance}': {and_list(above, 3)}. They count as they are."
        )


def _mapped_to(given: NuggetList | None) -> tuple[SubNarrative, ...]:
    """The sub-narratives of a nugget list that is completely mapped, else nothing."""
    names = [one.sub_narrative for one in given.nuggets] if given is not None else []
    if not all(names):
        return ()
    found: dict[str, SubNarrative] = {}
    for name in filter(None, names):
        found.setdefault(sub_narrative_key(name), SubNarrative(name))
    return tuple(found.values())


def _labelled(
    reading: Reading, name: str, read: Callable[[Path], Parsed[tuple[L, ...]]]
) -> dict[tuple[str, str], L]:
    """Labelled answers by run and topic."""
    found: dict[tuple[str, str], L] = {}
    for path, answers in reading.many(name, read):
        for one in answers:
            if (one.run, one.topic) in found:
                why = f"The answer of run '{one.run}' is also labelled in another file."
                reading.add_fault(path, why, "Give each answer's labels once.", topic=one.topic)
            found[one.run, one.topic] = one
    return found


def _fitted(answer: RagAnswer, given: SupportAnswer) -> SupportAnswer:
    """The given support labels of those citations that the answer has at the same place."""

    def label(at: int, spot: int, doc: str) -> CitedSupport:
        labels = given.sentences[at].citations if at < len(given.sentences) else ()
        found = labels[spot] if spot < len(labels) else NO_LABEL
        return (found if found.reference in ("", doc) else NO_LABEL)._replace(reference=doc)

    sentences = (
        JudgedSentence(text, tuple(label(at, *one) for one in enumerate(citations)))
        for at, (text, citations) in enumerate(answer.sentences)
    )
    return SupportAnswer(answer.run, answer.topic, tuple(sentences))


def _ranks(
    narratives: Iterable[str], runs: Iterable[Mapping[str, tuple[str, ...]]], depth: int
) -> dict[str, dict[str, int]]:
    ranks: dict[str, dict[str, int]] = {}
    for topic in narratives:
        mine: dict[str, int] = {}
        for run in runs:
            for rank, doc in enumerate(run.get(topic, ())[:depth], 1):
                mine[doc] = min(rank, mine.get(doc, rank))
        ranks[topic] = dict(sorted(mine.items(), key=lambda item: (item[1], item[0])))
    return ranks
