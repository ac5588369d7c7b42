"""``assay validate``: all faults of input files, one a line."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from assay.api.paths import expanded
from assay.cli.common import print_json
from assay.formats.registry import FORMATS, FileReport, ValidationReport, validate
from assay.formats.text import read_text
from assay.formats.trec_rag_fix import Change, fix_answers
from assay.formats.trec_rag_rules import RULES
from assay.formats.trec_rag_topics import read_topics
from assay.model.errors import AssayError, SettingsError
from assay.model.wording import printable
from assay.protocols.output import write_bytes
from assay.systems.corpus.store import Documents

_FORMAT_HELP = f"{' | '.join(FORMATS)} (default: guessed from the content)"


def validate_command(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Files to check: plain, .gz or .bz2.")
    ],
    format_name: Annotated[str | None, typer.Option("--format", help=_FORMAT_HELP)] = None,
    questions: Annotated[
        Path | None, typer.Option("--questions", help="Question file that ids are checked against.")
    ] = None,
    pr_runs: Annotated[
        list[Path] | None,
        typer.Option(
            "--pr-runs",
            help="PR run that nuggets may cite: a file, a folder or a quoted pattern; repeatable.",
        ),
    ] = None,
    max_passage_chars: Annotated[
        int | None,
        typer.Option("--max-passage-chars", min=1, help="Longest passage, white space included."),
    ] = None,
    topics: Annotated[
        Path | None,
        typer.Option("--topics", help="TREC RAG topics that runs are checked against."),
    ] = None,
    year: Annotated[
        str | None,
        typer.Option(
            "--year",
            help=f"TREC RAG rules: {' | '.join(RULES)} (default: what each record looks like).",
        ),
    ] = None,
    fix: Annotated[
        bool,
        typer.Option(
            "--fix",
            help="TREC RAG answers: write what can be mended to FILE.fixed.jsonl and check that. "
            "FILE itself is never changed.",
        ),
    ] = False,
    corpus: Annotated[
        Path | None,
        typer.Option(
            "--corpus",
            help="Corpus (see assay corpus) that must hold every DocID and passage of a PR run.",
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Warnings count as faults: exit status 1.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document and nothing else.")
    ] = False,
) -> None:
    """Check files against their format and list every fault with its line and cure.

    Exit status: 0 good, 1 faults found, 2 a file cannot be read or wrong usage.
    """
    if year is not None and year not in RULES:
        raise typer.BadParameter(f"must be one of {', '.join(RULES)}", param_hint="--year")
    fixes: list[Fix] = []
    try:
        if fix:
            fixes = _fix(files, format_name, topics, year)
            files = [one.fixed or one.file for one in fixes]
        report = validate(
            files,
            format_name,
            questions=questions,
            pr_runs=[path for given in pr_runs or () for path in expanded(given)],
            max_passage_chars=max_passage_chars,
            topics=topics,
            year=year,
            corpus=None if corpus is None else Documents(corpus),
        )
    except AssayError as error:
        if as_json:
            print_json({"ok": False, "error": str(error), "files": []})
        else:
            Console(stderr=True, soft_wrap=True, highlight=False, emoji=False).print(
                Text("\n".join(map(printable, str(error).splitlines())))
            )
        raise typer.Exit(error.exit_status) from None
    if as_json:
        good = report.ok and not (strict and _warned(report))
        print_json(_document(report) | {"ok": good} | ({"fixes": _fixes(fixes)} if fix else {}))
    else:
        _print_fixes(fixes)
        _print_report(report)
    status = 1 if strict and not report.exit_status and _warned(report) else report.exit_status
    raise typer.Exit(status)


def _warned(report: ValidationReport) -> bool:
    return any(one.warnings for one in report.files)


@dataclass(frozen=True, slots=True)
class Fix:
    """A file, the mended one (None where nothing had to be mended), and what was done."""

    file: Path
    fixed: Path | None
    changes: tuple[Change, ...]


def _fix(
    files: list[Path], format_name: str | None, topics: Path | None, year: str | None
) -> list[Fix]:
    """Write the mended files. Raises SettingsError where one exists already."""
    if format_name not in (None, "trec-rag"):
        raise SettingsError("--fix mends TREC RAG answers; leave --format out or say trec-rag.")
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
                raise SettingsError(f"{target} exists already. Move it away, then fix again.")
            write_bytes(target, fixed.data)
        fixes.append(Fix(path, target, fixed.changes))
    return fixes


def _print_fixes(fixes: list[Fix]) -> None:
    console = Console(soft_wrap=True, highlight=False, emoji=False)
    for one in fixes:
        for change in one.changes:
            topic = f" [{change.topic}]" if change.topic else ""
            console.print(Text(printable(f"{one.file}:{change.line}{topic} mended: {change.what}")))
        said = f"mended in {one.fixed}" if one.fixed else "nothing to mend"
        console.print(Text(printable(f"{one.file}: {said}")))


def _fixes(fixes: list[Fix]) -> list[dict[str, object]]:
    return [
        {
            "file": str(one.file),
            "fixed": None if one.fixed is None else str(one.fixed),
            "changes": [asdict(change) for change in one.changes],
        }
        for one in fixes
    ]


def _print_report(report: ValidationReport) -> None:
    """Faults and summaries; file text reaches the terminal escaped and never as markup."""
    console = Console(soft_wrap=True, highlight=False, emoji=False)
    for one in report.files:
        for fault in one.faults:
            place = f"{fault.file}:{fault.line}" if fault.line else fault.file
            topic = f" [{fault.topic}]" if fault.topic else ""
            warns = fault.severity != "error"
            line = Text(printable(f"{place}{topic} "))
            line.append("warning: " if warns else "", style="yellow")
            line.append(printable(fault.why), style="" if warns else "red")
            line.append(printable(f" {fault.cure}".rstrip()))
            console.print(line)
        console.print(Text(printable(_summary(one)), style="green" if not one.errors else "bold"))


def _summary(one: FileReport) -> str:
    """The closing line of a file."""
    if not one.readable:
        return f"{one.file}: not checked"
    kind = f"{one.format} (guessed)" if one.guessed else one.format
    holds = ", ".join(_many(count, unit) for unit, count in one.counts.items())
    faults = [_many(one.errors, "errors"), _many(one.warnings, "warnings")]
    verdict = "good" if not one.faults else ", ".join(part for part in faults if part[0] != "0")
    role = "" if one.role == "checked" else ", checked against"
    return f"{one.file}: {verdict}; {kind}{role}{'; ' if holds else ''}{holds}"


def _many(count: int, unit: str) -> str:
    if count == 1 and unit.endswith("s"):
        return f"1 {unit[:-1]}"
    return f"{count} {unit}"


def _document(report: ValidationReport) -> dict[str, object]:
    return {
        "ok": report.ok,
        "files": [
            {
                "file": one.file,
                "format": one.format,
                "guessed": one.guessed,
                "role": one.role,
                "readable": one.readable,
                "counts": dict(one.counts),
                "errors": one.errors,
                "warnings": one.warnings,
                "faults": [
                    {
                        "line": fault.line,
                        "topic": fault.topic,
                        "severity": fault.severity,
                        "why": fault.why,
                        "cure": fault.cure,
                    }
                    for fault in one.faults
                ],
            }
            for one in report.files
        ],
    }
