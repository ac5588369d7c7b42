"""``assay import``: convert existing answers to records of the protocol rag."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from assay.api.reading import all_used
from assay.formats.imports.common import Choices as Choices
from assay.formats.imports.common import Imported, pick, rows_of
from assay.formats.imports.finishing import finished
from assay.formats.imports.langfuse import read_langfuse
from assay.formats.imports.otel import read_otel
from assay.formats.imports.tables import read_deepeval, read_hf, read_ragas
from assay.formats.jsonl import dump_line
from assay.formats.passages import read_passages
from assay.formats.records import record_of
from assay.formats.text import read_text
from assay.formats.trec_rag_answers import read_answers
from assay.model.errors import SettingsError
from assay.model.wording import counted
from assay.protocols.output import require_plain, write_bytes

READERS = {
    "otel": read_otel,
    "langfuse": read_langfuse,
    "ragas": read_ragas,
    "deepeval": read_deepeval,
    "hf": read_hf,
}
KINDS = (*READERS, "trec")
_NO_QUESTION = (
    "questions without text: the id is used instead until [inputs] questions has the text"
)


@dataclass(frozen=True)
class ImportDone:
    """The result of an import: ``records`` answers, or ``questions`` if a file has no answers."""

    path: Path
    records: int
    questions: int
    dropped: Mapping[str, int]
    counts: Mapping[str, int]
    notes: Sequence[str]

    def document(self) -> dict[str, Any]:
        """The JSON document."""
        return {
            "file": str(self.path), "records": self.records, "questions": self.questions,
            "dropped": dict(self.dropped), "counts": dict(self.counts), "notes": list(self.notes),
        }  # fmt: skip


def import_files(
    kind: str,
    files: Sequence[Path],
    out: Path,
    choices: Choices,
    *,
    passages: Path | None = None,
    redact: Path | None = None,
) -> ImportDone:
    """Read files of a kind and write records, or questions if there are no answers. The same files
    give the same bytes. Raises FormatError and SettingsError."""
    require_plain(out)
    texts = {} if passages is None else dict(read_passages(passages).require())
    patterns = () if redact is None else tuple(_patterns(redact))
    given = replace(choices, texts=texts, redact=patterns)
    if kind == "trec":
        found = _trec(files)
    else:
        reader = pick(kind, READERS)
        told: list[object] = []
        rows = all_used([partial(rows_of, path) for path in files], told.append)
        found = reader(list(zip(files, rows, strict=True)), given)
        found.notes += map(str, told)
    found = finished(found, given)
    found.records = list(_sound(found))
    if found.records and found.questions:
        found.dropped["no answer, although others have one"] += len(found.questions)
        found.questions = []
    if not found.records and not found.questions:
        why = ", ".join(f"{n} {what}" for what, n in found.dropped.items())
        raise SettingsError(f"Nothing to import as {kind} was found{(f' ({why})' if why else '')}.")
    write_bytes(out, b"".join(map(dump_line, found.records or found.questions)))
    return ImportDone(out, len(found.records), len(found.questions), found.dropped, found.counts,
                found.notes)  # fmt: skip


def _sound(found: Imported) -> Iterator[dict[str, Any]]:
    """Yield the records that are valid for the protocol; others are dropped."""
    for row in found.records:
        errors = record_of(row).errors
        found.dropped.update(f"{one.why} {one.cure}" for one in errors[:1])
        if not errors:
            yield row


def _patterns(path: Path) -> list[re.Pattern[str]]:
    found = []
    for number, line in read_text(path).numbered():
        if line.strip():
            try:
                found.append(re.compile(line))
            except re.error as error:
                cure = "Write a regular expression."
                raise SettingsError(f"{path}:{number}: {error}. {cure}") from None
    return found


def _trec(files: Sequence[Path]) -> Imported:
    """Read answers in the formats of the TREC RAG track. An answer's passages are its references,
    with texts from ``--passages``."""
    found = Imported()
    for path in files:
        run = read_answers(path).require()
        for answer in run.answers.values():
            if not answer.narrative:
                found.counts[_NO_QUESTION] += 1
            found.records.append(
                {
                    "id": answer.topic,
                    "run": answer.run,
                    "question": answer.narrative or answer.topic,
                    "answer": [
                        {"text": one.text, "citations": list(one.citations)}
                        for one in answer.sentences
                    ],
                    "passages": [{"id": doc, "text": None} for doc in answer.references],
                }
            )
    return found


def said(done: ImportDone) -> list[str]:
    """A line on each thing written or left out."""
    what = counted(done.records, "record") if done.records else counted(done.questions, "question")
    lines = [f"{what} written to {done.path}"]
    lines += [f"  {count} dropped: {why}" for why, count in done.dropped.items()]
    lines += [f"  {count} {why}" for why, count in done.counts.items()]
    if done.questions:
        lines.append("  The file has no answers: give it as [inputs] questions.")
    return [*lines, *done.notes]
