"""What follows from an answer's dialogue act: decided before, and instead of, its correctness.

A refusal is wrong, unless its question is one to refuse; then it is right. Without a label of the
act it is not known which of the two counts, the act or what was said of the answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from assay.labellers.refusals import gold_declines, same_words
from assay.measures.arrays import Bools, Floats
from assay.model.labels import Label
from assay.model.rag import Question
from assay.protocols.counted_labels import CountedLabels
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
    return _is_to_refuse(question.category or "", question.gold)


@lru_cache(1 << 10)  # a question has many answers
def _is_to_refuse(category: str, gold: tuple[str, ...]) -> bool:
    words = " ".join(re.findall(r"\w+", category.casefold()))
    return words in TO_REFUSE or gold_declines(gold)


def act_of(label: Label | None, question: Question, answer: str) -> Act | None:
    """The act that a label gives an answer; None where there is no usable label. What is a gold
    answer word for word (a film may be called *Unknown*) is no refusal."""
    verdict = None if label is None else label.verdict
    return None if verdict is None else act_given(act_said(verdict), question, answer)


def act_said(verdict: Mapping[str, Any]) -> Act:
    """The act that a verdict names."""
    return Act(verdict["act"])


def act_given(said: Act | None, question: Question, answer: str) -> Act | None:
    """The act of an answer that is ``said`` to be one: see :func:`act_of`."""
    if said in (None, Act.ANSWER) or is_to_refuse(question):
        return said
    return Act.ANSWER if any(same_words(answer, one) for one in question.gold) else said


def is_asked(act: Act | None, question: Question, nuggets: int) -> bool:
    """Whether anybody needs to be asked about an answer: not about a refusal, unless it is right
    and ``nuggets`` entailed nuggets may have helped to find that."""
    return act in (None, Act.ANSWER) or (nuggets > 0 and is_to_refuse(question))


class Correctness(NamedTuple):
    """What the labels of answers' acts and of the answers themselves come to, an array each:
    whether one is right (1 or 0; NaN where that is not known), and from which to which share of the
    required answers it gives, 1 or 0 where one is asked for."""

    correct: Floats
    recall: tuple[Floats, Floats]


def correctness_of(
    acts: Sequence[Act | None],
    act_labels: CountedLabels,
    labels: CountedLabels,
    to_refuse: Bools,
    *,
    expected: bool = True,
) -> Correctness:
    """What counts for answers, given the labels of their acts (which come to ``acts``) and of the
    answers themselves; ``to_refuse`` says which are to questions to refuse. A person's word on an
    answer goes before a machine's on its act. Where no label of an act is ``expected``, nor there,
    that of the answer counts alone. Where it is not known which of the two counts, what they have
    in common is."""
    itself = labels.map(lambda verdict: float(verdict["correct"]))
    share = labels.map(_share)
    low, high = np.nan_to_num(share, nan=0.0), np.nan_to_num(share, nan=1.0)
    by_person = labels.human & ~np.isnan(itself)
    itself_counts = np.array([one is Act.ANSWER for one in acts], np.bool_)
    itself_counts |= by_person & ~act_labels.human
    if not expected:
        itself_counts |= ~act_labels.present
    known = np.array([one is not None for one in acts], np.bool_)
    right = to_refuse.astype(np.float64)
    agreed = np.where(itself == right, right, np.nan)

    def counting(of_answer: Floats, of_both: Floats) -> Floats:
        return np.select([itself_counts, known], [of_answer, right], of_both)

    return Correctness(
        counting(itself, agreed),
        (counting(low, np.minimum(low, right)), counting(high, np.maximum(high, right))),
    )


def _share(verdict: Mapping[str, Any]) -> float:
    """The share of the required answers that a verdict says are given."""
    given = verdict.get("required", [{"given": verdict["correct"]}])
    return sum(bool(one["given"]) for one in given) / len(given)
