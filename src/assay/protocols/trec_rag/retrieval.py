"""Retrieval runs scored by the grades of documents."""

from __future__ import annotations

from collections.abc import Mapping

from assay.measures.evaluation import evaluate
from assay.measures.names import parse_measure
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
