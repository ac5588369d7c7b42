"""``assay answer``: from passages to answers with confidence, or with citations."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.text import Text

from assay.api.answer_options import AnswerOptions
from assay.api.answering import Answered, Answering, ledger_beside
from assay.api.prompts_compared import PromptsCompared
from assay.api.telling import ProgressLines
from assay.cli.common import forms, present, remark, takes
from assay.cli.forecast import done_in_words, print_ahead, print_prompts, tallied
from assay.cli.judging import (
    BudgetOption,
    DryRunOption,
    FetchLines,
    JudgingBar,
    PriceOption,
    RetryOption,
    ShowPromptsOption,
    is_quiet,
)
from assay.cli.screen import err, writes_over
from assay.judging.progress import Progress as Judging
from assay.judging.progress import SilentProgress
from assay.labellers.base import Outcome, Request
from assay.model.options import Argument, Option
from assay.model.wording import counted
from assay.page.tables import Table
from assay.systems.reply_lines import Teller
from assay.systems.topics import load_topics
from assay.systems.writers import WRITER_HELP


@forms("json")
@takes(AnswerOptions, compare_prompts="steps")
def answer_command(
    topics_file: Annotated[
        Path,
        Argument("TOPICS", "R2C2 questions, TREC RAG topics, or questions of the rag protocol."),
    ],
    output: Annotated[
        Path,
        Option("The run to write; the file's name becomes the run's name.", flag="-o --output"),
    ],
    model: Annotated[str, Option(f"{WRITER_HELP}.", metavar="SPEC")],
    *,
    compare_prompts: Annotated[
        bool,
        Option("r2c2: write both the run and NAME-STEPS beside it, and print them side by side."),
    ] = False,
    ledger_file: Annotated[
        Path | None,
        Option("Ledger for the model's replies (default: beside the run).", flag="--ledger"),
    ] = None,
    price: PriceOption = None,
    budget: BudgetOption = None,
    dry_run: DryRunOption = False,
    show_prompts: ShowPromptsOption = 0,
    retry_failed: RetryOption = False,
    **flags: Any,
) -> None:
    """Have a model answer TOPICS from passages, and write a run that passes assay validate.

    Unusable parts of the model's output (a nugget of no passage, a citation of nothing) are counted
    and kept beside the run in NAME.unusable.jsonl. NAME.manifest.json says what the run was made
    from.

    Replies are kept in the ledger: run the same command again to ask only for what is missing. Exit
    status 1 if a topic has no answer.
    """
    options = AnswerOptions(**flags)
    if options.steps and compare_prompts:
        raise typer.BadParameter("--compare-prompts already includes --steps: leave out --steps")
    topics = load_topics(topics_file)

    def job_of(run: Path, how: AnswerOptions) -> Answering:
        return Answering.of(
            topics, run, how, model, price=price, budget=budget, fetching=FetchLines()
        )

    jobs = [job_of(output, options)]
    if compare_prompts:
        beside = output.with_name(f"{output.stem}-STEPS{output.suffix}")
        jobs.append(job_of(beside, replace(options, steps=True)))
    path = None if show_prompts else ledger_file or ledger_beside(output)
    if show_prompts or dry_run:
        forecasts = [one.look_ahead(path, retry_failed=retry_failed) for one in jobs]
        plans = [plan for some, _ in forecasts for plan in some]
        if show_prompts:
            print_prompts(plans, show_prompts)
            return
        assumed = sum(count for _, count in forecasts)
        note = f"For {assumed} answers that do not exist yet, a short answer is assumed."
        print_ahead(plans, price_cure="--price IN/OUT", notes=[note] if assumed else [])
        return
    shown = answers_shown(Teller(jobs[0].sources, by_document=options.is_rag))
    done: list[Done] = []
    left = budget
    for job in jobs:
        answered = job.answered(path, progress=shown, budget=left, retry_failed=retry_failed)
        job.write(answered, topics_file)
        done.append((job, answered))
        left = None if left is None else max(left - answered.tally.spent, 0.0)
    if compare_prompts:
        _say_both(*done)
    else:
        _say(*done[0])
    if any(one.made.missing or one.made.failed for _, one in done):
        raise typer.Exit(1)


Done = tuple[Answering, Answered]


def _say_both(one: Done, steps: Done) -> None:
    found = PromptsCompared.of(one[1], steps[1])
    present(
        lambda: {
            "one_prompt": {"run": str(one[0].run), **asdict(found.one)},
            "steps": {"run": str(steps[0].run), **asdict(found.steps)},
            "answered_by_both": found.both,
            "same_answers": found.same,
        },
        _both_in_words(one, steps, found),
    )


def _both_in_words(one: Done, steps: Done, found: PromptsCompared) -> Iterator[Table | str]:
    yield Table(
        "One prompt and steps",
        ("", one[0].run.name, steps[0].run.name),
        list(found.rows()),
        digits=2,
        numbers=frozenset((one[0].run.name, steps[0].run.name)),
    )
    same = "–" if found.same is None else f"{found.same:.0%}"
    yield (
        f"Both gave the same answer on {same} of {counted(found.both, 'topic')} that both answered."
    )
    for job, answered in (one, steps):
        yield from _people(job, answered)
    yield (
        "Evaluate both runs in one folder, then compare them: assay compare out/per_topic.csv -m "
        "HMR."
    )


def _say(job: Answering, answered: Answered) -> None:
    made, tally, beside = answered.made, answered.tally, answered.minded
    output = job.run if answered.data else None
    side, topics = job.unusable, len(job.topics)
    lacking = len(made.missing) + len(made.failed)
    present(
        lambda: {
            "run": None if output is None else str(output),
            "topics": topics,
            "answered": topics - lacking,
            "missing": made.missing,
            "failed": made.failed,
            "without_passages": made.bare,
            "unknown": made.unknown,
            "unusable": len(made.unusable),
            "unusable_file": str(side),
            "rules_broken": [f"{fault.why} {fault.cure}" for fault in beside],
            **tallied(
                tally, "asked", "known", "tokens_in", "tokens_out", "cost", "tokens_cached",
                "cache_saved", "unpriced", "stopped",
            ),
        },
        _people(job, answered),
    )  # fmt: skip


def _people(job: Answering, answered: Answered) -> Iterator[str]:
    made, topics = answered.made, len(job.topics)
    if answered.data:
        count = topics - len(made.missing) - len(made.failed)
        yield f"{count} of {topics} topics answered in {job.run}"
    else:
        yield "No topic has an answer, so no run is written."
    yield done_in_words(answered.tally)
    if made.bare:
        yield f"Topics without any passage to answer from: {', '.join(made.bare[:20])}"
    if made.unknown:
        yield f"{made.unknown} answers below the threshold were replaced."
    for words, which in (("no reply", made.missing), ("no usable reply", made.failed)):
        if which:
            yield f"Left out ({words}): {', '.join(which)}"
    if made.unusable:
        counts = ", ".join(f"{count} {what}" for what, count in made.kinds.items())
        things = counted(len(made.unusable), "thing")
        yield f"{things} could not be used ({counts}): {job.unusable}"
    for fault in answered.minded[:5]:
        remark(f"The track's rules: {fault.why} {fault.cure}")
    if len(answered.minded) > 5:
        remark(f"and {len(answered.minded) - 5} more; assay validate lists all.")


_ROWS = 6  # most pending replies shown


def answers_shown(teller: Teller) -> Judging:
    """Show answers as they are written if standard output and error are terminals; otherwise print
    a plain line for each finished answer, or nothing in quiet mode."""
    if is_quiet():
        return SilentProgress()
    live = writes_over(err()) and sys.stdout.isatty()
    return _WrittenAnswers(teller) if live else _AnswerLines(teller)


class _AnswerLines(ProgressLines):
    """Prints a line per answer; replies are not streamed."""

    live = False

    def __init__(self, teller: Teller) -> None:
        super().__init__()
        self._teller = teller

    def partial_reply(self, _request: Request, _text: str) -> None: ...

    def answered(self, request: Request, outcome: Outcome) -> None:
        line = self._teller.answered(request, outcome)
        if line is not None:
            self.note(line)


class _WrittenAnswers(_AnswerLines, JudgingBar):
    """The progress bar of judging, with pending replies below it and finished answers above."""

    live = True

    def __init__(self, teller: Teller) -> None:
        super().__init__(teller)
        self._writing: dict[tuple[str, str, int], str] = {}

    def partial_reply(self, request: Request, text: str) -> None:
        line = self._teller.writing(request, text)
        if line is not None:
            self._writing[_place(request)] = line

    def answered(self, request: Request, outcome: Outcome) -> None:
        self._writing.pop(_place(request), None)
        super().answered(request, outcome)

    def beneath(self) -> Iterable[RenderableType]:
        for line in list(self._writing.values())[:_ROWS]:
            yield Text(line, style="dim", no_wrap=True, overflow="ellipsis")


def _place(request: Request) -> tuple[str, str, int]:
    return request.topic, request.task.name, request.sample
