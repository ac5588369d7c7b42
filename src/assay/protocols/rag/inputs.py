"""What an evaluation under ``rag`` reads, and its settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from assay.formats.naming import KnownIds
from assay.formats.passages import read_passages
from assay.formats.records import read_asked, read_records
from assay.measures.support import Citations
from assay.model.records import AskedQuestion, Record, folded_text
from assay.model.wording import counted, joined
from assay.protocols.base import CommonSettings, MeasureNames, Reading
from assay.protocols.folder import Folder, relative_to
from assay.tasks.rag import CLAIMS


class RagSettings(CommonSettings):
    """``[settings]`` of an evaluation under ``rag``.

    ``claims``: what a claim is: what a labeller makes of a text (``rag.claims``), or each of
      its ``sentences``. ``auto`` uses sentences if the labeller of ``rag.claims`` is embedded,
      which cannot write text.
    ``evidence``: a claim is found if one passage entails it (``each``), or also if all passages
      together do (``each-then-all``).
    ``partial``: partial support counts as none (``no``), or as half in further measures, whose
      names end in ``~`` (``half``).
    ``citations``: which citations of a sentence count, the ``first`` or ``all``.
    ``measures``: measures of rankings, over the passages of all runs.
    ``by``: a key of ``metadata`` whose values are categories.
    """

    claims: Literal["auto", "rag.claims", "sentences"] = "auto"
    evidence: Literal["each", "each-then-all"] = "each"
    partial: Literal["no", "half"] = "no"
    citations: Citations = "first"
    measures: MeasureNames = ("nDCG@10", "AP(rel=2)")
    by: str | None = None


@dataclass(frozen=True)
class RagInputs:
    """All inputs, checked. ``splits``: whether a labeller splits texts into claims."""

    questions: Mapping[str, AskedQuestion]
    runs: Mapping[str, Mapping[str, Record]]
    splits: bool

    def records(self) -> Iterator[Record]:
        """Every record, question by question, so that similar ones are asked about together."""
        for question in self.questions:
            for run in self.runs.values():
                if question in run:
                    yield run[question]

    @property
    def cites(self) -> bool:
        """Whether any answer has a citation."""
        return any(s.citations for one in self.records() for s in one.sentences)

    @property
    def ranked(self) -> dict[str, bool]:
        """For each run, whether the order of its passages means anything."""
        return {run: all(one.ranked for one in of.values()) for run, of in self.runs.items()}


def load(folder: Folder, settings: RagSettings, reading: Reading) -> RagInputs:
    """Read everything; the faults of all files are raised together."""
    asked = reading.optional("questions", read_asked)
    texts = reading.texts("passages", read_passages)
    paths: dict[str, Path] = {}
    records: list[Record] = []
    for path, own in reading.many("answers", read_records, required=True, partly=True):
        for record in own:
            paths[record.file] = path
            records.append(_with_texts(record, texts))
    questions = {one.id: one for one in asked or ()}
    runs: dict[str, dict[str, Record]] = {}
    first: dict[str, Record] = {}
    if asked is not None:
        _check_known(questions, records, paths, reading)
        records = _as_asked(questions, records, paths, reading)
    for record in records:
        path = paths[record.file]
        if asked is None:
            _check_same(first.setdefault(record.id, record), record, path, reading)
        before = runs.setdefault(record.run, {}).setdefault(record.id, record)
        if before is not record and before.file != record.file:
            reading.add_fault(
                path,
                f"Run '{record.run}' also has an answer to it in {before.file}:{before.line}.",
                "Keep one, or give the runs different names with the key run.",
                line=record.line,
                topic=record.id,
            )
    reading.done()
    for name, record in first.items():
        category = None if settings.by is None else record.metadata.get(settings.by)
        questions[name] = AskedQuestion(
            name, record.question, record.references, record.answerable,
            None if category is None else str(category),
        )  # fmt: skip
    return RagInputs(questions, runs, splits(folder, settings))


def splits(folder: Folder, settings: RagSettings) -> bool:
    """Whether a labeller splits texts into claims."""
    if settings.claims != "auto":
        return settings.claims == "rag.claims"
    return folder.labeller_spec(CLAIMS).partition(":")[0] not in ("embedded", "rules")


def _with_texts(record: Record, texts: Mapping[str, str]) -> Record:
    """The record with the texts of passages that it names only by id."""
    if not texts or all(one.text is not None for one in record.passages):
        return record
    passages = tuple(
        one if one.text is not None else one._replace(text=texts.get(one.id))
        for one in record.passages
    )
    return replace(record, passages=passages)


def _check_known(
    questions: Mapping[str, AskedQuestion], records: Sequence[Record], paths: Mapping[str, Path],
    reading: Reading,
) -> None:  # fmt: skip
    """Check that every answer is to a question in the file of questions."""
    unknown = [one for one in records if one.id not in questions]
    if len(unknown) == len(records) > 1:
        first = records[0]
        reading.add_fault(
            paths[first.file],
            "No run answers any question in the file of questions.",
            "List the questions that were asked, or leave [inputs] questions out, as records hold "
            "their own.",
            line=first.line,
        )
        return
    known = KnownIds(questions)
    for record in unknown:
        why = f"There is no question '{record.id}'."
        reading.add_fault(paths[record.file], why, known.cure(record.id), line=record.line)


def _as_asked(
    questions: Mapping[str, AskedQuestion], records: Sequence[Record], paths: Mapping[str, Path],
    reading: Reading,
) -> list[Record]:  # fmt: skip
    """The records with the questions from the file; with a warning if theirs differ."""
    texts = {name: one.question for name, one in questions.items()}
    others: dict[str, list[str]] = {}
    for one in records:
        if folded_text(texts.get(one.id, one.question)) != folded_text(one.question):
            others.setdefault(one.file, []).append(one.id)
    for file, names in others.items():
        reading.warnings.append(
            f"{relative_to(reading.folder.path, paths[file])}: {counted(len(names), 'record')} "
            f"with a different question than the file of questions, whose text is judged: "
            f"{joined(names, 10)}."
        )
    return [replace(one, question=texts.get(one.id, one.question)) for one in records]


def _check_same(first: Record, record: Record, path: Path, reading: Reading) -> None:
    """Check that an id always has the same question: text, references and answerability."""
    before = _about(first)
    for what, value in _about(record).items():
        if value != before[what]:
            reading.add_fault(
                path,
                f"Its {what} differs from that in {first.file}:{first.line}.",
                "Give different questions different ids, or name a file of questions in [inputs] "
                "questions.",
                line=record.line,
                topic=record.id,
            )


def _about(record: Record) -> dict[str, object]:
    return {
        "question": folded_text(record.question),
        "references": sorted(map(folded_text, record.references)),
        "answerable": record.answerable,
    }
