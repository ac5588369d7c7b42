"""Scores as trec_eval prints them, so that what reads trec_eval's output reads ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from assay.measures.base import Measure
from assay.measures.frames import RunScores
from assay.measures.judgements import Judgements
from assay.measures.tables import ALL, Topics
from assay.model.wording import printable

__all__ = ["OFFICIAL", "trec_lines"]

OFFICIAL = (
    "map",
    "Rprec",
    "recip_rank",
    *(f"P_{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)),
)
"""Those of the measures that trec_eval prints by itself that are measures here, in its order."""


def trec_lines(
    runs: Mapping[str, RunScores],
    measures: Mapping[str, Measure],
    judged: Judgements,
    topics: Topics,
    *,
    per_topic: bool,
    counts: bool,
) -> Iterator[str]:
    """Yield the lines: single topics in the order of their ids, then the means; run after run.

    Args:
        runs: scores by the run's name.
        measures: measures by the name that is printed.
        judged: the qrels.
        topics: what the means are taken over.
        per_topic: whether single topics are printed (``-q``); as in trec_eval only those that the
            run has, even where the mean is taken over all (``-c``).
        counts: whether ``runid`` and the counts ``num_q num_ret num_rel num_rel_ret`` are printed
            too, as trec_eval does where no measure was asked for.
    """
    relevant = judged.relevant()
    for run, scores in runs.items():
        numbers = {
            "num_ret": scores.shown,
            "num_rel": np.where(scores.answered, relevant, 0),
            "num_rel_ret": scores.found,
        }
        if per_topic:
            order = sorted(np.flatnonzero(scores.answered).tolist(), key=scores.topics.__getitem__)
            for place in order:
                topic = scores.topics[place]
                if counts:
                    for name, values in numbers.items():
                        yield _line(name, topic, str(values[place]))
                for name, measure in measures.items():
                    yield _line(name, topic, f"{scores.values[measure][place]:6.4f}")
        if counts or len(runs) > 1:
            yield _line("runid", ALL, run)
        if counts:
            counted = len(judged.topics) if topics == "qrels" else int(scores.answered.sum())
            yield _line("num_q", ALL, str(counted))
            for name, values in numbers.items():
                yield _line(name, ALL, str(values.sum()))
        for name, measure in measures.items():
            mean = scores.mean(measure, topics=topics)
            yield _line(name, ALL, "" if mean is None else f"{mean:6.4f}")


def _line(name: str, topic: str, value: str) -> str:
    return f"{name:<22}\t{printable(topic)}\t{value}"
