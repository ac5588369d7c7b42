"""Nuggets, and what answers state of them, as parts of a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.model.trec_rag import Importance, RagNugget
from assay.page.parts import Grid, Item, Table
from assay.protocols.label_sheets import NuggetTable

_STATED = {1.0: "support", 0.5: "partial", 0.0: "no"}
_COLUMNS = ("#", "nugget", "importance", "sub-narrative")
_TEXTS = frozenset(("nugget", "sub-narrative"))


def nugget_items(table: NuggetTable, by_person: Sequence[bool]) -> Iterator[Item]:
    """Which nuggets of a topic each answer states, if there are answers, and the nuggets.
    ``by_person`` says of each whether somebody edited it."""
    numbered = [(str(number), one) for number, one in enumerate(table.nuggets, 1)]
    if table.runs:
        cells = [[None if one != one else one for one in row] for row in table.values.tolist()]
        vital = ", ".join(n for n, one in numbered if one.importance is Importance.VITAL)
        yield Grid(
            "Runs by nuggets", table.runs, tuple(n for n, _ in numbered), cells,
            note=f"1 support, 0.5 partial, 0 none. Vital nuggets: {vital or 'none'}",
            about={n: one.text for n, one in numbered}, digits=1,
        )  # fmt: skip
    full = (table.values == 1).sum(axis=0).tolist()
    rows = [
        (*_cells(number, one), count, "edited" if edited else "")
        for number, (one, count, edited) in enumerate(
            zip(table.nuggets, full, by_person, strict=True), 1
        )
    ]
    columns = (*_COLUMNS, "answers that state it", "by a person")
    yield Table("Nuggets", columns, rows, texts=_TEXTS, folded=True)


def answer_nuggets(table: NuggetTable, run: str, sub_narratives: Sequence[str]) -> Table:
    """Which nuggets a run's answer states, and what is missing."""
    stated = list(zip(table.nuggets, table.row(run), strict=True))
    rows = [
        (*_cells(number, one), _STATED.get(value, "no label"))
        for number, (one, value) in enumerate(stated, 1)
    ]
    covered = {one.sub_narrative for one, value in stated if value == 1}
    named = [*sub_narratives, *(one.sub_narrative for one in table.nuggets if one.sub_narrative)]
    open_ones = [name for name in dict.fromkeys(named) if name not in covered]
    vital = [value for one, value in stated if one.importance is Importance.VITAL]
    unsure = sum(value != value for value in vital)
    note = f"Missing: {sum(value < 1 for value in vital)} of {len(vital)} vital nuggets"
    if unsure:
        note += f" ({unsure} without a label)"
    if open_ones:
        note += f"; sub-narratives not covered: {'; '.join(open_ones)}"
    title = f"Nuggets of {run}: {note}"
    return Table(title, (*_COLUMNS, "answer"), rows, texts=_TEXTS, folded=True)


def _cells(number: int, one: RagNugget) -> tuple[int, str, str, str]:
    importance = one.importance.value if one.importance else "not said"
    return number, one.text, importance, one.sub_narrative or "none"
