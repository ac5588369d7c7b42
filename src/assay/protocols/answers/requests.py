"""What is asked about answers: their dialogue acts, whether passages entail the nuggets that cite
them, and whether the answer is right, given the entailed nuggets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from assay.labellers.base import Request
from assay.model.labels import Label
from assay.model.rag import Answer, Nugget, Passage, PassageKey, Question
from assay.protocols.answers.acts import act_of, is_asked
from assay.protocols.labels import Asked, LabelBook
from assay.protocols.places import Place
from assay.tasks.base import AnyTask, UnitContent
from assay.tasks.r2c2 import ANSWER, DIALOGUE_ACT, ENTAILMENT, EVERY_ANSWER

ENTAILED_SHARE = 0.75
"""Share of nuggets assumed to be entailed if nothing is known yet, for estimates."""

_SHARE_WEIGHS = 10
"""The number of labelled nuggets that outweighs :data:`ENTAILED_SHARE`."""


class GivenAnswer(NamedTuple):
    """A run's answer to a question, with the passages that it may cite."""

    run: str
    question: Question
    passages: Mapping[PassageKey, Passage]
    answer: Answer


def entailment_content(nugget: Nugget, passage: Passage) -> UnitContent:
    """What is asked about a nugget: the text of the passage that it cites, and the nugget."""
    return {"passage": passage.text, "nugget": nugget.text}


def several(questions: Iterable[Question]) -> bool:
    """Whether any question requires several answers."""
    return any(question.required for question in questions)


def answer_task(question: Question) -> AnyTask:
    """The task for answers to a question. If it requires several answers, each is asked about."""
    return EVERY_ANSWER if question.required else ANSWER


def answer_content(question: Question, answer: Answer, entailed: Iterable[str]) -> UnitContent:
    """What is asked about an answer beside its entailed nuggets."""
    return {
        "question": question.text,
        "answer": answer.text,
        "required" if question.required else "gold": list(question.keys),
        "nuggets": list(entailed),
    }


def act_content(question: Question, answer: Answer) -> UnitContent:
    """What is asked about a dialogue act."""
    return {"question": question.text, "answer": answer.text}


def request(task: AnyTask, content: UnitContent, topic: str = "") -> Request:
    """Make a request from the content of a unit."""
    return Request(task, task.unit(**content), topic=topic)


def acts_asked(answers: Iterable[GivenAnswer]) -> Asked:
    """The dialogue act of each answer."""
    for run, question, _, answer in answers:
        yield act_content(question, answer), Place(run, question.id, "dialogue act")


def nuggets_asked(answers: Iterable[GivenAnswer]) -> Asked:
    """Each nugget of the answers with its passage."""
    for run, question, passages, answer in answers:
        for nugget in answer.nuggets:
            content = entailment_content(nugget, passages[nugget.key])
            yield content, Place(run, question.id, f"nugget {nugget.num}")


def nugget_labels(book: LabelBook, one: GivenAnswer) -> list[Label | None]:
    """The labels that count for an answer's nuggets, without counting them."""
    return [
        book.find(ENTAILMENT, entailment_content(nugget, one.passages[nugget.key]))
        for nugget in one.answer.nuggets
    ]


def is_entailed(label: Label | None) -> bool:
    """Whether a label says that a nugget is entailed."""
    return label is not None and bool((label.verdict or {}).get("entailed"))


def expected_shares(labels: Iterable[Iterable[Label | None]]) -> tuple[float, float]:
    """The share of nuggets whose labels are expected to fail, and the share of the others that is
    expected to be entailed, from existing labels and a prior (none fails, :data:`ENTAILED_SHARE`
    are entailed) that weighs less the more labels there are."""
    known = [one for some in labels for one in some if one is not None]
    usable = [is_entailed(one) for one in known if one.verdict is not None]
    entailed = sum(usable) + _SHARE_WEIGHS * ENTAILED_SHARE
    return (
        (len(known) - len(usable)) / (len(known) + _SHARE_WEIGHS),
        entailed / (len(usable) + _SHARE_WEIGHS),
    )


def answer_requests(
    answers: Iterable[GivenAnswer],
    book: LabelBook,
    *,
    assume: bool = False,
    by_people: bool = False,
) -> Iterator[Request]:
    """Yield a request for each answer that does not decline
    (:func:`assay.protocols.answers.acts.is_asked`) and whose nuggets are all labelled.

    If a nugget's label failed, the question about the answer will change once it is known whether
    the nugget is entailed. A machine's label would not count until then, so no machine is asked. A
    person's does count: people are asked, beside the nuggets that are known to be entailed.

    With ``assume``, shares of the unlabelled nuggets are assumed to fail and to be entailed (for
    estimates only): :func:`expected_shares`. Fractions are carried over to the following answers,
    so that answers with one or two nuggets do not inflate the estimate.
    """
    pairs = ((one, nugget_labels(book, one)) for one in answers)
    failing, share, waiting, owed = 0.0, 0.0, 0.0, 0.0
    labelled = list(pairs) if assume else pairs
    if assume:
        failing, share = expected_shares(labels for _, labels in labelled)
    for one, labels in labelled:
        _, question, _, answer = one
        unlabelled = [place for place, label in enumerate(labels) if label is None]
        if unlabelled and not assume:
            continue
        if not by_people and any(one is not None and one.verdict is None for one in labels):
            continue
        waiting += 1 - (1 - failing) ** len(unlabelled)
        if waiting >= 1:
            waiting -= 1
            continue
        owed += len(unlabelled) * share
        taken = set(unlabelled[: round(owed)])
        owed -= len(taken)
        texts = [
            nugget.text
            for place, (nugget, label) in enumerate(zip(answer.nuggets, labels, strict=True))
            if place in taken or is_entailed(label)
        ]
        act = act_of(book.find(DIALOGUE_ACT, act_content(question, answer)), question, answer.text)
        if is_asked(act, question, len(texts)):
            asked = answer_content(question, answer, texts)
            yield request(answer_task(question), asked, question.id)
