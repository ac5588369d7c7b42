"""What of statistics is undefined, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from assay.model.wording import joined

LEVEL = 0.95
"""Of all intervals."""

RESAMPLES = 2000
"""Of all bootstraps over topics."""


def explained(row: dict[str, Any], reason: str | None, undefined: int = 0) -> dict[str, Any]:
    """A row with the reason of its nulls and the resamples that its interval leaves out."""
    if undefined:
        row["undefined_resamples"] = undefined
    if reason is not None:
        row["reason"] = reason
    return row


def undefined_values(mark: str, found: Iterable[tuple[str, str | None]]) -> Iterator[str]:
    """For every reason a sentence that names the values that it leaves undefined. ``mark``: what
    stands in their place. ``found``: name and reason of every value; without a reason it is
    defined."""
    names: dict[str, list[str]] = {}
    for name, reason in found:
        if reason is not None:
            names.setdefault(reason, []).append(name)
    for reason, every in names.items():
        yield f"{mark} is undefined: {reason} ({joined(every, 12)})."


def undefined_resamples(found: Iterable[tuple[str, int]]) -> Iterator[str]:
    """A sentence on how many resamples the intervals leave out, given as name and number."""
    counts = [f"{name} {count:,}" for name, count in found if count]
    if counts:
        yield (
            f"Low and high leave out the resamples (of {RESAMPLES:,}) in which the value is "
            f"undefined: {joined(counts, 12)}."
        )


def no_interval(topics: int) -> str:
    """Why a value that is defined has no interval."""
    why = "there is only one topic" if topics == 1 else "it is undefined in every resample"
    return f"no interval: {why}"
