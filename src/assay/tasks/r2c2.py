"""The labelling tasks of R2C2: steps 3 and 4 of the pipeline, and the dialogue act of an answer.

Source: NTCIR-19 R2C2 task paper, sections 3.1, 3.5 and 4.3. The prompts' wording is ours.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, ModelWrapValidatorHandler, computed_field, model_validator

from assay.model.rag import WORDINGS
from assay.tasks.base import AnyTask, AskYesNo, Task, Unit, Verdict
from assay.tasks.fields import YesNoField, folded
from assay.tasks.lists import each_once
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
    title="Bogus nugget identification: does the passage entail the nugget?",
    unit=EntailmentUnit,
    verdict=Entailment,
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


def _check_answer(
    unit: AnswerUnit | EveryAnswerUnit, verdict: AnswerVerdict | EveryAnswerVerdict
) -> str | None:
    if verdict.nuggets and not unit.nuggets:
        return "there are no nuggets to judge: 'nuggets' must be an empty list"
    if not verdict.correct and not verdict.nuggets:
        # Spec, step 4: with NO every entailed nugget is nonrelevant, so none need be judged.
        return None
    return each_once("nuggets", len(unit.nuggets), (item.nugget for item in verdict.nuggets))


def _check_persons_answer(
    unit: AnswerUnit | EveryAnswerUnit, verdict: AnswerVerdict | EveryAnswerVerdict
) -> str | None:
    """Check a person's verdict, which may leave nuggets to the machine."""
    given = [item.nugget for item in verdict.nuggets]
    if len(set(given)) == len(given) and set(given) <= set(range(1, len(unit.nuggets) + 1)):
        return None
    return f"'nuggets' may hold the numbers 1 to {len(unit.nuggets)} once each, it holds {given}"


def _decide_answer(unit: AnswerUnit, ask: AskYesNo) -> AnswerVerdict:
    answer = ask("correct")
    if not answer.yes:
        return AnswerVerdict(reason=answer.reason, correct=False)
    helps = _decide_helps(unit, ask)
    return AnswerVerdict(reason=answer.reason, correct=True, nuggets=helps)


def _decide_helps(unit: AnswerUnit | EveryAnswerUnit, ask: AskYesNo) -> tuple[NuggetHelp, ...]:
    helps = []
    for number, text in enumerate(unit.nuggets, start=1):
        helped = ask("helped", nugget=text, number=number)
        helps.append(NuggetHelp(nugget=number, reason=helped.reason, helped=helped.yes))
    return tuple(helps)


ANSWER = Task(
    name="r2c2.answer",
    title="Answer: is it right, and which nuggets helped?",
    unit=AnswerUnit,
    verdict=AnswerVerdict,
    judged=("answer", "nuggets"),
    check=_check_answer,
    narrow=lambda unit, schema: by_number(schema, "nuggets", NuggetHelp, len(unit.nuggets)),
    person_check=_check_persons_answer,
    decide=_decide_answer,
    max_tokens=900,
)


class EveryAnswerUnit(Unit):
    """Like :class:`AnswerUnit`, for a question with several ``required`` answers. Each is given by
    its wordings, separated by ``|``."""

    question: str
    answer: str
    required: tuple[str, ...]
    nuggets: tuple[str, ...] = ()


def wordings_of(unit: EveryAnswerUnit) -> list[tuple[str, ...]]:
    """The wordings of each required answer."""
    return [tuple(one.split(WORDINGS)) for one in unit.required]


class RequiredGiven(Verdict):
    """Whether an answer gives required answer ``number`` (position from 1)."""

    number: int
    reason: str = ""
    given: YesNoField


class EveryAnswerVerdict(Verdict):
    """Which required answers are given (all: the answer is ``correct``), and which nuggets
    helped."""

    reason: str = ""
    required: Annotated[tuple[RequiredGiven, ...], numbered("number")]
    nuggets: Annotated[tuple[NuggetHelp, ...], numbered("nugget")] = ()

    @computed_field  # type: ignore[prop-decorator]
    @property
    def correct(self) -> bool:
        return all(one.given for one in self.required)

    @model_validator(mode="wrap")
    @classmethod
    def _at_one(cls, said: Any, read: ModelWrapValidatorHandler[Self]) -> Self:
        """Refuse a ``correct`` that contradicts ``required``, from which it follows."""
        found = read(said)
        whole = said.get("correct") if isinstance(said, dict) else None
        if isinstance(whole, bool) and whole is not found.correct:
            raise ValueError("'correct' contradicts 'required': leave it out")
        return found


def _check_required(unit: EveryAnswerUnit, verdict: EveryAnswerVerdict) -> str | None:
    return each_once("required", len(unit.required), (item.number for item in verdict.required))


def _narrow_every_answer(unit: EveryAnswerUnit, schema: Schema) -> None:
    by_number(schema, "required", RequiredGiven, len(unit.required))
    by_number(schema, "nuggets", NuggetHelp, len(unit.nuggets))


def _decide_every_answer(unit: EveryAnswerUnit, ask: AskYesNo) -> EveryAnswerVerdict:
    required = []
    for number, text in enumerate(unit.required, start=1):
        given = ask("given", wanted=text, number=number)
        required.append(RequiredGiven(number=number, reason=given.reason, given=given.yes))
    helps = _decide_helps(unit, ask) if all(one.given for one in required) else ()
    return EveryAnswerVerdict(required=tuple(required), nuggets=helps)


EVERY_ANSWER = Task(
    name="r2c2.every_answer",
    title="Answer evaluation where several answers are required",
    unit=EveryAnswerUnit,
    verdict=EveryAnswerVerdict,
    judged=("answer", "nuggets"),
    check=lambda unit, verdict: _check_required(unit, verdict) or _check_answer(unit, verdict),
    narrow=_narrow_every_answer,
    person_check=lambda unit, verdict: (
        _check_required(unit, verdict) or _check_persons_answer(unit, verdict)
    ),
    decide=_decide_every_answer,
    max_tokens=1200,
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
    title="Dialogue act: does the text answer, or refuse to?",
    unit=DialogueActUnit,
    verdict=DialogueAct,
    usual_labeller="rules",
    max_tokens=200,
)


class PassageUnit(Unit):
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
    title="Relevance of a passage, to check the derived grades (paper, section 4.1)",
    unit=PassageUnit,
    verdict=Relevance,
    judged=("passage",),
    max_tokens=200,
)

TASKS: tuple[AnyTask, ...] = (ENTAILMENT, ANSWER, EVERY_ANSWER, DIALOGUE_ACT, RELEVANCE)
