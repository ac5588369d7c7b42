"""Scores over the topics of each category."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from assay.measures.scores import Scores


def scores_by_category(
    categories: Iterable[str | None], table: Callable[[list[int]], Scores], every: Scores
) -> Mapping[str, Scores] | None:
    """Category → scores; ``categories`` are those of all topics in order (None and empty: none),
    ``table`` makes the scores over some topics by their places, ``every`` are those over all. None
    where no topic has a category."""
    places: dict[str, list[int]] = {}
    count = 0
    for count, category in enumerate(categories, 1):
        if category:
            places.setdefault(category, []).append(count - 1)
    # One category: nothing new to compute.
    return {
        category: every if len(some) == count else table(some) for category, some in places.items()
    } or None
