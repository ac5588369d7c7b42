"""Accuracy and nugget precision as sums over what is said of answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assay.labellers.base import Request
from assay.protocols.labels import LabelBook
from assay.protocols.linear import LinearMeasure, Share
from assay.protocols.r2c2.acts import act_of
from assay.protocols.r2c2.inputs import Inputs
from assay.protocols.r2c2.requests import act_content, answer_unit, entailment_content
from assay.protocols.r2c2.scores import PRECISION
from assay.tasks.r2c2 import ANSWER, DIALOGUE_ACT, ENTAILMENT, Act


def linear_measures(inputs: Inputs, book: LabelBook) -> Iterator[LinearMeasure]:
    """Accuracy, and nugget precision: of an answer, (entailed nuggets / nuggets) times the share of
    the entailed ones that helped, where it is correct. Answers that say nothing of the question
    are not among them: their act decides."""
    accuracy, precision = [], []
    for run, file in inputs.ac_files.items():
        for question in inputs.questions:
            answer = file.run.answers.get(question.id)
            if answer is None:
                continue
            act = book.find(DIALOGUE_ACT, act_content(question, answer))
            if act_of(act, question, answer.text) is not Act.ANSWER:
                continue
            passages = inputs.passages(question.id)
            said = [
                book.find(ENTAILMENT, entailment_content(one, passages[one.key]))
                for one in answer.nuggets
            ]
            beside = [
                one.text
                for one, label in zip(answer.nuggets, said, strict=True)
                if label is not None and label.verdict is not None and label.verdict["entailed"]
            ]
            request = Request(ANSWER, answer_unit(question, answer, beside), topic=question.id)
            each = 1 / len(inputs.questions)
            accuracy.append(Share(run, request, each))
            if beside:
                share = each * len(beside) / len(answer.nuggets)
                precision.append(Share(run, request, share))
    yield LinearMeasure("Accuracy", ANSWER, _correct, accuracy)
    yield LinearMeasure(PRECISION, ANSWER, _helped, precision)


def _correct(_: Request, verdict: Mapping[str, Any]) -> float:
    return float(verdict["correct"])


def _helped(request: Request, verdict: Mapping[str, Any]) -> float:
    nuggets = request.content["nuggets"]
    said = {item["nugget"] - 1: bool(item["helped"]) for item in verdict["nuggets"]}
    helped = sum(said.get(at, False) for at in range(len(nuggets)))
    return helped / len(nuggets) if verdict["correct"] else 0.0
