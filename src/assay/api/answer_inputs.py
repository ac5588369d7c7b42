"""The passages that answers are made from, and what their runs must keep to."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

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
from assay.model.rag import AnswerRun, PassageKey, PassageRun
from assay.model.trec_rag import RagRun
from assay.model.wording import printable
from assay.systems.answering import PassageSource, sources_of
from assay.systems.corpus.store import Documents

YEARS = tuple(RULES)


def pr_run_files(given: Sequence[str]) -> list[Path]:
    """The files of ``--pr-runs``, each once. Raises SettingsError where there are none, or where
    two runs have one name."""
    paths = [path for one in given for path in expanded(Path(one))]
    if not paths:
        raise SettingsError("Give the passages: --pr-runs FILE.")
    names: dict[str, Path] = {}
    for path in paths:
        first = names.setdefault(run_name(path), path)
        if first.resolve() != path.resolve():
            raise SettingsError(
                f"{printable(str(first))} and {printable(str(path))} are both the run "
                f"{printable(run_name(path))}: a "
                "nugget could not say which it cites. Rename one of them."
            )
    return list(names.values())


def read_pr_runs(paths: list[Path]) -> list[PassageRun]:
    """All PR runs, or all their faults at once."""
    return all_used((partial(read_pr_run, path) for path in paths), lambda _warning: None)


def rag_sources(
    pr_runs: Sequence[str],
    candidates: Path | None,
    trec_run: Path | None,
    corpus: Path | None,
    topics: list[str],
    most: int,
) -> tuple[dict[str, list[PassageSource]], list[Path]]:
    """Each topic's passages, from the one source that is given, and the files read."""
    given = sum((bool(pr_runs), candidates is not None, trec_run is not None))
    if given != 1:
        raise SettingsError("Give one of --pr-runs, --candidates and --trec-run with --corpus.")
    if pr_runs:
        files = pr_run_files(pr_runs)
        return sources_of(read_pr_runs(files), topics, most), files
    if candidates is not None:
        lists = read_candidates(candidates).require()
        found = {
            topic: [
                PassageSource(PassageKey("", rank), found.segment.docid, found.segment.text)
                for rank, found in enumerate(lists.get(topic, ())[:most], start=1)
            ]
            for topic in topics
        }
        return found, [candidates]
    if corpus is None or trec_run is None:
        raise SettingsError("--trec-run needs --corpus: the passages' texts are there.")
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
    """Raises FormatError where the run's name could not be an AC run's, before anybody is asked."""
    faults = FaultList(str(output))
    check_run_name(run_name(output), faults)
    errors = [fault for fault in faults.done() if fault.severity == "error"]
    if errors:
        raise FormatError(errors)


def rules_of(year: str, output: Path, team: str, words: int | None) -> Rules:
    """The rules of ``year``. Raises SettingsError for what could not be handed in, before anybody
    is asked."""
    if year not in RULES:
        raise SettingsError(f"--year is one of {', '.join(RULES)}.")
    rules = RULES[year]
    name = run_name(output)
    if rules.run_id is not None and not rules.run_id.fullmatch(name):
        raise SettingsError(
            f"The run_id {printable(name)!r}, from the name of the file, breaks the rules of "
            f"{year}: at most 20 letters, digits, '-', '_' and '.', no '.' at the start. Give "
            "another -o."
        )
    if not team.strip():
        raise SettingsError("--team is empty.")
    if words is not None and rules.max_words is not None and words > rules.max_words:
        raise SettingsError(f"{year} allows {rules.max_words} words: --words {rules.max_words}.")
    return rules


def checked_run(
    data: bytes,
    output: Path,
    *,
    topics: dict[str, str],
    runs: list[PassageRun],
    year: str | None,
) -> tuple[AnswerRun | RagRun, list[Fault]]:
    """Read a run back before it is written: with errors none is. ``year`` is None for AC runs.
    Returns the run, and what the track would mind beside (its document ids, above all); raises
    AssayError with the first errors."""
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
            f"The run does not pass its validator, and {printable(str(output))} is not written; "
            f"what was answered is kept in the ledger. This is a fault of Assay's:\n{faults}"
        )
    return (parsed.value.run if year is None else parsed.value), beside
