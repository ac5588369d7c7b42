"""What follows from labels, for people."""

from __future__ import annotations

from itertools import groupby

from rich.console import Console
from rich.text import Text

from assay.api.consequences import Change, Consequences
from assay.cli.common import plain_table
from assay.page.wording import span
from assay.protocols.scores import Score

_NO = "–"


def show(console: Console, found: Consequences) -> None:
    """Print what changes."""
    for title, changes in (
        ("Answers", found.answers),
        ("Marks", found.marks),
        ("Grades of passages", found.grades),
    ):
        if changes:
            table = plain_table(title, header=False)
            for place in ("run", "question", "changes"):
                table.add_column(place, overflow="fold")
            for (run, topic), some in groupby(changes, lambda one: (one.run, one.topic)):
                shown = ", ".join(_arrow(one) for one in some)
                table.add_row(Text(run), Text(topic), Text(shown))
            console.print(table)
    scores = found.ranked
    if scores:
        table = plain_table("Scores")
        for name in ("run", "measure", "before", "after", "rank"):
            right = name in ("before", "after", "rank")
            table.add_column(name, justify="right" if right else "left", overflow="fold")
        for one in scores:
            same = one.rank_before == one.rank_after
            rank = _shown(one.rank_after)
            table.add_row(
                Text(one.run),
                Text(one.measure),
                _span(one.before),
                _span(one.after),
                rank if same else f"{_shown(one.rank_before)} → {rank}",
            )
        console.print(table)
    if not (found.answers or found.marks or found.grades or found.scores):
        console.print("No mark, grade or score changes.")
    before, after = found.missing
    if after > before:
        console.print(
            f"{after - before} more labels are missing then: an equal nugget that is not bogus any "
            "more has to be judged with its answer. 'assay judge' asks for them.",
            soft_wrap=True,
        )


def _arrow(change: Change) -> str:
    what = change.position.replace("nugget ", "").replace("answer", "").replace("passage", "rank")
    return f"{what} {_shown(change.before)} → {_shown(change.after)}".strip()


def _shown(value: object) -> str:
    return _NO if value is None else str(value)


def _span(score: Score | None) -> str:
    return _NO if score is None else span(score.floor, score.ceiling)
