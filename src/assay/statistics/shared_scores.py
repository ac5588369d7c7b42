"""The scores that two tables share: runs, topics, and the treatment of missing scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from assay.measures.arrays import Bools, Floats, Integers
from assay.statistics.checks import numbers

Scores = Mapping[str, Mapping[str, float | None]]
"""Scores by run, then topic; ``None`` and NaN are missing scores."""

Missing = Literal["topics", "cells", "zero"]
"""How a shared topic counts that a shared run lacks in either table: it is left out for all runs
(``topics``), left out for that run in both tables (``cells``), or counts as 0 (``zero``)."""


def known_scores(scores: Mapping[str, float | None]) -> dict[str, float]:
    """The scores that are not missing, by topic. Raises ValueError if one is not a number, or
    ``scores`` is not a mapping."""
    if not isinstance(scores, Mapping):
        raise ValueError(
            f"give scores by run, then topic, got {scores} as those of a run; scores of whole runs "
            "are for correlate_runs"
        )
    values = numbers(np.array(list(scores.values()), dtype=object), "scores", missing=True)
    return {
        name: float(value)
        for name, value in zip(scores, values, strict=True)
        if not np.isnan(value)
    }


def check_missing(missing: Missing) -> None:
    """Raise ValueError if ``missing`` is not one of :data:`Missing`."""
    if missing not in get_args(Missing):
        raise ValueError(f"missing must be 'topics', 'cells' or 'zero', got {missing!r}")


@dataclass(frozen=True)
class Averaged:
    """The mean score of each run.

    ``means``: the scores. ``topics``: the number of topics of each mean; 0 if it is a score of the
    whole run. ``missing``: runs and topics without a score. ``left_out``: topics left out because
    of ``missing``.
    """

    means: Floats
    topics: Integers
    missing: tuple[tuple[str, str], ...]
    left_out: tuple[str, ...]


_WHOLE = ""
"""The topic that stands for a score of the run as a whole."""


def by_topic(scores: Mapping[str, float | None] | Scores) -> dict[str, dict[str, float]]:
    """The known scores by run, then topic; a score of a whole run is under the topic ``""``."""
    return {
        run: known_scores(score if isinstance(score, Mapping) else {_WHOLE: score})
        for run, score in scores.items()
    }


def shared_runs(
    first: Mapping[str, Mapping[str, float]], second: Mapping[str, Mapping[str, float]], what: str
) -> tuple[list[str], dict[str, tuple[str, ...]]]:
    """The runs with scores in both tables, and all others by the field of ``CorrelationReport``.
    Raises ValueError if fewer than 2 are shared."""
    shared = [run for run in first if run in second]
    used = [run for run in shared if first[run] and second[run]]
    if len(used) < 2:
        others = len(shared) - len(used)
        without = f", beside {others} without a score in one of them" if others else ""
        raise ValueError(f"runs in both {what}: {len(used)}{without}; at least 2 are needed")
    return used, {
        "runs_only_first": tuple(run for run in first if run not in second),
        "runs_only_second": tuple(run for run in second if run not in first),
        "runs_unscored_first": tuple(run for run in shared if not first[run]),
        "runs_unscored_second": tuple(run for run in shared if not second[run]),
    }


def average(
    which: str, table: Mapping[str, Mapping[str, float]], runs: Sequence[str], missing: Missing
) -> Averaged:
    """The mean of each of ``runs`` over its topics. ``which``: the name of the table in messages.
    Raises ValueError if no topic is left."""
    topics = list(dict.fromkeys(topic for run in runs for topic in table[run]))
    scores = matrix([table[run] for run in runs], topics)
    holes = np.isnan(scores)
    gaps = tuple((runs[r], topics[t]) for t, r in np.argwhere(holes))
    (scores,), _, left_out = complete((scores,), topics, holes, missing)
    if not len(scores):
        raise ValueError(f"no topic is left that the {which} table has for every run they share")
    used = (~np.isnan(scores)).sum(axis=0)
    counts = np.zeros_like(used) if topics == [_WHOLE] else used
    return Averaged(np.nanmean(scores, axis=0), counts, gaps, left_out)


def complete(
    tables: Sequence[Floats], topics: Sequence[str], holes: Bools, missing: Missing
) -> tuple[list[Floats], list[str], tuple[str, ...]]:
    """Apply ``missing`` to tables of topics × runs. Returns the tables, their topics, and the
    topics left out. ``holes``: where a score is missing in any of the tables."""
    if missing == "zero":
        return [np.nan_to_num(table) for table in tables], list(topics), ()
    if missing == "cells":
        return [np.where(holes, np.nan, table) for table in tables], list(topics), ()
    full: Bools = np.asarray(~holes.any(axis=1))
    used = [topic for topic, use in zip(topics, full, strict=True) if use]
    left_out = tuple(topic for topic, use in zip(topics, full, strict=True) if not use)
    return [table[full] for table in tables], used, left_out


def matrix(rows: Sequence[Mapping[str, float]], topics: Sequence[str]) -> Floats:
    """Topics × runs, NaN if a run lacks a topic."""
    cells = [[row.get(topic, np.nan) for row in rows] for topic in topics]
    return np.array(cells, dtype=np.float64).reshape(len(topics), len(rows))
