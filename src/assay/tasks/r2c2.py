"""The labelling tasks of R2C2: steps 3 and 4 of the pipeline, and the dialogue act of an answer.

Source: NTCIR-19 R2C2 task paper, sections 3.1, 3.5 and 4.3. The prompts' wording is ours.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import BeforeValidator

from assay.tasks.base import AnyTask, AskYesNo, Task, Unit, Verdict
from assay.tasks.fields import YesNoField, folded
from assay.tasks.schemas import Schema, by_number, numbered


class EntailmentUnit(Unit):
    """A nugget and the text of the passage that it cites (step 3)."""

    passage: str
    nugget: str


class Entailment(Verdict):
    """Whether the passage entails the nugget. A nugget that is not entailed is bogus."""

    reason: str = ""
    entailed: YesNoField


def _decide_entailment(unit: EntailmentUnit, ask: AskYesNo) -> Entailment:
    answer = ask("entailed")
    return Entailment(reason=answer.reason, entailed=answer.yes)


ENTAILMENT = Task(
    name="r2c2.entailment",
    version="1",
    title="Bogus nugget identification: does the passage entail the nugget?",
    unit=EntailmentUnit,
    verdict=Entailment,
    template="r2c2_entailment",
    decide=_decide_entailment,
    max_tokens=300,
)


class AnswerUnit(Unit):
    """A question, an answer to it, gold answers if any, and the entailed nuggets (step 4).

    ``nuggets`` keeps the order of the AC run; a verdict refers to them by position from 1.
    """

    question: str
    answer: str
    gold: tuple[str, ...] = ()
    nuggets: tuple[str, ...] = ()


class NuggetHelp(Verdict):
    """Whether nugget ``nugget`` (position from 1) helped to find the answer."""

    nugget: int
    reason: str = ""
    helped: YesNoField


class AnswerVerdict(Verdict):
    """Q1: is the answer correct, assuming that the nuggets are true? Q2: which of them helped?"""

    reason: str = ""
    correct: YesNoField
    nuggets: Annotated[tuple[NuggetHelp, ...], numbered("nugget")] = ()


def _check_answer(unit: AnswerUnit, verdict: AnswerVerdict) -> str | None:
    expected = list(range(1, len(unit.nuggets) + 1))
    given = sorted(item.nugget for item in verdict.nuggets)
    if given == expected:
        return None
    if not expected:
        return "there are no nuggets to judge: 'nuggets' must be an empty list"
    if not verdict.correct and not given:
        # Spec, step 4: with NO every entailed nugget is nonrelevant, so none need be judged.
        return None
    return f"'nuggets' must hold each of the numbers {expected} exactly once, it holds {given}"


def _narrow_answer(unit: AnswerUnit, schema: Schema) -> None:
    by_number(schema, "nuggets", NuggetHelp, len(unit.nuggets))


def _check_persons_answer(unit: AnswerUnit, verdict: AnswerVerdict) -> str | None:
    """A person may leave nuggets to the machine."""
    given = [item.nugget for item in verdict.nuggets]
    if len(set(given)) == len(given) and set(given) <= set(range(1, len(unit.nuggets) + 1)):
        return None
    return f"'nuggets' may hold the numbers 1 to {len(unit.nuggets)} once each, it holds {given}"


def _decide_answer(unit: AnswerUnit, ask: AskYesNo) -> AnswerVerdict:
    answer = ask("correct")
    if not answer.yes:
        return AnswerVerdict(reason=answer.reason, correct=False)
    helps = []
    for number, text in enumerate(unit.nuggets, start=1):
        helped = ask("helped", nugget=text, number=number)
        helps.append(NuggetHelp(nugget=number, reason=helped.reason, helped=helped.yes))
    return AnswerVerdict(reason=answer.reason, correct=True, nuggets=tuple(helps))


ANSWER = Task(
    name="r2c2.answer",
    version="1",
    title="Answer evaluation with relevant nugget identification",
    unit=AnswerUnit,
    verdict=AnswerVerdict,
    template="r2c2_answer",
    judged=("answer", "nuggets"),
    check=_check_answer,
    narrow=_narrow_answer,
    person_check=_check_persons_answer,
    decide=_decide_answer,
    max_tokens=900,
)


class Act(StrEnum):
    """What an answer does (paper, section 4.3)."""

    ANSWER = "answer"
    DONT_KNOW = "dont_know"
    FALSE_PREMISE = "false_premise"
    OTHER_REFUSAL = "other_refusal"


def _folded(value: object) -> object:
    return folded(value.replace("'", "")) if type(value) is str else value


class DialogueActUnit(Unit):
    """A question and the answer string given to it."""

    question: str
    answer: str


class DialogueAct(Verdict):
    """The dialogue act of an answer; everything but ``answer`` is a refusal."""

    reason: str = ""
    act: Annotated[Act, BeforeValidator(_folded)]


DIALOGUE_ACT = Task(
    name="r2c2.dialogue_act",
    version="1",
    title="Dialogue act: does the text answer, or refuse to?",
    unit=DialogueActUnit,
    verdict=DialogueAct,
    template="r2c2_dialogue_act",
    usual_labeller="rules",
    max_tokens=200,
)


class RelevanceUnit(Unit):
    """A question, gold answers if any, and the text of a passage of a PR run."""

    question: str
    passage: str
    gold: tuple[str, ...] = ()


class Relevance(Verdict):
    """Whether a passage helps to find the answer, judged on its own."""

    reason: str = ""
    relevant: YesNoField


RELEVANCE = Task(
    name="r2c2.relevance",
    version="1",
    title="Relevance of a passage, to check the derived grades (paper, section 4.1)",
    unit=RelevanceUnit,
    verdict=Relevance,
    template="r2c2_relevance",
    judged=("passage",),
    max_tokens=200,
)

TASKS: tuple[AnyTask, ...] = (ENTAILMENT, ANSWER, DIALOGUE_ACT, RELEVANCE)
