"""The tasks that the judge can do: the questions for each, and the verdict from the answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.labellers.judge.answers import ANSWERS, ruled
from assay.labellers.judge.languages import other_language
from assay.labellers.judge.levels import Levels, TaskQuestions
from assay.labellers.judge.model import JudgeQuestion, question_of
from assay.labellers.judge.texts import Ability, claim_text, question_text
from assay.model.trec_rag import Assigned, Support
from assay.tasks.base import AnyTask, Unit
from assay.tasks.exam import DIRECT, SELF_RATING, THOMAS, DirectGrade, Rating, RatingUnit
from assay.tasks.r2c2 import (
    ENTAILMENT,
    RELEVANCE,
    Entailment,
    EntailmentUnit,
    PassageUnit,
    Relevance,
)
from assay.tasks.sgss import (
    COVERAGE,
    HEADING,
    REPRESENTATIVENESS,
    STATEMENT,
    SUFFICIENCY,
    CoverageUnit,
    Extent,
    ExtentVerdict,
    RepresentativenessUnit,
)
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
    RelevanceUnit,
    SupportUnit,
    SupportVerdict,
    YesNoRelevance,
)
from assay.tasks.trec_rag import RELEVANCE as GRADED_RELEVANCE

# -- SGSS, and EXAM++'s direct graders -------------------------------------------------------------

# None of the judge's training data has these scales. By our choice, a clear yes is the highest
# label and a partial yes the middle one. Tasks that need a view of the whole (absolute
# comprehensiveness, preferences) it cannot do.


def _answers(topic: str, text: str) -> list[JudgeQuestion]:
    """Does the text answer the topic? The judge was trained on questions, so other topics are
    rephrased as questions."""
    asked = topic if topic.rstrip().endswith("?") else f"what about {topic}?"
    return [question_of(Ability.A, question_text(asked), text)]


def _representativeness(unit: RepresentativenessUnit) -> list[JudgeQuestion]:
    """Do the sections together support the overview?"""
    return [question_of(Ability.E, claim_text(unit.overview), "\n".join(unit.sections))]


def _coverage(unit: CoverageUnit) -> list[JudgeQuestion]:
    """Does the summary state each line of the section? (The heading is not a claim.)"""
    lines = unit.section.split("\n")
    return [question_of(Ability.E, claim_text(line), unit.summary) for line in lines[1:] or lines]


def _extent(_unit: object, levels: Sequence[Levels]) -> ExtentVerdict:
    """Perfectly if every answer is yes, partially if some answer is at least partly yes."""
    if all(one.yes for one in levels):
        label = Extent.PERFECTLY
    elif any(one.yes or one.partly for one in levels):
        label = Extent.PARTIALLY
    else:
        label = Extent.NO
    return ExtentVerdict(label=label, reason=levels[0].quoted("Nearest"))


def _relevant(unit: RelevanceUnit) -> list[JudgeQuestion]:
    return _answers(unit.question, unit.passage)


def _yes_no(_unit: RelevanceUnit, levels: Sequence[Levels]) -> YesNoRelevance:
    return YesNoRelevance(relevant=levels[0].yes, reason=levels[0].quoted("Nearest"))


def _grade(_unit: RelevanceUnit, levels: Sequence[Levels]) -> DirectGrade:
    grade = 2 if levels[0].yes else 1 if levels[0].partly else 0
    return DirectGrade(grade=grade, reason=levels[0].quoted("Nearest"))


_BOTH = ("yes", "partly")
_WITH_GRADES: Mapping[str, TaskQuestions] = {
    SUFFICIENCY.name: TaskQuestions(
        lambda u: _answers(u.query, u.overview), _extent, distinguished=_BOTH
    ),
    STATEMENT.name: TaskQuestions(
        lambda u: _answers(u.query, u.statement), _extent, distinguished=_BOTH
    ),
    HEADING.name: TaskQuestions(
        lambda u: _answers(u.heading, u.statement), _extent, distinguished=_BOTH
    ),
    REPRESENTATIVENESS.name: TaskQuestions(_representativeness, _extent, distinguished=_BOTH),
    COVERAGE.name: TaskQuestions(_coverage, _extent, distinguished=_BOTH),
    THOMAS.name: TaskQuestions(_relevant, _grade, distinguished=_BOTH),
}
_WITHOUT = {
    task.name: TaskQuestions(_relevant, _yes_no) for task in DIRECT.values() if task is not THOMAS
}


# -- tasks with scales that the judge was fitted on ------------------------------------------------


def _entailment_questions(unit: EntailmentUnit) -> list[JudgeQuestion]:
    return [question_of(Ability.E, claim_text(unit.nugget), unit.passage)]


def _entailment(_unit: EntailmentUnit, levels: Sequence[Levels]) -> Entailment:
    (found,) = levels
    if found.yes:
        return Entailment(entailed=True, reason=found.quoted("The passage says"))
    start = "Only in part, in" if found.partly else "Nearest in the passage"
    return Entailment(entailed=False, reason=found.quoted(start))


def _relevance_questions(unit: PassageUnit | RelevanceUnit | RatingUnit) -> list[JudgeQuestion]:
    return [question_of(Ability.A, question_text(unit.question), unit.passage)]


def _relevance(_unit: PassageUnit, levels: Sequence[Levels]) -> Relevance:
    (found,) = levels
    start = "It answers" if found.yes else "Nearest to an answer"
    return Relevance(relevant=found.yes, reason=found.quoted(start))


UNRELATED = 0.65
"""Probability of no from which a passage is unrelated (grade 0) rather than related (1). Our
choice, as the training data does not distinguish the two."""


def _graded(_unit: RelevanceUnit, levels: Sequence[Levels]) -> RelevanceGrade:
    (found,) = levels
    grade = 3 if found.yes else 2 if found.partly else 0 if found.ruling.no >= UNRELATED else 1
    return RelevanceGrade.model_validate({"grade": grade, "reason": found.quoted("Nearest")})


SURE = 0.67
"""Probability of yes from which a passage that answers is rated 5 rather than 4."""


def _rated(_unit: RatingUnit, levels: Sequence[Levels]) -> Rating:
    """5 or 4 for yes, 3 for partly, 1 or 0 for no as in ``_graded``. Our choice, as the training
    data does not have this scale."""
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
    """The title becomes the passage's first line. The preceding sentences are not read, as the
    network could not distinguish them from the sentence to check."""
    passage = "\n".join(filter(None, (unit.title, unit.passage)))
    return [question_of(Ability.E, claim_text(unit.sentence), passage)]


def _support(_unit: SupportUnit, levels: Sequence[Levels]) -> SupportVerdict:
    (found,) = levels
    support = Support.FULL if found.yes else Support.PARTIAL if found.partly else Support.NONE
    start = "The passage says" if found.yes else "Nearest in the passage"
    return SupportVerdict(support=support, reason=found.quoted(start))


def _yes_no_relevance(_unit: RelevanceUnit, levels: Sequence[Levels]) -> YesNoRelevance:
    (found,) = levels
    start = "It answers" if found.partly else "Nearest to an answer"
    return YesNoRelevance(relevant=found.partly, reason=found.quoted(start))


LONGEST_QUESTION = 16
"""Most words of a single question. For narratives that ask for several things, the judge calls
nearly any passage part of the answer (measured on our own example)."""

RELATED = 0.63
"""Probability of no below which a sub-narrative that is not answered still makes the passage
related. Our choice, like ``UNRELATED``."""


def _narrative(unit: RelevanceUnit) -> str | None:
    count = len(unit.question.split())
    if count <= LONGEST_QUESTION:
        return None
    return (
        f"the judge reads single questions, but this is a narrative of {count} words: use its "
        'sub-narratives (relevance = "counted" or "at-once"), or \'openai:MODEL\' for this task'
    )


def _aspect_questions(unit: AspectsUnit) -> list[JudgeQuestion]:
    return [question_of(Ability.A, question_text(one), unit.passage) for one in unit.sub_narratives]


def _no_aspects(unit: AspectsUnit) -> str | None:
    return None if unit.sub_narratives else "there are no sub-narratives"


def _aspects(_unit: AspectsUnit, levels: Sequence[Levels]) -> AspectsAnswered:
    """Each sub-narrative is a separate question. How much text is off topic, the judge cannot
    say."""
    answered = tuple(one.yes for one in levels)
    related = any(answered) or any(one.ruling.no < RELATED for one in levels)
    best = max(levels, key=lambda one: one.ruling.yes)
    start = f"{sum(answered)} of {len(answered)} sub-narratives answered; likeliest"
    return AspectsAnswered(reason=best.quoted(start), related=related, answered=answered)


def _aspects_at_once(unit: AspectsUnit, levels: Sequence[Levels]) -> RelevanceGrade4:
    counted = _aspects(unit, levels)
    return RelevanceGrade4(reason=counted.reason, grade=counted.grade)


WAYS: Mapping[str, TaskQuestions] = {
    **_WITH_GRADES,
    **_WITHOUT,
    ENTAILMENT.name: TaskQuestions(_entailment_questions, _entailment),
    **ANSWERS,
    RELEVANCE.name: TaskQuestions(_relevance_questions, _relevance),
    GRADED_RELEVANCE.name: TaskQuestions(
        _relevance_questions, _graded, _narrative, distinguished=_BOTH
    ),
    SELF_RATING.name: TaskQuestions(_relevance_questions, _rated, distinguished=_BOTH),
    RELEVANCE_YES_NO.name: TaskQuestions(
        _relevance_questions, _yes_no_relevance, _narrative, distinguished=("partly",)
    ),
    SUB_NARRATIVES_ANSWERED.name: TaskQuestions(_aspect_questions, _aspects, _no_aspects),
    RELEVANCE_AT_ONCE.name: TaskQuestions(_aspect_questions, _aspects_at_once, _no_aspects),
    SUPPORT.name: TaskQuestions(_support_questions, _support, distinguished=_BOTH),
    SUPPORT_IN_CONTEXT.name: TaskQuestions(_context_questions, _support, distinguished=_BOTH),
    ASSIGNMENT.name: TaskQuestions(_assignment_questions, _assignment, distinguished=_BOTH),
}
"""How to do each task that the judge can do, by name."""

_ABILITIES_OF = {
    **dict.fromkeys(ANSWERS, frozenset(Ability)),
    **dict.fromkeys(
        (ENTAILMENT.name, SUPPORT.name, SUPPORT_IN_CONTEXT.name, ASSIGNMENT.name,
         REPRESENTATIVENESS.name, COVERAGE.name),
        frozenset((Ability.E,)),
    ),
}  # fmt: skip


def abilities_of(task: str) -> frozenset[Ability]:
    """All abilities that a task's verdicts can depend on; for answers, that includes those for
    nuggets and for the sentences of a long gold answer. Tasks that imply each other's verdicts have
    the same abilities."""
    return _ABILITIES_OF.get(task, frozenset((Ability.A,)))


UNFITTED = frozenset((*_WITH_GRADES, GRADED_RELEVANCE.name, SELF_RATING.name))
"""Tasks whose scale is in none of the human labels that the judge was fitted on, so that the limits
between grades are our choice. Their labels say ``"calibrated": false``."""


def refusal(task: AnyTask) -> str | None:
    """None if the judge can do ``task``; otherwise why not, and what can."""
    if task.name in WAYS:
        return None
    return (
        "The embedded judge decides whether a passage supports a claim or answers a question, and "
        f"whether an answer is correct; it cannot do {task.name}. For that task, use "
        f"'openai:MODEL@URL'{_others(task)} in [labellers]; or, if only people label it, an empty "
        "file: 'recorded:none.jsonl'."
    )


def _others(task: AnyTask) -> str:
    return ", 'rules'" if task.name == "r2c2.dialogue_act" else (
        ", 'embedded:qwen2.5-1.5b'" if task.decide is not None else ""
    )  # fmt: skip


def unit_questions(task: AnyTask, unit: Unit) -> tuple[list[JudgeQuestion], str | None]:
    """The questions about ``unit``, or none and why it cannot be judged."""
    way = WAYS[task.name]
    reason = way.cannot(unit)
    if reason:
        return [], reason
    questions = way.questions(unit)
    language = _unreadable(unit, questions)
    return ([], language) if language else (questions, None)


def _texts(question: JudgeQuestion) -> dict[str, list[str]]:
    """The texts of a question, by name. One readable gold answer suffices."""
    text = question.first.partition(": ")[2]
    if question.ability is Ability.C:
        answer, _, asked = text.rpartition(" | question: ")
        return {
            "question": [asked], "answer": [answer], "gold answer": question.second.split(" / ")
        }  # fmt: skip
    return {_NAMES[question.ability]: [text], "passage": [question.second]}


_NAMES = {Ability.E: "claim", Ability.A: "question"}


def _unreadable(unit: Unit, questions: Sequence[JudgeQuestion]) -> str | None:
    """Why the texts cannot be read (they are not in English), or None. Answers decided by rules
    need not be read."""
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
