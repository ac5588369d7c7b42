"""Accuracy and nugget precision as sums over what is said of answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assay.labellers.base import Request
from assay.protocols.answers.acts import act_of
from assay.protocols.answers.requests import (
    act_content,
    answer_content,
    is_entailed,
    nugget_labels,
    request,
    several,
)
from assay.protocols.answers.results import PRECISION
from assay.protocols.labels import LabelBook
from assay.protocols.linear import LinearMeasure, Share, value_of
from assay.protocols.r2c2.inputs import R2c2Inputs, R2C2Settings
from assay.tasks.r2c2 import ANSWER, DIALOGUE_ACT, Act


def linear_measures(
    inputs: R2c2Inputs, settings: R2C2Settings, book: LabelBook
) -> Iterator[LinearMeasure]:
    """Accuracy, and nugget precision: of an answer, (entailed nuggets / nuggets) times the share of
    the entailed ones that helped, where it is correct. Answers that say nothing of the question
    are not among them: their act decides. None where questions require several answers."""
    if several(inputs.questions):
        return  # two tasks say what is right: neither is the sum of labels of one
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
    nuggets = request.content["nuggets"]
    said = {item["nugget"] - 1: bool(item["helped"]) for item in verdict["nuggets"]}
    helped = sum(said.get(at, False) for at in range(len(nuggets)))
    return helped / len(nuggets) if verdict["correct"] else 0.0
