"""The effect of an answer's dialogue act, which is decided before, and instead of, its correctness.

A refusal is wrong, unless its question is one to refuse; then it is right. Without a label of the
act it is not known which counts: the act, or what was said about the answer.
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
"""Categories of questions that should be refused, in lower case."""


def is_to_refuse(question: Question) -> bool:
    """Whether declining is right: the question's category says so, or its gold answers decline."""
    return _is_to_refuse(question.category or "", question.gold)


@lru_cache(1 << 10)  # a question has many answers
def _is_to_refuse(category: str, gold: tuple[str, ...]) -> bool:
    words = " ".join(re.findall(r"\w+", category.casefold()))
    return words in TO_REFUSE or gold_declines(gold)


def act_of(label: Label | None, question: Question, answer: str) -> Act | None:
    """The act of an answer according to a label; None if there is no usable label. Text that equals
    a gold answer word for word is no refusal (a film may be called *Unknown*)."""
    verdict = None if label is None else label.verdict
    return None if verdict is None else effective_act(act_of_verdict(verdict), question, answer)


def act_of_verdict(verdict: Mapping[str, Any]) -> Act:
    """The act that a verdict names."""
    return Act(verdict["act"])


def effective_act(said: Act | None, question: Question, answer: str) -> Act | None:
    """The act of an answer, given the act that a label names. See :func:`act_of`."""
    if said in (None, Act.ANSWER) or is_to_refuse(question):
        return said
    return Act.ANSWER if any(same_words(answer, one) for one in question.gold) else said


def is_asked(act: Act | None, question: Question, nuggets: int) -> bool:
    """Whether anybody needs to be asked about an answer: not about a refusal, unless it is right
    and has entailed ``nuggets``, some of which may have helped."""
    return act in (None, Act.ANSWER) or (nuggets > 0 and is_to_refuse(question))


class Correctness(NamedTuple):
    """What follows from labels of answers and of their acts, one array each: whether an answer is
    right (1, 0, or NaN if unknown), and the floors and ceilings of the share of required answers
    that it gives (1 or 0 if one answer is required)."""

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
    """Combine the labels of the ``acts`` of answers with those of the answers themselves;
    ``to_refuse`` marks answers to questions that should be refused.

    A person's label of an answer takes precedence over a machine's label of its act. If no label of
    an act is ``expected`` and there is none, the label of the answer counts alone. If it is unknown
    which of the two counts, the result is what both have in common.
    """
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
    """The share of the required answers that are given according to a verdict."""
    given = verdict.get("required", [{"given": verdict["correct"]}])
    return sum(bool(one["given"]) for one in given) / len(given)
