"""``assay recalibrate``: confidences mended by what was seen on other questions."""

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
        Path, Argument("SEEN.csv", "Columns run, topic, confidence, correct: what is learnt from.")
    ],
    *,
    output: Annotated[
        Path | None, Option("The run with other confidences.", flag="-o --output")
    ] = None,
    **options: Any,
) -> None:
    """Fit a map of confidences on one question set and apply it to another run.

    The effect on SEEN is cross-validated: no question's confidence is mapped by a map that saw it.
    Where the other run's correctness is known too, the effect on it is shown beside.
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
