"""The files of an R2C2 evaluation's ``out/``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import orjson

from assay.formats.confidence import COLUMNS as CONFIDENCE_COLUMNS
from assay.formats.r2c2 import write_marked
from assay.formats.r2c2_nuggets import MAX_NUGGETS
from assay.ledger.chain import Head
from assay.ledger.lines import Block
from assay.model.rag import Mark
from assay.protocols.aside import Aside
from assay.protocols.folder import Folder
from assay.protocols.output import csv_bytes, digests_of, write_bytes
from assay.protocols.r2c2.inputs import Inputs, R2C2Settings
from assay.protocols.r2c2.results import R2C2Result
from assay.protocols.r2c2.score import scored_tasks
from assay.protocols.ranked import check_ranked, ranked_files
from assay.protocols.record import Places, write_labels, write_manifest
from assay.protocols.scores import SCORE_COLUMNS, score_csv, score_files, score_row
from assay.tasks.r2c2 import TASKS


def write_outputs(
    folder: Folder,
    inputs: Inputs,
    ledger: Path,
    head: Head,
    lines: Iterable[Block],
    result: R2C2Result,
    aside: Aside,
) -> list[Path]:
    """Write everything but the report into ``out/`` and return the files in that order.
    ``aside`` computes what can be computed meanwhile.

    ``lines`` are the ``ledger``'s labels, of which those that counted are written; they are not
    needed where the result has ``kept`` what is written. ``head`` is the ledger's. The same inputs
    and labels give the same bytes.
    """
    with ThreadPoolExecutor(1) as thread:  # hashing lets other threads run
        read = thread.submit(digests_of, inputs.files)
        return _write_outputs(folder, inputs, ledger, head, lines, result, aside, read)


def _write_outputs(
    folder: Folder,
    inputs: Inputs,
    ledger: Path,
    head: Head,
    lines: Iterable[Block],
    result: R2C2Result,
    aside: Aside,
    read: Future[dict[Path, str]],
) -> list[Path]:
    out = folder.out
    # Scores may still be computed by another process: they are written last, and named first.
    early = {out / name: write_bytes(out / name, data) for name, data in _files(inputs, result)}
    places = _places(result)
    labels = out / "labels.jsonl"
    if result.kept is None:
        written, counted = write_labels(labels, lines, places.at)
        models = places.models
    else:  # those of a check of relevance are in ``places``, all others in ``kept``
        written, counted = result.kept.write_labels(labels, ledger, places)
        models = {**result.kept.models(), **places.models}
    result.computed()  # before the next call
    check_ranked(result.ranked, out, result.pr_scores, aside)
    digest = aside.call("assay.protocols.digest", "labels_digest", counted.uids)
    scores = {out / name: write_bytes(out / name, data) for name, data in _score_files(result)}
    files = [*scores, *early]
    manifest = write_manifest(
        folder,
        policy=result.policy,
        settings=result.settings,
        tasks=dict.fromkeys((*TASKS, *scored_tasks(inputs, folder.settings(R2C2Settings)))),
        labellers=result.labellers,
        models=models,
        inputs=read.result(),
        counted=len(counted),
        labels_sha256=digest(),
        outputs={**scores, **early, labels: written},
        warnings=result.warnings,
        head=head,
        ranked=result.ranked,
    )
    return [*files, labels, manifest]


def _score_files(result: R2C2Result) -> Iterator[tuple[Path, bytes]]:
    """Name and bytes of the files of scores."""
    for name, data in score_files((result.scores, result.pr_scores), result.per_topic):
        yield Path(name), data
    yield Path("scores_attempted.csv"), score_csv(result.attempted)
    by_category = (
        (category, *score_row(score))
        for category, runs in result.by_category.items()
        for scores in runs.values()
        for score in scores.values()
    )
    yield Path("scores_by_category.csv"), csv_bytes(("category", *SCORE_COLUMNS), by_category)


def _files(inputs: Inputs, result: R2C2Result) -> Iterator[tuple[Path, bytes]]:
    """Name and bytes of every file but scores, labels and manifest, one after the other. A result
    that ``kept`` what is written lets go of each run's file when its marks are in."""
    yield Path("confidence.csv"), csv_bytes(CONFIDENCE_COLUMNS, _confidence_rows(result))
    for file, data in ranked_files(result.ranked):
        yield Path(file), data
    if result.relevance is not None:
        columns = ("topic", "passage", "doc", "grade", "judged")
        yield Path("relevance.csv"), csv_bytes(columns, _relevance_rows(result))
    for name in list(inputs.ac_files):
        marked = write_marked(inputs.ac_files[name], marks_of(result, name))
        if result.kept is not None and isinstance(inputs.ac_files, dict):
            del inputs.ac_files[name]
        yield Path("marked") / f"{name}.txt", marked


def marks_of(result: R2C2Result, run: str) -> Mapping[str, Mapping[int, Mark]]:
    """The marks of a run's nuggets by question and NuggetNum; unlabelled ones are absent."""
    if result.kept is not None:
        return result.kept.marks(run)
    return {
        question: {one.nugget.num: one.mark for one in answer.nuggets if one.mark is not None}
        for question, answer in result.answers[run].items()
    }


def _confidence_rows(result: R2C2Result) -> Iterator[tuple[object, ...]]:
    """Each answer's confidence and correctness (None where a label is missing), as ``assay
    confidence`` and ``assay recalibrate`` read them. What a run leaves out is wrong, without a
    confidence."""
    for run, by_question in result.answers.items():
        for question, found in by_question.items():
            stated = None if found.answer is None else found.answer.confidence
            yield (run, question, stated, None if found.correct is None else int(found.correct))


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


def _places(result: R2C2Result) -> Places:
    """Where each label that counted was used."""
    places = Places()
    at, note = places.at, places.note
    ends = [b' nugget %d"' % num for num in range(MAX_NUGGETS + 1)]
    for question in result.questions:  # as they were judged: close in memory
        for by_question in result.answers.values():
            answer = by_question[question.id]
            place = orjson.dumps(f"{answer.run} {answer.question.id}")
            start = place[:-1]
            for nugget in answer.nuggets:
                label = nugget.entailment
                if label is None:
                    continue
                here = start + ends[nugget.nugget.num]
                if label.detail or label.rowid in at:
                    note(label, here)
                else:
                    at[label.rowid] = here  # a hot loop: what ``note`` does with nearly all
            note(answer.label, place)
            note(answer.act_label, place)
    for topic, labels in (result.relevance.labels if result.relevance else {}).items():
        for key, label in labels.items():
            note(label, orjson.dumps(f"{topic} passage {key}"))
    return places
