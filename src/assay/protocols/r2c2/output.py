"""The files of an R2C2 evaluation's ``out/``."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from assay import __version__
from assay.formats.r2c2 import write_marked
from assay.ledger import Ledger
from assay.ledger.lines import Block, LinesAhead
from assay.model.labels import Label
from assay.protocols.folder import Folder, relative_to
from assay.protocols.output import csv_bytes, sha256, write_bytes, write_pieces
from assay.protocols.r2c2.inputs import Inputs
from assay.protocols.r2c2.results import R2C2Result, Score
from assay.tasks.r2c2 import TASKS

SCORE_COLUMNS = ("run", "measure", "value", "low", "high", "topics", "missing")


def label_lines(ledger: Ledger) -> LinesAhead:
    """The labels of the protocol's tasks, to be read while scores are computed."""
    return LinesAhead(ledger.path, (task.name for task in TASKS))


def write_outputs(
    folder: Folder, inputs: Inputs, lines: Iterable[Block], result: R2C2Result
) -> list[Path]:
    """Write everything but the report into ``out/`` and return the files in that order.

    ``lines`` are the ledger's labels (:func:`label_lines`), of which those that counted are
    written. The same inputs and labels give the same bytes.
    """
    out = folder.out
    files: dict[Path, bytes] = {
        out / "scores.csv": csv_bytes(SCORE_COLUMNS, _score_rows(result.scores, result.pr_scores)),
        out / "scores_attempted.csv": csv_bytes(SCORE_COLUMNS, _score_rows(result.attempted)),
        out / "scores_by_category.csv": csv_bytes(
            ("category", *SCORE_COLUMNS),
            (
                (category, *row)
                for category, runs in result.by_category.items()
                for row in _score_rows(runs)
            ),
        ),
        out / "per_topic.csv": csv_bytes(("run", "topic", "measure", "value"), _topic_rows(result)),
        out / "qrels.txt": "".join(qrels_lines(result)).encode(),
    }
    if result.relevance is not None:
        files[out / "relevance.csv"] = csv_bytes(
            ("topic", "passage", "doc", "grade", "judged"), _relevance_rows(result)
        )
    for name, file in inputs.ac_files.items():
        files[out / "marked" / f"{name}.txt"] = write_marked(file, marks_of(result, name))
    digests = {path: hashlib.sha256(data).hexdigest() for path, data in files.items()}
    for path, data in files.items():
        write_bytes(path, data)
    models: dict[str, Counter[str]] = {}
    places = _places(result, models)
    labels = out / "labels.jsonl"
    uids: list[bytes] = []
    digests[labels] = write_pieces(labels, _used_lines(lines, places, uids))
    manifest = out / "manifest.json"
    write_bytes(manifest, _manifest(folder, inputs, result, uids, digests, models))
    return [*files, labels, manifest]


def marks_of(result: R2C2Result, run: str) -> dict[tuple[str, int], Any]:
    """The marks of a run's nuggets by question and NuggetNum; unlabelled ones are absent."""
    return {
        (question, nugget.nugget.num): nugget.mark
        for question, answer in result.answers[run].items()
        for nugget in answer.nuggets
        if nugget.mark is not None
    }


def qrels_lines(result: R2C2Result) -> Iterator[str]:
    """``QuestionID 0 PRrunName;PassageRank grade`` for every passage of every PR run."""
    for question, grades in result.grades.items():
        for key, grade in grades.items():
            yield f"{question} 0 {key} {grade}\n"


def _score_rows(*tables: Mapping[str, Mapping[str, Score]]) -> Iterator[tuple[object, ...]]:
    for table in tables:
        for run, scores in table.items():
            for score in scores.values():
                yield (
                    run, score.measure, score.value, score.low, score.high, score.topics,
                    score.missing,
                )  # fmt: skip


def _topic_rows(result: R2C2Result) -> Iterator[tuple[object, ...]]:
    for run, by_measure in result.per_topic.items():
        for measure, values in by_measure.items():
            for topic, value in values.items():
                yield (run, topic, measure, value)


def _relevance_rows(result: R2C2Result) -> Iterator[tuple[object, ...]]:
    """Every passage with its derived grade and what the check says of it (1, 0 or empty)."""
    judged = {} if result.relevance is None else result.relevance.judged
    for run in result.pr_runs.values():
        for question, passages in run.passages.items():
            for passage in passages:
                said = judged[question][passage.key]
                grade = result.grades[question][passage.key]
                shown = None if said is None else int(said)
                yield (question, str(passage.key), passage.doc, grade, shown)


def _places(result: R2C2Result, models: dict[str, Counter[str]]) -> dict[int, bytes]:
    """Where each label that counted was used, by its number in the ledger: JSON strings. Counts
    in ``models`` by task which models the servers said that they were."""
    places: dict[int, bytes] = {}

    def note(label: Label | None, place: bytes) -> None:
        if label is not None:
            known = places.get(label.rowid)
            places[label.rowid] = place if known is None else b"%b,%b" % (known, place)
            if known is None and label.detail and "model" in label.detail:
                models.setdefault(label.task, Counter())[str(label.detail["model"])] += 1

    for by_question in result.answers.values():
        for answer in by_question.values():
            place = orjson.dumps(f"{answer.run} {answer.question.id}")
            for nugget in answer.nuggets:
                note(nugget.entailment, b'%b nugget %d"' % (place[:-1], nugget.nugget.num))
            note(answer.label, place)
            note(answer.act_label, place)
    for question, labels in (result.relevance.labels if result.relevance else {}).items():
        for key, label in labels.items():
            note(label, orjson.dumps(f"{question} passage {key}"))
    return places


def _used_lines(
    blocks: Iterable[Block], places: Mapping[int, bytes], uids: list[bytes]
) -> Iterator[bytes]:
    """The lines of the labels that counted, each with its places; fills ``uids``."""
    cut = len(b'{"uid":"')
    for rowids, lines in blocks:
        pieces: list[bytes] = []
        for rowid, line in zip(rowids, lines, strict=True):
            used_at = places.get(rowid)
            if used_at is not None:
                pieces += (line, b',"used_at":[', used_at, b"]}\n")
                uids.append(line[cut : line.index(b'"', cut)])
        yield b"".join(pieces)


def _manifest(
    folder: Folder,
    inputs: Inputs,
    result: R2C2Result,
    counted: Sequence[bytes],
    digests: Mapping[Path, str],
    models: Mapping[str, Mapping[str, int]],
) -> bytes:
    """Versions, settings, policy, labellers and digests of all that went in and came out."""
    labels = hashlib.sha256(b"\n".join(sorted(counted))).hexdigest()
    templates = {path.name: sha256(path) for path in sorted((folder.path / "prompts").glob("*.j2"))}
    document = {
        "assay": __version__,
        "protocol": folder.config.evaluation.protocol,
        "policy": result.policy,
        "settings": dict(result.settings),
        "tasks": {task.name: task.version for task in TASKS},
        "labellers": {
            task: None if who is None else {"name": who.name, "params": dict(who.params)}
            for task, who in result.labellers.items()
        },
        "models_as_reported": {task: dict(models[task]) for task in sorted(models)},
        "own_prompts": templates,
        "inputs": {relative_to(folder.path, path): sha256(path) for path in inputs.files},
        "labels_counted": len(counted),
        "labels_sha256": labels,
        "outputs": {relative_to(folder.out, path): digest for path, digest in digests.items()},
        "warnings": list(result.warnings),
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
