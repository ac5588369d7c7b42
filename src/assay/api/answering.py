"""Answer topics from passages: ``assay.answer``, and the basis of ``assay answer``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import orjson

from assay.api.answer_options import (
    AnswerOptions,
    AnswerProtocol,
    check_ac_name,
    checked_run,
    pr_run_files,
    rag_sources,
    read_pr_runs,
    rules_of,
)
from assay.api.arguments import budget_of, one_of, path_or_none, paths_of, price_of
from assay.api.ledgers import known_at, ledger_at
from assay.api.loops import outside_a_loop
from assay.api.reading import warn
from assay.api.retrieving import Topics, topic_texts
from assay.api.run_manifest import write_run_manifest
from assay.api.telling import progress_of
from assay.formats.naming import run_name
from assay.formats.trec_rag_rules import Rules
from assay.formats.trec_rag_writing import write_answers
from assay.judging.engine import Plan, TitledPlans, plan
from assay.judging.progress import Progress, SilentProgress, Tally
from assay.labellers.base import Labeller, Request
from assay.labellers.models import DownloadProgress
from assay.labellers.prices import given_prices, require_prices
from assay.labellers.spec import LabellerOptions
from assay.ledger import Ledger
from assay.ledger.chain import Head
from assay.model.errors import Fault
from assay.model.rag import AnswerRun, PassageRun
from assay.model.trec_rag import RagRun
from assay.protocols.output import require_plain, write_bytes
from assay.systems.answering import (
    AnswerProblems,
    AnswerSettings,
    Confidence,
    PassageSource,
    answer_r2c2,
    answer_requests,
    answer_units,
    certainty_request,
    from_nuggets_requests,
    nuggets_requests,
    sources_of,
)
from assay.systems.answering_reports import answer_trec_rag, report_requests
from assay.systems.asking import Asker, Spending, known_labels, usable
from assay.systems.writers import make_certainty, make_writer

if TYPE_CHECKING:
    import polars as pl

Name = str | PathLike[str]
_ASSUMED = "an answer of a few words"
_ASSUMED_NUGGET = "A claim in one sentence of some twelve words that the passage says."


@dataclass(frozen=True)
class Answered:
    """A finished run: its bytes (empty if no topic has an answer), the parsed run, its unusable
    replies (in ``made``), the rules of its track that it breaks (``minded``), and the tally of what
    was asked."""

    data: bytes
    run: AnswerRun | RagRun | None
    made: AnswerProblems
    minded: Sequence[Fault]
    tally: Tally
    head: Head

    def frame(self) -> pl.DataFrame:
        """A frame of ``topic``, ``answer``, ``confidence`` (0-100) and ``nuggets`` (run, rank and
        text), or for TREC RAG of ``topic``, ``answer`` and ``sentences`` (text and citations)."""
        from assay.api.frames import answer_frame  # noqa: PLC0415 (polars, for this alone)

        return answer_frame(self.run)


@dataclass(frozen=True)
class Answering:
    """A job: topics, the passages to answer them from, and the model that answers. ``run`` is the
    output file, which also gives the run its name."""

    topics: dict[str, str]
    run: Path
    options: AnswerOptions
    settings: AnswerSettings
    runs: list[PassageRun]
    sources: dict[str, list[PassageSource]]
    files: list[Path]
    rules: Rules | None
    writer: Labeller
    certainty: Labeller | None

    @classmethod
    def of(
        cls,
        topics: dict[str, str],
        run: Path,
        options: AnswerOptions,
        model: str,
        *,
        price: str | None = None,
        budget: float | None = None,
        fetching: DownloadProgress | None = None,
    ) -> Self:
        """Read the passages and create the model, without asking it. Raises SettingsError, or
        FormatError with all faults of the files."""
        require_plain(run)
        settings = options.settings()
        runs: list[PassageRun] = []
        rules = None
        if options.is_rag:
            rules = rules_of(options.year, run, options.team, options.words)
            if rules.max_words is not None:
                settings = replace(settings, words=min(settings.words, rules.max_words))
            sources, files = rag_sources(options, list(topics))
        else:
            check_ac_name(run)
            files = pr_run_files(options.pr_runs)
            runs = read_pr_runs(files)
            sources = sources_of(runs, list(topics), options.passages)
        given = LabellerOptions(
            temperature=options.heat, prices=given_prices(model, price), fetching=fetching
        )
        writer = make_writer(model, folder=Path(), options=given, temperature=options.heat)
        certainty = None
        if options.confidence is Confidence.LOGPROB:
            certainty = make_certainty(model, folder=Path(), options=given)
        made = cls(topics, run, options, settings, runs, sources, files, rules, writer, certainty)
        if budget is not None:
            require_prices(
                made.models, "Set it with --price IN/OUT, in US dollars per million tokens."
            )
        return made

    @property
    def models(self) -> list[Labeller]:
        """The models to ask: the writer, and the one that rates an answer's certainty, if any."""
        return [self.writer] if self.certainty is None else [self.writer, self.certainty]

    def look_ahead(
        self, ledger_file: Path | None, *, retry_failed: bool = False
    ) -> tuple[TitledPlans, int]:
        """Plan what would be asked, without asking. ``ledger_file`` may not exist yet (None: assume
        that nothing is known). Also returns for how many topics a placeholder stands for an answer
        or nuggets not known yet, which later steps need; always 0 for TREC RAG."""
        with known_at(ledger_file) as ledger:

            def planned(title: str, who: Labeller, some: Sequence[Request]) -> tuple[str, Plan]:
                return title, plan(ledger, who, some, retry_failed=retry_failed)

            if self.options.is_rag:
                requests = report_requests(self.topics, self.sources, self.settings)
                return [planned("Answers", self.writer, requests)], 0
            plans, assumed = [], 0
            units = answer_units(self.topics, self.sources)
            if self.settings.steps:
                read = nuggets_requests(self.topics, self.sources)
                plans.append(planned("Nuggets", self.writer, read))
                known = iter(self._known(ledger, read))
                found = {}
                for topic in self.topics:
                    replies = [next(known) for _ in self.sources[topic]]
                    assumed += None in replies
                    found[topic] = [
                        (number, text)
                        for number, verdict in enumerate(replies, 1)
                        for text in ([_ASSUMED_NUGGET] if verdict is None else verdict["nuggets"])
                    ]
                requests = from_nuggets_requests(self.topics, found, self.settings)
            else:
                requests = answer_requests(units, self.settings)
            plans.append(planned("Answers", self.writer, requests))
            if self.certainty is None:
                return plans, assumed
            answers = self._known(ledger, requests)
            second = [
                certainty_request(unit, _ASSUMED if verdict is None else str(verdict["answer"]))
                for unit, verdict in zip(units.values(), answers, strict=True)
            ]
            return [*plans, planned("Certainty", self.certainty, second)], answers.count(None)

    def _known(
        self, ledger: Ledger | None, requests: Sequence[Request]
    ) -> list[dict[str, Any] | None]:
        """The writer's reply to each request in the ledger; None if absent or unusable."""
        if ledger is None:
            return [None for _ in requests]
        return [usable(one) for one in known_labels(ledger, self.writer, requests)]

    def answered(
        self,
        ledger_file: Path | None,
        *,
        progress: Progress | None = None,
        budget: float | None = None,
        retry_failed: bool = False,
    ) -> Answered:
        """Ask for what the ledger does not hold yet, within ``budget`` US dollars, make the run and
        check it by the rules of its track. Raises LabellerUnreachable, or KeyboardInterrupt if
        interrupted; replies received so far are kept."""
        spending = Spending(budget)
        with ledger_at(ledger_file) as ledger:
            ledger.checked()  # raises for a damaged ledger before anything is paid for
            askers = [
                Asker(ledger, one, progress or SilentProgress(), spending, retry_failed)
                for one in self.models
            ]
            data, made = self._asked(askers)
            head = ledger.checked()
        run: AnswerRun | RagRun | None = None
        minded: list[Fault] = []
        if data:
            year = self.options.year if self.options.is_rag else None
            run, minded = checked_run(data, self.run, topics=self.topics, runs=self.runs, year=year)
        return Answered(data, run, made, minded, spending.tally, head)

    def _asked(self, askers: Sequence[Asker]) -> tuple[bytes, AnswerProblems]:
        if self.rules is None:
            return answer_r2c2(self.topics, self.sources, self.settings, *askers)
        answers, made = answer_trec_rag(
            self.topics,
            self.sources,
            self.settings,
            askers[0],
            run=run_name(self.run),
            team=self.options.team,
            most_citations=self.rules.max_citations,
            most_references=self.rules.max_references,
        )
        said = f"assay answer with {self.writer.id.name}"
        described = (replace(one, description=said) for one in answers)
        return write_answers(described, self.options.year), made

    @property
    def unusable(self) -> Path:
        """Path of the file beside the run that lists unusable replies."""
        return self.run.with_name(f"{run_name(self.run)}.unusable.jsonl")

    def write(self, answered: Answered, topics: Path | None = None) -> None:
        """Write the run with its manifest, and the unusable replies. No run is written if there is
        no answer. ``topics`` is the file the topics came from."""
        if answered.data:
            write_bytes(self.run, answered.data)
        rows = b"".join(orjson.dumps(row) + b"\n" for row in answered.made.unusable)
        write_bytes(self.unusable, rows)
        if answered.data:
            write_run_manifest(
                self.run,
                "answer",
                self._in_manifest(),
                labellers=[one.id for one in self.models],
                inputs=[*([] if topics is None else [topics]), *self.files],
                outputs=[self.run, self.unusable],
                ledger=answered.head.in_manifest(),
            )

    def _in_manifest(self) -> dict[str, Any]:
        """The settings that affect the run."""
        options = self.options
        found: dict[str, Any] = {"protocol": options.protocol}
        if options.is_rag:
            found |= {"year": options.year, "team": options.team, "words": self.settings.words}
        else:
            found |= asdict(self.settings)
            del found["words"]
            if not options.steps:
                del found["steps"]
            if options.confidence is not Confidence.SAMPLED:
                del found["samples"]
        return {**found, "passages": options.passages, "temperature": options.heat}


def answer(
    topics: Topics,
    pr_runs: Name | Sequence[Name] = (),
    *,
    model: str,
    output: Name | None = None,
    protocol: str = "r2c2",
    candidates: Name | None = None,
    trec_run: Name | None = None,
    corpus: Name | None = None,
    confidence: str = "verbalised",
    ledger: Name | None = None,
    price: tuple[float, float] | None = None,
    budget: float | None = None,
    retry_failed: bool = False,
    progress: Progress | bool = False,
    **more: Any,
) -> pl.DataFrame:
    """Have a model answer topics from passages. Returns a frame with ``topic``, ``answer``,
    ``confidence`` and ``nuggets``, or for TREC RAG ``topic``, ``answer`` and ``sentences`` with
    citations. With ``output``, also writes a run and its manifest, as ``assay answer`` does.

    ``topics`` is a file (R2C2 questions, TREC RAG topics) or a mapping topic id → text. ``pr_runs``
    are PR runs that hold the passages (files, folders, patterns); trec-rag also takes
    ``candidates``, or ``trec_run`` with ``corpus``. ``model`` is a SPEC; ``confidence`` is
    verbalised, sampled or logprob. Replies are kept in ``ledger`` and not asked for again; it
    defaults to ``answers.sqlite`` beside the run, and without a run nothing is kept. ``budget`` is
    in US dollars, ``price`` in US dollars per million tokens (input, output). ``more`` takes
    further options of the command: samples, temperature, passages, unknown_below, unknown_text,
    team, year, words. Warns of topics without an answer. Raises SettingsError, FormatError with all
    faults of the files, or LabellerUnreachable.
    """
    budget, price = budget_of(budget), price_of(price)
    options = AnswerOptions(
        protocol=one_of(AnswerProtocol, protocol, "protocol"),
        pr_runs=[str(one) for one in paths_of(pr_runs, "pr_runs")],
        candidates=path_or_none(candidates, "candidates"),
        trec_run=path_or_none(trec_run, "trec_run"),
        corpus=path_or_none(corpus, "corpus"),
        confidence=one_of(Confidence, confidence, "confidence"),
        **more,
    )
    run = path_or_none(output, "output") or Path("ANSWERS.txt")
    job = Answering.of(
        topic_texts(topics),
        run,
        options,
        model,
        price=None if price is None else f"{price[0]}/{price[1]}",
        budget=budget,
    )
    path = path_or_none(ledger, "ledger") or (None if output is None else ledger_beside(run))

    def ask(reporter: Progress) -> Answered:
        return job.answered(path, progress=reporter, budget=budget, retry_failed=retry_failed)

    found = outside_a_loop(ask, progress_of(progress))
    if output is not None:
        job.write(found, None if isinstance(topics, Mapping) else Path(topics))
    lacking = [*found.made.missing, *found.made.failed]
    if lacking:
        warn(f"No answer for: {', '.join(lacking)}.")
    return found.frame()


def ledger_beside(run: Path) -> Path:
    """Default path of the ledger for a run's model replies."""
    return run.parent / "answers.sqlite"
