"""Files of scores as cells: tables with a header, and leaderboards without one.

A leaderboard has four fields a line between white space, ``run topic measure value`` as ir_measures
writes them; other tools swap the first three, which shows where ``all`` stands, the topic of means.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from assay.formats.label_tables import RUN, TOPIC, Cells, read_cells
from assay.formats.parsed import FaultList, listed
from assay.formats.text import SourceText
from assay.measures.names import parse_measure

__all__ = [
    "ALL",
    "filled",
    "is_mean",
    "is_missing",
    "looks_like_number",
    "same_name",
    "score_cells",
]

ALL = "all"
"""The topic whose line holds a run's mean, as trec_eval and Assay write it."""

_NOTHING = frozenset({"", "na", "n/a", "nan", "null", "none", "–", "-"})
_TRUTHS = {"true": "1", "false": "0"}
_NUMBER_LIKE = re.compile(
    r"[-+]?(?:inf(?:inity)?|[\d.,]*\d[\d.,]*(?:e[-+]?\d+)?)\s*%?", re.IGNORECASE
)
_ORDERS = (
    ("run", "topic", "measure", "value"),  # ir_measures
    ("run", "measure", "topic", "value"),
    ("topic", "run", "measure", "value"),
)
_HEADINGS = {
    "nugp": "nuggetprecision",
    "cover": "examcover",
    "wtd.": "examcoverweighted",
    "norm.": "examcovernormalised",
}
"""What tables of Assay call measures whose names are too long for a column."""


def score_cells(source: SourceText, faults: FaultList) -> Cells | None:
    """The cells of a file of scores, without a column of line numbers; None for an empty file."""
    cells = _leaderboard(source.lines, faults) or read_cells(source.lines, faults)
    return None if cells is None else _without_index(cells)


def _leaderboard(lines: Sequence[str], faults: FaultList) -> Cells | None:
    """The cells of a leaderboard without a header; None where the first line is of none."""
    rows = [(number, line.split()) for number, line in enumerate(lines, 1) if line.strip()]
    if not rows or "," in lines[rows[0][0] - 1] or not _is_line(rows[0][1]):
        return None
    good = []
    for number, row in rows:
        if _is_line(row):
            good.append((number, (*row[:3], _TRUTHS.get(row[3].casefold(), row[3]))))
        else:
            faults.error(
                number,
                f"The line has {len(row)} fields, or its last one is no number.",
                "Write run, topic, measure and value, as on the first line.",
            )
    with_all = [place for place in (1, 2, 0) if any(is_mean(row[place]) for _, row in good)]
    order = next((one for one in _ORDERS if with_all and one[with_all[0]] == "topic"), _ORDERS[0])
    faults.warning(
        rows[0][0],
        f"There is no header: the columns are read as {listed(order)}.",
        f"Begin with the header {','.join(order)}, commas between all fields, if they are others.",
    )
    return Cells(rows[0][0], order, tuple(good))


def _is_line(fields: Sequence[str]) -> bool:
    last = fields[-1]
    value = looks_like_number(last) or is_missing(last) or last.casefold() in _TRUTHS
    return len(fields) == len(_ORDERS[0]) and value


def _without_index(cells: Cells) -> Cells:
    """The table without a column of line numbers, as pandas writes one.

    That is a first column without a name that holds different whole numbers, beside one of runs
    or topics.
    """
    numbers = [row[0] for _, row in cells.rows]
    counted = all(cell.isdigit() for cell in numbers) and len(set(numbers)) == len(numbers)
    if cells.header[0] or not counted or not cells.places((*RUN, *TOPIC)):
        return cells
    return replace(
        cells, header=cells.header[1:], rows=tuple((line, row[1:]) for line, row in cells.rows)
    )


def is_missing(cell: str) -> bool:
    """True where a cell says that there is no score: it is empty, or holds ``NA``, ``-``, …"""
    return cell.casefold() in _NOTHING


def is_mean(topic: str) -> bool:
    """True where a topic's name says that the line holds means: ``all``, ``ALL``, …"""
    return topic.casefold() == ALL


def filled(cells: Cells, place: int) -> list[str]:
    """The cells of a column that are not missing."""
    return [row[place] for _, row in cells.rows if not is_missing(row[place])]


def looks_like_number(cell: str) -> bool:
    """True where a number was meant, though it may be none: ``1e999``, ``0,5``, ``12 %``."""
    return _NUMBER_LIKE.fullmatch(cell) is not None


def same_name(name: str, other: str) -> bool:
    """Whether two names are of one score: as a file, a table or trec_eval writes it."""
    return _key(name) == _key(other)


def _key(name: str) -> str:
    with suppress(ValueError):  # it may be a score of another kind
        name = str(parse_measure(name))
    folded = re.sub(r"[\s_-]+", "", unicodedata.normalize("NFKC", name).casefold())
    return _HEADINGS.get(folded, folded)
