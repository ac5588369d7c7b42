"""SGSS's own files of ``out/``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from assay.measures.summaries import lines_read
from assay.protocols.output import csv_bytes
from assay.protocols.sgss.inputs import SgssSettings
from assay.protocols.sgss.meta import Compared, group, preference_scores
from assay.protocols.sgss.scoring import LABELS, SCORES, Scored

SUMMARY_COLUMNS = (
    "query", "run", "original", "degraded", "sections", "lines", *SCORES, *LABELS,
    "comprehensive", "flags",
)  # fmt: skip


def own_files(
    scored: Mapping[str, Mapping[str, Scored]], compared: Compared, settings: SgssSettings
) -> dict[str, bytes]:
    """Name under ``out/`` → bytes."""
    files = {
        "summaries.csv": csv_bytes(SUMMARY_COLUMNS, _summaries(scored)),
        "lines.csv": csv_bytes(("query", "run", "line", "kind", "x", "text"), _lines(scored)),
    }
    if compared:
        files["preferences.csv"] = csv_bytes(
            ("query", "left", "right", "part", "left_better", "labels", "difference", "AR"),
            (
                (
                    pair.query,
                    pair.left,
                    pair.right,
                    group(pair),
                    pair.left_better,
                    pair.labels,
                    difference,
                    rate,
                )
                for pair, difference, rate in compared
            ),
        )
        columns = ("part", "MAR", "low", "high", "pairs", "labels", "missing")
        files["mar.csv"] = csv_bytes(
            columns,
            ([row[name] for name in columns] for row in preference_scores(compared, settings)),
        )
    return files  # fmt: skip


def _summaries(scored: Mapping[str, Mapping[str, Scored]]) -> Iterator[tuple[object, ...]]:
    for query, by_run in scored.items():
        for run, one in by_run.items():
            summary = one.judged.summary
            flags = [
                name
                for name, true in (
                    ("no sections", not summary.sections),
                    ("nothing to compare with", bool(summary.sections) and not one.judged.grades),
                    ("covers nothing", bool(one.judged.grades) and one.values["Comp"] == 0),
                    ("overview last", summary.overview_last),
                )
                if true
            ]
            yield (
                query, run, summary.original, summary.degraded, len(summary.sections),
                lines_read(len(one.x)), *(one.values[name] for name in SCORES),
                *(one.labels[name] for name in LABELS), one.judged.comprehensive,
                "; ".join(flags),
            )  # fmt: skip


def _lines(scored: Mapping[str, Mapping[str, Scored]]) -> Iterator[tuple[object, ...]]:
    for query, by_run in scored.items():
        for run, one in by_run.items():
            for place, (line, x) in enumerate(
                zip(one.judged.summary.lines(), one.x, strict=True), 1
            ):
                yield (query, run, place, line.kind.value, x, line.text)
