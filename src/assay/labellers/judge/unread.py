"""Parts of a pair that the embedded judge does not read, or reads with less confidence."""

from __future__ import annotations

import re

from assay.labellers.judge.evidence import FIRST_TOKENS, MAX_WINDOWS, OVERLAP, WINDOW
from assay.labellers.judge.model import CERTAIN, JudgeQuestion, missing, packaged_tokenise
from assay.labellers.judge.texts import ANSWER_WORDS, GOLD_WORDS, QUESTION_WORDS, Ability
from assay.labellers.judge.verdicts import LONGEST_QUESTION, unit_questions
from assay.tasks.base import AnyTask, Unit
from assay.tasks.r2c2 import AnswerUnit

LONGEST_CLAIM = 60
"""Words of the longest claims that were frequent enough in the training data."""
CODE, SHORTEST_CODE = 0.08, 40
"""A text longer than this with a larger fraction of symbols counts as code."""
_MARKS = re.compile(r"[{}<>=\\^_|~$&*+/#@\[\]]")

_NAMES = {Ability.E: "claim", Ability.A: "question"}


def unread(task: AnyTask, unit: Unit) -> list[str]:
    """Sentences on what was not read of ``unit``, or why its label deserves less confidence."""
    if isinstance(unit, AnswerUnit):
        return _unread_answer(unit)
    questions, _ = unit_questions(task, unit)
    found: list[str] = []
    for question in questions:
        found += _unread_passage(question)
        if question.less:
            found.append(
                f"sentences that contain the {_NAMES[question.ability]}'s words without asserting "
                "it were not read"
            )
        if question.whole is not None:
            found.append(
                "a sentence has the claim's words but is not known to assert it: it counts only "
                f"if the judge is {CERTAIN:.0%} sure of it"
            )
        if len(question.first.split()) - 1 > LONGEST_CLAIM and question.ability is Ability.E:
            found.append(
                f"the claim has more than {LONGEST_CLAIM} words: split it into single facts, "
                "because the judge was trained on shorter ones"
            )
        if _code_or_formulas(question.second):
            found.append(
                "the passage looks like code or formulas, which the judge was not trained on"
            )
        size = len(question.first.split()) - 1  # the first word is the ability's
        if question.ability is Ability.A and size > LONGEST_QUESTION:
            found.append(
                f"the question has {size} words: if it asks for several things, the judge "
                "accepts almost any passage as part of the answer"
            )
    return found


def _code_or_formulas(text: str) -> bool:
    """Whether the fraction of symbols is that of code or formulas."""
    return len(_MARKS.findall(text)) > CODE * len(text) and len(text) > SHORTEST_CODE


def _unread_answer(unit: AnswerUnit) -> list[str]:
    found = []
    if len(unit.answer.split()) > ANSWER_WORDS:
        found.append(f"only the first {ANSWER_WORDS} words of the answer were read")
    if len(unit.question.split()) > QUESTION_WORDS:
        found.append(f"only the last {QUESTION_WORDS} words of the question were read")
    if sum(len(one.split()) for one in unit.gold) > GOLD_WORDS:
        found.append(
            f"only about {GOLD_WORDS} words of the gold answers were read, those nearest to the "
            "answer"
        )
    return found


def _unread_passage(question: JudgeQuestion) -> list[str]:
    room = WINDOW - 3 - FIRST_TOKENS
    most = room + (MAX_WINDOWS - 1) * (room - OVERLAP)
    # A token has at least one character, so most texts need not be tokenised.
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
            f"the passage has {len(second):,} tokens, but only {MAX_WINDOWS} windows of it were "
            f"read: those nearest to the {_NAMES[question.ability]}"
        )
    return found
