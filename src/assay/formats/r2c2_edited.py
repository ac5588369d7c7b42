"""Edited answer runs: any change except to marks is a fault."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from assay.model.errors import Fault
from assay.model.rag import Answer, AnswerRun
from assay.model.wording import joined, printable, quoted


def changed_otherwise(
    path: Path, original: AnswerRun, edited: AnswerRun, *, unread: Collection[str | None] = ()
) -> list[Fault]:
    """The differences, except in marks, between a run and an edited copy. Blocks of the questions
    in ``unread`` could not be read, so they, and what may be lost in them, are not reported."""
    file = printable(str(path))
    faults = []
    if not unread:
        for question in (one for one in original.answers if one not in edited.answers):
            why = f"The block of question {printable(question)} is missing."
            cure = f"Put it back as it is in the run {printable(original.name)}."
            faults.append(Fault(file, 0, question, why, cure))
    for question, answer in edited.answers.items():
        first = original.answers.get(question)
        if first is None:
            why = "The run has no answer to this question."
            faults.append(Fault(file, answer.line, question, why, "Take the block out."))
        elif question not in unread:
            cure = "A marked run may change marks only; to evaluate another answer, change the run."
            faults += [
                Fault(file, line, question, why, cure) for line, why in _changes(first, answer)
            ]
    return faults


def _changes(first: Answer, answer: Answer) -> Iterator[tuple[int, str]]:
    """The changes in an answer, with their lines."""
    if answer.text != first.text:
        yield answer.line, f"The answer was changed; it is {quoted(first.text)}."
    if answer.confidence != first.confidence:
        yield answer.line, f"The confidence was changed; it is {first.confidence}."
    known = {one.num: one for one in first.nuggets}
    for nugget in answer.nuggets:
        own = known.pop(nugget.num, None)
        if own is None:
            yield nugget.line, f"The answer has no nugget {nugget.num}."
            continue
        if nugget.key != own.key:
            yield nugget.line, f"Nugget {own.num} cites another passage; it cites {own.key}."
        if nugget.text != own.text:
            yield nugget.line, f"Nugget {own.num} was changed; it is {quoted(own.text)}."
    for num in known:
        yield answer.line, f"Nugget {num} is missing."
    order = [one.num for one in first.nuggets]
    if not known and [one.num for one in answer.nuggets] != order:
        numbers = joined(map(str, order))
        yield answer.line, f"The nuggets are in a different order; it should be {numbers}."
