"""Scores of files of labels: nugget assignments, and support of citations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar, cast

from assay.api.reading import Note, all_used, used
from assay.formats.parsed import Parsed
from assay.formats.question_banks import nugget_text, nuggets_of_bank, read_question_banks
from assay.formats.text import read_text
from assay.formats.trec_rag_nuggets import read_assignments, write_nuggets
from assay.formats.trec_rag_support import read_support
from assay.formats.trec_rag_topics import read_mapping, read_sub_narratives
from assay.measures.questions import questions_range
from assay.measures.ranges import Range
from assay.measures.scores import Score, ranks
from assay.measures.support import Citations as Citations
from assay.model.errors import Fault, FormatError, SettingsError
from assay.model.question_banks import QuestionBank
from assay.model.trec_rag import Assigned, AssignedAnswer, AssignedNugget
from assay.model.wording import and_list, counted, joined, quoted
from assay.protocols.label_sheets import (
    citations_of,
    nugget_sheet,
    nugget_tables,
    support_sheet,
)
from assay.protocols.means import score_table
from assay.protocols.scores import VALUE_COLUMNS, value_row
from assay.protocols.sheets import Sheet, Topics, Values

T = TypeVar("T")


@dataclass(frozen=True)
class LabelScores:
    """Scores of runs and of their topics. Means are over ``topics``. ``counts`` has counts by run,
    of which ``shown`` are displayed beside the scores; ``more`` has further JSON entries."""

    sheet: Sheet
    topics: Topics
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)
    shown: tuple[str, ...] = ()

    @cached_property
    def means(self) -> dict[str, dict[str, Score]]:
        """Run → measure → the mean."""
        return score_table(self.sheet.per_topic(self.topics), None)

    @property
    def scores(self) -> list[Score]:
        """All means."""
        return [one for by_measure in self.means.values() for one in by_measure.values()]

    @property
    def missing(self) -> int:
        """Number of values that depend on missing labels."""
        return sum(one.missing for one in self.scores)

    def ranks(self) -> dict[str, int | None]:
        """The ranks of the runs by the first measure."""
        return ranks(self.means, self.sheet.measures[0])

    def rows(self, *, per_topic: bool) -> Iterator[tuple[object, ...]]:
        """Rows under ``VALUE_COLUMNS``: means, then, with ``per_topic``, single topics."""
        for one in self.scores:
            yield value_row(one.run, "all", one.measure, one.ends)
        if per_topic:
            yield from self.topic_rows()

    def topic_rows(self) -> Iterator[tuple[object, ...]]:
        """Rows of single topics under ``VALUE_COLUMNS``."""
        for run in self.sheet.values:
            for measure, values in self.sheet.completed(run, self.topics).items():
                for topic, ends in values.items():
                    yield value_row(run, topic, measure, ends)

    def document(self, *, per_topic: bool) -> dict[str, Any]:
        """The JSON document."""
        sheet = self.sheet
        rows: list[dict[str, object]] = [
            dict(zip(VALUE_COLUMNS, value_row(one.run, "all", one.measure, one.ends), strict=True))
            | {"low": one.low, "high": one.high, "counted": one.topics, "missing": one.missing}
            for one in self.scores
        ]
        if per_topic:
            rows += (dict(zip(VALUE_COLUMNS, row, strict=True)) for row in self.topic_rows())
        return {
            "scores": rows,
            "topics": self.topics,
            "runs": {
                run: {
                    "answered": len(sheet.values[run][sheet.measures[0]]),
                    "silent": sheet.silent(run),
                    "unjudged": sheet.unjudged(run),
                }
                for run in sheet.values
            },
            "undefined": {name: sorted(sheet.without(name)) for name in sheet.measures},
            "missing": self.missing,
            **self.more,
        }

    def remarks(self) -> Iterator[str]:
        """Remarks on undefined values, missing answers and missing labels behind the means."""
        sheet = self.sheet
        every = counted(len(sheet.topics), "topic")
        undefined: dict[tuple[str, ...], list[str]] = {}
        for measure in sheet.measures:
            undefined.setdefault(tuple(sorted(sheet.without(measure))), []).append(measure)
        for without, measures in undefined.items():
            if without and len(without) < len(sheet.topics):
                be, its = ("is", "its mean") if len(measures) == 1 else ("are", "their means")
                yield (
                    f"{and_list(measures)} {be} undefined for {len(without)} of {every}, left out "
                    f"of {its} for every run: {joined(without, 10)}."
                )
        so = "counted as 0" if self.topics == "all" else "left out of the mean"
        for run in sheet.values:
            if silent := sheet.silent(run):
                yield (
                    f"Run {run} has no answer to {len(silent)} of {every}; these are {so}: "
                    f"{joined(silent, 10)}."
                )
            if unjudged := sheet.unjudged(run):
                yield (
                    f"No label of run {run} counts in {counted(len(unjudged), 'topic')} (-1, or "
                    f"failed), left out of its means: {joined(unjudged, 10)}."
                )
            if lacking := sheet.lacking(run):
                yield (
                    f"Run {run} lacks labels in {counted(len(lacking), 'topic')}: scores that "
                    f"need them are ranges: {joined(lacking, 10)}."
                )


def nugget_scores(
    files: Sequence[Path],
    sub_narratives: Path | None,
    topics: Topics,
    note: Note,
    *,
    bank: Path | None = None,
    partly: bool = False,
) -> LabelScores:
    """Scores of nugget assignments. ``sub_narratives`` is a file of each topic's sub-narratives, or
    of nuggets mapped to them. ``bank`` is a file of the questions the nuggets were made from; with
    ``partly``, a question that needs all its answers counts by the share given. Raises FormatError
    with the faults of all files."""
    answers = read_labelled_answers(files, read_assignments, note)
    aspects = None
    if sub_narratives is not None:
        text = read_text(sub_narratives)  # only once, as it may be a pipe
        aspects = read_sub_narratives(text).require()
        answers = _mapped(answers, read_mapping(text))
    for line in (*_lists(answers), *_unmapped(answers, aspects or {})):
        note(line)
    runs = dict.fromkeys(one.run for one in answers)
    sheet = nugget_sheet(nugget_tables(answers), aspects, runs=runs)
    if bank is not None:
        banks = used(read_question_banks(bank), note)
        sheet = _with_questions(sheet, answers, banks, partly=partly)
    return LabelScores(sheet, topics)


def _with_questions(
    sheet: Sheet,
    answers: Sequence[AssignedAnswer],
    banks: Mapping[str, QuestionBank],
    *,
    partly: bool,
) -> Sheet:
    """Add the measure ``questions`` to a sheet: the share of questions that are answered. Raises
    SettingsError if a topic has no bank, or its nuggets are not those of its bank."""

    def settled(topic: str, given: Mapping[str, bool | None]) -> Range | None:
        bank = banks.get(topic)
        if bank is None:
            raise SettingsError(f"The bank has no topic {topic}. Give the one that was assigned.")
        texts = {nugget_text(one.text, gold.text) for one in bank.questions for gold in one.answers}
        lacking = sorted(texts - given.keys())
        if lacking:
            raise SettingsError(
                f"The nuggets of topic {topic} lack {quoted(lacking[0])}. Assign the nuggets that "
                "'assay nuggets from-bank' makes from this bank."
            )
        return questions_range(
            (
                (one.kind, [given[nugget_text(one.text, gold.text)] for gold in one.answers])
                for one in bank.questions
            ),
            partly=partly,
        )

    name = "questions"
    values = {run: {**by_measure, name: {}} for run, by_measure in sheet.values.items()}
    nothing: Values = {**sheet.nothing, name: {}}
    for answer in answers:
        given = {
            one.nugget.text: None if one.assigned is None else one.assigned is Assigned.SUPPORT
            for one in answer.nuggets
        }
        values[answer.run][name][answer.topic] = settled(answer.topic, given)
        nothing[name][answer.topic] = settled(answer.topic, dict.fromkeys(given, False))
    return Sheet(sheet.topics, (*sheet.measures, name), values, nothing)


def bank_nuggets(file: Path, note: Note) -> bytes:
    """The nuggets of a question bank in nuggetizer's format. Raises FormatError."""
    return write_nuggets(map(nuggets_of_bank, used(read_question_banks(file), note).values()))


def support_scores(
    files: Sequence[Path], citations: Citations, topics: Topics, note: Note
) -> LabelScores:
    """Scores of support labels, with each run's counts of uncited, unjudged or missing citations.
    Raises FormatError with the faults of all files."""
    answers = read_labelled_answers(files, read_support, note)
    cited = citations_of(answers)
    sheet, counts = support_sheet(cited, citations)
    more, shown = {"citations": citations, "counts": counts}, ("uncited", "unjudged", "missing")
    return LabelScores(sheet, topics, counts, more, shown)


def read_labelled_answers(
    paths: Sequence[Path], read: Callable[[Path], Parsed[tuple[T, ...]]], note: Note
) -> list[T]:
    """Read the answers of several files, each with its run, topic and line. Raises FormatError with
    the faults of all files, and if two hold the same answer."""
    found = all_used((partial(read, path) for path in paths), note)
    answers: dict[tuple[str, str], Any] = {}
    faults = []
    for path, each in zip(paths, found, strict=True):
        for one in cast("tuple[Any, ...]", each):
            if answers.setdefault((one.run, one.topic), one) is not one:
                why = f"The answer of run {one.run} to this topic is in two of the files."
                cure = "Give each answer in only one file."
                faults.append(Fault(str(path), one.line, one.topic, why, cure))
    if faults:
        raise FormatError(faults)
    return list(answers.values())


def _mapped(
    answers: Sequence[AssignedAnswer], mapping: Mapping[tuple[str, str], str]
) -> list[AssignedAnswer]:
    """The answers with the sub-narratives that a nugget file assigns to their nuggets' texts."""

    def mapped(answer: AssignedAnswer) -> Iterator[AssignedNugget]:
        for one in answer.nuggets:
            mine = mapping.get((answer.topic, one.nugget.text)) or one.nugget.sub_narrative
            yield one._replace(nugget=one.nugget._replace(sub_narrative=mine))

    return [replace(one, nuggets=tuple(mapped(one))) for one in answers]


def _lists(answers: Sequence[AssignedAnswer]) -> Iterator[str]:
    """Scores of one topic compare only where all runs are held to the same nuggets."""
    lists: dict[str, frozenset[str]] = {}
    differ: dict[str, None] = {}
    for one in answers:
        mine = frozenset(each.nugget.text for each in one.nuggets)
        if lists.setdefault(one.topic, mine) != mine:
            differ[one.topic] = None
    if differ:
        topics = counted(len(differ), "topic")
        yield f"Runs were assessed by different nuggets in {topics}: {joined(differ, 10)}."


def _unmapped(answers: Sequence[AssignedAnswer], aspects: Collection[str]) -> Iterator[str]:
    """A nugget without a sub-narrative covers none, where others have one."""
    nuggets: dict[str, dict[str, bool]] = {}
    for one in answers:
        mapped = nuggets.setdefault(one.topic, {})
        mapped |= {each.nugget.text: bool(each.nugget.sub_narrative) for each in one.nuggets}
    loose = {
        topic: list(mapped.values()).count(False)
        for topic, mapped in nuggets.items()
        if any(mapped.values()) or topic in aspects
    }
    topics = [topic for topic, count in loose.items() if count]
    if topics:
        yield (
            f"Mapped to no sub-narrative, so coverage ignores what they support: "
            f"{counted(sum(loose.values()), 'nugget')} (topics: {joined(topics, 10)})."
        )
