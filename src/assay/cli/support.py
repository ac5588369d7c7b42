"""``assay support``: weighted precision and recall from files of support labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from assay.cli.answer_scores import (
    TOPICS_HELP,
    chosen_topics,
    read_all,
    refuse_twice,
    show,
    tell,
)
from assay.cli.common import CsvOption, JsonOption
from assay.formats.trec_rag_support import read_support
from assay.measures.support import Citations
from assay.protocols.trec_rag.scoring import support_counts, support_sheet


def support_command(
    files: Annotated[
        list[Path], typer.Argument(metavar="LABELS...", help="Support labels, JSON Lines.")
    ],
    citations: Annotated[
        str,
        typer.Option(
            "--citations",
            help="Which citations of a sentence count: the 'first' (the track's rule), or 'all' "
            "that are judged, by their mean.",
        ),
    ] = "first",
    topics: Annotated[str, typer.Option("--topics", help=TOPICS_HELP)] = "all",
    per_topic: Annotated[
        bool, typer.Option("--per-topic", help="Single topics too, not only the mean.")
    ] = False,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Weighted precision and recall of answers whose citations are labelled.

    Full support counts 1, partial 0.5, none 0; the hard measures count full support only. A
    sentence without citations counts 0 in recall; an unjudged one (-1) leaves both. An answer that
    cites nothing counts 0. Where a label is missing (null), a score lies between two ends: none and
    full support.
    """
    if citations not in ("first", "all"):
        raise typer.BadParameter("must be 'first' or 'all'", param_hint="--citations")
    over = chosen_topics(topics)
    answers = read_all(files, read_support)
    refuse_twice(answers, files)
    sheet, found = support_sheet(answers, cast("Citations", citations))
    tell(sheet, over)
    totals = support_counts(found)
    shown = ["uncited", "unjudged"]
    if any(one["missing"] for one in totals.values()):
        shown.append("missing")
    document: dict[str, Any] = {"citations": citations, "counts": totals}
    which = "its first citation" if citations == "first" else "the mean of its judged citations"
    show(
        "Support",
        sheet,
        over,
        per_topic=per_topic,
        as_json=as_json,
        as_csv=as_csv,
        said=f"A sentence is worth {which}; unjudged sentences leave the scores.",
        document=document,
        counts=lambda run: [(name, str(totals[run][name])) for name in shown],
    )
