"""Scores of rankings whose grades may rise because labels are missing: ranges, topic by topic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import nan

import numpy as np

from assay.measures.batch import score_hits
from assay.measures.judgements import Judgements
from assay.measures.names import parse_measure
from assay.measures.ranges import Range
from assay.measures.ranking_ranges import KnownGrades, score_ranges
from assay.measures.run_scores import run_hits
from assay.protocols.ranked import Ranked


def score_rankings(ranked: Ranked) -> dict[str, dict[str, dict[str, Range]]]:
    """Run → measure → topic → value; empty without topics. The value is 0 for a topic for which a
    run has no documents, unless only answered topics count: then it is left out."""
    if not ranked.topics:
        return {}
    measures = [parse_measure(name) for name in ranked.measures.values()]
    qrels = {topic: ranked.qrels.get(topic, {}) for topic in ranked.topics}
    rising, tops = ranked.rising, _highest_grades(ranked)
    values: dict[str, dict[str, dict[str, Range]]] = {}
    for name, ranking in ranked.runs.items():
        ideal = None
        if ranked.own_ideal:
            ideal = {
                topic: [qrels[topic].get(unit, 0.0) for unit in shown]
                for topic, shown in ranking.items()
            }
        judged = Judgements(qrels, ranked.g_max, ideal)
        found = score_hits(run_hits(ranking, judged, ties="file"), judged, measures)
        values[name] = {
            str(measure): dict(zip(qrels, map(Range.certain, table[0].tolist()), strict=True))
            for measure, table in found.items()
        }
        shown = {topic: docs for topic, docs in ranking.items() if docs and topic in qrels}
        # If the highest grade may rise, measures that use it change on every topic.
        scaled = [one for one in measures if len(tops) > 1 and one.uses_g_max]
        for some, topics in (
            (scaled, list(shown)),
            ([one for one in measures if one not in scaled], [t for t in shown if t in rising]),
        ):
            if not some or not topics:
                continue
            ends = score_ranges(some, _known(ranked, shown, topics), tops)
            for measure, (floors, ceilings) in ends.items():
                ranges = map(Range, floors[0].tolist(), ceilings[0].tolist())
                values[name][str(measure)].update(zip(topics, ranges, strict=True))
        if ranked.answered:
            values[name] = {
                measure: {topic: ends for topic, ends in of.items() if ranking.get(topic)}
                for measure, of in values[name].items()
            }
    return values


def _highest_grades(ranked: Ranked) -> list[float]:
    """Every possible highest grade; only one if no grade may rise."""
    most = max(
        (
            ranked.qrels[topic].get(unit, 0.0) + more
            for topic, by_unit in ranked.rising.items()
            for unit, more in by_unit.items()
        ),
        default=0.0,
    )
    least = ranked.g_max
    return [least, *(float(grade) for grade in range(int(least) + 1, int(most) + 1))]


def _known(
    ranked: Ranked, ranking: Mapping[str, Sequence[str]], topics: Sequence[str]
) -> KnownGrades:
    """The grades that are known for one run's lists."""
    shown: list[tuple[int, int, float, float]] = []
    ideals: list[tuple[int, float, float]] = []
    for number, topic in enumerate(topics):
        worst = ranked.qrels.get(topic, {})
        best = {**worst}
        for unit, more in ranked.rising.get(topic, {}).items():
            best[unit] = best.get(unit, 0.0) + more
        shown += [
            (number, rank, worst.get(unit, nan), best[unit])
            for rank, unit in enumerate(ranking[topic], 1)
            if unit in best
        ]
        ideal = ranking[topic] if ranked.own_ideal else best
        ideals += [(number, worst.get(unit, 0.0), best.get(unit, 0.0)) for unit in ideal]
    lists, ranks, least, most = np.array(shown, np.float64).reshape(-1, 4).T
    pools, ideal_least, ideal_most = np.array(ideals, np.float64).reshape(-1, 3).T
    lengths = np.array([len(ranking[topic]) for topic in topics])
    return KnownGrades(
        lists.astype(np.int64), ranks.astype(np.int64), least, most, lengths,
        pools.astype(np.int64), ideal_least, ideal_most, len(topics),
    )  # fmt: skip
