"""``assay answer``: from passages to answers with confidence, or with citations."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from assay.api.ahead import TitledPlans
from assay.cli.ahead import print_ahead, print_prompts, told
from assay.cli.answer_inputs import (
    check_ac_name,
    checked_run,
    pr_run_files,
    rag_sources,
    read_pr_runs,
    rules_of,
)
from assay.cli.common import (
    BudgetOption,
    DryRunOption,
    FetchLines,
    JsonOption,
    JudgingBar,
    PriceOption,
    RetryOption,
    ShowPromptsOption,
    err,
    out,
    print_json,
    safe,
)
from assay.cli.manifest import write_manifest
from assay.formats.naming import run_name
from assay.formats.trec_rag_rules import RULES
from assay.formats.trec_rag_writing import write_answers
from assay.judging.engine import plan
from assay.judging.progress import Tally
from assay.labellers.base import Labeller, Request, request_key
from assay.labellers.prices import given_prices, require_prices
from assay.labellers.spec import LabellerOptions
from assay.ledger import Ledger
from assay.model.errors import Fault, SettingsError
from assay.model.rag import PassageRun
from assay.protocols.output import write_bytes
from assay.systems.answer_text import one_line
from assay.systems.answering import (
    DONT_KNOW,
    AnswerSettings,
    Confidence,
    Made,
    Source,
    answer_r2c2,
    answer_requests,
    answer_trec_rag,
    answer_units,
    certainty_request,
    report_requests,
    sources_of,
)
from assay.systems.asking import Asker, Spending, usable
from assay.systems.topics import load_topics
from assay.systems.writers import WRITER_HELP, make_certainty, make_writer

WORDS = 400
SAMPLES = 5
TEMPERATURE = 0.7
_ASSUMED = "an answer of a few words"


class AnswerProtocol(StrEnum):
    """Whose answers."""

    R2C2 = "r2c2"
    TREC_RAG = "trec-rag"


def answer_command(
    topics_file: Annotated[
        Path, typer.Argument(metavar="TOPICS", help="R2C2 questions or TREC RAG topics.")
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="The run; it is called as this file is.")
    ],
    model: Annotated[str, typer.Option("--model", metavar="SPEC", help=f"{WRITER_HELP}.")],
    protocol: Annotated[
        AnswerProtocol, typer.Option("--protocol", help="AC run, or AG/RAG run.")
    ] = AnswerProtocol.R2C2,
    pr_runs: Annotated[
        list[str] | None,
        typer.Option(
            "--pr-runs", help="PR run with passages: file, folder or quoted pattern; repeatable."
        ),
    ] = None,
    candidates: Annotated[
        Path | None,
        typer.Option("--candidates", help="trec-rag: ranked lists with texts (JSONL)."),
    ] = None,
    trec_run: Annotated[
        Path | None,
        typer.Option("--trec-run", help="trec-rag: a TREC run of passage ids of --corpus."),
    ] = None,
    corpus: Annotated[
        Path | None, typer.Option("--corpus", help="Corpus that holds --trec-run's passages.")
    ] = None,
    confidence: Annotated[
        Confidence,
        typer.Option(
            "--confidence",
            help="What the model says, agreement of samples, or the probability of its yes.",
        ),
    ] = Confidence.VERBALISED,
    samples: Annotated[
        int | None,
        typer.Option("--samples", min=2, help=f"Of --confidence sampled ({SAMPLES})."),
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option("--temperature", min=0, help=f"Of --confidence sampled ({TEMPERATURE})."),
    ] = None,
    passages: Annotated[
        int, typer.Option("--passages", min=1, help="Passages that the model is shown.")
    ] = 8,
    unknown_below: Annotated[
        int | None,
        typer.Option("--unknown-below", min=0, max=100, help="Confidence for an answer at least."),
    ] = None,
    unknown_text: Annotated[
        str, typer.Option("--unknown-text", help="What is written below it.")
    ] = DONT_KNOW,
    team: Annotated[str, typer.Option("--team", help="trec-rag: team_id.")] = "assay",
    year: Annotated[
        str, typer.Option("--year", help=f"trec-rag: format of {' | '.join(RULES)}.")
    ] = "2025",
    words: Annotated[
        int | None,
        typer.Option(
            "--words", min=1, help=f"trec-rag: most words of an answer ({WORDS}, or the year's)."
        ),
    ] = None,
    ledger_file: Annotated[
        Path | None,
        typer.Option("--ledger", help="Where the model's replies are kept (beside the run)."),
    ] = None,
    price: PriceOption = None,
    budget: BudgetOption = None,
    dry_run: DryRunOption = False,
    show_prompts: ShowPromptsOption = 0,
    retry_failed: RetryOption = False,
    as_json: JsonOption = False,
) -> None:
    """Have a model answer TOPICS from passages, and write a run that passes assay validate.

    What the model gave and could not be used (a nugget of no passage, a citation of nothing) is
    kept beside the run in NAME.unusable.jsonl and counted; NAME.manifest.json says what the run was
    made from. Replies are kept in the ledger: run the same command again, and only what is missing
    is asked. Exit status 1 where a topic has no answer.
    """
    topics = load_topics(topics_file)
    sampled = confidence is Confidence.SAMPLED
    if sampled and temperature == 0:
        raise SettingsError("Samples at temperature 0 are all the same: --temperature 0.7.")
    is_rag = protocol is AnswerProtocol.TREC_RAG
    if is_rag and (confidence is not Confidence.VERBALISED or unknown_below is not None):
        raise SettingsError(
            "Answers of trec-rag have no confidence: leave out --confidence and --unknown-below."
        )
    if not is_rag and (candidates is not None or trec_run is not None or words is not None):
        raise SettingsError(
            "--candidates, --trec-run and --words are of --protocol trec-rag; r2c2 takes --pr-runs."
        )
    if not sampled and (samples is not None or temperature is not None):
        raise SettingsError("--samples and --temperature are of --confidence sampled.")
    settings = AnswerSettings(
        confidence,
        passages,
        samples or SAMPLES,
        unknown_below,
        _line(unknown_text),
        words or WORDS,
    )
    runs: list[PassageRun] = []
    sources: dict[str, list[Source]]
    if is_rag:
        rules = rules_of(year, output, team, words)
        if rules.max_words is not None:
            settings = replace(settings, words=min(settings.words, rules.max_words))
        sources, files = rag_sources(
            pr_runs or [], candidates, trec_run, corpus, list(topics), passages
        )
    else:
        check_ac_name(output)
        files = pr_run_files(pr_runs or [])
        runs = read_pr_runs(files)
        sources = sources_of(runs, list(topics), passages)
    heat = (TEMPERATURE if temperature is None else temperature) if sampled else 0.0
    options = LabellerOptions(
        temperature=heat, prices=given_prices(model, price), fetching=FetchLines()
    )
    writer = make_writer(model, folder=Path(), options=options, temperature=heat)
    judge = None
    if confidence is Confidence.LOGPROB:
        judge = make_certainty(model, folder=Path(), options=options)
    askable = [writer] if judge is None else [writer, judge]
    if budget is not None:
        require_prices(askable, "Give it: --price IN/OUT, in US dollars for a million tokens.")
    path = ledger_file or output.parent / "answers.sqlite"
    if dry_run or show_prompts:
        with ExitStack() as closing:
            known = None
            if path.exists() and not show_prompts:
                known = closing.enter_context(Ledger.open(path))
            if is_rag:
                requests = report_requests(topics, sources, settings)
            else:
                requests = answer_requests(answer_units(topics, sources), settings)
            plans, assumed = _ahead(known, writer, judge, requests, retry_failed=retry_failed)
        if show_prompts:
            print_prompts(plans, show_prompts, as_json=as_json)
            return
        note = f"For {assumed} answers that are not there yet, a short one is assumed."
        cure = "--price IN/OUT"
        notes = [note] if assumed else []
        print_ahead(plans, as_json=as_json, price_cure=cure, notes=notes, answers_assumed=assumed)
        return
    with ExitStack() as closing:
        path.parent.mkdir(parents=True, exist_ok=True)
        ledger = closing.enter_context(Ledger.open(path))
        ledger.checked()  # before anything is asked
        spending = Spending(budget)
        askers = [
            Asker(ledger, one, JudgingBar(quiet=as_json), spending, retry_failed) for one in askable
        ]
        if is_rag:
            answers, made = answer_trec_rag(
                topics,
                sources,
                settings,
                askers[0],
                run=run_name(output),
                team=team,
                most_citations=rules.max_citations,
                most_references=rules.max_references,
            )
            said = f"assay answer with {writer.id.name}"
            data = write_answers((replace(one, description=said) for one in answers), year)
        else:
            data, made = answer_r2c2(topics, runs, settings, askers[0], *askers[1:])
        head = ledger.checked()
    tally = spending.tally
    beside: list[Fault] = []
    side = output.with_name(f"{run_name(output)}.unusable.jsonl")
    if data:
        beside = checked_run(data, output, topics=topics, runs=runs, year=year if is_rag else None)
        write_bytes(output, data)
    write_bytes(side, b"".join(orjson.dumps(row) + b"\n" for row in made.unusable))
    if data:
        write_manifest(
            output,
            "answer",
            {
                "protocol": protocol,
                **({"year": year, "team": team, "words": settings.words} if is_rag else {}),
                **({} if is_rag else _plain(settings)),
                "passages": passages,
                "temperature": heat,
            },
            labellers=[one.id for one in askable],
            inputs=[topics_file, *files],
            outputs=[output, side],
            ledger=head.in_manifest(),
        )
    _say(output if data else None, side, made, tally, len(topics), beside, as_json=as_json)
    if made.missing or made.failed:
        raise typer.Exit(1)


def _plain(settings: AnswerSettings) -> dict[str, Any]:
    """The settings that matter to AC runs."""
    kept = asdict(settings)
    del kept["words"]
    if settings.confidence is not Confidence.SAMPLED:
        del kept["samples"]
    return kept


def _ahead(
    ledger: Ledger | None,
    writer: Labeller,
    judge: Labeller | None,
    requests: Sequence[Request],
    *,
    retry_failed: bool,
) -> tuple[TitledPlans, int]:
    """What would be asked, and for how many answers that are not there yet one was assumed."""
    plans = [("Answers", plan(ledger, writer, requests, retry_failed=retry_failed))]
    if judge is None:
        return plans, 0
    keys = [request_key(writer, request) for request in requests]
    labels = (
        {}
        if ledger is None
        else ledger.by_key((r.unit_hash, k) for r, k in zip(requests, keys, strict=True))
    )
    known = [usable(labels.get(key)) for key in keys]
    second: list[Request] = []
    for request, verdict in zip(requests, known, strict=True):
        answer = _ASSUMED if verdict is None else str(verdict["answer"])
        second.append(certainty_request(request.unit, answer))  # type: ignore[arg-type]
    plans.append(("Certainty", plan(ledger, judge, second, retry_failed=retry_failed)))
    return plans, known.count(None)


def _line(text: str) -> str:
    line = one_line(text)
    if not line or ";" in line:
        raise SettingsError("--unknown-text is one line without semicolons.")
    return line


def _say(
    output: Path | None,
    side: Path,
    made: Made,
    tally: Tally,
    topics: int,
    beside: list[Fault],
    *,
    as_json: bool,
) -> None:
    answered = topics - len(made.missing) - len(made.failed)
    if as_json:
        print_json(
            {
                "run": None if output is None else str(output),
                "topics": topics,
                "answered": answered,
                "missing": made.missing,
                "failed": made.failed,
                "without_passages": made.bare,
                "unknown": made.unknown,
                "unusable": len(made.unusable),
                "unusable_file": str(side),
                "rules_broken": [f"{fault.why} {fault.cure}" for fault in beside],
                "asked": tally.asked,
                "known": tally.known,
                "tokens_in": tally.tokens_in,
                "tokens_out": tally.tokens_out,
                "cost": tally.cost,
                "unpriced": tally.unpriced,
                "stopped": tally.stopped,
            }
        )
        return
    console = out()
    if output is None:
        console.print("No topic has an answer: no run is written.")
    else:
        console.print(f"{answered} of {topics} topics answered in {safe(output)}", soft_wrap=True)
    console.print(told(tally), markup=False)
    if made.bare:
        shown = ", ".join(map(safe, made.bare[:20]))
        console.print(f"Without any passage to answer from: {shown}", soft_wrap=True)
    if made.unknown:
        console.print(f"{made.unknown} answers below the threshold were replaced.")
    for words, which in (("no reply", made.missing), ("no usable reply", made.failed)):
        if which:
            console.print(f"Left out, {words}: {', '.join(map(safe, which))}", soft_wrap=True)
    if made.unusable:
        counts = ", ".join(f"{count} {what}" for what, count in made.kinds.items())
        things = "1 thing" if len(made.unusable) == 1 else f"{len(made.unusable)} things"
        console.print(
            f"{things} could not be used ({counts}): {safe(side)}",
            soft_wrap=True,
        )
    for fault in beside[:5]:
        err().print(f"Note: the track minds: {fault.why} {fault.cure}", markup=False)
    if len(beside) > 5:
        err().print(f"Note: and {len(beside) - 5} more; assay validate lists all.")
