"""Cells of CSV files: what a spreadsheet would calculate, or a terminal act on, is made harmless.

A text that begins like a formula gets an apostrophe before it, as spreadsheets have it; reading
takes it off again, so that names travel from table to table unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from assay.model.wording import printable

# Apostrophes before it count too: one that was there gets another, and reading takes one off.
_FORMULA = re.compile("'*[=+@\t\r＝＋－＠-]")
_GUARDED = re.compile("'('*[=+@\t\r＝＋－＠-])")
# Controls but line breaks and tabs, overrides of direction, lone surrogates.
ACTED_ON = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def csv_cells(values: Iterable[object]) -> list[object]:
    """The values of a row as they go into cells: numbers at full precision, undefined ones empty
    (both as :mod:`csv` writes them)."""
    return [_text_cell(value) if isinstance(value, str) else value for value in values]


@lru_cache(maxsize=1 << 14)  # tables name few runs, topics and measures again and again
def _text_cell(text: str) -> str:
    text = for_terminal(text)
    return f"'{text}" if _FORMULA.match(text) and not _is_number(text) else text


def for_terminal(text: str) -> str:
    """``text`` with what a terminal would act on escaped; line breaks and tabs stay."""
    if text.isprintable():
        return text
    return ACTED_ON.sub(lambda found: printable(found.group()), text)


def from_csv_cell(text: str) -> str:
    """The text of a cell that :func:`csv_cells` may have written."""
    return _GUARDED.sub(r"\1", text, count=1) if _GUARDED.match(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    # Python reads 1_000 as a number; to a spreadsheet -1_000 is a formula.
    return "_" not in text
