"""What an R2C2 evaluation reads: questions, PR runs, AC runs, and the protocol's settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import Field

from assay.formats.r2c2 import AnswerRunFile, Parsed, read_ac_run, read_pr_run, read_questions
from assay.model.errors import Fault, FormatError, SettingsError
from assay.model.rag import PassageRun, Question
from assay.protocols.base import CommonSettings, MeasureNames
from assay.protocols.folder import Folder, relative_to

T = TypeVar("T")


class R2C2Settings(CommonSettings):
    """``[settings]`` of an R2C2 evaluation.

    ``ideal``: where the ideal list of a question comes from, the pooled grades of all PR runs
    (``pooled``) or the run's own passages (``own``). ``merge_identical``: passages of several PR
    runs with the same document and text are one relevance unit. ``g_max``: highest grade of nERR
    and iRBU, the highest in the derived qrels where left out. ``bins`` and ``bins_closed``: of
    ECE and MCE. ``level``, ``resamples``, ``seed``: of the bootstrap intervals over questions.
    ``max_passage_chars``: the slides' limit on a passage's length (200), off by default.
    ``policy``: which label counts. ``measures``: what PR runs are scored by.
    ``entailment``: how step 3 is asked. ``yes-no``: whether the passage entails the nugget (the
    paper's question, of every pair). ``support``: how far it supports it, as TREC RAG and SGSS
    ask; all but full support is bogus. ``auto``: ``support`` where a protocol beside R2C2 asks
    that, so that what one asks the others do not ask again; else yes or no, unless support is
    known.
    ``relevance_check``: also have every passage judged on its own, and set that against the derived
    grades: ``true`` by ``r2c2.relevance``, ``yes-no`` or ``0-3`` by the question that TREC RAG asks
    under that name (relevant from 2).
    """

    ideal: Literal["pooled", "own"] = "pooled"
    merge_identical: bool = False
    g_max: float | None = Field(None, gt=0)
    bins: int = Field(10, ge=1, le=1000)
    bins_closed: Literal["right", "left"] = "right"
    max_passage_chars: int | None = Field(None, ge=1)
    entailment: Literal["auto", "yes-no", "support"] = "auto"
    relevance_check: bool | Literal["yes-no", "0-3"] = False
    measures: MeasureNames = ("nDCG@20", "Q@20", "nERR@20", "iRBU@20")


@dataclass(frozen=True)
class Inputs:
    """All inputs of an evaluation, checked; ``files`` are those that were read."""

    questions: tuple[Question, ...]
    pr_runs: Mapping[str, PassageRun]
    ac_files: Mapping[str, AnswerRunFile]
    files: tuple[Path, ...]
    warnings: tuple[str, ...]


def load_inputs(folder: Folder, settings: R2C2Settings) -> Inputs:
    """Read and check every input; raises FormatError with the faults of *all* files."""
    faults: list[Fault] = []
    warnings: list[str] = []

    def take(parse: Callable[[], Parsed[T]]) -> T | None:
        try:
            parsed = parse()
        except FormatError as error:  # the file cannot be read at all
            faults.extend(error.faults)
            return None
        faults.extend(parsed.errors)
        for fault in parsed.warnings:
            # Names relative to the folder: reports are sent round, and should not change with it.
            name = relative_to(folder.path, Path(fault.file))
            warnings.append(str(replace(fault, file=name)))
        return parsed.value

    question_files = folder.input_files("questions")
    if len(question_files) != 1:
        raise SettingsError(f"{folder.path}: [inputs] questions must be one file.")
    questions = take(partial(read_questions, question_files[0])) or ()

    pr_files = folder.input_files("pr_runs")
    pr_runs: dict[str, PassageRun] = {}
    limit = settings.max_passage_chars
    for path in pr_files:
        pr = take(partial(read_pr_run, path, questions=questions, max_passage_chars=limit))
        if pr is not None:
            _unique(pr.name, path, pr_runs, faults)
            pr_runs[pr.name] = pr

    ac_paths = folder.input_files("ac_runs")
    ac_files: dict[str, AnswerRunFile] = {}
    for path in ac_paths:
        ac = take(partial(read_ac_run, path, questions=questions, pr_runs=pr_runs))
        if ac is not None:
            _unique(ac.run.name, path, {**pr_runs, **ac_files}, faults)
            ac_files[ac.run.name] = ac
            if ac.run.marked:
                warnings.append(
                    f"{path.name}: the marks that it holds are not used; labels are. "
                    "To bring in a person's marks, use 'assay labels import'."
                )
    if faults:
        raise FormatError(faults)
    files = (*question_files, *pr_files, *ac_paths)
    return Inputs(questions, pr_runs, ac_files, files, tuple(warnings))


def _unique(name: str, path: Path, known: Mapping[str, object], faults: list[Fault]) -> None:
    if name in known:
        cure = "Rename one of the files: the name is the run's name in all tables."
        faults.append(Fault(str(path), 0, None, f"Another run is called '{name}' too.", cure))
