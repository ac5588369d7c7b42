"""Formatting for people: uniformly rounded numbers, and texts from files made safe to display.

Runs and corpora are written by strangers. The templates escape HTML (autoescape); this module
handles characters that hide text or change its direction.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container, Iterable, Sequence
from itertools import groupby

from assay.measures.ranges import ROUNDING
from assay.measures.scores import Score

NOTHING = "–"
"""Shown for an undefined value."""

_NOISE = 1e-9
"""Tolerance when rounding outwards, as .41 is not a binary fraction."""

# Controls (but not tab and line feed), soft hyphen, direction marks, zero-width characters (but
# not the joiners that scripts need), line separators, fillers, surrogates, tags, noncharacters.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufdd0-\ufdef\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e00ff]"
)


def visible(text: str) -> str:
    """``text`` with all characters escaped (``\\u202e``) that hide or reorder others."""
    return _HIDDEN.sub(lambda m: m[0].encode("unicode_escape").decode("ascii"), text)


def one_line(text: str) -> str:
    """``text`` made :func:`visible` and on one line."""
    return " ".join(visible(text).split())


def shortened(text: str, most: int) -> str:
    """``text`` on one line of at most ``most`` characters, with an ellipsis if cut."""
    line = one_line(text)
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def number(value: float | None, digits: int = 3) -> str:
    """``value`` rounded, or ``–`` if undefined."""
    if value is None or not math.isfinite(value):
        return NOTHING
    shown = f"{value:.{digits}f}"
    return shown.lstrip("-") if float(shown) == 0 else shown


def interval(
    low: float | None, high: float | None, digits: int = 2, *, outwards: bool = False
) -> str:
    """``.64–1.00``, or an empty string without an interval. ``outwards``: round like :func:`span`,
    so that beside a range it never seems to start within it."""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return ""
    if outwards:
        scale = 10**digits
        low, high = (
            math.floor(low * scale + _NOISE) / scale,
            math.ceil(high * scale - _NOISE) / scale,
        )
    return "–".join(narrow(number(end, digits)) for end in (low, high))


def score_interval(score: Score, digits: int = 2) -> str:
    """The :func:`interval` of a score, rounded outwards if the score is a range."""
    return interval(score.low, score.high, digits, outwards=score.value is None)


def narrow(shown: str) -> str:
    """A number without the 0 before its decimal point."""
    return shown.replace("0.", ".", 1) if shown.lstrip("+-").startswith("0.") else shown


def span(floor: float | None, ceiling: float | None, digits: int = 3) -> str:
    """A score as shown to people: one number, or the range from floor to ceiling (``.41–.47``) if
    it depends on missing labels. The ends are rounded outwards, so that a floor never appears above
    a value that it is below."""
    if floor is None or ceiling is None or abs(floor - ceiling) <= ROUNDING:
        return number(floor if ceiling is not None else None, digits)
    low, high = sorted((floor, ceiling))
    places = 2 if number(low, 2) != number(high, 2) else 3
    return interval(low, high, places, outwards=True)


def percent(value: float | None) -> str:
    """A share as ``94 %``."""
    if value is None or not math.isfinite(value):
        return NOTHING
    return f"{value * 100:.0f}\u00a0%"


_PLAIN = re.compile(r"[(“‘]*[A-Za-z]?[a-z’']*[.,:;)”’]*")
"""A word that all warnings of a kind share: not a file name or a number."""


_QUOTED = re.compile('“[^”]*”|"[^"]*"')


def kinds_of(texts: Iterable[str], names: Container[str] = ()) -> list[tuple[str, list[str]]]:
    """Group sentences that differ only in names, numbers and files: their common text, with ``…``
    for these, and the sentences. A single sentence is left unchanged. ``names`` are those of
    runs."""
    kinds: dict[str, list[str]] = {}
    for text in texts:
        kinds.setdefault(masked(text, names), []).append(text)
    return [(_common(kind, found), found) for kind, found in kinds.items()]


def masked(text: str, names: Container[str] = ()) -> str:
    """A sentence with ``…`` in place of quotations, names, numbers and files."""
    words = _QUOTED.sub("…", text).split()
    plain = (_PLAIN.fullmatch(word) and word.strip("(),.:;") not in names for word in words)
    return _joined(word if same else "…" for word, same in zip(words, plain, strict=True))


def _joined(words: Iterable[str]) -> str:
    """Join words to a sentence; consecutive ``…`` become one."""
    return " ".join(word for word, of in groupby(words) for word in ([word] if word == "…" else of))


def _common(kind: str, texts: Sequence[str]) -> str:
    """The common text of a kind's sentences, word by word if they are of equal length."""
    places = list(zip(*(text.split() for text in texts), strict=False))
    if any(len(text.split()) != len(places) for text in texts):
        return kind
    return _joined(words[0] if len(set(words)) == 1 else "…" for words in places)
