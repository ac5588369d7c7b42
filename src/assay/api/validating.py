"""Check files against their formats, and fix what can be fixed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from assay.api.paths import expanded
from assay.formats.registry import FORMATS
from assay.formats.text import read_text
from assay.formats.trec_rag_fix import Mended, fix_answers
from assay.formats.trec_rag_rules import RULES
from assay.formats.trec_rag_topics import read_topics
from assay.formats.validate import FileReport, ValidationReport, validate
from assay.model.errors import SettingsError
from assay.model.options import Option
from assay.protocols.output import write_bytes
from assay.systems.corpus.store import Documents

YEARS = tuple(RULES)
_FORMAT_HELP = f"{' | '.join(FORMATS)} (default: guessed from the content)"


@dataclass(frozen=True, slots=True)
class Fix:
    """A file, its corrected copy (None if nothing had to be corrected), and the changes."""

    file: Path
    fixed: Path | None
    changes: tuple[Mended, ...]


@dataclass(frozen=True, slots=True)
class Validated:
    """All faults of some files, or with ``fixes`` those of the corrected copies (None: no fixes
    were requested). ``strict`` treats warnings as faults."""

    report: ValidationReport
    fixes: Sequence[Fix] | None
    strict: bool

    @property
    def exit_status(self) -> int:
        """0 if all is well, 1 for faults, 2 if a file cannot be read."""
        warned = self.strict and any(one.warnings for one in self.report.files)
        return self.report.exit_status or int(warned)

    @property
    def faulty(self) -> list[str]:
        """Files with errors (or, if ``strict``, warnings), and those that cannot be read."""
        return [
            one.file
            for one in self.report.files
            if one.errors or (self.strict and one.warnings) or not one.readable
        ]

    def document(self) -> dict[str, Any]:
        """The JSON document."""
        mended = {} if self.fixes is None else {"fixes": self.fixes}
        return {
            "ok": not self.exit_status,
            "files": [_document(one) for one in self.report.files],
            **mended,
        }


def _document(one: FileReport) -> dict[str, Any]:
    names = ("file", "format", "guessed", "role", "readable", "errors", "warnings")
    return {
        **{name: getattr(one, name) for name in names},
        "counts": dict(one.counts),
        "faults": [
            {name: getattr(fault, name) for name in ("line", "topic", "severity", "why", "cure")}
            for fault in one.faults
        ],
    }


def check(
    files: Sequence[Path],
    format_name: Annotated[str | None, Option(_FORMAT_HELP, flag="--format")] = None,
    *,
    questions: Annotated[Path | None, Option("Question file to check ids against.")] = None,
    pr_runs: Annotated[
        Sequence[Path],
        Option("PR run that nuggets may cite: a file, a folder or a quoted pattern; repeatable."),
    ] = (),
    max_passage_chars: Annotated[
        int | None, Option("Maximum length of a passage, including white space.", least=1)
    ] = None,
    topics: Annotated[Path | None, Option("TREC RAG topics to check runs against.")] = None,
    year: Annotated[
        str | None,
        Option(f"TREC RAG rules: {' | '.join(YEARS)} (default: detected for each record)."),
    ] = None,
    fix: Annotated[
        bool,
        Option(
            "TREC RAG answers: write a corrected copy to FILE.fixed.jsonl and check that. FILE "
            "itself is never changed."
        ),
    ] = False,
    corpus: Annotated[
        Path | None,
        Option("Corpus (see assay corpus) that must contain every DocID and passage of a PR run."),
    ] = None,
    strict: Annotated[bool, Option("Treat warnings as faults: exit status 1.")] = False,
) -> Validated:
    """Check files against their format and each other. With ``fix``, write corrected copies of TREC
    RAG answers and check those. Raises SettingsError or FormatError if files cannot be checked at
    all."""
    fixes = _fix(files, format_name, topics, year) if fix else None
    report = validate(
        files if fixes is None else [one.fixed or one.file for one in fixes],
        format_name,
        questions=questions,
        pr_runs=[path for given in pr_runs for path in expanded(given)],
        max_passage_chars=max_passage_chars,
        topics=topics,
        year=year,
        corpus=None if corpus is None else Documents(corpus),
    )
    return Validated(report, fixes, strict)


def _fix(
    files: Sequence[Path], format_name: str | None, topics: Path | None, year: str | None
) -> list[Fix]:
    """Write the corrected copies. Raises SettingsError if one exists already."""
    if format_name not in (None, "trec-rag"):
        raise SettingsError(
            "--fix only works for TREC RAG answers; leave out --format, or use --format trec-rag."
        )
    texts = {}
    if topics is not None:
        texts = {one.id: one.text for one in read_topics(topics).value or ()}
    fixes = []
    for path in files:
        fixed = fix_answers(read_text(path), topics=texts, year=year)
        target = None
        if fixed.changes:
            name = path.name.removesuffix(".gz").removesuffix(".bz2")
            stem, dot, ending = name.rpartition(".")
            target = path.with_name(f"{stem}.fixed.{ending}" if dot else f"{name}.fixed")
            if target.exists():
                raise SettingsError(
                    f"{target} already exists. Move it away, then run the command again."
                )
            write_bytes(target, fixed.data)
        fixes.append(Fix(path, target, fixed.changes))
    return fixes
