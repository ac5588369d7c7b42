"""Validation of files against a named format, or against one guessed from their content."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TypeVar

from assay.formats.checking import Against, count_of, pr_counts
from assay.formats.parsed import FaultList, Parsed
from assay.formats.r2c2_pr import Corpus, read_pr_run
from assay.formats.r2c2_questions import read_questions
from assay.formats.registry import FORMATS
from assay.formats.text import Given, read_text, text_of
from assay.formats.trec_rag_topics import read_topics
from assay.model.errors import Fault, FormatError, SettingsError
from assay.model.rag import PassageRun, Question
from assay.model.wording import joined, printable

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FileReport:
    """The result for one file. ``role`` is ``checked``, or, for a file that others are checked
    against, ``questions``, ``topics`` or ``pr-run``."""

    file: str
    format: str
    faults: tuple[Fault, ...]
    counts: Mapping[str, int] = field(default_factory=dict)
    readable: bool = True
    guessed: bool = False
    role: str = "checked"

    @property
    def errors(self) -> int:
        """Number of faults that make the file unusable."""
        return sum(fault.severity == "error" for fault in self.faults)

    @property
    def warnings(self) -> int:
        """Number of faults that leave the file usable."""
        return len(self.faults) - self.errors


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """The results for all files, those that others are checked against first."""

    files: tuple[FileReport, ...]

    @property
    def ok(self) -> bool:
        """Whether no file has an error."""
        return not any(report.errors for report in self.files)

    @property
    def exit_status(self) -> int:
        """0 without errors, 1 with errors, 2 if a file could not be read."""
        if not all(report.readable for report in self.files):
            return 2
        return 0 if self.ok else 1

    @property
    def faults(self) -> tuple[Fault, ...]:
        """All faults of all files."""
        return tuple(fault for report in self.files for fault in report.faults)


def validate(
    paths: Iterable[str | PathLike[str]],
    format_name: str | None = None,
    *,
    questions: str | PathLike[str] | Sequence[Question] | None = None,
    pr_runs: Iterable[str | PathLike[str]] | Mapping[str, PassageRun] = (),
    max_passage_chars: int | None = None,
    corpus: Corpus | None = None,
    topics: str | PathLike[str] | None = None,
    year: str | None = None,
) -> ValidationReport:
    """Check every file, also if some of them cannot be read.

    ``questions`` and ``pr_runs`` are paths, or what was read from them; faults in these files and
    in ``topics`` (TREC RAG) are reported too. ``year`` selects the rules of a year of the track.
    Without ``format_name`` the format of each file is guessed; a file whose format cannot be
    guessed is reported like one that cannot be read. Raises :class:`SettingsError` for an unknown
    format.
    """
    if format_name is not None and format_name not in FORMATS:
        raise SettingsError(
            f"There is no format {printable(format_name)}; there are: {joined(FORMATS)}."
        )
    reports: list[FileReport] = []
    if isinstance(questions, str | PathLike):
        many = count_of("questions")
        questions = _reference(
            questions, "r2c2-questions", "questions", read_questions, many, reports
        )
    asked = None if questions is None else tuple(questions)
    runs_by_name = _pr_runs(pr_runs, asked, reports)
    texts = None
    if topics is not None:
        many = count_of("topics")
        found = _reference(topics, "trec-rag-topics", "topics", read_topics, many, reports)
        texts = None if found is None else {one.id: one.text for one in found}
    against = Against(asked, runs_by_name, max_passage_chars, corpus, texts, year)
    runs: dict[str, str] = {}
    for path in map(Path, paths):
        name = format_name
        try:
            source = read_text(path)  # a pipe can be read only once
            name = name or guess_format(source, track=year is not None or topics is not None)
            checked = FORMATS[name].check(source, against)
        except FormatError as error:
            reports.append(_unreadable(path, name or "", error, "checked"))
            continue
        faults = checked.faults
        if checked.run is not None:
            faults = _same_run(path, checked.run, runs) + faults
        reports.append(
            FileReport(
                printable(str(path)), name, faults, checked.counts, guessed=format_name is None
            )
        )
    return ValidationReport(tuple(reports))


def guess_format(given: Given, *, track: bool = False) -> str:
    """Guess the name of a file's format from its content; with ``track``, prefer a format of the
    TREC RAG track over others whose files look the same.

    Raises :class:`FormatError` if no format fits or the file cannot be read.
    """
    source = text_of(given)
    for name, one in reversed(FORMATS.items()):
        if one.recognises is not None and one.recognises(source):
            return (track and one.of_track) or name
    why = "The content looks like no format that Assay knows."
    cure = f"If it is one, name it with --format: {joined(FORMATS)}."
    raise FormatError([Fault(printable(source.file), 0, None, why, cure)])


def _reference(
    path: str | PathLike[str],
    name: str,
    role: str,
    read: Callable[[Path], Parsed[T]],
    count: Callable[[T], Mapping[str, int]],
    reports: list[FileReport],
) -> T | None:
    """Read a file that others are checked against; its faults are added to ``reports``."""
    given = Path(path)
    try:
        parsed = read(given)
    except FormatError as error:
        reports.append(_unreadable(given, name, error, role))
        return None
    counts = {} if parsed.value is None else count(parsed.value)
    reports.append(FileReport(printable(str(given)), name, parsed.faults, counts, role=role))
    return parsed.value


def _pr_runs(
    given: Iterable[str | PathLike[str]] | Mapping[str, PassageRun],
    questions: tuple[Question, ...] | None,
    reports: list[FileReport],
) -> Mapping[str, PassageRun] | None:
    """The PR runs by name; None if there are none to check PassageKeys against."""
    if isinstance(given, Mapping):
        return given or None
    runs: dict[str, PassageRun] = {}
    seen: dict[str, str] = {}
    read = partial(read_pr_run, questions=questions)
    for path in map(Path, given):
        run = _reference(path, "r2c2-pr", "pr-run", read, pr_counts, reports)
        if run is not None:
            faults = _same_run(path, run.name, seen) + reports[-1].faults
            reports[-1] = replace(reports[-1], faults=faults)
            runs.setdefault(run.name, run)
    return runs or None


def _same_run(path: Path, run: str, seen: dict[str, str]) -> tuple[Fault, ...]:
    """The fault of a file that holds a run of the same name as an earlier one, if it does."""
    first = seen.setdefault(run, str(path))
    if first == str(path):
        return ()
    faults = FaultList(str(path))
    faults.error(
        0,
        f"The run's name {printable(run)} is that of {printable(first)} too.",
        "Give every run its own name.",
    )
    return faults.done()


def _unreadable(path: Path, name: str, error: FormatError, role: str) -> FileReport:
    return FileReport(
        printable(str(path)), name, error.faults, readable=False, guessed=not name, role=role
    )
