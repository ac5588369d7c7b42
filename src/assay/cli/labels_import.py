"""``assay labels import``: labels from files, and what they change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

from assay.api.consequences import Consequences, PlaceChange
from assay.api.label_import import LabelsImported, WrittenLabel, import_labels
from assay.api.paths import expanded
from assay.cli.common import FolderArgument, forms, present, remark, takes
from assay.model.options import Argument
from assay.model.wording import joined
from assay.page.tables import Table, Value
from assay.page.wording import span


@forms("json")
@takes(import_labels)
def import_command(
    folder: FolderArgument,
    files: Annotated[
        list[Path],
        Argument(
            "FILE...",
            "Labels as JSON Lines, a sheet (CSV), or marked answer runs (or a folder of them).",
        ),
    ],
    **options: Any,
) -> None:
    """Read labels into the ledger, all or nothing: from JSON Lines, a filled-in sheet, or marked
    answer runs.

    To correct labels, export them, change "verdict" (and "reason" if you like) in the lines
    concerned, and import them with --by human:NAME. Or change marks in a copy of out/marked/RUN.txt
    and import that: every difference from what scoring would write now becomes a label.

    The old labels stay in the ledger beside the new ones. Importing a file twice adds nothing.
    """
    paths = [path for given in files for path in expanded(given)]
    done = import_labels(folder, paths, note=remark, **options)
    dry_run = options["dry_run"]
    present(
        lambda: {**done.document(), "dry_run": dry_run},
        _imported(done, "would be added" if dry_run else "added"),
    )


def _imported(done: LabelsImported, verb: str) -> Iterator[Table | str]:
    if done.labels is None:
        yield f"{done.added} labels {verb}, {done.known} were already known."
    elif not done.labels:
        yield "Nothing differs from what is published: 0 labels added."
    else:
        yield from _written(done.labels)
    if done.outdated:
        yield (
            f"{done.outdated} of the known labels do not count, because the same person has given "
            "another label since. To return to one, change the person's newer label (labels "
            "export)."
        )
    if done.follows is not None:
        yield from _consequences(done.follows)
    if done.labels:
        yield f"{done.added} labels {verb}."


def _written(labels: Sequence[WrittenLabel]) -> Iterator[Table | str]:
    over = ((one.before and f"{one.before} ({one.before_by})") or "" for one in labels)
    cells = [(str(one.place), one.after, old) for one, old in zip(labels, over, strict=True)]
    yield Table("Labels", ("of", "says", "over"), cells)
    for one in labels:
        if one.also:
            yield f"{one.place} is identical to {joined(map(str, one.also), 8)}: one label for all."


def _consequences(found: Consequences) -> Iterator[Table | str]:
    """What changes."""
    for title, changes in (
        ("Answers", found.answers),
        ("Marks", found.marks),
        ("Grades of passages", found.grades),
    ):
        by_place = groupby(changes, lambda one: (one.run, one.topic))
        rows = [(*place, ", ".join(map(_arrow, some))) for place, some in by_place]
        if rows:
            yield Table(title, ("", "", ""), rows)
    ranked: list[tuple[Value, ...]] = []
    for one in found.ranked:
        ranks = dict.fromkeys((_text(one.rank_before), _text(one.rank_after)))
        scores = [
            "–" if side is None else span(side.floor, side.ceiling)
            for side in (one.before, one.after)
        ]
        ranked.append((one.run, one.measure, *scores, " → ".join(ranks)))
    if ranked:
        right = ("before", "after", "rank")
        yield Table("Scores", ("run", "measure", *right), ranked, numbers=frozenset(right))
    if not (found.answers or found.marks or found.grades or found.scores):
        yield "No mark, grade or score changes."
    before, after = found.missing
    if after > before:
        yield (
            f"{after - before} more labels are then missing: a nugget that is no longer bogus has "
            "to be judged with its answer. 'assay judge' asks for them."
        )


def _arrow(change: PlaceChange) -> str:
    what = change.position.replace("nugget ", "").replace("answer", "").replace("passage", "rank")
    return f"{what} {_text(change.before)} → {_text(change.after)}".strip()


def _text(value: object) -> str:
    return "–" if value is None else str(value)
