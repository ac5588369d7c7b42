"""Judge whether answers are correct, by the network and by rules, and which nuggets helped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from assay.labellers.denials import declines_rightly, fault_in, fault_of_one, named_only, names
from assay.labellers.judge.levels import Levels, TaskQuestions
from assay.labellers.judge.model import CERTAIN, JudgeQuestion, Ruling, question_of
from assay.labellers.judge.overlap import shared, states
from assay.labellers.judge.texts import (
    Ability,
    answer_text,
    claim_text,
    gold_text,
    question_text,
    sentences,
)
from assay.labellers.refusals import same_words
from assay.tasks.base import Unit
from assay.tasks.r2c2 import (
    ANSWER,
    EVERY_ANSWER,
    AnswerUnit,
    AnswerVerdict,
    EveryAnswerUnit,
    EveryAnswerVerdict,
    NuggetHelp,
    RequiredGiven,
    wordings_of,
)


def _answer_questions(unit: AnswerUnit) -> list[JudgeQuestion]:
    basis = unit.gold or unit.nuggets
    correct = question_of(
        Ability.C, answer_text(unit.question, unit.answer), gold_text(unit.answer, basis)
    )
    helps = [_helps(unit, nugget) for nugget in unit.nuggets]
    stated = [question_of(Ability.E, claim_text(one), unit.answer) for one in _long_gold(unit)]
    return [correct, *helps, *stated]


LONG_GOLD, LONG_ANSWER = 40, 12
"""Above this many words of the gold answer, and from this many of the answer on, the sentences of
the gold answer are checked one by one."""


def _long_gold(unit: AnswerUnit) -> list[str]:
    """The sentences of a single long gold answer, if the answer is long enough to state them.
    A short gold answer is read as a whole."""
    if len(unit.gold) != 1 or len(unit.answer.split()) < LONG_ANSWER:
        return []
    gold = unit.gold[0]
    return sentences(gold) if len(gold.split()) > LONG_GOLD else []


def _helps(unit: AnswerUnit | EveryAnswerUnit, nugget: str) -> JudgeQuestion:
    return question_of(Ability.A, question_text(unit.question), nugget)


def ruled(unit: Unit, levels: Sequence[Levels] = ()) -> AnswerVerdict | None:
    """The verdict of the rules on refusals, denials and lists, or None. With the network's
    ``levels``, an answer is also wrong if it does not plainly give the gold answer and the network
    is not certain."""
    if not isinstance(unit, AnswerUnit):
        return None
    fault = fault_in(unit.question, unit.answer, unit.gold)
    if fault is not None:
        return AnswerVerdict(correct=False, reason=fault)
    if declines_rightly(unit.answer, unit.gold):
        reason = "It declines to answer, and so does the gold answer."
        return AnswerVerdict(correct=True, reason=reason)
    if any(same_words(unit.answer, one) for one in unit.gold):
        return AnswerVerdict(correct=True, reason="It is the gold answer, word for word.")
    doubt = named_only(unit.question, unit.answer, unit.gold)
    if doubt is not None and levels and levels[0].first.yes <= CERTAIN:
        return AnswerVerdict(correct=False, reason=doubt)
    return None


def _answer_levels(unit: AnswerUnit, levels: Sequence[Levels]) -> list[Levels]:
    """The levels of the answer, then of each nugget. For a long gold answer, the mean over its
    sentences replaces the ruling on the whole."""
    first, *rest = levels
    helps, stated = rest[: len(unit.nuggets)], rest[len(unit.nuggets) :]
    if not stated:
        return [first, *helps]
    ruling, raw = (_mean([one.ruling for one in stated]), _mean([one.first for one in stated]))
    ruling = replace(ruling, tokens=first.ruling.tokens + ruling.tokens)
    threshold = stated[0].threshold
    yes, partly = ruling.yes > threshold, ruling.yes + ruling.partly > threshold
    read = any(one.read for one in stated)
    return [Levels(ruling, yes, partly, threshold, raw, Ability.E, read), *helps]


def _mean(rulings: Sequence[Ruling]) -> Ruling:
    """The mean of the probabilities, with the sentence of the most probable yes."""
    best = max(rulings, key=lambda one: one.yes)
    each = np.array([(one.no, one.partly, one.yes) for one in rulings])
    no, partly, yes = each.mean(axis=0).tolist()
    tokens = sum(one.tokens for one in rulings)
    return Ruling(no, partly, yes, best.sentence, best.windows, tokens)


def _answer(unit: AnswerUnit, levels: Sequence[Levels]) -> AnswerVerdict:
    correct = levels[0]
    basis = "gold answer" if unit.gold else "nugget"
    found = ruled(unit, levels)
    if found is None:
        start = "Agrees with the" if correct.yes else "Differs from the"
        found = AnswerVerdict(correct=correct.yes, reason=correct.quoted(f"{start} {basis}"))
    if not found.correct:
        return found
    return found.model_copy(update={"nuggets": _helped(unit, levels[1:])})


def _every_answer_questions(unit: EveryAnswerUnit) -> list[JudgeQuestion]:
    answer = answer_text(unit.question, unit.answer)
    given = [
        question_of(Ability.C, answer, gold_text(unit.answer, wordings))
        for wordings in wordings_of(unit)
    ]
    return [*given, *(_helps(unit, nugget) for nugget in unit.nuggets)]


def _every_answer(unit: EveryAnswerUnit, levels: Sequence[Levels]) -> EveryAnswerVerdict:
    required = []
    for number, (wordings, one) in enumerate(
        zip(wordings_of(unit), levels[: len(unit.required)], strict=True), start=1
    ):
        fault = fault_of_one(unit.question, unit.answer, wordings)
        if one.first.yes <= CERTAIN:
            fault = fault or named_only(unit.question, unit.answer, wordings)
        stated = next((text for text in wordings if names(unit.answer, text)), None)
        start = "Agrees with it" if one.yes else "Differs from it"
        reason = fault or (f"It states {stated!r}." if stated else one.quoted(start))
        given = fault is None and (one.yes or stated is not None)
        required.append(RequiredGiven(number=number, reason=reason, given=given))
    verdict = EveryAnswerVerdict(required=tuple(required))
    if not verdict.correct:
        return verdict
    helps = _helped(unit, levels[len(unit.required) :])
    return verdict.model_copy(update={"nuggets": helps})


def _helped(unit: AnswerUnit | EveryAnswerUnit, levels: Sequence[Levels]) -> tuple[NuggetHelp, ...]:
    return tuple(_help(unit, number, one) for number, one in enumerate(levels, start=1))


STEP = 0.8
"""A nugget is a step towards the answer above this fraction of the threshold of a whole answer."""


def _help(unit: AnswerUnit | EveryAnswerUnit, number: int, found: Levels) -> NuggetHelp:
    """Whether a nugget helped: it answers the question, at least in part, or states the answer and
    shares words with the question."""
    nugget = unit.nuggets[number - 1]
    if found.ruling.yes + found.ruling.partly > STEP * found.threshold:
        reason = "It answers the question, at least in part."
    elif states(nugget, unit.answer) and shared(nugget, unit.question):
        reason = "It states the answer."
    else:
        reason = "It neither answers the question nor states the answer."
        return NuggetHelp(nugget=number, helped=False, reason=reason)
    return NuggetHelp(nugget=number, helped=True, reason=reason)


def _answer_cannot(unit: AnswerUnit) -> str | None:
    if unit.gold or unit.nuggets:
        return None
    return (
        "there are neither gold answers nor entailed nuggets, and the judge knows no facts itself: "
        "give gold answers, cite nuggets, or use 'openai:MODEL' for this task"
    )


ANSWERS: Mapping[str, TaskQuestions] = {
    ANSWER.name: TaskQuestions(
        _answer_questions, _answer, _answer_cannot, _answer_levels, deciding=1
    ),
    EVERY_ANSWER.name: TaskQuestions(_every_answer_questions, _every_answer),
}
"""How to do the tasks on answers, by name."""
