"""The protocol ``r2c2``: the questions that are asked, and how labels become scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from assay.labellers.base import Request
from assay.model.wording import counted
from assay.protocols.answers.acts import act_of
from assay.protocols.answers.helps import helps_of_verdict
from assay.protocols.answers.judged import judge_answers
from assay.protocols.answers.marked import Originals
from assay.protocols.answers.requests import (
    ENTAILED_SHARE,
    act_content,
    acts_asked,
    answer_content,
    answer_requests,
    answer_task,
    is_entailed,
    nugget_labels,
    nuggets_asked,
    request,
    several,
)
from assay.protocols.answers.results import PRECISION
from assay.protocols.base import AskedAs, Assumed, Protocol, Step
from assay.protocols.contents import Content
from assay.protocols.labels import LabelBook
from assay.protocols.linear import LinearMeasure, Share, value_of
from assay.protocols.places import Place
from assay.protocols.r2c2.findings import DerivedGrades, findings
from assay.protocols.r2c2.inputs import R2c2Inputs, R2C2Settings, load
from assay.protocols.relevance import CHECKS, passage_units
from assay.protocols.results import Findings
from assay.tasks.base import AnyTask
from assay.tasks.r2c2 import ANSWER, DIALOGUE_ACT, ENTAILMENT, EVERY_ANSWER, TASKS, Act
from assay.tasks.trec_rag import SUPPORT


def linear_measures(
    inputs: R2c2Inputs, settings: R2C2Settings, book: LabelBook
) -> Iterator[LinearMeasure]:
    """Accuracy and nugget precision. The precision of an answer is (entailed nuggets / nuggets)
    times the share of entailed nuggets that helped, if it is correct. Answers that decline are left
    out: their act decides. There are none if questions require several answers."""
    if several(inputs.questions):
        return  # two tasks decide what is right, so no measure is a sum over labels of one
    accuracy, precision = [], []
    each = 1 / max(len(inputs.questions), 1)
    runs = list(inputs.ac_files)
    for one in sorted(inputs.answers(), key=lambda one: runs.index(one.run)):
        run, question, _, answer = one
        act = book.find(DIALOGUE_ACT, act_content(question, answer))
        if act_of(act, question, answer.text) is not Act.ANSWER:
            continue
        labels = zip(answer.nuggets, nugget_labels(book, one), strict=True)
        beside = [nugget.text for nugget, label in labels if is_entailed(label)]
        asked = request(ANSWER, answer_content(question, answer, beside), question.id)
        accuracy.append(Share(run, asked, each))
        if beside:
            precision.append(Share(run, asked, each * len(beside) / len(answer.nuggets)))
    yield LinearMeasure("Accuracy", ANSWER, value_of("correct"), accuracy)
    yield LinearMeasure(PRECISION, ANSWER, _helped, precision)


def _helped(request: Request, verdict: Mapping[str, Any]) -> float:
    nuggets, helps_said = range(len(request.content["nuggets"])), helps_of_verdict(verdict)
    helped = sum(helps for at, (helps, _) in helps_said.items() if at in nuggets)
    return helped / len(nuggets) if verdict["correct"] else 0.0


_ASSUMED = (
    "Answers are judged after bogus nuggets are found. These figures assume the share of entailed "
    f"nuggets among those labelled so far ({ENTAILED_SHARE:.0%} if few are), and the share of "
    "their labels that has failed so far."
)


class R2c2(Protocol[R2C2Settings, R2c2Inputs]):
    """RAG Responses, Confident and Correct? (NTCIR-19): the organisers' steps 3 to 6."""

    name = "r2c2"
    title = "R2C2 · RAG responses: confident and correct?"
    settings = R2C2Settings
    entries = ("questions", "only_questions", "pr_runs", "ac_runs")
    shows_labels = True
    own_tasks = tuple(task for task in TASKS if task is not EVERY_ANSWER)
    load = staticmethod(load)
    linear = staticmethod(linear_measures)

    def tasks(self, settings: R2C2Settings) -> Sequence[AnyTask]:
        check = settings.relevance_check
        return (ENTAILMENT, ANSWER, DIALOGUE_ACT, *([CHECKS[check]] if check else ()))

    def contents(self, inputs: R2c2Inputs, run: str) -> Mapping[str, Content]:
        return {one.id: inputs.content(run, one) for one in inputs.questions}

    def marked(self, inputs: R2c2Inputs) -> Originals:
        return inputs.handed_in

    def inputs_in_words(self, inputs: R2c2Inputs) -> str:
        every = len(inputs.handed_in.questions)
        beside = f" of {every}" if len(inputs.questions) < every else ""
        return (
            f"{counted(len(inputs.questions), 'question')}{beside}, "
            f"{counted(len(inputs.pr_runs), 'PR run')}, {counted(len(inputs.ac_files), 'AC run')}"
        )

    def steps(self, inputs: R2c2Inputs, settings: R2C2Settings) -> Iterator[Step]:
        yield Step.about("dialogue acts", DIALOGUE_ACT, lambda _: acts_asked(inputs.answers()))
        yield replace(
            Step.about("bogus nuggets", ENTAILMENT, lambda _: nuggets_asked(inputs.answers())),
            asked_as=AskedAs(SUPPORT, "bogus nuggets, yes or no") if inputs.as_support else None,
            strict=inputs.strict,
        )
        if settings.relevance_check:
            task = CHECKS[settings.relevance_check]
            passages = inputs.every_passage
            yield Step.about("relevance", task, lambda _: passage_units(task, passages()))
        for name, which in (("answers", ANSWER), ("several answers", EVERY_ANSWER)):
            if which is ANSWER or several(inputs.questions):
                asked = partial(_answers, inputs, which)
                assumed = Assumed(ENTAILMENT, partial(asked, assume=True), _ASSUMED)
                of_people = partial(asked, by_people=True)
                yield Step(name, which, asked, waits=True, assumed=assumed, of_people=of_people)

    def score(self, inputs: R2c2Inputs, settings: R2C2Settings, book: LabelBook) -> Findings:
        grades = DerivedGrades(inputs)
        runs = {name: file.run.answers for name, file in inputs.ac_files.items()}
        judged = judge_answers(inputs, runs, book, grades.add)
        return findings(inputs, settings, judged, grades, book)

    def used_at(self, place: Place) -> str:
        """Name an answer by run and question, a nugget also by number, a passage by its
        PassageKey."""
        run, question, position = place
        if position.startswith("nugget "):
            return f"{run} {question} {position}"
        if position.startswith("passage "):
            return f"{question} passage {run};{position.removeprefix('passage ')}"
        return f"{run} {question}"


def _answers(inputs: R2c2Inputs, task: AnyTask, book: LabelBook, **how: bool) -> Iterator[Request]:
    own = (one for one in inputs.answers() if answer_task(one.question) is task)
    return answer_requests(own, book, **how)


R2C2 = R2c2()
"""The protocol."""
