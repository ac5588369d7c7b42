"""What is asked about answers: their dialogue acts, whether passages entail what they are cited
for, and whether the answer is right beside the nuggets that are entailed."""

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
"""Share of nuggets taken as entailed where nothing is known yet, for estimates."""

_SHARE_WEIGHS = 10
"""As many labelled nuggets weigh as much as :data:`ENTAILED_SHARE`."""


class GivenAnswer(NamedTuple):
    """What a run has for a question, with the passages that it may cite."""

    run: str
    question: Question
    passages: Mapping[PassageKey, Passage]
    answer: Answer


def entailment_content(nugget: Nugget, passage: Passage) -> UnitContent:
    """What is asked of a nugget: the text that the cited run holds, and the nugget."""
    return {"passage": passage.text, "nugget": nugget.text}


def several(questions: Iterable[Question]) -> bool:
    """Whether some question requires several answers."""
    return any(question.required for question in questions)


def answer_task(question: Question) -> AnyTask:
    """What is asked of answers to a question: of each required one where there are several."""
    return EVERY_ANSWER if question.required else ANSWER


def answer_content(question: Question, answer: Answer, entailed: Iterable[str]) -> UnitContent:
    """What is asked of an answer beside entailed nuggets."""
    return {
        "question": question.text,
        "answer": answer.text,
        "required" if question.required else "gold": list(question.keys),
        "nuggets": list(entailed),
    }


def act_content(question: Question, answer: Answer) -> UnitContent:
    """What the dialogue act is asked about."""
    return {"question": question.text, "answer": answer.text}


def request(task: AnyTask, content: UnitContent, topic: str = "") -> Request:
    """A content as a labeller is asked about it."""
    return Request(task, task.unit(**content), topic=topic)


def acts_asked(answers: Iterable[GivenAnswer]) -> Asked:
    """The dialogue act of each answer."""
    for run, question, _, answer in answers:
        yield act_content(question, answer), Place(run, question.id, "dialogue act")


def nuggets_asked(answers: Iterable[GivenAnswer]) -> Asked:
    """Each nugget of answers with its passage."""
    for run, question, passages, answer in answers:
        for nugget in answer.nuggets:
            content = entailment_content(nugget, passages[nugget.key])
            yield content, Place(run, question.id, f"nugget {nugget.num}")


def nugget_labels(book: LabelBook, one: GivenAnswer) -> list[Label | None]:
    """The labels that count of an answer's nuggets; nothing is counted."""
    return [
        book.find(ENTAILMENT, entailment_content(nugget, one.passages[nugget.key]))
        for nugget in one.answer.nuggets
    ]


def is_entailed(label: Label | None) -> bool:
    """Whether a label says that a nugget is entailed."""
    return label is not None and bool((label.verdict or {}).get("entailed"))


def expected_shares(labels: Iterable[Iterable[Label | None]]) -> tuple[float, float]:
    """The share of nuggets whose labels are expected to fail, and of the others the share that is
    expected to be entailed, by the labels that are there: the more there are, the less it weighs
    that none fails and :data:`ENTAILED_SHARE` are."""
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
    """One request an answer of whose nuggets all are labelled, and that does not decline
    (:func:`assay.protocols.answers.acts.is_asked`).

    Where a nugget's label failed, what is asked of the answer will be something else once it is
    known whether that one is entailed. A machine's label would not count until then, so none is
    asked. A person's does: people are asked, beside the nuggets that are known to be entailed.

    With ``assume``, shares of the unlabelled nuggets are taken as failing and as entailed (for
    estimates only): :func:`expected_shares`. What one answer's share is short of a whole answer or
    nugget goes to the answers after it, so that answers of one or two nuggets do not make the
    estimate too high.
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
