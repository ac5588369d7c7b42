"""Make CSV cells harmless for spreadsheets (formulas) and terminals (control characters).

A text that begins like a formula is written with a leading apostrophe, the spreadsheets' own
convention. Reading removes it again, so names pass from table to table unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from assay.model.wording import printable

# Leading apostrophes count too: a text that has one gets another, and reading removes one.
_FORMULA = re.compile("'*[=+@\t\r＝＋－＠-]")
_GUARDED = re.compile("'('*[=+@\t\r＝＋－＠-])")
# Control characters except line breaks and tabs, direction overrides, lone surrogates.
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def csv_cells(values: Iterable[object]) -> list[object]:
    """The values of a row, ready for :mod:`csv`, which writes numbers at full precision and None
    as an empty cell."""
    return [_text_cell(value) if isinstance(value, str) else value for value in values]


@lru_cache(maxsize=1 << 14)  # the same runs, topics and measures come up again and again
def _text_cell(text: str) -> str:
    text = for_terminal(text)
    return f"'{text}" if _FORMULA.match(text) and not _is_number(text) else text


def for_terminal(text: str) -> str:
    """``text`` with the characters escaped that a terminal acts on; line breaks and tabs stay."""
    if text.isprintable():
        return text
    return CONTROLS.sub(lambda found: printable(found.group()), text)


def from_csv_cell(text: str) -> str:
    """The original text of a cell that :func:`csv_cells` may have written."""
    return _GUARDED.sub(r"\1", text, count=1) if _GUARDED.match(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    # Python reads -1_000 as a number; a spreadsheet reads it as a formula.
    return "_" not in text
