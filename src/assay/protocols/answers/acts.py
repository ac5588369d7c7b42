"""What follows from an answer's dialogue act: decided before, and instead of, its correctness.

A refusal is wrong, unless its question is one to refuse; then it is right. Without a label of the
act it is not known which of the two counts, the act or what was said of the answer.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from assay.labellers.refusals import gold_declines, same_words
from assay.measures.ranges import OPEN, Range
from assay.model.labels import Label
from assay.model.rag import Question
from assay.tasks.r2c2 import Act

IN_WORDS = {
    "answer": "answers",
    "dont_know": "says that it does not know",
    "false_premise": "says that the question rests on a false premise",
    "other_refusal": "declines to answer",
}
"""What an answer does, by its act."""

TO_REFUSE = frozenset(("false premise", "unanswerable"))
"""Categories, in lower case, of questions that are to be refused."""


def is_to_refuse(question: Question) -> bool:
    """Whether to decline is right: the question's category says so, or its gold answers decline."""
    category = " ".join(re.findall(r"\w+", (question.category or "").casefold()))
    return category in TO_REFUSE or gold_declines(question.gold)


def act_of(label: Label | None, question: Question, answer: str) -> Act | None:
    """The act that a label gives an answer; None where there is no usable label. What is a gold
    answer word for word (a film may be called *Unknown*) is no refusal."""
    if label is None or label.verdict is None:
        return None
    act = Act(label.verdict["act"])
    if act is Act.ANSWER or is_to_refuse(question):
        return act
    return Act.ANSWER if any(same_words(answer, one) for one in question.gold) else act


def is_asked(act: Act | None, question: Question, nuggets: int) -> bool:
    """Whether anybody needs to be asked about an answer: not about a refusal, unless it is right
    and ``nuggets`` entailed nuggets may have helped to find that."""
    return act in (None, Act.ANSWER) or (nuggets > 0 and is_to_refuse(question))


class Correctness(NamedTuple):
    """What the labels of an answer's act and of the answer itself come to: whether it is right,
    None where that is not known, and which share of the required answers it gives, 1 or 0 where
    one is asked for."""

    correct: bool | None
    recall: Range


def correctness_of(
    act: Act | None,
    act_label: Label | None,
    answer: Label | None,
    question: Question,
    *,
    expected: bool = True,
) -> Correctness:
    """What counts for an answer, given the labels of its act and of the answer itself. A person's
    word on the answer goes before a machine's on the act. Where no label of an act is ``expected``,
    nor there, that of the answer counts alone. Where it is not known which of the two counts, what
    they have in common is."""
    itself, by_person = Correctness(None, OPEN), False
    if answer is not None and answer.verdict is not None:
        given = answer.verdict.get("required", [{"given": answer.verdict["correct"]}])
        share = sum(bool(one["given"]) for one in given) / len(given)
        itself = Correctness(bool(answer.verdict["correct"]), Range.certain(share))
        by_person = answer.labeller.is_human
    outranks = by_person and (act_label is None or not act_label.labeller.is_human)
    if act is Act.ANSWER or outranks or (act_label is None and not expected):
        return itself
    right = is_to_refuse(question)
    if act is not None:
        return Correctness(right, Range.certain(float(right)))
    ends = (*itself.recall, float(right))
    return Correctness(right if itself.correct is right else None, Range(min(ends), max(ends)))
