"""What an R2C2 evaluation lacks, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.model.wording import listing
from assay.protocols.r2c2.results import RunNotes
from assay.protocols.results import Gap


def gaps(notes: Sequence[RunNotes], no_relevant: Sequence[str]) -> tuple[Gap, ...]:
    """What is missing, gravest first; empty where nothing is. ``no_relevant`` are the questions
    without a relevant passage."""
    found: list[Gap] = []

    def add(n: int, one: str, many: str, where: list[str], so: str, *, grave: bool) -> None:
        if n:
            place = f" ({listing(where)})" if where else ""
            found.append(Gap(n, (one if n == 1 else many) + place, so, grave))

    def runs(counts: Mapping[str, int]) -> list[str]:
        return [f"{name}: {n}" for name, n in counts.items() if n]

    missing = {note.run: note.missing_answers for note in notes}
    failed = {note.run: note.failed_answers for note in notes}
    carried = {note.run: note.carried_answers for note in notes}
    unmarked = {note.run: note.unmarked_nuggets for note in notes}
    out = {note.run: len(note.left_out) for note in notes}
    held = "What hangs on them is a range, from the worst to the best that it can be."
    add(
        sum(missing.values()),
        "answer has no label yet",
        "answers have no label yet",
        runs(missing),
        held + " “assay judge” asks for the labels that are missing.",
        grave=True,
    )
    add(
        sum(failed.values()),
        "answer could not be labelled: the labeller failed",
        "answers could not be labelled: the labeller failed",
        runs(failed),
        held,
        grave=True,
    )
    add(
        sum(unmarked.values()),
        "nugget has no mark: its label is missing or failed",
        "nuggets have no mark: their labels are missing or failed",
        runs(unmarked),
        "Nugget precision and the scores of passage runs are ranges.",
        grave=True,
    )
    add(
        sum(carried.values()),
        "answer label is carried over",
        "answer labels are carried over",
        runs(carried),
        "They were given before a person changed the mark of some nugget of the answer.",
        grave=False,
    )
    add(
        sum(out.values()),
        "question was left out by a run",
        "questions were left out by runs",
        runs(out),
        "They count as wrong with an unknown confidence: HMR, R_O and the calibration measures are "
        "ranges, from the worst answer there could have been to confidence 0.",
        grave=False,
    )
    add(
        len(no_relevant),
        "question has no relevant passage",
        "questions have no relevant passage",
        list(no_relevant),
        "Every PR run scores 0 there.",
        grave=False,
    )
    return tuple(found)
