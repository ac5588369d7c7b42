"""Explain undefined statistics in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from assay.model.wording import joined

LEVEL = 0.95
"""Confidence level of all intervals."""

RESAMPLES = 2000
"""Number of resamples in every bootstrap over topics."""


def explained(row: dict[str, Any], reason: str | None, undefined: int = 0) -> dict[str, Any]:
    """Add to a row the reason for its nulls and the number of undefined resamples, if any."""
    if undefined:
        row["undefined_resamples"] = undefined
    if reason is not None:
        row["reason"] = reason
    return row


def undefined_values(mark: str, found: Iterable[tuple[str, str | None]]) -> Iterator[str]:
    """Yield a sentence for each reason, naming the values undefined because of it. ``mark`` is
    what tables show in their place. ``found`` has the name of each value with its reason, or None
    if it is defined."""
    names: dict[str, list[str]] = {}
    for name, reason in found:
        if reason is not None:
            names.setdefault(reason, []).append(name)
    for reason, every in names.items():
        yield f"{mark} is undefined: {reason} ({joined(every, 12)})."


def undefined_resamples(found: Iterable[tuple[str, int]]) -> Iterator[str]:
    """Yield a sentence on the resamples that intervals leave out, from (name, number) pairs."""
    counts = [f"{name} {count:,}" for name, count in found if count]
    if counts:
        yield (
            f"Low and high leave out the resamples (of {RESAMPLES:,}) in which the value is "
            f"undefined: {joined(counts, 12)}."
        )


def no_interval(topics: int) -> str:
    """Why a defined value has no interval."""
    why = "there is only one topic" if topics == 1 else "it is undefined in every resample"
    return f"no interval: {why}"
