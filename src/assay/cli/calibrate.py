"""``assay calibrate``: embedded judges fitted to people's labels in a folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from assay.api.calibrating import Calibrated, calibrate
from assay.cli.common import forms, present, remark
from assay.model.options import Argument, Option
from assay.model.wording import counted
from assay.page.tables import Table

_NAMES = {"E": "claims", "A": "relevance", "C": "answers"}


@forms("json")
def calibrate_command(
    folder: Annotated[Path, Argument("FOLDER", "The evaluation.")],
    dry_run: Annotated[bool, Option("Show the changes, but write nothing.")] = False,
) -> None:
    """Fit the embedded judge's threshold, prior and slope to 50 to 200 labels by people.

    Shows cross-validated results before and after. For the tasks it affects, the fitted judge
    counts as a new labeller: run 'assay judge' for its labels. To undo the fit, delete
    judge-calibration.json. If embedded:large has labelled, it is fitted too
    (judge-calibration-large.json).
    """
    found = calibrate(folder, dry_run=dry_run)
    parts = (part for one in found for part in _people(one))
    present(lambda: [one.document() for one in found], parts)
    if not any(one.fitted for judge in found for one in judge.abilities):
        raise typer.Exit(1)


def _people(found: Calibrated) -> Iterator[Table | str]:
    judge = found.judge.labeller
    if found.why_not:
        remark(f"{judge}: nothing was fitted. {found.why_not}")
        return
    for one in found.abilities:
        if one.after:
            rows = [
                (word, *(values[name] for name in one.before))
                for word, values in (("before", one.before), ("after", one.after))
            ]
            title = f"{judge}: {_NAMES[one.ability]}, {one.units} units, {one.yes} of them yes"
            yield Table(f"{title}; cross-validated", ("", *one.before), rows, digits=3)
        if one.fitted is not None:
            yield f"slope {one.fitted.slope:.3f}, shift {one.fitted.shift:+.3f}"
        else:
            remark(f"{judge}, {_NAMES[one.ability]}: not fitted: {one.why_not}.")
    if found.differ:
        remark(
            f"{judge}: people disagree on {counted(found.differ, 'unit')}. The newest label is "
            "used, or, under the policy 'majority', the label most people gave."
        )
    if found.outdated:
        remark(
            f"{judge}: {counted(found.outdated, 'unit')} labelled by people left out, because the "
            "judge labelled them under other rules, texts or settings than today's. 'assay judge' "
            "asks again for those still needed."
        )
    if found.output is not None:
        yield f"Written: {found.output}"
