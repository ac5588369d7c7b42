"""Retrieval runs scored by the grades of documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.measures.evaluation import evaluate
from assay.measures.names import parse_measure
from assay.protocols.ranked import Ranked
from assay.protocols.trec_rag.inputs import Inputs, TrecRagSettings
from assay.protocols.trec_rag.scoring import Sheet


def retrieval_sheet(
    inputs: Inputs, settings: TrecRagSettings, grades: Mapping[str, Mapping[str, int]]
) -> Sheet | None:
    """Every retrieval run by every measure, over the topics that have grades; None without any.

    A document without a grade counts as not relevant.
    """
    measures = [parse_measure(name) for name in settings.measures]
    qrels = {
        topic: {doc: float(grade) for doc, grade in found.items()}
        for topic, found in grades.items()
        if found
    }
    if not qrels or not inputs.r_runs:
        return None
    highest = max(grade for judged in qrels.values() for grade in judged.values()) or 1.0
    values = {}
    for name, run in inputs.r_runs.items():
        ranking = {topic: list(run.ranked(topic)) for topic in qrels}
        found = evaluate(ranking, qrels, measures, g_max=highest)
        values[name] = {
            str(measure): {
                topic: value for topic, value in found.scores[measure].items() if ranking[topic]
            }
            for measure in measures
        }
    nothing = dict.fromkeys(settings.measures, frozenset[str]())
    return Sheet(tuple(qrels), settings.measures, values, nothing, dict.fromkeys(values, nothing))


def ranked_runs(
    inputs: Inputs,
    settings: TrecRagSettings,
    grades: Mapping[str, Mapping[str, int]],
    topics: Sequence[str],
) -> Ranked | None:
    """The retrieval runs as they are scored over ``topics``, for files; None without grades."""
    if not grades:
        return None
    return Ranked(
        topics=topics,
        qrels=grades,
        runs={
            name: {topic: run.ranked(topic) for topic in run.scores}
            for name, run in inputs.r_runs.items()
        },
        measures={name: name for name in settings.measures},
        g_max=max((g for found in grades.values() for g in found.values()), default=0) or 1.0,
        answered=settings.answers == "answered",
    )
