"""SGSS's own files in ``out/``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from assay.measures.summaries import lines_read
from assay.protocols.output import FileData, csv_bytes, csv_lines
from assay.protocols.sgss.inputs import SgssSettings
from assay.protocols.sgss.preferences import Compared, preference_scores
from assay.protocols.sgss.scoring import LABELS, SCORES, ScoredSummary, covers_nothing

SUMMARY_COLUMNS = (
    "query", "run", "original", "degraded", "sections", "lines", *SCORES, *LABELS,
    "comprehensive", "flags",
)  # fmt: skip
LINE_COLUMNS = ("query", "run", "line", "kind", "x", "text", "floor", "ceiling")


def own_files(
    scored: Mapping[str, Mapping[str, ScoredSummary]], compared: Compared, settings: SgssSettings
) -> dict[str, FileData]:
    """Name under ``out/`` → data. A value that depends on a missing label is empty."""
    files: dict[str, FileData] = {
        "summaries.csv": csv_bytes(SUMMARY_COLUMNS, _summaries(scored)),
        "lines.csv": lambda: csv_lines(LINE_COLUMNS, _lines(scored)),
    }
    if compared:
        files["preferences.csv"] = csv_bytes(
            (
                *("query", "left", "right", "part", "left_better", "labels", "difference", "AR"),
                *("difference_floor", "difference_ceiling", "AR_floor", "AR_ceiling"),
            ),
            (
                (
                    pair.query,
                    pair.left,
                    pair.right,
                    pair.part,
                    pair.left_better,
                    pair.labels,
                    difference and difference.value,
                    rate and rate.value,
                    *(difference or (None, None)),
                    *(rate or (None, None)),
                )
                for pair, difference, rate in compared
            ),
        )
        rows = preference_scores(compared, settings)
        files["mar.csv"] = csv_bytes(tuple(rows[0]), (tuple(row.values()) for row in rows))
    return files


def _summaries(scored: Mapping[str, Mapping[str, ScoredSummary]]) -> Iterator[tuple[object, ...]]:
    for query, by_run in scored.items():
        for run, one in by_run.items():
            summary = one.judged.summary
            flags = [
                name
                for name, true in (
                    ("no sections", not summary.sections),
                    ("covers nothing", covers_nothing(one)),
                    ("overview last", summary.overview_last),
                )
                if true
            ]
            ends = (*(one.values[name] for name in SCORES), *(one.labels[name] for name in LABELS))
            yield (
                query, run, summary.original, summary.degraded, len(summary.sections),
                lines_read(len(one.x)), *(found and found.value for found in ends),
                one.judged.comprehensive, "; ".join(flags),
            )  # fmt: skip


def _lines(scored: Mapping[str, Mapping[str, ScoredSummary]]) -> Iterator[tuple[object, ...]]:
    for query, by_run in scored.items():
        for run, one in by_run.items():
            lines = zip(one.judged.summary.lines(), one.x, strict=True)
            for place, (line, x) in enumerate(lines, 1):
                yield query, run, place, line.kind.value, x.value, line.text, x.floor, x.ceiling
