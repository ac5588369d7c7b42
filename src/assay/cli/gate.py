"""``assay gate``: in CI, whether a run is good enough and no worse than a committed baseline."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from assay.api.gate_terms import FEWEST
from assay.api.gates import GateOptions, gate_folder, save_baseline
from assay.cli.common import FolderArgument, Paragraph, forms, is_share, present, remark
from assay.cli.judging import LabellerOption, PolicyOption, open_folder
from assay.model.errors import SettingsError
from assay.model.options import Option
from assay.model.wording import counted
from assay.page.gates import Gate, Verdict
from assay.page.tables import Table
from assay.page.wording import shortened
from assay.protocols.config import GateMeasure
from assay.protocols.output import write_bytes
from assay.reports.gates import compared, gate_table, junit, markdown, remarks

SUMMARY = "GITHUB_STEP_SUMMARY"
"""The environment variable that names the file of a step's summary."""


@forms("json")
def gate_command(
    folder: FolderArgument,
    baseline: Annotated[
        Path | None, Option("Baseline that --save wrote for an earlier run.", metavar="FILE")
    ] = None,
    save: Annotated[
        Path | None, Option("Write the run's baseline; test nothing.", metavar="FILE")
    ] = None,
    run: Annotated[
        str | None, Option("The run to check (if there are several).", metavar="NAME")
    ] = None,
    least: Annotated[
        list[str] | None,
        Option(
            "Require the lower end of a measure to be at least VALUE; repeatable.",
            flag="--min",
            metavar="M=VALUE",
        ),
    ] = None,
    most: Annotated[
        list[str] | None,
        Option(
            "Require the upper end of a measure to be at most VALUE; repeatable.",
            flag="--max",
            metavar="M=VALUE",
        ),
    ] = None,
    no_worse: Annotated[
        list[str] | None,
        Option(
            "Test that a measure has not lost more than LOSS (default 0); repeatable.",
            metavar="M[=LOSS]",
        ),
    ] = None,
    alpha: Annotated[
        float | None, Option("Significance level of the tests, with Holm's correction over all.")
    ] = None,
    prove: Annotated[
        bool, Option("Pass only if the run is shown not to be worse than the loss allowed.")
    ] = False,
    junit_file: Annotated[
        Path | None, Option("Write JUnit XML.", flag="--junit", metavar="FILE")
    ] = None,
    markdown_file: Annotated[
        Path | None, Option("Write Markdown.", flag="--markdown", metavar="FILE")
    ] = None,
    protocol: Annotated[str | None, Option("Protocol to check, if the folder has several.")] = None,
    policy: PolicyOption = None,
    labeller: LabellerOption = None,
) -> None:
    """Check whether a run may be released: bounds on its scores, and no significant loss against a
    baseline.

    Asks no labeller: run 'assay evaluate' first. Tests are paired, over the questions that are
    unchanged in both. Missing labels are tried at both extremes. If you name no measure, the first
    of each leaderboard is tested. In GitHub Actions, the step summary is written too.

    Exit status: 0 pass; 1 regression, bound missed or incomplete; 2 not comparable.
    """
    if alpha is not None:
        is_share(alpha, "--alpha")
    rules = _rules(least or (), most or (), no_worse or ())
    asked = GateOptions(run, protocol, baseline, rules, alpha, prove)
    opened = open_folder(folder, labeller, policy)
    if save is not None:
        if baseline is not None or rules:
            raise SettingsError(
                "--save tests nothing: use it without --baseline and without measures."
            )
        name, count, said = save_baseline(opened, save, asked)
        present(
            lambda: {"file": str(save), "run": name, "questions": count},
            [f"Baseline of run {name}, {counted(count, 'question')}: {save}"],
        )
        if count < FEWEST:
            remark(
                f"a gate needs at least {FEWEST} questions to compare: add some and write the "
                "baseline again."
            )
        for line in said:
            remark(line)
        return
    found = gate_folder(opened, asked)
    _write(found, junit_file, markdown_file)
    present(found.document, _people(found))
    raise typer.Exit(found.exit_status)


def _rules(
    least: Sequence[str], most: Sequence[str], no_worse: Sequence[str]
) -> dict[str, GateMeasure]:
    """The rules set by the options, by measure."""
    loss = {name: 0.0 if value is None else value for name, value in _read(no_worse, "--no-worse")}
    lower, upper = dict(_read(least, "--min")), dict(_read(most, "--max"))
    return {
        name: GateMeasure(loss=loss.get(name), min=lower.get(name), max=upper.get(name))
        for name in dict.fromkeys((*loss, *lower, *upper))
    }


def _read(given: Sequence[str], option: str) -> Iterator[tuple[str, float | None]]:
    """Parse ``MEASURE=VALUE``; for ``--no-worse`` the value is optional. (A measure's name may
    contain an equals sign, so the last one counts.)"""
    for one in given:
        name, sign, text = one.rpartition("=")
        closed = text.count("(") == text.count(")")
        if option == "--no-worse" and (not sign or not closed):
            yield one, None
            continue
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not name or not math.isfinite(value) or (option == "--no-worse" and value < 0):
            raise typer.BadParameter(f"must be MEASURE=VALUE, not {one!r}", param_hint=option)
        yield name, value


def _write(found: Gate, junit_file: Path | None, markdown_file: Path | None) -> None:
    try:
        if junit_file is not None:
            write_bytes(junit_file, junit(found))
        if markdown_file is not None:
            write_bytes(markdown_file, markdown(found).encode())
        if summary := os.environ.get(SUMMARY):
            with Path(summary).open("a", encoding="utf-8") as file:
                file.write(markdown(found))
    except OSError as error:
        raise SettingsError(f"{error.filename}: cannot be written: {error.strerror}.") from error


def _people(found: Gate) -> Iterator[Table | Paragraph]:
    if found.against:
        yield Paragraph(f"Run {found.run} against {found.against}")
    if found.measures:
        yield gate_table(found)
    if any(one.tested for one in found.measures):
        yield Paragraph("Differences are now − baseline, with 95 % intervals; below 0 is worse.")
    for line in (*compared(found), *remarks(found)):
        yield Paragraph(line)
    if found.losers and found.verdict is not Verdict.PASS:
        rows = [(shortened(o.question, 24), shortened(o.text, 30), o.measure, o.before, o.now)
                for o in found.losers[:10]]  # fmt: skip
        heading = ("question", "text", "measure", "before", "now")
        yield Table("Questions that lost the most", heading, rows)
    for line in found.stands_on:
        yield Paragraph(line)
    yield Paragraph(found.title)
