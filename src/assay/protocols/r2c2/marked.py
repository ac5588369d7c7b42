"""Marked answer runs that a person edited: what differs from what is published becomes labels.

A mark is what the labels behind it come to. Bogus or not is the label of the nugget and its
passage, whether an entailed nugget helped, and whether the answer is right, that of the answer
beside its entailed nuggets. So an answer of which any mark was changed gets one label by the person
beside the nuggets that are entailed now, which says of each whether it helped, and each nugget that
was made bogus, or is no longer, gets one too. Marks do not tell a wrong answer from a right one
that no nugget helped: a relevant nugget makes the answer right, else it stays what it was, unless
the person says (``said``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assay.formats.naming import run_name
from assay.formats.r2c2 import read_ac_run, write_marked
from assay.formats.r2c2_edited import changed_otherwise
from assay.ledger import NewLabel
from assay.ledger.exchange import said_by
from assay.model.errors import Fault, FormatError
from assay.model.labels import LabellerId
from assay.model.rag import Answer, AnswerRun, Mark, Nugget
from assay.model.wording import listed, printable, quoted
from assay.protocols.places import Place
from assay.protocols.r2c2.inputs import Inputs
from assay.protocols.r2c2.requests import answer_unit, entailment_unit
from assay.protocols.r2c2.results import AnswerResult, Found, NuggetResult
from assay.tasks.base import AnyTask, Unit, unit_hash
from assay.tasks.r2c2 import ANSWER, ENTAILMENT

Said = Mapping[tuple[str, str], bool]
"""(run, question) → whether the person says outright that the answer is right."""

_NONE = "no mark"


@dataclass(frozen=True)
class Edits:
    """What a person made of some marked runs.

    ``labels`` say it; ``files`` are the runs that were given, each with its file and the marks that
    it holds; ``spaced`` are those that differ from the answer run in blanks or line ends.
    """

    labels: tuple[NewLabel, ...]
    files: Mapping[str, tuple[Path, AnswerRun]]
    spaced: tuple[Path, ...]


def read_edits(
    paths: Sequence[Path],
    inputs: Inputs,
    published: Found,
    who: LabellerId,
    *,
    said: Said,
    reason: str | None = None,
) -> Edits:
    """What ``who`` changed in the marks of answer runs, set against what scoring publishes now.

    Raises FormatError with all faults of all files: whatever else was changed, marks that were
    taken off, and marks that cannot stand beside each other.
    """
    reader = _Reader(inputs, published, who, said, reason)
    for path in paths:
        reader.read(path)
    reader.done()
    labels = {label.unit: label for label in reader.labels}
    return Edits(tuple(labels.values()), reader.files, tuple(reader.spaced))


def unlike(edits: Edits, after: Found, said: Said) -> list[Fault]:
    """What would not come out as it stands in the edited files, or as it is said of their answers,
    although every label of that were written: it hangs on labels that these do not go before."""
    faults = []
    for run, (path, edited) in edits.files.items():
        for question, answer in edited.answers.items():
            result = after.answers[run][question]
            cure = "It hangs on the labels of other marks; give it the mark that it would have."
            if result.refused and result.act_label is not None:
                cure = (
                    f"{result.act_label.labeller.name} says that the answer declines to answer; "
                    "change that label of r2c2.dialogue_act first."
                )
            known = {one.nugget.num: one.mark for one in result.nuggets}
            for nugget in answer.nuggets:
                if known[nugget.num] is not nugget.mark:
                    why = (
                        f"The mark of nugget {nugget.num} cannot be set so: it would come out as "
                        f"{known[nugget.num] or _NONE}, not as {nugget.mark or _NONE}."
                    )
                    faults.append(Fault(str(path), nugget.line, question, why, cure))
            wanted = said.get((run, question))
            if wanted is not None and result.correct is not wanted:
                why = f"The answer cannot be made {'right' if wanted else 'wrong'} so."
                faults.append(Fault(str(path), answer.line, question, why, cure))
    return faults


@dataclass(frozen=True)
class _Spoken:
    """What a file says of a unit: ``edited`` where that is not what is published."""

    says: object
    edited: bool
    place: Place
    path: Path
    line: int


@dataclass
class _Reader:
    """Reads edited runs one after the other; all faults are kept until the end."""

    inputs: Inputs
    published: Found
    who: LabellerId
    said: Said
    reason: str | None
    labels: list[NewLabel] = field(default_factory=list)
    files: dict[str, tuple[Path, AnswerRun]] = field(default_factory=dict)
    spaced: list[Path] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    spoken: dict[str, list[_Spoken]] = field(default_factory=dict)

    def read(self, path: Path) -> None:
        """Take one file."""
        run = run_name(path)
        if run not in self.inputs.ac_files:
            self._fault(
                path,
                0,
                None,
                f"There is no answer run {quoted(run)} in the evaluation.",
                "A marked run keeps the run's name, and labels are imported as JSON Lines. Runs: "
                f"{listed(self.inputs.ac_files, 10)}.",
            )
            return
        try:
            parsed = read_ac_run(path, questions=self.inputs.questions, pr_runs=self.inputs.pr_runs)
        except FormatError as error:  # the file cannot be read at all
            self.faults += error.faults
            return
        self.faults += parsed.errors
        if parsed.value is None:
            return
        edited = parsed.value
        if run in self.files:
            self._fault(
                path,
                0,
                None,
                f"The run was given as {printable(str(self.files[run][0]))} too.",
                "Keep one.",
            )
            return
        original = self.inputs.ac_files[run]
        unread = {fault.topic for fault in parsed.errors}
        changed = changed_otherwise(path, original.run, edited.run, unread=unread)
        self.faults += changed
        self.files[run] = path, edited.run
        if write_marked(edited, {}) != write_marked(original, {}):
            self.spaced.append(path)
        otherwise = {fault.topic for fault in changed}
        for question, answer in edited.run.answers.items():
            if question in original.run.answers and question not in unread:
                result = self.published.answers[run][question]
                self._answer(path, answer, result, same=question not in otherwise)

    def done(self) -> None:
        """Raise what was found, if anything was."""
        for every in self.spoken.values():
            self._contradictions(every)
        if self.faults:
            raise FormatError(self.faults)

    def _fault(self, path: Path, line: int, topic: str | None, why: str, cure: str) -> None:
        self.faults.append(Fault(printable(str(path)), line, topic, why, cure))

    # -- what changed marks say --------------------------------------------------------------

    def _answer(self, path: Path, answer: Answer, result: AnswerResult, *, same: bool) -> None:
        """Take the marks of one answer, changed or not; but for marks it is the ``same``."""
        run, question = result.run, result.question.id
        said = self.said.get((run, question))
        known = {one.nugget.num: one for one in result.nuggets}
        pairs = [(one, known[one.num]) for one in answer.nuggets if one.num in known]
        changed = any(nugget.mark is not own.mark for nugget, own in pairs)
        edited = changed or (said is not None and said is not result.correct)
        relevant = any(nugget.mark is Mark.RELEVANT for nugget in answer.nuggets)
        correct = True if relevant else result.correct if said is None else said
        before = len(self.faults)
        for nugget, own in pairs:
            wrong = self._wrong(nugget, own, said, correct, edited, f"{run}/{question}")
            if wrong is not None:
                self._fault(path, nugget.line, question, *wrong)
        if len(self.faults) > before or not same:
            return
        entailed = [
            nugget
            for nugget, own in pairs
            if (_entailed(own) if nugget.mark is None else nugget.mark is not Mark.BOGUS)
        ]
        for nugget, own in pairs:
            if nugget.mark is not None:
                self._nugget(path, run, question, nugget, own)
        if correct is None:
            return
        texts = tuple(nugget.text for nugget in entailed)
        unit = answer_unit(result.question, answer, texts)
        verdict = {
            "reason": self.reason or "",
            "correct": correct,
            "nuggets": [
                {"nugget": number, "reason": "", "helped": nugget.mark is Mark.RELEVANT}
                for number, nugget in enumerate(entailed, start=1)
                if nugget.mark is not None
            ],
        }
        place = Place(run, question, "answer")
        says = (correct, tuple(nugget.mark for nugget in entailed))
        identity = unit_hash(ANSWER.name, unit.model_dump(mode="json"))
        self._speak(identity, says, edited, place, path, answer.line)
        if edited:
            label = result.label
            overrules = label.uid if label is not None and label.unit == identity else None
            self._label(ANSWER, unit, verdict, overrules, place)

    @staticmethod
    def _wrong(
        nugget: Nugget,
        known: NuggetResult,
        said: bool | None,
        correct: bool | None,
        edited: bool,
        name: str,
    ) -> tuple[str, str] | None:
        """Why a mark cannot stand, and the cure; None where it can. ``said`` is what the person
        says of the answer outright, ``correct`` what it comes to."""
        num, mark = nugget.num, nugget.mark
        if mark is None and known.mark is not None:
            why = f"The mark {known.mark} of nugget {num} was taken off."
            return why, "Write B, R or N: labels are never taken back."
        if mark is Mark.RELEVANT and said is False:
            why = f"Nugget {num} is relevant (R), but the answer is said to be wrong."
            return why, f"Write N{num}, or leave out --wrong."
        if mark is Mark.NONRELEVANT and correct is None:
            why = (
                f"Nugget {num} is nonrelevant (N), but nothing says whether the answer is right: "
                "it has no label."
            )
            return why, f"Say it, with --correct {name} or --wrong {name}."
        if mark is None and known.entailment is None and edited and correct is not None:
            why = (
                f"Nugget {num} has no mark, and no label says whether it is bogus; the answer is "
                "judged beside all nuggets that are not."
            )
            return why, "Mark it too, or run 'assay judge' first."
        return None

    def _nugget(
        self, path: Path, run: str, question: str, nugget: Nugget, known: NuggetResult
    ) -> None:
        """Take the mark of one nugget as far as it says whether it is bogus."""
        if known.passage is None:
            return
        entailed = nugget.mark is not Mark.BOGUS
        edited = _entailed(known) is not entailed
        unit = entailment_unit(nugget, known.passage)
        place = Place(run, question, f"nugget {nugget.num}")
        identity = unit_hash(ENTAILMENT.name, unit.model_dump(mode="json"))
        self._speak(identity, entailed, edited, place, path, nugget.line)
        if edited:
            verdict = {"reason": self.reason or "", "entailed": entailed}
            overrules = None if known.entailment is None else known.entailment.uid
            self._label(ENTAILMENT, unit, verdict, overrules, place)

    def _speak(
        self, unit: str, says: object, edited: bool, place: Place, path: Path, line: int
    ) -> None:
        spoken = _Spoken(says, edited, place, path, line)
        self.spoken.setdefault(unit, []).append(spoken)

    def _label(
        self,
        task: AnyTask,
        unit: Unit,
        verdict: Mapping[str, object],
        overrules: str | None,
        place: Place,
    ) -> None:
        self.labels.append(
            said_by(
                self.who,
                task,
                unit.model_dump(mode="json"),
                verdict,
                reason=self.reason,
                overrules=overrules,
                detail={"said_of": place._asdict()},
            )
        )

    def _contradictions(self, every: Sequence[_Spoken]) -> None:
        """What is equal has one label: it cannot be said to be one thing here and another there."""
        for number, one in enumerate(every):
            others = (
                other
                for place, other in enumerate(every)
                if other.says != one.says and (place < number or not other.edited)
            )
            other = next(others, None) if one.edited else None
            if other is None:
                continue
            if one.says in (True, False):
                why = "The nugget and its passage are"
                cure = "Make both bogus (B), or neither"
            else:
                why = "The question, the answer and its nuggets that are not bogus are"
                cure = "Give both the same marks"
            apart = f", or import {one.path.name} without {other.path.name}"
            self._fault(
                one.path,
                one.line,
                one.place.topic,
                f"{why} those of {other.place} ({other.path.name}:{other.line}), which is marked "
                "otherwise; what is equal has one label.",
                f"{cure}{apart if other.path != one.path and not other.edited else ''}.",
            )


def _entailed(known: NuggetResult) -> bool | None:
    """Whether a nugget is entailed as published; None where nothing usable says so."""
    label = known.entailment
    return None if label is None or label.verdict is None else bool(label.verdict["entailed"])
