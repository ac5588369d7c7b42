"""Which tasks the judge can do: what each asks of it, and the verdict that follows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.labellers.denials import declines_rightly, fault_in, fault_of_one, named_only, names
from assay.labellers.judge.languages import other_language
from assay.labellers.judge.model import CERTAIN, JudgeQuestion, Ruling, question_of
from assay.labellers.judge.overlap import shared, states
from assay.labellers.judge.summaries import PAIRS
from assay.labellers.judge.texts import (
    Ability,
    answer_text,
    claim_text,
    gold_text,
    question_text,
    sentences,
)
from assay.labellers.refusals import same_words
from assay.model.trec_rag import Assigned, Support
from assay.tasks.base import AnyTask, Unit, Verdict
from assay.tasks.exam import SELF_RATING, THOMAS, Rating, RatingUnit
from assay.tasks.r2c2 import (
    ANSWER,
    ENTAILMENT,
    EVERY_ANSWER,
    RELEVANCE,
    AnswerUnit,
    AnswerVerdict,
    Entailment,
    EntailmentUnit,
    EveryAnswerUnit,
    EveryAnswerVerdict,
    NuggetHelp,
    Relevance,
    RelevanceUnit,
    RequiredGiven,
    wordings_of,
)
from assay.tasks.sgss import COVERAGE, REPRESENTATIVENESS
from assay.tasks.trec_rag import (
    ASSIGNMENT,
    RELEVANCE_AT_ONCE,
    RELEVANCE_YES_NO,
    SUB_NARRATIVES_ANSWERED,
    SUPPORT,
    SUPPORT_IN_CONTEXT,
    AspectsAnswered,
    AspectsUnit,
    Assignment,
    AssignmentUnit,
    ContextUnit,
    RelevanceGrade,
    RelevanceGrade4,
    SupportUnit,
    SupportVerdict,
    YesNoRelevance,
)
from assay.tasks.trec_rag import RELEVANCE as GRADED_RELEVANCE
from assay.tasks.trec_rag import RelevanceUnit as GradedUnit

REASON_LENGTH = 240


@dataclass(frozen=True, slots=True)
class Levels:
    """A ruling with the verdicts that follow from the calibrated thresholds; ``threshold`` is that
    of yes, ``first`` the ruling before people of the collection were heard, ``ability`` the
    one that it is of, and ``read`` whether the network was asked at all."""

    ruling: Ruling
    yes: bool
    partly: bool
    threshold: float
    first: Ruling
    ability: Ability
    read: bool

    def quoted(self, start: str) -> str:
        """``start`` and the sentence that counted most, in quotation marks."""
        sentence = self.ruling.sentence
        if not sentence:
            return "There is no text to judge by."
        if len(sentence) > REASON_LENGTH:
            sentence = sentence[: REASON_LENGTH - 1].rsplit(" ", 1)[0] + "…"
        return f"{start}: “{sentence}”"


@dataclass(frozen=True, slots=True)
class TaskQuestions:
    """How a task is done: the ``questions`` of a unit (none where it cannot be judged, as
    ``cannot`` then says), what is ``settled`` of their ``Levels``, and the verdict from that. The
    first ``deciding`` levels are what the verdict hangs on, all where it is None, and ``told`` what
    it tells apart: ``yes`` from less, ``partly`` or more from no, or both."""

    questions: Callable[[Any], list[JudgeQuestion]]
    verdict: Callable[[Any, Sequence[Levels]], Verdict]
    cannot: Callable[[Any], str | None] = lambda _unit: None
    settled: Callable[[Any, Sequence[Levels]], Sequence[Levels]] = lambda _unit, levels: levels
    deciding: int | None = None
    told: tuple[str, ...] = ("yes",)


def _entailment_questions(unit: EntailmentUnit) -> list[JudgeQuestion]:
    return [question_of(Ability.E, claim_text(unit.nugget), unit.passage)]


def _entailment(_unit: EntailmentUnit, levels: Sequence[Levels]) -> Entailment:
    (found,) = levels
    if found.yes:
        return Entailment(entailed=True, reason=found.quoted("The passage says"))
    start = "Only in part, in" if found.partly else "Nearest in the passage"
    return Entailment(entailed=False, reason=found.quoted(start))


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


def _relevance_questions(unit: RelevanceUnit | GradedUnit | RatingUnit) -> list[JudgeQuestion]:
    return [question_of(Ability.A, question_text(unit.question), unit.passage)]


def _relevance(_unit: RelevanceUnit, levels: Sequence[Levels]) -> Relevance:
    (found,) = levels
    start = "It answers" if found.yes else "Nearest to an answer"
    return Relevance(relevant=found.yes, reason=found.quoted(start))


UNRELATED = 0.65
"""Probability of no from which a passage is called unrelated (grade 0) and not merely related (1):
set by us, as none of the training data tells the two apart."""


def _graded(_unit: GradedUnit, levels: Sequence[Levels]) -> RelevanceGrade:
    (found,) = levels
    grade = 3 if found.yes else 2 if found.partly else 0 if found.ruling.no >= UNRELATED else 1
    return RelevanceGrade.model_validate({"grade": grade, "reason": found.quoted("Nearest")})


SURE = 0.67
"""Probability of yes from which a passage that answers is rated 5 and not 4."""


def _rated(_unit: RatingUnit, levels: Sequence[Levels]) -> Rating:
    """5 or 4 for a yes; 3 for partly; 1 or 0 for a no, as in ``_graded``. Set by us: none of the
    training data has this scale."""
    (found,) = levels
    if found.yes:
        rating = 5 if found.ruling.yes >= SURE else 4
    else:
        rating = 3 if found.partly else 0 if found.ruling.no >= UNRELATED else 1
    return Rating(rating=rating, reason=found.quoted("Nearest"))


def _assignment_questions(unit: AssignmentUnit) -> list[JudgeQuestion]:
    return [question_of(Ability.E, claim_text(nugget), unit.answer) for nugget in unit.nuggets]


def _assignment(_unit: AssignmentUnit, levels: Sequence[Levels]) -> Assignment:
    labels = tuple(
        Assigned.SUPPORT if one.yes else Assigned.PARTIAL if one.partly else Assigned.NONE
        for one in levels
    )
    return Assignment(labels=labels)


def _support_questions(unit: SupportUnit) -> list[JudgeQuestion]:
    return [question_of(Ability.E, claim_text(unit.sentence), unit.passage)]


def _context_questions(unit: ContextUnit) -> list[JudgeQuestion]:
    """The title is read as the passage's first line. The sentences before are not read: the network
    has no way to tell what is to be checked from what is not."""
    passage = "\n".join(filter(None, (unit.title, unit.passage)))
    return [question_of(Ability.E, claim_text(unit.sentence), passage)]


def _support(_unit: SupportUnit, levels: Sequence[Levels]) -> SupportVerdict:
    (found,) = levels
    support = Support.FULL if found.yes else Support.PARTIAL if found.partly else Support.NONE
    start = "The passage says" if found.yes else "Nearest in the passage"
    return SupportVerdict(support=support, reason=found.quoted(start))


def _yes_no_relevance(_unit: GradedUnit, levels: Sequence[Levels]) -> YesNoRelevance:
    (found,) = levels
    start = "It answers" if found.partly else "Nearest to an answer"
    return YesNoRelevance(relevant=found.partly, reason=found.quoted(start))


LONGEST_QUESTION = 16
"""Words of a question that is put to the judge as one. Of narratives that ask for several things
at once it calls nearly any passage a part of the answer (measured on our own example)."""

RELATED = 0.63
"""Probability of no below which a sub-narrative that is not answered makes the passage related:
set by us, as ``UNRELATED``."""


def _narrative(unit: GradedUnit) -> str | None:
    count = len(unit.question.split())
    if count <= LONGEST_QUESTION:
        return None
    return (
        f"the judge reads single questions, and this is a narrative of {count} words: ask for its "
        'sub-narratives (relevance = "counted" or "at-once"), or use \'openai:MODEL\' for this task'
    )


def _aspect_questions(unit: AspectsUnit) -> list[JudgeQuestion]:
    return [question_of(Ability.A, question_text(one), unit.passage) for one in unit.sub_narratives]


def _no_aspects(unit: AspectsUnit) -> str | None:
    return None if unit.sub_narratives else "there are no sub-narratives"


def _aspects(_unit: AspectsUnit, levels: Sequence[Levels]) -> AspectsAnswered:
    """Each sub-narrative is a question of its own. How much text is off the topic it cannot say."""
    answered = tuple(one.yes for one in levels)
    related = any(answered) or any(one.ruling.no < RELATED for one in levels)
    best = max(levels, key=lambda one: one.ruling.yes)
    said = f"{sum(answered)} of {len(answered)} sub-narratives answered; likeliest"
    return AspectsAnswered(reason=best.quoted(said), related=related, answered=answered)


def _aspects_at_once(unit: AspectsUnit, levels: Sequence[Levels]) -> RelevanceGrade4:
    counted = _aspects(unit, levels)
    return RelevanceGrade4(reason=counted.reason, grade=counted.grade)


_BOTH = ("yes", "partly")
_GRADES = frozenset((THOMAS.name, *(name for name in PAIRS if name.startswith("sgss."))))

WAYS: Mapping[str, TaskQuestions] = {
    **{
        name: TaskQuestions(*pair, told=_BOTH if name in _GRADES else ("yes",))
        for name, pair in PAIRS.items()
    },
    ENTAILMENT.name: TaskQuestions(_entailment_questions, _entailment),
    ANSWER.name: TaskQuestions(
        _answer_questions, _answer, _answer_cannot, _answer_levels, deciding=1
    ),
    EVERY_ANSWER.name: TaskQuestions(_every_answer_questions, _every_answer),
    RELEVANCE.name: TaskQuestions(_relevance_questions, _relevance),
    GRADED_RELEVANCE.name: TaskQuestions(_relevance_questions, _graded, _narrative, told=_BOTH),
    SELF_RATING.name: TaskQuestions(_relevance_questions, _rated, told=_BOTH),
    RELEVANCE_YES_NO.name: TaskQuestions(
        _relevance_questions, _yes_no_relevance, _narrative, told=("partly",)
    ),
    SUB_NARRATIVES_ANSWERED.name: TaskQuestions(_aspect_questions, _aspects, _no_aspects),
    RELEVANCE_AT_ONCE.name: TaskQuestions(_aspect_questions, _aspects_at_once, _no_aspects),
    SUPPORT.name: TaskQuestions(_support_questions, _support, told=_BOTH),
    SUPPORT_IN_CONTEXT.name: TaskQuestions(_context_questions, _support, told=_BOTH),
    ASSIGNMENT.name: TaskQuestions(_assignment_questions, _assignment, told=_BOTH),
}
"""Every task that the judge can do, by name."""

_HANG_ON = {
    **dict.fromkeys((ANSWER.name, EVERY_ANSWER.name), frozenset(Ability)),
    **dict.fromkeys(
        (ENTAILMENT.name, SUPPORT.name, SUPPORT_IN_CONTEXT.name, ASSIGNMENT.name,
         REPRESENTATIVENESS.name, COVERAGE.name),
        frozenset((Ability.E,)),
    ),
}  # fmt: skip


def abilities_of(task: str) -> frozenset[Ability]:
    """All abilities that verdicts on units of a task of the judge can hang on: of answers also what
    their nuggets and the sentences of a long gold answer ask. Tasks that tell each other's verdicts
    have the same."""
    return _HANG_ON.get(task, frozenset((Ability.A,)))


UNFITTED = frozenset((*_GRADES, GRADED_RELEVANCE.name, SELF_RATING.name))
"""Tasks whose scale none of the human labels has that the judge was fitted on: where one grade ends
and the next begins is our choice. Its labels of these say ``"calibrated": false``."""


def refusal(task: AnyTask) -> str | None:
    """Why the judge cannot do ``task`` and what can, or None where it can."""
    if task.name in WAYS:
        return None
    return (
        f"The embedded judge says whether a passage supports a claim or answers a question and "
        f"whether an answer is right; it cannot do {task.name}. Use 'openai:MODEL@URL'"
        f"{_others(task)} for that task in [labellers]."
    )


def _others(task: AnyTask) -> str:
    return ", 'rules'" if task.name == "r2c2.dialogue_act" else (
        ", 'embedded:qwen2.5-1.5b'" if task.decide is not None else ""
    )  # fmt: skip


def unit_questions(task: AnyTask, unit: Unit) -> tuple[list[JudgeQuestion], str | None]:
    """What is asked about ``unit``, or why it cannot be judged."""
    way = WAYS[task.name]
    reason = way.cannot(unit)
    if reason:
        return [], reason
    questions = way.questions(unit)
    language = _unreadable(unit, questions)
    return ([], language) if language else (questions, None)


def _texts(question: JudgeQuestion) -> dict[str, list[str]]:
    """What is read, by name; of gold answers one that can be read is enough."""
    text = question.first.partition(": ")[2]
    if question.ability is Ability.C:
        answer, _, asked = text.rpartition(" | question: ")
        return {
            "question": [asked], "answer": [answer], "gold answer": question.second.split(" / ")
        }  # fmt: skip
    return {_NAMES[question.ability]: [text], "passage": [question.second]}


_NAMES = {Ability.E: "claim", Ability.A: "question"}


def _unreadable(unit: Unit, questions: Sequence[JudgeQuestion]) -> str | None:
    """Why the texts cannot be read: they are not in English. Answers that are decided by rules are
    not read."""
    if ruled(unit) is not None:
        return None
    for question in questions:
        for name, texts in _texts(question).items():
            found = [other_language(text) for text in texts]
            if all(found):
                return (
                    f"this judge reads English, and the {name} is in {found[0]}: use "
                    "'openai:MODEL' or people's labels for it"
                )
    return None
