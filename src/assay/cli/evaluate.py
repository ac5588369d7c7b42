"""``assay evaluate``, ``judge``, ``score`` and ``report``: an evaluation folder's commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import RenderableType

from assay.api.hosting import hosting_of
from assay.api.opened import Opened
from assay.api.overview import AGREEMENT_HEADING, uncompared
from assay.api.results import Results, prefix_of
from assay.api.since_scored import beside_before
from assay.cli.common import (
    FORM,
    FolderArgument,
    Paragraph,
    forms,
    present,
    print_json,
    remark,
    say,
    takes,
    tell,
)
from assay.cli.forecast import print_ahead, print_prompts, shard_done, tell_of, why_unusable
from assay.cli.judging import (
    Asking,
    LabellerOption,
    PolicyOption,
    ShowPromptsOption,
    going,
    judging_bar,
    open_folder,
    showing,
)
from assay.cli.screen import out
from assay.judging.batch import MOST_QUESTIONS
from assay.judging.progress import Tally
from assay.model.errors import SettingsError
from assay.model.options import Option
from assay.model.wording import counted
from assay.page.tables import Table
from assay.protocols.label_shares import UNEVEN_WARNING
from assay.protocols.pages import page_of
from assay.protocols.scores import SCORE_COLUMNS, score_document, score_row
from assay.reports.terminal import board_tables

if TYPE_CHECKING:
    from assay.api.correcting import Trusted


@forms("json", "csv")
@takes(Asking)
def evaluate_command(folder: FolderArgument, **options: Any) -> None:
    """Judge what is not judged yet, score, write out/ with its report, and print the leaderboards.

    You can run it again at any time: labels in the ledger are never asked for twice. Exit status 1
    if labels are still missing.
    """
    how = Asking(**options)
    opened = open_folder(folder, how.labeller, how.policy).sharing(how.shard)
    if how.dry_run:
        _print_ahead(opened)
        return
    opened.labellers()  # faults are reported before a ledger is created
    with going() as shown, ExitStack() as elsewhere:
        opened = replace(opened, progress=shown.at)
        hosted = opened.hosted(elsewhere.enter_context(hosting_of(how.on, how.workers)))
        with opened.ledger() as ledger:
            tally = hosted.judge(
                ledger, progress=shown, budget=how.budget, retry_failed=how.retry_failed
            )
            elsewhere.close()  # no more questions are put
            tell_of(tally)
            if how.shard is not None and not tally.stopped and not FORM.get():
                tell(shard_done(how.shard, tally))
            results, files = opened.write(ledger)
            report = opened.write_report(results, ledger=ledger)
            trusted = None if FORM.get() else opened.corrected(ledger)
    _show(results, tally, [*files, report], trusted)


@forms("json")
@takes(Asking, show_prompts="dry_run")
def judge_command(
    folder: FolderArgument,
    *,
    show_prompts: ShowPromptsOption = 0,
    batch_out: Annotated[
        Path | None,
        Option(
            "Write OpenAI batch files instead of asking: FILE.jsonl or FILE.parquet, "
            "FILE-2.jsonl, …",
            flag="--export-batch",
            metavar="FILE",
        ),
    ] = None,
    batch_most: Annotated[
        int, Option("Questions per batch file (at most 200 MB each).", metavar="N", least=1)
    ] = MOST_QUESTIONS,
    batch_in: Annotated[
        list[Path] | None,
        Option(
            "Import the results of a batch file; repeatable.",
            flag="--import-batch",
            metavar="FILE",
        ),
    ] = None,
    **options: Any,
) -> None:
    """Ask labellers for every missing label, and keep each as it arrives.

    To use batch files: export one, run it (with an endpoint's batch service, or vllm run-batch) and
    import the results. Then repeat, because later questions depend on earlier answers.

    To use several machines, give each a --shard. A question is in the same shard everywhere. Steps
    that need labels from other shards wait for them (exit status 1): run the command again when the
    ledger has them.
    """
    how = Asking(**options)
    opened = open_folder(folder, how.labeller, how.policy).sharing(how.shard)
    if batch_out is not None or batch_in:
        if how.dry_run or show_prompts or how.budget is not None:
            raise SettingsError(
                "--dry-run, --show-prompts and --budget do not work with batch files, because "
                "writing one asks nobody. To see what it would cost, run without the batch "
                "options."
            )
        _batch(opened, batch_out, batch_in or (), batch_most, retry_failed=how.retry_failed)
        return
    if show_prompts:
        print_prompts(opened.look_ahead(anew=True).plans, show_prompts)
        return
    if how.dry_run:
        _print_ahead(opened)
        return
    opened.labellers()  # faults are reported before a ledger is created
    with going() as shown, hosting_of(how.on, how.workers) as hosting:
        opened = replace(opened.hosted(hosting), progress=shown.at)
        with opened.ledger(scores=False) as ledger:
            tally = opened.judge(
                ledger, progress=shown, budget=how.budget, retry_failed=how.retry_failed
            )
    tell_of(tally)
    if FORM.get():
        print_json(tally)
    elif how.shard is not None and not tally.stopped:
        tell(shard_done(how.shard, tally))
    if tally.failed or tally.known_failed or tally.unanswered or tally.skipped or tally.waiting:
        raise typer.Exit(1)


@forms("json", "csv")
def score_command(
    folder: FolderArgument,
    policy: PolicyOption = None,
    labeller: LabellerOption = None,
    labels: Annotated[
        Path | None,
        Option(
            "Use a folder written by 'labels export --parquet' instead of the ledger.",
            metavar="LABELS",
        ),
    ] = None,
) -> None:
    """Compute all scores again from the ledger; asks no labeller. Exit status 1 if labels are
    missing."""
    opened = open_folder(folder, labeller, policy)
    before = opened.manifests()
    with showing(opened) as seen, seen.labels(labels) as ledger:
        results, files = seen.write(ledger, whole=False)
        trusted = None if FORM.get() else opened.corrected(ledger)
    beside = [
        f"{prefix_of(name, opened.parts)}{found}"
        for name, now in opened.manifests().items()
        if (found := beside_before(before[name], now))
    ]
    _show(results, None, files, trusted, beside)


@forms()
def report_command(
    folder: FolderArgument, policy: PolicyOption = None, labeller: LabellerOption = None
) -> None:
    """Write out/ with its report from the ledger; asks no labeller."""
    opened = open_folder(folder, labeller, policy)
    with showing(opened) as seen, seen.ledger(create=False, by_index=False) as ledger:
        results, _ = seen.write(ledger)
        report = seen.write_report(results, ledger=ledger)
    say(f"Report: {report}")
    raise typer.Exit(1 if results.missing else 0)


# -- judging ------------------------------------------------------------------------------------


def _print_ahead(opened: Opened) -> None:
    outlook = opened.look_ahead()
    print_ahead(outlook.plans, notes=[*outlook.repeats, *filter(None, [outlook.note])])


def _batch(
    opened: Opened,
    batch_out: Path | None,
    batch_in: Sequence[Path],
    batch_most: int,
    *,
    retry_failed: bool,
) -> None:
    """Import results, if any, then export the questions that can be asked now."""
    document: dict[str, Any] = {}
    lines: list[str] = []
    with opened.ledger(scores=False) as ledger:
        if batch_in:
            taken = opened.import_batch(ledger, *batch_in, retry_failed=retry_failed)
            document["imported"] = taken
            lines.append(
                f"{taken.added} labels added, {taken.failed} of them unusable; {taken.known} were "
                f"already known, {taken.unanswered} not answered, {taken.unasked} not asked for."
            )
            lines += why_unusable(taken.errors)
        if batch_out is not None:
            made = opened.export_batch(
                ledger,
                batch_out,
                progress=judging_bar(),
                retry_failed=retry_failed,
                most=batch_most,
            )
            files = [str(path) for path in made.files]
            document |= {"exported": made.count, "left_out": dict(made.left_out), "files": files}
            last = f" to {files[-1]} ({counted(len(files), 'file')})" if len(files) > 1 else ""
            lines.append(f"{counted(made.count, 'question')} written to {files[0]}{last}")
            lines += (
                f"  {count} for {name} are left out, because batch files are for endpoints; "
                "'assay judge' without a batch file asks them."
                for name, count in made.left_out.items()
            )
    present(lambda: document, lines)


# -- results ------------------------------------------------------------------------------------


def _show(
    results: Results,
    tally: Tally | None,
    files: list[Path],
    trusted: Trusted | None,
    beside: Sequence[str] = (),
) -> None:
    def people() -> Iterator[RenderableType | Table | Paragraph | str]:
        if trusted is not None:
            from assay.api.corrected_tables import corrected_tables  # noqa: PLC0415 (as in opened)

            yield from (table for table, _ in corrected_tables(trusted))
            yield Paragraph(
                f"Corrected scores are based on: {trusted.basis}. 'assay trust' has all."
            )
        yield from _tables(results)
        last = files[-1]
        page = last.suffix == ".html"
        yield f"{'Report' if page else 'Files'}: {last if page else last.parent}"
        for one in beside:
            yield Paragraph(f"• {one}.")

    present(
        lambda: {
            "policy": results.policy,
            "labellers": results.labellers,
            "judging": tally,
            "scores": [*map(score_document, results.scores)],
            "to_compare": [*map(score_document, results.comparable.scores)]
            if results.uneven
            else None,
            **results.document,
            "stands_on": results.stands_on,
            "missing": results.missing,
            "warnings": list(results.warnings),
            "files": [str(path) for path in files],
        },
        people(),
        (SCORE_COLUMNS, map(score_row, results.scores)),
    )
    if results.uneven and FORM.get():
        tell(UNEVEN_WARNING)
    if not FORM.get():
        for warning in results.warned("The report lists all."):
            remark(warning)
    if results.missing:
        tell(f"{results.missing} {results.missing_what} have no usable label; {results.cures}")
        raise typer.Exit(1)


def _tables(results: Results) -> Iterator[RenderableType | Table | Paragraph | str]:
    """The leaderboards of every protocol and, if there are several, their agreement."""
    for one in results.by_protocol.values():
        yield from board_tables(page_of(one, sections=False), out().width)
    if not results.scores:
        yield Paragraph("No run was scored: [inputs] names none that this protocol scores.")
    if results.several:
        found = results.agreements
        rows = [one.row for one in found if one.runs > 1]
        yield Table("How the leaderboards agree", AGREEMENT_HEADING, rows)
        if alone := len(found) - len(rows):
            yield uncompared(alone, len(found))
