"""Whether answers are right, by the network and by rules, and which nuggets helped to find them."""

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
    said = [question_of(Ability.E, claim_text(one), unit.answer) for one in _long_gold(unit)]
    return [correct, *helps, *said]


LONG_GOLD, LONG_ANSWER = 40, 12
"""Words from which the sentences of a gold answer are looked for in an answer, one by one."""


def _long_gold(unit: AnswerUnit) -> list[str]:
    """The sentences of a long gold answer beside an answer that may state them; none where the
    gold answer is short, for then it is read whole."""
    if len(unit.gold) != 1 or len(unit.answer.split()) < LONG_ANSWER:
        return []
    gold = unit.gold[0]
    return sentences(gold) if len(gold.split()) > LONG_GOLD else []


def _helps(unit: AnswerUnit | EveryAnswerUnit, nugget: str) -> JudgeQuestion:
    return question_of(Ability.A, question_text(unit.question), nugget)


def ruled(unit: Unit, levels: Sequence[Levels] = ()) -> AnswerVerdict | None:
    """What rules on refusals, denials and lists decide of an answer, if anything; with what the
    network says of it (``levels``) also that it is wrong where the gold answer is not plainly given
    and the network is not certain."""
    if not isinstance(unit, AnswerUnit):
        return None
    fault = fault_in(unit.question, unit.answer, unit.gold)
    if fault is not None:
        return AnswerVerdict(correct=False, reason=fault)
    if declines_rightly(unit.answer, unit.gold):
        said = "It declines to answer, and so does the gold answer."
        return AnswerVerdict(correct=True, reason=said)
    if any(same_words(unit.answer, one) for one in unit.gold):
        return AnswerVerdict(correct=True, reason="It is the gold answer, word for word.")
    doubt = named_only(unit.question, unit.answer, unit.gold)
    if doubt is not None and levels and levels[0].first.yes <= CERTAIN:
        return AnswerVerdict(correct=False, reason=doubt)
    return None


def _answer_levels(unit: AnswerUnit, levels: Sequence[Levels]) -> list[Levels]:
    """What is said of the answer, then of each nugget: of a long gold answer's sentences the mean
    takes the place of what the network says of all at once."""
    first, *rest = levels
    helps, said = rest[: len(unit.nuggets)], rest[len(unit.nuggets) :]
    if not said:
        return [first, *helps]
    ruling, heard = (_mean([one.ruling for one in said]), _mean([one.first for one in said]))
    ruling = replace(ruling, tokens=first.ruling.tokens + ruling.tokens)
    cut = said[0].threshold
    partly_so = ruling.yes + ruling.partly > cut
    read = any(one.read for one in said)
    return [Levels(ruling, ruling.yes > cut, partly_so, cut, heard, Ability.E, read), *helps]


def _mean(rulings: Sequence[Ruling]) -> Ruling:
    """The mean of the probabilities; the sentence is that of the likeliest yes."""
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
"""Share of the threshold of a whole answer from which a nugget is taken for a step towards it."""


def _help(unit: AnswerUnit | EveryAnswerUnit, number: int, found: Levels) -> NuggetHelp:
    """A nugget helped where it answers the question, at least in part, or states the answer and
    has to do with the question."""
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
"""The tasks on answers, by name."""
