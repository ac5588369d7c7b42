"""The words of a text: runs of characters without white space; in scripts that are written without
spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese) every character with its marks counts as one.
"""

from __future__ import annotations

import re

_UNSPACED = (
    "\u0e01-\u0e30\u0e32\u0e33\u0e40-\u0e46\u0e81-\u0eb0\u0eb2\u0eb3\u0ebd-\u0ec6\u1000-\u102a"
    "\u103f\u1780-\u17b3\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9d"
    "\U00020000-\U0003134f"
)
_MARKS = (
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd\u102b-\u103e"
    "\u17b4-\u17d3\u3099\u309a"
)
_HAS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_WORD = re.compile(rf"[{_UNSPACED}][{_MARKS}]*|[^\s{_UNSPACED}]+")
_SPACED_WORD = re.compile(r"\S+")


def word_spans(text: str) -> list[tuple[int, int]]:
    """Where every word of ``text`` begins and ends."""
    pattern = _WORD if not text.isascii() and _HAS_UNSPACED.search(text) else _SPACED_WORD
    return [found.span() for found in pattern.finditer(text)]
