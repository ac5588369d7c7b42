"""Structured generative search summaries (SGSS): an overview, sections, and the documents cited.

Source: Sakai et al., Plans for evaluating structured generative search summaries (2026), figure 1.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple


class LineKind(StrEnum):
    """What a line of a summary is."""

    OVERVIEW = "overview"
    HEADING = "heading"
    STATEMENT = "statement"


class Document(NamedTuple):
    """An entry of the doclist."""

    number: int
    url: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class CitedText:
    """A text with the numbers of the documents that it cites: an overview, or a statement."""

    text: str
    citations: tuple[int, ...] = ()


@dataclass(frozen=True)
class SummarySection:
    """A heading and its statements. ``heading`` is None only in a degraded version (NoHeadings)."""

    heading: str | None
    statements: tuple[CitedText, ...]

    @cached_property
    def text(self) -> str:
        """Heading and statements, a line each."""
        lines = [] if self.heading is None else [self.heading]
        return "\n".join([*lines, *(one.text for one in self.statements)])

    @cached_property
    def content(self) -> str:
        """What two sections that say the same have in common."""
        return said(self.text)


class SummaryLine(NamedTuple):
    """A line: its kind, its text and citations, and the section that it belongs to (−1: none)."""

    kind: LineKind
    text: str
    citations: tuple[int, ...]
    section: int


@dataclass(frozen=True)
class Summary:
    """One summariser's summary for one query. ``run`` names the summariser; ``overview_last``
    is a closing summary in the overview's place; ``degraded`` names how a version was made from
    the summary of ``original``. ``repeats`` counts the statements that :func:`without_repeats` left
    out."""

    query: str
    query_text: str
    run: str
    overview: CitedText
    sections: tuple[SummarySection, ...]
    documents: Mapping[int, Document]
    overview_last: bool = False
    degraded: str | None = None
    original: str | None = None
    line: int = 0
    repeats: int = 0

    def lines(self) -> Iterator[SummaryLine]:
        """The lines in reading order (eq. 1): the overview, then every heading and statement; a
        closing summary comes last."""
        overview = SummaryLine(LineKind.OVERVIEW, self.overview.text, self.overview.citations, -1)
        if not self.overview_last:
            yield overview
        for place, section in enumerate(self.sections):
            if section.heading is not None:
                yield SummaryLine(LineKind.HEADING, section.heading, (), place)
            for one in section.statements:
                yield SummaryLine(LineKind.STATEMENT, one.text, one.citations, place)
        if self.overview_last:
            yield overview

    @cached_property
    def text(self) -> str:
        """The whole summary, a line each."""
        return "\n".join(line.text for line in self.lines())

    def cited_text(self, citations: tuple[int, ...]) -> str:
        """The texts of cited documents, taken together."""
        return "\n\n".join(self.documents[number].text for number in dict.fromkeys(citations))


_ENDS = " .!?…。"
"""Marks after which nothing is said."""


def said(text: str) -> str:
    """What texts that say the same have in common: case, spaces and the mark at the end aside."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).rstrip(_ENDS)


def without_repeats(summary: Summary) -> Summary:
    """The summary with each statement where it is said first (:func:`said`). A section
    of which nothing is left goes with its heading."""
    before: set[str] = set()
    sections = []
    repeats = 0
    for section in summary.sections:
        new = []
        for one in section.statements:
            if (text := said(one.text)) in before:
                repeats += 1
            else:
                before.add(text)
                new.append(one)
        if new:
            sections.append(SummarySection(section.heading, tuple(new)))
    return replace(summary, sections=tuple(sections), repeats=repeats)


def without_headings(summary: Summary) -> Summary:
    """The version NoHeadings: the lines of the headings are gone."""
    sections = tuple(SummarySection(None, one.statements) for one in summary.sections)
    return _version(summary, "NoHeadings", sections)


def without_first_section(summary: Summary) -> Summary:
    """The version NoSection1."""
    return _version(summary, "NoSection1", summary.sections[1:])


def _version(summary: Summary, name: str, sections: tuple[SummarySection, ...]) -> Summary:
    run, of = f"{summary.run} {name}", summary.run
    return replace(summary, run=run, sections=sections, degraded=name, original=of, repeats=0)


class Preference(NamedTuple):
    """A labeller's word on which of two summaries of a query is better: ``left_better``.
    ``test`` says whether the pair belongs to the test part, None where the file does not say."""

    query: str
    left: str
    right: str
    labeller: str
    left_better: bool
    test: bool | None = None
