"""``assay support``: weighted precision and recall from files of support labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer

from assay.api.label_scores import Citations, LabelScores, support_scores
from assay.cli.common import Paragraph, PerTopicOption, forms, present, remark
from assay.model.options import Argument, Option
from assay.page.tables import Table, Value
from assay.protocols.scores import VALUE_COLUMNS
from assay.protocols.sheets import Topics
from assay.reports.leaderboards import rank_texts

_ALWAYS = ("uncited", "unjudged")
"""Counts that have a column even where they are 0 for all."""

TopicsOption = Annotated[
    Topics,
    Option(
        "What the mean is taken over: 'all' topics of the label files, 0 where the run is silent, "
        "or the topics 'answered' by the run."
    ),
]


def show(title: str, found: LabelScores, said: str, *, per_topic: bool) -> None:
    """Print the scores; exit status 1 where labels are missing."""
    for line in found.remarks():
        remark(line)
    present(
        lambda: found.document(per_topic=per_topic),
        _people(title, found, said, per_topic=per_topic),
        (VALUE_COLUMNS, found.rows(per_topic=per_topic)),
    )
    if found.missing:
        raise typer.Exit(1)


def _people(title: str, found: LabelScores, said: str, *, per_topic: bool) -> Iterator[Table | str]:
    axes = groupby(found.sheet.measures, lambda name: ":" in name)
    for part, (_, measures) in enumerate(axes):
        counts = {} if part or per_topic else found.counts
        shown = f"{title}, continued" if part else title
        yield _table(shown, tuple(measures), found, counts, per_topic=per_topic)
    over = f"all topics of the labels ({len(found.sheet.topics)}), 0 where a run is silent"
    if found.topics == "answered":
        over = "the topics that each run answers"
    yield Paragraph(f"Means over {over}. {said}")


def _table(
    title: str,
    measures: tuple[str, ...],
    found: LabelScores,
    counts: Mapping[str, Mapping[str, int]],
    *,
    per_topic: bool,
) -> Table:
    kinds = [
        kind
        for kind in (found.shown if counts else ())
        if kind in _ALWAYS or any(one[kind] for one in counts.values())
    ]
    rows: list[tuple[Value, ...]] = []
    for run, rank in rank_texts(found.ranks()).items():
        means = (found.means[run][name].ends for name in measures)
        topic = ("all",) if per_topic else ()
        rows.append((rank, run, *topic, *means, *(counts[run][kind] for kind in kinds)))
        if per_topic:
            single = found.sheet.completed(run, found.topics)
            for name in single[measures[0]]:
                rows.append(("", "", name, *(single[measure][name] for measure in measures)))
    columns = ("#", "run", *(("topic",) if per_topic else ()), *measures, *kinds)
    return Table(title, columns, rows, digits=4, numbers=frozenset("#"))


@forms("json", "csv")
def support_command(
    files: Annotated[list[Path], Argument("LABELS...", "Support labels, JSON Lines.")],
    citations: Annotated[
        Citations,
        Option(
            "Which citations of a sentence count: the 'first' (the track's rule), or 'all' "
            "that are judged, by their mean."
        ),
    ] = "first",
    topics: TopicsOption = "all",
    per_topic: PerTopicOption = False,
) -> None:
    """Weighted precision and recall of answers whose citations are labelled.

    Full support counts 1, partial 0.5, none 0; the hard measures count full support only. A
    sentence without citations counts 0 in recall; an unjudged one (-1) leaves both. An answer that
    cites nothing counts 0. Where a label is missing (null), a score lies between two ends: none and
    full support.
    """
    which = "its first citation" if citations == "first" else "the mean of its judged citations"
    show(
        "Support",
        support_scores(files, citations, topics, remark),
        f"A sentence is worth {which}; unjudged sentences leave the scores.",
        per_topic=per_topic,
    )
