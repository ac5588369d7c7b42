"""Options of ``assay answer``, the passages to answer from, and the rules that runs must follow."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from assay.api.paths import expanded
from assay.api.reading import all_used
from assay.formats.naming import check_run_name, run_name
from assay.formats.parsed import FaultList
from assay.formats.r2c2_ac import read_ac_run
from assay.formats.r2c2_pr import read_pr_run
from assay.formats.trec import read_trec_run
from assay.formats.trec_rag_answers import read_answers
from assay.formats.trec_rag_passages import read_candidates
from assay.formats.trec_rag_rules import RULES, Rules
from assay.model.errors import AssayError, Fault, FormatError, SettingsError
from assay.model.options import Option
from assay.model.rag import AnswerRun, PassageKey, PassageRun
from assay.model.trec_rag import RagRun
from assay.model.wording import printable
from assay.systems.answer_text import one_line
from assay.systems.answering import DONT_KNOW, AnswerSettings, Confidence, PassageSource, sources_of
from assay.systems.corpus.store import Documents

YEARS = tuple(RULES)


def pr_run_files(given: Sequence[str]) -> list[Path]:
    """The files of ``--pr-runs``, each once. Raises SettingsError if there are none, or if two runs
    have the same name."""
    paths = [path for one in given for path in expanded(Path(one))]
    if not paths:
        raise SettingsError("Name the passages: --pr-runs FILE.")
    names: dict[str, Path] = {}
    for path in paths:
        first = names.setdefault(run_name(path), path)
        if first.resolve() != path.resolve():
            raise SettingsError(
                f"{printable(str(first))} and {printable(str(path))} are both called run "
                f"{printable(run_name(path))}, so a nugget could not say which one it cites. "
                "Rename one of them."
            )
    return list(names.values())


def read_pr_runs(paths: list[Path]) -> list[PassageRun]:
    """Read all PR runs. Raises FormatError with all their faults."""
    return all_used((partial(read_pr_run, path) for path in paths), lambda _warning: None)


def rag_sources(
    options: AnswerOptions, topics: list[str]
) -> tuple[dict[str, list[PassageSource]], list[Path]]:
    """Each topic's passages, from the only source given, and the files read."""
    candidates, trec_run, corpus = options.candidates, options.trec_run, options.corpus
    most = options.passages
    given = sum((bool(options.pr_runs), candidates is not None, trec_run is not None))
    if given != 1:
        raise SettingsError(
            "Give exactly one of --pr-runs, --candidates and --trec-run with --corpus."
        )
    if options.pr_runs:
        files = pr_run_files(options.pr_runs)
        return sources_of(read_pr_runs(files), topics, most), files
    if candidates is not None:
        lists = read_candidates(candidates).require()
        found = {
            topic: [
                PassageSource(PassageKey("", rank), found.docid, found.text)
                for rank, found in enumerate(lists.get(topic, ())[:most], start=1)
            ]
            for topic in topics
        }
        return found, [candidates]
    if corpus is None or trec_run is None:
        raise SettingsError("--trec-run needs --corpus, which holds the passages' texts.")
    run = read_trec_run(trec_run).require()
    documents = Documents(corpus)
    texts = {topic: _texts(run.ranked(topic)[:most], documents, corpus) for topic in topics}
    return texts, [trec_run]


def _texts(ids: tuple[str, ...], documents: Documents, corpus: Path) -> list[PassageSource]:
    sources = []
    for rank, one in enumerate(ids, start=1):
        document = one.rpartition("#")[0] or one
        found = {p.id: p for p in documents.passages(document)}
        if not found:  # MS MARCO: the document's id ends before the first mark
            found = {p.id: p for p in documents.passages(one.partition("#")[0])}
        if one not in found:
            raise SettingsError(f"The corpus {corpus} has no passage {printable(one)}.")
        sources.append(PassageSource(PassageKey("", rank), one, found[one].text))
    return sources


def check_ac_name(output: Path) -> None:
    """Raise FormatError if the name is invalid for an AC run, before the model is asked."""
    faults = FaultList(str(output))
    check_run_name(run_name(output), faults)
    errors = [fault for fault in faults.done() if fault.severity == "error"]
    if errors:
        raise FormatError(errors)


def rules_of(year: str, output: Path, team: str, words: int | None) -> Rules:
    """The rules of ``year``. Raises SettingsError for a run that could not be submitted, before the
    model is asked."""
    if year not in RULES:
        raise SettingsError(f"--year must be one of {', '.join(RULES)}.")
    rules = RULES[year]
    name = run_name(output)
    if rules.run_id is not None and not rules.run_id.fullmatch(name):
        raise SettingsError(
            f"The run_id {printable(name)!r}, taken from the name of the file, breaks the rules "
            f"of {year}: at most 20 letters, digits, '-', '_' and '.', and no '.' at the start. "
            "Choose another name with -o."
        )
    if not team.strip():
        raise SettingsError("--team is empty.")
    if words is not None and rules.max_words is not None and words > rules.max_words:
        raise SettingsError(
            f"{year} allows at most {rules.max_words} words: use --words {rules.max_words}."
        )
    return rules


def checked_run(
    data: bytes,
    output: Path,
    *,
    topics: dict[str, str],
    runs: list[PassageRun],
    year: str | None,
) -> tuple[AnswerRun | RagRun, list[Fault]]:
    """Check a run by parsing it before it is written. ``year`` is None for AC runs. Returns the
    run, and the rules of the track that it breaks (above all on document ids). Raises AssayError
    with the first errors, and then no run is written."""
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        path = Path(folder) / output.name
        path.write_bytes(data)
        parsed: Any
        beside: list[Fault] = []
        if year is None:
            parsed = read_ac_run(path, pr_runs={run.name: run for run in runs})
        else:
            parsed = read_answers(path, topics=topics, year=year, limits=False)
            beside = list(read_answers(path, topics=topics, year=year).errors)
    if parsed.errors:
        faults = "\n".join(
            f"  line {fault.line} [{fault.topic}] {fault.why}" for fault in parsed.errors[:10]
        )
        raise AssayError(
            f"The run does not pass validation, so {printable(str(output))} is not written; the "
            f"answers are kept in the ledger. This is a bug in Assay:\n{faults}"
        )
    return (parsed.value.run if year is None else parsed.value), beside


WORDS = 400
SAMPLES = 5
TEMPERATURE = 0.7


class AnswerProtocol(StrEnum):
    """The track that answers are for."""

    R2C2 = "r2c2"
    TREC_RAG = "trec-rag"


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """The sources and settings of answers, as the options of ``assay answer``. None is the default
    of options that only work with some others."""

    protocol: Annotated[
        AnswerProtocol, Option("Write an R2C2 AC run, or a TREC RAG AG/RAG run.")
    ] = AnswerProtocol.R2C2
    pr_runs: Annotated[
        Sequence[str],
        Option("PR run with passages: a file, a folder or a quoted pattern; repeatable."),
    ] = ()
    candidates: Annotated[Path | None, Option("trec-rag: ranked lists with texts (JSONL).")] = None
    trec_run: Annotated[
        Path | None, Option("trec-rag: a TREC run of passage ids from --corpus.")
    ] = None
    corpus: Annotated[Path | None, Option("Corpus that holds the passages of --trec-run.")] = None
    confidence: Annotated[
        Confidence,
        Option(
            "How confidence is measured: stated by the model, by the agreement of samples, or as "
            "the probability of a yes."
        ),
    ] = Confidence.VERBALISED
    samples: Annotated[
        int | None,
        Option(f"Number of samples for --confidence sampled (default: {SAMPLES}).", least=2),
    ] = None
    temperature: Annotated[
        float | None,
        Option(f"Temperature for --confidence sampled (default: {TEMPERATURE}).", least=0),
    ] = None
    steps: Annotated[
        bool,
        Option(
            "r2c2: take nuggets from one passage at a time, then answer from these alone, instead "
            "of one prompt."
        ),
    ] = False
    passages: Annotated[int, Option("Passages shown to the model.", least=1)] = 8
    unknown_below: Annotated[
        int | None, Option("Lowest confidence at which an answer is given.", least=0, most=100)
    ] = None
    unknown_text: Annotated[
        str, Option("Text written instead of an answer below that confidence.")
    ] = DONT_KNOW
    team: Annotated[str, Option("trec-rag: team_id.")] = "assay"
    year: Annotated[str, Option(f"trec-rag: format of the year {' | '.join(YEARS)}.")] = "2025"
    words: Annotated[
        int | None,
        Option(
            (
                f"trec-rag: maximum number of words in an answer (default: {WORDS}, or the year's "
                "limit)."
            ),
            least=1,
        ),
    ] = None

    @property
    def is_rag(self) -> bool:
        """Whether answers are for TREC RAG."""
        return self.protocol is AnswerProtocol.TREC_RAG

    @property
    def heat(self) -> float:
        """The model's sampling temperature."""
        if self.confidence is not Confidence.SAMPLED:
            return 0.0
        return TEMPERATURE if self.temperature is None else self.temperature

    def settings(self) -> AnswerSettings:
        """The settings of the system. Raises SettingsError if options contradict each other."""
        sampled = self.confidence is Confidence.SAMPLED
        if sampled and self.temperature == 0:
            raise SettingsError("At temperature 0 all samples are the same: use --temperature 0.7.")
        if self.is_rag and (
            self.confidence is not Confidence.VERBALISED or self.unknown_below is not None
        ):
            raise SettingsError(
                "Answers of trec-rag have no confidence: leave out --confidence and "
                "--unknown-below."
            )
        if self.is_rag and self.steps:
            raise SettingsError("--steps and --compare-prompts only work with --protocol r2c2.")
        of_rag = (self.candidates, self.trec_run, self.words)
        if not self.is_rag and any(one is not None for one in of_rag):
            raise SettingsError(
                "--candidates, --trec-run and --words only work with --protocol trec-rag; r2c2 "
                "takes --pr-runs."
            )
        if not sampled and (self.samples is not None or self.temperature is not None):
            raise SettingsError("--samples and --temperature only work with --confidence sampled.")
        unknown = one_line(self.unknown_text)
        if not unknown or ";" in unknown:
            raise SettingsError("--unknown-text must be one line without semicolons.")
        return AnswerSettings(
            self.confidence,
            self.passages,
            self.samples or SAMPLES,
            self.unknown_below,
            unknown,
            self.words or WORDS,
            self.steps,
        )
