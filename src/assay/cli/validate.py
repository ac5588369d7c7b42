"""``assay validate``: all faults of input files, one per line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from assay.api.validating import YEARS, Validated, check
from assay.cli.common import FORM, forms, one_of, present, print_json, takes, tell
from assay.model.errors import AssayError, group_faults
from assay.model.options import Argument
from assay.model.wording import joined, printable

_SUMMED_UP = 10
"""Number of files from which the last line counts the good ones."""


@forms("json")
@takes(check)
def validate_command(
    files: Annotated[list[Path], Argument("FILE...", "Files to check: plain, .gz or .bz2.")],
    **options: Any,
) -> None:
    """Check files against their format, and list every fault with its line and how to fix it.

    Exit status: 0 no faults; 1 faults found; 2 a file cannot be read, or wrong usage.
    """
    if options["year"] is not None:
        one_of(options["year"], YEARS, "--year")
    try:
        found = check(files, **options)
    except AssayError as error:
        if FORM.get():
            print_json({"ok": False, "error": str(error), "files": []})
        else:
            tell(error)
        raise typer.Exit(error.exit_status) from None
    present(found.document, _people(found))
    raise typer.Exit(found.exit_status)


def _people(found: Validated) -> Iterator[Text | str]:
    for fixed in found.fixes or ():
        for change in fixed.changes:
            topic = f" [{change.topic}]" if change.topic else ""
            yield f"{fixed.file}:{change.line}{topic} fixed: {change.what}"
        said = f"corrected copy: {fixed.fixed}" if fixed.fixed else "nothing to fix"
        yield f"{fixed.file}: {said}"
    for one in found.report.files:
        for place, (fault, *_) in group_faults(one.faults):
            warns = fault.severity != "error"
            line = Text(printable(f"{place} "))
            line.append("warning: " if warns else "", style="yellow")
            line.append(printable(fault.why), style="" if warns else "red")
            line.append(printable(f" {fault.cure}".rstrip()))
            yield line
        if not one.readable:
            yield Text(printable(f"{one.file}: not checked"), style="bold")
            continue
        kind = f"{one.format} (guessed)" if one.guessed else one.format
        holds = ", ".join(_many(count, unit) for unit, count in one.counts.items())
        faults = [_many(one.errors, "errors"), _many(one.warnings, "warnings")]
        verdict = "good" if not one.faults else ", ".join(part for part in faults if part[0] != "0")
        role = "" if one.role == "checked" else ", checked against"
        said = f"{one.file}: {verdict}; {kind}{role}{'; ' if holds else ''}{holds}"
        yield Text(printable(said), style="green" if not one.errors else "bold")
    count, bad = len(found.report.files), found.faulty
    if count >= _SUMMED_UP:
        so = f"; {len(bad)} to fix: {joined(bad, _SUMMED_UP)}" if bad else ""
        what = "faults" if found.strict else "errors"
        said = f"{count} files: {count - len(bad)} without {what}{so}."
        yield Text(printable(said), style="bold" if bad else "green")


def _many(count: int, unit: str) -> str:
    if count == 1 and unit.endswith("s"):
        return f"1 {unit[:-3]}y" if unit.endswith("ries") else f"1 {unit[:-1]}"
    return f"{count} {unit}"
