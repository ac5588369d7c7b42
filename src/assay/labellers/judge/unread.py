"""What of a pair the embedded judge does not read, as it is too long."""

from __future__ import annotations

from assay.labellers.judge.evidence import FIRST_TOKENS, MAX_WINDOWS, OVERLAP, WINDOW
from assay.labellers.judge.model import Question, missing, packaged_tokenise
from assay.labellers.judge.texts import ANSWER_WORDS, GOLD_WORDS, QUESTION_WORDS, Ability
from assay.labellers.judge.verdicts import LONGEST_QUESTION, unit_questions
from assay.tasks.base import AnyTask, Unit
from assay.tasks.r2c2 import AnswerUnit

_NAMES = {Ability.E: "claim", Ability.A: "question"}


def unread(task: AnyTask, unit: Unit) -> list[str]:
    """What was not read of ``unit``, or read in a way that its label is worth less, in words."""
    if isinstance(unit, AnswerUnit):
        return _unread_answer(unit)
    questions, _ = unit_questions(task, unit)
    found: list[str] = []
    for question in questions:
        found += _unread_passage(question)
        asked = len(question.first.split()) - 1  # the first word is the ability's
        if question.ability is Ability.A and asked > LONGEST_QUESTION:
            found.append(
                f"the question has {asked} words: where it asks for several things, the judge "
                "takes nearly any passage for a part of the answer"
            )
    return found


def _unread_answer(unit: AnswerUnit) -> list[str]:
    found = []
    if len(unit.answer.split()) > ANSWER_WORDS:
        found.append(f"only the first {ANSWER_WORDS} words of the answer were read")
    if len(unit.question.split()) > QUESTION_WORDS:
        found.append(f"only the last {QUESTION_WORDS} words of the question were read")
    if sum(len(one.split()) for one in unit.gold) > GOLD_WORDS:
        found.append(
            f"only some {GOLD_WORDS} words of the gold answers, those nearest to the answer, "
            "were read"
        )
    return found


def _unread_passage(question: Question) -> list[str]:
    room = WINDOW - 3 - FIRST_TOKENS
    most = room + (MAX_WINDOWS - 1) * (room - OVERLAP)
    # A token has at least one character: most texts need not be cut into tokens.
    if missing() or (len(question.first) <= FIRST_TOKENS and len(question.second) <= most):
        return []
    first, second = packaged_tokenise()([question.first, question.second])
    found = []
    if len(first) > FIRST_TOKENS:
        name = _NAMES[question.ability]
        found.append(f"only the first {FIRST_TOKENS} tokens of the {name} were read")
    room = WINDOW - 3 - min(len(first), FIRST_TOKENS)
    most = room + (MAX_WINDOWS - 1) * (room - OVERLAP)
    if len(second) > most:
        found.append(
            f"of the passage, {len(second):,} tokens long, only {MAX_WINDOWS} windows were read: "
            f"those nearest to the {_NAMES[question.ability]}"
        )
    return found
