"""The protocol ``rag``: what is asked about answers, and how labels become scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import ClassVar

from assay.labellers.base import Request
from assay.model.records import text_id
from assay.model.wording import counted
from assay.protocols.base import Assumed, Protocol, Step
from assay.protocols.contents import Content, cited
from assay.protocols.labels import LabelBook
from assay.protocols.linear import LinearMeasure, Share, at_least, value_of
from assay.protocols.rag.findings import findings
from assay.protocols.rag.inputs import RagInputs, RagSettings, load
from assay.protocols.rag.judged import RecordWalk
from assay.protocols.rag.scoring import RELEVANT
from assay.tasks.base import AnyTask
from assay.tasks.r2c2 import ANSWER, DIALOGUE_ACT
from assay.tasks.rag import CLAIMS
from assay.tasks.trec_rag import RELEVANCE, SUPPORT


def linear_measures(
    inputs: RagInputs, settings: RagSettings, book: LabelBook
) -> Iterator[LinearMeasure]:
    """Correct, ContextPrecision and ContextRelevance, over the questions of which each is a mean.
    (Whether *any* passage entails a claim is not a sum.)"""
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


_ASSUMED = "Until texts are split into claims, their sentences are counted, as for an answer."


class Rag(Protocol[RagSettings, RagInputs]):
    """Answers of a RAG application with the passages it used. Definitions: docs/rag.md."""

    name = "rag"
    title = "RAG · answers, passages, references"
    settings = RagSettings
    entries = ("answers", "passages", "questions")
    load = staticmethod(load)
    score = staticmethod(findings)
    linear = staticmethod(linear_measures)
    said_nothing: ClassVar[Mapping[str, str]] = {
        "Hallucination": "NoClaim", "NoiseRelevant": "NoClaim", "NoiseIrrelevant": "NoClaim",
    }  # fmt: skip

    def tasks(self, settings: RagSettings) -> Sequence[AnyTask]:
        split = () if settings.claims == "sentences" else (CLAIMS,)
        return (DIALOGUE_ACT, *split, SUPPORT, RELEVANCE, ANSWER)

    def inputs_in_words(self, inputs: RagInputs) -> str:
        return (
            f"{counted(len(inputs.questions), 'question')}, {counted(len(inputs.runs), 'run')}, "
            f"{counted(sum(map(len, inputs.runs.values())), 'answer')}"
        )

    def contents(self, inputs: RagInputs, run: str) -> Mapping[str, Content]:
        found = {}
        for name, question in inputs.questions.items():
            content = Content(question.question, sorted(question.references), question.answerable)
            if record := inputs.runs.get(run, {}).get(name):
                content = replace(
                    content,
                    answer=[
                        record.answer,
                        [list(one) for one in record.sentences],
                        *map(list, record.history),
                    ],
                    passages=[one.text or text_id(one.id) for one in record.passages],
                    session=record.session,
                    lines=[cited(text, (n + 1 for n in of)) for text, of in record.sentences],
                )
            found[name] = content
        return found

    def steps(self, inputs: RagInputs, settings: RagSettings) -> Iterator[Step]:
        before = CLAIMS if inputs.splits else DIALOGUE_ACT

        def step(
            title: str, task: AnyTask, *, waits: bool = False, before: AnyTask = before
        ) -> Step:
            ask = partial(_requests, inputs, settings, task)
            assumed = Assumed(before, partial(ask, assume=True), _ASSUMED)
            return Step(title, task, ask, waits=waits, assumed=assumed)

        yield Step("refusals", DIALOGUE_ACT, partial(_requests, inputs, settings, DIALOGUE_ACT))
        if inputs.splits:
            yield step("claims", CLAIMS, waits=True, before=DIALOGUE_ACT)
        # Claims that no single passage entails are then judged against all passages joined.
        joined = settings.evidence == "each-then-all"
        yield replace(step("support", SUPPORT, waits=True), repeats=joined)
        yield step("relevance", RELEVANCE)
        yield step("answers", ANSWER)


def _requests(
    inputs: RagInputs,
    settings: RagSettings,
    task: AnyTask,
    book: LabelBook,
    *,
    assume: bool = False,
) -> Iterator[Request]:
    return RecordWalk(inputs, settings, book, assume=assume).requests(task)


RAG = Rag()
"""The protocol."""
