"""The formats of SGSS for ``assay validate``."""

from __future__ import annotations

from collections.abc import Sequence

from assay.formats.summaries import read_preferences, read_summaries
from assay.formats.validate import Format, counted_by
from assay.model.summaries import Summary


def _counts(found: Sequence[Summary]) -> dict[str, int]:
    return {
        "queries": len({one.query for one in found}),
        "summaries": len(found),
        "lines": sum(len(list(one.lines())) for one in found),
    }


FORMATS = (
    Format(
        "summaries",
        "SGSS structured summaries: JSON Lines {query_id, query, summariser, overview, …}",
        counted_by(read_summaries, _counts),
        lambda source: '"summariser"' in source.first_line and '"overview"' in source.first_line,
    ),
    Format(
        "preferences",
        "SGSS preferences: query_id,left,right,labeller,preference[,split]",
        counted_by(read_preferences, lambda found: {"preferences": len(found)}),
        lambda source: source.first_line.casefold().startswith(
            ("query_id,left,", "query_id\tleft\t")
        ),
    ),
)
