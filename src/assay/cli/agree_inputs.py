"""What ``assay agree`` holds labels to: their scale."""

from __future__ import annotations

import typer

from assay.formats.label_tables import LARGEST

_MOST_STEPS = 1000


def parse_scale(text: str | None) -> list[float] | None:
    """``0:4`` as 0, 1, 2, 3, 4; ``0,0.5,1`` sorted; None as it is.

    Raises:
        typer.BadParameter: the text is no scale, has a label twice, or is too long.
    """
    if text is None:
        return None
    try:
        if ":" in text:
            low, high = (int(end) for end in text.split(":"))
            if not low < high <= low + _MOST_STEPS:
                raise ValueError
            return [float(label) for label in range(low, high + 1)]
        labels = [float(label) for label in text.split(",")]
        if len(set(labels)) < max(2, len(labels)) or not all(abs(x) <= LARGEST for x in labels):
            raise ValueError
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is no scale; write 0:4, or a list as 0,0.5,1", param_hint="--scale"
        ) from None
    return sorted(labels)
