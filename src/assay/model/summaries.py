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
    """The kind of a line of a summary."""

    OVERVIEW = "overview"
    HEADING = "heading"
    STATEMENT = "statement"


class Document(NamedTuple):
    """An entry of the document list."""

    number: int
    url: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class CitedText:
    """An overview or a statement, with the numbers of the documents that it cites."""

    text: str
    citations: tuple[int, ...] = ()


@dataclass(frozen=True)
class SummarySection:
    """A heading and its statements. ``heading`` is None only in a degraded version (NoHeadings)."""

    heading: str | None
    statements: tuple[CitedText, ...]

    @cached_property
    def text(self) -> str:
        """Heading and statements, one line each."""
        lines = [] if self.heading is None else [self.heading]
        return "\n".join([*lines, *(one.text for one in self.statements)])

    @cached_property
    def content(self) -> str:
        """The normalised text, equal for sections that say the same."""
        return normalised_text(self.text)


class SummaryLine(NamedTuple):
    """A line of a summary; ``section`` is the index of its section, or −1 for the overview."""

    kind: LineKind
    text: str
    citations: tuple[int, ...]
    section: int


@dataclass(frozen=True)
class Summary:
    """One summariser's summary for one query. ``run`` names the summariser. ``overview_last`` means
    that a closing summary takes the place of the overview. ``degraded`` names the degraded version,
    made from the summary of run ``original``. ``repeats`` counts the statements that
    :func:`without_repeats` removed."""

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
        """The lines in reading order (eq. 1): overview, headings and statements; a closing summary
        comes last."""
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
        """The whole summary, one line after another."""
        return "\n".join(line.text for line in self.lines())

    def cited_text(self, citations: tuple[int, ...]) -> str:
        """The texts of the cited documents, joined."""
        return "\n\n".join(self.documents[number].text for number in dict.fromkeys(citations))


_ENDS = " .!?…。"  # marks at the end of a sentence


def normalised_text(text: str) -> str:
    """Normalise a text for comparison: NFKC, case folded, white space collapsed, no final mark."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).rstrip(_ENDS)


def without_repeats(summary: Summary) -> Summary:
    """Keep only the first of statements with the same :func:`normalised_text`. Sections that become
    empty are removed with their heading."""
    seen: set[str] = set()
    sections = []
    repeats = 0
    for section in summary.sections:
        new = []
        for one in section.statements:
            if (text := normalised_text(one.text)) in seen:
                repeats += 1
            else:
                seen.add(text)
                new.append(one)
        if new:
            sections.append(SummarySection(section.heading, tuple(new)))
    return replace(summary, sections=tuple(sections), repeats=repeats)


def without_headings(summary: Summary) -> Summary:
    """The degraded version NoHeadings, without the lines of the headings."""
    sections = tuple(SummarySection(None, one.statements) for one in summary.sections)
    return _version(summary, "NoHeadings", sections)


def without_first_section(summary: Summary) -> Summary:
    """The degraded version NoSection1, without the first section."""
    return _version(summary, "NoSection1", summary.sections[1:])


def _version(summary: Summary, name: str, sections: tuple[SummarySection, ...]) -> Summary:
    run = f"{summary.run} {name}"
    return replace(
        summary, run=run, sections=sections, degraded=name, original=summary.run, repeats=0
    )


class Preference(NamedTuple):
    """A labeller's preference between two summaries of a query. ``test`` says whether the pair
    belongs to the test set, or is None if the file does not say."""

    query: str
    left: str
    right: str
    labeller: str
    left_better: bool
    test: bool | None = None
