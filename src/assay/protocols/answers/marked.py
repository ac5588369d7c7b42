"""Marked answer runs that a person edited: differences from the published marks become labels.

Marks follow from labels: bogus or not from the label of the nugget and its passage; whether an
entailed nugget helped, and whether the answer is right, from the label of the answer beside its
entailed nuggets. So an answer with a changed mark gets one label by the person, beside the nuggets
that are entailed now, which says of each whether it helped; and each nugget that was made bogus, or
no longer is, gets a label too. Marks do not tell a wrong answer from a right one that no nugget
helped: a relevant nugget makes the answer right; otherwise it stays as it was, unless the person
says so (``rulings``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from assay.formats.naming import run_name
from assay.formats.r2c2_ac import AnswerRunFile, read_ac_run, write_marked
from assay.formats.r2c2_edited import changed_otherwise
from assay.labellers.base import Request
from assay.ledger import NewLabel
from assay.ledger.exchange import person_label
from assay.model.errors import Fault, FormatError
from assay.model.labels import Label, LabellerId
from assay.model.rag import Answer, AnswerRun, Mark, Nugget, PassageRun, Question
from assay.model.wording import joined, printable, quoted
from assay.protocols.answers.requests import (
    answer_content,
    answer_task,
    entailment_content,
    request,
)
from assay.protocols.answers.results import AnswerResult, Judged, NuggetResult
from assay.protocols.places import Place
from assay.tasks.r2c2 import ENTAILMENT

Rulings = Mapping[tuple[str, str], bool]
"""(run, question) → whether the answer is right, as the person says explicitly."""

_NONE = "no mark"


@dataclass(frozen=True)
class Originals:
    """The answer runs of an evaluation as they were handed in, and what is needed to read them."""

    questions: tuple[Question, ...]
    runs: Mapping[str, AnswerRunFile]
    pr_runs: Mapping[str, PassageRun]


@dataclass(frozen=True)
class Edits:
    """A person's edits of some marked runs. ``labels`` express them. ``files`` has each run's file,
    and the run with the marks in it. ``spaced`` are files that differ from the answer run in blanks
    or line ends. ``uncounted`` names answers with marks or rulings to questions that do not
    count."""

    labels: tuple[NewLabel, ...]
    files: Mapping[str, tuple[Path, AnswerRun]]
    spaced: tuple[Path, ...]
    uncounted: tuple[str, ...]


def read_edits(
    paths: Sequence[Path],
    originals: Originals,
    published: Judged,
    who: LabellerId,
    *,
    rulings: Rulings,
    reason: str | None = None,
) -> Edits:
    """Read what ``who`` changed in the marks of answer runs, compared with what scoring publishes
    now. Raises FormatError with all faults of all files: other changes, removed marks, and marks
    that contradict each other."""
    edited = _Edited(originals, published, rulings, reason or "")
    for path in paths:
        edited.read(path)
    by_unit: dict[str, list[_Statement]] = {}
    for one in edited.spoken:
        by_unit.setdefault(one.asked.unit_hash, []).append(one)
    edited.faults += [fault for every in by_unit.values() for fault in _contradictions(every)]
    if edited.faults:
        raise FormatError(edited.faults)
    labels = {
        one.asked.unit_hash: person_label(
            who,
            one.asked.task,
            one.asked.content,
            one.verdict,
            reason=reason,
            overrules=None if one.overrules is None else one.overrules.uid,
            detail={"said_of": one.place._asdict()},
        )
        for one in edited.spoken
        if one.edited
    }
    return Edits(
        tuple(labels.values()), edited.files, tuple(edited.spaced), tuple(edited.uncounted)
    )


def unmet_edits(edits: Edits, after: Judged, rulings: Rulings) -> list[Fault]:
    """Faults for marks and rulings that would not come out as given even with every label of
    ``edits`` written, because they depend on labels that these do not override."""
    faults = []
    for run, (path, edited) in edits.files.items():
        for question, answer in edited.answers.items():
            if question not in after[run]:  # it does not count
                continue
            result = after[run][question]
            cure = "It depends on the labels of other marks; give it the mark that it would have."
            if result.refused and result.act_label is not None:
                cure = (
                    f"{result.act_label.labeller.name} says that the answer declines to answer; "
                    "change that label of r2c2.dialogue_act first."
                )
            marks = result.marks
            for nugget in answer.nuggets:
                if (mark := marks.get(nugget.num)) is not nugget.mark:
                    why = (
                        f"Nugget {nugget.num} cannot be marked {nugget.mark or _NONE}: it would "
                        f"come out as {mark or _NONE}."
                    )
                    faults.append(Fault(str(path), nugget.line, question, why, cure))
            wanted = rulings.get((run, question))
            if wanted is not None and result.correct is not wanted:
                why = f"This does not make the answer {'right' if wanted else 'wrong'}."
                faults.append(Fault(str(path), answer.line, question, why, cure))
    return faults


class _Statement(NamedTuple):
    """What a file says about a unit; ``edited`` if that differs from what is published."""

    asked: Request
    verdict: Mapping[str, Any]
    edited: bool
    overrules: Label | None
    place: Place
    path: Path
    line: int


@dataclass
class _Edited:
    """Reads edited runs one after the other, and collects all faults."""

    originals: Originals
    published: Judged
    rulings: Rulings
    reason: str
    files: dict[str, tuple[Path, AnswerRun]] = field(default_factory=dict)
    spaced: list[Path] = field(default_factory=list)
    uncounted: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    spoken: list[_Statement] = field(default_factory=list)

    def read(self, path: Path) -> None:
        """Read one file."""
        run, own = run_name(path), self.originals
        if run not in own.runs:
            self._fault(
                path, 0, None, f"There is no answer run {quoted(run)} in the evaluation.",
                "A marked run keeps the name of its run; import labels as JSON Lines. Runs: "
                f"{joined(own.runs, 10)}.",
            )  # fmt: skip
            return
        try:
            parsed = read_ac_run(path, questions=own.questions, pr_runs=own.pr_runs)
        except FormatError as error:  # the file cannot be read at all
            self.faults += error.faults
            return
        self.faults += parsed.errors
        if (edited := parsed.value) is None:
            return
        if run in self.files:
            why = f"The run was given as {printable(str(self.files[run][0]))} too."
            self._fault(path, 0, None, why, "Keep one.")
            return
        original = own.runs[run]
        unread = {fault.topic for fault in parsed.errors}
        changed = changed_otherwise(path, original.run, edited.run, unread=unread)
        self.faults += changed
        self.files[run] = path, edited.run
        if write_marked(edited, {}) != write_marked(original, {}):
            self.spaced.append(path)
        otherwise = {fault.topic for fault in changed}
        for question, answer in edited.run.answers.items():
            if question in unread or question not in original.run.answers:
                continue
            if question not in self.published[run]:
                marked = any(one.mark is not None for one in answer.nuggets)
                if marked or (run, question) in self.rulings:
                    self.uncounted.append(f"{run} {question}")
            else:
                result = self.published[run][question]
                self._answer(path, answer, result, same=question not in otherwise)

    def _fault(self, path: Path, line: int, topic: str | None, why: str, cure: str) -> None:
        self.faults.append(Fault(printable(str(path)), line, topic, why, cure))

    # -- what changed marks say --------------------------------------------------------------

    def _answer(self, path: Path, answer: Answer, result: AnswerResult, *, same: bool) -> None:
        """Read the marks of one answer, changed or not. ``same``: nothing but marks was changed."""
        run, question = result.run, result.question.id
        ruling = self.rulings.get((run, question))
        known = {one.nugget.num: one for one in result.nuggets}
        pairs = [(one, known[one.num]) for one in answer.nuggets if one.num in known]
        changed = any(nugget.mark is not own.mark for nugget, own in pairs)
        edited = changed or (ruling is not None and ruling is not result.correct)
        relevant = any(nugget.mark is Mark.RELEVANT for nugget in answer.nuggets)
        correct = True if relevant else result.correct if ruling is None else ruling
        before = len(self.faults)
        for nugget, own in pairs:
            wrong = _wrong(nugget, own, ruling, correct, edited, f"{run}/{question}")
            if wrong is not None:
                self._fault(path, nugget.line, question, *wrong)
        if len(self.faults) > before or not same:
            return
        for nugget, own in pairs:
            if nugget.mark is not None and own.passage is not None:
                entailed = nugget.mark is not Mark.BOGUS
                asked = request(ENTAILMENT, entailment_content(nugget, own.passage))
                says: dict[str, Any] = {"reason": self.reason, "entailed": entailed}
                place = Place(run, question, f"nugget {nugget.num}")
                turned = own.entailed is not entailed
                spoken = _Statement(asked, says, turned, own.entailment, place, path, nugget.line)
                self.spoken.append(spoken)
        if correct is None:
            return
        required = _required(result, correct=correct)
        if required is None:
            if edited:
                self._fault(
                    path, answer.line, question,
                    "The question asks for several answers, and marks do not say which of them are "
                    "missing.",
                    "Label it in 'assay ui', or import labels of r2c2.every_answer.",
                )  # fmt: skip
            return
        beside = [
            nugget
            for nugget, own in pairs
            if (own.entailed if nugget.mark is None else nugget.mark is not Mark.BOGUS)
        ]
        helped = [
            {"nugget": number, "reason": "", "helped": nugget.mark is Mark.RELEVANT}
            for number, nugget in enumerate(beside, start=1)
            if nugget.mark is not None
        ]
        texts = (one.text for one in beside)
        content = answer_content(result.question, answer, texts)
        asked = request(answer_task(result.question), content)
        says = {"reason": self.reason, **required, "nuggets": helped}
        label, place = result.label, Place(run, question, "answer")
        overrules = label if label is not None and label.unit == asked.unit_hash else None
        self.spoken.append(_Statement(asked, says, edited, overrules, place, path, answer.line))


def _required(result: AnswerResult, *, correct: bool) -> dict[str, Any] | None:
    """The part of an answer's verdict that is not about nuggets; None if it is unknown which of
    several required answers are missing."""
    required = result.question.required
    if not required:
        return {"correct": correct}
    verdict = None if result.label is None else result.label.verdict
    if verdict is not None and bool(verdict["correct"]) is correct:
        return {"required": verdict["required"], "correct": correct}
    if not correct:
        return None
    given = [{"number": at, "reason": "", "given": True} for at, _ in enumerate(required, 1)]
    return {"required": given, "correct": True}


def _contradictions(every: Sequence[_Statement]) -> Iterator[Fault]:
    """Faults for units with equal content, which have one label, but are marked differently."""
    for number, one in enumerate(every):
        others = (
            other
            for place, other in enumerate(every)
            # Of two edited ones, only the later is reported.
            if other.verdict != one.verdict and (place < number or not other.edited)
        )
        other = next(others, None) if one.edited else None
        if other is None:
            continue
        if one.asked.task is ENTAILMENT:
            why = "The nugget and its passage are"
            cure = "Make both bogus (B), or neither"
        else:
            why = "The question, the answer and its nuggets that are not bogus are"
            cure = "Give both the same marks"
        if other.path != one.path and not other.edited:
            cure += f", or import {one.path.name} without {other.path.name}"
        yield Fault(
            printable(str(one.path)),
            one.line,
            one.place.topic,
            f"{why} the same as at {other.place} ({other.path.name}:{other.line}), which is marked "
            "differently; equal items share one label.",
            f"{cure}.",
        )


def _wrong(
    nugget: Nugget,
    known: NuggetResult,
    ruling: bool | None,
    correct: bool | None,
    edited: bool,
    name: str,
) -> tuple[str, str] | None:
    """Why a mark is impossible, and the cure; None if it is possible. ``ruling`` is what the person
    says about the answer explicitly, ``correct`` the result for the answer."""
    num, mark = nugget.num, nugget.mark
    if mark is None and known.mark is not None:
        why = f"The mark {known.mark} of nugget {num} was removed."
        return why, "Write B, R or N: labels are never withdrawn."
    if mark is Mark.RELEVANT and ruling is False:
        why = f"Nugget {num} is relevant (R), but the answer is declared wrong."
        return why, f"Write N{num}, or leave out --wrong."
    if mark is Mark.NONRELEVANT and correct is None:
        why = (
            f"Nugget {num} is nonrelevant (N), but nothing says whether the answer is right: "
            "it has no label."
        )
        return why, f"Say which, with --correct {name} or --wrong {name}."
    if mark is None and known.entailment is None and edited and correct is not None:
        why = (
            f"Nugget {num} has no mark, and no label says whether it is bogus; the answer is "
            "judged together with all nuggets that are not bogus."
        )
        return why, "Mark it too, or run 'assay judge' first."
    return None
