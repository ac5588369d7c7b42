"""Which labels a summary needs, and their values as numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

from assay.measures.summaries import SectionLabels, SummaryLabels, Value
from assay.model.summaries import CitedText, Summary, SummarySection
from assay.protocols.labels import Asked, LabelBook
from assay.protocols.places import Place
from assay.protocols.sgss.inputs import SgssInputs, SgssSettings
from assay.tasks.base import AnyTask, UnitContent, unit_hash
from assay.tasks.sgss import (
    COMPREHENSIVENESS,
    COVERAGE,
    HEADING,
    PREFERENCE,
    REPRESENTATIVENESS,
    STATEMENT,
    SUFFICIENCY,
)
from assay.tasks.trec_rag import SUPPORT

ASKED: tuple[AnyTask, ...] = (
    SUFFICIENCY, SUPPORT, REPRESENTATIVENESS, HEADING, STATEMENT, COVERAGE,
)  # fmt: skip
OF_TASK = {
    SUFFICIENCY.name: "OS", REPRESENTATIVENESS.name: "OR", HEADING.name: "HR",
    STATEMENT.name: "SRel",
}  # fmt: skip
"""The criterion of each task that has only one."""

SUPPORTED = {"full": "perfectly", "partial": "partially", "none": "no"}


def tasks(settings: SgssSettings) -> tuple[AnyTask, ...]:
    """The tasks that the settings ask for."""
    more = {"comprehensiveness": COMPREHENSIVENESS, "preference": PREFERENCE}
    return (*ASKED, *(more[name] for name in settings.also if name in more))


# -- what is asked ------------------------------------------------------------------------------


class AskedPart(NamedTuple):
    """A question about a summary: its ``criterion`` (for Comp, what is covered), and its place,
    with ``section`` and ``statement`` from 1, or 0 for the overview."""

    criterion: str
    content: UnitContent
    section: int = 0
    statement: int = 0

    @property
    def position(self) -> str:
        """Where its label is used."""
        where = f"section {self.section} statement {self.statement} " if self.section else ""
        return f"{where}{self.criterion}"


def _faithfulness(summary: Summary, one: CitedText) -> UnitContent:
    """The cited documents taken together, and the text that cites them."""
    return {"passage": summary.cited_text(one.citations), "sentence": one.text}


def left_and_right(query: str, one: Summary, other: Summary) -> tuple[Summary, Summary]:
    """Which of two summaries is on the left in the order of a preference that is asked first. It
    depends on their texts alone, and is balanced."""
    first, second = sorted((one, other), key=lambda s: unit_hash(query, {"text": s.text}))
    return first, second


def compared_in(inputs: SgssInputs) -> Iterator[tuple[str, Summary, Summary]]:
    """Every pair of summaries of a query that were handed in, in the order that is asked first."""
    for query in inputs.summaries:
        for one, other in combinations(inputs.originals(query), 2):
            yield query, *left_and_right(query, one, other)


def preference(left: Summary, right: Summary) -> UnitContent:
    """Two summaries side by side."""
    return {"query": left.query_text, "left": left.text, "right": right.text}


@dataclass(frozen=True, slots=True)
class PooledSection:
    """A section of the pool (eq. 9), with a summary that has it and its index there."""

    run: str
    place: int
    section: SummarySection


def pool(inputs: SgssInputs, query: str) -> list[PooledSection]:
    """The distinct sections of a query's summaries that were handed in. Empty if the evaluation has
    one summariser, so that there is nothing to compare."""
    if not inputs.comparable:
        return []
    found: dict[str, PooledSection] = {}
    for one in inputs.originals(query):
        for place, section in enumerate(one.sections):
            found.setdefault(section.content, PooledSection(one.run, place, section))
    return list(found.values())


def covers(
    inputs: SgssInputs, summary: Summary, pooled: Iterable[PooledSection]
) -> Iterator[tuple[PooledSection, UnitContent | None]]:
    """Each pooled section with the question how relevant the summary is to it, or None for the
    summary's own sections, to which it is perfectly relevant."""
    original = original_of(inputs, summary)
    own = [section.content for section in original.sections]
    for one in pooled:
        content = one.section.content
        lost = summary.degraded == "NoSection1" and content == own[0]
        if content in own and not lost:
            yield one, None
        else:
            # A degraded version inherits its original's labels, except for the lost section.
            shown = summary if lost else original
            yield one, {"section": one.section.text, "summary": shown.text}


def original_of(inputs: SgssInputs, summary: Summary) -> Summary:
    """The summary from which a degraded version was made; any other summary itself."""
    if summary.original is None:
        return summary
    return inputs.summaries[summary.query][summary.original]


def asked(inputs: SgssInputs, task: AnyTask) -> Asked:
    """Everything that is asked under a task, with its place. (Equal units are asked once.)"""
    if task is PREFERENCE:
        for query, one, other in compared_in(inputs):
            yield preference(one, other), Place("", query, "preference")
        return
    for query, by_run in inputs.summaries.items():
        wanted = task is COVERAGE and "Comp" not in inputs.unasked
        pooled = pool(inputs, query) if wanted else []
        for run, summary in by_run.items():
            for part in asked_of(inputs, summary, task, pooled):
                yield part.content, Place(run, query, part.position)


def asked_of(
    inputs: SgssInputs, summary: Summary, task: AnyTask, pooled: Iterable[PooledSection] = ()
) -> Iterator[AskedPart]:
    """What is asked about a summary under a task."""
    original, overview = original_of(inputs, summary), summary.overview
    if OF_TASK.get(task.name) in inputs.unasked:
        return
    if task is SUFFICIENCY:
        yield AskedPart("OS", {"query": summary.query_text, "overview": overview.text})
    elif task is REPRESENTATIVENESS and original.sections:
        # A degraded version inherits the label of its original, whose sections are asked about.
        sections = [section.text for section in original.sections]
        yield AskedPart("OR", {"sections": sections, "overview": overview.text})
    elif task is COMPREHENSIVENESS:
        content = {"query": summary.query_text, "summary": original.text}
        yield AskedPart("comprehensiveness", content)
    elif task is COVERAGE and summary.sections:
        for one, unknown in covers(inputs, summary, pooled):
            if unknown is not None:
                yield AskedPart(f"covers {one.run} section {one.place + 1}", unknown)
    elif task is SUPPORT and overview.citations and "OF" not in inputs.unasked:
        yield AskedPart("OF", _faithfulness(summary, overview))
    if task not in (HEADING, STATEMENT, SUPPORT):
        return
    for place, section in enumerate(summary.sections, 1):
        for number, cited in enumerate(section.statements, 1):
            if task is HEADING and section.heading is not None:
                content = {"heading": section.heading, "statement": cited.text}
                yield AskedPart("HR", content, place, number)
            elif task is STATEMENT:
                content = {"query": summary.query_text, "statement": cited.text}
                yield AskedPart("SRel", content, place, number)
            elif task is SUPPORT and cited.citations and "SF" not in inputs.unasked:
                yield AskedPart("SF", _faithfulness(summary, cited), place, number)


# -- what was said ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class JudgedSummary:
    """A summary with its labels as numbers. ``grades`` are g(S, sec*) over the pool: empty if the
    summary has no sections, None if the evaluation has one summariser. ``comprehensive`` is the
    absolute label if it was asked for."""

    summary: Summary
    labels: SummaryLabels[Value]
    grades: tuple[Value, ...] | None
    comprehensive: Value = None


def verdict_number(settings: SgssSettings, task: str, verdict: Mapping[str, Any]) -> float:
    """The value of a verdict under the settings."""
    point = SUPPORTED[verdict["support"]] if task == SUPPORT.name else verdict["label"]
    return settings.mapping[point]


def judge_all(
    inputs: SgssInputs, settings: SgssSettings, book: LabelBook
) -> dict[str, dict[str, JudgedSummary]]:
    """query → run → labels."""
    of_scores = [task for task in tasks(settings) if task is not PREFERENCE]
    numbers = {task.name: _numbers(inputs, settings, book, task) for task in of_scores}
    found: dict[str, dict[str, JudgedSummary]] = {}
    for query, by_run in inputs.summaries.items():
        pooled = pool(inputs, query)
        found[query] = {
            run: judged(inputs, settings, one, pooled, lambda task: next(numbers[task.name]))
            for run, one in by_run.items()
        }
    return found


def judged(
    inputs: SgssInputs,
    settings: SgssSettings,
    summary: Summary,
    pooled: list[PooledSection],
    value: Callable[[AnyTask], Value],
) -> JudgedSummary:
    """The labels of one summary. ``value`` gives the number of the next label of a task, in the
    order of :func:`asked`. Criteria that are not asked about are unknown."""
    point = settings.mapping

    def of(criterion: str, task: AnyTask) -> Value:
        return None if criterion in inputs.unasked else value(task)

    def faithful(criterion: str, one: CitedText) -> Value:
        return of(criterion, SUPPORT) if one.citations else point[settings.uncited]

    original = original_of(inputs, summary)
    labels = SummaryLabels(
        os=of("OS", SUFFICIENCY),
        of=faithful("OF", summary.overview),
        orep=of("OR", REPRESENTATIVENESS)
        if original.sections
        else point[settings.without_sections],
        parts=tuple(
            SectionLabels(
                tuple(of("HR", HEADING) for _ in section.statements if section.heading is not None),
                tuple(of("SRel", STATEMENT) for _ in section.statements),
                tuple(faithful("SF", one) for one in section.statements),
                heading=section.heading is not None,
            )
            for section in summary.sections
        ),
        overview_last=summary.overview_last,
    )
    grades: tuple[Value, ...] | None = None
    if inputs.comparable:
        grades = tuple(
            point["perfectly"] if content is None else of("Comp", COVERAGE)
            for _, content in covers(inputs, summary, pooled if summary.sections else ())
        )
    asks = COMPREHENSIVENESS in tasks(settings)
    return JudgedSummary(summary, labels, grades, value(COMPREHENSIVENESS) if asks else None)


def _numbers(
    inputs: SgssInputs, settings: SgssSettings, book: LabelBook, task: AnyTask
) -> Iterator[Value]:
    """The labels of a task as numbers, in the order in which they are asked."""

    def number(verdict: Mapping[str, Any]) -> float:
        return verdict_number(settings, task.name, verdict)

    units = asked(inputs, task)
    if not settings.average or not book.answered_by_people(task):
        return iter(book.labels(task, units).each(number))
    return iter([_average(book, task, one, number) for one in units])


def _average(
    book: LabelBook, task: AnyTask, one: tuple[UnitContent, Place],
    number: Callable[[Mapping[str, Any]], float],
) -> Value:  # fmt: skip
    """The mean of the labels of the people who count on a unit, else the machine's label."""
    numbers = [number(verdict) for _, verdict in book.of_each_person(task, [one])]
    if numbers:
        return sum(numbers) / len(numbers)
    verdict = book.verdict(task, *one)
    return None if verdict is None else number(verdict)
