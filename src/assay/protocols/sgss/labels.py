"""Which labels a summary needs, and the numbers that they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from assay.labellers.base import Request
from assay.measures.summaries import Labelled, Part, Value
from assay.model.labels import Label, Status
from assay.model.summaries import Cited, Summary, SummarySection
from assay.protocols.labels import LabelBook
from assay.protocols.places import Place
from assay.protocols.sgss.inputs import SgssInputs, SgssSettings
from assay.tasks.base import AnyTask, unit_hash
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
SUPPORTED = {"full": "perfectly", "partial": "partially", "none": "no"}

Content = Mapping[str, Any]


def tasks(settings: SgssSettings) -> tuple[AnyTask, ...]:
    """The tasks that the settings ask for."""
    more = {"comprehensiveness": COMPREHENSIVENESS, "preference": PREFERENCE}
    return (*ASKED, *(more[name] for name in settings.also))


# -- what is asked ------------------------------------------------------------------------------


def sufficiency(summary: Summary) -> Content:
    return {"query": summary.query_text, "overview": summary.overview.text}


def representativeness(summary: Summary) -> Content:
    """Of a degraded version its original's sections: the label is inherited."""
    return {
        "sections": [section.text for section in summary.sections],
        "overview": summary.overview.text,
    }


def faithfulness(summary: Summary, one: Cited) -> Content:
    """The cited documents, taken together, and the text that cites them."""
    return {"passage": summary.cited_text(one.citations), "sentence": one.text}


def heading(section: SummarySection, one: Cited) -> Content:
    return {"heading": section.heading, "statement": one.text}


def statement(summary: Summary, one: Cited) -> Content:
    return {"query": summary.query_text, "statement": one.text}


def preference(inputs: SgssInputs, query: str, one: Summary, other: Summary) -> Content:
    """Two summaries side by side; which one stands left is settled by their texts, evenly."""
    first, second = sorted((one, other), key=lambda s: unit_hash(query, {"text": s.text}))
    return {"query": first.query_text, "left": first.text, "right": second.text}


_OF_STATEMENTS = ("HR", "SRel", "SF")


@dataclass(frozen=True, slots=True)
class Pooled:
    """A section of the pool (eq. 9), by a summary that it comes from and its place there."""

    run: str
    place: int
    section: SummarySection


def pool(inputs: SgssInputs, query: str) -> list[Pooled]:
    """The set of the sections of the summaries of a query that were handed in: what several say
    is in it once. None where the evaluation has one summariser, so that there is nothing to
    compare."""
    if not inputs.comparable:
        return []
    found: dict[str, Pooled] = {}
    for one in inputs.originals(query):
        for place, section in enumerate(one.sections):
            found.setdefault(section.content, Pooled(one.run, place, section))
    return list(found.values())


def covers(inputs: SgssInputs, summary: Summary, one: Pooled) -> Content | None:
    """What is asked to know how relevant the summary is to a pooled section; None where the
    section is its own, which is perfectly relevant to it."""
    original = original_of(inputs, summary)
    own = [section.content for section in original.sections]
    lost = summary.degraded == "NoSection1" and one.section.content == own[0]
    if one.section.content in own and not lost:
        return None
    # A degraded version inherits what was said of its original, but for what it lost.
    shown = summary if lost else original
    return {"section": one.section.text, "summary": shown.text}


def original_of(inputs: SgssInputs, summary: Summary) -> Summary:
    """The summary that a degraded version was made from; itself for others."""
    if summary.original is None:
        return summary
    return inputs.summaries[summary.query][summary.original]


def contents(inputs: SgssInputs, settings: SgssSettings, task: AnyTask) -> Iterator[Content]:
    """Everything that is asked under a task (equal things are asked once)."""
    return (content for _, content in _by_query(inputs, task))


def _by_query(inputs: SgssInputs, task: AnyTask) -> Iterator[tuple[str, Content]]:
    for query, by_run in inputs.summaries.items():
        if task is PREFERENCE:
            for one, other in combinations(inputs.originals(query), 2):
                yield query, preference(inputs, query, one, other)
            continue
        pooled = pool(inputs, query) if task is COVERAGE else []
        for summary in by_run.values():
            yield from ((query, one) for one in _of_summary(inputs, summary, task, pooled))


def _of_summary(
    inputs: SgssInputs, summary: Summary, task: AnyTask, pooled: list[Pooled]
) -> Iterator[Content]:
    if task is SUFFICIENCY:
        yield sufficiency(summary)
    elif task is REPRESENTATIVENESS:
        original = original_of(inputs, summary)
        if original.sections:
            yield representativeness(original)
    elif task is COMPREHENSIVENESS:
        yield {"query": summary.query_text, "summary": original_of(inputs, summary).text}
    elif task is COVERAGE and summary.sections:
        yield from (c for one in pooled if (c := covers(inputs, summary, one)) is not None)
    elif task is SUPPORT and summary.overview.citations:
        yield faithfulness(summary, summary.overview)
    for section in summary.sections:
        for one in section.statements:
            if task is HEADING and section.heading is not None:
                yield heading(section, one)
            elif task is STATEMENT:
                yield statement(summary, one)
            elif task is SUPPORT and one.citations:
                yield faithfulness(summary, one)


def requests(inputs: SgssInputs, settings: SgssSettings, task: AnyTask) -> Iterator[Request]:
    """One request a unit."""
    for query, content in _by_query(inputs, task):
        yield Request(task, task.unit.model_validate(content), topic=query)


# -- what was said ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Judged:
    """A summary with its labels as numbers. ``grades`` are g(S, sec*) over the pool, empty where
    the summary has no sections, None where the evaluation has one summariser alone;
    ``comprehensive`` is the absolute label where it was asked for."""

    summary: Summary
    labels: Labelled[Value]
    grades: tuple[Value, ...] | None
    comprehensive: Value = None


def verdict_number(settings: SgssSettings, task: str, verdict: Content) -> float:
    """What a verdict is worth under the settings."""
    said = SUPPORTED[verdict["support"]] if task == SUPPORT.name else verdict["label"]
    return settings.mapping[said]


@dataclass
class Reader:
    """Looks labels up and maps them to numbers. With ``average`` people's labels are averaged."""

    inputs: SgssInputs
    settings: SgssSettings
    book: LabelBook

    def judged(self, summary: Summary, pooled: list[Pooled]) -> Judged:
        """The labels of one summary."""
        at = (summary.run, summary.query)
        point = self.settings.mapping
        orep: Value = point[self.settings.without_sections]
        original = original_of(self.inputs, summary)
        if original.sections:
            orep = self._value(REPRESENTATIVENESS, representativeness(original), Place(*at, "OR"))
        labels = Labelled(
            os=self._value(SUFFICIENCY, sufficiency(summary), Place(*at, "OS")),
            of=self._faithful(summary, summary.overview, Place(*at, "OF")),
            orep=orep,
            parts=tuple(
                self._part(summary, section, Place(*at, f"section {number}"))
                for number, section in enumerate(summary.sections, 1)
            ),
            overview_last=summary.overview_last,
        )
        comprehensive: Value = None
        if COMPREHENSIVENESS in tasks(self.settings):
            content = {"query": summary.query_text, "summary": original.text}
            comprehensive = self._value(COMPREHENSIVENESS, content, Place(*at, "comprehensiveness"))
        grades: tuple[Value, ...] | None = None
        if self.inputs.comparable:
            grades = tuple(self._grade(summary, one) for one in pooled if summary.sections)
        return Judged(summary, labels, grades, comprehensive)

    def _part(self, summary: Summary, section: SummarySection, place: Place) -> Part[Value]:
        g: list[Value] = []
        srel: list[Value] = []
        sf: list[Value] = []
        for number, one in enumerate(section.statements, 1):
            where = f"{place.position} statement {number}"
            named = {what: place._replace(position=f"{where} {what}") for what in _OF_STATEMENTS}
            if section.heading is not None:
                g.append(self._value(HEADING, heading(section, one), named["HR"]))
            srel.append(self._value(STATEMENT, statement(summary, one), named["SRel"]))
            sf.append(self._faithful(summary, one, named["SF"]))
        return Part(tuple(g), tuple(srel), tuple(sf), heading=section.heading is not None)

    def _faithful(self, summary: Summary, one: Cited, place: Place) -> Value:
        if not one.citations:
            return self.settings.mapping[self.settings.uncited]
        return self._value(SUPPORT, faithfulness(summary, one), place)

    def _grade(self, summary: Summary, one: Pooled) -> Value:
        content = covers(self.inputs, summary, one)
        if content is None:
            return self.settings.mapping["perfectly"]
        position = f"covers {one.run} section {one.place + 1}"
        place = Place(summary.run, summary.query, position)
        return self._value(COVERAGE, content, place)

    def _value(self, task: AnyTask, content: Content, place: Place) -> Value:
        label = self.book.label(task, content, place)
        if self.settings.average:
            said = self._people(task, content)
            if said:
                return sum(said) / len(said)
        if label is None or label.verdict is None:
            return None
        return self.number(label)

    def number(self, label: Label) -> float:
        """A usable label as a number."""
        return verdict_number(self.settings, label.task, label.verdict or {})

    def _people(self, task: AnyTask, content: Content) -> list[float]:
        """What people said of a unit, each person's newest label."""
        if self.book.book is None:
            return []
        newest: dict[str, Label] = {}
        for label in self.book.book.labels(task, unit_hash(task.name, content), content):
            if label.labeller.is_human and label.status is Status.OK:
                newest[label.labeller.name] = label
        return [self.number(label) for label in newest.values()]


def judge_all(
    inputs: SgssInputs, settings: SgssSettings, book: LabelBook
) -> dict[str, dict[str, Judged]]:
    """query → run → labels."""
    reader = Reader(inputs, settings, book)
    found: dict[str, dict[str, Judged]] = {}
    for query, by_run in inputs.summaries.items():
        pooled = pool(inputs, query)
        found[query] = {run: reader.judged(one, pooled) for run, one in by_run.items()}
    return found
