"""Structured summaries, preferences between them, and observed abandonment.

Summaries: JSON Lines, one summary of one query a line: ``{query_id, query, summariser, overview
{text, citations}, sections [{heading, statements [{text, citations}]}], doclist [{number, url,
title, text}], overview_position?}``. Preferences: a table (CSV or TSV) with the columns
``query_id, left, right, labeller, preference`` (LEFT or RIGHT), and ``split`` (train or test).
Abandonment: a table with ``line, count``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.formats.cells import read_columns
from assay.formats.jsonl import one_id, read_values
from assay.formats.parsed import FaultList
from assay.formats.text import SourceText, reads_file
from assay.model.summaries import CitedText, Document, Preference, Summary, SummarySection
from assay.model.wording import quoted

_PREFERENCES = ("query_id", "left", "right", "labeller", "preference")


@reads_file
def read_summaries(source: SourceText, faults: FaultList) -> tuple[Summary, ...]:
    """Read summaries."""
    found: list[Summary] = []
    seen: dict[tuple[str, str], int] = {}
    for number, row in read_values(source, faults, "Write one summary per line."):
        made = _SummaryReader(faults, number).read(row)
        if made is None:
            continue
        first = seen.setdefault((made.query, made.run), number)
        if first != number:
            faults.error(
                number,
                f"{quoted(made.run)} has a summary of this query on line {first}.",
                "Keep one of the two.",
                made.query,
            )
            continue
        found.append(made)
    if not found and not faults.faulty:
        faults.error(0, "There are no summaries.", "Is this the right file?")
    return tuple(found)


class _SummaryReader:
    """Reader of one summary, which reports all of its faults."""

    def __init__(self, faults: FaultList, number: int) -> None:
        self._faults = faults
        self._number = number
        self._query: str | None = None
        self._wrong = False

    def _error(self, why: str, cure: str) -> None:
        self._wrong = True
        self._faults.error(self._number, why, cure, self._query)

    def _warn(self, why: str, cure: str = "") -> None:
        self._faults.warning(self._number, why, cure, self._query)

    def _string(self, row: Mapping[str, Any], name: str, where: str) -> str:
        value = row.get(name)
        if isinstance(value, str) and value.strip():
            return value.strip()
        self._error(f"{where} has no '{name}'.", "Write a text that is not empty.")
        return ""

    def read(self, row: Any) -> Summary | None:
        if not isinstance(row, dict):
            self._error("This is not a JSON object.", "Write {query_id, query, summariser, …}.")
            return None
        query = one_id(row, "query_id") or self._string(row, "query_id", "The summary")
        self._query = query or None
        text = self._string(row, "query", "The summary")
        run = self._string(row, "summariser", "The summary")
        documents = self._documents(row.get("doclist"))
        overview = self._cited(row.get("overview"), "The overview", documents)
        position = row.get("overview_position", "start")
        if position not in ("start", "end"):
            self._error("'overview_position' is neither start nor end.", "Leave it out for start.")
        if position == "end":
            self._warn("A closing summary takes the overview's place, as the last line.")
        sections = row.get("sections", [])
        if not isinstance(sections, list):
            self._error("'sections' is not a list.", "Write [{heading, statements}], or [].")
            sections = []
        made = tuple(
            one
            for place, section in enumerate(sections, 1)
            if (one := self._section(section, f"Section {place}", documents)) is not None
        )
        if not sections:
            self._warn("There are no sections: Comp, HR, SRel and SF are 0.")
        if self._wrong or overview is None:
            return None
        return Summary(
            query, text, run, overview, made, documents, position == "end", line=self._number
        )

    def _documents(self, rows: Any) -> dict[int, Document]:
        if rows is None:
            rows = []
        if not isinstance(rows, list):
            self._error("'doclist' is not a list.", "Write [{number, url, title, text}].")
            return {}
        found: dict[int, Document] = {}
        for place, row in enumerate(rows, 1):
            number = row.get("number") if isinstance(row, dict) else None
            if isinstance(number, bool) or not isinstance(number, int):
                self._error(
                    f"Entry {place} of the doclist has no 'number'.", "Give a whole number."
                )
                continue
            if number in found:
                self._error(f"The doclist has two documents {number}.", "Number them differently.")
                continue
            text = row.get("text")
            if not isinstance(text, str) or not text.strip():
                self._error(f"Document {number} has no 'text'.", "Faithfulness is judged by it.")
                continue
            url, title = (str(row.get(name) or "") for name in ("url", "title"))
            found[number] = Document(number, url, title, text)
        return found

    def _cited(self, row: Any, where: str, documents: Mapping[int, Document]) -> CitedText | None:
        if not isinstance(row, dict):
            why = "is missing" if row is None else "is not an object"
            self._error(f"{where} {why}.", "Write {text, citations}.")
            return None
        text = self._string(row, "text", where)
        citations = row.get("citations") or []
        if not isinstance(citations, list) or not all(
            isinstance(one, int) and not isinstance(one, bool) for one in citations
        ):
            self._error(f"{where}: 'citations' is not a list of numbers.", "Write [1, 2].")
            return None
        unknown = [one for one in citations if one not in documents]
        if unknown:
            self._error(
                f"{where} cites {', '.join(map(str, unknown))}, which the doclist lacks.",
                "Add the document, or take the citation out.",
            )
            return None
        return CitedText(text, tuple(dict.fromkeys(citations)))

    def _section(
        self, row: Any, where: str, documents: Mapping[int, Document]
    ) -> SummarySection | None:
        if not isinstance(row, dict):
            self._error(f"{where} is not an object.", "Write {heading, statements}.")
            return None
        heading: str | None = None
        # null means that the section has no heading; a missing key is a mistake.
        if row.get("heading") is not None or "heading" not in row:
            heading = self._string(row, "heading", where)
        statements = row.get("statements")
        if not isinstance(statements, list) or not statements:
            self._error(f"{where} has no statements.", "A section has at least one.")
            return None
        made = [
            self._cited(one, f"{where}, statement {place}", documents)
            for place, one in enumerate(statements, 1)
        ]
        return SummarySection(heading, tuple(one for one in made if one is not None))


@reads_file
def read_preferences(source: SourceText, faults: FaultList) -> tuple[Preference, ...]:
    """Read preferences. A labeller's second preference on the same pair is a fault."""
    rows = read_columns(source.lines, _PREFERENCES, faults)
    found: dict[tuple[str, str, str, str], Preference] = {}
    for number, row in rows:
        query, left, right, who = (row[name] for name in _PREFERENCES[:4])
        preferred = row["preference"].upper()
        split = row.get("split", "").casefold()
        if preferred not in ("LEFT", "RIGHT"):
            faults.error(
                number, f"{quoted(row['preference'])} is not a preference.", "Write LEFT or RIGHT.",
                query,
            )  # fmt: skip
            continue
        if split not in ("", "train", "test"):
            faults.error(number, f"{quoted(split)} is not a split.", "Write train or test.", query)
            continue
        if not all((query, left, right, who)) or left == right:
            faults.error(
                number, "A cell is empty, or both sides are the same.", "Fill it in.", query or None
            )
            continue
        pair = (query, *sorted((left, right)), who)
        if pair in found:
            faults.error(number, f"{quoted(who)} has already judged this pair.", "Keep one.", query)
            continue
        test = None if not split else split == "test"
        found[pair] = Preference(query, left, right, who, preferred == "LEFT", test)  # type: ignore[index]
    return tuple(found.values())


@reads_file
def read_abandonment(source: SourceText, faults: FaultList) -> tuple[float, ...]:
    """Read how many users left at each line: the counts of lines 1, 2, …, 0 for lines that the
    file does not name."""
    counts: dict[int, float] = {}
    for number, row in read_columns(source.lines, ("line", "count"), faults):
        try:
            line, count = int(row["line"]), float(row["count"])
        except ValueError:
            line, count = 0, -1.0
        if line < 1 or not 0 <= count < float("inf"):
            faults.error(number, "A line below 1, or a count below 0.", "Write line,count.")
        elif line in counts:
            faults.error(number, f"Line {line} is listed twice.", "Add the counts up.")
        else:
            counts[line] = count
    if not any(counts.values()):
        faults.error(0, "No user left anywhere.", "Give a count above 0.")
    most = max(counts, default=0)
    return tuple(counts.get(line, 0.0) for line in range(1, most + 1))
