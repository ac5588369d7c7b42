"""Rankings scored by grades that may rise where labels are missing: ranges, topic by topic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.measures.base import Measure
from assay.measures.batch import score_hits
from assay.measures.frames import run_hits
from assay.measures.judgements import Judgements
from assay.measures.names import parse_measure
from assay.measures.ranges import Range
from assay.measures.ranking_ranges import score_range
from assay.protocols.ranked import Ranked

Rising = Mapping[str, Mapping[str, float]]
"""topic → document → by how much its grade may rise."""


def score_rankings(ranked: Ranked, rising: Rising) -> dict[str, dict[str, dict[str, Range]]]:
    """Run → measure → topic → value. A topic that a run has no documents for is 0."""
    measures = [parse_measure(name) for name in ranked.measures.values()]
    qrels = {topic: ranked.qrels.get(topic, {}) for topic in ranked.topics}
    tops = _highest_grades(ranked, rising)
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
        for measure in measures:
            # Where the highest grade of all may rise, what hangs on it does for every topic.
            unsure = len(tops) > 1 and measure.uses_g_max
            for topic in ranked.topics if unsure else rising:
                if ranking.get(topic):
                    ends = _range(ranked, rising, measure, ranking[topic], topic, tops)
                    values[name][str(measure)][topic] = ends
    return values


def _highest_grades(ranked: Ranked, rising: Rising) -> list[float]:
    """Every highest grade that is possible; one where no grade may rise."""
    most = max(
        (
            ranked.qrels[topic].get(unit, 0.0) + more
            for topic, by_unit in rising.items()
            for unit, more in by_unit.items()
        ),
        default=0.0,
    )
    least = ranked.g_max
    return [least, *(float(grade) for grade in range(int(least) + 1, int(most) + 1))]


def _range(
    ranked: Ranked,
    rising: Rising,
    measure: Measure,
    ranking: Sequence[str],
    topic: str,
    tops: Sequence[float],
) -> Range:
    worst = ranked.qrels[topic]
    best = {**worst}
    for unit, more in rising.get(topic, {}).items():
        best[unit] = best.get(unit, 0.0) + more
    ideal = ranking if ranked.own_ideal else best
    return score_range(
        measure,
        [worst.get(unit) for unit in ranking],
        [best.get(unit) for unit in ranking],
        [worst.get(unit, 0.0) for unit in ideal],
        [best.get(unit, 0.0) for unit in ideal],
        tops,
    )
