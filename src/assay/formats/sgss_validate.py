"""The formats of SGSS for ``assay validate``."""

from __future__ import annotations

from pathlib import Path

from assay.formats.summaries import read_preferences, read_summaries
from assay.formats.text import SourceText
from assay.formats.validate import Checked, Format, Given


def _check_summaries(path: Path, given: Given) -> Checked:
    parsed = read_summaries(path)
    found = parsed.value or ()
    counts = {
        "queries": len({one.query for one in found}),
        "summaries": len(found),
        "lines": sum(len(list(one.lines())) for one in found),
    }
    return Checked(parsed.faults, counts)


def _check_preferences(path: Path, given: Given) -> Checked:
    parsed = read_preferences(path)
    return Checked(parsed.faults, {"preferences": len(parsed.value or ())})


def _first(source: SourceText) -> str:
    return next((line for line in source.lines if line.strip()), "")


FORMATS = (
    Format(
        "summaries",
        "SGSS structured summaries: JSON Lines {query_id, query, summariser, overview, …}",
        _check_summaries,
        lambda source: '"summariser"' in _first(source) and '"overview"' in _first(source),
    ),
    Format(
        "preferences",
        "SGSS preferences: query_id,left,right,labeller,preference[,split]",
        _check_preferences,
        lambda source: _first(source).casefold().startswith(("query_id,left,", "query_id\tleft\t")),
    ),
)
