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
"""Counts that get a column even if they are 0 for all."""

TopicsOption = Annotated[
    Topics,
    Option(
        "Take means over 'all' topics of the label files, counting 0 if the run does not answer, "
        "or over the topics 'answered' by the run."
    ),
]


def show(title: str, found: LabelScores, said: str, *, per_topic: bool) -> None:
    """Print the scores; exit status 1 if labels are missing."""
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
    over = (
        f"all topics of the labels ({len(found.sheet.topics)}), counting 0 if a run does not answer"
    )
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
            "Which citations of a sentence count: only the 'first' (the track's rule), or the "
            "mean of 'all' that are judged."
        ),
    ] = "first",
    topics: TopicsOption = "all",
    per_topic: PerTopicOption = False,
) -> None:
    """Compute weighted precision and recall of answers from labelled citations.

    Full support counts 1, partial 0.5, none 0; the hard measures count only full support. A
    sentence without citations counts 0 in recall; an unjudged one (-1) is left out of both. An
    answer that cites nothing counts 0. If a label is missing (null), a score is a range from no
    support to full support.
    """
    which = "its first citation" if citations == "first" else "the mean of its judged citations"
    show(
        "Support",
        support_scores(files, citations, topics, remark),
        f"A sentence counts as {which}; unjudged sentences are left out.",
        per_topic=per_topic,
    )
