"""``assay answer``: from passages to answers with confidence, or with citations."""

from __future__ import annotations

import glob
from contextlib import ExitStack
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from assay.cli.common import (
    BudgetOption,
    FetchLines,
    JsonOption,
    JudgingBar,
    out,
    print_json,
    safe,
)
from assay.formats.naming import run_name
from assay.formats.r2c2_ac import read_ac_run
from assay.formats.r2c2_pr import read_pr_run
from assay.formats.trec import read_trec_run
from assay.formats.trec_rag_answers import read_answers
from assay.formats.trec_rag_passages import read_candidates
from assay.formats.trec_rag_rules import RULES
from assay.formats.trec_rag_writing import write_answers
from assay.judging.progress import Tally
from assay.labellers.spec import SPEC_HELP, LabellerOptions
from assay.ledger import Ledger
from assay.model.errors import AssayError, Fault, FormatError, SettingsError
from assay.model.rag import PassageKey, PassageRun
from assay.protocols.output import write_bytes
from assay.systems.answering import (
    DONT_KNOW,
    AnswerSettings,
    Confidence,
    Made,
    Source,
    answer_r2c2,
    answer_trec_rag,
    sources_of,
)
from assay.systems.asking import Asker, Spending
from assay.systems.corpus.store import Documents
from assay.systems.topics import load_topics
from assay.systems.writers import make_certainty, make_writer


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
    model: Annotated[str, typer.Option("--model", metavar="SPEC", help=f"{SPEC_HELP}.")],
    protocol: Annotated[
        AnswerProtocol, typer.Option("--protocol", help="AC run, or AG/RAG run.")
    ] = AnswerProtocol.R2C2,
    pr_runs: Annotated[
        list[str] | None,
        typer.Option("--pr-runs", help="PR run with passages: file or quoted pattern; repeatable."),
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
    samples: Annotated[int, typer.Option("--samples", min=2, help="Of --confidence sampled.")] = 5,
    temperature: Annotated[
        float, typer.Option("--temperature", min=0, help="Of --confidence sampled.")
    ] = 0.7,
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
    ledger_file: Annotated[
        Path | None,
        typer.Option("--ledger", help="Where the model's replies are kept (beside the run)."),
    ] = None,
    budget: BudgetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Have a model answer TOPICS from passages, and write a run that passes assay validate.

    What the model gave and could not be used (a nugget of no passage, a citation of nothing) is
    kept beside the run in NAME.unusable.jsonl and counted. Replies are kept in the ledger: run the
    same command again, and only what is missing is asked. Exit status 1 where a topic has no
    answer.
    """
    topics = load_topics(topics_file)
    sampled = confidence is Confidence.SAMPLED
    if sampled and temperature == 0:
        raise SettingsError("Samples at temperature 0 are all the same: --temperature 0.7.")
    settings = AnswerSettings(
        confidence, passages, samples, unknown_below, _line(unknown_text), 400
    )
    spending = Spending(budget)
    with ExitStack() as closing:
        path = ledger_file or output.parent / "answers.sqlite"

        def asker(labeller: Any) -> Asker:
            path.parent.mkdir(parents=True, exist_ok=True)
            ledger = closing.enter_context(Ledger.open(path))
            return Asker(ledger, labeller, JudgingBar(quiet=as_json), spending)

        heat = temperature if sampled else 0.0
        options = LabellerOptions(temperature=heat, fetching=FetchLines())
        writer = asker(make_writer(model, folder=Path(), options=options, temperature=heat))
        if protocol is AnswerProtocol.R2C2:
            runs = _pr_runs(pr_runs or [])
            judge = None
            if confidence is Confidence.LOGPROB:
                judge = asker(make_certainty(model, folder=Path(), options=options))
            data, made = answer_r2c2(topics, runs, settings, writer, judge)
        else:
            data, made = _trec_rag(
                topics,
                _sources(pr_runs or [], candidates, trec_run, corpus, list(topics), passages),
                settings,
                writer,
                run_name(output),
                team,
                year,
            )
            runs = []
    side = output.with_name(f"{run_name(output)}.unusable.jsonl")
    write_bytes(output, data)
    write_bytes(side, b"".join(orjson.dumps(row) + b"\n" for row in made.unusable))
    if data:
        _check(output, protocol, topics, runs, year)
    _say(output, side, made, spending.tally, len(topics), as_json=as_json)
    if made.missing or made.failed:
        raise typer.Exit(1)


def _trec_rag(
    topics: dict[str, str],
    sources: dict[str, list[Source]],
    settings: AnswerSettings,
    writer: Asker,
    run: str,
    team: str,
    year: str,
) -> tuple[bytes, Made]:
    if year not in RULES:
        raise SettingsError(f"--year is one of {', '.join(RULES)}.")
    rules = RULES[year]
    limits = replace(settings, words=min(settings.words, rules.max_words or settings.words))
    answers, made = answer_trec_rag(
        topics,
        sources,
        limits,
        writer,
        run=run,
        team=team,
        most_citations=rules.max_citations,
    )
    described = (
        replace(answer, description=f"assay answer with {writer.labeller.id.name}")
        for answer in answers
    )
    return write_answers(described, year), made


def _pr_runs(given: list[str]) -> list[PassageRun]:
    """All PR runs, or all their faults at once."""
    paths = [path for one in given for path in (sorted(glob.glob(one)) or [one])]
    if not paths:
        raise SettingsError("Give the passages: --pr-runs FILE.")
    runs: list[PassageRun] = []
    faults: list[Fault] = []
    for path in paths:
        parsed = read_pr_run(path)
        faults.extend(parsed.errors)
        if parsed.value is not None:
            runs.append(parsed.value)
    if faults:
        raise FormatError(faults)
    return runs


def _sources(
    pr_runs: list[str],
    candidates: Path | None,
    trec_run: Path | None,
    corpus: Path | None,
    topics: list[str],
    most: int,
) -> dict[str, list[Source]]:
    given = sum((bool(pr_runs), candidates is not None, trec_run is not None))
    if given != 1:
        raise SettingsError("Give one of --pr-runs, --candidates and --trec-run with --corpus.")
    if pr_runs:
        return sources_of(_pr_runs(pr_runs), topics, most)
    if candidates is not None:
        lists = read_candidates(candidates).require()
        return {
            topic: [
                Source(PassageKey("", rank), found.segment.docid, found.segment.text)
                for rank, found in enumerate(lists.get(topic, ())[:most], start=1)
            ]
            for topic in topics
        }
    if corpus is None or trec_run is None:
        raise SettingsError("--trec-run needs --corpus: the passages' texts are there.")
    run = read_trec_run(trec_run).require()
    documents = Documents(corpus)
    return {topic: _texts(run.ranked(topic)[:most], documents, corpus) for topic in topics}


def _texts(ids: tuple[str, ...], documents: Documents, corpus: Path) -> list[Source]:
    sources = []
    for rank, one in enumerate(ids, start=1):
        document = one.rpartition("#")[0] or one
        found = {p.id: p for p in documents.passages(document)}
        if not found:  # MS MARCO: the document's id ends before the first mark
            found = {p.id: p for p in documents.passages(one.partition("#")[0])}
        if one not in found:
            raise SettingsError(f"The corpus {corpus} has no passage {safe(one)}.")
        sources.append(Source(PassageKey("", rank), one, found[one].text))
    return sources


def _check(
    output: Path,
    protocol: AnswerProtocol,
    topics: dict[str, str],
    runs: list[PassageRun],
    year: str,
) -> None:
    """Read the run back: what is written always passes the validator."""
    parsed: Any
    if protocol is AnswerProtocol.R2C2:
        parsed = read_ac_run(output, pr_runs={run.name: run for run in runs})
    else:
        parsed = read_answers(output, topics=topics, year=year, limits=False)
    if parsed.errors:
        faults = "\n".join(f"  {fault}" for fault in parsed.errors[:10])
        raise AssayError(f"The run that was written does not pass its validator:\n{faults}")


def _line(text: str) -> str:
    line = " ".join(text.split())
    if not line or ";" in line:
        raise SettingsError("--unknown-text is one line without semicolons.")
    return line


def _say(output: Path, side: Path, made: Made, tally: Tally, topics: int, *, as_json: bool) -> None:
    answered = topics - len(made.missing) - len(made.failed)
    if as_json:
        print_json(
            {
                "run": str(output),
                "topics": topics,
                "answered": answered,
                "missing": made.missing,
                "failed": made.failed,
                "unknown": made.unknown,
                "unusable": len(made.unusable),
                "unusable_file": str(side),
                "asked": tally.asked,
                "known": tally.known,
                "cost": tally.cost,
            }
        )
        return
    console = out()
    console.print(f"{answered} of {topics} topics answered in {safe(output)}", soft_wrap=True)
    console.print(f"Asked {tally.asked}, known {tally.known}")
    if made.unknown:
        console.print(f"{made.unknown} answers below the threshold were replaced.")
    for words, which in (("no reply", made.missing), ("no usable reply", made.failed)):
        if which:
            console.print(f"Left out, {words}: {', '.join(map(safe, which))}", soft_wrap=True)
    if made.unusable:
        console.print(
            f"{len(made.unusable)} things could not be used: {safe(side)}", soft_wrap=True
        )
