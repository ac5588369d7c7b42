"""What is kept of the answers of a large evaluation, of which not everything fits into memory."""

from __future__ import annotations

import heapq
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import orjson

from assay.ledger.lines import lines_of
from assay.model.labels import Label, LabellerId
from assay.model.rag import Mark, PassageKey, PassageRun, Question
from assay.protocols.r2c2.counts import derive_grades, notes_of, open_grades, some_missing
from assay.protocols.r2c2.results import AnswerResult, RunNotes
from assay.protocols.record import Counted, Places, write_labels

_ANSWER = 0  # in place of a nugget's number

Numbers = npt.NDArray[np.int64]


class Kept:
    """Grades, counts, marks and the places of labels, taken group by group.

    ``labels`` are those of ensembles, of which the agreement of members is computed.
    """

    def __init__(self, labellers: Iterable[LabellerId | None]) -> None:
        self.grades: dict[str, dict[PassageKey, int]] = {}
        self.notes: dict[str, RunNotes] = {}
        self.rising: dict[str, dict[PassageKey, int]] = {}
        self.missing = False
        self.labels: list[Label] = []
        self._juries = any(who is not None and who.kind == "ensemble" for who in labellers)
        self._marks: dict[str, dict[str, bytes]] = {}
        self._runs: list[str] = []
        self._questions: list[str] = []
        # A row for each place that a label is used at.
        self._rowids = array("q")
        self._at_run = array("l")
        self._at_question = array("l")
        self._at_nugget = array("b")
        self._model = array("h")
        self._models: dict[tuple[str, str], int] = {}

    def take(
        self,
        questions: Sequence[Question],
        pr_runs: Mapping[str, PassageRun],
        answers: Mapping[str, dict[str, AnswerResult]],
    ) -> None:
        """Take what is needed of the answers to these questions, and leave them without their
        text, nuggets and labels."""
        mine = {
            name: {one.id: by_question[one.id] for one in questions}
            for name, by_question in answers.items()
        }
        self.grades.update(derive_grades(questions, pr_runs, mine))
        self.rising.update(open_grades(questions, mine))
        self.missing = self.missing or some_missing(mine)
        self._runs = list(answers)
        for name, found in mine.items():
            notes = notes_of(name, list(found.values()))
            known = self.notes.get(name)
            self.notes[name] = notes if known is None else _sum(known, notes)
        for question in questions:
            self._questions.append(question.id)
            for number, (name, by_question) in enumerate(answers.items()):
                result = by_question[question.id]
                self._take(number, name, question.id, result)
                answer = result.answer
                by_question[question.id] = replace(
                    result,
                    answer=None if answer is None else replace(answer, text="", nuggets=()),
                    nuggets=(),
                    label=None,
                    overruled=None,
                    act_label=None,
                )

    def _take(self, number: int, name: str, question: str, result: AnswerResult) -> None:
        marks = bytearray()
        for nugget in result.nuggets:
            self._note(nugget.entailment, number, nugget.nugget.num)
            if nugget.mark is not None:
                marks += bytes((nugget.nugget.num, ord(nugget.mark.value)))
        self._note(result.label, number, _ANSWER)
        self._note(result.act_label, number, _ANSWER)
        if marks:
            self._marks.setdefault(name, {})[question] = bytes(marks)

    def _note(self, label: Label | None, run: int, nugget: int) -> None:
        if label is None:
            return
        self._rowids.append(label.rowid)
        self._at_run.append(run)
        self._at_question.append(len(self._questions) - 1)
        self._at_nugget.append(nugget)
        model = -1
        if label.detail and "model" in label.detail:
            key = (label.task, str(label.detail["model"]))
            model = self._models.setdefault(key, len(self._models))
        self._model.append(model)
        if self._juries:
            self.labels.append(label)

    def marks(self, run: str) -> dict[str, dict[int, Mark]]:
        """The marks of a run's nuggets by question and NuggetNum."""
        return {
            question: {
                known[place]: Mark(chr(known[place + 1])) for place in range(0, len(known), 2)
            }
            for question, known in self._marks.get(run, {}).items()
        }

    def models(self) -> dict[str, Counter[str]]:
        """By task, how many labels are by which model, as the servers named them."""
        _, first = np.unique(self._column(self._rowids), return_index=True)
        said = self._column(self._model)[first]
        counts = np.bincount(said[said >= 0], minlength=len(self._models))
        found: dict[str, Counter[str]] = {}
        for (task, model), count in zip(self._models, counts.tolist(), strict=True):
            found.setdefault(task, Counter())[model] = count
        return found

    def write_labels(self, path: Path, ledger: Path, more: Places) -> tuple[str, Counted]:
        """Write ``labels.jsonl`` (:func:`assay.protocols.record.write_labels`): the labels that
        were taken, and those in ``more``."""
        known = np.unique(self._column(self._rowids))
        rowids = np.union1d(known, np.array(list(more.at), dtype=np.int64))
        at = InOrder(heapq.merge(self.places(), sorted(more.at.items())))
        return write_labels(path, lines_of(ledger, rowids), at)

    def places(self) -> Iterator[tuple[int, bytes]]:
        """Each label's number, rising, with where it is used: JSON strings and commas."""
        order = np.argsort(self._column(self._rowids), kind="stable")
        last = -1
        found: list[bytes] = []
        for start in range(0, len(order), 1 << 16):
            for row in order[start : start + (1 << 16)].tolist():
                if self._rowids[row] != last:
                    if found:
                        yield last, b",".join(found)
                    last, found = self._rowids[row], []
                found.append(self._place(row))
        if found:
            yield last, b",".join(found)

    def _place(self, row: int) -> bytes:
        at = f"{self._runs[self._at_run[row]]} {self._questions[self._at_question[row]]}"
        nugget = self._at_nugget[row]
        return orjson.dumps(at if nugget == _ANSWER else f"{at} nugget {nugget}")

    @staticmethod
    def _column(values: array[int]) -> Numbers:
        return np.array(values, dtype=np.int64)


class InOrder:
    """Places that are asked for with rising numbers."""

    def __init__(self, places: Iterator[tuple[int, bytes]]) -> None:
        self._places = places
        self._next = next(places, None)

    def get(self, rowid: int) -> bytes | None:
        """JSON strings, separated by commas; None where the label was not used."""
        while self._next is not None and self._next[0] < rowid:
            self._next = next(self._places, None)
        if self._next is None or self._next[0] != rowid:
            return None
        return self._next[1]


def _sum(one: RunNotes, other: RunNotes) -> RunNotes:
    """The counts of both, which are of the same run."""
    values: dict[str, object] = {}
    for field in fields(RunNotes):
        mine, more = getattr(one, field.name), getattr(other, field.name)
        if isinstance(mine, Mapping):
            values[field.name] = {
                key: mine.get(key, 0) + more.get(key, 0) for key in {**mine, **more}
            }
        elif field.name == "run":
            values[field.name] = mine
        else:
            values[field.name] = mine + more
    return RunNotes(**values)  # type: ignore[arg-type]  # each is of its field's type
