"""``assay recalibrate``: confidences recalibrated from other questions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import orjson

from assay.api.recalibrating import Recalibrated, recalibrate
from assay.cli.common import forms, present, remark, takes
from assay.model.options import Argument, Option
from assay.page.tables import Table
from assay.systems.recalibration import MEASURES, Calibration


@forms("json")
@takes(recalibrate, output="apply_to")
def recalibrate_command(
    seen: Annotated[
        Path, Argument("SEEN.csv", "Columns run, topic, confidence, correct: the data to fit on.")
    ],
    *,
    output: Annotated[
        Path | None, Option("File to write the recalibrated run to.", flag="-o --output")
    ] = None,
    **options: Any,
) -> None:
    """Fit a recalibration of confidences on one question set and apply it to another run.

    The effect on SEEN is cross-validated: no question is used to fit the map that is applied to it.
    If the correctness of the other run is known, the effect on that run is shown too.
    """
    found = recalibrate(seen, output=output, note=remark, **options)
    present(found.document, _people(found))


def _people(found: Recalibrated) -> Iterator[Table | str]:
    for each in found.effects:
        yield Table(
            f"{found.method.capitalize()}, {each.what}, {each.n} answers",
            ("", *MEASURES),
            [
                (word, *(values[name] for name in MEASURES))
                for word, values in (("before", each.before), ("after", each.after))
            ],
            digits=4,
        )
    if found.method is not Calibration.ISOTONIC:
        yield orjson.dumps(found.fitted.parameters).decode()
    for note in found.notes:
        remark(note)
    if found.output is not None:
        yield f"Written: {found.output}"
