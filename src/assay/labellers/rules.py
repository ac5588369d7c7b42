"""Labelling by rules: matching gold answers, and recognising refusals. Free, exact and limited.

An answer is correct if it contains a gold answer, and a nugget helps if it states one. That is a
lower bound: a nugget may also be a step towards the answer.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from assay.labellers.base import BaseLabeller, Outcome, Request
from assay.labellers.denials import (
    VERSION,
    declines_rightly,
    fault_in,
    fault_of_one,
    named_only,
    names,
    plain,
    same_set,
)
from assay.labellers.refusals import folded, refusal_in
from assay.model.labels import LabellerId, Status
from assay.model.phrases import VOWELS
from assay.tasks.base import AnyTask, Verdict
from assay.tasks.r2c2 import (
    ANSWER,
    DIALOGUE_ACT,
    EVERY_ANSWER,
    Act,
    AnswerUnit,
    AnswerVerdict,
    DialogueAct,
    DialogueActUnit,
    EveryAnswerUnit,
    EveryAnswerVerdict,
    NuggetHelp,
    RequiredGiven,
    wordings_of,
)

_ARTICLES = frozenset(("a", "an", "the"))


_VOWEL = re.compile(f"[{VOWELS}]")
_WORD = re.compile(rf"(?:(?<!\w)[-−–](?=\d))?(?:\d+(?:[.,]\d+)+|[\w{VOWELS}]+(?:[+#]+(?!\w))?)")
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?!\d)|(?<![\d.,])\d{1,3}(?: \d{3})+(?!\d)")


def normalise(text: str) -> tuple[str, ...]:
    """Words in lower case without accents, punctuation and articles, as is usual in QA matching.
    Numbers are single words: 12,000 and 12 000 become 12000, and 1,5 becomes 1.5."""
    text = plain(folded(text))
    if not text.isascii():
        text = "".join(c for c in text if not unicodedata.combining(c) or _VOWEL.match(c))
    text = _THOUSANDS.sub(lambda number: re.sub("[, ]", "", number[0]), text.replace("'", ""))
    words = (re.sub("^[−–]", "-", word.replace(",", ".")) for word in _WORD.findall(text))
    return tuple(word for word in words if word not in _ARTICLES)


def states(text: str, gold: str) -> bool:
    """Whether ``text`` contains the words of ``gold`` consecutively."""
    if names(text, gold) or same_set(text, gold):
        return True
    words, wanted = normalise(text), normalise(gold)
    if not wanted:
        return False
    return any(
        words[start : start + len(wanted)] == wanted
        for start in range(len(words) - len(wanted) + 1)
    )


class RulesLabeller(BaseLabeller):
    """Gold-answer matching for ``r2c2.answer``, refusals for ``r2c2.dialogue_act``."""

    @property
    def id(self) -> LabellerId:
        return LabellerId("rules", "rules", {"version": VERSION})

    def refusal(self, task: AnyTask) -> str | None:
        if task.name in (ANSWER.name, EVERY_ANSWER.name, DIALOGUE_ACT.name):
            return None
        return (
            f"'rules' can only match gold answers ({ANSWER.name}, {EVERY_ANSWER.name}) and detect "
            f"refusals ({DIALOGUE_ACT.name}); it cannot do {task.name}. For that task, use "
            "'embedded' or 'openai:MODEL@URL' in [labellers]."
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
        if isinstance(unit, EveryAnswerUnit):
            return Outcome(Status.OK, _match_every(unit))
        if isinstance(unit, DialogueActUnit):
            return Outcome(Status.OK, _spot_act(unit))
        return Outcome(Status.FAILED, error=self.refusal(request.task))


def _match_answer(unit: AnswerUnit) -> Verdict:
    asked = (unit.question, unit.answer, unit.gold)
    fault = fault_in(*asked) or named_only(*asked)
    found = next((gold for gold in unit.gold if states(unit.answer, gold)), None)
    correct = fault is None and (found is not None or declines_rightly(unit.answer, unit.gold))
    if fault is not None:
        reason = fault
    elif found is not None:
        reason = f"It states the gold answer {found!r}."
    elif correct:
        reason = "It declines to answer, and so does the gold answer."
    else:
        reason = "It states none of the gold answers."
    helps = _helps(unit.nuggets, unit.gold)
    return AnswerVerdict(reason=reason, correct=correct, nuggets=helps)


def _match_every(unit: EveryAnswerUnit) -> Verdict:
    required = []
    for number, wordings in enumerate(wordings_of(unit), start=1):
        fault = fault_of_one(unit.question, unit.answer, wordings) or named_only(
            unit.question, unit.answer, wordings
        )
        found = next((one for one in wordings if states(unit.answer, one)), None)
        why = fault or (f"It states {found!r}." if found else "It does not state it.")
        given = fault is None and found is not None
        required.append(RequiredGiven(number=number, reason=why, given=given))
    every = [one for wordings in wordings_of(unit) for one in wordings]
    return EveryAnswerVerdict(required=tuple(required), nuggets=_helps(unit.nuggets, every))


def _helps(nuggets: Sequence[str], gold: Sequence[str]) -> tuple[NuggetHelp, ...]:
    helps = []
    for number, nugget in enumerate(nuggets, start=1):
        stated = next((one for one in gold if states(nugget, one)), None)
        why = f"It states {stated!r}." if stated else "It states no gold answer."
        helps.append(NuggetHelp(nugget=number, reason=why, helped=stated is not None))
    return tuple(helps)


def _spot_act(unit: DialogueActUnit) -> Verdict:
    refusal = refusal_in(unit.answer)
    if refusal is None:
        return DialogueAct(act=Act.ANSWER, reason="No phrase of refusal.")
    return DialogueAct(act=refusal.act, reason=f"It says {refusal.words.strip()!r}.")
