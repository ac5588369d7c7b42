"""Labelling by rules: gold-answer matching, and phrases of refusal. Free, exact, and limited.

The answer rule is a lower bound: it finds an answer correct where it holds a gold answer, and a
nugget helpful where it states one; it cannot see that a nugget is a step towards the answer.
"""

from __future__ import annotations

import re
import unicodedata

from assay.labellers.base import BaseLabeller, Outcome, Request
from assay.model.labels import LabellerId, Status
from assay.tasks.base import AnyTask, Verdict
from assay.tasks.r2c2 import (
    ANSWER,
    DIALOGUE_ACT,
    Act,
    AnswerUnit,
    AnswerVerdict,
    DialogueAct,
    DialogueActUnit,
    NuggetHelp,
)

_ARTICLES = frozenset(("a", "an", "the"))
_NEGATIONS = frozenset(("not", "no", "never", "neither", "nor", "isnt", "wasnt", "except"))

_PHRASES: dict[Act, tuple[str, ...]] = {
    Act.FALSE_PREMISE: (
        r"\b(false|wrong|incorrect|mistaken|faulty) (premise|assumption)\b",
        r"\bpremise (of|is|that)\b",
        r"\bno such (film|movie|person|actor|event|scene|character)\b",
    ),
    Act.DONT_KNOW: (
        r"^\W*(idk|unknown|unsure|not sure|no idea|no answer|none found|n/?a)\W*$",
        r"\b(i|we) (do not|don['’]?t) (really |quite )?(know|remember)\b",
        r"\b(i|we) (cannot|can['’]?t|could not|couldn['’]?t) (tell|say|find|be sure)\b",
        r"\b(not enough|insufficient) (information|evidence)\b",
        r"\b(the )?(passages?|documents?|context) (do|does) not (say|state|mention|contain)\b",
    ),
    Act.OTHER_REFUSAL: (
        r"\b(i|we) (will not|won['’]?t|must decline|am not able|am unable|are unable|refuse)\b",
        r"\bi['’]m (not able|unable)\b",
        r"\bi['’]m sorry,? but\b",
        r"\bas an ai\b",
    ),
}
_ACTS = {act: re.compile("|".join(parts), re.IGNORECASE) for act, parts in _PHRASES.items()}


def normalise(text: str) -> tuple[str, ...]:
    """Words in lower case without accents, punctuation and articles (the usual QA matching)."""
    folded = unicodedata.normalize("NFKD", text).casefold()
    plain = "".join(char for char in folded if not unicodedata.combining(char))
    plain = re.sub(r"['’`]", "", plain)
    return tuple(word for word in re.findall(r"\w+", plain) if word not in _ARTICLES)


def states(text: str, gold: str) -> bool:
    """Whether the words of ``gold`` stand in ``text`` in one piece."""
    words, wanted = normalise(text), normalise(gold)
    if not wanted:
        return False
    return any(
        words[start : start + len(wanted)] == wanted
        for start in range(len(words) - len(wanted) + 1)
    )


class RulesLabeller(BaseLabeller):
    """Gold-answer matching for ``r2c2.answer``, phrases for ``r2c2.dialogue_act``."""

    @property
    def id(self) -> LabellerId:
        return LabellerId("rules", "rules", {"version": 1})

    def refusal(self, task: AnyTask) -> str | None:
        if task.name in (ANSWER.name, DIALOGUE_ACT.name):
            return None
        return (
            f"'rules' can only match gold answers ({ANSWER.name}) and spot refusals "
            f"({DIALOGUE_ACT.name}); it cannot do {task.name}. Use 'embedded' or "
            "'openai:MODEL@URL' for that task in [labellers]."
        )

    async def label(self, request: Request) -> Outcome:
        unit = request.unit
        if isinstance(unit, AnswerUnit):
            if not unit.gold:
                return Outcome(
                    Status.FAILED,
                    error="no gold answers for this question: 'rules' has nothing to match",
                )
            return Outcome(Status.OK, _match_answer(unit))
        if isinstance(unit, DialogueActUnit):
            return Outcome(Status.OK, _spot_act(unit))
        return Outcome(Status.FAILED, error=self.refusal(request.task))


def _match_answer(unit: AnswerUnit) -> Verdict:
    found = next((gold for gold in unit.gold if states(unit.answer, gold)), None)
    negated = found is not None and _NEGATIONS & (
        set(normalise(unit.answer)) - set(normalise(found))
    )
    if negated:
        found, reason = None, f"It negates: {sorted(negated)[0]!r}."
    elif found is not None:
        reason = f"It states the gold answer {found!r}."
    else:
        reason = "It states none of the gold answers."
    helps = []
    for number, nugget in enumerate(unit.nuggets, start=1):
        stated = next((gold for gold in unit.gold if states(nugget, gold)), None)
        why = f"It states {stated!r}." if stated else "It states no gold answer."
        helps.append(NuggetHelp(nugget=number, reason=why, helped=stated is not None))
    return AnswerVerdict(reason=reason, correct=found is not None, nuggets=tuple(helps))


def _spot_act(unit: DialogueActUnit) -> Verdict:
    for act, pattern in _ACTS.items():
        hit = pattern.search(unit.answer)
        if hit:
            return DialogueAct(act=act, reason=f"It says {hit.group(0)!r}.")
    return DialogueAct(act=Act.ANSWER, reason="No phrase of refusal.")
