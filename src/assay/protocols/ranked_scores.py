"""Rankings scored by grades that may rise where labels are missing: ranges, topic by topic."""

from __future__ import annotations

from collections.abc import Sequence

from assay.measures.batch import score_hits
from assay.measures.frames import run_hits
from assay.measures.judgements import Judgements
from assay.measures.names import parse_measure
from assay.measures.ranges import Range
from assay.measures.ranking_ranges import KnownGrades, score_ranges
from assay.protocols.ranked import Ranked


def score_rankings(ranked: Ranked) -> dict[str, dict[str, dict[str, Range]]]:
    """Run → measure → topic → value; nothing where there is no topic. A topic that a run has no
    documents for is 0; it is not there where only those that a run answers count."""
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
        known = {topic: _known(ranked, shown, topic) for topic, shown in ranking.items()
                 if shown and topic in qrels and (topic in rising or len(tops) > 1)}  # fmt: skip
        for measure in measures:
            # Where the highest grade of all may rise, what hangs on it does for every topic.
            every = len(tops) > 1 and measure.uses_g_max
            unsure = [topic for topic in known if every or topic in rising]
            ends = score_ranges(measure, [known[topic] for topic in unsure], tops)
            values[name][str(measure)].update(zip(unsure, ends, strict=True))
        if ranked.answered:
            values[name] = {
                measure: {topic: ends for topic, ends in of.items() if ranking.get(topic)}
                for measure, of in values[name].items()
            }
    return values


def _highest_grades(ranked: Ranked) -> list[float]:
    """Every highest grade that is possible; one where no grade may rise."""
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


def _known(ranked: Ranked, ranking: Sequence[str], topic: str) -> KnownGrades:
    worst = ranked.qrels.get(topic, {})
    best = {**worst}
    for unit, more in ranked.rising.get(topic, {}).items():
        best[unit] = best.get(unit, 0.0) + more
    ideal = ranking if ranked.own_ideal else best
    return KnownGrades(
        [worst.get(unit) for unit in ranking],
        [best.get(unit) for unit in ranking],
        [worst.get(unit, 0.0) for unit in ideal],
        [best.get(unit, 0.0) for unit in ideal],
    )
