"""``assay retrieve``: from topics to runs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.api.retrieving import Models, RunFormat, search, settings_for
from assay.cli.common import forms, present, remark, takes, tell
from assay.cli.forecast import tallied, why_unusable
from assay.cli.judging import BudgetOption, FetchLines, judging_bar
from assay.model.options import Argument, Option
from assay.protocols.output import require_plain
from assay.systems.retrieval.index import Index
from assay.systems.topics import load_topics

_REASONS = 3  # most reasons shown for unusable replies


@forms("json")
@takes(settings_for, dense="fast", decompose="rrf_k")
def retrieve_command(
    index_folder: Annotated[Path, Argument("INDEX", "Folder made by assay index build.")],
    topics_file: Annotated[
        Path,
        Argument("TOPICS", "R2C2 questions, TREC RAG topics, or questions of the rag protocol."),
    ],
    output: Annotated[
        Path, Option("The run to write; a PR run is named after this file.", flag="-o --output")
    ],
    run_format: Annotated[
        RunFormat, Option("R2C2 PR run, or TREC run of passages or documents.", flag="--format")
    ] = RunFormat.PR,
    *,
    dense: Annotated[
        str, Option("Embedder for the queries (default: the index's).", metavar="SPEC")
    ] = "",
    decompose: Annotated[
        str | None, Option("Model that splits questions into simpler ones.", metavar="SPEC")
    ] = None,
    max_passage_chars: Annotated[
        int | None,
        Option("PR runs: shorten passages to their best part of this many characters.", least=1),
    ] = None,
    ledger_file: Annotated[
        Path | None,
        Option("Ledger for model replies (default: INDEX/labels.sqlite).", flag="--ledger"),
    ] = None,
    budget: BudgetOption = None,
    **options: Any,
) -> None:
    """Retrieve passages of INDEX for TOPICS and write a run.

    Model replies are kept in the ledger: run the same command again to ask only for what is
    missing. Exit status 1 if a model's reply is unusable or missing; those passages keep their
    earlier order.
    """
    require_plain(output)
    settings = settings_for(run_format, **options)
    topics = load_topics(topics_file)
    index = Index(index_folder)
    started = time.perf_counter()
    progress = judging_bar()
    reranker: str | None = options["rerank_with"]
    models = Models(dense, decompose, reranker, ledger_file, budget, progress, FetchLines())
    found = search(index, topics, settings, models)
    seconds = time.perf_counter() - started
    found.write(output, run_format, max_chars=max_passage_chars)
    lists, silent, tally, faults = found.lists, found.silent, found.tally, found.faults
    passages = sum(map(len, lists.values()))
    for line in found.warnings:
        remark(line)

    def people() -> Iterator[str]:
        yield f"{passages:,} passages for {len(lists)} of {len(topics)} topics in {output}"
        if silent:
            yield f"No passages found for {', '.join(silent[:20])}"
        if decompose or reranker:
            yield (
                f"Asked {tally.asked}, known {tally.known}, unusable {found.failed}, missing "
                f"{found.missing}"
            )
        yield from why_unusable(faults, _REASONS)
        tell(f"{seconds:.1f} s, {len(topics) / seconds if seconds else 0:,.1f} topics/s")

    present(
        lambda: {
            "run": str(output),
            "topics": len(topics),
            "without_passages": silent,
            "passages": passages,
            "warnings": found.warnings,
            "unusable_replies": found.failed,
            "why_unusable": dict(faults.most_common()),
            "missing_replies": found.missing,
            **tallied(tally, "asked", "known", "cost", "tokens_cached", "cache_saved"),
            "seconds": seconds,
        },
        people(),
    )
    if found.failed or found.missing:
        raise typer.Exit(1)
