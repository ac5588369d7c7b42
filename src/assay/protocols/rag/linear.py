"""The measures of ``rag`` that are sums over labels of one task: correctness, and the grades of
passages. (Whether *any* passage entails a claim is no sum.)"""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter

from assay.protocols.labels import LabelBook
from assay.protocols.linear import LinearMeasure, Share, at_least, value_of
from assay.protocols.rag.inputs import RagInputs, RagSettings
from assay.protocols.rag.judged import RecordWalk
from assay.protocols.rag.scoring import RELEVANT
from assay.tasks.r2c2 import ANSWER
from assay.tasks.trec_rag import RELEVANCE


def linear_measures(
    inputs: RagInputs, settings: RagSettings, book: LabelBook
) -> Iterator[LinearMeasure]:
    """Correct, ContextPrecision and ContextRelevance, over the questions that each is a mean of."""
    answerable = {name for name, one in inputs.questions.items() if one.answerable}
    with_reference = {name for name in answerable if inputs.questions[name].references}
    correct: list[Share] = []
    grades: list[Share] = []
    walk = RecordWalk(inputs, settings, book)
    for record in inputs.records():
        walk.judged(record)
        requests = walk.take(ANSWER, RELEVANCE)
        if record.id not in answerable:
            continue
        correct += [
            Share(record.run, request, 1 / len(with_reference))
            for request in requests
            if request.task is ANSWER
        ]
        graded = [request for request in requests if request.task is RELEVANCE]
        weight = 1 / (len(answerable) * max(len(record.passages), 1))
        # Passages are looked up before the answer's claims, which are graded too.
        with_text = sum(one.text is not None for one in record.passages)
        grades += [Share(record.run, request, weight) for request in graded[:with_text]]
    if correct:
        yield LinearMeasure("Correct", ANSWER, value_of("correct"), correct)
    relevant = at_least(itemgetter("grade"), RELEVANT)
    yield LinearMeasure("ContextPrecision", RELEVANCE, relevant, grades)
    yield LinearMeasure(
        "ContextRelevance", RELEVANCE, lambda _, verdict: float(verdict["grade"]) / 3, grades
    )
