"""Score files as cells: tables with a header, and leaderboards without one.

A line of a leaderboard has four fields, ``run topic measure value`` as ir_measures writes them; if
a tool orders the first three otherwise, the position of ``all``, the topic of means, tells. Three
fields are trec_eval's ``measure topic value``, whose run is named by a ``runid`` line or the file
name; six are a ranking, ``topic Q0 run rank value measure``. JSON Lines with ``run_id, topic_id,
measure, value`` are read too.

A value that depends on missing labels is a range: it is empty, with a ``floor`` and a ``ceiling``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from assay.formats.cells import RUN, TOPIC, Cells, read_cells
from assay.formats.jsonl import first_character, one_id, read_objects
from assay.formats.naming import run_name
from assay.formats.parsed import FaultList
from assay.formats.text import Given, SourceText, read_text, text_of
from assay.measures.names import parse_measure
from assay.model.wording import joined

MEASURE = ("measure",)
VALUE = ("value", "score")
ENDS = ("floor", "ceiling")
"""Columns with the bounds of a value that depends on missing labels."""

ALL = "all"
"""The topic of a run's mean, as written by trec_eval and Assay."""

_PER_TOPIC = "per_topic.csv"
_RANGES = "per_topic_ranges.csv"
_KEY = ("run", "topic", "measure")
_MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "–", "-"})
_TRUTHS = {"true": "1", "false": "0"}
_NUMBER_LIKE = re.compile(
    r"[-+]?(?:inf(?:inity)?|[.,]*+\d[\d.,]*+(?:e[-+]?\d+)?)\s*%?", re.IGNORECASE
)
_ORDERS = (
    ("run", "topic", "measure", "value"),  # ir_measures
    ("run", "measure", "topic", "value"),
    ("topic", "run", "measure", "value"),
)
_TREC_EVAL, _RANKING = 3, 6
_SHAPES = {
    _TREC_EVAL: ("measure", "topic", "value"),
    _RANKING: ("topic", "Q0", "run", "rank", "value", "measure"),
}
_HEADINGS = {
    "nugp": "nuggetprecision",
    "cover": "examcover",
    "wtd.": "examcoverweighted",
    "norm.": "examcovernormalised",
}
"""Column headings in Assay's tables of measures whose names are too long."""


def read_score_cells(
    given: Given, header: str = "run,topic,score"
) -> tuple[Cells | None, FaultList]:
    """Read the cells of a score file, without a column of line numbers, and the faults so far.

    ``per_topic.csv`` and the ``per_topic_ranges.csv`` next to it, which holds the floor and ceiling
    of its empty values, are read as one table, whichever of the two is given. ``given``: the file.
    ``header``: the header that the fault of an empty file suggests. Raises FormatError if
    the file cannot be read at all.
    """
    source = text_of(given)
    values, ranges = (source.path.with_name(name) for name in (_PER_TOPIC, _RANGES))
    if source.path.name == _RANGES and values.exists():
        source = read_text(values)
    cells, faults = _plain_cells(source)
    if cells is None:
        faults.error(0, "The file is empty.", f"Begin with a header: {header}.")
    elif source.path.name == _PER_TOPIC:
        bounds, more = _plain_cells(read_text(ranges)) if ranges.exists() else (None, None)
        cells = _with_ends(cells, bounds)
        if more is not None:
            faults = FaultList(faults.file, (*faults.done(), *more.done()))
    elif cells.places(MEASURE) and cells.places(ENDS) and not cells.places(VALUE):
        cells = _widen(cells, ("value",), lambda _: ("",))
        faults.warning(
            0,
            "The table holds only ranges: topics whose value is certain are not in it.",
            f"Put {_PER_TOPIC} of the same evaluation beside it, as {_RANGES}.",
        )
    return cells, faults


def _plain_cells(source: SourceText) -> tuple[Cells | None, FaultList]:
    faults = FaultList(source.file, source.faults)
    cells = _leaderboard(source, faults)
    if cells is None and first_character(source) != "{":
        cells = read_cells(source.lines, faults)
    return None if cells is None else _without_index(cells), faults


def _with_ends(cells: Cells, ranges: Cells | None) -> Cells:
    """``per_topic.csv`` with the floor and ceiling of its empty values from a table of ranges."""
    if cells.names != (*_KEY, "value"):
        return cells
    bounds = {}
    if ranges is not None and ranges.names == (*_KEY, *ENDS):
        bounds = {row[:3]: row[3:] for _, row in ranges.rows}
    return _widen(cells, ENDS, lambda row: ("", "") if row[3] else bounds.get(row[:3], ("", "")))


def _widen(
    cells: Cells, names: tuple[str, ...], more: Callable[[tuple[str, ...]], tuple[str, ...]]
) -> Cells:
    """The table with further columns ``names``, whose cells ``more`` makes from a row."""
    rows = tuple((line, (*row, *more(row))) for line, row in cells.rows)
    return replace(cells, header=(*cells.header, *names), rows=rows)


def split_end(score: str) -> tuple[str, str | None]:
    """Split ``AP:floor`` into ``AP`` and ``floor``; the second is None for any other name."""
    name, _, end = score.rpartition(":")
    return (name, end) if name and end in ENDS else (score, None)


def _leaderboard(source: SourceText, faults: FaultList) -> Cells | None:
    """The cells of a leaderboard without a header; None if the first line is not of one."""
    if first_character(source) == "{":
        return _json_leaderboard(source, faults)
    rows = [(number, line.split()) for number, line in source.numbered() if line.strip()]
    if not rows or "," in source.lines[rows[0][0] - 1] or not _is_leaderboard_line(rows[0][1]):
        return None
    width = len(rows[0][1])
    good = []
    for number, row in rows:
        if len(row) == width and _is_leaderboard_line(row):
            good.append((number, row))
        else:
            faults.error(
                number,
                f"The line has {len(row)} fields, or no number where the value should be.",
                "Write every line as the first one.",
            )
    order = _column_names([row for _, row in good], width)
    faults.warning(
        rows[0][0],
        f"There is no header: the columns are read as {joined(order)}.",
        f"Begin with the header {','.join(_ORDERS[0])}, commas between all fields, if they are "
        "others.",
    )
    run = run_name(source.path)
    if width == _TREC_EVAL:  # one run per file, which may hold its name
        run = next((row[2] for _, row in good if row[0] == "runid"), run)
        good = [(number, row) for number, row in good if row[0] != "runid"]
    places = [order.index(name) if name in order else None for name in _ORDERS[0]]
    return Cells(
        rows[0][0],
        _ORDERS[0],
        tuple(
            (number, tuple(run if at is None else _truth(row[at]) for at in places))
            for number, row in good
        ),
    )


def _column_names(rows: Sequence[Sequence[str]], width: int) -> tuple[str, ...]:
    """The names of the columns; with four fields, the position of ``all`` decides."""
    if width != len(_ORDERS[0]):
        return _SHAPES[width]
    # The position of the topic in each of the possible orders.
    with_all = [place for place in (1, 2, 0) if any(is_mean(row[place]) for row in rows)]
    return next((one for one in _ORDERS if with_all and one[with_all[0]] == "topic"), _ORDERS[0])


def _json_leaderboard(source: SourceText, faults: FaultList) -> Cells | None:
    """The cells of JSON Lines with run, topic, measure and value."""
    rows = []
    for number, record in read_objects(source, faults):
        texts = [one_id(record, *names) for names in (RUN, TOPIC, MEASURE)]
        value = next((record[name] for name in VALUE if name in record), None)
        if None in texts:
            cure = "Give run_id, topic_id, measure and value."
            faults.error(number, "The record is not a line of a leaderboard.", cure)
        else:
            cell = "" if value is None else _truth(str(value))
            rows.append((number, (*(text or "" for text in texts), cell)))
    return Cells(1, _ORDERS[0], tuple(rows)) if rows else None


def _truth(cell: str) -> str:
    return _TRUTHS.get(cell.casefold(), cell)


def _is_leaderboard_line(fields: Sequence[str]) -> bool:
    """Whether a line can be of a leaderboard: of the right width, with a value in its place."""
    width = len(fields)
    if width == _TREC_EVAL and fields[0] == "runid":
        return True
    if width == _RANKING:
        return fields[1].casefold() == "q0" and fields[3].isdigit() and _is_value(fields[4])
    return width in (_TREC_EVAL, len(_ORDERS[0])) and _is_value(fields[-1])


def _is_value(cell: str) -> bool:
    return looks_like_number(cell) or is_missing(cell) or cell.casefold() in _TRUTHS


def _without_index(cells: Cells) -> Cells:
    """The table without an index column as pandas writes it.

    That is an unnamed first column of distinct integers in a table with runs or topics.
    """
    numbers = [row[0] for _, row in cells.rows]
    counted = all(cell.isdigit() for cell in numbers) and len(set(numbers)) == len(numbers)
    if cells.header[0] or not counted or not cells.places((*RUN, *TOPIC)):
        return cells
    return replace(
        cells, header=cells.header[1:], rows=tuple((line, row[1:]) for line, row in cells.rows)
    )


def is_missing(cell: str) -> bool:
    """Whether a cell stands for a missing score: empty, ``NA``, ``-``, …"""
    return cell.casefold() in _MISSING


def is_mean(topic: str) -> bool:
    """Whether a topic is the name for means: ``all``, ``ALL``, …"""
    return topic.casefold() == ALL


def filled(cells: Cells, place: int) -> list[str]:
    """The cells of a column that are not missing."""
    return [row[place] for _, row in cells.rows if not is_missing(row[place])]


def looks_like_number(cell: str) -> bool:
    """Whether a cell was meant as a number, even if not valid: ``1e999``, ``0,5``, ``12 %``."""
    return _NUMBER_LIKE.fullmatch(cell) is not None


def same_name(name: str, other: str) -> bool:
    """Whether two names mean the same score, as written in files, in tables or by trec_eval."""
    return _key(name) == _key(other)


def _key(name: str) -> str:
    with suppress(ValueError):  # names of other scores do not parse as measures
        name = str(parse_measure(name))
    folded = re.sub(r"[\s_-]+", "", unicodedata.normalize("NFKC", name).casefold())
    return _HEADINGS.get(folded, folded)
