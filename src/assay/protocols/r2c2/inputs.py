"""The inputs of an R2C2 evaluation: questions, PR runs, AC runs, and the protocol's settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from pydantic import Field

from assay.formats.naming import normal_id
from assay.formats.r2c2_ac import AnswerRunFile, read_ac_run
from assay.formats.r2c2_pr import read_pr_run
from assay.formats.r2c2_questions import read_questions
from assay.formats.trec import read_topic_list
from assay.measures.confidence import MOST_BINS
from assay.model.rag import Passage, PassageKey, PassageRun, Question, SharedAnswers
from assay.model.wording import quoted
from assay.protocols.answers.marked import Originals
from assay.protocols.answers.requests import GivenAnswer
from assay.protocols.base import CommonSettings, MeasureNames, Reading
from assay.protocols.contents import Content
from assay.protocols.folder import Folder
from assay.tasks.r2c2 import ENTAILMENT
from assay.tasks.trec_rag import SUPPORT


class R2C2Settings(CommonSettings):
    """``[settings]`` of an R2C2 evaluation.

    ``policy``: which labels count.
    ``ideal``: where a question's ideal list comes from: the grades of all PR runs (``pooled``),
      or the run's own passages (``own``).
    ``merge_identical``: treat passages of several PR runs with the same document and text as
      one relevance unit.
    ``g_max``: highest grade for nERR and iRBU (default: the highest in the derived qrels).
    ``measures``: measures of PR runs.
    ``bins``, ``bins_closed``: bins of ECE and MCE, and the side on which they are closed.
    ``resamples``, ``level``, ``seed``: of the bootstrap intervals over questions.
    ``max_passage_chars``: longest passage allowed (200 in the organisers' slides; off by
      default).
    ``entailment``: how step 3 is asked. ``yes-no`` asks whether the passage entails the nugget
      (the paper's question, for every pair). ``support`` asks how far it supports it, as TREC
      RAG and SGSS do; all but full support is bogus. ``auto`` uses ``support`` if another
      protocol of the folder asks that, so that nothing is asked twice; otherwise yes or no,
      unless support is known.
    ``relevance_check``: also judge every passage on its own, and compare that with the derived
      grades. ``true`` asks by ``r2c2.relevance``; ``yes-no`` or ``0-3`` ask TREC RAG's question
      of that name (relevant from 2).
    """

    ideal: Literal["pooled", "own"] = "pooled"
    merge_identical: bool = False
    g_max: float | None = Field(None, gt=0)
    bins: int = Field(10, ge=1, le=MOST_BINS)
    bins_closed: Literal["right", "left"] = "right"
    max_passage_chars: int | None = Field(None, ge=1)
    entailment: Literal["auto", "yes-no", "support"] = "auto"
    relevance_check: bool | Literal["yes-no", "0-3"] = False
    measures: MeasureNames = ("nDCG@20", "Q@20", "nERR@20", "iRBU@20")


@dataclass(frozen=True)
class R2c2Inputs:
    """All inputs of an evaluation, checked. ``questions`` are those that count, ``pr_runs`` has
    their passages, and ``handed_in`` everything in the files. ``as_support``: step 3 is asked as a
    question about support. ``strict``: only answers to the yes-no question count, whatever machines
    said about the support of a pair."""

    questions: tuple[Question, ...]
    pr_runs: Mapping[str, PassageRun]
    ac_files: Mapping[str, AnswerRunFile]
    handed_in: Originals
    as_support: bool = False
    strict: bool = False

    def passages(self, question: str) -> dict[PassageKey, Passage]:
        """The passages of a question from all PR runs."""
        return {
            passage.key: passage
            for run in self.pr_runs.values()
            for passage in run.passages.get(question, ())
        }

    def every_passage(self) -> Iterator[tuple[Question, Passage]]:
        """The passages of all PR runs, question by question."""
        for question in self.questions:
            for passage in self.passages(question.id).values():
                yield question, passage

    def every_answer(self) -> Iterator[tuple[str, Question, GivenAnswer | None]]:
        """Every question of every run with its answer, or None if the run leaves it out."""
        for question in self.questions:
            passages = self.passages(question.id)
            for name, file in self.ac_files.items():
                answer = file.run.answers.get(question.id)
                given = None if answer is None else GivenAnswer(name, question, passages, answer)
                yield name, question, given

    def answers(self) -> Iterator[GivenAnswer]:
        """Every answer that was given."""
        return (given for _, _, given in self.every_answer() if given is not None)

    def content(self, run: str, question: Question) -> Content:
        """A run's content for a question: the passages of a PR run; or an AC run's answer,
        confidence and nuggets, and the passages that it cites."""
        answer = passages = None
        lines: list[str] = []
        if run in self.pr_runs:
            passages = [one.text for one in self.pr_runs[run].passages.get(question.id, ())]
        elif run in self.ac_files and (own := self.ac_files[run].run.answers.get(question.id)):
            known = self.passages(question.id)
            passages = [known[one.key].text if one.key in known else "" for one in own.nuggets]
            nuggets = [one.text for one in own.nuggets]
            answer = [own.text, own.confidence, nuggets]
            lines = [own.text, *nuggets]
        return Content(question.text, question.keys, True, answer, passages, lines=lines)


def load(folder: Folder, settings: R2C2Settings, reading: Reading) -> R2c2Inputs:
    """Read and check every input; raises FormatError with the faults of *all* files."""
    # If the questions cannot be read, ids are not checked: all would be unknown.
    questions = reading.one("questions", read_questions)
    shared, limit = SharedAnswers(), settings.max_passage_chars
    read_pr = partial(
        read_pr_run, questions=questions, max_passage_chars=limit, scratch=shared.scratch
    )
    pr_runs = reading.runs("pr_runs", read_pr, required=True, partly=True)
    ac_files: dict[str, AnswerRunFile] = {}
    read_ac = partial(read_ac_run, questions=questions, pr_runs=pr_runs, shared=shared)
    for path, ac in reading.many("ac_runs", read_ac, required=True, partly=True):
        # Scores are by run name alone, so an answer run may not share a passage run's name.
        reading.add_run(ac_files, ac.run.name, ac, path, pr_runs)
        if ac.run.marked:
            reading.warnings.append(
                f"{path.name}: its marks are not used; labels are. To use a person's marks, import "
                "them with 'assay labels import'."
            )
    counting = _counting(reading, questions or ())
    reading.done()
    handed_in = Originals(questions or (), ac_files, pr_runs)
    if len(counting) < len(handed_in.questions):
        ids = [one.id for one in counting]
        pr_runs = {
            name: replace(
                run, passages={one: run.passages[one] for one in ids if one in run.passages}
            )
            for name, run in pr_runs.items()
        }
    asked_as = _asked_as(folder, settings.entailment)
    return R2c2Inputs(counting, pr_runs, ac_files, handed_in, *asked_as)


def _counting(reading: Reading, questions: tuple[Question, ...]) -> tuple[Question, ...]:
    """The questions that count: those in a file of ids, or all if there is none."""
    named = reading.optional("only_questions", read_topic_list)
    if named is None:
        return questions
    wanted, known = {normal_id(one) for one in named}, {one.id for one in questions}
    for strange in sorted(wanted - known) if questions else ():
        why = f"There is no question {quoted(strange)} in the question file."
        reading.add_fault(
            [*reading.files][-1], why, "Use the ids of the question file.", topic=strange
        )
    return tuple(one for one in questions if one.id in wanted)


def _asked_as(folder: Folder, chosen: str) -> tuple[bool, bool]:
    """Whether step 3 is asked as a question about support, and whether only the yes-no question
    will do. ``auto`` asks about support if another protocol of the folder does, unless
    ``[labellers]`` names somebody for entailment, or the folder has its own prompt for that."""
    own = (f"{ENTAILMENT.template}.j2", f"{ENTAILMENT.template}.probes.j2")
    reworded = any((folder.path / "prompts" / name).exists() for name in own)
    if chosen != "auto" or reworded:
        return chosen == "support", chosen != "support"
    named = {ENTAILMENT.name, "entailment"} & folder.config.labellers.keys()
    named_alone = bool(named) and folder.labeller is None
    return not named_alone and SUPPORT in folder.tasks_of_other_protocols(), False
